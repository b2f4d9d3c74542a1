#![allow(clippy::needless_pass_by_value, reason = "values are written where they are needed")]

use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000);

fn update(value: Value) -> Update {
    Update::read(&value)
}

fn say(text: &str) -> Update {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

fn kinds(bodies: &[Body]) -> Vec<&str> {
    bodies.iter().map(Body::kind).collect()
}

/// Feeds updates and ends the turn. Returns all events.
fn turn(updates: impl IntoIterator<Item = Update>) -> Vec<Body> {
    let mut transcript = Transcript::new("agent");
    let mut bodies: Vec<Body> = Vec::new();
    for update in updates {
        bodies.extend(transcript.on_update(NOW, update).bodies);
    }
    bodies.extend(transcript.end_turn(NOW, "The program did not say how it ended.").bodies);
    bodies
}

#[test]
fn text_is_joined_until_something_else_follows() {
    let thought = json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}});
    let bodies = turn([say("a"), say("b"), update(thought), say("c")]);
    assert_eq!(kinds(&bodies), ["assistant_text", "thinking", "assistant_text"]);
    assert_eq!(bodies[0], AssistantText { text: "ab".to_owned() }.into());
}

#[test]
fn a_call_is_recorded_once_its_input_is_known_and_answered_once() {
    let bodies = turn([
        say("I look."),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": {}}),
        ),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "rawInput": {"command": "ls"}})),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "rawOutput": "a"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "rawOutput": "late"}),
        ),
    ]);
    assert_eq!(kinds(&bodies), ["assistant_text", "tool_call", "tool_result"]);
    let Body::ToolCall(call) = &bodies[1] else { panic!("no call") };
    assert_eq!((call.name.as_str(), call.input.as_str()), ("mcp__mxd__bash", r#"{"command":"ls"}"#));
    let Body::ToolResult(result) = &bodies[2] else { panic!("no result") };
    assert_eq!((result.content.clone(), result.is_error), (Content::text("a"), false));
}

#[test]
fn an_update_for_an_unknown_call_begins_it_and_an_open_call_is_closed_with_the_turn() {
    let late = json!({"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "in_progress", "title": "Fetch", "kind": "fetch"});
    let bodies = turn([update(late)]);
    assert_eq!(kinds(&bodies), ["tool_call", "tool_result"]);
    let Body::ToolResult(result) = &bodies[1] else { panic!("no result") };
    assert!(result.is_error, "how it ended is unknown");
    assert_eq!(result.name, "mcp__agent__fetch");
}

#[test]
fn calls_of_our_own_tools_are_left_out_however_they_are_spelled() {
    for name in [
        "mcp__mxd__done",
        "mcp_mxd_done",
        "mxd_done",
        "mxd-done",
        "done (mxd MCP Server)",
        "mxd/get_tree",
        "Tool: mxd/done",
    ] {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": name, "status": "in_progress", "rawInput": {"a": 1}});
        assert_eq!(turn([update(call)]), [], "{name}");
    }
    for name in ["mxd", "mxd_anything", "done", "/w/mxd-done/file"] {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": name, "status": "in_progress", "rawInput": {"a": 1}});
        assert_eq!(turn([update(call)]).len(), 2, "{name}");
    }
}

#[test]
fn a_foreign_tool_never_gets_the_name_of_a_tool_that_controls_the_run() {
    for name in ["done", "yield", "mcp__mxd__other"] {
        let call = CallUpdate { id: "t".to_owned(), name: Some(name.to_owned()), ..CallUpdate::default() };
        let event = tool_use("agent", &call);
        assert_eq!(crate::model::control::Control::of(&event.name), None, "{name}: {}", event.name);
    }
}

#[test]
fn files_become_calls_of_the_tools_that_do_the_same() {
    let edit = CallUpdate { kind: Some("edit".to_owned()), paths: vec!["/w/a.rs".to_owned()], ..CallUpdate::default() };
    assert_eq!(tool_use("agent", &edit).name, "mcp__mxd__edit_file");
    let read = CallUpdate {
        kind: Some("read".to_owned()),
        input: Some(json!({"file_path": "/w/b"})),
        ..CallUpdate::default()
    };
    assert_eq!(tool_use("agent", &read).name, "mcp__mxd__read_file");
    let server = CallUpdate { name: Some("mcp__db__query".to_owned()), ..CallUpdate::default() };
    assert_eq!(tool_use("agent", &server).name, "mcp__db__query");
}

#[test]
fn a_flood_of_unknown_messages_is_kept_in_part_and_long_results_are_cut() {
    let unknown = || update(json!({"sessionUpdate": "brand_new", "x": 1}));
    assert_eq!(turn((0..1_000).map(|_| unknown())).len(), MAX_UNKNOWN);
    let long = "x".repeat(1 << 20);
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute", "status": "completed", "rawInput": {"command": "cat"}, "rawOutput": long});
    let bodies = turn([update(call)]);
    let Body::ToolResult(result) = &bodies[1] else { panic!("no result") };
    let Content::Text { text } = &result.content else { panic!("no text") };
    assert!(text.len() < MAX_RESULT + 100);
}

#[test]
fn a_turn_of_nothing_but_text_is_known_as_one() {
    let mut transcript = Transcript::new("agent");
    transcript.on_update(NOW, say("Error: 400 bad request"));
    assert_eq!(transcript.only_text(), Some("Error: 400 bad request"));
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "status": "in_progress"});
    transcript.on_update(NOW, update(call));
    assert_eq!(transcript.only_text(), None);
}

#[test]
fn a_command_is_recorded_when_it_is_known_and_may_be_only_a_title() {
    let call = |fields: Value| {
        let mut fields = fields;
        fields["toolCallId"] = json!("t");
        fields
    };
    let mut first =
        call(json!({"kind": "execute", "status": "in_progress", "title": "bash", "rawInput": {"cwd": "/w"}}));
    first["sessionUpdate"] = json!("tool_call");
    let mut second = call(json!({"status": "completed", "rawInput": {"cwd": "/w", "command": "ls"}}));
    second["sessionUpdate"] = json!("tool_call_update");
    let bodies = turn([update(first), update(second)]);
    let Body::ToolCall(recorded) = &bodies[0] else { panic!("no call") };
    assert_eq!(recorded.input.read::<Value>().unwrap()["command"], "ls");
    let titled =
        CallUpdate { kind: Some("execute".to_owned()), title: Some("git push".to_owned()), ..CallUpdate::default() };
    let event = tool_use("agent", &titled);
    assert_eq!((event.name.as_str(), event.input.as_str()), ("mcp__mxd__bash", r#"{"command":"git push"}"#));
}
