use proptest::prelude::*;

use super::*;

fn entries(text: &str) -> Vec<(String, Value, usize)> {
    let parsed = parse(text).unwrap();
    parsed.entries.into_iter().map(|entry| (entry.key, entry.value, entry.line)).collect()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn strings_may_be_bare_quoted_block_or_continued() {
    let file = "---\nname: a b # why\none: \"say \\\"x\\\": y\"\r\ntwo: 'it''s'\nfold: >-\n  a\n  b\nkeep: |\n  a\n\n    b\nlong: a: b\n  goes on\n---\nbody\n";
    assert_eq!(
        entries(file),
        [
            ("name".to_owned(), text("a b"), 2),
            ("one".to_owned(), text("say \"x\": y"), 3),
            ("two".to_owned(), text("it's"), 4),
            ("fold".to_owned(), text("a b"), 5),
            ("keep".to_owned(), text("a\n\n  b"), 8),
            ("long".to_owned(), text("a: b goes on"), 12),
        ]
    );
    assert_eq!(parse(file).unwrap().body, "body\n");
}

#[test]
fn lists_may_be_inline_or_block_and_have_lines() {
    let file = "---\na: [x, \"y z\",\n  w]\nb:\n  - one\n- two # second\nhooks:\n  Stop:\n    - matcher: x\nc:\n---";
    let list = |items: &[(&str, usize)]| Value::List(items.iter().map(|(it, at)| ((*it).to_owned(), *at)).collect());
    assert_eq!(
        entries(file),
        [
            ("a".to_owned(), list(&[("x", 2), ("y z", 2), ("w", 2)]), 2),
            ("b".to_owned(), list(&[("one", 5), ("two", 6)]), 4),
            ("hooks".to_owned(), Value::Nested, 7),
            ("c".to_owned(), text(""), 10),
        ]
    );
}

#[test]
fn errors_have_a_line() {
    for (file, line, problem) in [
        ("", 1, NO_START),
        ("name: x\n", 1, NO_START),
        ("---\nname: x\n", 2, NO_END),
        ("---\nname\n---\n", 2, NO_KEY),
        ("---\nname: x\n\n  - y\n---\n", 4, NO_KEY),
        ("---\na: b\nname: \"x\n---\n", 3, NOT_CLOSED),
        ("---\na: [b\nc: d\n---\n", 2, LIST_NOT_CLOSED),
        ("---\na:\n\t- b\n---\n", 3, TAB),
    ] {
        assert_eq!(parse(file), Err((line, problem)), "{file:?}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), front in "(?s)([a-z]{1,4}: ?|- |[|]|>|\"|'|\\[|\\]|,|#|\t| {1,3}|日|---|\n){0,40}") {
        let _ = parse(&text);
        let _ = parse(&format!("---\n{front}\n---\n{text}"));
    }
}
