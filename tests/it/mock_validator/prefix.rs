//! A conversation only grows: each way of not growing is caught, each legal way is let through.

use serde_json::{Value, json};

use super::post;
use super::requests::{ANTHROPIC, CHAT, RESPONSES, anthropic, chat, go_on, hello, hour, minutes, responses};
use crate::support::mock::raw::without_cache_marks;
use crate::support::mock::{Conversation, Fault, Mock, Rule, Script, answer};

/// What changes between two requests, how, and the rule that must say so.
type Case = (&'static str, Change, Rule);
type Change = fn(&mut Value);
type Make = fn() -> Value;

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("another system prompt", |r| r["system"][0]["text"] = json!("Be brief!"), Rule::PrefixSystem),
    ("no system prompt", |r| drop(r.as_object_mut().unwrap().remove("system")), Rule::PrefixSystem),
    ("another description of a tool", |r| r["tools"][0]["description"] = json!("Reads"), Rule::PrefixTools),
    ("tools in another order", |r| r["tools"].as_array_mut().unwrap().swap(0, 1), Rule::PrefixTools),
    ("one tool fewer", |r| drop(r["tools"].as_array_mut().unwrap().remove(0)), Rule::PrefixTools),
    ("another text", |r| r["messages"][0]["content"][0]["text"] = json!("Look about."), Rule::PrefixMessages),
    ("another tool input", |r| r["messages"][1]["content"][3]["input"] = json!({"path": "b"}), Rule::PrefixMessages),
    ("a flag spelled out", |r| r["messages"][2]["content"][0]["is_error"] = json!(false), Rule::PrefixMessages),
    ("a flag gone", |r| drop(r["messages"][2]["content"][1].as_object_mut().unwrap().remove("is_error")), Rule::PrefixMessages),
    ("results in another order", |r| r["messages"][2]["content"].as_array_mut().unwrap().swap(0, 1), Rule::PrefixMessages),
    ("a text where blocks were", |r| r["messages"][0]["content"] = r["messages"][0]["content"][0]["text"].clone(), Rule::PrefixMessages),
    ("a block more in an answered turn", |r| r["messages"][0]["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": "P.S."})), Rule::PrefixMessages),
    ("a message put in between", |r| r["messages"].as_array_mut().unwrap().insert(1, json!({"role": "user", "content": "Hm."})), Rule::PrefixMessages),
    ("fewer messages", |r| r["messages"].as_array_mut().unwrap().truncate(1), Rule::PrefixShrunk),
    ("keys in another order", |r| r["messages"][0] = json!({"content": r["messages"][0]["content"], "role": "user"}), Rule::PrefixMessages),
];

#[tokio::test]
async fn every_way_of_changing_what_was_sent_is_caught() {
    for (what, mutate, rule) in CASES {
        let mock = Mock::start(Script::new());
        assert_eq!(post(&mock, ANTHROPIC, &anthropic()).await.0, 200);
        let mut next = anthropic();
        if *rule != Rule::PrefixShrunk {
            go_on(&mut next, "Done.", "Thanks.");
        }
        mutate(&mut next);
        assert_eq!(post(&mock, ANTHROPIC, &next).await.0, 400, "{what}");
        let violations = mock.take_violations();
        assert!(violations.iter().any(|v| v.rule == *rule), "{what}: {violations:?}");
    }
}

#[tokio::test]
async fn the_other_wires_are_held_to_the_same() {
    let cases: [(&str, Make, Change, Rule); 4] = [
        (RESPONSES, responses, |r| r["instructions"] = json!("Be long."), Rule::PrefixSystem),
        (RESPONSES, responses, |r| r["input"][2]["arguments"] = json!("{ }"), Rule::PrefixMessages),
        (CHAT, chat, |r| r["messages"][0]["content"] = json!("Be long."), Rule::PrefixMessages),
        (CHAT, chat, |r| r["tools"][0]["function"]["description"] = json!("new"), Rule::PrefixTools),
    ];
    for (path, valid, mutate, rule) in cases {
        let mock = Mock::start(Script::new());
        assert_eq!(post(&mock, path, &valid()).await.0, 200);
        let mut next = valid();
        mutate(&mut next);
        assert_eq!(post(&mock, path, &next).await.0, 400);
        assert!(mock.take_violations().iter().any(|v| v.rule == rule), "{path} {rule:?}");
    }
}

