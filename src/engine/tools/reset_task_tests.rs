use serde_json::json;

use super::*;
use crate::engine::tools::testing::{command_of, id, rejection_of};

#[tokio::test]
async fn a_task_is_reset_by_name() {
    let (command, words) = command_of("reset_task", json!({"task": "01JZ"})).await;
    assert_eq!(command, Command::Reset { task: id("01JZ") });
    assert_eq!(words, "Reset \"Task\": an empty conversation, a fresh branch. Its old work is archived.");
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = rejection_of("reset_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(ResetTask::EXAMPLE), "{reason}");
}
