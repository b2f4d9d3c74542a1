//! What tools, and people beside them, do to an agent's place: through the whole program, with a scripted model.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{agent, bash, call, done, marked, play, root};

const TITLE: &str = "Mason";

/// Lets one agent do `turns` and declare itself done. Returns the project afterwards.
fn worked(world: &World, mut turns: Vec<Value>) -> Project<'_> {
    turns.push(done("passed", "built"));
    play(world, json!([root(json!([])), agent(TITLE, json!(turns))]));
    let project = world.project("app");
    fs::write(project.path.join("a.txt"), "one\n").unwrap();
    world.git(&project.path, ["add", "-A"]);
    world.git(&project.path, ["commit", "-q", "-m", "a"]);
    project.new_task(TITLE);
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}\n{}", project.log(TITLE));
    assert_eq!(project.status(TITLE), "passed", "{}", project.log(TITLE));
    assert_sound(&project);
    project
}

/// Nothing runs any more, the data are in order, and so is the repository.
fn assert_sound(project: &Project<'_>) {
    assert_eq!(marked(&[project.id(TITLE)]), [], "processes were left behind");
    project.mxd(["check"]).ok();
    project.world.git(&project.path, ["fsck", "--strict", "--no-dangling"]);
}

/// Returns what the calls of the agent came to, in order: text, and whether it was an error.
fn results(project: &Project<'_>) -> Vec<(String, bool)> {
    let events = json_lines(&project.mxd(["log", &project.id(TITLE), "--json"]).ok());
    let results = events.iter().filter(|event| event["type"] == "tool_result").map(|event| {
        let body = &event["body"];
        (body["content"].to_string(), body["is_error"] == true)
    });
    results.collect()
}

fn size_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_below(&entry.path()),
        Ok(_) | Err(_) => entry.metadata().map_or(0, |found| found.len()),
    });
    sizes.sum()
}

#[test]
fn a_flood_fills_neither_the_session_nor_the_disk() {
    let world = World::on_disk();
    let project = worked(&world, vec![bash("yes flood | head -c 100000000")]);
    let session = fs::metadata(project.folder.session(project.id(TITLE).parse().unwrap())).unwrap().len();
    let (text, is_error) = &results(&project)[0];
    assert!(!is_error && text.len() < 20_000, "{}", text.len());
    let data = size_below(project.folder.root());
    println!("100 MB of output: {session} bytes of session, {data} bytes of data");
    assert!(session < 100_000, "{session}");
    assert!(data < 80_000_000, "{data}");
}

#[test]
fn what_hangs_goes_to_the_background_and_ends_with_its_task() {
    let world = World::on_disk();
    let hang = call("bash", json!({ "command": "echo begun; sleep 1000", "timeout_seconds": 1 }));
    let project = worked(&world, vec![hang]);
    assert!(results(&project)[0].0.contains("background"), "{:?}", results(&project));
}

#[test]
fn what_forks_detaches_and_ignores_signals_ends_with_its_task() {
    let world = World::on_disk();
    let fork = "for n in $(seq 30); do (sleep 500 > /dev/null 2>&1 &) ; done; echo forked";
    let detach = "setsid sleep 501 > /dev/null 2>&1 & setsid nohup sh -c 'setsid sleep 502 & sleep 503' > /dev/null 2>&1 & \
                  disown -a; echo detached";
    let deaf = "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' > /dev/null 2>&1 & echo deaf";
    worked(&world, vec![bash(fork), bash(detach), bash(deaf)]);
}

#[test]
fn huge_files_cost_neither_time_nor_space() {
    let world = World::on_disk();
    let begun = std::time::Instant::now();
    let turns = vec![
        bash("truncate -s 20G huge.bin; head -c 40000000 /dev/urandom > large.bin; echo two >> a.txt"),
        call("read_file", json!({ "files": [{ "path": "huge.bin" }] })),
        call("search", json!({ "pattern": "two" })),
        bash("echo '*.bin' > .gitignore && git add a.txt .gitignore && git commit -q -m two"),
    ];
    let project = worked(&world, turns);
    let data = size_below(&project.path.join(".git"));
    println!("20 GB beside the work: {:.1} s, {data} bytes in .git", begun.elapsed().as_secs_f64());
    assert!(data < 60_000_000, "{data}");
    assert!(project.worktree(TITLE).join("huge.bin").exists(), "nobody took it away");
}

#[test]
fn a_folder_that_is_deleted_under_the_shell_is_left_with_a_word() {
    let world = World::on_disk();
    let turns = vec![
        bash("mkdir deep && cd deep && rm -rf \"$PWD\""),
        bash("pwd && echo still here"),
        call("write_file", json!({ "path": "b.txt", "content": "b\n" })),
        bash("git add -A && git commit -q -m b"),
    ];
    let project = worked(&world, turns);
    let results = results(&project);
    assert!(results[1].0.contains("still here"), "{results:?}");
    assert_eq!(fs::read_to_string(project.worktree(TITLE).join("b.txt")).unwrap(), "b\n");
}

