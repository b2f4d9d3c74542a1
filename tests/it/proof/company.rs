//! Two processes on one project, two data folders on one repository, and data of another version.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::scenario::{self, Scenario};
use crate::engine_support::{PATIENCE, Running};

/// Returns every file below a folder with its content, but for locks, logs and indexes that follow from the rest.
fn contents(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut all = std::collections::BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                if !["logs", "search", "worktrees"].contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if !["lock", "log"].iter().any(|ending| name.ends_with(ending)) && !name.contains("search") {
                all.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn a_second_process_is_turned_away_and_disturbs_nothing() {
    let scenario = Scenario::open();
    let mut running = Running::start(scenario.fixture.command(&["run", "--json", scenario::GOAL]));
    let mut turned_away = 0;
    while running.line_within(PATIENCE).is_ok() {
        if running.seen.len().is_multiple_of(15) {
            // What would need an engine of its own is refused; what only reads works, also while the first process is
            // held still, as by Ctrl-Z: it has not let go of anything.
            let other = scenario.fixture.mxd(&["run", "--budget", "1"]);
            if other.code != 0 {
                assert!(other.err.contains("--budget cannot change an engine that is already running"), "{other:?}");
                turned_away += 1;
            }
            let held = running.seen.len().is_multiple_of(30);
            if held {
                running.signal(Signal::STOP);
            }
            assert_eq!(scenario.fixture.mxd(&["tree"]).code, 0);
            if held {
                running.signal(Signal::CONT);
            }
        }
    }
    assert!(turned_away > 1, "it was let in: {turned_away}");
    assert_eq!(running.end().code, 0, "{}", scenario.fixture.mock.story());
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), &super::crashes::undisturbed().0);
}

#[test]
fn a_copy_of_the_data_taken_at_any_moment_can_be_opened() {
    let scenario = Scenario::open();
    let mut running = Running::start(scenario.fixture.command(&["run", "--json", scenario::GOAL]));
    let mut copies = 0;
    while running.line_within(PATIENCE).is_ok() {
        if !running.seen.len().is_multiple_of(40) {
            continue;
        }
        // As a backup does it that knows nothing of us: file after file, while they are written.
        let copy = scenario.fixture.world.root().join(format!("copy-{copies}"));
        let copied = Command::new("cp").args(["-a"]).arg(scenario.fixture.world.data()).arg(&copy).output().unwrap();
        copies += 1;
        let _ = copied;
        let mut tree = scenario.fixture.world.mxd_command(&scenario.fixture.path);
        let output = tree.args(["tree", "--json"]).env("MXD_HOME", &copy).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut check = scenario.fixture.world.mxd_command(&scenario.fixture.path);
        let output = check.args(["check", "--repair"]).env("MXD_HOME", &copy).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // What such a backup took before the session that refers to it is named; everything else is there.
        let lost = said.lines().filter(|line| line.contains("lost") && !line.contains("/blobs/"));
        assert_eq!(lost.collect::<Vec<_>>(), [""; 0], "{said}");
    }
    assert!(copies > 2, "it was over too soon");
    assert_eq!(running.end().code, 0, "{}", scenario.fixture.mock.story());
    scenario.keep(&[]);
    assert_eq!(&scenario.settle(), &super::crashes::undisturbed().0, "being copied changed something");
}

#[test]
fn data_of_a_newer_version_are_refused_by_every_command_that_writes_and_not_touched() {
    let scenario = Scenario::open();
    scenario.keep(&[]);
    let tree = scenario.fixture.folder.tree();
    let text = fs::read_to_string(&tree).unwrap();
    let newer = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert_ne!(newer, text);
    fs::write(&tree, &newer).unwrap();
    let before = contents(&scenario.fixture.world.data());
    for args in [&["run", "--json", "Go on."][..], &["stop"], &["task", "new", "More"], &["tree"]] {
        let ran = scenario.fixture.mxd(args);
        assert_ne!(ran.code, 0, "{args:?}: {ran:?}");
        assert!(ran.err.contains("was written by a newer version") && ran.err.contains("use the newer mxd"), "{ran:?}");
    }
    assert!(contents(&scenario.fixture.world.data()) == before, "something was written");
    fs::write(&tree, text).unwrap();
    scenario.fixture.mxd(&["stop"]).ok();
}

#[test]
fn events_and_files_that_only_a_newer_version_knows_survive_the_work_of_this_one() {
    let scenario = Scenario::open();
    scenario.keep(&[]);
    let root = scenario.fixture.tree().unwrap().root_id();
    let session = scenario.fixture.folder.session(root);
    let last = fs::read_to_string(&session).unwrap().lines().last().unwrap().to_owned();
    let last: serde_json::Value = serde_json::from_str(&last).unwrap();
    let foreign = serde_json::json!({
        "v": 1, "id": "7ZZZZZZZZZ0000000000000000", "parent": last["id"], "ts": "2026-01-01T00:00:00.000Z",
        "type": "of_tomorrow", "body": { "what": ["nobody", "knows"] },
    });
    let line = format!("{foreign}\n");
    let mut text = fs::read_to_string(&session).unwrap();
    text.push_str(&line);
    fs::write(&session, &text).unwrap();
    // The digests are of a program that is older than the session.
    scenario.fixture.mxd(&["send", "--help"]);
    let ran = scenario.fixture.mxd(&["run", "--json", "Is there more?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let after = fs::read_to_string(&session).unwrap();
    assert!(after.starts_with(&text), "what was there is there byte for byte");
    assert!(after.len() > text.len(), "and the work went on behind it");
    assert_eq!(scenario.fixture.mxd(&["check"]).code, 0);
    scenario.fixture.mock.assert_clean();
}
