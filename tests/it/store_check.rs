//! `mxd check`: every kind of damage is said in a sentence, and what is safe to mend is mended without loss.

use std::path::Path;

use mxd::base::{TaskId, Timestamp};
use mxd::model::content::{Content, Image};
use mxd::model::event::{Body, TaskChanged, ToolResult};
use mxd::model::{TaskNode, Tree};
use mxd::store::check::{self, CheckSeverity, Outcome, ProjectFiles, Repair, Report};
use mxd::store::tree_file::TreeFile;

use crate::support::sim_disk::SimDisk;
use crate::support::store::{Bench, block_on, result, text};

struct Project {
    disk: SimDisk,
    bench: Bench,
    places: ProjectFiles,
    tasks: Vec<TaskId>,
}

impl Project {
    /// A root and two sub tasks, each with a session that remembers its node.
    fn new() -> Self {
        let disk = SimDisk::new();
        let bench = Bench::new(disk.clone(), "/project");
        let tasks = vec![bench.task(), bench.task(), bench.task()];
        let places = ProjectFiles {
            tree: bench.folder.join("tree.json"),
            sessions: bench.sessions_folder(),
            blobs: bench.folder.join("blobs"),
        };
        let project = Self { disk, bench, places, tasks };
        let tree = project.tree();
        TreeFile::new(project.bench.disk.clone(), &project.places.tree).save(&tree).unwrap();
        for node in tree.all() {
            project.append(node.id, TaskChanged::Set { node: Box::new(node.clone()) });
            project.append(node.id, text("hello"));
        }
        project
    }

    fn tree(&self) -> Tree {
        let node = |at: usize| TaskNode::new(self.tasks[at], format!("task {at}"), "engineer", Timestamp::EPOCH);
        let mut tree = Tree::new(node(0));
        tree.insert(node(1), self.tasks[0]).unwrap();
        tree.insert(node(2), self.tasks[1]).unwrap();
        tree
    }

    fn append(&self, task: TaskId, body: impl Into<Body>) {
        let store = self.bench.store();
        block_on(store.append(task, None, body)).unwrap();
    }

    fn check(&self, repair: Repair) -> Report {
        check::check(&self.bench.disk, &self.places, repair).unwrap()
    }

    fn mend(&self) -> Report {
        self.check(Repair::Yes { now: Timestamp::from_millis(1_800_000_000_000) })
    }

    fn add_to(&self, path: &Path, bytes: &[u8]) {
        let mut content = self.disk.content(path).unwrap();
        content.extend_from_slice(bytes);
        self.disk.put(path, &content);
    }
}

fn sentences(report: &Report) -> String {
    report.findings.iter().map(|finding| finding.sentence.as_str()).collect::<Vec<_>>().join("\n")
}

fn has(report: &Report, severity: CheckSeverity, outcome: Outcome, words: &str) -> bool {
    let fits = |f: &&check::CheckFinding| f.severity == severity && f.outcome == outcome && f.sentence.contains(words);
    report.findings.iter().any(|finding| fits(&finding))
}

#[test]
fn a_project_in_order_has_nothing_to_say() {
    let project = Project::new();
    let report = project.check(Repair::No);
    assert_eq!(sentences(&report), "");
    assert_eq!((report.sessions, report.events, report.has_problems()), (3, 6, false));
    let changes = project.disk.changes();
    assert_eq!(project.mend().findings, []);
    assert_eq!(project.disk.changes(), changes, "nothing to mend, nothing touched");
}

#[test]
fn looking_changes_nothing_and_mending_loses_nothing() {
    let project = Project::new();
    let log = project.bench.log(project.tasks[1]);
    project.add_to(&log, b"bad line\n{\"v\":1,\"id\":\"01AR");
    let before = project.disk.content(&log).unwrap();
    let report = project.check(Repair::No);
    assert!(report.has_problems());
    assert!(has(&report, CheckSeverity::Error, Outcome::Remains, "line 3: unreadable"), "{report:?}");
    assert!(has(&report, CheckSeverity::Warning, Outcome::Repairable, "an interrupted write"), "{report:?}");
    assert_eq!(project.disk.content(&log).unwrap(), before);
    let report = project.mend();
    assert!(has(&report, CheckSeverity::Warning, Outcome::Repaired, "interrupted write"), "{report:?}");
    assert_eq!(report.events, 6);
    let report = project.check(Repair::No);
    assert!(!sentences(&report).contains("cut off"), "{report:?}");
    assert!(report.has_problems(), "a bad line has to stay");
    project
        .disk
        .put(&log, before.strip_suffix(b"{\"v\":1,\"id\":\"01AR").unwrap().strip_suffix(b"bad line\n").unwrap());
    let bare = project.disk.content(&log).unwrap();
    project.disk.put(&log, bare.strip_suffix(b"\n").unwrap());
    assert!(has(&project.mend(), CheckSeverity::Warning, Outcome::Repaired, "has no line end"));
    assert_eq!(project.disk.content(&log).unwrap(), bare);
}

