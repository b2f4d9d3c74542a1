use serde_json::json;

use super::*;
use crate::base::MicroUsd;

fn event(at: u128, kind: &str, body: &serde_json::Value) -> Event {
    let id = crate::base::EventId::from_ulid(at.into());
    let line = json!({"v": 1, "id": id, "parent": null, "ts": "2026-01-01T00:00:00Z", "type": kind, "body": body});
    Event::parse(&line.to_string()).unwrap()
}

#[test]
fn a_note_has_what_was_said_written_run_and_left_open() {
    let call = |id: &str, name: &str, input: &serde_json::Value| json!({"call": id, "name": format!("mcp__mxd__{name}"), "input": input});
    let result = |id: &str, is_error: bool| json!({"call": id, "name": "x", "content": {"kind": "text", "text": ""}, "is_error": is_error, "duration_ms": 1});
    let events = [
        event(1, "assistant_text", &json!({"text": "The cause is in a.rs."})),
        event(2, "tool_call", &call("1", "edit_file", &json!({"path": "a.rs"}))),
        event(3, "tool_result", &result("1", false)),
        event(4, "tool_call", &call("2", "bash", &json!({"command": "cargo test"}))),
        event(5, "tool_result", &result("2", true)),
        event(6, "tool_call", &call("3", "bash", &json!({"command": "cargo bench"}))),
    ];
    for event in &events {
        assert!(!matches!(event.body, Body::Unknown(_)), "{:?}", event.body);
    }
    let note = note(&events);
    for part in ["The cause is in a.rs.", "- a.rs", "- cargo test (failed)", "- cargo bench (did not end)", "- bash"] {
        assert!(note.contains(part), "{part} in {note}");
    }
    assert!(!note.contains("## Result"), "{note}");
}

#[test]
fn the_opening_names_the_old_profile_and_every_fact() {
    let facts = HandoverFacts {
        branch: Some("mxd/x".to_owned()),
        ahead: 2,
        behind: 1,
        uncommitted: 3,
        commits: vec!["Add a".to_owned()],
        check: Some(("cargo test".to_owned(), false)),
        open_asks: 1,
        unread: 2,
        cost: MicroUsd(1_500_000),
    };
    let text = opening(Some("engineer"), NoteAuthor::Giver, "mind the gap", &facts);
    for part in [
        "from engineer",
        "mind the gap",
        "branch mxd/x: 2 ahead, 1 behind",
        "3 files with uncommitted changes",
        "commit: Add a",
        "`cargo test` failed",
        "1 question",
        "2 unread messages",
        "$1.50",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
