use proptest::prelude::*;

use super::*;

fn task() -> TaskId {
    "01JB2Q8G5VW3K7M9N4P6R8T0XY".parse().unwrap()
}

#[test]
fn a_title_becomes_lower_case_words_joined_by_hyphens() {
    for (title, expected) in [
        ("Fix the parser", "fix-the-parser"),
        ("  --Fix,   the: parser!!  ", "fix-the-parser"),
        ("Größe ändern", "grosse-andern"),
        ("Привет мир", "privet-mir"),
        ("naïve café №5", "naive-cafe-no5"),
        ("a/b..c~d^e:f?g*h[i\\j@{k", "a-b-c-d-e-f-g-h-i-j-k"),
        ("x.lock", "x-lock"),
        ("\u{1F600}\u{200B}\u{0007}", "grinning"),
        ("\u{E000}\u{F8FF}", ""),
        ("", ""),
        ("-.-", ""),
        ("0123456789 0123456789 0123456789", "0123456789-0123456789-01234567"),
        ("01234567890123456789012345678 x", "01234567890123456789012345678"),
    ] {
        assert_eq!(slug(title), expected, "{title:?}");
    }
    assert!(slug("修复解析器").starts_with("xiu"), "{}", slug("修复解析器"));
}

#[test]
fn a_title_without_an_ascii_form_gets_the_fallback_name() {
    assert_eq!(name(task(), "…"), "mxd/01JB2Q8G5VW3K7M9N4P6R8T0XY/task");
    assert_eq!(folder(task(), "\u{E000}"), "01JB2Q8G5VW3K7M9N4P6R8T0XY-task");
    assert_eq!(name(task(), "Fix it"), "mxd/01JB2Q8G5VW3K7M9N4P6R8T0XY/fix-it");
}

#[test]
fn the_task_is_read_back_from_its_names_and_from_no_other() {
    assert_eq!(task_of(&name(task(), "Fix")), Some(task()));
    assert_eq!(task_of(&folder(task(), "Fix")), Some(task()));
    for other in ["main", "mxd/x/y", "mxd/01JB2Q8G5VW3K7M9N4P6R8T0XY", "01JB2Q8G5VW3K7M9N4P6R8T0XY", "ä", ""] {
        assert_eq!(task_of(other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn any_title_makes_a_name_that_git_takes(title in "\\PC{0,80}") {
        let slug = slug(&title);
        prop_assert!(slug.len() <= SLUG_CHARS);
        prop_assert!(slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        prop_assert!(!slug.starts_with('-') && !slug.ends_with('-') && !slug.contains("--"));
        prop_assert!(git2::Branch::name_is_valid(&name(task(), &title)).unwrap());
        prop_assert_eq!(task_of(&folder(task(), &title)), Some(task()));
    }
}
