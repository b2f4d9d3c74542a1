use serde_json::json;

use super::*;
use crate::base::MicroUsd;
use crate::engine::tools::testing::{Fixture, Request, command_of, id, rejection_of, reply_to};
use crate::model::task;

fn plain() -> serde_json::Value {
    json!({"title": "Add login", "description": "Goal: people log in."})
}

#[tokio::test]
async fn a_task_is_created_below_the_caller_and_started_by_default() {
    let blank = json!({
        "title": "Add login", "description": "Goal: people log in.", "parent": "", "profile": " ", "colour": null,
    });
    for input in [plain(), blank] {
        let mut fixture = Fixture::new();
        let (requests, reply) = fixture.call("create_task", input).await;
        let (title, description) = ("Add login".to_owned(), "Goal: people log in.".to_owned());
        let draft = TaskDraft { title, description, ..TaskDraft::default() };
        let (parent, start) = (fixture.own, command::TaskStart::Now);
        assert_eq!(requests, [Request::Command(Command::Create { parent, before: None, draft, start })]);
        assert_eq!(reply.text, format!("Created task {} \"Add login\" and started it.", id("01NEW")));
    }
}

#[tokio::test]
async fn all_fields_are_passed_on() {
    let input = json!({
        "title": "Sweep", "description": "Why: dust.", "parent": "01JZ", "profile": "tester", "budget_usd": 2.5,
        "colour": "gray", "recurring": "continue", "cron": "0 6 * * *", "start": "draft",
        "model": "m", "effort": "high", "max_turns": 9, "append": "Be brief.",
    });
    let draft = TaskDraft {
        title: "Sweep".to_owned(),
        description: "Why: dust.".to_owned(),
        profile: Some("tester".to_owned()),
        budget: Some(MicroUsd(2_500_000)),
        overrides: Box::new(task::Overrides {
            append: Some("Be brief.".to_owned()),
            model: Some("m".to_owned()),
            effort: Some("high".to_owned()),
            max_turns: Some(9),
        }),
        colour: Some(task::Colour::Gray),
        recurring: Recurring::Continue,
        schedule: Schedule { cron: Some("0 6 * * *".to_owned()), ..Schedule::default() },
        mode: None,
    };
    let (command, words) = command_of("create_task", input).await;
    let (parent, start) = (id("01JZ"), command::TaskStart::Draft);
    assert_eq!(command, Command::Create { parent, before: None, draft, start });
    assert!(words.contains(&format!(".mxd/tasks/{}.json: commit that file", id("01NEW"))), "{words}");
}

#[tokio::test]
async fn a_task_can_wait_for_its_first_message() {
    let input = json!({"title": "Add login", "description": "Goal: people log in.", "start": "later"});
    let (command, words) = command_of("create_task", input).await;
    assert!(matches!(command, Command::Create { start: command::TaskStart::Later, .. }), "{command:?}");
    assert_eq!(words, format!("Created task {} \"Add login\".", id("01NEW")));
}

#[tokio::test]
async fn the_reply_names_the_parent_and_a_delayed_start() {
    let (task, title) = (id("01NEW"), "Add login".to_owned());
    let start = StartOutcome::Delayed { reason: "the disk is full".to_owned() };
    let words = reply_to("create_task", plain(), Outcome::Created { task, title, start }).await;
    assert!(words.contains("(the disk is full)") && words.ends_with("Do not create it again."), "{words}");
    let elsewhere = json!({"title": "Add login", "description": "Goal: people log in.", "parent": "01JZ"});
    let (_, words) = command_of("create_task", elsewhere).await;
    assert_eq!(words, format!("Created task {task} \"Add login\" below {} and started it.", id("01JZ")));
}

#[tokio::test]
async fn a_task_without_a_description_is_refused_with_a_hint() {
    let missing = rejection_of("create_task", json!({"title": "Add login"})).await;
    assert!(missing.contains("\"description\" is missing (a text)"), "{missing}");
    let blank = rejection_of("create_task", json!({"title": "Add login", "description": " "})).await;
    assert!(blank.contains("goal, the scope and why"), "{blank}");
}

#[tokio::test]
async fn invalid_values_are_refused_with_the_field_name() {
    let with = |field: &str, value: serde_json::Value| {
        let mut input = json!({"title": "a", "description": "b"});
        input[field] = value;
        rejection_of("create_task", input)
    };
    assert!(with("budget_usd", json!(-1)).await.contains("\"budget_usd\" must be at least 0"));
    assert!(with("budget_usd", json!(0)).await.contains("above zero"));
    assert!(with("budget_usd", json!("5")).await.contains("\"budget_usd\" must be a number, not \"5\""));
    assert!(with("colour", json!("pink")).await.contains("\"colour\" must be one of \"red\", \"orange\""));
    assert!(with("start", json!("soon")).await.contains("\"now\", \"later\", \"draft\", not \"soon\""));
}
