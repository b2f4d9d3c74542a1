//! A user and an engine beside a program: answers, interrupts, steering, stops, restarts, and families of several kinds.

use std::time::{Duration, Instant};

use mxd::engine::command::{Command, TaskDraft, TaskStart};
use mxd::model::ask::ChoiceId;
use mxd::model::backend::{BackendEvent, SessionOrigin};
use mxd::model::event::StopReason;
use mxd::model::message::Delivery;
use mxd::model::task::Status;
use mxd::model::{AskKind, Body};
use serde_json::json;

use super::{Stage, say, send, settle, until};
use crate::cli_support::World;
use crate::engine_support::PATIENCE;

fn permission() -> serde_json::Value {
    let call = json!({"toolCallId": "t", "title": "touch hi", "kind": "execute", "rawInput": {"command": "touch hi"}});
    let options = json!([{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "no", "kind": "reject_once", "name": "No"}]);
    json!({"ask": {"toolCall": call, "options": options}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_users_answer_reaches_a_program_that_asks_for_permission() {
    for (number, chosen) in [(1, "yes"), (2, "no")] {
        let world = World::new();
        let stage = Stage::new(&world, &json!({"turns": [[permission(), {"say": "b"}]]}));
        stage.set("permissions", json!({"mode": "ask"}));
        let handle = stage.open().await;
        let root = send(&handle, "Go.").await;
        let now = until(&handle, "the Ask", |now| !now.task(root).unwrap().asks.is_empty()).await;
        let ask = now.task(root).unwrap().asks[0].clone();
        assert_eq!(ask.kind(), AskKind::Permission);
        let at =
            if number == 1 { 1 } else { ask.choices.iter().position(|it| matches!(it.id, ChoiceId::No)).unwrap() + 1 };
        let reply = ask.reply_with_number(at);
        handle.command(Command::Answer { task: root, ask: ask.id, reply, by: None }).await.unwrap();
        let seen = stage.seen(root, &settle(&handle).await);
        assert_eq!((seen.outcomes[0]["optionId"].as_str(), seen.said()), (Some(chosen), vec!["b"]));
        assert_eq!((seen.asks.len(), seen.count("turn_ended")), (0, 1));
        handle.quit().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_a_program_is_answered_in_its_own_form() {
    let world = World::new();
    let schema = json!({"type": "object", "properties": {"q": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]}}});
    let question = json!({"elicit": {"mode": "form", "message": "Which colour?", "requestedSchema": schema}});
    let stage = Stage::new(&world, &json!({"turns": [[question, {"say": "b"}]]}));
    let handle = stage.open().await;
    let root = send(&handle, "Go.").await;
    let now = until(&handle, "the question", |now| !now.task(root).unwrap().asks.is_empty()).await;
    let ask = now.task(root).unwrap().asks[0].clone();
    assert_eq!((ask.kind(), ask.choices.len()), (AskKind::Clarify, 2));
    handle
        .command(Command::Answer { task: root, ask: ask.id, reply: ask.reply_with_number(2), by: None })
        .await
        .unwrap();
    let seen = stage.seen(root, &settle(&handle).await);
    assert_eq!(seen.outcomes[0], json!({"action": "accept", "content": {"q": "b"}}));
    assert_eq!((seen.prompts.len(), seen.said()), (1, vec!["b"]), "the answer is no prompt of its own");
    handle.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_program_ends_its_turn_and_hears_the_next_message() {
    let world = World::new();
    let stage = Stage::new(&world, &json!({"turns": [[{"say": "a"}, {"await_cancel": true}], [{"say": "b"}]]}));
    let handle = stage.open().await;
    let root = send(&handle, "Go.").await;
    until_text(&stage, "turns", 1).await;
    handle.command(Command::Interrupt { task: root }).await.unwrap();
    let seen = stage.seen(root, &settle(&handle).await);
    let stops = seen.bodies(|body| match body {
        Body::TurnEnded(end) => Some(end.stop.clone()),
        _ => None,
    });
    assert_eq!(stops, [StopReason::Interrupted]);
    say(&handle, root, "And now?", Delivery::Steer).await;
    until_text(&stage, "turns", 2).await;
    let seen = stage.seen(root, &settle(&handle).await);
    assert_eq!(seen.said(), ["a", "b"]);
    handle.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_answers_the_open_permission_request() {
    let world = World::new();
    let stage = Stage::new(&world, &json!({"turns": [[permission(), {"await_cancel": true}]]}));
    stage.set("permissions", json!({"mode": "ask"}));
    let handle = stage.open().await;
    let root = send(&handle, "Go.").await;
    until(&handle, "the Ask", |now| !now.task(root).unwrap().asks.is_empty()).await;
    handle.command(Command::Interrupt { task: root }).await.unwrap();
    until_text(&stage, "outcomes", 1).await;
    let seen = stage.seen(root, &settle(&handle).await);
    assert_eq!((seen.outcomes[0]["outcome"].as_str(), seen.asks.len()), (Some("cancelled"), 0));
    handle.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_leads_to_a_new_session_with_a_digest() {
    let world = World::new();
    let stage = Stage::new(&world, &json!({"turns": [[{"say": "first"}], [{"say": "second"}], [{"say": "third"}]]}));
    let handle = stage.open().await;
    let root = send(&handle, "one").await;
    settle(&handle).await;
    say(&handle, root, "two", Delivery::Steer).await;
    until_text(&stage, "turns", 2).await;
    let seen = stage.seen(root, &settle(&handle).await);
    let origins = seen.bodies(|body| match body {
        Body::Backend(BackendEvent::Session { session }) => Some(session.origin.clone()),
        _ => None,
    });
    assert_eq!(
        origins,
        [SessionOrigin::New, SessionOrigin::Continued],
        "the second run continues the session of the first"
    );
    handle.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_no_process_even_if_it_hides() {
    let world = World::new();
    // Its own session, no environment, and its parent gone: neither group, parent nor marker lead to it.
    let hide = "setsid sh -c 'exec env -i sleep 4242' >/dev/null 2>&1 & echo started";
    let stage =
        Stage::new(&world, &json!({"turns": [[{"sh": hide}, {"say": "a"}, {"await_cancel": true}, {"never": true}]]}));
    let handle = stage.open().await;
    let root = send(&handle, "Go.").await;
    until_text(&stage, "shell", 1).await;
    let pids: Vec<u32> = stage.file("pids").lines().map(|pid| pid.parse().unwrap()).collect();
    let hidden = || processes().into_iter().filter(|(_, command)| command == "sleep 4242").count();
    let deadline = Instant::now() + PATIENCE;
    while hidden() == 0 {
        assert!(Instant::now() < deadline, "the hidden process never started");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.command(Command::Stop { scope: mxd::engine::command::StopScope::Task(root) }).await.unwrap();
    settle(&handle).await;
    let alive = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert_eq!((hidden(), pids.iter().filter(|pid| alive(pid)).count()), (0, 0));
    handle.quit().await;
}

fn processes() -> Vec<(u32, String)> {
    let numbers = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
    let command = |pid: u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ")
    };
    numbers.map(|pid: u32| (pid, command(pid))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sub_task_on_a_program_is_done_in_its_worktree_and_told_to_the_task_above() {
    let world = World::new();
    let commit =
        "echo hi > made.txt && git add made.txt && git -c user.name=a -c user.email=a@example.org commit -qm made";
    let turns =
        json!([[{"sh": commit}, {"tool": {"name": "done", "arguments": {"status": "passed", "result": "made it"}}}]]);
    let stage = Stage::new(&world, &json!({"turns": turns}));
    let handle = stage.open().await;
    let (snapshot, _) = handle.subscribe().await.unwrap();
    let draft = TaskDraft { title: "make".to_owned(), ..TaskDraft::default() };
    let create = Command::Create { parent: snapshot.root, before: None, draft, start: TaskStart::Now };
    let Ok(mxd::engine::command::Outcome::Created { task, .. }) = handle.command(create).await else {
        panic!("not created")
    };
    let now = until(&handle, "its end", |now| now.task(task).is_some_and(|it| it.node.status == Status::Passed)).await;
    let worktree = now.task(task).unwrap().node.worktree.clone().unwrap();
    assert!(worktree.join("made.txt").exists());
    let log = world.git(&worktree, ["status", "--porcelain"]);
    assert_eq!(log.trim(), "", "no file of ours is in the worktree");
    handle.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_gets_no_key_and_does_not_know_that_it_is_nested() {
    let world = World::new();
    let stage = Stage::new(&world, &json!({"turns": [[{"say": "a"}]]}));
    let mut command = world.mxd_command(&stage.project.path);
    for (name, value) in [
        ("ANTHROPIC_API_KEY", "sk-ant-api03-0123456789"),
        ("OPENAI_API_KEY", "sk-0123456789"),
        ("CLAUDECODE", "1"),
        ("npm_config_x", "1"),
        ("GH_TOKEN", "t"),
    ] {
        command.env(name, value);
    }
    let output = command.args(["run", "Go."]).output().unwrap();
    let environment: serde_json::Value =
        serde_json::from_str(stage.file("environment.jsonl").lines().next().unwrap_or_else(|| panic!("{output:?}")))
            .unwrap();
    for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CLAUDECODE", "npm_config_x", "GH_TOKEN"] {
        assert_eq!(environment.get(name), None, "{name}");
    }
    assert!(environment.get("MXD_TASK").is_some() && environment.get("PATH").is_some());
}

async fn until_text(stage: &Stage<'_>, name: &str, lines: usize) {
    let deadline = Instant::now() + PATIENCE;
    while stage.file(name).lines().count() < lines {
        assert!(Instant::now() < deadline, "{name} never had {lines} lines: {}", stage.file(name));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
