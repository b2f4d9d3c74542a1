//! The commands that let agents work and speak to them, by the real binary with a scripted model.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::cli_support::{Project, Ran, World, json_lines};
use crate::engine_support::{agent, bash, call, done, marked, play, root, say};

fn clarify() -> Value {
    call("clarify", json!({ "question": "Which colour?", "detail": "Both work.", "choices": ["red", "blue"] }))
}

#[test]
fn a_run_returns_0_when_it_was_answered_and_1_when_it_failed() {
    let world = World::new();
    play(&world, json!([root(json!([say("Forty-two."), done("failed", "there is no more to say")]))]));
    let project = world.project("app");
    let ran = project.run(["What", "is", "it?"]);
    assert!(ran.out.contains("Forty-two."), "{ran:?}");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let ran = project.run(["More."]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("there is no more to say"), "{ran:?}");
    assert_eq!(project.status("orchestrator"), "failed");
}

#[test]
fn a_run_returns_2_and_the_question_when_it_waits_and_the_command_it_names_answers() {
    let world = World::new();
    play(
        &world,
        json!([root(json!([
            clarify(),
            call("yield", json!({})),
            { "when": { "text": "blue" }, "text": "Blue it is." },
        ]))]),
    );
    let project = world.project("app");
    let ran = project.run(["Paint it."]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for said in ["? orchestrator: Which colour?", "Both work.", "1. red", "2. blue"] {
        assert!(ran.out.contains(said), "expected {said:?} in {ran:?}");
    }
    let asks = project.asks();
    assert_eq!(
        (asks.len(), &asks[0]["question"], &asks[0]["title"]),
        (1, &json!("Which colour?"), &json!("orchestrator"))
    );
    let line = ran.out.lines().find(|line| line.trim_start().starts_with("mxd answer ")).expect("it says how");
    project.mxd(["answer", "01NEVERWAS", "1"]).refused(3, "no open question has the id \"01NEVERWAS\"");
    let id = asks[0]["id"].as_str().unwrap();
    project.mxd(["answer", id, "3"]).refused(3, "there is no choice 3: the question has 2");
    let ran = world.paste(&project.path, &line.trim().replace("TEXT|N", "2"));
    assert!(ran.ok().contains("answered"));
    assert_eq!(project.mxd(["asks"]).ok(), "no open questions\n");
    project.mxd(["answer", id, "1"]).refused(3, "no open question has the id");
    let ran = project.run([]);
    assert!(ran.out.contains("Blue it is."), "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_run_waits_for_a_question_that_answers_itself_and_for_processes_that_will_end() {
    let world = World::new();
    let ask = json!({ "question": "Which colour?", "choices": ["red", "blue"], "default": "blue" });
    let slow = json!({ "command": "sleep 0.4; echo finished", "background": true });
    play(
        &world,
        json!([root(json!([
            call("clarify", ask),
            call("yield", json!({})),
            { "when": { "text": ["answered_by=\"timeout\"", "blue"] }, "calls": [{ "tool": "bash", "input": slow }] },
            call("yield", json!({})),
            { "when": { "text": "background_complete" }, "text": "Blue, and finished." },
        ]))]),
    );
    let project = world.project("app");
    project.mxd(["config", "set", "clarifyTimeoutMs", "300"]).ok();
    let ran = project.run(["Paint it."]);
    assert!(ran.out.contains("Blue, and finished."), "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_run_that_cannot_work_returns_3_and_leaves_nothing_behind() {
    let world = World::new();
    let project = world.project("app");
    let err = project.run(["Do it."]).refused(3, "no model provider is configured");
    assert!(err.contains("hint: "), "{err}");
    play(&world, json!([root(json!([say("Hello.")]))]));
    project.run(["--auth", "nobody", "Do it."]).refused(3, "nobody");
    project.run(["--budget=-1", "Do it."]).refused(3, "--budget -1");
    project.run(["--task", "01NEVERWAS", "Do it."]).refused(3, "01NEVERWAS");
    assert_eq!(project.asks().len(), 0);
    assert_eq!(project.run(["Do it."]).ok().matches("Hello.").count(), 1);
}

#[test]
fn a_detached_head_is_refused_with_a_sentence_and_any_branch_name_works() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello.")]))]));
    let repository = world.repository("loose");
    world.git(&repository, ["checkout", "-q", "--detach"]);
    let ran = world.mxd(&repository, ["run", "Do it."]);
    ran.refused(3, "detached");
    world.git(&repository, ["checkout", "-q", "-b", "téléportation/ünïcode"]);
    assert!(world.mxd(&repository, ["run", "Do it."]).ok().contains("Hello."));
}

#[test]
fn a_timeout_stops_the_work_which_the_next_run_takes_up() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 300"), say("I was cut short.")]))]));
    let project = world.project("app");
    let ran = project.run(["--timeout", "5", "Wait."]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("timeout of 5 s"), "{ran:?}");
    assert_eq!(marked(&[project.id("orchestrator")]), []);
    assert_eq!(project.status("orchestrator"), "in_progress", "in JSON");
    let tree = project.mxd(["tree"]).ok();
    assert!(tree.contains("◆ orchestrator  paused"), "as text: {tree}");
    let ran = project.run([]);
    assert!(ran.out.contains("I was cut short."), "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn while_a_process_has_the_project_others_read_and_change_it_through_that_process() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 300"), say("Over.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    let root = project.id("orchestrator");
    for command in [vec!["tree"], vec!["asks"], vec!["cost"], vec!["log", &root], vec!["projects"]] {
        project.mxd(command).ok();
    }
    let another = project.mxd(["task", "new", "Another", "--draft"]).ok().trim().to_owned();
    project.mxd(["task", "edit", &another, "--title", "Renamed"]).ok();
    assert_eq!(project.status("Renamed"), "draft");
    project.mxd(["task", "delete", &another]).ok();
    project.mxd(["restore", &another]).ok();
    project.mxd(["answer", "01ABCDEFGH", "yes"]).refused(3, "no open question");
    project.mxd(["run", "--model", "other", "Me too."]).refused(3, "--model cannot change an engine");
    assert_eq!(project.mxd(["send", &root, "Hello."]).ok(), "sent\n");
    assert!(project.log("orchestrator").contains("Hello."));
    // The agent is stopped, and the run that works on the project ends by itself.
    project.mxd(["stop"]).ok();
    assert_eq!(running.end().code, 0);
    let left = ["engine.sock", "serve.json"].map(|name| project.folder.root().join(name).exists());
    assert_eq!(left, [false, false]);
}

#[test]
fn a_command_is_told_who_has_the_project_if_it_cannot_be_joined() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 300"), say("Over.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    // As an earlier version, which does not listen.
    std::fs::remove_file(project.folder.root().join("serve.json")).unwrap();
    let holder = format!("process {} has been working on this project since", running.pid());
    project.mxd(["stop"]).refused(1, &holder);
    running.kill();
    project.mxd(["send", &project.id("orchestrator"), "Hello."]).ok();
}

#[test]
fn a_message_waits_until_the_agents_run_and_is_taken_in_once() {
    let world = World::new();
    play(&world, json!([root(json!([say("First."), say("Second.")]))]));
    let project = world.project("app");
    project.mxd(["send", "conductor", "Good", "morning."]).refused(3, "no task has \"conductor\"");
    project.run(["Begin."]).ok();
    let root = project.id("orchestrator");
    assert!(project.mxd(["send", &root[..12], "Good", "morning."]).ok().contains("`mxd run`"));
    assert_eq!(project.node("orchestrator")["pending_messages"], 1);
    project.mxd(["send", &root, " "]).refused(3, "the message is empty");
    assert!(project.run([]).ok().contains("Second."));
    assert_eq!(project.node("orchestrator")["pending_messages"], 0);
    assert_eq!(project.log("orchestrator").matches("Good morning.").count(), 1);
    // Nothing is owed any more.
    assert!(project.run([]).ok().starts_with("nothing to do: "));
}

/// Runs a command with `input` on its standard input.
fn fed(project: &Project<'_>, args: &[&str], input: &[u8]) -> Ran {
    let mut command = project.world.mxd_command(&project.path);
    let mut child =
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_dash_is_what_comes_in_on_standard_input() {
    let world = World::new();
    let blue = json!({ "when": { "text": "blue\nas the sea" }, "text": "Blue it is." });
    play(&world, json!([root(json!([say("Heard."), say("Again."), clarify(), call("yield", json!({})), blue]))]));
    let project = world.project("app");
    assert!(fed(&project, &["run", "-"], b"First\n\n- second\n").ok().contains("Heard."));
    assert!(project.log("orchestrator").contains("First\n    \n    - second\n"), "{}", project.log("orchestrator"));
    let root = project.id("orchestrator");
    fed(&project, &["send", &root, "-"], b"one\ntwo\n").ok();
    assert!(project.log("orchestrator").contains("one\n    two\n"));
    assert!(project.run([]).ok().contains("Again."));
    assert_eq!(project.run(["Which?"]).code, 2);
    let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
    fed(&project, &["answer", &ask, "-"], b"blue\nas the sea\n").ok();
    assert!(project.run([]).ok().contains("Blue it is."));

    let made = fed(&project, &["task", "new", "Paint", "--later", "-d", "-"], b"Goal:\nblue.\n").ok();
    assert_eq!(project.node("Paint")["description"], "Goal:\nblue.");
    fed(&project, &["task", "edit", made.trim(), "-d", "-"], b"Red.\n").ok();
    assert_eq!(project.node("Paint")["description"], "Red.");
    for args in [&["run", "-"][..], &["send", &root, "-"]] {
        fed(&project, args, b" \n").refused(3, "stdin is empty");
    }
    fed(&project, &["send", &root, "-"], b"\xff\xfe").refused(3, "not UTF-8 text");
}

#[test]
fn as_lines_the_beginning_of_what_a_tool_gave_is_read_out() {
    let world = World::new();
    play(&world, json!([root(json!([bash("seq 101 140"), bash("echo short"), say("Counted.")]))]));
    let project = world.project("app");
    let said = fed(&project, &["--plain"], b"Count.\n");
    assert_eq!(said.code, 0, "{said:?}");
    for line in ["  bash returned (", "101", "… ", " more lines", "short", "Counted."] {
        assert!(said.out.contains(line), "expected {line:?} in {said:?}");
    }
    assert!(!said.out.contains("120"), "it does not flood: {said:?}");
}

#[test]
fn an_agents_shell_stands_where_it_stood_also_after_a_restart() {
    let world = World::new();
    play(
        &world,
        json!([
            root(json!([])),
            agent(
                "Painter",
                json!([
                    bash("mkdir -p deep/er && touch deep/er/x && git add . && git commit -qm made && cd deep/er"),
                    done("passed", "first"),
                    bash("ls"),
                    { "when": { "result": "[cwd: deep/er]\nx" }, "calls": [{ "tool": "bash", "input": { "command": "cd ../.." } }] },
                    done("passed", "second"),
                    bash("ls; git rm -qr deep; git commit -qm gone"),
                    { "when": { "result": "exit code: 0\ndeep\n" }, "calls": [{ "tool": "done", "input": { "status": "passed", "result": "third" } }] },
                ])
            ),
        ]),
    );
    let project = world.project("app");
    let painter = project.new_task("Painter");
    for round in 1..=3 {
        assert_eq!(project.run([]).code, 0, "round {round}: {}", project.log("Painter"));
        assert_eq!(project.node("Painter")["results"].as_array().unwrap().len(), round, "{}", project.log("Painter"));
        project.mxd(["send", &painter, "Go on."]).ok();
    }
}

#[test]
fn a_message_wakes_a_task_that_has_passed_and_one_that_is_closed_with_its_work() {
    let world = World::new();
    let work = "echo one > file.txt && git add . && git commit -qm 'First round'";
    play(
        &world,
        json!([
            root(json!([])),
            agent(
                "Painter",
                json!([
                    bash(work),
                    done("passed", "first"),
                    done("passed", "second"),
                    bash("cat file.txt && git status --short"),
                    { "when": { "result": "one" }, "calls": [{ "tool": "done", "input": { "status": "passed", "result": "third" } }] },
                ])
            ),
        ]),
    );
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]).ok();
    assert_eq!(project.status("Painter"), "passed");
    project.mxd(["send", &painter, "Once more."]).ok();
    project.run([]).ok();
    project.mxd(["task", "close", &painter]).ok();
    assert_eq!((project.status("Painter").as_str(), &project.node("Painter")["worktree"]), ("closed", &Value::Null));
    project.mxd(["send", &painter, "And again."]).ok();
    project.run([]).ok();
    let node = project.node("Painter");
    let results: Vec<&str> =
        node["results"].as_array().unwrap().iter().map(|r| r["result"].as_str().unwrap()).collect();
    assert_eq!((node["status"].as_str(), results), (Some("passed"), vec!["first", "second", "third"]));
    assert_eq!(std::fs::read_to_string(project.worktree("Painter").join("file.txt")).unwrap(), "one\n");
}

