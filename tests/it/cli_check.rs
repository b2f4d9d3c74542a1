//! `mxd check`, by the real binary: what it finds, what it mends, what it refuses, and that its advice works.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use mxd::base::TaskId;
use mxd::model::event::{AssistantText, ToolResult};
use mxd::model::{Content, TaskNode};
use mxd::store::EngineLock;
use serde_json::Value;

use crate::cli_support::{Project, World, hinted_commands, json_lines, now};

/// A project with a root and a sub task, and something said in the root's session.
fn planted(world: &World) -> (Project<'_>, TaskNode, TaskNode) {
    let project = world.project("calc");
    let (root, child) = (project.task("Root"), project.task("Child"));
    project.plant(&root, std::slice::from_ref(&child));
    say(&project, root.id, &["one", "two"]);
    (project, root, child)
}

fn say(project: &Project<'_>, task: TaskId, words: &[&str]) {
    let body = |word: &&str| AssistantText { text: (*word).to_owned() }.into();
    project.append(task, words.iter().map(body).collect());
}

fn damage(project: &Project<'_>, task: TaskId, bytes: &[u8]) -> PathBuf {
    let path = project.folder.session(task);
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(bytes).unwrap();
    path
}

/// The files beside `path` whose name starts with its name and `ending`.
fn beside(path: &std::path::Path, ending: &str) -> Vec<PathBuf> {
    let start = format!("{}{ending}", path.file_name().unwrap().to_str().unwrap());
    let entries = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&start)).collect()
}

