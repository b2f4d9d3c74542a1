//! What is said about tasks, their turns, their work and their sessions, done as it is said.

use std::fs;
use std::io::Write as _;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{named, obey};
use crate::cli_support::{Project, Ran, World};
use crate::engine_support::{agent, bash, done, play, root, say};

fn painter() -> Value {
    let turns = json!([
        bash("echo one > a.txt"),
        { "calls": [
            { "tool": "bash", "input": { "command": "echo b > b.txt" } },
            { "tool": "bash", "input": { "command": "echo c > c.txt" } },
        ] },
        bash("git add -A && git commit -q -m painted"),
        done("passed", "painted it"),
        bash("git merge -q main; echo both > a.txt; git add -A; git commit -q -m both"),
        done("passed", "again"),
    ]);
    agent("Painter", turns)
}

/// A project in which the painter has painted, and its id.
fn painted(world: &World) -> (Project<'_>, String) {
    play(
        world,
        json!([root(json!([])), painter(), agent("Sleeper", json!([say("I rest."), done("passed", "woken")]))]),
    );
    let project = world.project("app");
    let id = project.new_task("Painter");
    assert_eq!(project.run([]).code, 0);
    (project, id)
}

fn commit(project: &Project<'_>, file: &str, text: &str) {
    fs::write(project.path.join(file), text).unwrap();
    project.world.git(&project.path, ["add", file]);
    project.world.git(&project.path, ["commit", "-q", "-m", file]);
}

#[test]
fn who_has_nothing_to_do_is_given_something_by_what_is_said() {
    let world = World::new();
    play(&world, json!([root(json!([say("Forty-two."), say("Forty-three.")]))]));
    let project = world.project("app");
    let out = project.run([]).ok();
    assert!(out.starts_with("nothing to do: ") && out.lines().count() == 1, "{out}");
    let said = named(&out);
    assert_eq!(said, ["mxd run \"what you want\"", "mxd send TASK TEXT", "mxd tree"], "{out}");
    assert!(world.paste(&project.path, &said[0]).ok().contains("Forty-two."));
    let task = project.id("orchestrator");
    obey(&world, &project.path, &out, &[("TASK", &task), ("TEXT", "'Once more.'"), ("what you want", "and more")]);
    assert!(project.log("orchestrator").contains("Forty-three."));
}

#[test]
fn what_was_sent_is_worked_on_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    let sent = project.mxd(["send", &id, "Once more."]).ok();
    obey(&world, &project.path, &sent, &[]);
    assert_eq!(project.node("Painter")["results"].as_array().unwrap().len(), 2);
    let turns = crate::cli_support::json_lines(&project.mxd(["rewind", &id, "--list", "--json"]).ok());
    let message = turns[0]["message"].as_str().unwrap();
    let sent = project.mxd(["rewind", &id, "--edit", message, "Begin, but gently."]).ok();
    obey(&world, &project.path, &sent, &[]);
    assert_eq!(project.node("Painter")["pending_messages"], 0);
}

#[test]
fn who_sleeps_without_being_done_is_woken_by_what_is_said() {
    let world = World::new();
    let (project, _) = painted(&world);
    project.new_task("Sleeper");
    let Ran { code: 2, out, .. } = project.run([]) else { panic!("it is stuck") };
    let line = out.lines().find(|line| line.trim_start().starts_with("mxd send ")).unwrap_or_else(|| panic!("{out}"));
    world.paste(&project.path, &line.trim().replace("TEXT", "'Wake up.'")).ok();
    project.run([]).ok();
    assert_eq!(project.status("Sleeper"), "passed");
}

