//! Permission modes of tasks and the plan gate, by the real binary.

use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{agent, bash, call, done, play, root, say};

fn project(world: &World, turns: Value) -> Project<'_> {
    play(world, json!([root(json!([say("I see.")])), agent("Job", turns)]));
    world.project("app")
}

fn results(project: &Project<'_>, title: &str) -> Vec<(String, bool)> {
    let log = json_lines(&project.mxd(["log", &project.id(title), "--json"]).ok());
    let results = log.into_iter().filter(|event| event["type"] == "tool_result").map(|event| event["body"].clone());
    results
        .map(|body| (body["content"]["text"].as_str().unwrap_or_default().to_owned(), body["is_error"] == true))
        .collect()
}

fn ask(project: &Project<'_>) -> Value {
    let asks = project.asks();
    assert_eq!(asks.len(), 1, "{asks:?}");
    asks[0].clone()
}

#[test]
fn a_task_has_a_mode_of_its_own_but_none_looser_than_above() {
    let world = World::new();
    let project = project(&world, json!([bash("touch made"), done("failed", "It was refused.")]));
    project.mxd(["task", "new", "Job", "--mode", "dontAsk"]).ok();
    assert_eq!(project.node("Job")["mode"], "refuse");
    project.run([]);
    assert!(results(&project, "Job")[0].0.contains("mode refuse: it would ask"));
    // The root is stricter than what its task wants.
    project.mxd(["task", "new", "Other", "--mode", "edits"]).ok();
    project.mxd(["task", "edit", &project.id("orchestrator"), "--mode", "refuse"]).ok();
    project.mxd(["task", "edit", "Other", "--mode", "nonsense"]).refused(3, "is not a permission mode");
    project.mxd(["task", "edit", "Other", "--mode", "project"]).ok();
    assert!(project.node("Other")["mode"].is_null());
}

#[test]
fn bypass_needs_consent_and_is_not_for_root() {
    let world = World::new();
    let project = project(&world, json!([]));
    let err = project.mxd(["task", "new", "Job", "--mode", "bypass"]);
    if rustix::process::geteuid().is_root() {
        err.refused(3, "the mode bypass is refused to root");
        return;
    }
    let err = err.refused(3, "needs your consent once in the project \"app\"");
    assert!(err.contains("`mxd permit bypass app`"), "{err}");
    project.mxd(["permit", "bypass", "another"]).refused(3, "this project is called \"app\"");
    project.mxd(["permit", "bypass", "app"]).ok();
    project.mxd(["task", "new", "Job", "--mode", "bypass"]).ok();
    project.mxd(["permit", "bypass", "app", "--revoke"]).ok();
    project.mxd(["task", "new", "Late", "--mode", "bypass"]).refused(3, "needs your consent");
}

fn planning(world: &World) -> Project<'_> {
    let turns = json!([
        bash("touch early"),
        call("submit_plan", json!({ "plan": "# First\n\n1. Touch.", "files": ["made"], "risks": [] })),
        call("submit_plan", json!({ "plan": "# Second\n\n1. Touch twice." })),
        bash("touch made && git add made && git commit -qm Made"),
        done("passed", "Made.")
    ]);
    let project = project(world, turns);
    project.mxd(["task", "new", "Job", "--plan"]).ok();
    project.run([]);
    project
}

#[test]
fn a_plan_is_sent_back_with_words_then_approved_and_the_same_session_works() {
    let world = World::new();
    let project = planning(&world);
    assert!(results(&project, "Job")[0].0.contains("in mode plan you may only read"));
    let first = ask(&project);
    assert_eq!((first["kind"].as_str(), first["question"].as_str()), (Some("plan"), Some("Plan: First")));
    project.mxd(["answer", first["id"].as_str().unwrap(), "Touch", "it", "twice."]).ok();
    project.run([]);
    let second = ask(&project);
    assert_eq!(second["question"], "Plan: Second");
    assert!(results(&project, "Job")[1].0.contains("The user says: Touch it twice."));
    project.mxd(["answer", second["id"].as_str().unwrap(), "approve"]).ok();
    assert!(project.node("Job")["mode"].is_null(), "the working mode is that of the project");
    project.run([]);
    assert_eq!(project.status("Job"), "passed");
    assert!(results(&project, "Job")[2].0.contains("Your plan is approved by the user"));
    let log = json_lines(&project.mxd(["log", &project.id("Job"), "--json"]).ok());
    let configs = log.iter().filter(|event| event["type"] == "session_config").count();
    assert_eq!(configs, 1, "the prefix is the same");
}

#[test]
fn a_plan_can_stop_its_task() {
    let world = World::new();
    let project = planning(&world);
    project.mxd(["answer", ask(&project)["id"].as_str().unwrap(), "stop"]).ok();
    project.run([]);
    assert!(project.asks().is_empty() && !project.worktree("Job").join("made").exists());
}

#[test]
fn the_task_above_reviews_the_plan_of_a_task_that_it_created() {
    let world = World::new();
    let turns = json!([
        call("create_task", json!({ "title": "Job", "description": "Touch.", "plan": true })),
        call("yield", json!({})),
        { "when": { "text": "has handed in a plan and waits" },
          "calls": [{ "tool": "review_plan", "input": { "task": "#2", "approve": true, "words": "Mind the rain." } }] },
        say("Reviewed.")
    ]);
    let job = json!([
        call("submit_plan", json!({ "plan": "# Touch it" })),
        bash("touch made && git add made && git commit -qm Made"),
        done("passed", "Made.")
    ]);
    play(&world, json!([root(turns), agent("Job", job)]));
    let project = world.project("app");
    project.run(["Begin."]);
    assert_eq!(project.status("Job"), "passed", "{}", project.log("Job"));
    assert!(results(&project, "Job")[0].0.contains("Your plan is approved by the task above"));
    assert!(project.log("Job").contains("Mind the rain."));
}

#[test]
fn one_run_can_refuse_what_would_ask() {
    let world = World::new();
    play(&world, json!([root(json!([bash("touch made"), say("All done.")]))]));
    let project = world.project("app");
    let ran = project.run(["--mode", "refuse", "Begin."]);
    assert!(ran.out.contains("All done.") && project.asks().is_empty(), "{}", ran.out);
    assert!(!project.path.join("made").exists());
}
