#![expect(clippy::needless_pass_by_value, reason = "reads better where it is used")]

use serde_json::json;

use super::*;

fn event(eid: &str, parent: Option<&str>, kind: &str, rest: Value) -> Value {
    let mut event = json!({"eid": eid, "type": kind, "taskId": "01JT", "ts": 1_770_000_000_000_u64, "traceId": "t"});
    if let Some(parent) = parent {
        event["parentEid"] = json!(parent);
    }
    event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    event
}

fn read(values: Vec<Value>) -> ForeignSession {
    session(Path::new("/nowhere/tasks/01JT.jsonl"), &JsonLines { values, bad: 0, bytes: 1 }).unwrap()
}

fn item_texts(session: &ForeignSession) -> Vec<String> {
    session.items.iter().map(|item| format!("{:?}", item.kind)).collect()
}

#[test]
fn the_chain_is_followed_past_a_compaction_and_around_a_rewind() {
    let user = |text: &str| json!({"id": "01K", "body": {"source": "user", "content": text}});
    let session = read(vec![
        event("a", None, "message", user("Add division")),
        event("b", Some("a"), "session_config", json!({"tools": []})),
        event(
            "c",
            Some("b"),
            "tool_call",
            json!({"tool": "mcp__local__bash", "toolCallId": "t1", "input": {"command": "ls"}}),
        ),
        event(
            "d",
            Some("c"),
            "tool_result",
            json!({"tool": "bash", "toolCallId": "t1", "content": "x", "isError": false}),
        ),
        event("x", Some("d"), "assistant_text", json!({"content": "abandoned"})),
        event("e", Some("d"), "compact_started", json!({})),
        event("f", Some("e"), "assistant_text", json!({"content": "A summary."})),
        event("g", Some("f"), "compact_marker", json!({"savedTokens": 9})),
        event("h", Some("g"), "message", json!({"id": "01M", "body": {"source": "work_context", "content": "cwd"}})),
        event(
            "i",
            Some("h"),
            "message",
            json!({"id": "01N", "body": {"source": "task_complete", "title": "Sub", "output": "ok"}}),
        ),
        event("j", Some("i"), "thinking", json!({"thinking": "hm", "signature": "s"})),
        event("k", Some("j"), "assistant_text", json!({"content": "Done."})),
        event("l", Some("k"), "hologram", json!({})),
    ]);
    assert_eq!(session.left_out, 1);
    assert_eq!(session.title, "Add division");
    assert_eq!(
        item_texts(&session),
        [
            "UserMessage { text: \"Add division\", pictures: [] }",
            "Call { call: \"t1\", name: \"mcp__local__bash\", input: {\"command\":\"ls\"} }",
            "Result { call: \"t1\", text: \"x\", is_error: false, pictures: [] }",
            "Compaction { summary: \"A summary.\", tokens: 0 }",
            "UserMessage { text: \"[Sub] ok\", pictures: [] }",
            "Thinking(\"hm\")",
            "AssistantText(\"Done.\")",
        ]
    );
}

#[test]
fn a_file_without_a_chain_is_read_from_top_to_bottom() {
    let bare = |kind: &str, content: &str| json!({"type": kind, "taskId": "01JT", "ts": 5, "content": content});
    let session = read(vec![bare("assistant_text", "one"), bare("assistant_text", "two")]);
    assert_eq!(item_texts(&session), ["AssistantText(\"one\")", "AssistantText(\"two\")"]);
}

#[test]
fn title_and_parent_come_from_the_tree_file() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = folder.path().join("tasks");
    std::fs::create_dir(&tasks).unwrap();
    let node = json!({
        "id": "01JT", "type": "task", "title": "Add division", "description": "Mind zero.", "parentId": "01JR",
        "status": "verify", "worktreePath": "/home/ann/w",
    });
    std::fs::write(folder.path().join("tree.json"), json!({"rootNodeId": "01JR", "nodes": [node]}).to_string())
        .unwrap();
    let values = vec![event("a", None, "assistant_text", json!({"content": "hi"}))];
    let session = session(&tasks.join("01JT.jsonl"), &JsonLines { values, bad: 2, bytes: 1 }).unwrap();
    assert_eq!((session.title.as_str(), session.description.as_str()), ("Add division", "Mind zero."));
    assert_eq!((session.parent.as_deref(), session.left_out), (Some("01JR"), 2));
}

#[test]
fn folders_between_tasks_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = folder.path().join("tasks");
    std::fs::create_dir(&tasks).unwrap();
    let node = |id: &str, kind: &str, parent: &str| json!({"id": id, "type": kind, "title": id, "parentId": parent});
    let nodes = [
        node("01JR", "task", ""),
        node("01JF", "folder", "01JR"),
        node("01JG", "general", "01JF"),
        node("01JT", "task", "01JG"),
        node("01JX", "folder", "01JY"),
        node("01JY", "folder", "01JX"),
        node("01JZ", "task", "01JX"),
    ];
    std::fs::write(folder.path().join("tree.json"), json!({"rootNodeId": "01JR", "nodes": nodes}).to_string()).unwrap();
    let parent = |name: &str| {
        let values = vec![event("a", None, "assistant_text", json!({"content": "hi"}))];
        session(&tasks.join(format!("{name}.jsonl")), &JsonLines { values, bad: 0, bytes: 1 }).unwrap().parent
    };
    assert_eq!(parent("01JT").as_deref(), Some("01JR"));
    assert!(parent("01JZ").is_some(), "a cycle ends");
    assert_eq!(parent("01JR"), None);
}

#[test]
fn messages_during_a_compaction_follow_its_summary() {
    let user = |text: &str| json!({"id": "01K", "body": {"source": "user", "content": text}});
    let events = |end: Option<&str>| {
        let mut events = vec![
            event("a", None, "message", user("Begin")),
            event("b", Some("a"), "compact_started", json!({})),
            event("c", Some("b"), "message", user("Mind zero")),
            event("d", Some("c"), "assistant_text", json!({"content": "A summary."})),
        ];
        events.extend(end.map(|kind| event("e", Some("d"), kind, json!({"savedTokens": 1}))));
        item_texts(&read(events))
    };
    let done = events(Some("compact_marker"));
    assert!(done[1].contains("A summary.") && done[2].contains("Mind zero"), "{done:?}");
    let torn = events(None);
    assert!(torn[1].contains("A summary.") && torn[2].contains("Mind zero"), "{torn:?}");
}
