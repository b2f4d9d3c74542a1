use serde_json::json;

use super::*;
use crate::base::MicroUsd;
use crate::engine::tools::testing::{command_of, id, rejection_of};
use crate::model::task;

#[tokio::test]
async fn only_the_given_fields_change() {
    let task = id("01JZ");
    let changes = TaskChanges { draft: Some(false), ..TaskChanges::default() };
    let (command, words) = command_of("update_task", json!({"task": "01JZ", "draft": false})).await;
    assert_eq!(command, Command::Update { task, changes });
    assert_eq!(words, format!("Updated task {task} \"Task\"."));
}

#[tokio::test]
async fn all_fields_are_passed_on() {
    let input = json!({
        "task": "01JZ", "title": "New", "description": "", "budget_usd": 0.5, "colour": "blue", "draft": true,
    });
    let changes = TaskChanges {
        title: Some("New".to_owned()),
        description: Some(String::new()),
        budget: Some(Some(MicroUsd(500_000))),
        colour: Some(Some(task::Colour::Blue)),
        draft: Some(true),
        ..TaskChanges::default()
    };
    let (command, words) = command_of("update_task", input).await;
    assert_eq!(command, Command::Update { task: id("01JZ"), changes });
    assert!(words.ends_with("\"New\"."), "{words}");
}

#[tokio::test]
async fn a_task_and_a_valid_budget_are_required() {
    assert!(rejection_of("update_task", json!({"title": "New"})).await.contains("\"task\" is missing (a text)"));
    assert!(rejection_of("update_task", json!({"task": "01JZ", "budget_usd": 0})).await.contains("above zero"));
}
