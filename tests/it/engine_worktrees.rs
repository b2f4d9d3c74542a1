//! Where agents work: the setup hook, copied files, worktrees that somebody took away, other projects.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mxd::git::branch;
use mxd::model::{Status, TaskNode};
use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{agent, bash, call, done, marked, play, root, say};

/// Writes a file of the repository and commits it.
fn commit(project: &Project<'_>, name: &str, content: &str) {
    let path = project.path.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    project.world.git(&project.path, ["add", "-f", name]);
    project.world.git(&project.path, ["commit", "-q", "-m", name]);
}

const HOOK: &str = ".mxd/hooks/setup_worktree.sh";

/// A project whose setup hook fails until the file `fine` lies in its folder.
fn with_failing_hook(world: &World) -> Project<'_> {
    play(world, json!([root(json!([])), agent("Painter", json!([bash("cat ready.txt"), done("passed", "painted")]))]));
    let project = world.project("app");
    let hook = "echo preparing $MXD_BRANCH\n[ -e \"$MXD_PROJECT/../fine\" ] || { echo no brush >&2; exit 7; }\n\
                echo yes > ready.txt; echo ready.txt >> $(git rev-parse --git-path info/exclude)\n";
    commit(&project, HOOK, hook);
    project.approve_hook();
    project.new_task("Painter");
    project
}

#[test]
fn a_failing_setup_hook_is_a_question_and_trying_again_works() {
    let world = World::new();
    let project = with_failing_hook(&world);
    let ran = project.run([]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for said in [
        "failed with exit code 7",
        "preparing mxd/",
        "no brush",
        "1. Try again",
        "2. Run the edited one",
        "3. Continue without it",
        "4. ",
    ] {
        assert!(ran.out.contains(said), "expected {said:?} in {ran:?}");
    }
    assert_eq!(project.status("Painter"), "in_progress");
    // Still broken: the same question again, and only one.
    let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["answer", &ask, "1"]).ok();
    assert_eq!(project.run([]).code, 2);
    let asks = project.asks();
    assert_eq!(asks.len(), 1, "{asks:?}");
    fs::write(world.root().join("fine"), "").unwrap();
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "Try again"]).ok();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(project.status("Painter"), "passed");
    assert!(project.log("Painter").contains("yes"), "the hook had done its work");
}

#[test]
fn a_setup_hook_that_says_too_much_fills_no_disk_and_its_last_words_are_shown() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([done("passed", "painted")]))]));
    let project = world.project("app");
    commit(&project, HOOK, "seq 1000000; printf '\\033[31mno \\377 brush\\033[0m\\n' >&2; exit 7\n");
    project.approve_hook();
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("1000000\n    no \u{FFFD} brush\n") && ran.out.len() < 20_000, "{ran:?}");
    let spilled = fs::read_dir(project.folder.root().join("spill")).map_or(0, Iterator::count);
    assert_eq!(spilled, 0, "nobody reads more than the end of it");
}

#[test]
fn work_starts_from_the_base_branch_and_who_is_elsewhere_or_has_renamed_it_is_told() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([bash("ls"), done("passed", "painted")]))]));
    let project = world.project("app");
    world.git(&project.path, ["branch", "-m", "main", "trunk"]);
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("You are on trunk, but tasks start from and merge into main"), "{ran:?}");
    assert!(ran.out.contains("base branch \"main\" no longer exists"), "{ran:?}");
    assert!(ran.out.contains("`mxd init --base BRANCH`"), "{ran:?}");
    project.mxd(["init", "--base", "trunk"]).ok();
    project.mxd(["answer", project.asks()[0]["id"].as_str().unwrap(), "1"]).ok();
    project.run([]).ok();
    assert_eq!(project.status("Painter"), "passed");
}

