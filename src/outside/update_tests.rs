#![allow(clippy::needless_pass_by_value, reason = "values are written where they are needed")]

use serde_json::json;

use super::*;

#[test]
fn text_and_thoughts_are_read_from_one_block_or_several() {
    let read = |content: Value| Update::read(&json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    let text = |text: &str| Update::Text { text: text.to_owned(), message: None };
    assert_eq!(read(json!({"type": "text", "text": "hi"})), text("hi"));
    assert_eq!(read(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])), text("ab"));
    assert_eq!(read(json!({"type": "image", "data": "…"})), text("[image]"));
    assert_eq!(read(json!(7)), Update::Ignored);
}

#[test]
fn an_unknown_kind_is_kept_as_it_came() {
    let raw = json!({"sessionUpdate": "brand_new_kind", "x": [1, 2]});
    let Update::Unknown { kind, raw: kept } = Update::read(&raw) else { panic!("not kept") };
    assert_eq!((kind.as_str(), kept.read::<Value>().unwrap()), ("brand_new_kind", raw));
    assert!(matches!(Update::read(&json!({})), Update::Unknown { .. }));
    assert!(matches!(Update::read(&json!({"sessionUpdate": "tool_call"})), Update::Unknown { .. }), "no id");
}

#[test]
fn a_call_is_put_together_from_its_updates() {
    let read = |update: Value| CallUpdate::read(&update).unwrap();
    let mut call =
        read(json!({"toolCallId": "t", "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": {}}));
    assert_eq!(call.input, None, "an empty input is none yet");
    call.merge(read(json!({"toolCallId": "t", "rawInput": {"command": "ls"}, "status": "in_progress"})));
    call.merge(read(json!({"toolCallId": "t", "_meta": {"terminal_output_delta": {"data": "a\n"}}})));
    call.merge(read(json!({"toolCallId": "t", "_meta": {"terminal_output_delta": {"data": "b\n"}}})));
    call.merge(read(json!({"toolCallId": "t", "status": "completed", "content": []})));
    assert_eq!(call.command().as_deref(), Some("ls"));
    assert_eq!(call.status, Some(CallStatus::Completed));
    assert_eq!(call.result_text(), "a\nb\n");
    assert_eq!(call.title.as_deref(), Some("Terminal"));
}

#[test]
fn a_command_is_found_in_each_of_its_forms() {
    let command = |input: Value| CallUpdate { input: Some(input), ..CallUpdate::default() }.command();
    assert_eq!(command(json!({"command": "ls -l"})).as_deref(), Some("ls -l"));
    assert_eq!(command(json!({"command": ["/bin/bash", "-lc", "ls | wc"]})).as_deref(), Some("ls | wc"));
    assert_eq!(command(json!({"cmd": ["git", "status"]})).as_deref(), Some("git status"));
    assert_eq!(command(json!({"path": "a"})), None);
}

#[test]
fn the_files_of_a_call_are_its_locations_and_diffs_once_each() {
    let call = json!({"toolCallId": "t", "locations": [{"path": "/w/a"}, {"path": "/w/a", "line": 3}],
        "content": [{"type": "diff", "path": "/w/b", "newText": "x"}, {"type": "content", "content": {"type": "text", "text": "ok"}}]});
    let call = CallUpdate::read(&call).unwrap();
    assert_eq!(call.paths, ["/w/a", "/w/b"]);
    assert_eq!(call.result_text(), "changed /w/b\nok");
}

#[test]
fn wrong_fields_lose_only_themselves() {
    let usage = json!({"sessionUpdate": "usage_update", "used": "many", "size": 1000, "cost": {"amount": 0.25, "currency": "EUR"}});
    assert_eq!(
        Update::read(&usage),
        Update::Usage(UsageUpdate { used: None, size: Some(1000), ..UsageUpdate::default() })
    );
    let plan =
        json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "done?"}, {"status": "pending"}, 3]});
    let entry = PlanEntry { content: "a".to_owned(), status: "done?".to_owned() };
    assert_eq!(Update::read(&plan), Update::Plan(vec![entry]));
}

#[test]
fn cached_input_is_counted_once() {
    let disjoint = json!({"inputTokens": 23790, "outputTokens": 40, "cachedReadTokens": 22, "cachedWriteTokens": 14, "totalTokens": 23866});
    assert_eq!(tokens(&disjoint).unwrap().total(), 23866);
    let included = json!({"inputTokens": 100, "outputTokens": 10, "cachedReadTokens": 60, "totalTokens": 110});
    let counted = tokens(&included).unwrap();
    assert_eq!((counted.input, counted.cache_read, counted.total()), (40, 60, 110));
    assert_eq!(tokens(&json!({"input_tokens": 5, "output_tokens": 6})).unwrap().total(), 11);
    assert_eq!(tokens(&json!({"used": 5})), None);
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": {"usage": {"inputTokens": 3, "outputTokens": 4}}});
    assert!(matches!(Update::read(&chunk), Update::Usage(UsageUpdate { tokens: Some(_), .. })));
}
