use crate::model::content::Content;
use crate::model::conversation::{Block, ToolOutcome, Wire};
use crate::model::event::{CacheLife, CachePolicy};
use crate::provider::encode::{BodyOptions, encode_message};
use crate::provider::testing::{Blobs, assistant, call, config, request, result, segments, text, thought, user};

fn encoded(message: &crate::model::conversation::RoleMessage, blobs: &Blobs) -> String {
    String::from_utf8(encode_message(Wire::Anthropic, message, blobs).unwrap().bytes().to_vec()).unwrap()
}

#[test]
fn a_request_has_these_bytes() {
    let messages = [
        user(vec![text("Go \"now\"")]),
        assistant(vec![
            thought(Wire::Anthropic, "Hm.", Some("c2ln+/=="), None),
            text("I look."),
            call("toolu_1", "bash", r#"{"command": "ls", "n": 1.50}"#),
        ]),
        user(vec![text("and hurry"), result("toolu_1", "a\nb", false)]),
    ];
    assert_eq!(
        request(&config(Wire::Anthropic), &messages, &Blobs::default()),
        concat!(
            r#"{"model":"test-model","max_tokens":4096,"stream":true,"#,
            r#""tools":[{"name":"bash","description":"Runs bash.","input_schema":{"type":"object"}},"#,
            r#"{"name":"mcp__git_hub__search_all_8e36569180","description":"Runs mcp__git hub__search.all.","#,
            r#""input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}}],"#,
            r#""system":[{"type":"text","text":"Be brief."},"#,
            r#"{"type":"text","text":"Today.","cache_control":{"type":"ephemeral","ttl":"1h"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"Go \"now\""}]},"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln+/=="},"#,
            r#"{"type":"text","text":"I look."},"#,
            r#"{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command": "ls", "n": 1.50}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","#,
            r#""content":[{"type":"text","text":"a\nb"}]},"#,
            r#"{"type":"text","text":"and hurry","cache_control":{"type":"ephemeral"}}]}]}"#,
        )
    );
}

#[test]
fn results_come_first_then_texts_then_images_then_a_caption() {
    let mut blobs = Blobs::default();
    let (shot, chart) = (blobs.image(b"png", Some("shot.png")), blobs.image(b"gif", None));
    let outcome = ToolOutcome {
        call: "t".to_owned(),
        content: Content::Blob(blobs.put(b"long output")),
        is_error: false,
        images: vec![chart.clone()],
    };
    let message = user(vec![Block::Image(shot), text("see"), Block::Image(chart), Block::ToolResult(outcome)]);
    assert_eq!(
        encoded(&message, &blobs),
        concat!(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":["#,
            r#"{"type":"text","text":"long output"},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"Z2lm"}}]},"#,
            r#"{"type":"text","text":"see"},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"Z2lm"}},"#,
            r#"{"type":"text","text":"[2 images: shot.png, unnamed]"}]}"#,
        )
    );
}

#[test]
fn a_failed_call_is_marked_and_holds_no_image() {
    let mut blobs = Blobs::default();
    let failed = ToolOutcome {
        call: "t".to_owned(),
        content: Content::text(" \n"),
        is_error: true,
        images: vec![blobs.image(b"png", Some("x"))],
    };
    assert_eq!(
        encoded(&user(vec![Block::ToolResult(failed)]), &blobs),
        concat!(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","#,
            r#""content":[{"type":"text","text":"(no output)"}],"is_error":true},"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},"#,
            r#"{"type":"text","text":"[1 image: x]"}]}"#,
        )
    );
}

#[test]
fn signed_thoughts_are_sent_back_and_foreign_ones_become_text() {
    let message = assistant(vec![
        thought(Wire::Anthropic, "", None, Some("opaque==")),
        thought(Wire::OpenaiResponses, "elsewhere", Some("{}"), None),
        thought(Wire::OpenaiResponses, "", None, Some("{}")),
        thought(Wire::Anthropic, "unsigned", None, None),
        text("  "),
        text("said"),
    ]);
    assert_eq!(
        encoded(&message, &Blobs::default()),
        concat!(
            r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"opaque=="},"#,
            r#"{"type":"text","text":"<thinking>\nelsewhere\n</thinking>"},"#,
            r#"{"type":"text","text":"<thinking>\nunsigned\n</thinking>"},"#,
            r#"{"type":"text","text":"said"}]}"#,
        )
    );
}