#[test]
fn a_spent_budget_is_raised_by_what_is_said() {
    let world = World::new();
    play(&world, json!([root(json!([])), agent("Painter", json!([bash("true"), done("passed", "painted")]))]));
    let project = world.project("app");
    // Every token costs a dollar.
    for (key, value) in [
        ("model", "dear"),
        ("models.dear.window", "200000"),
        ("models.dear.maxOutput", "1000"),
        ("models.dear.prices.input", "1000000"),
        ("models.dear.prices.output", "1000000"),
    ] {
        project.mxd(["config", "set", key, value]).ok();
    }
    let made = project.mxd(["task", "new", "Painter", "--budget", "0.01"]).ok();
    assert_eq!(project.run([]).code, 2);
    let asks = project.asks();
    assert_eq!(asks[0]["kind"], "budget", "{asks:#?}");
    let detail = asks[0]["detail"].as_str().unwrap();
    obey(&world, &project.path, detail, &[("TASK", made.trim()), ("USD", "1000000")]);
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "1"]).ok();
    project.run([]);
    assert_eq!((project.status("Painter").as_str(), project.asks().len()), ("passed", 0));
}

#[test]
fn who_is_in_progress_is_stopped_by_what_is_said() {
    let world = World::new();
    let (project, painter) = painted(&world);
    let sleeper = project.mxd(["task", "new", "Sleeper", "--under", &painter]).ok().trim().to_owned();
    project.run([]);
    let err = project.mxd(["task", "close", &painter]).refused(3, "is in progress");
    obey(&world, &project.path, &err, &[("TASK", &sleeper)]);
    project.mxd(["task", "close", &painter]).ok();
}

#[test]
fn what_is_not_there_is_found_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    let missing = ["log", "01NEVERWAS"];
    for (args, sentence, found) in [
        (&missing[..], "no task has \"01NEVERWAS\"", "Painter"),
        (&["send", "01NEVERWAS", "x"], "no task has \"01NEVERWAS\"", "Painter"),
        (&["answer", "01NEVERWAS", "1"], "no open question", "no open questions"),
        (&["answer", "root", "1"], "has no open question", "no open questions"),
        (&["search", ""], "no search words given", "Painter"),
    ] {
        let err = project.mxd(args.iter().copied()).refused(3, sentence);
        let said = obey(&world, &project.path, &err, &[("WORDS", "painted")]);
        assert!(said[0].contains(found), "{args:?}: {said:?}");
    }
    // An index that somebody deleted is made anew.
    fs::remove_dir_all(project.folder.search()).or_else(|_| fs::remove_file(project.folder.search())).unwrap();
    assert!(world.paste(&project.path, "mxd search painted").ok().contains(&id[..8]));
}

#[test]
fn turns_and_edits_are_found_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    let here = &project.path;
    for args in [&["diff", &id, "--turn", "9"][..], &["rewind", &id], &["rewind", &id, "--to", "9"]] {
        let err = project.mxd(args.iter().copied()).refused(3, "");
        let listed = obey(&world, here, &err, &[("TASK", &id)]);
        assert!(listed[0].contains("bash"), "{listed:?}");
    }
    let err = project.mxd(["diff", &id, "--turn", "1..2", "--edit", "1"]).refused(3, "needs a single turn");
    let shown = obey(&world, here, &err, &[("TASK", &id), ("--turn 3 --edit 2", "--turn 1 --edit 1")]);
    assert!(shown[0].contains("+one"), "{shown:?}");
    let err = project.mxd(["diff", &id, "--turn", "2", "--edit", "1"]).refused(3, "cannot be separated");
    let shown = obey(&world, here, &err, &[("TASK", &id), ("TURN", "2")]);
    assert!(shown[0].contains("b.txt") && shown[0].contains("c.txt"), "{shown:?}");
}

#[test]
fn a_rewind_is_taken_back_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    let worktree = project.worktree("Painter");
    for extent in [&[][..], &["--files"], &["--conversation"]] {
        let args = ["rewind", &id, "--to", "1"].into_iter().chain(extent.iter().copied());
        let said = project.mxd(args).ok();
        // What lies before a rewind is read as the search says.
        assert!(world.paste(&project.path, &format!("mxd log {} --raw", &id[..14])).ok().contains("painted it"));
        obey(&world, &project.path, &said, &[]);
        assert!(worktree.join("b.txt").exists(), "{said}");
        assert_eq!(project.mxd(["rewind", &id, "--list"]).ok().lines().count(), 4, "{said}");
    }
}

