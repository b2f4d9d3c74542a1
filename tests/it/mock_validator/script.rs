//! The script does what it says: checks, captures, gates, queues, loops, usage, and the same from JSON.

use serde_json::{Value, json};

use super::requests::{ANTHROPIC, CHAT, RESPONSES, anthropic, chat, go_on, hello, responses};
use super::{events, post, post_with, send};
use crate::support::mock::check::Check;
use crate::support::mock::{
    Conversation, Counts, Fault, Mock, Model, Rule, Script, Stop, Turn, answer, anywhere, first_user, last_user,
    result, result_of, results, system, tools,
};

fn words(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    body["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn checks_that_hold_let_the_answer_through_on_every_wire() {
    let about_results = two_results_the_second_failed();
    for (path, request) in [(ANTHROPIC, anthropic()), (RESPONSES, responses()), (CHAT, chat())] {
        let turn = answer()
            .expect(last_user().contains("And now?"))
            .expect(last_user().not_contains("Look around"))
            .expect(last_user().matches(r"at=\S+Z"))
            .expect(first_user().contains("Look around."))
            .expect(system().equals("Be brief."))
            .expect(tools().contains("read"))
            .expect(anywhere().contains("mock-model"));
        let turn = if path == RESPONSES { turn } else { about_results.iter().cloned().fold(turn, Turn::expect) };
        let mock = Mock::start(Script::new().turn(turn.text("yes")));
        let (status, body) = post(&mock, path, &request).await;
        assert_eq!(status, 200, "{path}: {body}");
    }
}

fn two_results_the_second_failed() -> Vec<Check> {
    vec![
        results().count(2),
        result(0).contains("alpha"),
        result(0).has_error(false),
        result(1).contains("no such"),
        result(1).has_error(true),
        result_of("read").contains("alpha"),
    ]
}

#[tokio::test]
async fn checks_that_do_not_hold_are_violations() {
    let checks = [
        last_user().contains("Look around"),
        last_user().not_contains("And now?"),
        last_user().matches("^Nothing like it$"),
        last_user().capture("x", "(nothing)"),
        result(0).has_error(true),
        result(2).contains(""),
        result_of("write").contains(""),
        results().count(1),
        tools().count(3),
        system().matches("("),
    ];
    for check in checks {
        let mock = Mock::start(Script::new().turn(answer().expect(check.clone()).text("no")));
        assert_eq!(post(&mock, ANTHROPIC, &anthropic()).await.0, 400, "{check:?}");
        assert_eq!(mock.take_violations()[0].rule, Rule::Expectation, "{check:?}");
    }
}

#[tokio::test]
async fn a_capture_is_used_in_a_later_answer_of_another_conversation() {
    let script = Script::new()
        .with(Conversation::new("one").turn(answer().expect(last_user().capture("id", r"id=(\w+)")).text("noted")))
        .with(Conversation::new("two").turn(answer().text("It is ${id}.").tool("read", json!({"of": ["${id}!"]}))));
    let mock = Mock::start(script);
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "one: id=a7\"", false)).await.0, 200);
    let (_, body) = post(&mock, ANTHROPIC, &hello(ANTHROPIC, "two", false)).await;
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["content"][0]["text"], "It is a7.");
    assert_eq!(body["content"][1]["input"], json!({"of": ["a7!"]}));
    assert_eq!(mock.captured("id").as_deref(), Some("a7"));
}

#[tokio::test]
async fn a_capture_that_nobody_took_is_a_violation() {
    let mock = Mock::start(Script::new().turn(answer().text("${nothing}")));
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "Hello", false)).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::UnknownCapture);
}

#[tokio::test]
async fn a_held_response_sends_nothing_until_its_gate_opens() {
    let mock = Mock::start(Script::new().turn(answer().hold("first byte").text("at last")));
    let body = hello(ANTHROPIC, "Hello", true).to_string();
    let waiting = send(&mock, ANTHROPIC, &body, &[]);
    tokio::pin!(waiting);
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("there was an answer before the gate opened"),
        () = mock.reached("first byte") => {}
    }
    mock.open("first byte");
    assert!(waiting.await.unwrap().text().await.unwrap().contains("at last"));
}

#[tokio::test]
async fn a_loop_answers_so_often_and_then_ends() {
    let step = answer().tool("read", json!({"n": "${turn}"}));
    let mock = Mock::start(Script::new().with(Conversation::new("bench").looping(3, &step, answer().text("over"))));
    let mut request = hello(ANTHROPIC, "bench", false);
    for n in 1..=3 {
        let (_, body) = post(&mock, ANTHROPIC, &request).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&body["stop_reason"], &body["content"][0]["input"]["n"]),
            (&json!("tool_use"), &json!(n.to_string()))
        );
        let call = body["content"][0]["id"].clone();
        let list = request["messages"].as_array_mut().unwrap();
        list.push(json!({"role": "assistant", "content": body["content"]}));
        let result = json!({"type": "tool_result", "tool_use_id": call, "content": "x"});
        list.push(json!({"role": "user", "content": [result]}));
    }
    assert_eq!(words(&post(&mock, ANTHROPIC, &request).await.1), "over");
    mock.assert_finished();
}

