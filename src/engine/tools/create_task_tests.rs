use serde_json::json;

use super::*;
use crate::base::MicroUsd;
use crate::engine::tools::testing::{asked, refused};
use crate::model::task;

/// What is asked for when no more than the needful is said.
fn plain() -> Request {
    Request::CreateTask {
        parent: None,
        title: "Add login".to_owned(),
        description: "Goal: people log in.".to_owned(),
        profile: None,
        budget: None,
        colour: None,
        recurring: Recurring::None,
        schedule: Schedule::default(),
        start: true,
        draft: false,
    }
}

#[tokio::test]
async fn a_task_goes_below_ones_own_and_starts_unless_said_otherwise() {
    let said = json!({"title": "Add login", "description": "Goal: people log in."});
    assert_eq!(asked("create_task", said).await, plain());
    let blank = json!({
        "title": "Add login", "description": "Goal: people log in.", "parent": "", "profile": " ", "colour": null,
    });
    assert_eq!(asked("create_task", blank).await, plain());
}

#[tokio::test]
async fn everything_that_is_said_arrives() {
    let said = json!({
        "title": "Sweep", "description": "Why: dust.", "parent": "01JZ", "profile": "tester", "budget_usd": 2.5,
        "colour": "gray", "recurring": "continue", "cron": "0 6 * * *", "start": "draft",
    });
    let wanted = Request::CreateTask {
        parent: Some("01JZ".to_owned()),
        title: "Sweep".to_owned(),
        description: "Why: dust.".to_owned(),
        profile: Some("tester".to_owned()),
        budget: Some(MicroUsd(2_500_000)),
        colour: Some(task::Colour::Gray),
        recurring: Recurring::Continue,
        schedule: Schedule { cron: Some("0 6 * * *".to_owned()), ..Schedule::default() },
        start: false,
        draft: true,
    };
    assert_eq!(asked("create_task", said).await, wanted);
}

#[tokio::test]
async fn a_task_can_wait_for_its_first_message() {
    let said = json!({"title": "Add login", "description": "Goal: people log in.", "start": "later"});
    let Request::CreateTask { start, draft, .. } = asked("create_task", said).await else { panic!("another request") };
    assert_eq!((start, draft), (false, false));
}

#[tokio::test]
async fn a_task_nobody_could_do_is_refused_with_a_way_out() {
    let missing = refused("create_task", json!({"title": "Add login"})).await;
    assert!(missing.contains("\"description\" is missing (a text)"), "{missing}");
    let blank = refused("create_task", json!({"title": "Add login", "description": " "})).await;
    assert!(blank.contains("goal, the scope and why"), "{blank}");
}

#[tokio::test]
async fn odd_values_are_refused_by_name() {
    let with = |field: &str, value: serde_json::Value| {
        let mut input = json!({"title": "a", "description": "b"});
        input[field] = value;
        refused("create_task", input)
    };
    assert!(with("budget_usd", json!(-1)).await.contains("\"budget_usd\" must be at least 0"));
    assert!(with("budget_usd", json!(0)).await.contains("above zero"));
    assert!(with("budget_usd", json!("5")).await.contains("\"budget_usd\" must be a number, not \"5\""));
    assert!(with("colour", json!("pink")).await.contains("\"colour\" must be one of \"red\", \"orange\""));
    assert!(with("start", json!("soon")).await.contains("\"now\", \"later\", \"draft\", not \"soon\""));
}