#[test]
fn what_the_user_stopped_stays_stopped_until_it_is_spoken_to() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([say("I rest."), say("Back at work.")]))]));
    let project = world.project("app");
    assert_eq!(project.mxd(["stop"]).ok(), "nothing was running\n");
    let painter = project.new_task("Painter");
    // The root is told that the painter sleeps, and has nothing to say to it.
    let ran = project.run([]);
    assert!(ran.code == 2 && ran.out.contains("Acknowledged."), "{ran:?}");
    assert_eq!(project.mxd(["stop", &painter]).ok(), "stopped\n");
    assert!(project.run([]).ok().starts_with("nothing to do: "));
    project.mxd(["send", &painter, "Go on."]).ok();
    let ran = project.run([]);
    assert!(ran.out.contains("Back at work."), "{ran:?}");
}

#[test]
fn a_task_that_was_stopped_before_it_began_does_not_begin() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([done("passed", "painted")]))]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    assert_eq!(project.mxd(["stop", &painter]).ok(), "stopped\n");
    assert!(project.run([]).ok().starts_with("nothing to do: "));
    assert_eq!(project.status("Painter"), "pending");
    project.mxd(["send", &painter, "Now."]).ok();
    project.run([]).ok();
    assert_eq!(project.status("Painter"), "passed");
}

