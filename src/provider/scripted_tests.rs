use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Scenario, ScriptedProvider};
use crate::model::conversation::{Block, RoleMessage, Wire};
use crate::model::event::StopReason;
use crate::provider::encode::BodyOptions;
use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::response::{Response, ResponseBlock, Signal};
use crate::provider::testing::{Blobs, assistant, config, result, segments, text, user};
use crate::provider::{Provider, ProviderRequest};

fn provider(scenario: Value, pace: f64) -> ScriptedProvider {
    ScriptedProvider::new(Scenario::from_value(scenario).unwrap(), pace)
}

fn call(messages: &[RoleMessage]) -> ProviderRequest {
    let segments = segments(Wire::Scripted, messages, &Blobs::default());
    ProviderRequest::respond(Arc::new(config(Wire::Scripted)), &segments, &BodyOptions::streaming())
}

async fn respond(provider: &ScriptedProvider, messages: &[RoleMessage]) -> Result<Response, ApiError> {
    provider.respond(call(messages), mpsc::channel(1000).0, CancellationToken::new()).await
}

fn assistant_message(response: Response) -> RoleMessage {
    let blocks = response.blocks.into_iter().map(|block| match block {
        ResponseBlock::Text(text) => Block::Text(text),
        ResponseBlock::Thinking(thought) => Block::Thinking(thought),
        ResponseBlock::ToolUse(call) => Block::ToolUse(call),
    });
    assistant(blocks.collect())
}

/// Plays the user's turns and returns the answers. Each answer comes from a new provider, because answers must not
/// depend on the state of the process.
async fn converse(scenario: &Value, turns: Vec<RoleMessage>) -> Vec<String> {
    let (mut conversation, mut answers) = (Vec::new(), Vec::new());
    for turn in turns {
        conversation.push(turn);
        let response = respond(&provider(scenario.clone(), 0.0), &conversation).await.unwrap();
        answers.push(response.text());
        conversation.push(assistant_message(response));
    }
    answers
}

fn user_text(what: &str) -> RoleMessage {
    user(vec![text(what)])
}

#[tokio::test]
async fn turns_are_played_in_order_of_the_request() {
    let scenario = json!({"version": 1, "conversations": [
        {"name": "other", "when": {"first": "sail"}, "turns": [{"text": "wrong"}]},
        {"name": "root", "when": {"first": ["Build", {"regex": "pars(er|ing)"}, {"contains": "sail", "not": true}]},
         "turns": [{"text": "one"}, {"text": "two"}], "otherwise": {"text": "over"}},
    ]});
    let answers =
        converse(&scenario, vec![user_text("Build a parser"), user_text("next"), user_text("more"), user_text("more")])
            .await;
    assert_eq!(answers, ["one", "two", "over", "over"]);
    assert_eq!(converse(&scenario, vec![user_text("something else")]).await, ["Acknowledged."]);
}

#[tokio::test]
async fn rules_use_up_no_turn_and_conditions_hold_a_turn_back() {
    let scenario = json!({"version": 1,
        "rules": [{"when": {"last": "Summarise"}, "text": "<summary>all</summary>"}],
        "conversations": [{"name": "root", "turns": [
            {"text": "started"},
            {"when": {"text": {"regex": "task_complete.*passed"}}, "text": "merged", "otherwise": {"text": "waiting"}},
            {"text": "finished"}]}]});
    let turns = ["go", "hello?", "Summarise now", "<task_complete status=\"passed\">", "ok"].map(user_text);
    assert_eq!(
        converse(&scenario, turns.to_vec()).await,
        ["started", "waiting", "<summary>all</summary>", "merged", "finished"]
    );
}