#[test]
fn a_merge_is_taken_back_by_what_is_said() {
    for how in [&[][..], &["--squash"], &["--rebase"]] {
        let world = World::new();
        let (project, id) = painted(&world);
        let here = &project.path;
        let merge = || project.mxd(["merge", &id].into_iter().chain(how.iter().copied()));
        commit(&project, "before.txt", "x");
        obey(&world, here, &merge().ok(), &[]);
        assert!(!here.join("a.txt").exists(), "{how:?}");
        merge().ok();
        commit(&project, "after.txt", "x");
        let err = project.mxd(["merge", &id, "--undo"]).refused(3, "has later commits");
        let ran = world.paste(here, &named(&err)[0]);
        assert_eq!(ran.code, 0, "{how:?}: {err} {ran:?}");
        assert!(!here.join("a.txt").exists() && here.join("after.txt").exists(), "{how:?}: {err}");
    }
}

#[test]
fn conflicts_are_solved_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    commit(&project, "a.txt", "ours\n");
    let err = project.mxd(["merge", &id]).refused(3, "it conflicts with main");
    let said = named(&err);
    assert_eq!(said, ["mxd merge TASK --resolve", "mxd merge TASK --edit"], "{err}");
    world.paste(&project.path, &said[0].replace("TASK", &id)).ok();
    // What its agent is told is to run `git merge` there, which it does.
    assert!(project.mxd(["log", &id, "--json"]).ok().contains("Run `git merge main`"));
    assert_eq!(project.run([]).code, 0, "{}", project.log("Painter"));
    commit(&project, "a.txt", "ours again\n");
    let edit = format!("EDITOR='sh -c \"echo solved > $1\" --' {}", said[1].replace("TASK", &id));
    let solved = world.paste(&project.path, &edit);
    assert_eq!(solved.code, 0, "{solved:?}");
    assert_eq!(fs::read_to_string(project.path.join("a.txt")).unwrap(), "solved\n");
}

#[test]
fn work_is_checked_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    // Asked for from the screen alone; the two commands that it names decide what a merge is checked with.
    world.paste(&project.path, "mxd config set verify 'false'").ok();
    project.mxd(["merge", &id]).refused(3, "`false` failed");
    world.paste(&project.path, &format!("mxd task edit {id} --verify 'true'")).ok();
    project.mxd(["merge", &id]).ok();
}

#[test]
fn tasks_go_deeper_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    project.mxd(["config", "set", "maxDepth", "1"]).ok();
    let err = project.mxd(["task", "new", "Below", "--under", &id, "--later"]).refused(3, "is 1 level below the root");
    obey(&world, &project.path, &err, &[("maxDepth N", "maxDepth 2")]);
    project.mxd(["task", "new", "Below", "--under", &id, "--later"]).ok();
}

#[test]
fn what_was_put_away_comes_back_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    let (here, worktree) = (&project.path, project.worktree("Painter"));
    fs::rename(&worktree, world.root().join("away")).unwrap();
    let back = ["rewind", &id, "--to", "1", "--files"];
    let err = project.mxd(back).refused(3, "has no worktree");
    obey(&world, here, &err, &[("TASK", &id)]);
    assert!(worktree.join("a.txt").exists());

    let closed = project.mxd(["task", "close", &id]).ok();
    assert!(!worktree.exists());
    obey(&world, here, &closed, &[]);
    assert!(worktree.join("a.txt").exists(), "{closed}");

    project.mxd(["task", "delete", &id]).ok();
    let err = project.mxd(["restore", "01NEVERWAS"]).refused(3, "no task has \"01NEVERWAS\"");
    let listed = obey(&world, here, &err, &[]);
    assert!(listed[1].contains("Painter"), "{listed:?}");
    project.mxd(["restore", &id]).ok();
    assert!(worktree.join("a.txt").exists());
}

