use serde_json::json;

use super::*;
use crate::engine::tools::testing::{asked, refused};

#[tokio::test]
async fn the_copy_goes_into_the_named_task() {
    let wanted = Request::Fork { source: None, target: "01JZ".to_owned() };
    assert_eq!(asked("fork_task_context", json!({"task": "01JZ"})).await, wanted);
}

#[tokio::test]
async fn another_task_may_be_the_source() {
    let wanted = Request::Fork { source: Some("01JY".to_owned()), target: "01JZ".to_owned() };
    assert_eq!(asked("fork_task_context", json!({"task": "01JZ", "source": "01JY"})).await, wanted);
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = refused("fork_task_context", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(ForkTaskContext::EXAMPLE), "{reason}");
}
