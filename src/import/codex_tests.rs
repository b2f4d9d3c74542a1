use std::path::Path;

use serde_json::json;

use super::*;

fn line(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "2026-10-29T00:59:38.317Z", "type": kind, "payload": payload})
}

fn item(payload: &Value) -> Value {
    line("response_item", payload)
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    item(&json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn meta() -> Value {
    line(
        "session_meta",
        &json!({
            "id": "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5", "timestamp": "2026-10-29T00:59:38.308Z", "cwd": "/home/ann/calc",
            "originator": "codex_exec", "cli_version": "0.46.0", "instructions": null, "source": "exec", "git": {},
        }),
    )
}

fn read(values: Vec<Value>) -> ForeignSession {
    let path = Path::new("/x/rollout-2026-10-29T00-59-38-019a2d7a.jsonl");
    session(path, &JsonLines { values, bad: 0, bytes: 1 }).unwrap()
}

fn item_texts(session: &ForeignSession) -> Vec<String> {
    let words = |item: &SessionItem| match &item.kind {
        ItemKind::UserMessage { text, pictures } => format!("heard {text} {}", pictures.len()),
        ItemKind::AssistantText(text) => format!("said {text}"),
        ItemKind::Thinking(text) => format!("thought {text}"),
        ItemKind::Call { call, name, input } => format!("call {name} {call} {input:?}"),
        ItemKind::Result { call, text, is_error, .. } => format!("result {call} {text} {is_error}"),
        ItemKind::Compaction { summary, .. } => format!("compacted {summary}"),
        ItemKind::Error(text) => format!("failed {text}"),
    };
    session.items.iter().map(words).collect()
}

#[test]
fn a_rollout_is_read_without_the_programs_preamble() {
    let session = read(vec![
        meta(),
        message("developer", "input_text", "<permissions instructions>…"),
        message("user", "input_text", "<environment_context>\n<cwd>/home/ann/calc</cwd>"),
        message("user", "input_text", "Add division"),
        line("event_msg", &json!({"type": "user_message", "message": "Add division", "kind": "plain"})),
        line("turn_context", &json!({"cwd": "/home/ann/calc", "model": "gpt-5-codex", "effort": "high"})),
        item(
            &json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Zero**"}], "encrypted_content": "gAAA"}),
        ),
        item(
            &json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "call_1"}),
        ),
        item(
            &json!({"type": "function_call_output", "call_id": "call_1", "output": "{\"output\":\"no\\n\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.1}}"}),
        ),
        item(
            &json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin Patch", "call_id": "call_2", "status": "completed"}),
        ),
        item(&json!({"type": "custom_tool_call_output", "call_id": "call_2", "output": "Success"})),
        line("event_msg", &json!({"type": "token_count", "info": null})),
        message("assistant", "output_text", "Done."),
    ]);
    assert_eq!(session.session, "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5");
    assert_eq!((session.title.as_str(), session.left_out), ("Add division", 0));
    assert_eq!(session.started, "2026-10-29T00:59:38.308Z".parse().unwrap());
    assert_eq!(
        item_texts(&session),
        [
            "heard Add division 0",
            "thought **Zero**",
            "call shell call_1 {\"command\":[\"ls\"]}",
            "result call_1 no\n true",
            "call apply_patch call_2 {\"input\":\"*** Begin Patch\"}",
            "result call_2 Success false",
            "said Done.",
        ]
    );
}

#[test]
fn the_first_format_with_bare_items_is_read_too() {
    let session = read(vec![
        json!({"id": "abc", "timestamp": "2025-06-01T10:00:00Z", "instructions": null}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text",
            "text": "<environment_context>\nCurrent working directory: /home/ann/calc\nApproval policy: never\n</environment_context>"}]}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}),
        json!({"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}}),
        json!({"type": "function_call_output", "call_id": "c", "output": {"content": "x", "success": false}}),
    ]);
    assert_eq!((session.session.as_str(), session.started), ("abc", "2025-06-01T10:00:00Z".parse().unwrap()));
    assert_eq!(session.cwd.as_deref(), Some(Path::new("/home/ann/calc")));
    assert_eq!(
        item_texts(&session),
        ["heard hello 0", "said hi", "call local_shell c {\"type\":\"exec\",\"command\":[\"ls\"]}", "result c x true"]
    );
}

