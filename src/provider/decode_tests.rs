use crate::model::conversation::Wire;
use crate::model::event::StopReason;
use crate::provider::decode::{cut_call, rename_repeated, tool_use};
use crate::provider::error::ErrorClass;
use crate::provider::response::{ResponseBlock, Signal};
use crate::provider::testing::{config, decode, stream};
use crate::provider::{Decoder, Response};

const CHAT: [&str; 4] = [
    r#"{"model":"m","choices":[{"delta":{"role":"assistant","content":"Hél"}}]}"#,
    r#"{"model":"m","choices":[{"delta":{"content":"lo 👩"}}]}"#,
    r#"{"model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"bash","arguments":"{}"}}]}}]}"#,
    r#"{"model":"m","choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
];

#[test]
fn the_response_is_the_same_at_every_split() {
    let config = config(Wire::OpenaiChat);
    let whole = stream(&CHAT) + "data: [DONE]\n\n";
    let expected = decode(&config, &whole).1.unwrap();
    assert_eq!(expected.text(), "Héllo 👩");
    for at in 0..=whole.len() {
        let mut decoder = Decoder::new(&config, "salt");
        let mut signals = decoder.push(&whole.as_bytes()[..at]);
        signals.extend(decoder.push(&whole.as_bytes()[at..]));
        let shown: String = signals
            .iter()
            .filter_map(|signal| match signal {
                Signal::Text(text) => Some(text.as_str()),
                Signal::Begun | Signal::Thinking(_) | Signal::Call { .. } => None,
            })
            .collect();
        assert_eq!(shown, "Héllo 👩", "split at {at}");
        assert_eq!(decoder.finish().unwrap(), expected, "split at {at}");
    }
}

#[test]
fn a_stream_that_ends_too_early_is_truncated_and_keeps_its_text() {
    let cut = stream(&CHAT[..3]);
    for end in [cut.len(), cut.len() - 2, cut.len() - 20] {
        let failure = decode(&config(Wire::OpenaiChat), &cut[..end]).1.unwrap_err();
        assert_eq!(failure.class, ErrorClass::Truncated);
        let partial = failure.partial.unwrap();
        assert_eq!((partial.text().as_str(), &partial.stop), ("Héllo 👩", &StopReason::Interrupted));
        assert_eq!(partial.calls().count(), 0);
    }
}

