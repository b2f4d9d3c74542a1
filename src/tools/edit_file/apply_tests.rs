use proptest::prelude::*;

use super::*;

fn edit(old: &str, new: &str, replace_all: bool) -> Edit {
    Edit { old_string: old.to_owned(), new_string: new.to_owned(), replace_all }
}

fn applied(text: &str, edits: &[Edit]) -> Result<String, String> {
    apply(text.as_bytes(), edits).map(|applied| String::from_utf8(applied.bytes).unwrap())
}

#[test]
fn the_new_text_is_literal() {
    let text = applied("a X b", &[edit("X", "$& $1 $$ \\0 ${x}", false)]).unwrap();
    assert_eq!(text, "a $& $1 $$ \\0 ${x} b");
}

#[test]
fn a_text_that_occurs_twice_is_refused_with_its_lines() {
    let problem = applied("x\ny\nx\n", &[edit("x", "z", false)]).unwrap_err();
    assert!(problem.contains("occurs 2 times (at lines 1, 3)"), "{problem}");
    assert_eq!(applied("x\ny\nx\n", &[edit("x", "z", true)]).unwrap(), "z\ny\nz\n");
    assert!(applied("aaa", &[edit("aa", "b", false)]).is_err(), "overlapping places are two");
}

#[test]
fn later_edits_see_earlier_ones_and_one_failure_undoes_all() {
    assert_eq!(applied("one", &[edit("one", "two", false), edit("two", "three", false)]).unwrap(), "three");
    let problem = applied("one", &[edit("one", "two", false), edit("absent", "x", false)]).unwrap_err();
    assert!(problem.starts_with("edits[1]:") && problem.contains("none of the 2 edits"), "{problem}");
}

#[test]
fn edits_without_effect_are_refused() {
    assert!(applied("x", &[]).unwrap_err().contains("empty"));
    assert!(applied("x", &[edit("", "y", false)]).unwrap_err().contains("write_file"));
    assert!(applied("x", &[edit("x", "x", false)]).unwrap_err().contains("same"));
}

#[test]
fn invalid_utf8_is_preserved() {
    let applied = apply(b"\xff\xfe old \x80", &[edit("old", "new", false)]).unwrap();
    assert_eq!(applied.bytes, b"\xff\xfe new \x80");
}

/// A naive implementation with the standard library.
fn naive(text: &str, edits: &[Edit]) -> Option<String> {
    let mut text = text.to_owned();
    for edit in edits {
        if edit.old_string.is_empty() || edit.old_string == edit.new_string {
            return None;
        }
        let places =
            (0..text.len()).filter(|at| text.as_bytes()[*at..].starts_with(edit.old_string.as_bytes())).count();
        text = match (places, edit.replace_all) {
            (0, _) | (2.., false) => return None,
            (1, false) => text.replacen(&edit.old_string, &edit.new_string, 1),
            (_, true) => text.replace(&edit.old_string, &edit.new_string),
        };
    }
    (!edits.is_empty()).then_some(text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn edits_agree_with_the_naive_model(
        text in "[abé$\n ]{0,40}",
        edits in prop::collection::vec(("[abé$\n ]{0,4}", "[ab$&\\\\é\n]{0,5}", any::<bool>()), 0..4),
    ) {
        let edits: Vec<Edit> = edits.iter().map(|(old, new, all)| edit(old, new, *all)).collect();
        prop_assert_eq!(applied(&text, &edits).ok(), naive(&text, &edits));
    }

    /// Two letters only, so that occurrences are adjacent and overlap.
    #[test]
    fn edits_of_repetitive_texts_agree_with_the_naive_model(
        text in "[ab]{0,24}",
        edits in prop::collection::vec(("[ab]{1,3}", "[ab]{0,3}", any::<bool>()), 1..3),
    ) {
        let edits: Vec<Edit> = edits.iter().map(|(old, new, all)| edit(old, new, *all)).collect();
        prop_assert_eq!(applied(&text, &edits).ok(), naive(&text, &edits));
    }

    #[test]
    fn edits_cut_from_the_text_itself_apply(
        text in "[a-e\n]{1,60}",
        from in 0_usize..60,
        length in 1_usize..10,
        new in "[a-e$]{0,6}",
        all in any::<bool>(),
    ) {
        let from = from.min(text.len() - 1);
        let old = &text[from..(from + length).min(text.len())];
        let edits = [edit(old, &new, all)];
        prop_assert_eq!(applied(&text, &edits).ok(), naive(&text, &edits));
    }

    #[test]
    fn a_failed_edit_is_always_explained(text in "\\PC{0,80}", old in "\\PC{1,30}") {
        if let Err(problem) = applied(&text, &[edit(&old, "", false)]) {
            prop_assert!(!problem.is_empty() && problem.len() < 4000);
        }
    }
}

#[test]
fn an_escaped_tag_is_found_as_the_model_sees_it() {
    let text = applied("<notice>a</notice>", &[edit("&lt;notice>a", "&lt;notice>b &lt; c", false)]).unwrap();
    assert_eq!(text, "<notice>b &lt; c</notice>");
    assert_eq!(applied("&lt;notice>", &[edit("&lt;notice>", "x", false)]).unwrap(), "x", "what is there comes first");
    assert!(applied("<div>", &[edit("&lt;div>", "x", false)]).is_err());
}