#[test]
fn the_working_directory_is_read_from_the_prompt() {
    let told =
        |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let tagged = "<environment_context>\n  <cwd>/home/ann/calc</cwd>\n  <shell>bash</shell>\n</environment_context>";
    assert_eq!(announced_folder(&told(tagged)), Some("/home/ann/calc"));
    assert_eq!(announced_folder(&item(&told(tagged))), Some("/home/ann/calc"));
    assert_eq!(announced_folder(&told("Look at <cwd>/etc</cwd>")), None, "a person may write anything");
    assert_eq!(announced_folder(&told("<environment_context>")), None);
}

#[test]
fn a_failed_command_is_detected_by_its_exit_code_line() {
    let output = |text: &str| item(&json!({"type": "function_call_output", "call_id": "c", "output": text}));
    let failed = "Exit code: 2\nWall time: 0 seconds\nOutput:\nno";
    let session = read(vec![meta(), output(failed), output("Exit code: 0\nOutput:\nyes")]);
    assert_eq!(
        item_texts(&session),
        [format!("result c {failed} true"), "result c Exit code: 0\nOutput:\nyes false".to_owned()]
    );
}

#[test]
fn a_rollback_removes_items_and_a_compaction_becomes_a_summary() {
    let rolled = |turns: u64| line("event_msg", &json!({"type": "thread_rolled_back", "num_turns": turns}));
    let talk = |text: &str| [message("user", "input_text", text), message("assistant", "output_text", "ok")];
    let mut values = vec![meta()];
    values.extend(talk("one").into_iter().chain(talk("two")).chain(talk("three")));
    values.push(rolled(2));
    values.extend(talk("four"));
    values.push(line("compacted", &json!({"message": "All is well."})));
    values.push(line(
        "compacted",
        &json!({"message": "", "replacement_history": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]}]}),
    ));
    assert_eq!(
        item_texts(&read(values)),
        ["heard one 0", "said ok", "heard four 0", "said ok", "compacted All is well.", "compacted kept"]
    );
    assert_eq!(item_texts(&read(vec![meta(), talk("one")[0].clone(), rolled(99)])), [""; 0]);
}

#[test]
fn unknown_lines_are_counted_and_skipped() {
    let session = read(vec![
        line("world_state", &json!({"x": 1})),
        json!({"timestamp": 3, "type": "response_item", "payload": "text"}),
        item(&json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
            {"type": "input_image", "image_url": "https://example.org/x.png"}]})),
        item(&json!({"type": "function_call", "name": "f", "arguments": "not json", "call_id": "c"})),
        item(&json!({"type": "function_call", "name": "no id"})),
        item(&json!({"type": "hologram"})),
    ]);
    assert_eq!(session.left_out, 3);
    assert_eq!(item_texts(&session), ["heard look 1", "call f c {\"input\":\"not json\"}"]);
    assert_eq!(session.session, "rollout-2026-10-29T00-59-38-019a2d7a");
}

#[test]
fn a_sub_agents_copy_of_its_parents_history_is_skipped() {
    let numbered = |number: u64, mut line: Value| {
        line["ordinal"] = number.into();
        line
    };
    let mut head = meta();
    head["payload"]["subagent_history_start_ordinal"] = 3.into();
    let session = read(vec![
        numbered(0, head),
        numbered(1, message("user", "input_text", "the parent's goal")),
        numbered(2, message("assistant", "output_text", "the parent's plan")),
        numbered(3, message("user", "input_text", "look at the parser")),
        message("assistant", "output_text", "a line without a number"),
    ]);
    assert_eq!(item_texts(&session), ["heard look at the parser 0", "said a line without a number"]);
    assert_eq!((session.title.as_str(), session.left_out), ("look at the parser", 0));
}
