use super::*;

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn only_file_tools_can_be_replayed() {
    let edit = json(r#"{"path": "a", "edits": [{"old_string": "one", "new_string": "two"}]}"#);
    assert_eq!(replay("edit_file", &edit, Some(b"one\n")), Some(b"two\n".to_vec()));
    assert_eq!(replay("mcp__mxd__edit_file", &edit, Some(b"none\none")), None, "it must occur once");
    assert_eq!(replay("edit_file", &edit, None), None);
    let write = json(r#"{"path": "a", "content": "new"}"#);
    assert_eq!(replay("write_file", &write, None), Some(b"new".to_vec()));
    assert_eq!(replay("bash", &json(r#"{"command": "true"}"#), Some(b"x")), None);
    assert_eq!(replay("write_file", &json("{}"), None), None);
}

#[test]
fn tools_that_may_write_are_known() {
    for writes in ["bash", "mcp__mxd__bash", "edit_file", "mcp__mxd__write_file", "background", "mcp__files__put"] {
        assert!(may_write(writes), "{writes}");
    }
    for looks in ["read_file", "mcp__mxd__search", "done", "send_message", "yield"] {
        assert!(!may_write(looks), "{looks}");
    }
    assert_eq!(subject(&json(r#"{"command": "make"}"#)).as_deref(), Some("make"));
    assert_eq!(subject(&json(r#"{"status": "passed"}"#)), None);
}
