//! Computes the visible rows of a long list. The position is (entry, row), never a row count from the top: insertions
//! above, growth below and relayout at another width do not move the text being read.
//!
//! Follow mode is explicit: it keeps the end visible, scrolling up leaves it, and only the user's own movement to the
//! end resumes it. Only entries near the visible ones are measured.

/// Entries with heights in rows.
pub trait Measure {
    fn len(&self) -> usize;
    /// Returns the rows of an entry including its lead.
    fn height(&self, index: usize) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A row of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPosition {
    pub entry: usize,
    pub row: usize,
}

/// Returns the first visible row when the end is at the bottom of `height` rows.
pub fn end(content: &impl Measure, height: usize) -> RowPosition {
    let mut left = height;
    for entry in (0..content.len()).rev() {
        let rows = content.height(entry);
        if rows >= left {
            return RowPosition { entry, row: rows - left };
        }
        left -= rows;
    }
    RowPosition::default()
}

/// Returns `spot`, or the nearest row that exists and leaves no blank rows below the end.
pub fn clamp(content: &impl Measure, spot: RowPosition, height: usize) -> RowPosition {
    let Some(last) = content.len().checked_sub(1) else { return RowPosition::default() };
    let entry = spot.entry.min(last);
    let row = if spot.entry > last { usize::MAX } else { spot.row };
    let row = row.min(content.height(entry).saturating_sub(1));
    let spot = RowPosition { entry, row };
    // Measure the last rows only if the end is visible from here.
    let mut seen = content.height(entry).saturating_sub(row);
    for below in entry + 1..content.len() {
        if seen >= height {
            return spot;
        }
        seen += content.height(below);
    }
    if seen >= height { spot } else { end(content, height) }
}

/// Returns the row `by` rows away, or the first or last one.
pub fn move_by(content: &impl Measure, from: RowPosition, by: isize) -> RowPosition {
    let mut spot = from;
    let mut left = by.unsigned_abs();
    if by < 0 {
        while left > spot.row {
            if spot.entry == 0 {
                return RowPosition::default();
            }
            left -= spot.row + 1;
            spot = RowPosition { entry: spot.entry - 1, row: content.height(spot.entry - 1).saturating_sub(1) };
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
            return RowPosition { row: rows.saturating_sub(1), ..spot };
        }
        left -= rows - spot.row.min(rows);
        spot = RowPosition { entry: spot.entry + 1, row: 0 };
    }
    spot
}

#[cfg(test)]
#[path = "viewport_tests.rs"]
mod tests;
