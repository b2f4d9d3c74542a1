//! Each rule about a single request fires for a request that breaks it, and for no valid one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::requests::{ANTHROPIC, CHAT, RESPONSES, anthropic, chat, hour, message, minutes, responses};
use super::{client, post, post_with};
use crate::support::mock::{Mock, Rule, Script};

/// What is broken, how, and the rule that must say so.
type Case = (&'static str, fn(&mut Value), Rule);

#[rustfmt::skip]
const ANTHROPIC_CASES: &[Case] = &[
    ("an unknown top-level field", |r| r["frobnicate"] = json!(1), Rule::UnknownField),
    ("an unknown field of a message", |r| r["messages"][0]["id"] = json!("m"), Rule::UnknownField),
    ("an unknown field of a text block", |r| block(r, 0, 0)["at"] = json!(1), Rule::UnknownField),
    ("an unknown field of a tool use", |r| block(r, 1, 3)["malformed"] = json!("x"), Rule::UnknownField),
    ("an unknown field of a tool result", |r| block(r, 2, 0)["name"] = json!("read"), Rule::UnknownField),
    ("an unknown field of a tool", |r| r["tools"][0]["parameters"] = json!({}), Rule::UnknownField),
    ("an unknown field of a cache mark", |r| r["system"][0]["cache_control"]["scope"] = json!("x"), Rule::UnknownField),
    ("no model", |r| drop(object(r).remove("model")), Rule::MissingField),
    ("no limit", |r| drop(object(r).remove("max_tokens")), Rule::MissingField),
    ("no messages", |r| r["messages"] = json!([]), Rule::MissingField),
    ("a tool use without an id", |r| drop(object(block(r, 1, 3)).remove("id")), Rule::MissingField),
    ("an unknown kind of block", |r| block(r, 0, 0)["type"] = json!("speech"), Rule::InvalidField),
    ("a tool input that is no object", |r| block(r, 1, 3)["input"] = json!("{}"), Rule::InvalidField),
    ("an is_error that is no boolean", |r| block(r, 2, 0)["is_error"] = json!("yes"), Rule::InvalidField),
    ("an image of an unknown type", |r| add(r, 2, image("image/tiff", "AAAA")), Rule::InvalidField),
    ("an image without data", |r| add(r, 2, image("image/png", "")), Rule::InvalidField),
    ("an unknown lifetime", |r| block(r, 2, 2)["cache_control"] = json!({"type": "ephemeral", "ttl": "1d"}), Rule::InvalidField),
    ("a cache mark on thinking", |r| block(r, 1, 0)["cache_control"] = hour(), Rule::InvalidField),
    ("a model that speaks first", |r| drop(messages(r).remove(0)), Rule::FirstRole),
    ("a model that speaks last", |r| messages(r).push(says("assistant", "Well,")), Rule::LastRole),
    ("an unknown role", |r| messages(r).push(says("tool", "x")), Rule::RoleOrder),
    ("a tool use by the user", |r| add(r, 2, json!({"type": "tool_use", "id": "t", "name": "read", "input": {}})), Rule::BlockRole),
    ("a result by the model", |r| add(r, 1, json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"})), Rule::BlockRole),
    ("a missing result", |r| drop(content(r, 2).remove(0)), Rule::UnansweredToolUse),
    ("a result behind a text", |r| content(r, 2).swap(1, 2), Rule::UnansweredToolUse),
    ("a call without any answer", |r| r["messages"][2]["content"] = json!("so?"), Rule::UnansweredToolUse),
    ("a result of no call", |r| content(r, 2).insert(0, result("toolu_9")), Rule::OrphanToolResult),
    ("a result of an older call", |r| { messages(r).push(says("assistant", "Hm.")); messages(r).push(json!({"role": "user", "content": [result("toolu_1")]})); }, Rule::OrphanToolResult),
    ("two results of one call", |r| content(r, 2).insert(0, result("toolu_1")), Rule::DuplicateToolResult),
    ("two calls with one id", |r| block(r, 1, 4)["id"] = json!("toolu_1"), Rule::DuplicateToolUse),
    ("an empty text", |r| block(r, 2, 2)["text"] = json!(""), Rule::EmptyText),
    ("a text of spaces", |r| block(r, 1, 2)["text"] = json!(" \n\t"), Rule::EmptyText),
    ("an empty text in a result", |r| block(r, 2, 1)["content"][0]["text"] = json!(""), Rule::EmptyText),
    ("an empty system prompt", |r| r["system"][0]["text"] = json!(" "), Rule::EmptyText),
    ("one message in two turns", |r| block(r, 2, 2)["text"] = json!(message(1, "Look around.")), Rule::DuplicateMessage),
    ("one message twice in a turn", |r| add(r, 2, json!({"type": "text", "text": message(2, "And now?")})), Rule::DuplicateMessage),
    ("one message twice in a text", |r| block(r, 2, 2)["text"] = json!([message(3, "x"), message(3, "x")].join("\n")), Rule::DuplicateMessage),
    ("an hour after five minutes", |r| { r["system"][0]["cache_control"] = minutes(); block(r, 2, 2)["cache_control"] = hour(); }, Rule::CacheLifetime),
    ("five minutes on the tools, an hour on the system", |r| r["tools"][1]["cache_control"] = minutes(), Rule::CacheLifetime),
    ("five marks", |r| { block(r, 0, 0)["cache_control"] = hour(); block(r, 2, 0)["cache_control"] = minutes(); }, Rule::CacheBreakpoints),
    ("a tool name with a space", |r| r["tools"][0]["name"] = json!("read file"), Rule::ToolName),
    ("a tool without a name", |r| r["tools"][0]["name"] = json!(""), Rule::ToolName),
    ("a tool name of 129 letters", |r| r["tools"][0]["name"] = json!("x".repeat(129)), Rule::ToolName),
    ("two tools of one name", |r| r["tools"][0]["name"] = json!("list"), Rule::DuplicateTool),
    ("a schema of an array", |r| r["tools"][0]["input_schema"] = json!({"type": "array"}), Rule::ToolSchema),
    ("no schema", |r| drop(object(&mut r["tools"][0]).remove("input_schema")), Rule::ToolSchema),
    ("a limit beyond the model's", |r| r["max_tokens"] = json!(64_001), Rule::MaxTokens),
    ("a limit of nothing", |r| r["max_tokens"] = json!(0), Rule::MaxTokens),
    ("a thinking budget as large as the limit", |r| r["thinking"] = json!({"type": "enabled", "budget_tokens": 4096}), Rule::ThinkingBudget),
    ("thinking that was changed", |r| block(r, 1, 0)["thinking"] = json!("Where not to look?"), Rule::ThinkingSignature),
    ("a signature that was changed", |r| block(r, 1, 0)["signature"] = json!("forged"), Rule::ThinkingSignature),
];

#[rustfmt::skip]
const RESPONSES_CASES: &[Case] = &[
    ("an unknown top-level field", |r| r["system"] = json!("x"), Rule::UnknownField),
    ("an unknown field of an item", |r| r["input"][2]["input"] = json!({}), Rule::UnknownField),
    ("an unknown field of a result", |r| r["input"][3]["is_error"] = json!(true), Rule::UnknownField),
    ("no model", |r| drop(object(r).remove("model")), Rule::MissingField),
    ("no input", |r| r["input"] = json!([]), Rule::MissingField),
    ("an unknown item", |r| r["input"][4] = json!({"type": "tool_use"}), Rule::InvalidField),
    ("a stored response", |r| r["previous_response_id"] = json!("resp_1"), Rule::InvalidField),
    ("an unknown role", |r| r["input"][0]["role"] = json!("tool"), Rule::RoleOrder),
    ("a model that speaks first", |r| drop(input(r).remove(0)), Rule::RoleOrder),
    ("the model's text by the user", |r| r["input"][5]["content"][0]["type"] = json!("output_text"), Rule::BlockRole),
    ("the user's text by the model", |r| r["input"][4]["content"][0]["type"] = json!("input_text"), Rule::BlockRole),
    ("a missing result", |r| drop(input(r).remove(3)), Rule::UnansweredToolUse),
    ("a result before its call", |r| input(r).swap(2, 3), Rule::OrphanToolResult),
    ("a result of no call", |r| r["input"][3]["call_id"] = json!("call_9"), Rule::OrphanToolResult),
    ("two results of one call", |r| { let again = r["input"][3].clone(); input(r).push(again); }, Rule::DuplicateToolResult),
    ("two calls with one id", |r| { let again = r["input"][2].clone(); input(r).insert(2, again); }, Rule::DuplicateToolUse),
    ("an empty text", |r| r["input"][5]["content"][0]["text"] = json!(" "), Rule::EmptyText),
    ("one message twice", |r| r["input"][5]["content"][0]["text"] = json!(message(1, "Look around.")), Rule::DuplicateMessage),
    ("a tool name with a dot", |r| r["tools"][0]["name"] = json!("read.file"), Rule::ToolName),
    ("a tool name of 65 letters", |r| r["tools"][0]["name"] = json!("x".repeat(65)), Rule::ToolName),
    ("two tools of one name", |r| { let again = r["tools"][0].clone(); r["tools"].as_array_mut().unwrap().push(again); }, Rule::DuplicateTool),
    ("a schema of a string", |r| r["tools"][0]["parameters"] = json!({"type": "string"}), Rule::ToolSchema),
    ("a limit beyond the model's", |r| r["max_output_tokens"] = json!(1_000_000), Rule::MaxTokens),
    ("a limit below the least", |r| r["max_output_tokens"] = json!(8), Rule::MaxTokens),
    ("reasoning without what followed", |r| drop(input(r).drain(2..5)), Rule::ReasoningAlone),
    ("reasoning that was changed", |r| r["input"][1]["summary"][0]["text"] = json!("Here?"), Rule::ThinkingSignature),
    ("reasoning that nobody stored", |r| drop(object(&mut r["input"][1]).remove("encrypted_content")), Rule::ThinkingSignature),
];

#[rustfmt::skip]
const CHAT_CASES: &[Case] = &[
    ("an unknown top-level field", |r| r["system"] = json!("x"), Rule::UnknownField),
    ("an unknown field of a message", |r| r["messages"][3]["is_error"] = json!(true), Rule::UnknownField),
    ("an unknown field of a call", |r| r["messages"][2]["tool_calls"][0]["input"] = json!({}), Rule::UnknownField),
    ("no messages", |r| drop(object(r).remove("messages")), Rule::MissingField),
    ("usage wanted without a stream", |r| r["stream_options"] = json!({"include_usage": true}), Rule::InvalidField),
    ("arguments that are no JSON", |r| r["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{"), Rule::InvalidField),
    ("a model that says nothing", |r| messages(r).push(json!({"role": "assistant", "content": null})), Rule::InvalidField),
    ("nobody but the system", |r| messages(r).truncate(1), Rule::FirstRole),
    ("a model that speaks first", |r| drop(messages(r).remove(1)), Rule::RoleOrder),
    ("an unknown role", |r| messages(r).push(json!({"role": "model", "content": "x"})), Rule::RoleOrder),
    ("a system message in the middle", |r| messages(r).push(json!({"role": "system", "content": "x"})), Rule::RoleOrder),
    ("a missing result", |r| drop(messages(r).remove(4)), Rule::UnansweredToolUse),
    ("a result behind the user", |r| messages(r).swap(4, 5), Rule::UnansweredToolUse),
    ("a result of no call", |r| messages(r).push(json!({"role": "tool", "tool_call_id": "call_9", "content": "x"})), Rule::OrphanToolResult),
    ("two results of one call", |r| { let again = r["messages"][3].clone(); messages(r).insert(3, again); }, Rule::DuplicateToolResult),
    ("two calls with one id", |r| r["messages"][2]["tool_calls"][1]["id"] = json!("call_1"), Rule::DuplicateToolUse),
    ("an empty text", |r| r["messages"][5]["content"] = json!(""), Rule::EmptyText),
    ("an empty text beside calls", |r| r["messages"][2]["content"] = json!(""), Rule::EmptyText),
    ("one message twice", |r| r["messages"][5]["content"] = json!(message(1, "Look around.")), Rule::DuplicateMessage),
    ("a tool name with a slash", |r| r["tools"][0]["function"]["name"] = json!("a/b"), Rule::ToolName),
    ("a tool without a schema", |r| drop(object(&mut r["tools"][0]["function"]).remove("parameters")), Rule::ToolSchema),
    ("a limit beyond the model's", |r| r["max_tokens"] = json!(65_000), Rule::MaxTokens),
];

#[tokio::test]
async fn every_rule_fires_for_a_request_that_breaks_it() {
    let wires = [
        (ANTHROPIC, anthropic as fn() -> Value, ANTHROPIC_CASES),
        (RESPONSES, responses, RESPONSES_CASES),
        (CHAT, chat, CHAT_CASES),
    ];
    for (path, valid, cases) in wires {
        for (what, mutate, rule) in cases {
            let mock = Mock::start(Script::new());
            let mut request = valid();
            mutate(&mut request);
            let (status, body) = post(&mock, path, &request).await;
            let violations = mock.take_violations();
            assert!(
                violations.iter().any(|v| v.rule == *rule),
                "{path}: {what}: expected {rule:?}, got {violations:?}"
            );
            assert_eq!(status, 400, "{path}: {what}");
            assert!(
                serde_json::from_str::<Value>(&body).unwrap()["error"]["message"].is_string(),
                "{path}: {what}: {body}"
            );
        }
    }
}

#[tokio::test]
async fn valid_requests_break_no_rule() {
    for (path, request) in [(ANTHROPIC, anthropic()), (RESPONSES, responses()), (CHAT, chat())] {
        let mock = Mock::start(Script::new());
        let (status, body) = post(&mock, path, &request).await;
        assert_eq!(status, 200, "{path}: {body}");
        mock.assert_clean();
    }
}

#[tokio::test]
async fn what_the_vendors_accept_is_accepted() {
    let mut two_user_messages = anthropic();
    messages(&mut two_user_messages).push(says("user", "One more thing."));
    let mut repeated_words = anthropic();
    messages(&mut repeated_words).extend([
        says("assistant", "Go on?"),
        says("user", "go on"),
        says("assistant", "On."),
        says("user", "go on"),
    ]);
    let mut empty_result = anthropic();
    block(&mut empty_result, 2, 0)["content"] = json!("");
    let mut results_in_two_messages = anthropic();
    let moved = content(&mut results_in_two_messages, 2).drain(1..).collect::<Vec<_>>();
    messages(&mut results_in_two_messages).push(json!({"role": "user", "content": moved}));
    let cases = [
        ("two user messages", two_user_messages),
        ("the same words twice", repeated_words),
        ("an empty result", empty_result),
        ("results in two messages", results_in_two_messages),
    ];
    for (what, request) in cases {
        let mock = Mock::start(Script::new());
        let (status, body) = post(&mock, ANTHROPIC, &request).await;
        assert_eq!(status, 200, "{what}: {body}");
    }
}

#[tokio::test]
async fn every_rule_about_one_request_has_a_case() {
    let cases = [ANTHROPIC_CASES, RESPONSES_CASES, CHAT_CASES].concat();
    let covered: BTreeSet<Rule> = cases.iter().map(|(_, _, rule)| *rule).collect();
    let all = [
        Rule::UnknownField,
        Rule::MissingField,
        Rule::InvalidField,
        Rule::FirstRole,
        Rule::LastRole,
        Rule::RoleOrder,
        Rule::BlockRole,
        Rule::UnansweredToolUse,
        Rule::OrphanToolResult,
        Rule::DuplicateToolResult,
        Rule::DuplicateToolUse,
        Rule::EmptyText,
        Rule::DuplicateMessage,
        Rule::CacheLifetime,
        Rule::CacheBreakpoints,
        Rule::ToolName,
        Rule::DuplicateTool,
        Rule::ToolSchema,
        Rule::MaxTokens,
        Rule::ThinkingBudget,
        Rule::ThinkingSignature,
        Rule::ReasoningAlone,
    ];
    assert_eq!(covered, all.into_iter().collect());
}

#[tokio::test]
async fn a_body_that_is_no_json_and_a_missing_header_are_violations() {
    let mock = Mock::start(Script::new());
    assert_eq!(post_with(&mock, ANTHROPIC, "{\"model\":", &[]).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::NotJson);
    let request = client().post(format!("{}{ANTHROPIC}", mock.url())).header("x-api-key", "k");
    let response =
        request.header("content-type", "application/json").body(anthropic().to_string()).send().await.unwrap();
    assert_eq!(response.status(), 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::Header);
}

#[tokio::test]
async fn counting_tokens_is_validated_too_and_takes_no_turn() {
    let mock = Mock::start(Script::new());
    let path = "/v1/messages/count_tokens";
    let mut request = anthropic();
    object(&mut request).remove("stream");
    assert_eq!(post(&mock, path, &request).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::UnknownField);
    object(&mut request).remove("max_tokens");
    let (status, body) = post(&mock, path, &request).await;
    assert_eq!(status, 200, "{body}");
    assert!(serde_json::from_str::<Value>(&body).unwrap()["input_tokens"].as_u64().unwrap() > 50);
}

fn object(value: &mut Value) -> &mut serde_json::Map<String, Value> {
    value.as_object_mut().unwrap()
}

fn messages(request: &mut Value) -> &mut Vec<Value> {
    request["messages"].as_array_mut().unwrap()
}

fn input(request: &mut Value) -> &mut Vec<Value> {
    request["input"].as_array_mut().unwrap()
}

fn content(request: &mut Value, message: usize) -> &mut Vec<Value> {
    request["messages"][message]["content"].as_array_mut().unwrap()
}

fn block(request: &mut Value, message: usize, index: usize) -> &mut Value {
    &mut request["messages"][message]["content"][index]
}

fn add(request: &mut Value, message: usize, block: Value) {
    content(request, message).push(block);
}

fn says(role: &str, words: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": words}]})
}

fn result(call: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": call, "content": "x"})
}

fn image(media_type: &str, data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
}
