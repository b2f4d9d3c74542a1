//! What tasks may cost and how many there may be, by the real binary.

use std::fs;

use serde_json::{Value, json};

use crate::cli_support::World;
use crate::engine_support::{agent, bash, call, play, root, say};

/// Adds settings to the user's own.
fn set(world: &World, settings: &Value) {
    let path = world.data().join("config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for (key, value) in settings.as_object().unwrap() {
        config[key] = value.clone();
    }
    fs::write(&path, config.to_string()).unwrap();
}

/// A model whose every token costs a dollar.
fn dear(world: &World) {
    set(
        world,
        &json!({ "model": "dear", "models": { "dear": { "window": 200_000, "prices": { "input": 1_000_000, "output": 1_000_000 } } } }),
    );
}

#[test]
fn the_budget_of_the_settings_stops_the_root_also_in_a_project_that_had_none_before() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello."), bash("true"), say("Too dear.")]))]));
    dear(&world);
    let project = world.project("app");
    project.run(["Hello."]).ok();
    set(&world, &json!({ "budgetUsd": 1 }));
    let ran = project.run(["Go on."]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let asks = project.asks();
    assert_eq!((asks.len(), &asks[0]["kind"]), (1, &json!("budget")), "{asks:?}");
    assert!(!ran.out.contains("Too dear."), "{ran:?}");
    let id = project.id("orchestrator");
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "Stop"]).ok();
    project.mxd(["task", "edit", &id, "--budget", "0"]).ok();
    let ran = project.run(["Go on, you may."]);
    assert!(ran.out.contains("Too dear."), "the user's word about the task counts: {ran:?}");
}

#[test]
fn the_budget_of_the_root_covers_its_sub_tasks() {
    let world = World::new();
    let create = |title: &str| call("create_task", json!({ "title": title, "description": "Why: it is needed." }));
    play(
        &world,
        json!([
            root(json!([say("Hello.")])),
            agent("Painter", json!([create("Helper"), say("Spent.")])),
            agent("Helper", json!([say("Me too.")]))
        ]),
    );
    dear(&world);
    set(&world, &json!({ "budgetUsd": 1 }));
    let project = world.project("app");
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(!ran.out.contains("Spent.") && !ran.out.contains("Me too."), "{ran:?}");
    assert!(project.asks().iter().all(|ask| ask["kind"] == "budget"));
}

#[test]
fn a_root_whose_model_has_no_price_is_asked_about_under_a_budget() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello.")]))]));
    set(
        &world,
        &json!({ "budgetUsd": 1, "model": "odd", "models": { "odd": { "window": 200_000, "maxOutput": 1_000 } } }),
    );
    let project = world.project("app");
    let ran = project.run(["Hello."]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let asks = project.asks();
    assert_eq!(
        (asks.len(), &asks[0]["kind"], &asks[0]["cause"], &asks[0]["choices"][0]["id"]),
        (1, &json!("budget"), &json!("unpriced"), &json!("continue-unpriced"))
    );
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "1"]).ok();
    assert!(project.run([]).out.contains("Hello."));
}

#[test]
fn an_agent_that_creates_tasks_without_end_is_stopped_by_a_question() {
    let world = World::new();
    let input = json!({ "title": "More", "description": "Why: more.", "start": "later" });
    let burst = json!({ "calls": vec![json!({ "tool": "create_task", "input": input }); 5] });
    play(
        &world,
        json!([root(json!([
            burst,
            say("I wait."),
            { "when": { "last": "The user refuses more tasks" }, "text": "I stop." },
        ]))]),
    );
    set(&world, &json!({ "maxTasksPerTurn": 3 }));
    let project = world.project("app");
    let ran = project.run(["Go."]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(project.tasks().len(), 4, "the root and three");
    let asks = project.asks();
    assert_eq!((asks.len(), &asks[0]["kind"]), (1, &json!("task_limit")), "{asks:?}");
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "Refuse"]).ok();
    let ran = project.run([]);
    assert!(ran.out.contains("I stop."), "{ran:?}");
    assert_eq!(project.tasks().len(), 4);
}
