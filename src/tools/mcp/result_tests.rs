use serde_json::json;

use super::*;

#[test]
fn structured_content_that_wraps_the_text_is_a_repetition() {
    let text = |texts: &[&str]| -> Vec<ContentBlock> { texts.iter().map(|text| ContentBlock::text(*text)).collect() };
    let table = [
        (json!({"a": 1}), &[r#"{"a": 1}"#][..], true),
        (json!({"content": "line 1\nline 2\n"}), &["line 1\nline 2\n"], true),
        (json!({"result": [1, 2]}), &["[1,2]"], true),
        (json!({"result": ["a", "b"]}), &["a", "b"], true),
        (json!({"result": "a\nb"}), &["a", "b"], true),
        (json!({"result": 42}), &["42"], true),
        (json!({"content": "other"}), &["line"], false),
        (json!({"content": "line", "lines": 1}), &["line"], false),
        (json!({"result": []}), &[], false),
        (json!({"result": ["a", "c"]}), &["a", "b"], false),
    ];
    for (value, texts, repeats) in table {
        assert_eq!(is_repeated(&value, &text(texts)), repeats, "{value} {texts:?}");
    }
}
