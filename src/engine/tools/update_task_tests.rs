use serde_json::json;

use super::*;
use crate::base::MicroUsd;
use crate::engine::tools::testing::{commanded, id, refused};
use crate::model::task;

#[tokio::test]
async fn only_what_is_said_changes() {
    let task = id("01JZ");
    let changes = Changes { draft: Some(false), ..Changes::default() };
    let (command, words) = commanded("update_task", json!({"task": "01JZ", "draft": false})).await;
    assert_eq!(command, Command::Update { task, changes });
    assert_eq!(words, format!("Updated task {task} \"Task\"."));
}

#[tokio::test]
async fn everything_that_is_said_arrives() {
    let said = json!({
        "task": "01JZ", "title": "New", "description": "", "budget_usd": 0.5, "colour": "blue", "draft": true,
    });
    let changes = Changes {
        title: Some("New".to_owned()),
        description: Some(String::new()),
        budget: Some(Some(MicroUsd(500_000))),
        colour: Some(Some(task::Colour::Blue)),
        draft: Some(true),
        ..Changes::default()
    };
    let (command, words) = commanded("update_task", said).await;
    assert_eq!(command, Command::Update { task: id("01JZ"), changes });
    assert!(words.ends_with("\"New\"."), "{words}");
}

#[tokio::test]
async fn a_change_of_nothing_in_particular_is_refused() {
    assert!(refused("update_task", json!({"title": "New"})).await.contains("\"task\" is missing (a text)"));
    assert!(refused("update_task", json!({"task": "01JZ", "budget_usd": 0})).await.contains("above zero"));
}