#[tokio::test]
async fn captures_are_used_in_texts_and_inputs_of_later_turns() {
    let scenario = json!({"version": 1, "conversations": [{"turns": [
        {"capture": {"who": {"from": "first", "regex": "I am (\\w+)"}}, "text": "Hello ${who}.",
         "calls": [{"tool": "create_task", "input": {"title": "T"}}]},
        {"capture": {"id": {"from": "result", "regex": "id: (\\w+)"}},
         "calls": [{"tool": "send_message", "input": {"task": "${id}", "list": ["for ${who}", 1]}}]}]}]});
    let provider = provider(scenario, 0.0);
    let mut conversation = vec![user_text("I am Ada")];
    let first = respond(&provider, &conversation).await.unwrap();
    assert_eq!((first.text().as_str(), &first.stop), ("Hello Ada.", &StopReason::ToolUse));
    let id = first.calls().next().unwrap().call.clone();
    conversation.extend([assistant_message(first), user(vec![result(&id, "created, id: 01ABC", false)])]);
    let second = respond(&provider, &conversation).await.unwrap();
    let call = second.calls().next().unwrap();
    assert_eq!(call.input.as_str(), r#"{"task":"01ABC","list":["for Ada",1]}"#);
    assert_ne!(call.call, id);
}

#[tokio::test]
async fn a_missing_capture_is_an_error_that_names_it() {
    let scenario = json!({"version": 1, "conversations": [{"name": "root", "turns": [{"text": "${nobody}"}]}]});
    let error = respond(&provider(scenario, 0.0), &[user_text("x")]).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::InvalidRequest);
    assert!(error.message.contains("${nobody}") && error.message.contains("root"), "{}", error.message);
}

#[tokio::test]
async fn a_fork_starts_its_own_conversation_at_the_anchor() {
    let scenario = json!({"version": 1, "conversations": [
        {"name": "child", "when": {"anchor": "you are now the child"}, "turns": [{"text": "child 1"}, {"text": "child 2"}]},
        {"name": "parent", "turns": [{"text": "parent 1"}, {"text": "parent 2"}, {"text": "parent 3"}]}]});
    let turns = ["go", "on", "you are now the child", "on"].map(user_text);
    assert_eq!(converse(&scenario, turns.to_vec()).await, ["parent 1", "parent 2", "child 1", "child 2"]);
}

#[tokio::test]
async fn errors_fail_the_first_attempts_at_a_request_and_may_come_in_mid_text() {
    let scenario = json!({"version": 1, "conversations": [{"turns": [{"text": "Hello.", "errors": [
        {"class": "rate_limit", "status": 429, "retry_after_ms": 500},
        {"class": "truncated", "after_chars": 3}]}]}]});
    let provider = provider(scenario, 0.0);
    let limited = respond(&provider, &[user_text("x")]).await.unwrap_err();
    assert_eq!((limited.class, limited.status), (ErrorClass::RateLimit, Some(429)));
    assert_eq!(limited.retry_after, Some(Duration::from_millis(500)));
    assert!(limited.partial.unwrap().blocks.is_empty());
    let cut = respond(&provider, &[user_text("x")]).await.unwrap_err();
    assert_eq!((cut.class, cut.partial.unwrap().text()), (ErrorClass::Truncated, "Hel".to_owned()));
    assert_eq!(respond(&provider, &[user_text("x")]).await.unwrap().text(), "Hello.");
}

