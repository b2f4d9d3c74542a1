//! A start with many sleeping agents: nothing is asked, nothing is started, nothing is written.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use mxd::base::{MessageId, TurnId};
use mxd::git::branch;
use mxd::model::event::{AssistantText, Body, MessagesConsumed, StopReason, TurnEnded};
use mxd::model::message::{Message, MessageSource};
use mxd::model::{Status, TaskNode};
use serde_json::json;

use crate::cli_support::{Project, World, json_lines, now};
use crate::engine_support::{Running, agent, call, play, root as engine_root, say};
use crate::support::mock::{Mock, Script, answer};

const SLEEPING: usize = 200;
/// How many of them have a worktree with something uncommitted in it.
const WITH_WORKTREES: usize = 12;

/// A conversation that has come to rest: spoken to, answered, asleep.
fn at_rest(project: &Project<'_>) -> Vec<Body> {
    let id = MessageId::fresh(&project.world.ids);
    let message = Message::new(id, now(), MessageSource::User, "Begin.");
    vec![
        message.into(),
        MessagesConsumed { ids: vec![id] }.into(),
        AssistantText { text: "I wait.".to_owned() }.into(),
        TurnEnded { turn: TurnId::fresh(&project.world.ids), stop: StopReason::EndTurn }.into(),
    ]
}

fn plant(project: &Project<'_>) {
    let root = TaskNode { status: Status::Passed, ..project.task("orchestrator") };
    let mut tasks = Vec::new();
    for number in 0..SLEEPING {
        let mut node = TaskNode { status: Status::InProgress, ..project.task(&format!("Sleeper {number}")) };
        if number < WITH_WORKTREES {
            let (name, place) =
                (branch::name(node.id, &node.title), project.folder.worktrees().join(format!("w{number}")));
            let args = ["worktree", "add", "-q", "-b", &name, &place.to_string_lossy()].map(str::to_owned);
            project.world.git(&project.path, args);
            fs::write(place.join("loose.txt"), "one\ntwo\n").unwrap();
            (node.branch, node.worktree) = (Some(name), Some(fs::canonicalize(place).unwrap()));
        }
        tasks.push(node);
    }
    project.plant(&root, &tasks);
    let store = project.store();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rest = tasks.iter().map(|task| store.submit(task.id, None, at_rest(project)));
    runtime.block_on(futures::future::try_join_all(rest)).unwrap();
}

/// Puts programs in front of the real ones that leave a note of every start.
fn notes_of_starts(world: &World) -> (String, PathBuf) {
    let (folder, notes) = (world.folder("noted"), world.root().join("starts"));
    let path = std::env::var("PATH").unwrap();
    for program in ["git", "bash", "sh"] {
        let real = path.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.exists()).unwrap();
        let note = format!("#!/bin/sh\necho {program} \"$@\" >> {}\nexec {} \"$@\"\n", notes.display(), real.display());
        fs::write(folder.join(program), note).unwrap();
        fs::set_permissions(folder.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    (format!("{}:{path}", folder.display()), notes)
}

fn sizes(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| (entry.path(), entry.metadata().unwrap().len())).collect()
}

#[test]
fn two_hundred_sleeping_tasks_start_without_a_request_a_process_or_a_byte() {
    let world = World::new();
    let mock = Mock::start(Script::new().fail_when_exhausted().turn(answer().hold("measured").text("I look at them.")));
    let project = world.project("app");
    plant(&project);
    let (path, notes) = notes_of_starts(&world);
    let before = sizes(&project.folder.sessions());
    let command = |args: &[&str]| {
        let mut command = world.mxd_command(&project.path);
        command.args(["run", "--json"]).args(args).env("PATH", &path);
        command.env("ANTHROPIC_API_KEY", "sk-test").env("ANTHROPIC_BASE_URL", mock.url());
        command
    };
    let begun = Instant::now();
    let ran = Running::start(command(&[])).end();
    println!("{SLEEPING} sleeping tasks: started and ended in {:?}", begun.elapsed());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    // Where the tests run as root, a notice says that the key is within reach.
    let told = ran.out.lines().filter(|line| !line.contains("\"update\":\"notice\""));
    assert_eq!(told.count(), 1, "it says how it stands and nothing else: {}", ran.out);
    assert_eq!(mock.count(), 0);
    assert_eq!(sizes(&project.folder.sessions()), before);
    assert_eq!(fs::read_to_string(&notes).unwrap_or_default(), "");

    // While the root is kept waiting by its model, every worktree is looked at, and still nothing is started for it.
    let mut running = Running::start(command(&["How", "are", "they?"]));
    for _ in 0..WITH_WORKTREES {
        let told = running.until("a worktree is measured", |line| line["task"]["diff"]["dirty"] == true);
        assert_eq!(told["task"]["diff"]["added"], 2, "{told:#}");
    }
    // What is started is git, to keep the files of the root, which is at work.
    let started = fs::read_to_string(&notes).unwrap_or_default();
    let verbs = ["ls-files", "update-index", "write-tree", "check-ignore"];
    let of_snapshot = |line: &str| verbs.iter().any(|verb| line.contains(verb));
    // Which folders that hold no tracked files are ignored is asked once for each level of them.
    assert!(started.lines().count() <= 7 && started.lines().all(of_snapshot), "{started}");
    mock.open("measured");
    assert_eq!(running.end().code, 2, "the sleepers still wait to be spoken to");
    assert_eq!(mock.count(), 1);
    let after = sizes(&project.folder.sessions());
    let touched: Vec<_> = after.iter().filter(|(path, size)| before.get(*path) != Some(size)).collect();
    assert_eq!(touched.len(), 1, "only the root was spoken to: {touched:?}");
}

#[test]
fn who_waits_for_whose_reply_is_known_after_a_restart() {
    let world = World::new();
    play(&world, json!([]));
    let project = world.project("app");
    let asker = project.new_task("Asker");
    let root = project.tasks().iter().find(|task| task["parent"].is_null()).unwrap()["id"].as_str().unwrap().to_owned();
    let question = json!({ "task": &root, "message": "Which one?", "request_reply": true });
    play(
        &world,
        json!([
            engine_root(json!([say("Let me think.")])),
            agent("Asker", json!([call("send_message", question), say("I wait.")])),
        ]),
    );
    let ran = project.run([]);
    assert_eq!(project.status("Asker"), "in_progress", "{ran:?}");
    // Once with what the last start kept, once with the sessions alone.
    for digests in [true, false] {
        if !digests {
            fs::remove_file(project.folder.root().join("digests.json")).unwrap();
        }
        let lines = json_lines(&project.run(["--json"]).out);
        let tasks = lines[0]["snapshot"]["tasks"].as_array().unwrap();
        let waits = &tasks.iter().find(|task| task["node"]["id"] == asker.as_str()).unwrap()["waits"];
        assert_eq!((&waits["for"], &waits["chain"]), (&json!("stalled"), &json!([asker, root])), "{waits}");
        assert!(waits["reason"].as_str().unwrap().contains("reply"), "{waits}");
        assert!(
            !project.mxd(["log", &root]).ok().contains("without calling done"),
            "and the one above is not told otherwise"
        );
    }
}
