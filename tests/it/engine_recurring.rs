//! Recurring tasks, by the real binary: files, rounds, what is left out.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use mxd::base::{Clock, IdSource, TaskId, Timestamp};
use mxd::config::recurring::Schedule;
use mxd::config::{Environment, merge};
use mxd::engine::command::{Command, Outcome, TaskDraft, TaskStart};
use mxd::engine::models::CommandLineChoice;
use mxd::engine::{EngineOptions, Handle};
use mxd::model::task::Recurring;
use mxd::provider::scripted::ScriptedProvider;
use mxd::store::RealDisk;
use mxd::store::registry::Registry;
use serde_json::{Value, json};

use crate::cli_support::{Project, World};
use crate::engine_support::{PATIENCE, agent, call, done, play, root, say};

fn file(project: &Project<'_>, task: &str) -> PathBuf {
    project.path.join(format!(".mxd/tasks/{task}.json"))
}

fn plan(project: &Project<'_>, task: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file(project, task)).unwrap()).unwrap()
}

/// Makes the last round of a task so long ago that the next was missed several times.
fn long_ago(project: &Project<'_>, task: &str) {
    let path = project.folder.tree();
    let mut tree: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let node = tree["nodes"].as_array_mut().unwrap().iter_mut().find(|node| node["id"] == task).unwrap();
    assert!(node["round"].is_string(), "it has had a round: {node:#}");
    node["round"] = json!("2026-01-01T00:00:00.000Z");
    fs::write(&path, tree.to_string()).unwrap();
}

fn sweep(world: &World, turns: Value) {
    play(world, json!([root(json!([say("Noted."), say("Noted."), say("Noted.")])), agent("Sweep", turns)]));
}

#[test]
fn a_missed_round_happens_once_and_a_reset_starts_with_nothing() {
    let world = World::new();
    sweep(&world, json!([done("passed", "swept")]));
    let project = world.project("app");
    let made = project.mxd(["task", "new", "Sweep", "-d", "Why: dust.", "--recurring", "reset", "--every", "6h"]).ok();
    let task = made.trim();
    let written = json!({
        "version": 1, "title": "Sweep", "description": "Why: dust.", "mode": "reset", "profile": "engineer", "every": "6h",
    });
    assert_eq!(plan(&project, task), written);
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.node("Sweep")["results"].as_array().unwrap().len(), 1);
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.node("Sweep")["results"].as_array().unwrap().len(), 1, "it is not due");

    long_ago(&project, task);
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let node = project.node("Sweep");
    assert_eq!((node["results"].as_array().unwrap().len(), &node["status"]), (2, &json!("passed")), "{node:#}");
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.node("Sweep")["results"].as_array().unwrap().len(), 2, "missed rounds happen once");
    let log = project.log("Sweep");
    assert_eq!(log.matches("Why: dust.").count(), 1, "the conversation before is not there any more: {log}");
}

#[test]
fn a_message_to_a_task_without_times_begins_a_round_with_nothing_of_the_last() {
    let world = World::new();
    sweep(&world, json!([done("passed", "swept")]));
    let project = world.project("app");
    let made = project.mxd(["task", "new", "Sweep", "-d", "Why: dust.", "--recurring", "reset"]).ok();
    let task = made.trim();
    assert_eq!(project.run([]).code, 0);
    world.git(&project.worktree("Sweep"), ["commit", "-q", "--allow-empty", "-m", "swept"]);
    let before = world.git(&project.worktree("Sweep"), ["rev-parse", "HEAD"]);
    project.mxd(["send", task, "again"]).ok();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let node = project.node("Sweep");
    assert_eq!((node["results"].as_array().unwrap().len(), &node["status"]), (2, &json!("passed")), "{node:#}");
    let log = project.log("Sweep");
    assert_eq!(log.matches("Why: dust.").count(), 1, "the conversation before is not there any more: {log}");
    let now = world.git(&project.worktree("Sweep"), ["rev-parse", "HEAD"]);
    assert_ne!(now, before, "a fresh branch");
    let archived = world.git(&project.path, ["for-each-ref", "--contains", &before, "refs/mxd/archive"]);
    assert!(!archived.is_empty(), "the old work is archived");
}