#[tokio::test]
async fn growing_moving_marks_and_retrying_are_legal() {
    let mock = Mock::start(Script::new().turn(answer().text("one")).turn(answer().text("two")).fail_when_exhausted());
    let mut request = anthropic();
    let first = post(&mock, ANTHROPIC, &request).await;
    let retried = post(&mock, ANTHROPIC, &request).await;
    let said = |body: &str| -> Value {
        let body: Value = serde_json::from_str(body).unwrap();
        json!([body["id"], body["content"]])
    };
    assert_eq!(said(&first.1), said(&retried.1), "a repeated request gets the same answer");
    assert!(mock.requests()[1].repeat);
    request["messages"][2]["content"][2].as_object_mut().unwrap().remove("cache_control");
    go_on(&mut request, "Done.", "Thanks.");
    request["messages"][4]["content"][0]["cache_control"] = minutes();
    request["tools"][1]["cache_control"] = hour();
    assert!(post(&mock, ANTHROPIC, &request).await.1.contains("two"));
    mock.assert_finished();
}

#[tokio::test]
async fn the_last_message_may_gain_blocks_or_words_at_its_end() {
    let mock = Mock::start(Script::new());
    let mut request = anthropic();
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 200);
    request["messages"][2]["content"].as_array_mut().unwrap().push(json!({"type": "text", "text": "Also this."}));
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 200);

    let mock = Mock::start(Script::new());
    assert_eq!(post(&mock, CHAT, &hello(CHAT, "Look", false)).await.0, 200);
    assert_eq!(post(&mock, CHAT, &hello(CHAT, "Look\n\nand see", false)).await.0, 200);
    assert_eq!(post(&mock, CHAT, &hello(CHAT, "look\n\nand see", false)).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::PrefixMessages);
}

#[tokio::test]
async fn a_summary_opens_a_new_epoch_and_asking_for_it_is_forgotten() {
    let mock = Mock::start(Script::new().summarise_when("Summarise now", "All is well."));
    let request = anthropic();
    assert_eq!(post(&mock, ANTHROPIC, &request).await.0, 200);
    let mut asking = request.clone();
    go_on(&mut asking, "Done.", "Summarise now, please.");
    let (_, summary) = post(&mock, ANTHROPIC, &asking).await;
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let summary = summary["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(summary.starts_with("<summary>") && summary.contains("All is well."), "{summary}");

    // An interrupted compaction goes on where it was: the instruction was transient.
    let mut unchanged = request.clone();
    go_on(&mut unchanged, "Done.", "Never mind.");
    assert_eq!(post(&mock, ANTHROPIC, &unchanged).await.0, 200);
    assert_eq!(mock.requests()[2].epoch, 0);

    let inner = summary.trim_start_matches("<summary>").trim_end_matches("</summary>");
    let fresh = hello(ANTHROPIC, &format!("We go on from here: {inner}"), false);
    assert_eq!(post(&mock, ANTHROPIC, &fresh).await.0, 200);
    assert_eq!(mock.requests()[3].epoch, 1);

    // The same segment may not start a second time from the same summary.
    let elsewhere = hello(ANTHROPIC, &format!("Or from here: {inner}"), false);
    assert_eq!(post(&mock, ANTHROPIC, &elsewhere).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::PrefixMessages);
}

#[tokio::test]
async fn a_new_epoch_can_be_declared_once() {
    let mock = Mock::start(Script::new());
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "one", false)).await.0, 200);
    mock.new_epoch("main");
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "two", false)).await.0, 200);
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "three", false)).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::PrefixMessages);
}