fn titles(project: &Project<'_>) -> Vec<String> {
    let rows = json_lines(&project.mxd(["tree", "--json"]).ok());
    rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_to_check_is_in_order() {
    let world = World::new();
    let out = world.mxd(&world.root(), ["check"]).ok();
    assert!(out.contains("no repository is registered yet"), "{out}");
}

#[test]
fn a_sound_project_is_in_order_with_and_without_repair() {
    let world = World::new();
    let (project, ..) = planted(&world);
    let out = project.mxd(["check"]).ok();
    assert_eq!(out, "calc: 2 sessions, 4 events, 0 blobs: ok\n");
    assert_eq!(project.mxd(["check", "--repair"]).ok(), out);
    assert_eq!(world.mxd(&world.root(), ["check"]).ok(), out, "outside of a repository, every project");
    world.project("other");
    assert_eq!(project.mxd(["check", "--all"]).ok().lines().count(), 2);
}

#[test]
fn a_torn_end_is_reported_kept_and_cut_and_the_advice_works() {
    let world = World::new();
    let (project, root, _) = planted(&world);
    let torn = b"{\"v\":1,\"id\":\"01J\0\0\0";
    let path = damage(&project, root.id, torn);
    let before = fs::read(&path).unwrap();

    let ran = project.mxd(["check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("an interrupted write") && ran.out.contains("[repairable]"), "{ran:?}");
    assert_eq!(fs::read(&path).unwrap(), before, "looking changes nothing");

    let advice = ran.out.lines().last().unwrap().split('`').nth(1).unwrap();
    assert_eq!(advice, "mxd check --repair");
    let mended = world.paste(&project.path, advice);
    assert_eq!(mended.code, 0, "{mended:?}");
    assert!(mended.out.contains("[repaired]") && mended.out.contains(": ok"), "{mended:?}");
    assert_eq!(fs::read(&path).unwrap(), before[..before.len() - torn.len()]);
    let kept = beside(&path, ".torn-");
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read(&kept[0]).unwrap(), torn);
    project.mxd(["check"]).ok();
}

#[test]
fn a_bad_line_in_the_middle_is_counted_and_hides_nothing() {
    let world = World::new();
    let (project, root, _) = planted(&world);
    let path = damage(&project, root.id, b"not an event\n");
    say(&project, root.id, &["three"]);

    let ran = project.mxd(["check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains(&format!("error: {}: line 4", path.display())), "{ran:?}");
    assert!(ran.out.contains("2 sessions, 5 events"), "{ran:?}");
    assert!(project.mxd(["log", &root.id.to_string()]).out.contains("three"));

    let before = fs::read(&path).unwrap();
    let repaired = project.mxd(["check", "--repair"]);
    assert_eq!(repaired.code, 1, "what is lost stays lost: {repaired:?}");
    assert_eq!(fs::read(&path).unwrap(), before, "a line that was once acknowledged is never cut out");
}

#[test]
fn a_missing_and_a_changed_blob_are_named() {
    let world = World::new();
    let (project, root, _) = planted(&world);
    let store = project.store();
    let (gone, changed) = (store.blobs().put(b"gone").unwrap(), store.blobs().put(b"changed").unwrap());
    for (call, blob) in [("1", &gone), ("2", &changed)] {
        let result = ToolResult {
            call: call.to_owned(),
            name: "bash".to_owned(),
            content: Content::Blob(blob.clone()),
            is_error: false,
            images: Vec::new(),
            full: None,
            background: None,
            ended: None,
            cwd: None,
            permission: None,
            duration_ms: 1,
        };
        project.append(root.id, vec![result.into()]);
    }
    project.mxd(["check"]).ok();
    fs::remove_file(project.folder.blob(&gone.blob)).unwrap();
    fs::write(project.folder.blob(&changed.blob), "other").unwrap();

    let ran = project.mxd(["check"]);
    assert_eq!(ran.code, 1);
    let about = |blob: &mxd::model::BlobRef, words: &str| {
        let start = format!("error: {}: ", project.folder.blob(&blob.blob).display());
        assert!(ran.out.lines().any(|line| line.starts_with(&start) && line.contains(words)), "{words:?} in {ran:?}");
    };
    about(&gone, "does not exist");
    about(&changed, "does not match its name");
}

#[test]
fn a_corrupt_tree_is_refused_then_rebuilt_from_the_sessions_with_a_copy_kept() {
    let world = World::new();
    let (project, ..) = planted(&world);
    let path = project.folder.tree();
    for corrupt in [&b""[..], b"{\"version\":1,", b"\0\0\0\0", b"[]", b"{\"version\":1,\"root\":\"x\",\"nodes\":[]}"] {
        fs::write(&path, corrupt).unwrap();
        let err = project.mxd(["tree"]).refused(3, "is damaged");
        let advice = hinted_commands(&err);
        assert_eq!(advice, ["mxd check", "mxd check --repair"]);
        assert_eq!(world.paste(&project.path, &advice[0]).code, 1);
        assert_eq!(fs::read(&path).unwrap(), corrupt);
        let mended = world.paste(&project.path, &advice[1]);
        assert_eq!(mended.code, 0, "{mended:?}");
        assert_eq!(titles(&project), ["Root", "Child"]);
        let copies = beside(&path, ".kept-");
        assert!(copies.iter().any(|copy| fs::read(copy).unwrap() == corrupt), "{copies:?}");
        project.mxd(["check"]).ok();
    }
}

#[test]
fn a_missing_tree_and_a_stale_tree_are_brought_up_to_date() {
    let world = World::new();
    let (project, root, child) = planted(&world);
    fs::remove_file(project.folder.tree()).unwrap();
    // It must not look like a new project, and nothing may begin in its place.
    for args in [&["tree"][..], &["task", "new", "Another"], &["cost"]] {
        let err = project.mxd(args).refused(3, "is gone, but the sessions have 2 tasks");
        assert!(err.contains("`mxd check --repair`"), "{err}");
        assert!(!project.folder.tree().exists());
    }
    let ran = project.mxd(["check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("the tree file is missing; it can be rebuilt from the sessions [repairable]"), "{ran:?}");
    assert_eq!(project.mxd(["check", "--repair"]).code, 0);
    assert_eq!(titles(&project), ["Root", "Child"]);

    project.save(&mxd::model::Tree::new(root));
    let ran = project.mxd(["check", "--repair"]);
    assert!(
        ran.out.contains(&format!("task {} (\"Child\") has a session and is not in the tree", child.id)),
        "{ran:?}"
    );
    assert_eq!(titles(&project), ["Root", "Child"]);
}

#[test]
fn a_tree_of_a_newer_version_is_refused_and_never_touched() {
    let world = World::new();
    let (project, ..) = planted(&world);
    let path = project.folder.tree();
    let newer = fs::read_to_string(&path).unwrap().replacen("\"version\": 1", "\"version\": 99", 1);
    fs::write(&path, &newer).unwrap();
    let err = project.mxd(["tree"]).refused(3, "was written by a newer version (format 99");
    assert!(err.contains("use the newer mxd"), "{err}");
    for args in [&["check"][..], &["check", "--repair"]] {
        let ran = project.mxd(args);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains("newer version"), "{ran:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    }
}

#[test]
fn a_damaged_registry_is_refused_until_it_is_repaired_and_a_newer_one_is_never_touched() {
    let world = World::new();
    let repo = world.repository("calc");
    fs::create_dir_all(world.data()).unwrap();
    let refused = || {
        for args in [&["init"][..], &["projects"], &["tree"]] {
            let ran = world.mxd(&repo, args);
            assert_eq!(ran.code, 3, "{args:?}: {ran:?}");
            assert!(ran.err.contains("projects.json"), "{args:?}: {ran:?}");
        }
    };
    let newer = "{\"version\":99,\"projects\":[]}";
    fs::write(world.home().projects(), newer).unwrap();
    refused();
    let ran = world.mxd(&repo, ["check", "--repair"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.starts_with("error: ") && ran.out.contains("projects.json"), "{ran:?}");
    assert_eq!(fs::read_to_string(world.home().projects()).unwrap(), newer);

    fs::write(world.home().projects(), "{\"version\":1,\"projects\":[").unwrap();
    refused();
    assert_eq!(world.mxd(&repo, ["check"]).code, 1);
    assert_eq!(world.mxd(&repo, ["check", "--repair"]).code, 0);
    world.mxd(&repo, ["init"]).ok();
}

/// The list of projects, without what changes when it is written again.
fn listed(world: &World) -> Vec<Value> {
    json_lines(&world.mxd(&world.root(), ["projects", "--json"]).ok())
}

#[test]
fn a_registry_that_is_gone_or_damaged_is_found_and_rebuilt_from_the_project_folders() {
    let world = World::new();
    let (project, ..) = planted(&world);
    let other = world.project("other");
    world.git(&other.path, ["branch", "release"]);
    assert_eq!(other.mxd(["init", "--base", "release"]).code, 0);
    let whole = listed(&world);
    let text = fs::read_to_string(world.home().projects()).unwrap();
    for damaged in [None, Some(&text[..text.len() / 2])] {
        match damaged {
            Some(damaged) => fs::write(world.home().projects(), damaged).unwrap(),
            None => fs::remove_file(world.home().projects()).unwrap(),
        }
        for args in [&["tree"][..], &["init"], &["task", "new", "X", "--later"], &["gc"]] {
            let ran = project.mxd(args);
            assert_eq!(ran.code, 3, "{args:?}: {ran:?}");
            assert!(hinted_commands(&ran.err).contains(&"mxd check --repair".to_owned()), "{args:?}: {ran:?}");
        }
        let ran = project.mxd(["check"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert_eq!(ran.out.matches("is missing; its data is in").count(), 2, "{ran:?}");
        let ran = project.mxd(["doctor", "--offline"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains("`mxd check --repair`"), "{ran:?}");

        let ran = project.mxd(["check", "--repair"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(listed(&world), whole);
        assert_eq!(titles(&project), ["Root", "Child"]);
        if let Some(damaged) = damaged {
            let copy = ran
                .out
                .lines()
                .find_map(|line| line.strip_prefix("note: ")?.split_once(": backup of the project list"));
            assert_eq!(fs::read_to_string(copy.unwrap().0).unwrap(), damaged);
        }
        project.mxd(["check"]).ok();
    }
}

#[test]
fn what_an_unfinished_write_left_is_removed_by_repair_alone() {
    let world = World::new();
    let (project, ..) = planted(&world);
    let left = project.folder.tree().with_file_name("tree.json.123-0.mxd-tmp");
    fs::write(&left, "half").unwrap();
    assert_eq!(project.mxd(["check"]).code, 1);
    assert!(left.exists());
    assert_eq!(project.mxd(["check", "--repair"]).code, 0);
    assert!(!left.exists());
}

#[test]
fn repair_waits_for_nobody_and_says_who_works_on_the_project() {
    let world = World::new();
    let (project, root, _) = planted(&world);
    damage(&project, root.id, b"{\"v\":1,");
    let before = fs::read(project.folder.session(root.id)).unwrap();
    let lock = EngineLock::acquire(&project.folder.lock(), now()).unwrap();

    let err =
        project.mxd(["check", "--repair"]).refused(1, &format!("process {} has been working", std::process::id()));
    let commands = hinted_commands(&err);
    assert_eq!(commands[..3], ["mxd tree", "mxd log", "mxd check"], "{err}");
    assert_eq!(commands[3], format!("kill {}", std::process::id()));
    assert_eq!(project.mxd(["tree"]).code, 0);
    assert_eq!(project.mxd(["log", &root.id.to_string()]).code, 0);
    let out = project.mxd(["check"]).ok();
    assert!(out.contains("has been working on this project") && out.contains("note: "), "{out}");
    assert!(out.contains("an interrupted write") && !out.contains("warning: "), "{out}");
    assert_eq!(fs::read(project.folder.session(root.id)).unwrap(), before, "nobody wrote");

    drop(lock);
    assert!(project.folder.lock().exists(), "the file stays");
    assert_eq!(project.mxd(["check", "--repair"]).code, 0);
}

#[test]
fn a_project_whose_repository_is_gone_is_checked_and_said_to_be_gone() {
    let world = World::new();
    let (project, ..) = planted(&world);
    fs::remove_dir_all(&project.path).unwrap();
    let out = world.mxd(&world.root(), ["check"]).ok();
    assert!(out.contains("the repository folder does not exist") && out.contains(": ok"), "{out}");
}

#[test]
fn an_event_of_a_newer_version_is_a_note_and_no_problem() {
    let world = World::new();
    let (project, root, _) = planted(&world);
    let path = project.folder.session(root.id);
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    let line = last.replace("\"type\":\"assistant_text\"", "\"type\":\"hologram\"");
    fs::write(&path, text.replace(last, &line)).unwrap();
    let out = project.mxd(["check"]).ok();
    assert!(out.starts_with("note: ") && out.contains("(hologram)"), "{out}");
    assert!(project.mxd(["log", &root.id.to_string()]).ok().contains("hologram (unknown to this version)"));
}

#[test]
fn one_project_in_use_does_not_keep_the_others_from_being_mended() {
    let world = World::new();
    let (project, root, _) = planted(&world);
    let other = world.project("other");
    damage(&project, root.id, b"{\"v\":1,");
    let _lock = EngineLock::acquire(&other.folder.lock(), now()).unwrap();
    let ran = project.mxd(["check", "--all", "--repair"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("error: other: not checked: process "), "{ran:?}");
    assert!(ran.out.contains("[repaired]") && ran.out.contains("calc: 2 sessions, 4 events"), "{ran:?}");
}

#[test]
fn one_session_that_cannot_be_read_does_not_hide_the_others() {
    let world = World::new();
    let (project, root, child) = planted(&world);
    let path = project.folder.session(child.id);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();

    let ran = project.mxd(["check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains(&format!("error: {}: not checked: ", path.display())), "{ran:?}");
    assert!(ran.out.contains("1 session, 3 events"), "{ran:?}");
    let tree = project.mxd(["tree"]);
    assert!(tree.code == 0 && tree.err.contains("warning: cannot read"), "{tree:?}");
    assert!(tree.out.contains("Root") && tree.out.contains("Child"), "{tree:?}");
    assert!(project.mxd(["log", &root.id.to_string()]).ok().contains("two"));
}

#[test]
fn a_damaged_tree_does_not_hide_a_session_that_is_named_in_full() {
    let world = World::new();
    let (project, root, _) = planted(&world);
    fs::write(project.folder.tree(), "{").unwrap();
    assert!(project.mxd(["log", &root.id.to_string()]).ok().contains("two"));
    project.mxd(["log", &root.id.short()]).refused(3, "is damaged");
}

#[test]
fn a_damaged_tree_that_nobody_remembers_is_moved_aside() {
    let world = World::new();
    let project = world.project("calc");
    fs::create_dir_all(project.folder.tree().parent().unwrap()).unwrap();
    fs::write(project.folder.tree(), "half").unwrap();
    let ran = project.mxd(["check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("a repair moves it aside [repairable]"), "{ran:?}");
    let mended = project.mxd(["check", "--repair"]);
    assert_eq!(mended.code, 0, "{mended:?}");
    assert!(!project.folder.tree().exists());
    assert_eq!(fs::read(&beside(&project.folder.tree(), ".kept-")[0]).unwrap(), b"half");
    assert_eq!(project.mxd(["tree"]).ok(), "no tasks yet\n");
}

#[test]
fn a_repository_that_is_not_registered_is_said_to_be_so() {
    let world = World::new();
    let _ = planted(&world);
    let out = world.mxd(&world.repository("stranger"), ["check"]).ok();
    assert!(out.starts_with("note: ") && out.contains("stranger is not registered yet"), "{out}");
    assert!(out.contains("calc: 2 sessions"), "{out}");
}

#[test]
fn a_secret_that_others_can_read_is_said_and_closed() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let root = world.root();
    world.mxd(&root, ["config", "set", "authGroups.main.provider", "anthropic"]).ok();
    world.mxd(&root, ["config", "set", "authGroups.main.apiKey", "sk-ant-api03-abcdefgh"]).ok();
    let file = world.home().config();
    world.mxd(&root, ["check"]).ok();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = world.mxd(&root, ["check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("it holds a secret and is readable by other users [repairable]"), "{ran:?}");
    world.mxd(&root, ["check", "--repair"]).ok();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    world.mxd(&root, ["check"]).ok();
}