#[test]
fn a_setup_hook_and_a_check_are_done_when_they_say_so_whatever_they_leave_running() {
    let world = World::new();
    let turns = json!([bash("echo good > result; git add result; git commit -qm result"), done("passed", "painted")]);
    play(&world, json!([root(json!([])), agent("Painter", turns)]));
    let project = world.project("app");
    commit(&project, HOOK, "sleep 1000 & (setsid sleep 1000 >/dev/null 2>&1 &) ; echo ready\n");
    project.approve_hook();
    let check = "echo first; seq 5000; (setsid sleep 1000 >/dev/null 2>&1 &); sleep 1000 & grep good result";
    project.mxd(["config", "set", "verify", check]).ok();
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!((ran.code, project.status("Painter").as_str()), (0, "passed"), "{ran:?}");
    let id = project.id("Painter");
    let events = json_lines(&project.mxd(["log", &id, "--json"]).ok());
    let receipt = &events.iter().find(|event| event["body"]["what"] == "verified").unwrap()["body"]["receipt"];
    let said = receipt["output"].as_str().unwrap();
    assert!(
        said.starts_with("first\n1\n") && said.contains("\n5000\ngood\n") && said.contains("the whole is in"),
        "{said}"
    );
    assert!(receipt["full"].is_object(), "{receipt}");
    assert_eq!(marked(&[id]), [], "nothing of it is left");
}

#[test]
fn an_agent_cannot_plant_a_hook_with_its_file_tools() {
    let world = World::new();
    let write = |path: &str| call("write_file", json!({ "path": path, "content": "planted" }));
    let edit = json!({ "path": "linked/pre-commit", "edits": [{ "old_string": "true", "new_string": "planted" }] });
    let turns = json!([
        write("helper.sh"),
        write(".githooks/post-merge"),
        call("edit_file", edit),
        bash("mkdir -p later && ln -s later innocent && git config core.hooksPath later"),
        write("innocent/pre-push"),
        bash("git add helper.sh innocent && git commit -qm helper"),
        done("passed", "only helped"),
    ]);
    play(&world, json!([root(json!([write(".githooks/post-merge"), say("refused")])), agent("Painter", turns)]));
    let project = world.project("app");
    commit(&project, ".githooks/pre-commit", "true\n");
    std::os::unix::fs::symlink(".githooks", project.path.join("linked")).unwrap();
    world.git(&project.path, ["add", "linked"]);
    world.git(&project.path, ["commit", "-q", "-m", "linked"]);
    world.git(&project.path, ["config", "core.hooksPath", ".githooks"]);
    let ran = project.run(["Plant it yourself"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!project.path.join(".githooks/post-merge").exists(), "nor can the root, in the user's checkout");
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!((ran.code, project.status("Painter").as_str()), (0, "passed"), "{ran:?}");
    let place = project.worktree("Painter");
    assert_eq!(fs::read_to_string(place.join("helper.sh")).unwrap(), "planted");
    for hook in [".githooks/post-merge", "later/pre-push"] {
        assert!(!place.join(hook).exists(), "{hook}");
    }
    assert_eq!(fs::read_to_string(place.join(".githooks/pre-commit")).unwrap(), "true\n");
    let log = project.log("Painter");
    assert_eq!(log.matches("lies where git finds its hooks").count(), 3, "{log}");
    assert!(log.contains("ask them to make it"), "{log}");
}

#[test]
fn one_may_go_on_without_the_setup_hook() {
    let world = World::new();
    let project = with_failing_hook(&world);
    assert_eq!(project.run([]).code, 2);
    let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["answer", &ask, "3"]).ok();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(project.status("Painter"), "passed");
    assert!(project.log("Painter").contains("No such file"), "the hook did not run");
}

#[test]
fn a_setup_hook_that_was_edited_runs_as_it_is_now_although_the_branch_has_the_old_one() {
    let world = World::new();
    let project = with_failing_hook(&world);
    assert_eq!(project.run([]).code, 2);
    fs::write(
        project.path.join(HOOK),
        "echo mended > ready.txt; echo ready.txt >> $(git rev-parse --git-path info/exclude)\n",
    )
    .unwrap();
    let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["answer", &ask, "2"]).ok();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(project.log("Painter").contains("mended"));
}

#[test]
fn a_project_without_a_setup_hook_is_told_of_it_once() {
    let world = World::new();
    play(
        &world,
        json!([
            root(json!([])),
            agent("Painter", json!([done("passed", "painted")])),
            agent("Mason", json!([done("passed", "built")])),
        ]),
    );
    let project = world.project("app");
    for (title, hints) in [("Painter", 1), ("Mason", 0)] {
        project.new_task(title);
        let ran = project.run([]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.out.matches("setup_worktree.sh").count(), hints, "{ran:?}");
    }
}