#[tokio::test]
async fn an_empty_queue_acknowledges_or_fails() {
    let mock = Mock::start(Script::new());
    assert_eq!(words(&post(&mock, ANTHROPIC, &hello(ANTHROPIC, "Hello", false)).await.1), "Acknowledged.");
    let mock = Mock::start(Script::new().with(Conversation::new("strict").fail_when_exhausted()));
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "strict", false)).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::QueueEmpty);
}

#[tokio::test]
async fn a_refusal_that_is_retried_by_a_user_gets_the_next_turn() {
    let script = Script::new().turn(answer().text("No.").stop(Stop::Refusal).once()).turn(answer().text("Well, yes."));
    let mock = Mock::start(script);
    let request = hello(ANTHROPIC, "Please", false);
    assert_eq!(words(&post(&mock, ANTHROPIC, &request).await.1), "No.");
    assert_eq!(words(&post(&mock, ANTHROPIC, &request).await.1), "Well, yes.");
}

#[tokio::test]
async fn a_summary_of_its_own_comes_before_the_scripts() {
    let conversation = Conversation::new("main task").summary(answer().text("I would rather not.").once());
    let mock = Mock::start(Script::new().with(conversation).summarise_when("Summarise", "Fine."));
    let request = hello(ANTHROPIC, "main task: Summarise", false);
    assert_eq!(words(&post(&mock, ANTHROPIC, &request).await.1), "I would rather not.");
    assert!(words(&post(&mock, ANTHROPIC, &request).await.1).contains("Fine."));
    assert!(mock.requests().iter().all(|record| record.asks_for_summary));
}

#[tokio::test]
async fn a_summary_that_is_asked_for_again_is_the_same_one() {
    let mock = Mock::start(Script::new().with(Conversation::new("main task")).summarise_when("Summarise", "Fine."));
    let ask = async |text: &str| words(&post(&mock, ANTHROPIC, &hello(ANTHROPIC, text, false)).await.1);
    let first = ask("main task: Summarise").await;
    assert_eq!(ask("main task: Summarise").await, first);
    assert_ne!(ask("main task, longer: Summarise").await, first);
}

#[tokio::test]
async fn a_summary_that_arrives_in_spite_of_a_fault_is_not_given_again() {
    let slow = Fault::SlowDrip { bytes: 40, every_ms: 1 };
    let script = Script::new().with(Conversation::new("main task")).fault_at(1, slow);
    let mock = Mock::start(script.summarise_when("Summarise", "Fine."));
    let ask = async |request: &Value| words(&post(&mock, ANTHROPIC, request).await.1);
    let first = ask(&hello(ANTHROPIC, "main task: Summarise", false)).await;
    assert!(first.contains("[summary 1 of main task]"), "{first}");
    // A request that begins with it shows that it is there.
    let mut request = hello(ANTHROPIC, &format!("main task goes on from {first}"), false);
    ask(&request).await;
    go_on(&mut request, "Done.", "Summarise");
    let second = ask(&request).await;
    assert!(second.contains("[summary 2 of main task]"), "{second}");
}

#[tokio::test]
async fn conversations_are_told_apart_by_header_or_by_the_tests_own_rule() {
    let by_header = Mock::start(Script::new().identify_by_header("X-Task").turn(answer().text("${turn}")));
    for task in ["a", "b", "a"] {
        let body = hello(ANTHROPIC, task, false).to_string();
        assert_eq!(post_with(&by_header, ANTHROPIC, &body, &[("x-task", task)]).await.0, 200);
    }
    assert_eq!(by_header.requests_of("a").len(), 2);
    let by_rule =
        Mock::start(Script::new().identify_by(|seen| seen.value["metadata"]["user_id"].as_str().map(str::to_owned)));
    let mut request = hello(ANTHROPIC, "Hello", false);
    request["metadata"] = json!({"user_id": "someone"});
    assert_eq!(post(&by_rule, ANTHROPIC, &request).await.0, 200);
    assert_eq!(by_rule.requests()[0].conversation, "someone");
}

