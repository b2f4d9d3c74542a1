//! Branches that would conflict are marked while their agents are still at work on them.

use std::fs;

use serde_json::{Value, json};

use crate::cli_support::World;
use crate::engine_support::{Running, agent, bash, done, play, root};

#[test]
fn who_would_conflict_is_known_before_anything_is_committed() {
    let world = World::new();
    let go = world.root().join("go");
    let turns = |own: &str| {
        json!([
            bash(&format!("echo {own} > a.txt; echo {own} > {own}.txt")),
            bash(&format!("until test -e {}; do sleep 0.05; done; git add -A; git commit -q -m {own}", go.display())),
            done("passed", own),
        ])
    };
    play(&world, json!([root(json!([])), agent("One", turns("one")), agent("Other", turns("other"))]));
    let project = world.project("app");
    let ids = ["One", "Other"].map(|title| project.new_task(title));
    let mut command = world.mxd_command(&project.path);
    command.args(["run", "--json"]);
    let mut running = Running::start(command);
    for (own, other) in [(0, 1), (1, 0)] {
        let is_marked = |line: &Value| {
            let clashes = line["task"]["clashes"].as_array();
            line["task"]["node"]["id"] == *ids[own] && clashes.is_some_and(|clashes| !clashes.is_empty())
        };
        let seen = running.seen.iter().find(|line| is_marked(line)).cloned();
        let told = seen.unwrap_or_else(|| running.until("a branch is marked", is_marked));
        assert_eq!(told["task"]["clashes"], json!([{ "with": ids[other], "files": ["a.txt"] }]), "{told:#}");
    }
    fs::write(&go, "").unwrap();
    assert_eq!(running.end().code, 0);
}
