use crate::model::content::Content;
use crate::model::conversation::{Block, ToolOutcome, Wire};
use crate::provider::encode::BodyOptions;
use crate::provider::testing::{Blobs, assistant, call, config, request, result, text, thought, user};

const ITEM: &str =
    r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAA=="}"#;

#[test]
fn a_request_has_these_bytes() {
    let mut config = config(Wire::OpenaiResponses);
    config.effort = Some("high".to_owned());
    let messages = [
        user(vec![text("Go")]),
        assistant(vec![
            thought(Wire::OpenaiResponses, "Hm.", Some(ITEM), None),
            text("I look."),
            call("call_1", "mcp__git hub__search.all", r#"{"q":"a"}"#),
        ]),
        user(vec![text("stop"), result("call_1", "no such repo", true)]),
    ];
    assert_eq!(
        request(&config, &messages, &Blobs::default()),
        concat!(
            r#"{"model":"test-model","max_output_tokens":4096,"stream":true,"store":false,"#,
            r#""reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"],"#,
            r#""instructions":"Be brief.\n\nToday.","#,
            r#""tools":[{"type":"function","name":"bash","description":"Runs bash.","#,
            r#""parameters":{"type":"object"},"strict":false},"#,
            r#"{"type":"function","name":"mcp__git_hub__search_all_8e36569180","#,
            r#""description":"Runs mcp__git hub__search.all.","parameters":{"type":"object"},"strict":false}],"#,
            r#""parallel_tool_calls":true,"#,
            r#""input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Go"}]},"#,
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAA=="},"#,
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},"#,
            r#"{"type":"function_call","call_id":"call_1","name":"mcp__git_hub__search_all_8e36569180","#,
            r#""arguments":"{\"q\":\"a\"}"},"#,
            r#"{"type":"function_call_output","call_id":"call_1","output":"Error: no such repo"},"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"stop"}]}]}"#,
        )
    );
}

#[test]
fn images_of_results_go_into_the_user_message() {
    let mut blobs = Blobs::default();
    let outcome = ToolOutcome {
        call: "c".to_owned(),
        content: Content::text(""),
        is_error: false,
        images: vec![blobs.image(b"png", Some("a\nb.png"))],
    };
    let body = request(&config(Wire::OpenaiResponses), &[user(vec![Block::ToolResult(outcome)])], &blobs);
    assert!(body.ends_with(concat!(
        r#""input":[{"type":"function_call_output","call_id":"c","output":"(no output)"},"#,
        r#"{"type":"message","role":"user","content":["#,
        r#"{"type":"input_image","image_url":"data:image/png;base64,cG5n"},"#,
        r#"{"type":"input_text","text":"[1 image: a b.png]"}]}]}"#,
    )));
}

#[test]
fn foreign_thoughts_become_text_and_invalid_items_do_not_break_the_request() {
    let message = assistant(vec![
        thought(Wire::Anthropic, "mine", Some("sig"), None),
        thought(Wire::Anthropic, "", None, Some("sealed")),
        thought(Wire::OpenaiResponses, "", None, Some("not json")),
        thought(Wire::OpenaiResponses, "", None, Some(ITEM)),
    ]);
    let body = request(&config(Wire::OpenaiResponses), &[user(vec![text("x")]), message], &Blobs::default());
    let value: serde_json::Value = serde_json::from_str(&body).unwrap();
    let items = value["input"].as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!(items[1]["content"][0]["text"], "<thinking>\nmine\n</thinking>");
    assert_eq!(items[2].to_string(), ITEM);
}

#[test]
fn only_reasoning_models_are_asked_for_reasoning() {
    let asks = |model: &str| {
        let mut config = config(Wire::OpenaiResponses);
        model.clone_into(&mut config.model);
        request(&config, &[], &Blobs::default()).contains("encrypted_content")
    };
    for model in ["gpt-5", "gpt-5.1-codex", "o3-mini", "o4-mini", "openai/gpt-5-mini", "codex-mini-latest", "gpt-10"] {
        assert!(asks(model), "{model}");
    }
    for model in ["gpt-4o", "gpt-4.1", "gpt-oss:20b", "ollama", "qwen3"] {
        assert!(!asks(model), "{model}");
    }
}

#[test]
fn small_limits_are_raised_and_cache_keys_are_sent() {
    let options = BodyOptions { stream: false, max_output: Some(1), cache_key: Some("task".to_owned()) };
    let body = super::body(&config(Wire::OpenaiResponses), &[], &options).to_bytes();
    let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(value["max_output_tokens"], 16);
    assert_eq!(value["prompt_cache_key"], "task");
    assert_eq!(value["input"], serde_json::json!([]));
}
