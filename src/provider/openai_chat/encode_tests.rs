use crate::model::conversation::{Block, Wire};
use crate::provider::testing::{Blobs, assistant, call, config, request, result, text, thought, user};

#[test]
fn a_request_has_these_bytes() {
    let messages = [
        user(vec![text("Go"), text("fast")]),
        assistant(vec![
            thought(Wire::OpenaiChat, "Hm.", None, None),
            text("I look."),
            call("call_1", "bash", r#"{"command":"ls"}"#),
            call("call_2", "bash", "{}"),
        ]),
        user(vec![text("ok?"), result("call_1", "a", false), result("call_2", "boom", true)]),
    ];
    assert_eq!(
        request(&config(Wire::OpenaiChat), &messages, &Blobs::default()),
        concat!(
            r#"{"model":"test-model","max_tokens":4096,"stream":true,"stream_options":{"include_usage":true},"#,
            r#""tools":[{"type":"function","function":{"name":"bash","description":"Runs bash.","#,
            r#""parameters":{"type":"object"}}},"#,
            r#"{"type":"function","function":{"name":"mcp__git_hub__search_all_8e36569180","#,
            r#""description":"Runs mcp__git hub__search.all.","parameters":{"type":"object"}}}],"#,
            r#""messages":[{"role":"system","content":"Be brief.\n\nToday."},"#,
            r#"{"role":"user","content":"Go\n\nfast"},"#,
            r#"{"role":"assistant","content":"I look.","reasoning_content":"Hm.","tool_calls":["#,
            r#"{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},"#,
            r#"{"id":"call_2","type":"function","function":{"name":"bash","arguments":"{}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"call_1","content":"a"},"#,
            r#"{"role":"tool","tool_call_id":"call_2","content":"Error: boom"},"#,
            r#"{"role":"user","content":"ok?"}]}"#,
        )
    );
}

#[test]
fn images_force_parts_and_end_with_a_caption() {
    let mut blobs = Blobs::default();
    let message = user(vec![Block::Image(blobs.image(b"png", Some("a.png"))), text("see")]);
    let body = request(&config(Wire::OpenaiChat), &[message], &blobs);
    assert!(body.ends_with(concat!(
        r#"{"role":"user","content":[{"type":"text","text":"see"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}},"#,
        r#"{"type":"text","text":"[1 image: a.png]"}]}]}"#,
    )));
}

#[test]
fn reasoning_that_led_to_no_call_is_not_sent_again() {
    let message = assistant(vec![thought(Wire::OpenaiChat, "Hm.", None, None), text("Hello.")]);
    let silent = assistant(vec![thought(Wire::OpenaiChat, "Hm.", None, None)]);
    let body = request(&config(Wire::OpenaiChat), &[user(vec![text("x")]), message, silent], &Blobs::default());
    assert!(body.ends_with(r#"{"role":"user","content":"x"},{"role":"assistant","content":"Hello."}]}"#));
}

#[test]
fn reasoning_goes_back_in_the_field_it_came_in() {
    let spoken = |field: Option<&str>| {
        let message = assistant(vec![thought(Wire::OpenaiChat, "Hm.", field, None), call("c", "bash", "{}")]);
        request(&config(Wire::OpenaiChat), &[message], &Blobs::default())
    };
    assert!(spoken(None).contains(r#""content":null,"reasoning_content":"Hm.","tool_calls":["#));
    assert!(spoken(Some("reasoning")).contains(r#""content":null,"reasoning":"Hm.","tool_calls":["#));
}

#[test]
fn ids_of_calls_go_back_as_they_came_unless_they_are_too_long_for_some_server() {
    let long = "x".repeat(41);
    let messages = [
        assistant(vec![call("functions.bash:0", "bash", "{}"), call(&long, "bash", "{}")]),
        user(vec![result("functions.bash:0", "a", false), result(&long, "b", false)]),
    ];
    let body: serde_json::Value =
        serde_json::from_str(&request(&config(Wire::OpenaiChat), &messages, &Blobs::default())).unwrap();
    let called = |n: usize| body["messages"][1]["tool_calls"][n]["id"].as_str().unwrap();
    assert_eq!(called(0), "functions.bash:0");
    assert_eq!(called(1).len(), 40);
    for n in [0, 1] {
        assert_eq!(body["messages"][2 + n]["tool_call_id"], called(n));
    }
}

#[test]
fn a_call_without_text_has_null_content() {
    let message = assistant(vec![call("c", "bash", "{}")]);
    let body = request(&config(Wire::OpenaiChat), &[message], &Blobs::default());
    assert!(body.contains(r#"{"role":"assistant","content":null,"tool_calls":["#));
}

#[test]
fn the_output_limit_has_the_word_that_the_server_knows() {
    let limit = |model: &str, effort: Option<&str>| {
        let mut config = config(Wire::OpenaiChat);
        model.clone_into(&mut config.model);
        config.effort = effort.map(str::to_owned);
        request(&config, &[], &Blobs::default()).contains("max_completion_tokens")
    };
    assert!(limit("gpt-5-mini", None));
    assert!(limit("o3", None));
    assert!(!limit("gpt-4o", None));
    assert!(!limit("qwen3", Some("high")));
    assert!(!limit("gpt-oss:20b", Some("high")));
}
