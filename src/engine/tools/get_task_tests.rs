use serde_json::json;

use super::*;
use crate::engine::query::TreeQuery;
use crate::engine::tools::testing::{id, query_of, rejection_of};

#[tokio::test]
async fn a_task_is_shown_by_name() {
    assert_eq!(query_of("get_task", json!({"task": "01JZ"})).await, TreeQuery::Task { task: id("01JZ") });
}

#[tokio::test]
async fn the_task_must_be_named() {
    let reason = rejection_of("get_task", json!({})).await;
    assert!(reason.contains("\"task\" is missing (a text)") && reason.contains(GetTask::EXAMPLE), "{reason}");
}