#[test]
fn an_empty_message_is_omitted() {
    let messages = [user(vec![text("hi")]), assistant(vec![text("\t")]), user(vec![text("again")])];
    let segments = segments(Wire::Anthropic, &messages, &Blobs::default());
    assert!(segments[1].is_empty());
    let body = super::body(&config(Wire::Anthropic), &segments, &BodyOptions::default()).to_bytes();
    let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(value["messages"].as_array().unwrap().len(), 2);
    assert!(value.get("stream").is_none());
}

#[test]
fn lifetimes_never_grow_along_the_prefix() {
    let mut config = config(Wire::Anthropic);
    config.cache = CachePolicy { prefix: CacheLife::FiveMinutes, messages: CacheLife::OneHour };
    let body = request(&config, &[user(vec![text("hi")])], &Blobs::default());
    assert_eq!(body.matches(r#""cache_control":{"type":"ephemeral"}"#).count(), 3);
    assert!(!body.contains("ttl"));
}

#[test]
fn a_long_step_keeps_the_mark_of_the_previous_request() {
    let many = |n: usize| (0..n).map(|i| call(&format!("t{i}"), "bash", "{}")).collect::<Vec<_>>();
    let results = |n: usize| (0..n).map(|i| result(&format!("t{i}"), "ok", false)).collect::<Vec<_>>();
    for (calls, marks) in [(2, 3), (12, 4)] {
        let messages = [user(vec![text("hi")]), assistant(many(calls)), user(results(calls))];
        let body = request(&config(Wire::Anthropic), &messages, &Blobs::default());
        assert_eq!(body.matches("cache_control").count(), marks, "{calls} calls");
        assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok());
    }
}

#[test]
fn effort_is_a_word_or_a_budget_or_off() {
    let mut config = config(Wire::Anthropic);
    let mut thinking = |effort: &str, max_output: Option<u64>| {
        config.effort = Some(effort.to_owned());
        let options = BodyOptions { max_output, ..BodyOptions::default() };
        let value: serde_json::Value = serde_json::from_slice(&super::body(&config, &[], &options).to_bytes()).unwrap();
        (value["thinking"].to_string(), value["output_config"].to_string())
    };
    assert_eq!(
        thinking("high", None),
        (r#"{"type":"adaptive","display":"summarized"}"#.to_owned(), r#"{"effort":"high"}"#.to_owned())
    );
    assert_eq!(thinking("2000", None).0, r#"{"type":"enabled","budget_tokens":2000}"#);
    assert_eq!(thinking("9000", None).0, r#"{"type":"enabled","budget_tokens":3072}"#);
    assert_eq!(thinking("9000", Some(100)).0, "null");
    assert_eq!(thinking("off", None).0, r#"{"type":"disabled"}"#);
}

#[test]
fn a_count_has_the_same_prompt_without_response_options() {
    let config = config(Wire::Anthropic);
    let segments = segments(Wire::Anthropic, &[user(vec![text("hi")])], &Blobs::default());
    let count: serde_json::Value = serde_json::from_slice(&super::count_body(&config, &segments).to_bytes()).unwrap();
    let full: serde_json::Value =
        serde_json::from_slice(&super::body(&config, &segments, &BodyOptions::streaming()).to_bytes()).unwrap();
    for key in ["model", "tools", "system", "messages"] {
        assert_eq!(count[key], full[key], "{key}");
    }
    assert_eq!(count.as_object().unwrap().len(), 4);
}

#[test]
fn ids_of_other_servers_are_mapped_for_calls_and_results() {
    let calls = encoded(&assistant(vec![call("functions.bash:0", "bash", "{}")]), &Blobs::default());
    let results = encoded(&user(vec![result("functions.bash:0", "x", false)]), &Blobs::default());
    let id = calls.split(r#""id":""#).nth(1).unwrap().split('"').next().unwrap();
    assert!(id.starts_with("functions_bash_0_"), "{id}");
    assert!(results.contains(id));
}
