//! Two processes on one project, two data folders on one repository, and data of another version.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::shop::{self, Shop};
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
    let shop = Shop::open();
    let mut running = Running::start(shop.house.command(&["run", "--json", shop::GOAL]));
    let mut turned_away = 0;
    while running.line_within(PATIENCE).is_ok() {
        if running.seen.len().is_multiple_of(15) {
            // What changes something is refused and names the other; what only reads works. Every other time the first one
            // is held still meanwhile, as by Ctrl-Z: it has not let go of anything.
            let held = running.seen.len().is_multiple_of(30);
            if held {
                running.signal(Signal::STOP);
            }
            let other = shop.house.mxd(&["stop"]);
            if other.code != 0 {
                assert!(other.err.contains(&running.pid().to_string()), "{other:?}");
                turned_away += 1;
            }
            assert_eq!(shop.house.mxd(&["tree"]).code, 0);
            if held {
                running.signal(Signal::CONT);
            }
        }
    }
    assert!(turned_away > 1, "it was let in: {turned_away}");
    assert_eq!(running.end().code, 0, "{}", shop.house.mock.story());
    shop.keep(&[]);
    assert_eq!(&shop.settle(), &super::crashes::undisturbed().0);
}

#[test]
fn a_copy_of_the_data_taken_at_any_moment_can_be_opened() {
    let shop = Shop::open();
    let mut running = Running::start(shop.house.command(&["run", "--json", shop::GOAL]));
    let mut copies = 0;
    while running.line_within(PATIENCE).is_ok() {
        if !running.seen.len().is_multiple_of(40) {
            continue;
        }
        // As a backup does it that knows nothing of us: file after file, while they are written.
        let copy = shop.house.world.root().join(format!("copy-{copies}"));
        let copied = Command::new("cp").args(["-a"]).arg(shop.house.world.data()).arg(&copy).output().unwrap();
        copies += 1;
        let _ = copied;
        let mut tree = shop.house.world.mxd_command(&shop.house.path);
        let output = tree.args(["tree", "--json"]).env("MXD_HOME", &copy).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut check = shop.house.world.mxd_command(&shop.house.path);
        let output = check.args(["check", "--repair"]).env("MXD_HOME", &copy).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // What such a backup took before the session that refers to it is named; everything else is there.
        let lost = said.lines().filter(|line| line.contains("lost") && !line.contains("/blobs/"));
        assert_eq!(lost.collect::<Vec<_>>(), [""; 0], "{said}");
    }
    assert!(copies > 2, "it was over too soon");
    assert_eq!(running.end().code, 0, "{}", shop.house.mock.story());
    shop.keep(&[]);
    assert_eq!(&shop.settle(), &super::crashes::undisturbed().0, "being copied changed something");
}

#[test]
fn data_of_a_newer_version_are_refused_by_every_command_that_writes_and_not_touched() {
    let shop = Shop::open();
    shop.keep(&[]);
    let tree = shop.house.folder.tree();
    let text = fs::read_to_string(&tree).unwrap();
    let newer = text.replacen("\"version\": 1", "\"version\": 2", 1);
    assert_ne!(newer, text);
    fs::write(&tree, &newer).unwrap();
    let before = contents(&shop.house.world.data());
    for args in [&["run", "--json", "Go on."][..], &["stop"], &["task", "new", "More"], &["tree"]] {
        let ran = shop.house.mxd(args);
        assert_ne!(ran.code, 0, "{args:?}: {ran:?}");
        assert!(ran.err.contains("was written by a newer version") && ran.err.contains("use the newer mxd"), "{ran:?}");
    }
    assert!(contents(&shop.house.world.data()) == before, "something was written");
    fs::write(&tree, text).unwrap();
    shop.house.mxd(&["stop"]).ok();
}

#[test]
fn events_and_files_that_only_a_newer_version_knows_survive_the_work_of_this_one() {
    let shop = Shop::open();
    shop.keep(&[]);
    let root = shop.house.tree().unwrap().root_id();
    let session = shop.house.folder.session(root);
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
    shop.house.mxd(&["send", "--help"]);
    let ran = shop.house.mxd(&["run", "--json", "Is there more?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let after = fs::read_to_string(&session).unwrap();
    assert!(after.starts_with(&text), "what was there is there byte for byte");
    assert!(after.len() > text.len(), "and the work went on behind it");
    assert_eq!(shop.house.mxd(&["check"]).code, 0);
    shop.house.mock.assert_clean();
}