#[test]
fn a_worktree_that_cannot_be_set_up_may_be_left_and_the_task_above_learns_of_it() {
    let world = World::new();
    let project = with_failing_hook(&world);
    assert_eq!(project.run([]).code, 2);
    let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["answer", &ask, "4"]).ok();
    assert_eq!(project.status("Painter"), "failed");
    assert_eq!(project.asks().len(), 0);
    project.run([]).ok();
    assert_eq!(project.log("orchestrator").matches("could not be set up").count(), 1);
    assert!(project.run([]).ok().starts_with("nothing to do: "), "it is not started again by itself");
}

#[test]
fn ignored_files_that_are_asked_for_are_copied_into_a_new_worktree_and_others_are_not() {
    let world = World::new();
    play(
        &world,
        json!([root(json!([])), agent("Painter", json!([bash("cat .env keys/a.pem; ls"), done("passed", "painted")]))]),
    );
    let project = world.project("app");
    commit(&project, ".gitignore", ".env\nkeys/\nbuild/\n");
    commit(&project, ".worktreeinclude", ".env\nkeys/*.pem\n");
    for (name, text) in [(".env", "COLOUR=blue"), ("keys/a.pem", "sesame"), ("keys/b.txt", "no"), ("build/out", "no")] {
        let path = project.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project.new_task("Painter");
    project.run([]).ok();
    let place = project.worktree("Painter");
    assert_eq!(fs::read_to_string(place.join(".env")).unwrap(), "COLOUR=blue");
    assert_eq!(fs::read_to_string(place.join("keys/a.pem")).unwrap(), "sesame");
    assert!(!place.join("keys/b.txt").exists() && !place.join("build").exists());
    assert!(project.log("Painter").contains("2 ignored files"), "the agent is told");
}

#[test]
fn a_worktree_that_somebody_deleted_is_made_again_from_its_branch_and_the_agent_is_told() {
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
                    bash("cat file.txt"),
                    { "when": { "result": "one" }, "calls": [{ "tool": "done", "input": { "status": "passed", "result": "second" } }] },
                ])
            ),
        ]),
    );
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]).ok();
    let place = project.worktree("Painter");
    fs::remove_dir_all(&place).unwrap();
    project.mxd(["send", &painter, "Look again."]).ok();
    project.run([]).ok();
    assert_eq!(project.node("Painter")["results"][1]["result"], "second");
    assert_eq!(fs::read_to_string(place.join("file.txt")).unwrap(), "one\n");
    let log = project.log("Painter");
    assert_eq!(log.matches("was recreated").count(), 1, "{log}");
}

#[test]
fn a_kill_in_the_middle_of_making_a_branch_is_mended_by_the_next_start() {
    let world = World::new();
    play(&world, json!([agent("Painter", json!([done("passed", "painted")]))]));
    let project = world.project("app");
    let mut painter = TaskNode { status: Status::InProgress, ..project.task("Painter") };
    let branch = branch::name(painter.id, "Painter");
    painter.worktree = Some(project.folder.worktrees().join("painter"));
    painter.branch = Some(branch.clone());
    project.plant(&project.task("orchestrator"), std::slice::from_ref(&painter));
    project.append(painter.id, vec![project.message("Begin.").into()]);
    let lock = project.path.join(format!(".git/refs/heads/{branch}.lock"));
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    fs::write(&lock, "").unwrap();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(project.status("Painter"), "passed");
    assert!(!lock.exists());
}

#[test]
fn one_project_speaks_to_another_that_is_not_open_and_that_one_is_woken_by_it() {
    let world = World::new();
    let letter = json!({ "project": "right", "message": "The interface has changed." });
    play(
        &world,
        json!([
            { "name": "left", "when": { "first": "Tell them." },
              "turns": [call("list_projects", json!({})), call("send_message_to_project", letter), say("Told.")] },
            { "name": "right", "when": { "first": "The interface has changed." }, "turns": [say("Understood.")] },
        ]),
    );
    let (left, right) = (world.project("left"), world.project("right"));
    right.approve_project(&left);
    let ran = left.run(["Tell them."]);
    assert!(ran.out.contains("Told."), "{ran:?}");
    assert!(left.log("orchestrator").contains("is not open; it reads the message when it is opened next"));
    let ran = right.run([]);
    assert!(ran.out.contains("Understood."), "{ran:?}");
    let log = right.log("orchestrator");
    assert_eq!(log.matches("The interface has changed.").count(), 1, "{log}");
    assert!(right.run([]).ok().starts_with("nothing to do: "), "it is taken in once");
    assert_eq!(letters(&right.folder.root().join("inbox")), 0);
}