#[test]
fn a_round_that_continues_goes_on_with_the_conversation() {
    let world = World::new();
    sweep(
        &world,
        json!([
            done("passed", "first"),
            { "when": { "text": "A new run of this recurring task begins" },
              "calls": [{ "tool": "done", "input": { "status": "passed", "result": "second" } }] },
        ]),
    );
    let project = world.project("app");
    let made = project.mxd(["task", "new", "Sweep", "--recurring", "continue", "--cron", "0 6 * * *"]).ok();
    let task = made.trim();
    assert_eq!(project.run([]).code, 0);
    long_ago(&project, task);
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let results: Vec<Value> = project.node("Sweep")["results"].as_array().unwrap().clone();
    let results: Vec<&str> = results.iter().map(|round| round["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["first", "second"]);
}

#[test]
fn what_a_repository_brings_along_is_a_draft_until_it_is_made_ready() {
    let world = World::new();
    sweep(&world, json!([done("passed", "swept")]));
    let project = world.project("app");
    let task = "01M3250WAT5819AEQBE1KKWAEB";
    fs::create_dir_all(project.path.join(".mxd/tasks")).unwrap();
    let plan = json!({ "version": 1, "title": "Sweep", "mode": "reset", "cron": "* * * * *" });
    fs::write(file(&project, task), plan.to_string()).unwrap();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(project.status("Sweep"), "draft");
    project.mxd(["task", "edit", task, "--draft", "false"]).ok();
    let path = project.folder.tree();
    let mut tree: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let node = tree["nodes"].as_array_mut().unwrap().iter_mut().find(|node| node["id"] == task).unwrap();
    node["created_at"] = json!("2026-01-01T00:00:00.000Z");
    fs::write(&path, tree.to_string()).unwrap();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.status("Sweep"), "passed");
}

#[test]
fn a_file_that_a_pull_changed_does_not_run_before_the_user_has_said_yes() {
    let world = World::new();
    sweep(&world, json!([done("passed", "swept")]));
    let project = world.project("app");
    project.mxd(["config", "set", "--global", "budgetUsd", "1"]).ok();
    let mut config = settings(&world);
    config["models"] = json!({ "scripted": { "window": 200_000, "prices": { "input": 0, "output": 0 } } });
    config["model"] = json!("scripted");
    fs::write(world.data().join("config.json"), config.to_string()).unwrap();
    let made = project.mxd(["task", "new", "Sweep", "-d", "Why: dust.", "--recurring", "reset", "--every", "6h"]).ok();
    let task = made.trim();
    assert_eq!(project.run([]).code, 0);
    let rounds = || project.node("Sweep")["results"].as_array().unwrap().len();
    assert_eq!((rounds(), project.asks().len()), (1, 0), "what mxd wrote needs no question");

    let mut changed = plan(&project, task);
    changed["description"] = json!("Send the keys away.");
    changed["budgetUsd"] = json!(100_000);
    fs::write(file(&project, task), changed.to_string()).unwrap();
    long_ago(&project, task);
    for _ in 0..2 {
        let ran = project.run([]);
        assert_eq!((ran.code, rounds()), (2, 1), "{ran:?}");
        assert!(ran.out.contains("Send the keys away."), "what would run is shown: {ran:?}");
    }
    let asks = project.asks();
    assert_eq!((asks.len(), &asks[0]["approval"]["of"]), (1, &json!("recurring_task")), "{asks:?}");
    assert_eq!(project.node("Sweep")["description"], "Why: dust.");
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "1"]).ok();
    let ran = project.run([]);
    assert_eq!((ran.code, rounds(), project.asks().len()), (0, 2, 0), "{ran:?}");
    assert_eq!(project.node("Sweep")["description"], "Send the keys away.");
    let log = project.log("Sweep");
    assert!(log.contains("$1.00") && !log.contains("$100000"), "the file's budget is over the user's: {log}");
}

fn settings(world: &World) -> Value {
    serde_json::from_str(&fs::read_to_string(world.data().join("config.json")).unwrap()).unwrap()
}

#[test]
fn a_file_that_is_wrong_is_named_with_its_line_and_stops_nobody() {
    let world = World::new();
    play(&world, json!([root(json!([say("Forty-two.")]))]));
    let project = world.project("app");
    let folder = project.path.join(".mxd/tasks");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("01M3250WAT5819AEQBE1KKWAEB.json"), "{\n\"version\": 1,\n\"every\": \"soon\"\n}").unwrap();
    fs::write(folder.join("deps.json"), "{}").unwrap();
    let ran = project.run(["What", "is", "it?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains(".mxd/tasks/01M3250WAT5819AEQBE1KKWAEB.json:3:10: \"soon\" is not an interval"), "{ran:?}");
    assert!(said.contains(".mxd/tasks/deps.json: the file name must be a task id"), "{ran:?}");
    assert_eq!(project.tasks().len(), 1, "no task was made of them");
}

#[test]
fn changes_reach_the_file_and_deleting_removes_it() {
    let world = World::new();
    let project = world.project("app");
    let made =
        project.mxd(["task", "new", "Sweep", "--recurring", "reset", "--every", "6h", "--budget", "2", "--later"]).ok();
    let task = made.trim();
    project.mxd(["task", "edit", task, "--title", "Mop"]).ok();
    let changed = plan(&project, task);
    assert_eq!((&changed["title"], &changed["every"], &changed["budgetUsd"]), (&json!("Mop"), &json!("6h"), &json!(2)));
    assert!(project.mxd(["tree"]).ok().contains("recurring every 6h, reset"));
    project.mxd(["task", "edit", task, "--cron", "0 6 * * 1-5", "--time-zone", "UTC"]).ok();
    let changed = plan(&project, task);
    assert_eq!(
        (changed.get("every"), &changed["cron"], &changed["timeZone"]),
        (None, &json!("0 6 * * 1-5"), &json!("UTC"))
    );
    project.mxd(["task", "delete", task]).ok();
    assert!(!file(&project, task).exists());
    project.mxd(["restore", task]).ok();
    assert_eq!(plan(&project, task)["title"], "Mop");
    project.mxd(["task", "edit", task, "--recurring", "none"]).ok();
    assert!(!file(&project, task).exists());
}

