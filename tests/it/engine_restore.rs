//! Work that was put away comes back, by the real binary: deleted tasks, closed ones, and what was not committed.

use std::fs;

use serde_json::{Value, json};

use crate::cli_support::World;
use crate::engine_support::{agent, bash, call, done, play, root};

const WORK: &str = "echo one > kept.txt && git add . && git commit -qm 'First round'";

/// An agent that commits something.
fn painter() -> Value {
    agent("Painter", json!([bash(WORK), done("passed", "half of it is done")]))
}

#[test]
fn a_deleted_task_comes_back_with_its_commits_its_loose_files_and_its_conversation() {
    let world = World::new();
    play(&world, json!([root(json!([])), painter()]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]);
    let place = project.worktree("Painter");
    fs::write(place.join("loose.txt"), "loose\n").unwrap();
    project.mxd(["task", "delete", &painter]).ok();
    assert!(!place.exists());
    assert_eq!(project.tasks().len(), 1);
    assert!(project.mxd(["restore"]).ok().contains("Painter"), "what was deleted is listed");
    let said = project.mxd(["restore", &painter[..12]]).ok();
    assert!(said.contains("restored \"Painter\" under \"orchestrator\"") && said.contains("1 file"), "{said}");
    assert_eq!(project.worktree("Painter"), place);
    assert_eq!(fs::read_to_string(place.join("kept.txt")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(place.join("loose.txt")).unwrap(), "loose\n");
    assert_eq!(project.status("Painter"), "passed");
    assert!(project.log("Painter").contains("half of it is done"));
    assert_eq!(project.mxd(["restore"]).ok(), "no deleted tasks\n");
    project.mxd(["restore", "01NEVERWAS"]).refused(3, "01NEVERWAS");
}

#[test]
fn what_was_deleted_with_a_task_comes_back_with_it_and_goes_below_the_root_if_need_be() {
    let world = World::new();
    let project = world.project("app");
    let above = project.mxd(["task", "new", "Above", "--later"]).ok().trim().to_owned();
    let middle = project.mxd(["task", "new", "Middle", "--later", "--under", &above]).ok().trim().to_owned();
    project.mxd(["task", "new", "Below", "--later", "--under", &middle]).ok();
    project.mxd(["task", "delete", &middle]).ok();
    project.mxd(["task", "delete", &above]).ok();
    let said = project.mxd(["restore", &middle]).ok();
    assert!(said.contains("with 1 sub task"), "{said}");
    let (middle, root) = (project.node("Middle"), project.node("orchestrator"));
    assert_eq!(middle["parent"], root["id"]);
    assert_eq!(project.node("Below")["parent"], middle["id"]);
}

#[test]
fn a_closed_task_that_is_spoken_to_finds_what_it_had_not_committed() {
    let world = World::new();
    let turns = json!([
        bash(WORK),
        done("passed", "half of it is done"),
        bash("cat kept.txt loose.txt && rm loose.txt"),
        { "when": { "result": "loose" }, "calls": [{ "tool": "done", "input": { "status": "passed", "result": "seen" } }] },
    ]);
    play(&world, json!([root(json!([])), agent("Painter", turns)]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]);
    fs::write(project.worktree("Painter").join("loose.txt"), "loose\n").unwrap();
    project.mxd(["task", "close", &painter]).ok();
    assert_eq!(project.status("Painter"), "closed");
    project.mxd(["send", &painter, "Look again."]).ok();
    project.run([]);
    assert_eq!(project.node("Painter")["results"][1]["result"], "seen", "{}", project.log("Painter"));
    assert!(project.log("Painter").contains("1 file"), "it is told");
}

#[test]
fn sub_tasks_made_in_one_turn_stand_in_the_order_in_which_they_were_made() {
    let world = World::new();
    let titles: Vec<String> = (0..8).map(|number| format!("Part {number}")).collect();
    let calls: Vec<Value> = titles
        .iter()
        .map(|title| json!({ "tool": "create_task", "input": { "title": title, "description": "Goal: none.", "start": "later" } }))
        .collect();
    play(&world, json!([root(json!([{ "calls": calls }, call("yield", json!({}))]))]));
    let project = world.project("app");
    project.run(["Plan."]).ok();
    let made: Vec<String> =
        project.tasks().iter().skip(1).map(|task| task["title"].as_str().unwrap().to_owned()).collect();
    assert_eq!(made, titles);
}
