//! A session with every kind of transcript entry, written as it is on disk.

use serde_json::{Value, json};
use ulid::Ulid;

use crate::base::Timestamp;
use crate::model::Event;
use crate::ui::testing::screen::NOW;
use crate::ui::testing::task;

const MARKDOWN: &str = "# What I found\n\nThe parser has *two* faults, see [the issue](https://example.org/42):\n\n1. it drops `\\r`\n2. it reads **too far**\n   - by one byte\n   - at the end\n\n> A quote that says why.\n\n| case | before | after |\n|---|---:|---:|\n| empty | 3 | 0 |\n| 日本 | 7 | 4 |\n\n```rust\nfn read(bytes: &[u8]) -> usize {\n    bytes.len().saturating_sub(1) // one less\n}\n```\n\n- [x] tests\n- [ ] docs\n\n---\n";

fn id(number: u128) -> String {
    Ulid::from_parts(1_794_808_000_000, number).to_string()
}

fn message(number: u128, from: &Value, body: &str) -> (&'static str, Value) {
    ("message", json!({"id": id(9_000 + number), "from": from, "body": body, "at": "2026-11-16T06:00:00Z"}))
}

fn call(call: &str, name: &str, input: &Value) -> (&'static str, Value) {
    ("tool_call", json!({"call": call, "name": name, "input": input}))
}

fn result(call: &str, name: &str, text: &str, millis: u64) -> (&'static str, Value) {
    ("tool_result", json!({"call": call, "name": name, "content": {"text": text}, "duration_ms": millis}))
}

/// Returns the events, oldest first. The first ones are of the day before.
pub fn story() -> Vec<Event> {
    let ask = json!({"id": id(9_500), "kind": "clarify", "question": "Keep the old format?", "choices": ["yes", "no"]});
    let (other, above) = (task(2).to_string(), task(1).to_string());
    let bodies = vec![
        ("fork_marker", json!({"source": other, "source_event": id(1), "title": "日本語"})),
        ("run_started", json!({"shape": "fresh", "profile": "worker", "model": "sonnet"})),
        message(1, &json!({"source": "work_context"}), "You are in a worktree.\nIts branch is yours."),
        message(2, &json!({"source": "user"}), "Begin with your task."),
        ("thinking", json!({"text": "First I look.\nThen I leap.", "wire": "anthropic"})),
        ("assistant_text", json!({"text": MARKDOWN})),
        message(
            3,
            &json!({"source": "task_message", "task": above, "title": "orchestrator", "request_reply": true}),
            "How far are you?",
        ),
        call("1", "send_message", &json!({"task": above, "message": "Half of it is done."})),
        result("1", "send_message", "Sent to \"orchestrator\".", 3),
        ("ask_raised", ask),
        ("ask_answered", json!({"id": id(9_500), "answer": {"text": "yes", "choice": 0, "by": "person"}})),
        ("compact_started", json!({"trigger": "manual"})),
        ("compact_marker", json!({"summary": "So far: two faults.", "tokens_before": 150_000, "tokens_after": 9_000})),
        (
            "error",
            json!({"class": "rate_limit", "message": "The provider asks to wait.",
                "attempt": {"number": 2, "of": 5, "wait_ms": 8_000}}),
        ),
        call("2", "bash", &json!({"command": "npm run dev", "background": true})),
        (
            "tool_result",
            json!({"call": "2", "name": "bash", "content": {"text": "Started in the background as bg-1."},
                "duration_ms": 120, "background": {"id": "bg-1", "command": "npm run dev"}}),
        ),
        message(
            4,
            &json!({"source": "task_complete", "task": task(7), "title": "flaky test", "verdict": "failed"}),
            "It still fails one time in ten.",
        ),
        message(
            5,
            &json!({"source": "tree_change", "task": task(8), "title": "an idea for later", "action": "created"}),
            "",
        ),
        message(6, &json!({"source": "interrupt"}), ""),
        ("budget_warning", json!({"scope": "task", "spent": 800_000, "limit": 1_000_000})),
        call("3", "read_file", &json!({"files": [{"path": "src/parse.rs"}, {"path": "src/main.rs"}]})),
        result("3", "read_file", "1\tfn main() {}\n", 4),
        ("done_notified", json!({"verdict": "passed", "result": "Both faults are gone; **twelve** tests pass."})),
        ("run_ended", json!({"exit": {"interrupted": "stopped"}})),
        ("run_started", json!({"shape": "interrupted", "profile": "worker", "model": "opus"})),
        message(7, &json!({"source": "user"}), "and now the docs, please"),
    ];
    let count = i64::try_from(bodies.len()).unwrap();
    let day = 86_400;
    let event = |((kind, body), at): ((&str, Value), i64)| {
        let seconds = (count - at) * 30 + if at < 6 { day } else { 0 };
        let ts = Timestamp::from_millis(NOW - seconds * 1_000).to_string();
        let number = u128::try_from(at).unwrap();
        let line = json!({"v": 1, "id": id(500 + number), "ts": ts, "type": kind, "body": body});
        let event = Event::parse(&line.to_string()).unwrap();
        assert!(!matches!(event.body, crate::model::Body::Unknown(_)), "{kind}: {:?}", event.body);
        event
    };
    bodies.into_iter().zip(0..).map(event).collect()
}
