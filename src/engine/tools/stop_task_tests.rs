use serde_json::json;

use super::*;
use crate::engine::tools::testing::{asked, refused};

#[tokio::test]
async fn a_task_is_stopped_by_name() {
    let wanted = Request::StopTask { task: "01JZ".to_owned() };
    assert_eq!(asked("stop_task", json!({"task": "01JZ"})).await, wanted);
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = refused("stop_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(StopTask::EXAMPLE), "{reason}");
}
