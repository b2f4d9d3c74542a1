use serde_json::json;

use super::*;
use crate::engine::tools::testing::{Fixture, Request, command_of, id, rejection_of};

#[tokio::test]
async fn the_copy_goes_into_the_named_task() {
    let mut fixture = Fixture::new();
    let (requests, reply) = fixture.call("fork_task_context", json!({"task": "01JZ"})).await;
    let wanted = Command::ForkContext { source: fixture.own, target: id("01JZ") };
    assert_eq!(requests, [Request::Command(wanted)]);
    let target = id("01JZ");
    let words = format!("Copied 7 events of your conversation into \"Task\" ({target}).");
    assert!(reply.text.starts_with(&words), "{reply:?}");
}

#[tokio::test]
async fn another_task_may_be_the_source() {
    let (command, words) = command_of("fork_task_context", json!({"task": "01JZ", "source": "01JY"})).await;
    assert_eq!(command, Command::ForkContext { source: id("01JY"), target: id("01JZ") });
    assert!(words.contains("events of the conversation of \"Task\" into"), "{words}");
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = rejection_of("fork_task_context", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(ForkTaskContext::EXAMPLE), "{reason}");
}
