//! How `mxd run` begins and ends: what it refuses, what it waits for, signals, exit codes. By the real binary with a
//! scripted model.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::cli_support::World;
use crate::engine_support::{Running, agent, bash, call, marked, play, root, say, task_ids};

#[test]
fn ctrl_c_once_stops_everything_and_the_next_run_goes_on() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 300"), say("Then something else.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    running.signal(Signal::INT);
    let ran = running.end();
    assert_eq!(ran.code, 130, "{ran:?}");
    assert_eq!(marked(&[project.id("orchestrator")]), []);
    assert!(project.run(["Go on."]).ok().contains("Then something else."));
}

#[test]
fn ctrl_c_twice_stops_everything_at_once_and_the_next_run_goes_on() {
    let world = World::new();
    let stubborn = bash("trap '' INT TERM; (trap '' INT TERM; while true; do sleep 0.1; done) & wait; sleep 300");
    play(&world, json!([root(json!([stubborn, say("I was stopped.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    let tasks = task_ids(&running.seen);
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let begun = Instant::now();
    let ran = running.end();
    assert!(begun.elapsed().as_secs() < 10, "it took {:?}", begun.elapsed());
    assert_eq!(ran.code, 130, "{ran:?}");
    assert_eq!(marked(&tasks), [], "what does not want to end does not outlive it");
    assert!(project.run(["Go on."]).ok().contains("I was stopped."));
    assert_eq!(marked(&tasks), []);
}

#[test]
fn ctrl_backslash_ends_the_work_with_everything_it_started() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 300"), say("Back again.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    let tasks = task_ids(&running.seen);
    running.signal(Signal::QUIT);
    assert_eq!(running.end().code, 131);
    assert_eq!(marked(&tasks), []);
    assert!(project.run(["Go on."]).ok().contains("Back again."));
}

#[test]
fn a_run_says_for_which_process_it_waits_and_ctrl_c_ends_it() {
    let world = World::new();
    let server = call("bash", json!({ "command": "sleep 300", "background": true }));
    play(&world, json!([root(json!([server, call("yield", json!({}))]))]));
    let project = world.project("app");
    let mut running = project.start(&["Serve."]);
    running.until("it waits for its process", |line| {
        line["task"]["waits"] == json!({ "for": "process", "command": "sleep 300", "yielded": true })
    });
    running.signal(Signal::INT);
    let ran = running.end();
    assert_eq!(ran.code, 130, "{ran:?}");
    assert_eq!(marked(&[project.id("orchestrator")]), []);
}

#[test]
fn a_run_does_not_wait_for_ever_for_a_process_that_an_agent_left_running() {
    let world = World::new();
    let server = call("bash", json!({ "command": "sleep 300", "background": true }));
    play(&world, json!([root(json!([server, say("It runs.")]))]));
    let project = world.project("app");
    let ran = project.run(["--linger", "1", "Serve."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("left a process running") && ran.out.contains("sleep 300"), "{ran:?}");
    assert_eq!(marked(&[project.id("orchestrator")]), []);
}

#[test]
fn a_run_that_leaves_a_sub_task_with_a_process_says_that_it_is_not_finished() {
    let world = World::new();
    let server = call("bash", json!({ "command": "sleep 300", "background": true }));
    let wait = call("yield", json!({}));
    let make = call("create_task", json!({ "title": "Server", "description": "Serve." }));
    play(&world, json!([root(json!([make, wait])), agent("Server", json!([server, say("It runs.")]))]));
    let project = world.project("app");
    let ran = project.run(["--linger", "1", "Serve."]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("Server  ended its turn and left a process running"), "{ran:?}");
}

#[test]
fn an_empty_goal_is_refused_before_anything_begins() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello.")]))]));
    let project = world.project("app");
    for goal in ["", "  ", "\n"] {
        project.run([goal]).refused(3, "the goal is empty");
    }
    assert_eq!(project.tasks().len(), 0, "nothing was begun");
}

#[test]
fn an_unknown_model_is_refused_once_and_fails_no_task() {
    let world = World::new();
    let group = json!({ "provider": "openai", "apiKey": "sk-test", "baseUrl": "http://127.0.0.1:9/v1" });
    let config = json!({ "authGroups": { "s": group }, "model": "gpt-5.2" });
    std::fs::create_dir_all(world.data()).unwrap();
    std::fs::write(world.data().join("config.json"), config.to_string()).unwrap();
    let project = world.project("app");
    let err = project.run(["--model", "no-such-model", "Do it."]).refused(3, "no-such-model");
    assert_eq!(err.matches("unknown model").count(), 1, "{err}");
    assert_eq!((project.asks().len(), project.tasks().len()), (0, 0), "no task failed for it");
}

#[test]
fn a_terminal_that_is_gone_ends_the_work_with_everything_it_started() {
    if mxd::process::outlives_terminal() {
        println!("SKIPPED: these tests were started to outlive their terminal (nohup), and so is what they start");
        return;
    }
    let world = World::new();
    play(&world, json!([root(json!([bash("trap '' HUP TERM; while true; do sleep 0.1; done"), say("Back again.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    let tasks = task_ids(&running.seen);
    running.signal(Signal::HUP);
    let ran = running.end();
    assert_eq!(ran.code, 129, "{ran:?}");
    assert_eq!(marked(&tasks), []);
    assert!(project.run(["Go on."]).ok().contains("Back again."));
}

#[test]
fn what_was_started_to_outlive_its_terminal_does() {
    let world = World::new();
    play(&world, json!([root(json!([bash("until [ -e ../go ]; do sleep 0.02; done"), say("Done.")]))]));
    let project = world.project("app");
    let mut command = world.command("bash", &project.path);
    command.args(["-c", "trap '' HUP; exec \"$0\" run --json 'Wait.'", env!("CARGO_BIN_EXE_mxd")]);
    let mut running = Running::start(command);
    running.until_it_works();
    running.signal(Signal::HUP);
    std::fs::write(world.root().join("go"), "").unwrap();
    let ran = running.end();
    assert_eq!((ran.code, ran.out.contains("Done.")), (0, true), "{ran:?}");
}

#[test]
fn a_goal_after_a_question_was_answered_with_stop_is_worked_on() {
    for way in ["run", "send"] {
        let world = World::new();
        let broken = json!({ "errors": [{ "class": "auth" }], "text": "never" });
        play(&world, json!([root(json!([broken]))]));
        let project = world.project("app");
        assert_eq!(project.run(["First."]).code, 2);
        let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
        project.mxd(["answer", &ask, "Stop"]).ok();
        play(&world, json!([root(json!([say("Something else it is.")]))]));
        let ran = if way == "run" {
            project.run(["Something else."])
        } else {
            project.mxd(["send", &project.id("orchestrator"), "Something else."]).ok();
            project.run([])
        };
        assert!(ran.out.contains("Something else it is."), "{way}: {ran:?}");
        assert_eq!(ran.code, 0, "{way}: {ran:?}");
    }
}

#[test]
fn a_run_names_the_messages_that_a_stopped_task_has_not_read() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello.")]))]));
    let project = world.project("app");
    project.run(["Begin."]).ok();
    let id = project.id("orchestrator");
    project.mxd(["send", &id, "Wait, no."]).ok();
    project.mxd(["stop", &id]).ok();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("1 unread message") && ran.out.contains(&id[..14]), "{ran:?}");
    assert!(!ran.out.contains("nothing to do"), "{ran:?}");
}