#[test]
fn whoever_sleeps_without_being_done_is_named() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([say("I rest."), done("passed", "painted")]))]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    let said = format!(
        "stuck: Painter: it ended its turn without calling done, and the task above waits for it\n    mxd send {} TEXT\n",
        &painter[..14]
    );
    let ran = project.run([]);
    assert!(ran.code == 2 && ran.out.ends_with(&said), "{ran:?}");
    let ran = project.run([]);
    assert_eq!((ran.code, ran.out), (2, said), "it is still so");
    project.mxd(["send", &painter, "Go on."]).ok();
    assert!(!project.run([]).ok().contains("stuck: "));
}

#[test]
fn a_model_that_fails_and_is_given_up_fails_its_task_and_the_task_above_learns_of_it() {
    let world = World::new();
    let broken = json!({ "errors": [{ "class": "auth" }], "text": "never" });
    play(&world, json!([root(json!([say("I heard of it.")])), agent("Painter", json!([broken]))]));
    let project = world.project("app");
    project.new_task("Painter");
    assert_eq!(project.run([]).code, 2);
    let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["answer", &ask, "Stop"]).ok();
    let ran = project.run([]);
    assert!(ran.out.contains("Its model could not be reached, and the user left it at that."), "{ran:?}");
    assert!(ran.out.contains("I heard of it."), "{ran:?}");
    assert_eq!((project.status("Painter").as_str(), project.asks().len()), ("failed", 0));
}

