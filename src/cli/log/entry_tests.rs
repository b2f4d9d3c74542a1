use serde_json::json;

use super::*;

fn head(kind: &str, body: &serde_json::Value) -> String {
    let id = "01M3251RDWSRRFBP0Z6CX1ZEF9";
    let line = json!({"v": 1, "id": id, "parent": null, "ts": "2026-01-01T00:00:00.000Z", "type": kind, "body": body});
    // The time is in the zone of the machine.
    let line = lines(&Event::parse(&line.to_string()).unwrap()).remove(0);
    line.split_once("  ").unwrap().1.to_owned()
}

#[test]
fn tool_calls_are_sentences_and_results_have_display_names() {
    let call = |name: &str| head("tool_call", &json!({"call": "c", "name": name, "input": {}}));
    assert_eq!(call("mcp__mxd__bash"), "runs");
    assert_eq!(call("mcp__files__read"), "calls files/read");
    let result = json!({"call": "c", "name": "mcp__mxd__bash", "content": {"text": ""}, "duration_ms": 5});
    assert_eq!(head("tool_result", &result), "bash returned (5 ms)");
}

#[test]
fn an_error_shows_when_it_is_retried() {
    let mut error = json!({"class": "server", "message": "m", "attempt": {"number": 2, "of": 6, "wait_ms": 1_540}});
    assert_eq!(head("error", &error), "error (server), retrying in 1.5 s (2 of 6)");
    error["attempt"].take();
    assert_eq!(head("error", &error), "error (server)");
}
