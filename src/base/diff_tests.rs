use proptest::prelude::*;
use similar::TextDiff;

use super::*;

proptest! {
    /// Compares with the generic interface of the library.
    #[test]
    fn a_unified_diff_equals_that_of_the_library(
        old in proptest::collection::vec("[ab\\r]{0,2}", 0..40),
        new in proptest::collection::vec("[ab\\r]{0,2}", 0..40),
        ended in proptest::bool::ANY,
    ) {
        let (old, mut new) = (old.join("\n"), new.join("\n"));
        if ended {
            new.push('\n');
        }
        let theirs = TextDiff::from_lines(&old, &new).unified_diff().context_radius(CONTEXT).header("f", "f").to_string();
        prop_assert_eq!(unified("f", &old, &new, None), theirs);
    }

    #[test]
    fn pieces_make_up_both_texts(old in "[abc\\n]{0,60}", new in "[abc\\n]{0,60}") {
        let compared = Comparison::of_lines(&old, &new, None);
        let side = |number: fn(&Piece<'_>) -> Option<usize>| {
            let mut pieces: Vec<_> = compared.pieces().filter_map(|piece| Some((number(&piece)?, piece.text))).collect();
            pieces.sort_unstable();
            pieces.into_iter().map(|(_, text)| text).collect::<String>()
        };
        prop_assert_eq!(side(|piece| piece.old), old.as_str());
        prop_assert_eq!(side(|piece| piece.new), new.as_str());
        prop_assert_eq!(compared.ratio() >= 1.0, old == new);
    }
}

#[test]
fn a_result_after_the_deadline_is_correct() {
    let text = |step: usize| {
        let numbers = (0..2_000).map(|number| (number * step % 97).to_string());
        numbers.collect::<Vec<_>>().join("\n")
    };
    let (old, new) = (text(31), text(57));
    let compared = Comparison::of_lines(&old, &new, Some(Instant::now()));
    let kept: String = compared.pieces().filter(|piece| piece.new.is_some()).map(|piece| piece.text).collect();
    assert_eq!(kept, new);
}