#[test]
fn tasks_are_made_changed_moved_and_taken_away() {
    let world = World::new();
    play(&world, json!([]));
    let project = world.project("app");
    let one = project.mxd(["task", "new", "One", "-d", "What and why", "--later", "--budget", "2.50"]).ok();
    let one = one.trim();
    let two = project.mxd(["task", "new", "Two", "--draft", "--under", one]).ok();
    let two = two.trim();
    let node = project.node("One");
    assert_eq!(
        (&node["status"], &node["description"], &node["budget"]),
        (&json!("pending"), &json!("What and why"), &json!(2_500_000))
    );
    assert_eq!((project.status("Two").as_str(), &project.node("Two")["depth"]), ("draft", &json!(2)));
    // Nothing begins that was not started.
    assert!(project.run([]).ok().starts_with("nothing to do: "));

    project.mxd(["task", "edit", one]).refused(3, "nothing to change");
    project.mxd(["task", "edit", one, "--title", " "]).refused(3, "a task needs a title");
    project.mxd(["task", "edit", one, "--title", "First", "--budget", "0"]).ok();
    project.mxd(["task", "edit", two, "--draft", "false"]).ok();
    let node = project.node("First");
    assert_eq!((&node["budget"], &node["edited_by"]), (&Value::Null, &json!("user")));
    assert_eq!(project.status("Two"), "pending");

    let root = project.id("orchestrator");
    project.mxd(["task", "move", one, "--under", two]).refused(3, "below");
    project.mxd(["task", "move", two, "--under", &root, "--before", one]).ok();
    let children = project.node("orchestrator")["children"].clone();
    assert_eq!(children, json!([two, one]));

    project.mxd(["task", "close", &root]).refused(3, "the root cannot be closed");
    project.mxd(["task", "close", one]).ok();
    project.mxd(["task", "close", one]).refused(3, "already closed");
    project.mxd(["task", "new", "Below", "--under", one]).refused(3, "is closed");
    project.mxd(["task", "delete", &root]).refused(3, "the root cannot be deleted");
    project.mxd(["task", "delete", two]).ok();
    project.mxd(["task", "delete", two]).refused(3, two);
    let titles: Vec<Value> = project.tasks().into_iter().map(|task| task["title"].clone()).collect();
    assert_eq!(titles, [json!("orchestrator"), json!("First")]);
}

