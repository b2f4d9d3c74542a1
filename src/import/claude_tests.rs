#![expect(clippy::needless_pass_by_value, reason = "reads better where it is used")]

use std::path::Path;

use serde_json::json;

use super::*;

const SESSION: &str = "5d0a2f5e-57c1-4a8b-9d2c-0f6f5b9d9a11";

fn line(uuid: &str, parent: Option<&str>, rest: Value) -> Value {
    let mut line = json!({
        "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/ann/calc",
        "sessionId": SESSION, "version": "2.1.12", "gitBranch": "main", "uuid": uuid,
        "timestamp": "2026-05-26T07:27:40.079Z",
    });
    line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    line
}

fn user(uuid: &str, parent: Option<&str>, content: Value) -> Value {
    line(uuid, parent, json!({"type": "user", "message": {"role": "user", "content": content}}))
}

fn agent(uuid: &str, parent: &str, id: &str, block: Value) -> Value {
    let usage = json!({"input_tokens": 4, "cache_creation_input_tokens": 100, "output_tokens": 8});
    let message = json!({
        "id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": [block],
        "stop_reason": null, "usage": usage,
    });
    line(uuid, Some(parent), json!({"type": "assistant", "requestId": "req_1", "message": message}))
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls", "description": "List"}})
}

fn result(id: &str, text: &str) -> Value {
    json!([{"tool_use_id": id, "type": "tool_result", "content": text, "is_error": false}])
}

fn read(values: Vec<Value>) -> Vec<ForeignSession> {
    let path = format!("/home/ann/.claude/projects/-home-ann-calc/{SESSION}.jsonl");
    sessions(Path::new(&path), &JsonLines { values, bad: 0, bytes: 1 })
}

fn item_texts(session: &ForeignSession) -> Vec<String> {
    let words = |item: &SessionItem| match &item.kind {
        ItemKind::UserMessage { text, .. } => format!("heard {text}"),
        ItemKind::AssistantText(text) => format!("said {text}"),
        ItemKind::Thinking(text) => format!("thought {text}"),
        ItemKind::Call { call, name, .. } => format!("call {name} {call}"),
        ItemKind::Result { call, text, .. } => format!("result {call} {text}"),
        ItemKind::Compaction { summary, .. } => format!("compacted {summary}"),
        ItemKind::Error(text) => format!("failed {text}"),
    };
    session.items.iter().map(words).collect()
}

#[test]
fn a_session_is_read_with_its_title_folder_and_items() {
    let values = vec![
        json!({"type": "summary", "summary": "Adding division", "leafUuid": "e"}),
        json!({"type": "file-history-snapshot", "messageId": "a", "snapshot": {}, "isSnapshotUpdate": false}),
        line("m", None, json!({"type": "user", "isMeta": true, "message": {"role": "user", "content": "Caveat: …"}})),
        user("a", None, json!("Add division")),
        agent("b", "a", "msg_1", json!({"type": "thinking", "thinking": "Zero?", "signature": "Eq=="})),
        agent("c", "b", "msg_1", json!({"type": "text", "text": "I look first."})),
        agent("d", "c", "msg_1", call("toolu_1")),
        user("e", Some("d"), result("toolu_1", "lib.rs")),
        agent("f", "e", "msg_2", json!({"type": "text", "text": "Done."})),
        line("g", Some("f"), json!({"type": "system", "subtype": "turn_duration", "durationMs": 5})),
    ];
    let sessions = read(values);
    let session = &sessions[0];
    assert_eq!(sessions.len(), 1);
    assert_eq!((session.title.as_str(), session.session.as_str()), ("Adding division", SESSION));
    assert_eq!(session.cwd.as_deref(), Some(Path::new("/home/ann/calc")));
    assert_eq!(session.started, "2026-05-26T07:27:40.079Z".parse().unwrap());
    assert_eq!(session.left_out, 0);
    assert_eq!(
        item_texts(session),
        [
            "heard Add division",
            "thought Zero?",
            "said I look first.",
            "call Bash toolu_1",
            "result toolu_1 lib.rs",
            "said Done."
        ]
    );
}

#[test]
fn results_of_parallel_calls_are_all_read() {
    // Each result has the line of its own call as parent, so the walk back from the last line reaches only one of them.
    let values = vec![
        user("a", None, json!("go")),
        agent("b", "a", "msg_1", call("t1")),
        user("r1", Some("b"), result("t1", "one")),
        agent("c", "b", "msg_1", call("t2")),
        user("r2", Some("c"), result("t2", "two")),
        agent("d", "r2", "msg_2", json!({"type": "text", "text": "both"})),
    ];
    assert_eq!(
        item_texts(&read(values)[0]),
        ["heard go", "call Bash t1", "call Bash t2", "result t1 one", "result t2 two", "said both"]
    );
}

#[test]
fn rewound_lines_are_skipped_and_a_missing_line_is_bridged() {
    let values = vec![
        user("a", None, json!("first")),
        agent("b", "a", "m1", json!({"type": "text", "text": "answer"})),
        user("x", Some("b"), json!("never mind this")),
        agent("y", "x", "m2", json!({"type": "text", "text": "abandoned"})),
        user("c", Some("b"), json!("second")),
        agent("d", "gone", "m3", json!({"type": "text", "text": "end"})),
    ];
    assert_eq!(item_texts(&read(values)[0]), ["heard first", "said answer", "heard second", "said end"]);
}

