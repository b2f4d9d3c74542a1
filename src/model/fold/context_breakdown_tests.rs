use serde_json::json;

use super::*;
use crate::model::{Event, SessionState};

const ID: &str = "01JD0000000000000000000000";

fn event(kind: &str, body: &serde_json::Value) -> Event {
    let line = json!({"v": 1, "id": ID, "ts": "2026-01-01T00:00:01.000Z", "type": kind, "body": body});
    Event::parse(&line.to_string()).unwrap()
}

fn message(source: &str, bytes: usize) -> Event {
    let body = json!({"id": ID, "from": {"source": source}, "body": "x".repeat(bytes), "at": "2026-01-01T00:00:00Z"});
    event("message", &body)
}

fn result(bytes: usize) -> Event {
    let content = json!({"text": "x".repeat(bytes)});
    event("tool_result", &json!({"call": "1", "name": "bash", "content": content, "duration_ms": 1}))
}

fn filled(events: &[Event]) -> ContextBreakdown {
    SessionState::replay(events).usage.breakdown
}

#[test]
fn shares_are_proportional_and_the_largest_comes_first() {
    let text = event("assistant_text", &json!({"text": "x".repeat(100)}));
    let filling = filled(&[message("user", 100), text, result(600), message("work_context", 200)]);
    let shares = filling.shares(50_000);
    assert_eq!(
        shares,
        [(Part::Results, 30_000), (Part::Instructions, 10_000), (Part::Messages, 5_000), (Part::Words, 5_000)]
    );
    assert_eq!(filled(&[]).shares(50_000), []);
}

#[test]
fn a_summary_replaces_the_conversation() {
    let before = [message("user", 100), result(900), message("work_context", 50)];
    let carry = SessionState::replay(&before);
    let marker = json!({"summary": "x".repeat(30), "tokens_before": 9, "tokens_after": 1, "carry": carry});
    let marker = event("compact_marker", &marker);
    let whole = SessionState::replay(before.iter().chain([&marker]));
    let from_the_marker = SessionState::replay([&marker]);
    assert_eq!(whole.usage.breakdown, from_the_marker.usage.breakdown);
    assert_eq!(whole.usage.breakdown.shares(80), [(Part::Instructions, 50), (Part::Summary, 30)]);
}

#[test]
fn rewound_events_do_not_count() {
    let then = SessionState::replay(&[message("user", 100)]);
    let now = SessionState::replay(&[message("user", 100), result(900)]);
    assert_eq!(now.moved_to(&then).usage.breakdown, then.usage.breakdown);
}
