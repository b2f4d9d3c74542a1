use crate::model::conversation::{Block, RoleMessage, Wire};
use crate::model::event::StopReason;
use crate::model::usage::Tokens;
use crate::provider::error::ErrorClass;
use crate::provider::response::{ResponseBlock, Signal};
use crate::provider::testing::{Blobs, assistant, config, decode, segments, stream};

const CREATED: &str =
    r#"{"type":"response.created","response":{"id":"resp_1","model":"gpt-5-2025-08-07","status":"in_progress"}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"resp_1","model":"gpt-5-2025-08-07","status":"completed","output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":30,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":130}}}"#;
const TURN: [&str; 15] = [
    CREATED,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
    r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"One."}"#,
    r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Two."}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"gAAAA/+=="}}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}"#,
    r#"{"type":"response.content_part.added","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}}"#,
    r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"I look."}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]}}"#,
    r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"bash","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"command\":\"ls\"}"}"#,
    r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"bash","arguments":"{\"command\":\"ls\"}"}}"#,
    COMPLETED,
];

#[test]
fn a_turn_with_reasoning_text_and_a_call_is_read_whole() {
    let (signals, response) = decode(&config(Wire::OpenaiResponses), &stream(&TURN));
    let response = response.unwrap();
    let [ResponseBlock::Thinking(thought), ResponseBlock::Text(text), ResponseBlock::ToolUse(call)] =
        &response.blocks[..]
    else {
        panic!("{:?}", response.blocks)
    };
    assert_eq!((thought.text.as_str(), text.as_str()), ("One.\n\nTwo.", "I look."));
    assert_eq!((call.call.as_str(), call.input.as_str()), ("call_1", r#"{"command":"ls"}"#));
    assert_eq!(response.tokens, Tokens { input: 36, output: 30, cache_read: 64, ..Tokens::default() });
    assert_eq!((response.stop, response.model.as_str()), (StopReason::ToolUse, "gpt-5-2025-08-07"));
    let thinking: Vec<_> = signals.iter().filter(|signal| matches!(signal, Signal::Thinking(_))).collect();
    assert_eq!(thinking.len(), 3);
}

#[test]
fn reasoning_goes_back_as_the_item_it_came_in_without_its_id() {
    let response = decode(&config(Wire::OpenaiResponses), &stream(&TURN)).1.unwrap();
    let blocks = response.blocks.into_iter().map(|block| match block {
        ResponseBlock::Text(text) => Block::Text(text),
        ResponseBlock::Thinking(thought) => Block::Thinking(thought),
        ResponseBlock::ToolUse(call) => Block::ToolUse(call),
    });
    let message: RoleMessage = assistant(blocks.collect());
    let segment = segments(Wire::OpenaiResponses, &[message], &Blobs::default()).remove(0);
    let bytes = std::str::from_utf8(segment.bytes()).unwrap();
    assert!(bytes.starts_with(concat!(
        r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"One."},"#,
        r#"{"type":"summary_text","text":"Two."}],"encrypted_content":"gAAAA/+=="},"#
    )));
}

#[test]
fn reasoning_without_a_summary_is_redacted_and_unencrypted_reasoning_is_text_or_nothing() {
    let thoughts = |item: &str| {
        let done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
        let response = decode(&config(Wire::OpenaiResponses), &stream(&[&done, COMPLETED])).1.unwrap();
        response
            .blocks
            .into_iter()
            .map(|block| match block {
                ResponseBlock::Thinking(thought) => {
                    (thought.text, thought.signature.is_some(), thought.redacted.is_some())
                }
                ResponseBlock::Text(_) | ResponseBlock::ToolUse(_) => panic!("{block:?}"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        thoughts(r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#),
        [(String::new(), false, true)]
    );
    assert_eq!(
        thoughts(r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"open"}]}"#),
        [("open".to_owned(), false, false)]
    );
    assert_eq!(thoughts(r#"{"type":"reasoning","summary":[]}"#), []);
}

#[test]
fn incomplete_responses_say_why() {
    let incomplete = |reason: &str| {
        format!(r#"{{"type":"response.incomplete","response":{{"incomplete_details":{{"reason":"{reason}"}}}}}}"#)
    };
    let stop = |events: &[&str]| decode(&config(Wire::OpenaiResponses), &stream(events)).1.unwrap();
    assert_eq!(stop(&[&incomplete("content_filter")]).stop, StopReason::Refusal);
    assert_eq!(stop(&[&incomplete("novel")]).stop, StopReason::Other("novel".to_owned()));
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"bash","arguments":""}}"#;
    let begun = r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a"}"#;
    let cut = stop(&[added, begun, &incomplete("max_output_tokens")]);
    assert_eq!((cut.stop, cut.cut_call.as_deref()), (StopReason::MaxTokens, Some("c")));
    assert!(!cut.usage_reported);
}

#[test]
fn a_refusal_is_text_that_stops_as_refused() {
    let events = [r#"{"type":"response.refusal.delta","output_index":0,"delta":"I cannot."}"#, COMPLETED];
    let response = decode(&config(Wire::OpenaiResponses), &stream(&events)).1.unwrap();
    assert_eq!((response.text().as_str(), &response.stop), ("I cannot.", &StopReason::Refusal));
}

#[test]
fn failures_in_mid_stream_are_classified() {
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down."}}}"#;
    let failure = decode(&config(Wire::OpenaiResponses), &stream(&[CREATED, failed])).1.unwrap_err();
    assert_eq!((failure.class, failure.message.as_str()), (ErrorClass::RateLimit, "Slow down."));
    let error = r#"{"type":"error","code":"server_error","message":"Oops.","param":null}"#;
    assert_eq!(decode(&config(Wire::OpenaiResponses), &stream(&[error])).1.unwrap_err().class, ErrorClass::Server);
}

#[test]
fn items_that_are_only_listed_at_the_end_are_read() {
    let done = r#"{"type":"response.completed","response":{"model":"m","output":[{"type":"message","content":[{"type":"output_text","text":"Hi."}]},{"type":"function_call","call_id":"","name":"bash","arguments":"{}"}]}}"#;
    let response = decode(&config(Wire::OpenaiResponses), &stream(&[done])).1.unwrap();
    assert_eq!(response.text(), "Hi.");
    assert_eq!(response.calls().next().unwrap().call, "call_salt_0");
}
