//! Each wire spells the same answer its own way, streaming and not, and every stop reason arrives.

use serde_json::{Value, json};

use super::requests::{ANTHROPIC, CHAT, RESPONSES, hello};
use super::{client, events, post};
use crate::support::mock::wire::seal;
use crate::support::mock::{Mock, Script, Stop, Turn, answer};

fn rich() -> Turn {
    answer()
        .thinking("First I think about it for a while.")
        .redacted_thinking("sealed")
        .text("Then I speak — with \"quotes\" and ümlauts.")
        .tool("read", json!({"path": "a \"quoted\" name", "lines": [1, 2, 3]}))
        .tool("list", json!({}))
}

async fn told(path: &str, turn: Turn, stream: bool) -> String {
    let mock = Mock::start(Script::new().turn(turn));
    let mut request = hello(path, "Hello", stream);
    if path == RESPONSES {
        request["include"] = json!(["reasoning.encrypted_content"]);
    }
    let (status, body) = post(&mock, path, &request).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// Puts an Anthropic stream together as a client does.
fn gather(stream: &str) -> Value {
    let mut message = Value::Null;
    let mut inputs: Vec<String> = Vec::new();
    for event in events(stream) {
        let index = usize::try_from(event["index"].as_u64().unwrap_or(0)).unwrap();
        match event["type"].as_str().unwrap() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" => {
                let block = &mut message["content"][index];
                let delta = &event["delta"];
                for key in ["text", "thinking", "signature"] {
                    if let Some(more) = delta[key].as_str() {
                        block[key] = json!(block[key].as_str().unwrap_or_default().to_owned() + more);
                    }
                }
                inputs[index] += delta["partial_json"].as_str().unwrap_or_default();
            }
            "content_block_stop" => {
                if message["content"][index]["type"] == "tool_use" {
                    message["content"][index]["input"] = serde_json::from_str(&inputs[index]).unwrap();
                }
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["usage"]["output_tokens"] = event["usage"]["output_tokens"].clone();
            }
            "message_stop" | "ping" => {}
            other => panic!("an event of the type {other}"),
        }
    }
    message
}

#[tokio::test]
async fn an_anthropic_stream_adds_up_to_the_whole_message() {
    let stream = told(ANTHROPIC, rich(), true).await;
    let whole: Value = serde_json::from_str(&told(ANTHROPIC, rich(), false).await).unwrap();
    assert_eq!(gather(&stream), whole);
    assert_eq!(whole["stop_reason"], "tool_use");
    assert_eq!(whole["content"][0]["signature"], seal("First I think about it for a while."));
    assert_eq!(whole["content"][1], json!({"type": "redacted_thinking", "data": "sealed"}));
    assert!(stream.contains("event: ping"));
    assert!(stream.matches("input_json_delta").count() > 6, "an input comes in several deltas");
}

#[tokio::test]
async fn a_responses_stream_numbers_its_events_and_ends_with_the_whole() {
    let stream = told(RESPONSES, rich(), true).await;
    let whole: Value = serde_json::from_str(&told(RESPONSES, rich(), false).await).unwrap();
    let events = events(&stream);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(number));
    }
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"], whole);
    let kinds = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.output_item.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
    ];
    for kind in kinds {
        assert!(events.iter().any(|event| event["type"] == kind), "{kind}");
    }
    let items: Vec<_> =
        events.iter().filter(|e| e["type"] == "response.output_item.done").map(|e| &e["item"]).collect();
    assert_eq!(json!(items), last["response"]["output"]);
}

