use serde_json::json;

use super::*;
use crate::base::MicroUsd;
use crate::engine::tools::testing::{asked, refused};
use crate::model::task;

#[tokio::test]
async fn only_what_is_said_changes() {
    let wanted = Request::UpdateTask {
        task: "01JZ".to_owned(),
        title: None,
        description: None,
        budget: None,
        colour: None,
        draft: Some(false),
    };
    assert_eq!(asked("update_task", json!({"task": "01JZ", "draft": false})).await, wanted);
}

#[tokio::test]
async fn everything_that_is_said_arrives() {
    let said = json!({
        "task": "01JZ", "title": "New", "description": "", "budget_usd": 0.5, "colour": "blue", "draft": true,
    });
    let wanted = Request::UpdateTask {
        task: "01JZ".to_owned(),
        title: Some("New".to_owned()),
        description: Some(String::new()),
        budget: Some(MicroUsd(500_000)),
        colour: Some(task::Colour::Blue),
        draft: Some(true),
    };
    assert_eq!(asked("update_task", said).await, wanted);
}

#[tokio::test]
async fn a_change_of_nothing_in_particular_is_refused() {
    assert!(refused("update_task", json!({"title": "New"})).await.contains("\"task\" is missing (a text)"));
    assert!(refused("update_task", json!({"task": "01JZ", "budget_usd": 0})).await.contains("above zero"));
}
