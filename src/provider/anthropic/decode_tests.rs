use crate::model::conversation::{Thought, ToolUse, Wire};
use crate::model::event::StopReason;
use crate::model::usage::Tokens;
use crate::provider::encode::names::wire_name;
use crate::provider::error::ErrorClass;
use crate::provider::response::{ResponseBlock, Signal};
use crate::provider::testing::{config, decode, stream};

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x-20260101","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn ended(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":77}}}}"#
    )
}

#[test]
fn a_turn_with_thinking_text_and_calls_is_read_whole() {
    let wire_name = wire_name("mcp__git hub__search.all", 128).into_owned();
    let named = format!(
        r#"{{"type":"content_block_start","index":4,"content_block":{{"type":"tool_use","id":"toolu_2","name":"{wire_name}","input":{{}}}}}}"#
    );
    let events = [
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB/+=="}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"sealed"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"command\": \"l"}}"#,
        r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"s\"}"}}"#,
        &named,
        r#"{"type":"content_block_start","index":5,"content_block":{"type":"server_tool_use","id":"x"}}"#,
        r#"{"type":"content_block_delta","index":5,"delta":{"type":"novel_delta","novelty":1}}"#,
        r#"{"type":"a_new_kind_of_event"}"#,
        &ended("tool_use"),
        STOP,
    ];
    let (signals, response) = decode(&config(Wire::Anthropic), &stream(&events));
    let response = response.unwrap();
    let json = |text: &str| crate::base::Json::parse(text).unwrap();
    let thinking = |text: &str, signature: Option<&str>, redacted: Option<&str>| {
        ResponseBlock::Thinking(Thought {
            text: text.to_owned(),
            signature: signature.map(str::to_owned),
            redacted: redacted.map(str::to_owned),
            wire: Wire::Anthropic,
        })
    };
    let call = |id: &str, name: &str, input: &str| {
        let (call, name) = (id.to_owned(), name.to_owned());
        ResponseBlock::ToolUse(ToolUse { call, name, input: json(input), malformed: None })
    };
    assert_eq!(
        response.blocks,
        [
            thinking("Let me see.", Some("EqQB/+=="), None),
            thinking("", None, Some("sealed")),
            ResponseBlock::Text("I look.".to_owned()),
            call("toolu_1", "bash", r#"{"command": "ls"}"#),
            call("toolu_2", "mcp__git hub__search.all", "{}"),
        ]
    );
    assert_eq!(
        response.tokens,
        Tokens { input: 12, output: 77, cache_read: 4000, cache_write_5m: 100, cache_write_1h: 200 }
    );
    assert!(response.usage_reported);
    assert_eq!((response.stop, response.model.as_str()), (StopReason::ToolUse, "claude-x-20260101"));
    assert_eq!(signals[0], Signal::Thinking("Let me ".to_owned()));
    let written = |bytes| Signal::Call { index: 0, call: "toolu_1".to_owned(), name: "bash".to_owned(), bytes };
    assert_eq!(signals[3..6], [written(0), written(14), written(17)]);
}

#[test]
fn every_stop_reason_has_a_name() {
    let stops = [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Pause),
        ("model_context_window_exceeded", StopReason::ContextOverflow),
        ("something_new", StopReason::Other("something_new".to_owned())),
    ];
    for (word, stop) in stops {
        let (_, response) = decode(&config(Wire::Anthropic), &stream(&[START, &ended(word), STOP]));
        assert_eq!(response.unwrap().stop, stop);
    }
}

#[test]
fn a_truncated_call_is_recognised() {
    let events = [
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        &ended("max_tokens"),
        STOP,
    ];
    let response = decode(&config(Wire::Anthropic), &stream(&events)).1.unwrap();
    assert_eq!(response.cut_call.as_deref(), Some("toolu_1"));
    assert_eq!(response.calls().next().unwrap().malformed.as_deref(), Some("{\"comm"));
}

#[test]
fn an_error_in_mid_stream_keeps_the_text_and_is_classified() {
    let events = [
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half"}}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        STOP,
    ];
    let failure = decode(&config(Wire::Anthropic), &stream(&events)).1.unwrap_err();
    assert_eq!((failure.class, failure.message.as_str()), (ErrorClass::Overloaded, "Overloaded"));
    let partial = failure.partial.unwrap();
    assert_eq!(partial.text(), "Half");
    assert_eq!(partial.tokens.cache_read, 4000);
}

#[test]
fn cache_writes_without_a_breakdown_have_the_configured_lifetime() {
    let start = r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":1,"cache_creation_input_tokens":9}}}"#;
    let events = stream(&[start, &ended("end_turn"), STOP]);
    let mut config = config(Wire::Anthropic);
    assert_eq!(decode(&config, &events).1.unwrap().tokens.cache_write_5m, 9);
    config.cache.messages = crate::model::event::CacheLife::OneHour;
    assert_eq!(decode(&config, &events).1.unwrap().tokens.cache_write_1h, 9);
}

#[test]
fn whole_inputs_and_missing_fields_are_supported() {
    let events = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"bash","input":{"command":"ls"}}}"#,
        STOP,
    ];
    let response = decode(&config(Wire::Anthropic), &stream(&events)).1.unwrap();
    let call = response.calls().next().unwrap();
    assert_eq!((call.call.as_str(), call.input.as_str()), ("call_salt_0", r#"{"command":"ls"}"#));
    assert_eq!((response.stop, response.usage_reported), (StopReason::ToolUse, false));
}
