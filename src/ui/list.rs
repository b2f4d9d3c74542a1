//! A place in a list: which row is chosen and which is the first on the screen. Pure numbers; the rows are someone
//! else's. Invariant after [`Cursor::settle`]: the chosen row exists and can be seen, and no row is wasted below.

/// A chosen row and the first visible one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    pub chosen: usize,
    pub top: usize,
}

impl Cursor {
    /// Moves the choice by so many rows, staying within `len`.
    pub fn step(&mut self, by: isize, len: usize) {
        self.chosen = self.chosen.saturating_add_signed(by).min(len.saturating_sub(1));
    }

    /// Makes the choice valid and visible in `height` rows.
    pub fn settle(&mut self, len: usize, height: usize) {
        self.chosen = self.chosen.min(len.saturating_sub(1));
        if height == 0 {
            return;
        }
        // A little is kept in sight above and below, so that one sees where one is going.
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
        fn the_chosen_row_can_always_be_seen(
            moves in prop::collection::vec((-50isize..50, 0usize..80, 1usize..30), 1..30)
        ) {
            let mut cursor = Cursor::default();
            for (by, len, height) in moves {
                cursor.step(by, len);
                cursor.settle(len, height);
                prop_assert!(len == 0 || cursor.chosen < len);
                prop_assert!(cursor.top <= cursor.chosen && cursor.chosen < cursor.top + height);
                prop_assert!(cursor.top == 0 || cursor.top + height <= len, "rows are wasted below");
            }
        }
    }
}