#[tokio::test]
async fn the_cache_is_read_where_the_prefix_was_written() {
    let mock = Mock::start(Script::new());
    let mut request = anthropic();
    let usage = |body: String| serde_json::from_str::<Value>(&body).unwrap()["usage"].clone();
    let first = usage(post(&mock, ANTHROPIC, &request).await.1);
    assert_eq!(first["cache_read_input_tokens"], 0);
    assert!(first["cache_creation"]["ephemeral_1h_input_tokens"].as_u64().unwrap() > 0);
    assert!(first["cache_creation"]["ephemeral_5m_input_tokens"].as_u64().unwrap() > 0);
    request["messages"][2]["content"][2].as_object_mut().unwrap().remove("cache_control");
    go_on(&mut request, "Done.", "Thanks.");
    request["messages"][4]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    let second = usage(post(&mock, ANTHROPIC, &request).await.1);
    assert_eq!(second["cache_read_input_tokens"], first["cache_creation_input_tokens"]);
    assert_eq!(second["cache_creation"]["ephemeral_1h_input_tokens"], 0);
    assert_eq!(second["input_tokens"], 0);

    let mock =
        Mock::start(Script::new().turn(answer().text("x").usage(Counts { input: Some(7), ..Counts::default() })));
    let own = usage(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "Hello", false)).await.1);
    assert_eq!(own["input_tokens"], 7);
}

#[tokio::test]
async fn keys_models_and_windows_are_guarded_without_being_violations() {
    let mock = Mock::start(Script::new().require_key("sk-right").model(Model::new("tiny", 100, 50)));
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "Hello", false)).await.0, 401);
    let mock = Mock::start(Script::new().model(Model::new("tiny", 100, 5000)));
    let mut request = hello(ANTHROPIC, &"long ".repeat(100), false);
    request["model"] = json!("nobody");
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 404);
    request["model"] = json!("tiny");
    let (status, body) = post(&mock, ANTHROPIC, &request).await;
    assert_eq!(status, 400);
    assert!(body.contains("prompt is too long: ") && body.contains("> 100 maximum"), "{body}");
}

#[tokio::test]
async fn a_script_loads_from_json() {
    let json = r#"{
        "conversations": [{
            "name": "demo", "marker": "the demo",
            "turns": [
                {"expect": [{"on": "last_user", "capture": {"name": "n", "pattern": "no (\\d+)"}},
                            {"on": {"result": 0}, "contains": "never asked"}], "say": [{"text": "unused"}]},
                {"expect": [{"on": "last_user", "capture": {"name": "n", "pattern": "no (\\d+)"}}],
                 "say": [{"thinking": "hm"}, {"text": "number ${n}"}, {"tool": {"name": "read", "input": {"n": "${n}"}}}],
                 "usage": {"output": 5}, "faults": [{"http": {"kind": "rate_limit", "retry_after": "0"}}, {"reset_after": 3}]}
            ],
            "faults": {"9": "close_without_response"}
        }],
        "turns": [{"say": [{"chunks": [{"say": "a"}, {"gate": "g"}, {"delay_ms": 1}]}], "stop": {"other": "odd"}}],
        "faults": {"4": {"slow_drip": {"bytes": 3, "every_ms": 0}}},
        "models": [{"id": "m", "window": 1000, "max_output": 10}],
        "summary": {"marker": "Summarise", "text": "s"},
        "exhausted": "fail"
    }"#;
    let mut script = Script::from_json(json).unwrap();
    script.conversations[0].turns.remove(0);
    let mock = Mock::start(script);
    let request = hello(ANTHROPIC, "the demo no 42", true);
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 429);
    assert!(send(&mock, ANTHROPIC, &request.to_string(), &[]).await.unwrap().text().await.is_err());
    let (_, body) = post(&mock, ANTHROPIC, &request).await;
    let events = events(&body);
    assert!(events.iter().any(|event| event["delta"]["text"] == "number 42"), "{events:?}");
    assert!(events.iter().any(|event| event["usage"]["output_tokens"] == 5));

    let error = Script::from_json(r#"{"turnz": []}"#).unwrap_err().to_string();
    assert!(error.contains("turnz"), "{error}");
}

#[tokio::test]
async fn waiting_works_without_a_runtime_and_with_a_paused_clock() {
    let mock = Mock::start(Script::new());
    post(&mock, ANTHROPIC, &hello(ANTHROPIC, "Hello", false)).await;
    tokio::time::pause();
    mock.requested(1).await;
    tokio::task::spawn_blocking(move || mock.until_blocking("one request", |mind| mind.records.len() == 1))
        .await
        .unwrap();
}

#[test]
#[should_panic(expected = "the mock saw violations")]
fn a_mock_that_is_dropped_with_violations_fails_the_test() {
    let mock = Mock::start(Script::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut request = hello(ANTHROPIC, "Hello", false);
        request["frobnicate"] = json!(1);
        post(&mock, ANTHROPIC, &request).await;
    });
}