#[test]
fn a_message_of_a_project_that_is_not_approved_waits_and_nothing_is_spent_on_it() {
    let world = World::new();
    let letter = || json!({ "project": "right", "message": "The interface has changed." });
    play(
        &world,
        json!([
            { "name": "left", "when": { "first": "Tell them." },
              "turns": [call("send_message_to_project", letter()), say("Told."), call("send_message_to_project", letter()), say("Told.")] },
            { "name": "right", "when": { "first": "The interface has changed." }, "turns": [say("Understood."), say("Again.")] },
        ]),
    );
    let (left, right) = (world.project("left"), world.project("right"));
    left.run(["Tell them."]).ok();
    let inbox = right.folder.root().join("inbox");
    for _ in 0..2 {
        let ran = right.run([]);
        assert_eq!(ran.code, 0, "nothing of its own waits for that: {ran:?}");
        assert!(
            ran.out.contains("The project \"left\" sends a message") && !ran.out.contains("Understood."),
            "{ran:?}"
        );
    }
    let asks = right.asks();
    assert_eq!((asks.len(), &asks[0]["kind"], &asks[0]["approval"]["of"]), (1, &json!("approval"), &json!("project")));
    assert!(asks[0]["detail"].as_str().unwrap().contains("The interface has changed."), "{asks:?}");
    assert_eq!(letters(&inbox), 1, "it is kept");
    right.mxd(["answer", asks[0]["id"].as_str().unwrap(), "1"]).ok();
    let ran = right.run([]);
    assert!(ran.out.contains("Understood."), "{ran:?}");
    assert_eq!((letters(&inbox), right.asks().len()), (0, 0));
    left.run(["Tell them again."]).ok();
    assert!(right.run([]).out.contains("Again."), "the answer is for all that follow");
}

#[test]
fn a_setup_hook_runs_only_after_the_user_has_approved_exactly_this_file() {
    let world = World::new();
    let turns = || json!([bash("cat ready.txt; git status --short"), done("passed", "done")]);
    play(&world, json!([root(json!([])), agent("Painter", turns()), agent("Mason", turns()), agent("Smith", turns())]));
    let project = world.project("app");
    commit(&project, HOOK, "echo one > ready.txt\n");
    project.new_task("Painter");
    project.new_task("Mason");
    for _ in 0..2 {
        let ran = project.run([]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.out.contains("echo one > ready.txt") && ran.out.contains("mxd answer "), "{ran:?}");
    }
    let asks = project.asks();
    assert_eq!((asks.len(), &asks[0]["approval"]["of"]), (1, &json!("setup_hook")), "one question for all: {asks:?}");
    assert_eq!(project.status("Painter"), "in_progress");
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "Run it"]).ok();
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((project.status("Painter").as_str(), project.status("Mason").as_str()), ("passed", "passed"));
    assert!(project.log("Painter").contains("one"), "it has run");

    commit(&project, HOOK, "echo two > ready.txt\n");
    project.new_task("Smith");
    assert_eq!(project.run([]).code, 2, "a changed hook asks again");
    project.mxd(["answer", project.asks()[0]["id"].as_str().unwrap(), "Continue without it"]).ok();
    let ran = project.run([]);
    assert_eq!((ran.code, project.status("Smith").as_str()), (0, "passed"), "{ran:?}");
    assert!(project.log("Smith").contains("No such file"), "it has not run");
    assert_eq!(project.asks().len(), 0);
}