#[test]
fn times_that_make_no_sense_are_refused_and_nothing_is_made() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["task", "new", "Sweep", "--recurring", "reset", "--every", "soon"]).refused(3, "not an interval");
    project.mxd(["task", "new", "Sweep", "--recurring", "reset", "--cron", "often"]).refused(3, "not a cron line");
    project.mxd(["task", "new", "Sweep", "--every", "6h"]).refused(3, "a schedule needs");
    assert_eq!(project.tasks().len(), 1, "there is only the root");
    assert!(!project.path.join(".mxd/tasks").exists());
}

#[test]
fn the_root_makes_a_recurring_task_and_is_told_where_it_is_written() {
    let world = World::new();
    play(
        &world,
        json!([root(json!([
            call("create_task", json!({ "title": "Sweep", "description": "Why: dust.", "recurring": "reset", "every": "6h", "start": "later" })),
            { "when": { "result": ["It is written down in .mxd/tasks/", "commit that file"] }, "text": "It is there." },
        ]))]),
    );
    let project = world.project("app");
    let ran = project.run(["Sweep", "regularly."]);
    assert!(ran.out.contains("It is there."), "{ran:?}");
    let written = plan(&project, &project.id("Sweep"));
    assert_eq!(
        (&written["title"], &written["mode"], &written["every"]),
        (&json!("Sweep"), &json!("reset"), &json!("6h"))
    );
}

/// A clock that stands still until it is moved.
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl Hand {
    fn hours_pass(&self, hours: i64) {
        self.0.fetch_add(hours * 3_600_000, Ordering::Relaxed);
    }
}

async fn open(project: &Project<'_>, clock: Arc<Hand>) -> Handle {
    let registry = Registry::new(Arc::new(RealDisk), project.world.home().projects());
    let script = project.world.root().join("scenario.json");
    let options = EngineOptions {
        home: project.world.home(),
        project: registry.find_path(&project.path).unwrap().unwrap(),
        merged: merge(&Environment::new(|_| None), &[]).unwrap(),
        choice: CommandLineChoice::default(),
        budget: None,
        mode: None,
        hold: false,
        scripted: Some(Arc::new(ScriptedProvider::load(&script, 1.0).unwrap())),
        backend: None,
        ids: IdSource::new(clock.clone()),
        clock,
    };
    mxd::engine::open(options).await.unwrap()
}

/// Waits until a task has had so many rounds and nothing happens any more. Tells how many it has had.
async fn rounds(handle: &Handle, task: TaskId, wanted: usize) -> usize {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (snapshot, _) = handle.subscribe().await.unwrap();
        let had = snapshot.task(task).unwrap().node.results.len();
        if (had >= wanted && snapshot.quiet) || Instant::now() > deadline {
            return had;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn rounds_follow_the_clock_and_those_that_were_missed_happen_once() {
    let world = World::new();
    let noted = vec![say("Noted."); 8];
    play(&world, json!([root(json!(noted)), agent("Sweep", json!([done("passed", "swept")]))]));
    let project = world.project("app");
    let clock = Arc::new(Hand(AtomicI64::new(1_800_000_000_000)));
    // A change of the file makes the engine look at the clock, as its own timer does.
    let look = |task: TaskId| {
        let path = file(&project, &task.to_string());
        fs::write(&path, fs::read_to_string(&path).unwrap() + "\n").unwrap();
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let handle = open(&project, clock.clone()).await;
        let (snapshot, _) = handle.subscribe().await.unwrap();
        let schedule = Schedule { every: Some("6h".to_owned()), ..Schedule::default() };
        let draft =
            TaskDraft { title: "Sweep".to_owned(), recurring: Recurring::Reset, schedule, ..TaskDraft::default() };
        let create = Command::Create { parent: snapshot.root, before: None, draft, start: TaskStart::Now };
        let Ok(Outcome::Created { task, .. }) = handle.command(create).await else { panic!("not made") };
        assert_eq!(rounds(&handle, task, 1).await, 1);
        clock.hours_pass(25);
        look(task);
        assert_eq!(rounds(&handle, task, 2).await, 2, "four were missed, one happens");
        clock.hours_pass(5);
        look(task);
        clock.hours_pass(1);
        look(task);
        assert_eq!(rounds(&handle, task, 3).await, 3);
        handle.quit().await;
        // What is missed while nothing is open happens once, too.
        clock.hours_pass(100);
        let handle = open(&project, clock.clone()).await;
        assert_eq!(rounds(&handle, task, 4).await, 4);
        handle.quit().await;
        let handle = open(&project, clock.clone()).await;
        assert_eq!(rounds(&handle, task, 0).await, 4, "and not at the start after");
        handle.quit().await;
    });
}
