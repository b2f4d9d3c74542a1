use serde_json::json;

use super::*;
use crate::engine::tools::testing::{command_of, id, rejection_of};

#[tokio::test]
async fn a_task_is_deleted_by_name() {
    let (command, words) = command_of("delete_task", json!({"task": "01JZ"})).await;
    assert_eq!(command, Command::Delete { task: id("01JZ") });
    assert_eq!(words, "Deleted \"Task\". What of its work was not merged is archived below refs/mxd/archive.");
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = rejection_of("delete_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(DeleteTask::EXAMPLE), "{reason}");
}
