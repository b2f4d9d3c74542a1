use serde_json::json;

use super::*;
use crate::base::MicroUsd;
use crate::engine::tools::testing::{Asked, Scene, commanded, id, refused, said};
use crate::model::task;

fn plain() -> serde_json::Value {
    json!({"title": "Add login", "description": "Goal: people log in."})
}

#[tokio::test]
async fn a_task_goes_below_ones_own_and_starts_unless_said_otherwise() {
    let blank = json!({
        "title": "Add login", "description": "Goal: people log in.", "parent": "", "profile": " ", "colour": null,
    });
    for input in [plain(), blank] {
        let mut scene = Scene::new();
        let (asked, reply) = scene.call("create_task", input).await;
        let (title, description) = ("Add login".to_owned(), "Goal: people log in.".to_owned());
        let draft = Draft { title, description, ..Draft::default() };
        let (parent, start) = (scene.own, command::Start::Now);
        assert_eq!(asked, [Asked::Command(Command::Create { parent, before: None, draft, start })]);
        assert_eq!(reply.text, format!("Created task {} \"Add login\" and started it.", id("01NEW")));
    }
}

#[tokio::test]
async fn everything_that_is_said_arrives() {
    let said = json!({
        "title": "Sweep", "description": "Why: dust.", "parent": "01JZ", "profile": "tester", "budget_usd": 2.5,
        "colour": "gray", "recurring": "continue", "cron": "0 6 * * *", "start": "draft",
    });
    let draft = Draft {
        title: "Sweep".to_owned(),
        description: "Why: dust.".to_owned(),
        profile: Some("tester".to_owned()),
        budget: Some(MicroUsd(2_500_000)),
        colour: Some(task::Colour::Gray),
        recurring: Recurring::Continue,
        schedule: Schedule { cron: Some("0 6 * * *".to_owned()), ..Schedule::default() },
    };
    let (command, words) = commanded("create_task", said).await;
    let (parent, start) = (id("01JZ"), command::Start::Draft);
    assert_eq!(command, Command::Create { parent, before: None, draft, start });
    assert!(words.contains(&format!(".mxd/tasks/{}.json: commit that file", id("01NEW"))), "{words}");
}

#[tokio::test]
async fn a_task_can_wait_for_its_first_message() {
    let input = json!({"title": "Add login", "description": "Goal: people log in.", "start": "later"});
    let (command, words) = commanded("create_task", input).await;
    assert!(matches!(command, Command::Create { start: command::Start::Later, .. }), "{command:?}");
    assert_eq!(words, format!("Created task {} \"Add login\".", id("01NEW")));
}

#[tokio::test]
async fn where_it_is_and_that_it_waits_for_the_disk_is_said() {
    let (task, title) = (id("01NEW"), "Add login".to_owned());
    let start = Begun::Delayed { reason: "the disk is full".to_owned() };
    let words = said("create_task", plain(), Outcome::Created { task, title, start }).await;
    assert!(words.contains("(the disk is full)") && words.ends_with("Do not create it again."), "{words}");
    let elsewhere = json!({"title": "Add login", "description": "Goal: people log in.", "parent": "01JZ"});
    let (_, words) = commanded("create_task", elsewhere).await;
    assert_eq!(words, format!("Created task {task} \"Add login\" below {} and started it.", id("01JZ")));
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