fn family() -> Script {
    Script::new()
        .with(Conversation::new("parent").marker("Task: parent"))
        .with(Conversation::new("child").marker("You are now the child").expect_fork_of("parent"))
        .with(Conversation::new("grandchild").marker("You are now the grandchild").expect_fork_of("child"))
}

#[tokio::test]
async fn a_fork_continues_a_request_of_its_parent() {
    let mock = Mock::start(family());
    let first = hello(ANTHROPIC, "Task: parent", false);
    assert_eq!(post(&mock, ANTHROPIC, &first).await.0, 200);
    let mut parent = first.clone();
    go_on(&mut parent, "I fork.", "You are the parent still.");
    assert_eq!(post(&mock, ANTHROPIC, &parent).await.0, 200);
    let mut child = first.clone();
    go_on(&mut child, "I fork.", "You are now the child.");
    assert_eq!(post(&mock, ANTHROPIC, &child).await.0, 200);
    let mut grandchild = child.clone();
    go_on(&mut grandchild, "I fork too.", "You are now the grandchild.");
    assert_eq!(post(&mock, ANTHROPIC, &grandchild).await.0, 200);
    let seen: Vec<_> = mock.requests().iter().map(|r| (r.conversation.clone(), r.continues)).collect();
    let expected = [("parent", None), ("parent", None), ("child", Some(1)), ("grandchild", Some(3))];
    assert_eq!(seen, expected.map(|(name, from)| (name.to_owned(), from)));
}

#[tokio::test]
async fn a_fork_that_continues_nothing_is_caught() {
    let mock = Mock::start(family());
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "Task: parent", false)).await.0, 200);
    let mut child = hello(ANTHROPIC, "Task:  parent", false);
    go_on(&mut child, "I fork.", "You are now the child.");
    assert_eq!(post(&mock, ANTHROPIC, &child).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::ForkPrefix);
}

#[tokio::test]
async fn conversations_do_not_disturb_each_other() {
    let script = Script::new().with(Conversation::new("alpha")).with(Conversation::new("beta"));
    let mock = Mock::start(script);
    for words in ["alpha begins", "beta begins", "alpha begins"] {
        assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, words, false)).await.0, 200);
    }
    assert_eq!((mock.requests_of("alpha").len(), mock.requests_of("beta").len()), (2, 1));
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "alpha or beta?", false)).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::AmbiguousConversation);
}

#[tokio::test]
async fn a_refused_request_is_not_what_the_next_is_compared_with() {
    let mock = Mock::start(Script::new().turn(answer().text("ok").fault(Fault::overloaded())));
    let mut broken = hello(ANTHROPIC, "one", false);
    broken["frobnicate"] = json!(true);
    assert_eq!(post(&mock, ANTHROPIC, &broken).await.0, 400);
    assert_eq!(mock.take_violations()[0].rule, Rule::UnknownField);
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "two", false)).await.0, 529);
    assert_eq!(post(&mock, ANTHROPIC, &hello(ANTHROPIC, "two", false)).await.0, 200);
}

#[test]
fn cache_marks_are_cut_wherever_they_stand_and_nothing_else_is() {
    let cases = [
        (r#"{"cache_control":{"type":"ephemeral"},"a":1}"#, r#"{"a":1}"#),
        (r#"{"a":1,"cache_control":{"type":"ephemeral"}}"#, r#"{"a":1}"#),
        (r#"{"a" : 1 , "cache_control" : null , "b":2}"#, r#"{"a" : 1 , "b":2}"#),
        (r#"{"cache_control":{}}"#, "{}"),
        (
            r#"[{"content":[{"x":1,"cache_control":{}}]}, {"cache_control":{},"y":"}"}]"#,
            r#"[{"content":[{"x":1}]}, {"y":"}"}]"#,
        ),
        (
            r#"{"input":{"cache_control":1},"t":"\"cache_control\""}"#,
            r#"{"input":{"cache_control":1},"t":"\"cache_control\""}"#,
        ),
    ];
    for (marked, bare) in cases {
        assert_eq!(without_cache_marks(marked), bare);
    }
}