#[test]
fn oddities_in_a_session_are_named() {
    let project = Project::new();
    let log = project.bench.log(project.tasks[0]);
    let text = String::from_utf8(project.disk.content(&log).unwrap()).unwrap();
    let second = text.lines().nth(1).unwrap();
    let novel = second.replace("assistant_text", "novelty").replacen(&second[13..39], "01ARZ3NDEKTSV4RRFFQ69G5FAV", 1);
    let unreadable =
        second.replace("{\"text\":\"hello\"}", "7").replacen(&second[13..39], "01ARZ3NDEKTSV4RRFFQ69G5FAW", 1);
    let orphan = second.replacen("\"parent\":\"", "\"parent\":\"01ARZ3NDEKTSV4RRFFQ69G5FAX\",\"was\":\"", 1);
    project.add_to(&log, format!("{novel}\n{unreadable}\n{orphan}\ntorn {orphan}\n").as_bytes());
    let report = project.check(Repair::No);
    assert!(
        has(&report, CheckSeverity::Note, Outcome::Noted, "types that this version does not know (novelty)"),
        "{report:?}"
    );
    assert!(has(&report, CheckSeverity::Warning, Outcome::Remains, "line 4: a known type"), "{report:?}");
    assert!(has(&report, CheckSeverity::Warning, Outcome::Remains, "lines 5, 6: a repeated event"), "{report:?}");
    assert!(
        has(&report, CheckSeverity::Warning, Outcome::Remains, "lines 5, 6: its parent event is not"),
        "{report:?}"
    );
    assert!(
        has(&report, CheckSeverity::Warning, Outcome::Remains, "line 6: the rest of an interrupted write"),
        "{report:?}"
    );
}

#[test]
fn a_lost_or_damaged_tree_is_rebuilt_from_the_sessions() {
    let project = Project::new();
    let load = || TreeFile::new(project.bench.disk.clone(), &project.places.tree).load();
    for damage in [None, Some(&b""[..]), Some(b"{\"version\":1,\"root\":"), Some(b"{\"version\":1}")] {
        match damage {
            None => mxd::store::Disk::remove(&project.disk, &project.places.tree).unwrap(),
            Some(bytes) => project.disk.put(&project.places.tree, bytes),
        }
        assert!(project.check(Repair::No).has_problems());
        let report = project.mend();
        assert!(!report.has_problems(), "{report:?}");
        assert_eq!(load().unwrap().unwrap().tree, project.tree());
        assert_eq!(project.check(Repair::No).findings, []);
    }
    project.disk.put(&project.places.tree, b"{\"version\":9}");
    let report = project.mend();
    assert!(has(&report, CheckSeverity::Error, Outcome::Remains, "newer version"), "{report:?}");
    assert_eq!(project.disk.content(&project.places.tree).unwrap(), b"{\"version\":9}");
}

#[test]
fn what_sessions_know_better_wins_and_a_forgotten_session_is_found() {
    let project = Project::new();
    let mut tree = project.tree();
    let later = Timestamp::from_millis(5);
    let node = tree.edit(project.tasks[2], |node| (node.title, node.updated_at) = ("newer".to_owned(), later)).unwrap();
    project.append(project.tasks[2], TaskChanged::Set { node: Box::new(node.clone()) });
    let stranger = project.bench.task();
    project.append(stranger, text("nobody recorded my task"));
    let report = project.check(Repair::No);
    assert!(
        has(&report, CheckSeverity::Warning, Outcome::Repairable, "changed after the tree was last saved"),
        "{report:?}"
    );
    assert!(has(&report, CheckSeverity::Warning, Outcome::Repairable, "is not in the tree"), "{report:?}");
    assert!(!project.mend().has_problems());
    let found = TreeFile::new(project.bench.disk.clone(), &project.places.tree).load().unwrap().unwrap().tree;
    assert_eq!(found.get(project.tasks[2]).unwrap().title, "newer");
    assert_eq!(found.get(project.tasks[2]).unwrap().parent, Some(project.tasks[1]));
    assert_eq!(found.get(stranger).unwrap().parent, Some(project.tasks[0]));
    assert_eq!(project.check(Repair::No).findings, []);
}

#[test]
fn blobs_and_unfinished_files_are_looked_at() {
    let project = Project::new();
    let store = project.bench.store();
    let good = store.blobs().put(b"good").unwrap();
    let bad = store.blobs().put(b"bad").unwrap();
    let gone = store.blobs().put(b"gone").unwrap();
    let image = Image { data: good.clone(), media_type: "image/png".to_owned(), name: None };
    let Body::ToolResult(empty) = result("c") else { unreachable!() };
    let full = Some(bad.clone());
    let content = Content::Blob(gone.clone());
    block_on(store.append(project.tasks[0], None, ToolResult { images: vec![image], full, content, ..empty })).unwrap();
    store.close();
    assert_eq!(project.check(Repair::No).findings, []);
    project.disk.put(&store.blobs().path(&bad.blob), b"worse");
    mxd::store::Disk::remove(&project.disk, &store.blobs().path(&gone.blob)).unwrap();
    let unfinished = project.places.blobs.join("x.17-0.mxd-tmp");
    project.disk.put(&unfinished, b"half");
    let report = project.mend();
    assert!(has(&report, CheckSeverity::Error, Outcome::Remains, "its content does not match its name"), "{report:?}");
    assert!(has(&report, CheckSeverity::Error, Outcome::Remains, "it does not exist"), "{report:?}");
    assert!(has(&report, CheckSeverity::Warning, Outcome::Repaired, "unfinished write"), "{report:?}");
    assert_eq!((report.findings.len(), report.blobs), (3, 2));
    assert_eq!(project.disk.content(&unfinished), None);
}

#[test]
fn a_removed_task_does_not_come_back() {
    let project = Project::new();
    project.append(project.tasks[2], TaskChanged::Removed);
    let report = project.check(Repair::No);
    assert!(
        has(&report, CheckSeverity::Warning, Outcome::Repairable, "was removed after the tree was last saved"),
        "{report:?}"
    );
    project.mend();
    let tree = TreeFile::new(project.bench.disk.clone(), &project.places.tree).load().unwrap().unwrap().tree;
    assert_eq!(tree.all().map(|node| node.id).collect::<Vec<_>>(), project.tasks[..2]);
    assert_eq!(project.check(Repair::No).findings, []);
}
