//! Numbers of tasks, and the names that commands take: a number, the start of an id, a part of the title.

use std::fs;

use serde_json::Value;

use crate::cli_support::{Project, World};
use crate::engine_support::{call, play, root, say};

fn numbers(project: &Project<'_>) -> Vec<(String, u64)> {
    let row = |task: &Value| (task["title"].as_str().unwrap().to_owned(), task["number"].as_u64().unwrap());
    project.tasks().iter().map(row).collect()
}

fn named(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(title, number)| ((*title).to_owned(), *number)).collect()
}

fn tree_file(project: &Project<'_>) -> Value {
    serde_json::from_slice(&fs::read(project.folder.tree()).unwrap()).unwrap()
}

fn add(project: &Project<'_>, title: &str) {
    project.mxd(["task", "new", "--later", title]).ok();
}

#[test]
fn a_task_is_named_by_number_title_or_id_in_every_command() {
    let world = World::new();
    let project = world.project("app");
    add(&project, "Token store");
    add(&project, "Token tests");
    let id = project.id("Token store");
    let log = project.mxd(["log", &id]).ok();
    for name in ["2", "#2", "token store", "Token St", &id[..14]] {
        assert_eq!(project.mxd(["log", name]).ok(), log, "{name}");
    }
    let err = project.mxd(["log", "token"]).refused(3, "\"token\" could be any of #2 Token store, #3 Token tests");
    assert!(err.contains("mxd tree"), "{err}");
    project.mxd(["diff", "9"]).refused(3, "there is no task #9; numbers go up to #3");
    project.mxd(["send", "tokn", "x"]).refused(3, "did you mean #2 Token store");
    project.mxd(["task", "edit", "3", "--title", "Renamed"]).ok();
    project.mxd(["task", "move", "renamed", "--under", "#2"]).ok();
    assert_eq!(numbers(&project), named(&[("orchestrator", 1), ("Token store", 2), ("Renamed", 3)]));
    let tree = project.mxd(["tree"]).ok();
    assert!(tree.lines().nth(1).unwrap().contains("  #2  "), "{tree}");
}

#[test]
fn a_number_is_never_given_again_and_comes_back_with_a_restored_task() {
    let world = World::new();
    let project = world.project("app");
    for title in ["One", "Two"] {
        add(&project, title);
    }
    let two = project.id("Two");
    project.mxd(["task", "delete", "3"]).ok();
    add(&project, "Three");
    assert_eq!(numbers(&project), named(&[("orchestrator", 1), ("One", 2), ("Three", 4)]));
    project.mxd(["restore", &two]).ok();
    assert_eq!(numbers(&project), named(&[("orchestrator", 1), ("One", 2), ("Three", 4), ("Two", 3)]));
}

fn remove_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("number");
            fields.remove("last_number");
            fields.values_mut().for_each(remove_numbers);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_numbers),
        _ => {}
    }
}

/// Takes the numbers out of a project, as an earlier version left it.
fn make_old(project: &Project<'_>) {
    let strip = |text: &str| {
        let mut value: Value = serde_json::from_str(text).unwrap();
        remove_numbers(&mut value);
        value.to_string()
    };
    let tree = fs::read_to_string(project.folder.tree()).unwrap();
    fs::write(project.folder.tree(), strip(&tree)).unwrap();
    for session in fs::read_dir(project.folder.sessions()).unwrap() {
        let path = session.unwrap().path();
        let lines: String = fs::read_to_string(&path).unwrap().lines().map(|line| strip(line) + "\n").collect();
        fs::write(path, lines).unwrap();
    }
}

#[test]
fn a_tree_of_an_earlier_version_gets_numbers_in_order_of_creation() {
    let world = World::new();
    let project = world.project("app");
    for title in ["One", "Two", "Three"] {
        add(&project, title);
    }
    project.mxd(["task", "move", "Three", "--under", "root", "--before", "One"]).ok();
    make_old(&project);
    let wanted = named(&[("orchestrator", 1), ("Three", 4), ("One", 2), ("Two", 3)]);
    assert_eq!(numbers(&project), wanted, "a reader shows the numbers that the next start will store");
    assert_eq!(tree_file(&project)["nodes"][0]["number"], Value::Null, "and stores nothing");
    project.mxd(["task", "edit", "2", "--title", "First"]).ok();
    let wanted = named(&[("orchestrator", 1), ("Three", 4), ("First", 2), ("Two", 3)]);
    assert_eq!(numbers(&project), wanted);
    let file = tree_file(&project);
    assert_eq!((&file["nodes"][0]["number"], &file["last_number"]), (&1.into(), &4.into()));
    assert_eq!(file["unsettled"], Value::Null, "every session has its number");

    // Lost, the tree is rebuilt with the same numbers, and a deleted task keeps its own.
    project.mxd(["task", "delete", "4"]).ok();
    fs::remove_file(project.folder.tree()).unwrap();
    project.mxd(["check", "--repair"]);
    assert_eq!(numbers(&project), named(&[("orchestrator", 1), ("First", 2), ("Two", 3)]));
    add(&project, "Five");
    assert_eq!(numbers(&project).last().unwrap(), &("Five".to_owned(), 5), "4 was given to the deleted task");
}

#[test]
fn an_agent_names_tasks_by_number_and_its_calls_are_sentences() {
    let world = World::new();
    let look = call("get_task", serde_json::json!({ "task": "#2" }));
    let list = call("get_tree", serde_json::json!({}));
    play(&world, serde_json::json!([root(serde_json::json!([look, list, say("Seen.")]))]));
    let project = world.project("app");
    add(&project, "Token store");
    let out = project.run(["Look at it."]).out;
    assert!(out.contains("orchestrator  looks at task #2\n"), "{out}");
    assert!(out.contains("orchestrator  looks at the task tree\n") && !out.contains("{\""), "{out}");
    let log = project.mxd(["log", "1"]).ok();
    assert!(log.contains("title: Token store") && log.contains("number: #2"), "{log}");
    assert!(log.contains(&format!("- {} #2 [pending", project.id("Token store"))), "{log}");
}