#[test]
fn a_task_starts_over_on_a_fresh_branch_and_its_old_work_comes_back_from_the_archive() {
    let world = World::new();
    let work = "echo work > file.txt && git add . && git commit -qm Work && echo loose > loose.txt";
    play(
        &world,
        json!([root(json!([])), agent("Painter", json!([bash(work), call("yield", json!({})), say("What now?")])),]),
    );
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]);
    let (old_branch, old_place) = (project.node("Painter")["branch"].clone(), project.worktree("Painter"));
    assert!(old_place.join("loose.txt").exists());
    project.mxd(["stop", &painter]).ok();
    assert!(project.mxd(["task", "close", &painter]).ok().contains("refs/mxd/archive/"));
    assert!(!old_place.exists());
    assert!(project.mxd(["restore", &painter]).ok().contains("worktree restored"));
    let place = project.worktree("Painter");
    assert_eq!(std::fs::read_to_string(place.join("loose.txt")).unwrap(), "loose\n");
    assert_eq!(project.node("Painter")["branch"], old_branch);

    project.mxd(["task", "reset", &painter]).ok();
    let node = project.node("Painter");
    assert_eq!((&node["status"], &node["branch"], &node["worktree"]), (&json!("pending"), &Value::Null, &Value::Null));
    assert!(!place.exists());
    let archived = world.git(&project.path, ["for-each-ref", "--format=%(refname)", "refs/mxd/archive"]);
    assert!(archived.contains(&painter), "{archived}");
    project.mxd(["send", &painter, "Begin again."]).ok();
    project.run([]);
    let log = world.git(&project.worktree("Painter"), ["log", "--format=%s"]);
    assert_eq!(log, "Work\nstart", "the work was done anew, on a fresh branch");
}

#[test]
fn what_was_spent_is_shown_by_task_by_model_and_by_day() {
    let world = World::new();
    play(&world, json!([root(json!([say("Hello.")])), agent("Painter", json!([done("passed", "ok")]))]));
    let project = world.project("app");
    project.new_task("Painter");
    project.run(["Begin."]).ok();
    let tree = project.tasks();
    let rows = |by: &str| json_lines(&project.mxd(["cost", "--by", by, "--json"]).ok());
    let by_task = rows("task");
    assert_eq!(by_task.len(), 2);
    let sum = |rows: &[Value], field: &str| rows.iter().map(|row| row[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum(&by_task, "tokens"), sum(&tree, "tokens"));
    assert_eq!(sum(&by_task, "cost_micro_usd"), sum(&tree, "cost_micro_usd"));
    let painter = by_task.iter().find(|row| row["name"] == "Painter");
    assert_eq!(painter.map(|row| &row["task"]), Some(&json!(project.id("Painter"))), "{by_task:?}");
    for by in ["model", "day"] {
        let rows = rows(by);
        assert_eq!((rows.len(), sum(&rows, "tokens")), (1, sum(&tree, "tokens")), "{rows:?}");
    }
    let out = project.mxd(["cost"]).ok();
    assert_eq!(out.lines().count(), 3, "{out}");
    assert!(out.lines().last().unwrap().ends_with("total"), "{out}");
    assert!(project.mxd(["cost", "--by", "month"]).code == 3);
}

#[test]
fn the_log_says_at_debug_level_what_the_engine_and_its_runs_decided() {
    let world = World::new();
    let secret = "only in the session";
    play(&world, json!([root(json!([say(secret), done("passed", "as it is")]))]));
    let project = world.project("app");
    let ran = world.mxd_command(&project.path).env("MXD_LOG", "mxd=debug").args(["run", "Go."]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let logs = std::fs::read_dir(world.data().join("logs")).unwrap();
    let log: String = logs.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let steps: Vec<&str> = log.lines().filter(|line| line.contains("effects=") && line.contains("took=")).collect();
    for (span, input) in [("engine{project=", "input=Command Send"), ("run{task=", "input=Response")] {
        assert!(steps.iter().any(|line| line.contains(span) && line.contains(input)), "{span} {input}: {log}");
    }
    assert!(steps.iter().any(|line| line.contains("input=Command Send") && line.contains("effects=Append")), "{log}");
    assert!(!log.contains(secret), "what was said is in the session");
}
