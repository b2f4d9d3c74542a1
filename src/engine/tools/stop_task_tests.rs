use serde_json::json;

use super::*;
use crate::engine::tools::testing::{command_of, id, rejection_of, reply_to};

#[tokio::test]
async fn a_task_is_stopped_by_name() {
    let (command, words) = command_of("stop_task", json!({"task": "01JZ"})).await;
    assert_eq!(command, Command::Stop { scope: StopScope::Subtree(id("01JZ")) });
    assert_eq!(words, "Stopped \"Task\": 2 agents. A message wakes it again; close_task puts it away.");
    let words = reply_to("stop_task", json!({"task": "01JZ"}), Outcome::Stopped { agents: 0 }).await;
    assert_eq!(words, "Nothing was at work in \"Task\".");
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = rejection_of("stop_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(StopTask::EXAMPLE), "{reason}");
}
