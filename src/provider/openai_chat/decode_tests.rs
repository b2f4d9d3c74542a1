use crate::model::conversation::Wire;
use crate::model::event::StopReason;
use crate::model::usage::Tokens;
use crate::provider::Response;
use crate::provider::encode::names::wire_name;
use crate::provider::error::ErrorClass;
use crate::provider::response::{ResponseBlock, Signal};
use crate::provider::testing::{config, decode, stream};

fn read(events: &[&str]) -> Response {
    decode(&config(Wire::OpenaiChat), &stream(events)).1.unwrap()
}

fn choice(delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"x","object":"chat.completion.chunk","model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

fn calls(response: &Response) -> Vec<(String, String, String)> {
    response.calls().map(|call| (call.call.clone(), call.name.clone(), call.input.as_str().to_owned())).collect()
}

fn call(id: &str, name: &str, input: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), input.to_owned())
}

#[test]
fn parallel_calls_in_pieces_with_usage_after_the_last_choice() {
    let wire_name = wire_name("mcp__git hub__search.all", 64);
    let events = [
        choice(r#"{"role":"assistant","content":null,"reasoning_content":"Hm."}"#, "null"),
        choice(r#"{"content":"I look."}"#, "null"),
        choice(r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}]}"#, "null"),
        choice(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\""}}]}"#, "null"),
        choice(&format!(r#"{{"tool_calls":[{{"index":1,"id":"b","function":{{"name":"{wire_name}","arguments":"{{}}"}}}}]}}"#), "null"),
        choice(r#"{"tool_calls":[{"index":0,"function":{"arguments":": \"ls\"}"}}]}"#, "null"),
        choice("{}", r#""tool_calls""#),
        r#"{"model":"m","choices":[],"usage":{"prompt_tokens":50,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":32}}}"#.to_owned(),
        "[DONE]".to_owned(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let (signals, response) = decode(&config(Wire::OpenaiChat), &stream(&events));
    let response = response.unwrap();
    assert!(matches!(&response.blocks[0], ResponseBlock::Thinking(thought) if thought.text == "Hm."));
    assert_eq!(response.text(), "I look.");
    assert_eq!(
        calls(&response),
        [call("a", "bash", r#"{"command": "ls"}"#), call("b", "mcp__git hub__search.all", "{}")]
    );
    assert_eq!(response.tokens, Tokens { input: 18, output: 9, cache_read: 32, ..Tokens::default() });
    assert_eq!((response.stop, response.model.as_str()), (StopReason::ToolUse, "m"));
    assert_eq!(signals[..2], [Signal::Thinking("Hm.".to_owned()), Signal::Text("I look.".to_owned())]);
}

#[test]
fn usage_and_done_are_optional() {
    let response = read(&[&choice(r#"{"content":"Hi."}"#, "null"), &choice("{}", r#""stop""#)]);
    assert_eq!((response.text().as_str(), response.usage_reported), ("Hi.", false));
    assert_eq!(response.stop, StopReason::EndTurn);
}

#[test]
fn whole_calls_with_the_same_index_stay_separate() {
    let one =
        choice(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"n\":1}"}}]}"#, "null");
    let two = choice(
        r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"bash","arguments":"{\"n\":2}"}}]}"#,
        r#""stop""#,
    );
    let response = read(&[&one, &two]);
    assert_eq!(calls(&response), [call("a", "bash", r#"{"n":1}"#), call("b", "bash", r#"{"n":2}"#)]);
    assert_eq!(response.stop, StopReason::ToolUse);
}

#[test]
fn calls_may_lack_index_and_id_and_have_object_arguments() {
    let event = choice(r#"{"tool_calls":[{"function":{"name":"bash","arguments":{"n":1}}}]}"#, r#""stop""#);
    assert_eq!(calls(&read(&[&event])), [call("call_salt_0", "bash", r#"{"n":1}"#)]);
}

#[test]
fn whole_calls_stay_separate_without_or_with_equal_ids_and_indices() {
    let piece = |given: &str, n: u8| {
        choice(
            &format!(r#"{{"tool_calls":[{{{given}"function":{{"name":"bash","arguments":"{{\"n\":{n}}}"}}}}]}}"#),
            "null",
        )
    };
    let end = choice("{}", r#""stop""#);
    for (given, first) in [
        ("", "call_salt_0"),
        (r#""index":0,"#, "call_salt_0"),
        (r#""index":0,"id":"","#, "call_salt_0"),
        (r#""index":0,"id":"a","#, "a"),
    ] {
        let response = read(&[&piece(given, 1), &piece(given, 2), &end]);
        let expected = [call(first, "bash", r#"{"n":1}"#), call("call_salt_1", "bash", r#"{"n":2}"#)];
        assert_eq!(calls(&response), expected, "{given}");
    }
    let both = choice(
        r#"{"tool_calls":[{"function":{"name":"bash","arguments":{"n":1}}},{"function":{"name":"bash","arguments":{"n":2}}}]}"#,
        r#""stop""#,
    );
    let expected = [call("call_salt_0", "bash", r#"{"n":1}"#), call("call_salt_1", "bash", r#"{"n":2}"#)];
    assert_eq!(calls(&read(&[&both])), expected);
}

#[test]
fn an_identical_repeated_call_is_one_call() {
    let whole =
        choice(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"n\":1}"}}]}"#, "null");
    assert_eq!(calls(&read(&[&whole, &whole, &choice("{}", r#""stop""#)])), [call("a", "bash", r#"{"n":1}"#)]);
}

#[test]
fn an_empty_object_before_the_input_is_dropped() {
    let begun = choice(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}}]}"#, "null");
    let more = |piece: &str| {
        choice(&format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{piece}"}}}}]}}"#), "null")
    };
    let end = choice("{}", r#""tool_calls""#);
    let response = read(&[&begun, &more(r#"{\"n\""#), &more(":1}"), &end]);
    assert_eq!(calls(&response), [call("a", "bash", r#"{"n":1}"#)]);
}

#[test]
fn an_empty_finish_reason_is_ignored() {
    let events = [choice(r#"{"content":"Hi"}"#, r#""""#), choice(r#"{"content":"."}"#, r#""""#)];
    let cut = decode(&config(Wire::OpenaiChat), &stream(&[&events[0], &events[1]])).1;
    assert_eq!(cut.unwrap_err().class, ErrorClass::Truncated);
    let response = read(&[&events[0], &events[1], &choice("{}", r#""stop""#)]);
    assert_eq!((response.text().as_str(), response.stop), ("Hi.", StopReason::EndTurn));
}

#[test]
fn an_unusual_thinking_field_is_remembered() {
    for (field, remembered) in [("reasoning_content", None), ("reasoning", Some("reasoning"))] {
        let events = [
            choice(&format!(r#"{{"{field}":"Hm","content":""}}"#), "null"),
            choice(&format!(r#"{{"{field}":"."}}"#), "null"),
            choice(&format!(r#"{{"{field}":null,"content":"Hi."}}"#), r#""stop""#),
        ];
        let response = read(&events.each_ref().map(String::as_str));
        let ResponseBlock::Thinking(thought) = &response.blocks[0] else { panic!("{response:?}") };
        assert_eq!((thought.text.as_str(), thought.signature.as_deref()), ("Hm.", remembered));
    }
}

#[test]
fn repeated_names_are_not_doubled() {
    let one = choice(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{"}}]}"#, "null");
    let two =
        choice(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"}"}}]}"#, r#""stop""#);
    assert_eq!(calls(&read(&[&one, &two])), [call("a", "bash", "{}")]);
}

#[test]
fn malformed_and_cut_arguments_are_kept_as_such() {
    let begun =
        choice(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"n"}}]}"#, "null");
    let wrong = read(&[&begun, &choice("{}", r#""tool_calls""#)]);
    assert_eq!(wrong.calls().next().unwrap().malformed.as_deref(), Some("{\"n"));
    assert_eq!(wrong.cut_call, None);
    let cut = read(&[&begun, &choice("{}", r#""length""#)]);
    assert_eq!((cut.stop, cut.cut_call.as_deref()), (StopReason::MaxTokens, Some("a")));
}

#[test]
fn every_finish_reason_has_a_name() {
    let finishes = [
        ("stop", StopReason::EndTurn),
        ("tool_calls", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("novel", StopReason::Other("novel".to_owned())),
    ];
    for (word, stop) in finishes {
        assert_eq!(read(&[&choice(r#"{"content":"x"}"#, &format!("\"{word}\""))]).stop, stop, "{word}");
    }
    assert_eq!(read(&[&choice(r#"{"refusal":"No."}"#, r#""stop""#)]).stop, StopReason::Refusal);
}

#[test]
fn errors_in_mid_stream_come_in_many_shapes() {
    let class = |event: &str| decode(&config(Wire::OpenaiChat), &stream(&[event])).1.unwrap_err().class;
    assert_eq!(class(r#"{"error":{"message":"Rate limit","code":429}}"#), ErrorClass::RateLimit);
    assert_eq!(class(r#"{"error":"model runner crashed"}"#), ErrorClass::Server);
    assert_eq!(class(r#"{"error":{"message":"x","type":"exceed_context_size_error"}}"#), ErrorClass::ContextOverflow);
}