#[tokio::test]
async fn a_chat_stream_adds_up_and_tells_usage_only_when_asked() {
    let stream = told(CHAT, rich(), true).await;
    let whole: Value = serde_json::from_str(&told(CHAT, rich(), false).await).unwrap();
    let chunks = events(&stream);
    let join = |path: &str| -> String { chunks.iter().filter_map(|c| c.pointer(path)?.as_str()).collect() };
    let message = &whole["choices"][0]["message"];
    assert_eq!(join("/choices/0/delta/content"), message["content"].as_str().unwrap());
    assert_eq!(join("/choices/0/delta/reasoning_content"), message["reasoning_content"].as_str().unwrap());
    let arguments: String = chunks
        .iter()
        .filter(|c| c["choices"][0]["delta"]["tool_calls"][0]["index"] == 0)
        .filter_map(|c| c["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str())
        .collect();
    assert_eq!(arguments, message["tool_calls"][0]["function"]["arguments"].as_str().unwrap());
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 2);
    assert!(stream.ends_with("data: [DONE]\n\n"));
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()));

    for (turn, told_usage) in [(rich(), true), (rich().without_usage(), false)] {
        let mock = Mock::start(Script::new().turn(turn));
        let mut request = hello(CHAT, "Hello", true);
        request["stream_options"] = json!({"include_usage": true});
        let chunks = events(&post(&mock, CHAT, &request).await.1);
        assert_eq!(chunks.iter().any(|chunk| chunk["usage"]["total_tokens"].is_u64()), told_usage);
    }
}

#[tokio::test]
async fn every_stop_reason_arrives_on_every_wire() {
    let cases = [
        (Stop::EndTurn, "end_turn", "stop", "completed"),
        (Stop::ToolUse, "tool_use", "tool_calls", "completed"),
        (Stop::MaxTokens, "max_tokens", "length", "incomplete"),
        (Stop::Sequence, "stop_sequence", "stop", "completed"),
        (Stop::Refusal, "refusal", "content_filter", "completed"),
        (Stop::Pause, "pause_turn", "stop", "completed"),
        (Stop::ContextWindow, "model_context_window_exceeded", "length", "incomplete"),
        (Stop::Other("meditation".to_owned()), "meditation", "meditation", "incomplete"),
    ];
    for (stop, anthropic, chat, responses) in cases {
        let turn = answer().text("So be it.").stop(stop);
        for stream in [true, false] {
            let said = told(ANTHROPIC, turn.clone(), stream).await;
            assert!(said.contains(&format!("\"stop_reason\":\"{anthropic}\"")), "{said}");
            let said = told(CHAT, turn.clone(), stream).await;
            assert!(said.contains(&format!("\"finish_reason\":\"{chat}\"")), "{said}");
            let said = told(RESPONSES, turn.clone(), stream).await;
            assert!(said.contains(&format!("\"status\":\"{responses}\"")), "{said}");
        }
    }
}

#[tokio::test]
async fn a_tool_call_that_the_limit_cuts_arrives_cut() {
    let turn = answer().raw_tool("read", "{\"path\": \"a").stop(Stop::MaxTokens);
    let stream = told(ANTHROPIC, turn.clone(), true).await;
    let parts: String = events(&stream).iter().filter_map(|e| e["delta"]["partial_json"].as_str()).collect();
    assert_eq!(parts, "{\"path\": \"a");
    let stream = told(RESPONSES, turn, true).await;
    assert!(!stream.contains("function_call_arguments.done"));
    assert_eq!(events(&stream).last().unwrap()["response"]["incomplete_details"]["reason"], "max_output_tokens");
}

#[tokio::test]
async fn a_paused_answer_may_come_back_as_the_last_message() {
    let mock = Mock::start(Script::new().turn(answer().text("Wait").stop(Stop::Pause)).turn(answer().text("go")));
    let mut request = hello(ANTHROPIC, "Hello", false);
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 200);
    let paused = json!({"role": "assistant", "content": [{"type": "text", "text": "Wait"}]});
    request["messages"].as_array_mut().unwrap().push(paused);
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 200);
}

#[tokio::test]
async fn models_are_listed_as_each_vendor_does() {
    let mock = Mock::start(Script::new());
    let get = |path: &str, anthropic: bool| {
        let request = client().get(format!("{}{path}", mock.url())).header("authorization", "Bearer k");
        let request = if anthropic { request.header("anthropic-version", "2023-06-01") } else { request };
        async move { serde_json::from_str::<Value>(&request.send().await.unwrap().text().await.unwrap()).unwrap() }
    };
    let list = get("/v1/models", true).await;
    assert_eq!(list["data"][0]["max_input_tokens"], 200_000);
    assert_eq!(get("/v1/models/mock-small", true).await["max_tokens"], 4_096);
    assert_eq!(get("/v1/models/nobody", true).await["error"]["type"], "not_found_error");
    assert_eq!(get("/v1/models", false).await["object"], "list");
}
