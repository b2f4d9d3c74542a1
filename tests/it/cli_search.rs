//! `mxd search`, on sessions that the real store wrote.

use std::process::{Command, Stdio};
use std::sync::Arc;

use mxd::model::event::{AssistantText, Body};
use mxd::store::EngineLock;
use mxd::store::disk::RealDisk;

use crate::cli_support::{Project, World, json_lines, now};

fn say(project: &Project<'_>, task: mxd::base::TaskId, words: &str) -> mxd::base::EventId {
    project.append(task, vec![AssistantText { text: words.to_owned() }.into()])[0].id
}

#[test]
fn words_are_found_wherever_they_were_said_and_lead_to_the_event() {
    let world = World::new();
    let project = world.project("calc");
    let (root, task) = (project.task("Build a calculator"), project.task("Add division"));
    project.plant(&root, std::slice::from_ref(&task));
    let event = say(&project, task.id, "Dividing by zero gives an error now.");
    let asked = project.append(root.id, vec![Body::Message(project.message("Was ist mit Überlauf? 溢出怎么办"))])[0].id;

    let out = project.mxd(["search", "zero", "divid"]).ok();
    assert!(
        out.contains("Add division") && out.contains(&event.to_string()) && out.contains("Dividing by zero"),
        "{out}"
    );
    let found = json_lines(&project.mxd(["search", "--json", "uberlauf"]).ok());
    assert_eq!((&found[0]["event"], &found[0]["place"]), (&asked.to_string().into(), &"message".into()));
    assert_eq!(json_lines(&project.mxd(["search", "--json", "溢出"]).ok()).len(), 1);
    let title = json_lines(&project.mxd(["search", "--json", "calculator"]).ok());
    assert_eq!((&title[0]["place"], &title[0]["task"]), (&"title".into(), &root.id.to_string().into()));

    let narrowed = |args: &[&str]| json_lines(&project.mxd([&["search", "--json"], args].concat()).ok()).len();
    let id = task.id.to_string();
    assert_eq!(narrowed(&["zero", "--task", &id[..14]]), 1);
    assert_eq!(narrowed(&["溢出", "--task", &id]), 0);
    assert_eq!(narrowed(&["zero", "--since", "1h"]), 1);
    assert_eq!(narrowed(&["zero", "--until", "1h"]), 0);
    assert_eq!(narrowed(&["\" OR text:*", "NOT", "zero"]), 0);
    let none = project.mxd(["search", "nowhere"]);
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (0, "", "no results\n"));
    project.mxd(["search", "x", "--since", "whenever"]).refused(3, "\"whenever\" is not a time");
}

#[test]
fn it_works_while_another_process_has_the_project_and_with_a_broken_index() {
    let world = World::new();
    let project = world.project("calc");
    let root = project.task("Build a calculator");
    project.plant(&root, &[]);
    say(&project, root.id, "apples");
    let _lock = EngineLock::acquire(&project.folder.lock(), now()).unwrap();
    let search = || json_lines(&project.mxd(["search", "--json", "apples"]).ok()).len();
    assert_eq!(search(), 1);
    std::fs::write(project.folder.search(), b"something else entirely").unwrap();
    assert_eq!(search(), 1);
    project.mxd(["check"]).ok();
}

#[test]
fn however_often_it_is_killed_everything_is_found_once() {
    let world = World::new();
    let project = world.project("calc");
    let root = project.task("Build a calculator");
    project.plant(&root, &[]);
    let store = project.store();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let words = "lorem ipsum dolor sit amet ".repeat(600);
    for number in 0..60 {
        let bodies =
            (0..10).map(|part| AssistantText { text: format!("needle {number} {part} {words}") }.into()).collect();
        runtime.block_on(store.append_batch(root.id, None, bodies)).unwrap();
    }
    drop(store);
    for pause in 0..12_u64 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mxd"));
        child.args(["search", "needle"]).current_dir(&project.path).env_clear();
        child.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        child.env("HOME", world.home_folder()).env("MXD_HOME", world.data());
        let mut child = child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(15 + pause * 20));
        let _ = child.kill();
        child.wait().unwrap();
    }
    let found = json_lines(&project.mxd(["search", "--json", "-n", "5000", "needle"]).ok());
    assert_eq!(found.len(), 600);
    let disk: Arc<dyn mxd::store::Disk> = Arc::new(RealDisk);
    let sessions = mxd::store::Sessions::new(disk, project.folder.sessions());
    let event = sessions.last_page(root.id, 1).unwrap().events[0].id.to_string();
    assert!(found.iter().any(|hit| hit["event"] == event.as_str()));
}
