use serde_json::json;

use super::*;

#[test]
fn values_keep_their_text_and_become_json_by_the_core_schema() {
    let node = parse("a: 007\nb: 1.50\nc: 'true'\nd: true\ne: ~\nf:\n- x\n- [y, 2]\ng: {h: null, on: off}\n").unwrap();
    let expected = json!({
        "a": "007", "b": 1.50, "c": "true", "d": true, "e": null, "f": ["x", ["y", 2]], "g": {"h": null, "on": "off"}
    });
    assert_eq!(node.value.to_json(), expected);
    let Value::Map(entries) = node.value else { panic!("no map") };
    assert_eq!(entries[1].value, Value::Text { text: "1.50".to_owned(), is_plain: true });
    assert_eq!((entries[6].at.line, entries[6].at.column), (9, 1));
}

#[test]
fn an_alias_is_its_anchor_and_a_bomb_is_refused() {
    assert_eq!(parse("a: &x [1]\nb: *x\n").unwrap().value.to_json(), json!({"a": [1], "b": [1]}));
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{}", level - 1);
        bomb = format!("{bomb}a{level}: &a{level} [{}]\n", vec![below; 10].join(", "));
    }
    assert!(parse(&bomb).unwrap_err().message.contains("more than"), "a bomb");
    assert!(parse(&"[".repeat(10_000)).is_err());
    assert!(parse("a: *none\n").is_err());
}

#[test]
fn errors_have_line_and_column() {
    let error = parse("a: b\nc: d: e\n").unwrap_err();
    assert_eq!(error.at.line, 2);
    assert!(error.at.column > 1 && !error.message.is_empty(), "{error:?}");
    assert_eq!(parse("").unwrap().value, Value::Null);
}
