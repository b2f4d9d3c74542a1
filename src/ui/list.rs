//! The cursor of a list: the selected row and the first visible row. Pure numbers; it does not hold the rows.
//!
//! Invariant after [`Cursor::clamp`]: the selected row exists and is visible, and no row below the end is shown.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub chosen: usize,
    pub top: usize,
}

impl Cursor {
    /// Moves the selection by `by` rows within `len`.
    pub fn step(&mut self, by: isize, len: usize) {
        self.chosen = self.chosen.saturating_add_signed(by).min(len.saturating_sub(1));
    }

    /// Makes the selection valid and visible in `height` rows.
    pub fn clamp(&mut self, len: usize, height: usize) {
        self.chosen = self.chosen.min(len.saturating_sub(1));
        if height == 0 {
            return;
        }
        // Keep a few rows of context above and below.
        let margin = (height / 6).min(3);
        let lowest = self.chosen.saturating_sub(margin);
        let highest = (self.chosen + margin + 1).saturating_sub(height);
        self.top = self.top.clamp(highest.min(lowest), lowest).min(len.saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn selected_row_is_always_visible(
            moves in prop::collection::vec((-50isize..50, 0usize..80, 1usize..30), 1..30)
        ) {
            let mut cursor = Cursor::default();
            for (by, len, height) in moves {
                cursor.step(by, len);
                cursor.clamp(len, height);
                prop_assert!(len == 0 || cursor.chosen < len);
                prop_assert!(cursor.top <= cursor.chosen && cursor.chosen < cursor.top + height);
                prop_assert!(cursor.top == 0 || cursor.top + height <= len, "rows are wasted below");
            }
        }
    }
}
