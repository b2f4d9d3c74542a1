use serde_json::json;

use super::*;
use crate::engine::tools::testing::{commanded, id, refused, said};

#[tokio::test]
async fn a_task_is_stopped_by_name() {
    let (command, words) = commanded("stop_task", json!({"task": "01JZ"})).await;
    assert_eq!(command, Command::Stop { scope: StopScope::Subtree(id("01JZ")) });
    assert_eq!(words, "Stopped \"Task\": 2 agents. A message wakes it again; close_task puts it away.");
    let words = said("stop_task", json!({"task": "01JZ"}), Outcome::Stopped { agents: 0 }).await;
    assert_eq!(words, "Nothing was at work in \"Task\".");
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = refused("stop_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(StopTask::EXAMPLE), "{reason}");
}
