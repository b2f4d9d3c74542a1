#![allow(clippy::needless_pass_by_value, reason = "values are written where they are needed")]

use super::*;

fn question(properties: Value, required: Value) -> Question {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Question::read(json!(1), &json!({"message": "Which colour?", "requestedSchema": schema}))
}

#[test]
fn choices_and_own_words_fill_the_fields_that_take_them() {
    let question = question(
        json!({"q": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
               "q_custom": {"type": "string", "title": "Other"}}),
        json!([]),
    );
    assert_eq!(question.choices(), ["Red", "Blue"]);
    assert_eq!(question.answer("Blue"), json!({"action": "accept", "content": {"q": "b"}}));
    assert_eq!(question.answer("Green"), json!({"action": "accept", "content": {"q_custom": "Green"}}));
}

#[test]
fn flags_numbers_lists_and_required_fields_keep_their_types() {
    let flag = question(json!({"ok": {"type": "boolean"}}), json!(["ok"]));
    assert_eq!(flag.answer("No")["content"], json!({"ok": false}));
    let number = question(json!({"n": {"type": "integer"}}), json!([]));
    assert_eq!(number.answer("3")["content"]["n"].as_f64(), Some(3.0));
    let list = question(json!({"l": {"type": "array", "items": {"enum": ["a", "b"]}}}), json!([]));
    assert_eq!(list.answer("b")["content"], json!({"l": ["b"]}));
    let two = question(json!({"a": {"enum": ["x", "y"]}, "b": {"enum": ["z"]}}), json!(["a", "b"]));
    assert_eq!(two.answer("y")["content"], json!({"a": "y", "b": "z"}));
}

#[test]
fn a_form_without_fields_is_confirmed() {
    let empty = Question::read(json!(1), &json!({}));
    assert_eq!((empty.choices().len(), empty.answer("ok")["action"].clone()), (0, json!("accept")));
}