#[test]
fn files_that_the_setup_hook_leaves_untracked_do_not_hold_up_done_and_others_do() {
    let world = World::new();
    let turns = json!([
        bash("mkdir -p deps; echo more > deps/b; echo own > own.txt"),
        done("passed", "too early"),
        bash("git add own.txt; git commit -qm own"),
        done("passed", "done"),
    ]);
    play(&world, json!([root(json!([])), agent("Painter", turns)]));
    let project = world.project("app");
    commit(&project, HOOK, "mkdir deps; echo a > deps/a; echo x > left.txt\n");
    project.approve_hook();
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!((ran.code, project.status("Painter").as_str()), (0, "passed"), "{ran:?}");
    assert!(ran.out.contains("left.txt") && ran.out.contains(".gitignore"), "the user is told: {ran:?}");
    let log = project.log("Painter");
    let refusal = log.lines().find(|line| line.contains("own.txt") && line.contains("commit")).unwrap_or_default();
    assert!(!refusal.contains("left.txt") && !refusal.contains("deps"), "{log}");
    assert!(log.contains("You do not have to commit them"), "{log}");
}

#[test]
fn a_setup_hook_that_is_not_committed_is_named_with_what_to_do() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([done("passed", "painted")]))]));
    let project = world.project("app");
    fs::write(project.path.join(HOOK), "echo hi\n").unwrap();
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!((ran.code, project.asks().len()), (0, 0), "{ran:?}");
    let said = format!("{}{}", ran.out, ran.err);
    for part in ["did not run", "not committed on main", "git add .mxd/hooks/setup_worktree.sh"] {
        assert!(said.contains(part), "expected {part:?} in {ran:?}");
    }
}

#[test]
fn one_project_speaks_to_another_that_is_at_work() {
    let world = World::new();
    let letter = json!({ "project": "right", "message": "Stop waiting." });
    let waits = "until [ -e told ]; do sleep 0.05; done";
    play(
        &world,
        json!([
            { "name": "left", "when": { "first": "Tell them." },
              "turns": [call("send_message_to_project", letter), say("Told.")] },
            { "name": "right", "when": { "first": "Wait." }, "turns": [
                bash(waits),
                { "when": { "last": "Stop waiting." }, "text": "I heard it." },
            ] },
        ]),
    );
    let (left, right) = (world.project("left"), world.project("right"));
    right.approve_project(&left);
    let mut running = right.start(&["Wait."]);
    running.until_it_works();
    left.run(["Tell them."]).ok();
    assert!(left.log("orchestrator").contains("Sent to \"right\"."));
    running.until("the letter is there", |line| line["event"]["body"]["from"]["source"] == "cross_project");
    fs::write(right.path.join("told"), "").unwrap();
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("I heard it."), "{ran:?}");
}

fn letters(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, |entries| entries.flatten().filter(is_letter).count())
}

fn is_letter(entry: &fs::DirEntry) -> bool {
    entry.path().extension().is_some_and(|ending| ending == "json")
}

#[test]
fn a_launch_that_fails_is_told_above_and_asked_about() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([done("passed", "painted")]))]));
    let project = world.project("app");
    project.new_task("Painter");
    // The branch that the worktree would start from is gone.
    world.git(&project.path, ["checkout", "-q", "-b", "elsewhere"]);
    world.git(&project.path, ["branch", "-q", "-D", "main"]);
    let ran = project.run([]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("could not be started. Try again?"), "{ran:?}");
    assert_eq!(project.log("orchestrator").matches("could not be started").count(), 1);
    world.git(&project.path, ["checkout", "-q", "-b", "main"]);
    let asks = project.asks();
    assert_eq!(asks.len(), 1, "{asks:?}");
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "1"]).ok();
    project.run([]).ok();
    let node = project.node("Painter");
    assert_eq!(node["status"], "passed", "{node:#}");
    let verdicts: Vec<&Value> = node["results"].as_array().unwrap().iter().map(|round| &round["verdict"]).collect();
    assert_eq!(verdicts, ["failed", "passed"]);
}

#[test]
fn a_launch_that_failed_and_was_left_is_not_tried_again_by_itself() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([done("passed", "painted")]))]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    world.git(&project.path, ["checkout", "-q", "-b", "elsewhere"]);
    world.git(&project.path, ["branch", "-q", "-D", "main"]);
    assert_eq!(project.run([]).code, 2);
    project.mxd(["answer", project.asks()[0]["id"].as_str().unwrap(), "Leave it"]).ok();
    let ran = project.run([]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert_eq!(project.status("Painter"), "failed");
    world.git(&project.path, ["checkout", "-q", "-b", "main"]);
    project.mxd(["send", &painter, "Now."]).ok();
    project.run([]).ok();
    assert_eq!(project.status("Painter"), "passed");
}