#[test]
fn a_worktree_that_is_deleted_while_its_agent_works_is_made_again_and_committed_work_is_there() {
    let world = World::on_disk();
    let turns = vec![
        bash("echo kept > kept.txt && git add -A && git commit -q -m kept && echo lost > lost.txt"),
        bash("rm -rf \"$PWD\""),
        bash("cat kept.txt; echo after > after.txt && git add -A && git commit -q -m after"),
    ];
    let project = worked(&world, turns);
    let results = results(&project);
    assert!(results[2].0.contains("kept") && !results[2].1, "{results:?}");
    let log = project.log(TITLE);
    assert_eq!(log.matches("had been deleted and was recreated").count(), 1, "{log}");
    let branch = project.node(TITLE)["branch"].as_str().unwrap().to_owned();
    assert_eq!(world.git(&project.path, ["show", &format!("{branch}:kept.txt")]), "kept");
}

#[test]
fn a_branch_that_is_moved_under_its_agent_is_where_it_was_moved_to() {
    let world = World::on_disk();
    let turns = vec![
        bash("echo two > a.txt && git commit -qam two && echo three > a.txt && git commit -qam three"),
        // As a force-push of somebody else does it, with the files left as they are.
        bash("git update-ref $(git symbolic-ref HEAD) HEAD~1"),
        bash("git add -A && git commit -q -m again"),
    ];
    let project = worked(&world, turns);
    project.mxd(["merge", &project.id(TITLE)]).ok();
    assert_eq!(fs::read_to_string(project.path.join("a.txt")).unwrap(), "three\n");
    let subjects = world.git(&project.path, ["log", "--format=%s", "main"]);
    assert!(subjects.contains("again") && !subjects.contains("three\n"), "{subjects}");
}

#[test]
fn a_branch_that_is_deleted_or_rewritten_between_two_rounds_is_told_of() {
    let world = World::on_disk();
    let project = worked(&world, vec![bash("echo two > a.txt && git commit -qam two")]);
    let branch = project.node(TITLE)["branch"].as_str().unwrap().to_owned();
    world.git(&project.path, ["update-ref", &format!("refs/heads/{branch}"), "main"]);
    let ran = project.mxd(["merge", &project.id(TITLE)]);
    // The files of the worktree are not what its branch has: they are not left behind without a word.
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(
        ran.err.contains("a.txt") || ran.err.contains("not committed") || ran.err.contains("uncommitted"),
        "{ran:?}"
    );
    assert_eq!(fs::read_to_string(project.path.join("a.txt")).unwrap(), "one\n");
}

#[test]
fn a_lock_that_somebody_left_on_the_index_stops_nobody_for_good() {
    let world = World::on_disk();
    let turns = vec![
        bash("echo two > a.txt && git commit -qam two && touch \"$(git rev-parse --git-path index.lock)\""),
        bash("echo three > a.txt; git commit -qam three"),
        bash("rm -f \"$(git rev-parse --git-path index.lock)\"; git commit -qam three"),
    ];
    let project = worked(&world, turns);
    let results = results(&project);
    assert!(results[1].0.contains("index.lock"), "the agent is told what is in the way: {results:?}");
    // In the user's own checkout it is theirs to remove; the merge says so, and works afterwards.
    let lock = project.path.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let ran = project.mxd(["merge", &project.id(TITLE)]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("index.lock"), "{ran:?}");
    assert_eq!(fs::read_to_string(project.path.join("a.txt")).unwrap(), "one\n", "nothing was half done");
    fs::remove_file(&lock).unwrap();
    project.mxd(["merge", &project.id(TITLE)]).ok();
    assert_eq!(fs::read_to_string(project.path.join("a.txt")).unwrap(), "three\n");
    assert_sound(&project);
}

#[test]
fn collecting_garbage_all_the_while_costs_no_state_that_was_kept() {
    let world = World::on_disk();
    let collect = "(while [ -e a.txt ]; do git gc -q; done) > /dev/null 2>&1 &";
    let mut turns = vec![bash(collect)];
    for number in 0..6 {
        turns.push(bash(&format!("echo {number} > n{number}.txt; echo {number} >> a.txt")));
        // Whoever collects holds locks for moments, and git gives up at once.
        turns.push(bash(&format!(
            "for try in $(seq 100); do git add -A && git commit -q -m n{number} && exit; sleep 0.1; done; exit 1"
        )));
    }
    let project = worked(&world, turns);
    world.git(&project.path, ["gc", "-q", "--prune=now"]);
    let id = project.id(TITLE);
    let kept = json_lines(&project.mxd(["rewind", &id, "--list", "--json"]).ok());
    let changed = kept.iter().filter(|turn| turn["changed"] == true).count();
    assert!(changed >= 6, "{kept:#?}");
    let all = project.mxd(["diff", &id, "--turn", &format!("1..{}", kept.len())]).ok();
    assert!((0..6).all(|number| all.contains(&format!("n{number}.txt"))), "{all}");
}

#[test]
fn files_that_somebody_else_edits_meanwhile_are_not_written_over_unseen() {
    let world = World::on_disk();
    let turns = vec![
        call("read_file", json!({ "files": [{ "path": "a.txt" }] })),
        bash("echo theirs >> a.txt"),
        call("edit_file", json!({ "path": "a.txt", "edits": [{ "old_string": "one", "new_string": "uno" }] })),
        bash("sleep 0.01; echo again > a.txt"),
        call("write_file", json!({ "path": "a.txt", "content": "mine\n" })),
        bash("git commit -qam mine"),
    ];
    let project = worked(&world, turns);
    let results = results(&project);
    println!("{results:#?}");
    // Their line is still there after the edit, and what the last write replaced was not unseen.
    assert!(results[2].0.contains("theirs") || results[2].1, "{results:#?}");
    assert!(results[4].0.contains("not read") || results[4].0.contains("kept") || results[4].1, "{results:#?}");
}