#[test]
fn calls_that_share_an_id_get_one_each_and_the_same_one_every_time() {
    let anthropic = [
        r#"{"type":"message_start","message":{"model":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"bash","input":{"n":1}}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"x","name":"bash","input":{"n":2}}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"y","name":"bash","input":{"n":3}}}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"x","name":"bash","input":{"n":4}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let responses = [
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"x","name":"bash","arguments":"{\"n\":1}"}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"x","name":"bash","arguments":"{\"n\":2}"}}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"y","name":"bash","arguments":"{\"n\":3}"}}"#,
        r#"{"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","call_id":"x","name":"bash","arguments":"{\"n\":4}"}}"#,
        r#"{"type":"response.completed","response":{"model":"m"}}"#,
    ];
    let chat = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"bash","arguments":"{\"n\":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"x","function":{"name":"bash","arguments":"{\"n\":2}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":2,"id":"y","function":{"name":"bash","arguments":"{\"n\":3}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":3,"id":"x","function":{"name":"bash","arguments":"{\"n\":4}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ];
    let wires: [(Wire, &[&str]); 3] =
        [(Wire::Anthropic, &anthropic), (Wire::OpenaiResponses, &responses), (Wire::OpenaiChat, &chat)];
    for (wire, events) in wires {
        let read = || decode(&config(wire), &stream(events)).1.unwrap();
        let response = read();
        let calls: Vec<_> = response.calls().map(|call| (call.call.as_str(), call.input.as_str())).collect();
        let expected =
            [("x", r#"{"n":1}"#), ("call_salt_1", r#"{"n":2}"#), ("y", r#"{"n":3}"#), ("call_salt_3", r#"{"n":4}"#)];
        assert_eq!(calls, expected, "{wire:?}");
        assert_eq!(response, read(), "{wire:?}");
    }
}

#[test]
fn a_generated_id_is_unique() {
    let call = |id: &str| ResponseBlock::ToolUse(tool_use(id.to_owned(), "bash".to_owned(), String::new()));
    let mut blocks = [call("a"), call("a"), call("call_salt_1")];
    rename_repeated(&mut blocks, "salt");
    assert_eq!(blocks, [call("a"), call("call_salt_2"), call("call_salt_1")]);
}

#[test]
fn an_empty_stream_is_truncated() {
    for wire in [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat] {
        let failure = decode(&config(wire), "").1.unwrap_err();
        assert_eq!(failure.class, ErrorClass::Truncated);
        assert!(failure.partial.unwrap().blocks.is_empty());
    }
}

#[test]
fn an_event_that_is_no_json_is_the_servers_fault_and_ends_the_stream() {
    let config = config(Wire::Anthropic);
    let mut decoder = Decoder::new(&config, "salt");
    decoder.push(b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\n");
    assert!(decoder.push(b"data: {\"type\": oops\n\n").is_empty());
    assert!(decoder.is_over());
    assert!(decoder.push(b"data: {\"type\":\"message_stop\"}\n\n").is_empty());
    let failure = decoder.finish().unwrap_err();
    assert_eq!(failure.class, ErrorClass::Server);
    assert_eq!(failure.partial.unwrap().text(), "a");
}

#[test]
fn nothing_after_the_end_is_read() {
    let config = config(Wire::OpenaiChat);
    let mut decoder = Decoder::new(&config, "salt");
    decoder.push((stream(&CHAT) + "data: [DONE]\n\ndata: garbage\n\n").as_bytes());
    assert!(decoder.is_over());
    assert!(decoder.push(b"data: more garbage\n\n").is_empty());
    assert!(decoder.finish().is_ok());
}

#[test]
fn an_endless_event_is_refused() {
    let mut decoder = Decoder::new(&config(Wire::OpenaiChat), "salt");
    decoder.push(b"data: ");
    let chunk = vec![b'x'; 1024 * 1024];
    for _ in 0..17 {
        decoder.push(&chunk);
    }
    assert!(decoder.is_over());
    assert_eq!(decoder.finish().unwrap_err().class, ErrorClass::Runaway);
}

#[test]
fn arguments_are_kept_as_written_or_as_malformed() {
    let read = |raw: &str| {
        let call = tool_use("c".to_owned(), "t".to_owned(), raw.to_owned());
        (call.input.as_str().to_owned(), call.malformed)
    };
    assert_eq!(read(r#"{"n": 1.50 }"#), (r#"{"n": 1.50 }"#.to_owned(), None));
    assert_eq!(read(""), ("{}".to_owned(), None));
    for bad in [r#"{"a":"#, "[1]", "\"text\"", "{} {}", "nonsense"] {
        assert_eq!(read(bad), ("{}".to_owned(), Some(bad.to_owned())), "{bad}");
    }
}

#[test]
fn only_a_last_incomplete_call_counts_as_cut() {
    let call = |raw: &str| ResponseBlock::ToolUse(tool_use("c".to_owned(), "t".to_owned(), raw.to_owned()));
    let cut = |stop: StopReason, raw: &str| cut_call(&stop, &mut [call(raw)]);
    assert_eq!(cut(StopReason::MaxTokens, r#"{"a":"#), Some("c".to_owned()));
    assert_eq!(cut(StopReason::MaxTokens, ""), Some("c".to_owned()));
    assert_eq!(cut(StopReason::MaxTokens, r#"{"a":1}"#), None);
    assert_eq!(cut(StopReason::ToolUse, r#"{"a":"#), None);
    assert_eq!(cut_call(&StopReason::MaxTokens, &mut [call("{"), ResponseBlock::Text("x".to_owned())]), None);
    let mut unseen = [call("")];
    cut_call(&StopReason::MaxTokens, &mut unseen);
    assert!(matches!(&unseen[0], ResponseBlock::ToolUse(call) if call.malformed.is_some()));
}

#[test]
fn a_response_joins_its_texts() {
    let response = Response {
        blocks: vec![ResponseBlock::Text("a".to_owned()), ResponseBlock::Text("b".to_owned())],
        tokens: crate::model::usage::Tokens::default(),
        usage_reported: false,
        stop: StopReason::EndTurn,
        cut_call: None,
        model: String::new(),
    };
    assert_eq!(response.text(), "a\n\nb");
}

/// Random events made of pieces of the three wires.
mod hostile {
    use proptest::prelude::*;
    use serde_json::Value;

    use crate::model::conversation::Wire;
    use crate::provider::Decoder;
    use crate::provider::testing::config;

    fn value() -> impl Strategy<Value = Value> {
        let key = prop::sample::select(vec![
            "type",
            "index",
            "delta",
            "content_block",
            "message",
            "text",
            "thinking",
            "partial_json",
            "id",
            "name",
            "input",
            "usage",
            "stop_reason",
            "choices",
            "content",
            "tool_calls",
            "function",
            "arguments",
            "finish_reason",
            "item",
            "output_index",
            "response",
            "error",
            "status",
            "output",
            "call_id",
            "incomplete_details",
            "input_tokens",
        ]);
        let word = prop::sample::select(vec![
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "text_delta",
            "input_json_delta",
            "thinking_delta",
            "signature_delta",
            "tool_use",
            "text",
            "ping",
            "error",
            "response.created",
            "response.output_item.added",
            "response.output_item.done",
            "response.completed",
            "response.output_text.delta",
            "response.function_call_arguments.delta",
            "function_call",
            "message",
            "reasoning",
            "stop",
            "{\"a\":",
            "}",
            "",
        ]);
        let leaf = prop_oneof![
            4 => word.prop_map(Value::from),
            1 => any::<i64>().prop_map(Value::from),
            1 => any::<f64>().prop_map(Value::from),
            1 => any::<u8>().prop_map(Value::from),
            1 => Just(Value::Null),
            1 => "\\PC{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 32, 6, move |inner| {
            prop_oneof![
                1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                3 => prop::collection::hash_map(key.clone(), inner, 0..6)
                    .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Value>()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_stream_gives_a_response_or_an_error(
            events in prop::collection::vec(value(), 0..20), noise in prop::collection::vec(any::<u8>(), 0..30), cut in 0_usize..4000
        ) {
            let mut bytes: Vec<u8> = events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect();
            bytes.extend_from_slice(&noise);
            bytes.extend_from_slice(b"\n\ndata: [DONE]\n\n");
            for wire in [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat] {
                let config = config(wire);
                let mut whole = Decoder::new(&config, "salt");
                whole.push(&bytes);
                let (first, second) = bytes.split_at(cut.min(bytes.len()));
                let mut halves = Decoder::new(&config, "salt");
                halves.push(first);
                halves.push(second);
                match (whole.finish(), halves.finish()) {
                    (Ok(one), Ok(other)) => {
                        let ids: Vec<_> = one.calls().map(|call| call.call.clone()).collect();
                        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
                        prop_assert_eq!(distinct.len(), ids.len(), "no two calls share a name");
                        prop_assert_eq!(one, other);
                    }
                    (Err(one), Err(other)) => prop_assert_eq!(one.class, other.class),
                    (one, other) => prop_assert!(false, "{one:?} and {other:?}"),
                }
            }
        }
    }
}

#[test]
fn blocks_without_a_number_come_one_after_the_other() {
    let anthropic = [
        r#"{"type":"message_start","message":{"model":"m"}}"#,
        r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"I look."}}"#,
        r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"x","name":"bash","input":{}}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let responses = [
        r#"{"type":"response.output_item.added","item":{"type":"message"}}"#,
        r#"{"type":"response.output_text.delta","delta":"I look."}"#,
        r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"I look."}]}}"#,
        r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"x","name":"bash","arguments":"{\"n\":1}"}}"#,
        r#"{"type":"response.completed","response":{"model":"m"}}"#,
    ];
    let wires: [(Wire, &[&str]); 2] = [(Wire::Anthropic, &anthropic), (Wire::OpenaiResponses, &responses)];
    for (wire, events) in wires {
        let response = decode(&config(wire), &stream(events)).1.unwrap();
        assert_eq!(response.text(), "I look.", "{wire:?}");
        let calls: Vec<_> = response.calls().map(|call| (call.call.as_str(), call.input.as_str())).collect();
        assert_eq!(calls, [("x", r#"{"n":1}"#)], "{wire:?}");
    }
}

#[test]
fn an_anthropic_stream_is_complete_after_its_stop_reason() {
    let events = [
        r#"{"type":"message_start","message":{"model":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
    ];
    let read = |count: usize| decode(&config(Wire::Anthropic), &stream(&events[..count])).1;
    assert_eq!(read(2).unwrap_err().class, ErrorClass::Truncated);
    let response = read(3).unwrap();
    assert_eq!((response.text().as_str(), response.stop, response.tokens.output), ("Hi.", StopReason::EndTurn, 2));
}

#[test]
fn a_response_in_one_piece_equals_the_streamed_one() {
    let anthropic = r#"{"type":"message","role":"assistant","model":"m","stop_reason":"tool_use","content":[
        {"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":"I look."},
        {"type":"tool_use","id":"x","name":"bash","input":{"n":1}}],"usage":{"input_tokens":3,"output_tokens":2}}"#;
    let responses = r#"{"object":"response","status":"completed","model":"m","output":[
        {"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},
        {"type":"message","content":[{"type":"output_text","text":"I look."}]},
        {"type":"function_call","call_id":"x","name":"bash","arguments":"{\"n\":1}"}],
        "usage":{"input_tokens":3,"output_tokens":2}}"#;
    let chat = r#"{"object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{
        "role":"assistant","reasoning_content":"Hm.","content":"I look.",
        "tool_calls":[{"id":"x","type":"function","function":{"name":"bash","arguments":"{\"n\":1}"}}]}}],
        "usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    for (wire, answer) in [(Wire::Anthropic, anthropic), (Wire::OpenaiResponses, responses), (Wire::OpenaiChat, chat)] {
        let mut decoder = Decoder::new(&config(wire), "salt");
        assert!(decoder.push_answer(answer.as_bytes()).is_some(), "{wire:?}");
        let response = decoder.finish().unwrap();
        assert!(matches!(&response.blocks[0], ResponseBlock::Thinking(thought) if thought.text == "Hm."), "{wire:?}");
        assert_eq!((response.text().as_str(), &response.stop), ("I look.", &StopReason::ToolUse), "{wire:?}");
        let calls: Vec<_> = response.calls().map(|call| (call.call.as_str(), call.input.as_str())).collect();
        assert_eq!(calls, [("x", r#"{"n":1}"#)], "{wire:?}");
        assert_eq!((response.tokens.input, response.tokens.output, response.model.as_str()), (3, 2, "m"), "{wire:?}");
        for neither in ["{}", "[]", "", "no JSON at all"] {
            assert!(
                Decoder::new(&config(wire), "salt").push_answer(neither.as_bytes()).is_none(),
                "{wire:?} {neither}"
            );
        }
    }
    let mut decoder = Decoder::new(&config(Wire::OpenaiChat), "salt");
    assert!(decoder.push_answer(stream(&CHAT).as_bytes()).is_some());
    assert_eq!(decoder.finish().unwrap().text(), "Héllo 👩");
}

/// Returns a response of `tokens` tokens, as verbose as real events.
fn long_response(wire: Wire, tokens: usize) -> String {
    let filler = "f".repeat(250);
    let (head, token, end) = match wire {
        Wire::Anthropic => (
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}"#.to_owned(),
            vec![
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned(),
                r#"{"type":"message_stop"}"#.to_owned(),
            ],
        ),
        Wire::OpenaiResponses => {
            let item =
                serde_json::json!({"type": "message", "content": [{"type": "text", "text": " word".repeat(tokens)}]});
            let done = serde_json::json!({"type": "response.output_item.done", "output_index": 0, "item": item});
            let completed = serde_json::json!({"type": "response.completed", "response": {"output": [item]}});
            (
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}"#.to_owned(),
                format!(
                    r#"{{"type":"response.output_text.delta","output_index":0,"delta":" word","obfuscation":"{filler}"}}"#
                ),
                vec![done.to_string(), completed.to_string()],
            )
        }
        Wire::OpenaiChat | Wire::Scripted => (
            r#"{"choices":[{"delta":{"role":"assistant"}}]}"#.to_owned(),
            format!(r#"{{"id":"{filler}","choices":[{{"delta":{{"content":" word"}}}}]}}"#),
            vec![r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned()],
        ),
    };
    let token = stream(&[&token]);
    let end: Vec<&str> = end.iter().map(String::as_str).collect();
    stream(&[&head]) + &token.repeat(tokens) + &stream(&end)
}

#[test]
fn the_longest_response_that_models_give_passes_every_limit() {
    for wire in [Wire::Anthropic, Wire::OpenaiResponses, Wire::OpenaiChat] {
        let response = decode(&config(wire), &long_response(wire, 128_000)).1.unwrap();
        assert_eq!(response.text().len(), 128_000 * " word".len(), "{wire:?}");
    }
}

#[test]
fn only_events_that_add_content_are_counted() {
    let mut decoder = Decoder::new(&config(Wire::Anthropic), "salt");
    let mut content = |event: &str| {
        let before = decoder.content_events();
        decoder.push(stream(&[event]).as_bytes());
        decoder.content_events() > before
    };
    for (event, counts) in [
        (r#"{"type":"ping"}"#, false),
        (r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#, true),
        (r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":""}}"#, false),
        (r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}"#, true),
        (r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"lost"}}"#, false),
        (r#"{"type":"content_block_stop","index":0}"#, false),
        (r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, true),
    ] {
        assert_eq!(content(event), counts, "{event}");
    }
}