#[tokio::test(start_paused = true)]
async fn an_answer_follows_its_pacing() {
    let scenario = json!({"version": 1, "pacing": {"first_token_ms": 400, "chars_per_second": 100},
        "conversations": [{"turns": [{"thinking": "Hm.", "text": "x".repeat(97)}]}]});
    for (pace, expected) in [(0.0, 0), (1.0, 1400), (0.5, 700)] {
        let start = Instant::now();
        respond(&provider(scenario.clone(), pace), &[user_text("x")]).await.unwrap();
        let millis = u64::try_from(start.elapsed().as_millis()).unwrap();
        // Timers have a resolution of one millisecond.
        assert!((expected..=expected + 60).contains(&millis), "{pace}: {millis} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_keeps_the_text_so_far() {
    let scenario = json!({"version": 1, "pacing": {"first_token_ms": 0, "chars_per_second": 100},
        "conversations": [{"turns": [{"text": "0123456789".repeat(10)}]}]});
    let provider = provider(scenario, 1.0);
    let (sender, mut receiver) = mpsc::channel(1000);
    let cancel = CancellationToken::new();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (response, ()) = tokio::join!(provider.respond(call(&[user_text("x")]), sender, cancel.clone()), stop);
    let error = response.unwrap_err();
    assert_eq!(error.class, ErrorClass::Cancelled);
    let kept = error.partial.unwrap().text();
    assert!((30..=60).contains(&kept.len()), "{kept}");
    let shown: String = std::iter::from_fn(|| receiver.try_recv().ok())
        .map(|signal| match signal {
            Signal::Text(text) => text,
            Signal::Begun | Signal::Thinking(_) | Signal::Call { .. } => panic!("{signal:?}"),
        })
        .collect();
    assert_eq!(shown, kept);
}

#[tokio::test]
async fn usage_grows_like_that_of_a_caching_api() {
    let scenario = json!({"version": 1});
    let provider = provider(scenario, 0.0);
    let mut conversation = vec![user_text(&"long ".repeat(100))];
    let first = respond(&provider, &conversation).await.unwrap();
    assert!(first.usage_reported && first.tokens.output > 0);
    assert_eq!(first.tokens.cache_read, 0);
    assert!(first.tokens.cache_write_5m >= 125 && first.tokens.cache_write_1h > 0);
    let before = first.tokens.context();
    conversation.extend([assistant_message(first), user_text("short")]);
    let second = respond(&provider, &conversation).await.unwrap();
    assert!(second.tokens.cache_read > 125 && second.tokens.cache_write_1h == 0);
    assert!(second.tokens.context() > before);
    assert!(second.tokens.cache_write_5m < second.tokens.cache_read);
    let count = provider.count_tokens(call(&conversation), CancellationToken::new()).await.unwrap().unwrap();
    assert!(count.abs_diff(second.tokens.context()) <= 8);
}

#[tokio::test]
async fn malformed_calls_can_be_scripted() {
    let scenario = json!({"version": 1, "conversations": [{"turns": [
        {"calls": [{"tool": "bash", "malformed": "{\"comm"}], "stop": "max_tokens"}]}]});
    let response = respond(&provider(scenario, 0.0), &[user_text("x")]).await.unwrap();
    assert_eq!(response.stop, StopReason::MaxTokens);
    assert_eq!(response.cut_call.as_deref(), Some("scripted_0_0"));
}

#[test]
fn an_invalid_scenario_is_an_error_that_names_the_place() {
    let problem = |scenario: Value| Scenario::from_value(scenario).unwrap_err().to_string();
    assert!(problem(json!({"version": 2})).contains("version 2"));
    assert!(problem(json!({"version": 1, "convs": []})).contains("convs"));
    assert!(problem(json!({"version": 1, "rules": [{"text": "x"}]})).contains("no `when`"));
    let class = json!({"version": 1, "conversations": [{"turns": [{"errors": [{"class": "bad_luck"}]}]}]});
    assert!(problem(class).contains("bad_luck"));
    let regex = json!({"version": 1, "conversations": [{"turns": [{"capture": {"x": {"regex": "("}}}]}]});
    assert!(problem(regex).contains("is not a regex"));
    assert!(Scenario::load(std::path::Path::new("/nonexistent/scenario.json")).is_err());
}

#[test]
fn the_scenario_of_the_documentation_can_be_played() {
    let source = include_str!("../provider/scripted.rs");
    let example: String = source
        .lines()
        .skip_while(|line| *line != "//! ```json")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .map(|line| line.trim_start_matches("//!"))
        .collect();
    assert!(Scenario::parse(&example).is_ok(), "{:?}", Scenario::parse(&example).err());
}
