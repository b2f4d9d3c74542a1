use proptest::prelude::*;

use super::*;

struct Rows(Vec<usize>);

impl Measure for Rows {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn height(&self, index: usize) -> usize {
        self.0[index]
    }
}

fn absolute(rows: &Rows, spot: RowPosition) -> usize {
    rows.0[..spot.entry].iter().sum::<usize>() + spot.row
}

proptest! {
    #[test]
    fn the_end_is_at_the_bottom(heights in prop::collection::vec(1usize..9, 0..30), height in 1usize..40) {
        let rows = Rows(heights);
        let total: usize = rows.0.iter().sum();
        prop_assert_eq!(absolute(&rows, end(&rows, height)), total.saturating_sub(height));
    }

    #[test]
    fn travelling_moves_by_rows_and_stops_at_both_ends(
        heights in prop::collection::vec(1usize..9, 1..30), from in 0usize..200, by in -300isize..300,
    ) {
        let rows = Rows(heights);
        let total: usize = rows.0.iter().sum();
        let start = move_by(&rows, RowPosition::default(), isize::try_from(from.min(total - 1)).unwrap());
        prop_assert_eq!(absolute(&rows, start), from.min(total - 1));
        let there = move_by(&rows, start, by);
        prop_assert_eq!(absolute(&rows, there), absolute(&rows, start).saturating_add_signed(by).min(total - 1));
    }

    #[test]
    fn a_clamped_place_stays_where_it_is_unless_rows_would_be_wasted(
        heights in prop::collection::vec(1usize..9, 1..30), entry in 0usize..40, row in 0usize..12, height in 1usize..30,
    ) {
        let rows = Rows(heights);
        let total: usize = rows.0.iter().sum();
        let spot = clamp(&rows, RowPosition { entry, row }, height);
        let top = absolute(&rows, spot);
        prop_assert!(top + height <= total || top == total.saturating_sub(height));
        if let Some(rows_there) = rows.0.get(entry)
            && row < *rows_there
            && absolute(&rows, RowPosition { entry, row }) + height <= total
        {
            prop_assert_eq!(spot, RowPosition { entry, row });
        }
    }
}
