use serde_json::json;

use super::*;
use crate::engine::tools::testing::{asked, refused};

#[tokio::test]
async fn a_task_is_deleted_by_name() {
    let wanted = Request::DeleteTask { task: "01JZ".to_owned() };
    assert_eq!(asked("delete_task", json!({"task": "01JZ"})).await, wanted);
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = refused("delete_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(DeleteTask::EXAMPLE), "{reason}");
}
