use super::*;

#[test]
fn a_line_is_a_message_if_it_is_an_object_with_a_type() {
    assert!(
        matches!(&parse(r#"{"type":"text","text":"a"}"#)[0], Incoming::Notification { method, .. } if method == "text")
    );
    for garbage in ["hello", "[]", r#"{"text":"a"}"#, r#"{"type":3}"#] {
        assert!(matches!(parse(garbage)[0], Incoming::Garbage(_)), "{garbage}");
    }
}

#[test]
fn a_tool_call_is_read_with_its_short_names() {
    let call = call(
        &json!({"id": 7, "name": "shell", "kind": "execute", "input": {"command": "ls"}, "status": "completed", "output": "a", "paths": ["/w/a"]}),
    );
    let call = call.unwrap();
    assert_eq!((call.id.as_str(), call.command().as_deref(), call.result_text().as_str()), ("7", Some("ls"), "a"));
    assert_eq!(call.paths, ["/w/a"]);
    assert_eq!(super::call(&json!({"name": "shell"})), None, "without an id");
}
