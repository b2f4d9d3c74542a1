//! Which rows of a long content are seen. The place is (entry, row), never a count from the top: what is inserted above,
//! what grows below and what is laid out anew at another width does not move what is being read.
//!
//! Follow mode is explicit: it holds the end in sight, scrolling up leaves it, and only reaching the end by one's own
//! doing brings it back. Only entries near the visible ones are ever measured.

/// What is being looked at, as far as this is concerned: entries and how many rows each has.
pub trait Measure {
    fn len(&self) -> usize;
    /// Returns the rows of an entry, with everything that belongs above it.
    fn height(&self, index: usize) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A row of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub entry: usize,
    pub row: usize,
}

/// Returns the topmost row when the end is at the bottom of `height` rows.
pub fn end(content: &impl Measure, height: usize) -> Spot {
    let mut left = height;
    for entry in (0..content.len()).rev() {
        let rows = content.height(entry);
        if rows >= left {
            return Spot { entry, row: rows - left };
        }
        left -= rows;
    }
    Spot::default()
}

/// Returns `spot`, or the nearest row that exists and leaves nothing empty below the end.
pub fn clamp(content: &impl Measure, spot: Spot, height: usize) -> Spot {
    let Some(last) = content.len().checked_sub(1) else { return Spot::default() };
    let entry = spot.entry.min(last);
    let row = if spot.entry > last { usize::MAX } else { spot.row };
    let row = row.min(content.height(entry).saturating_sub(1));
    let spot = Spot { entry, row };
    // Whether the end comes into sight from here: only then the last rows have to be measured.
    let mut seen = content.height(entry).saturating_sub(row);
    for below in entry + 1..content.len() {
        if seen >= height {
            return spot;
        }
        seen += content.height(below);
    }
    if seen >= height { spot } else { end(content, height) }
}

/// Returns the row `by` rows away, as far as there are rows.
pub fn travel(content: &impl Measure, from: Spot, by: isize) -> Spot {
    let mut spot = from;
    let mut left = by.unsigned_abs();
    if by < 0 {
        while left > spot.row {
            if spot.entry == 0 {
                return Spot::default();
            }
            left -= spot.row + 1;
            spot = Spot { entry: spot.entry - 1, row: content.height(spot.entry - 1).saturating_sub(1) };
        }
        spot.row -= left;
        return spot;
    }
    while spot.entry < content.len() {
        let rows = content.height(spot.entry);
        if spot.row + left < rows {
            spot.row += left;
            return spot;
        }
        if spot.entry + 1 == content.len() {
            return Spot { row: rows.saturating_sub(1), ..spot };
        }
        left -= rows - spot.row.min(rows);
        spot = Spot { entry: spot.entry + 1, row: 0 };
    }
    spot
}

#[cfg(test)]
#[path = "viewport_tests.rs"]
mod tests;