#[test]
fn the_chain_passes_ignored_lines_and_skips_rewound_ones() {
    let program = |uuid: &str, parent: &str, kind: &str| line(uuid, Some(parent), json!({ "type": kind }));
    let values = vec![
        user("a", None, json!("first")),
        program("p", "a", "attachment"),
        agent("b", "p", "m1", json!({"type": "text", "text": "abandoned answer"})),
        user("x", Some("b"), json!("never mind this")),
        // From here the user continued after their first message.
        program("q", "p", "progress"),
        user("c", Some("q"), json!("second")),
        program("r", "c", "system"),
        agent("d", "r", "m3", json!({"type": "text", "text": "end"})),
    ];
    let session = &read(values)[0];
    assert_eq!(item_texts(session), ["heard first", "heard second", "said end"]);
    assert_eq!(session.left_out, 0);
}

#[test]
fn a_summary_of_another_conversation_is_not_used_as_title() {
    let summary = |leaf: &str, words: &str| json!({"type": "summary", "summary": words, "leafUuid": leaf});
    let of = |summaries: Vec<Value>| {
        let mut values = summaries;
        values.push(user("a", None, json!("Add division")));
        read(values)[0].title.clone()
    };
    assert_eq!(of(vec![summary("elsewhere", "Another matter")]), "Add division");
    assert_eq!(of(vec![summary("a", "Division"), summary("elsewhere", "Another matter")]), "Division");
}

#[test]
fn a_sub_agent_in_the_same_file_is_a_separate_session() {
    let side = |mut line: Value| {
        line["isSidechain"] = json!(true);
        line
    };
    let values = vec![
        user("a", None, json!("delegate")),
        agent("b", "a", "m1", call("t1")),
        side(user("s1", None, json!("You are a helper: count the files"))),
        side(agent("s2", "s1", "m9", json!({"type": "text", "text": "There are 3."}))),
        user("c", Some("b"), result("t1", "There are 3.")),
    ];
    let sessions = read(values);
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[1].parent.as_deref(), Some(SESSION));
    assert_eq!(sessions[1].title, "You are a helper: count the files");
    assert_eq!(item_texts(&sessions[1]), ["heard You are a helper: count the files", "said There are 3."]);
    assert_eq!(item_texts(&sessions[0]), ["heard delegate", "call Bash t1", "result t1 There are 3."]);
}

#[test]
fn a_sub_agents_file_has_the_session_it_names_as_parent() {
    let mut first = user("s1", None, json!("count"));
    first["isSidechain"] = json!(true);
    first["agentId"] = json!("a1b2");
    let read = JsonLines { values: vec![first], bad: 0, bytes: 1 };
    let path = Path::new("/x/subagents/agent-a1b2.jsonl");
    let sessions = sessions(path, &read);
    assert_eq!((sessions[0].session.as_str(), sessions[0].parent.as_deref()), ("agent-a1b2", Some(SESSION)));
}

#[test]
fn compactions_pictures_errors_and_repeated_lines_are_read() {
    let mut error = agent("e", "d", "m2", json!({"type": "text", "text": "API Error: 529"}));
    error["isApiErrorMessage"] = json!(true);
    let mut summary = user("c", Some("k"), json!("This session is being continued: …"));
    summary["isCompactSummary"] = json!(true);
    let boundary = json!({
        "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": "k",
        "parentUuid": null, "logicalParentUuid": "b", "sessionId": SESSION, "isSidechain": false,
        "compactMetadata": {"trigger": "auto", "preTokens": 155_000}, "timestamp": "2026-05-26T08:00:00Z",
    });
    let picture = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "not base64!"}},
    ]);
    let twice = user("a", None, picture);
    let values = vec![
        twice.clone(),
        twice,
        agent("b", "a", "m1", json!({"type": "text", "text": "seen"})),
        boundary,
        summary,
        user("d", Some("c"), json!("go on")),
        error,
    ];
    let session = &read(values)[0];
    assert_eq!(
        item_texts(session),
        [
            "heard look",
            "said seen",
            "compacted This session is being continued: …",
            "heard go on",
            "failed API Error: 529"
        ]
    );
    let ItemKind::UserMessage { pictures, .. } = &session.items[0].kind else { panic!() };
    assert_eq!(pictures.len(), 1);
}

#[test]
fn unknown_lines_are_counted_and_skipped() {
    let values = vec![
        json!({"type": "user"}),
        json!({"type": "user", "uuid": 7, "message": "text", "sessionId": SESSION}),
        json!({"type": "assistant", "uuid": "q", "message": {"content": {"not": "a list"}}}),
        json!({"type": "hologram", "uuid": "h"}),
        json!({"no": "type"}),
        // Two lines that name each other.
        user("x", Some("y"), json!("x")),
        user("y", Some("x"), json!("y")),
    ];
    let session = &read(values)[0];
    assert_eq!(session.left_out, 2);
    assert_eq!(item_texts(session), ["heard x", "heard y"]);
}