#[test]
fn rounds_are_made_and_made_ready_by_what_is_said() {
    let world = World::new();
    play(&world, json!([root(json!([]))]));
    let project = world.project("app");
    let folder = project.path.join(".mxd/tasks");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("deps.json"), "{}").unwrap();
    let ran = project.run([]);
    obey(&world, &project.path, &ran.err, &[("TITLE", "Sweep")]);
    fs::remove_file(folder.join("deps.json")).unwrap();
    let file = format!("{}.json", project.id("Sweep"));
    let plan = fs::read(folder.join(&file)).unwrap();

    // In another clone the same file is news, and a draft.
    let clone = world.project("clone");
    fs::create_dir_all(clone.path.join(".mxd/tasks")).unwrap();
    fs::write(clone.path.join(".mxd/tasks").join(&file), plan).unwrap();
    let ran = clone.run([]);
    let said = format!("{}{}", ran.out, ran.err);
    assert_eq!(clone.status("Sweep"), "draft", "{said}");
    obey(&world, &clone.path, &said, &[]);
    assert_eq!(clone.status("Sweep"), "pending");
}

#[test]
fn a_damaged_session_is_looked_at_by_what_is_said() {
    let world = World::new();
    let (project, id) = painted(&world);
    let file = project.folder.session(id.parse().unwrap());
    let text = fs::read_to_string(&file).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    fs::write(&file, format!("{first}\n{{ damaged\n{rest}")).unwrap();
    for args in [&["log", &id][..], &["export", &id, "--md"]] {
        let ran = project.mxd(args.iter().copied());
        assert!(ran.err.starts_with("warning: parts of this session"), "{ran:?}");
        let checked = world.paste(&project.path, &named(&ran.err)[0]);
        assert!(checked.out.contains(&id), "it says which: {checked:?}");
    }
}

#[test]
fn a_project_that_is_worked_on_is_read_by_what_is_said() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 300"), say("Over.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    fs::remove_file(project.folder.root().join("serve.json")).unwrap();
    let err = project.mxd(["stop"]).refused(1, "has been working on this project");
    let root = project.id("orchestrator");
    let reading: String = err.lines().filter(|line| line.contains("only read")).collect();
    assert_eq!(obey(&world, &project.path, &reading, &[("mxd log", &format!("mxd log {root}"))]).len(), 3, "{err}");
    running.kill();
}

#[test]
#[cfg(target_os = "linux")]
fn who_holds_a_project_is_continued_or_ended_by_what_is_said() {
    for suspended in [false, true] {
        let world = World::new();
        play(&world, json!([root(json!([bash("sleep 300"), say("Over.")]))]));
        let project = world.project("app");
        let mut running = project.start(&["Wait."]);
        running.until_it_works();
        if !suspended {
            fs::remove_file(project.folder.root().join("serve.json")).unwrap();
        }
        if suspended {
            running.signal(Signal::STOP);
            let stat = format!("/proc/{}/stat", running.pid());
            let is_stopped = || fs::read_to_string(&stat).unwrap().rsplit(')').next().unwrap().starts_with(" T");
            while !is_stopped() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        let err = project.mxd(["stop"]).refused(1, "has been working on this project");
        let kills: Vec<String> = named(&err).into_iter().filter(|command| command.starts_with("kill ")).collect();
        // The first lets it go on, where it is suspended; the last ends it.
        assert_eq!(kills.len(), if suspended { 2 } else { 1 }, "{err}");
        if suspended {
            world.paste(&project.path, &kills[0]).ok();
            running.signal(Signal::STOP);
        }
        world.paste(&project.path, kills.last().unwrap()).ok();
        assert_eq!(running.end().code, 143, "{err}");
        assert_eq!(project.mxd(["stop"]).code, 0);
    }
    let _ = std::io::stdout().flush();
}
