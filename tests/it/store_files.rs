//! The small files: the tree, the registry, blobs. Old or new, never a mixture, never overwritten blindly.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mxd::base::{Fault as Report, FaultKind, ProjectId, Timestamp};
use mxd::model::{Project, TaskNode, Tree};
use mxd::store::disk::{self, Disk, Open};
use mxd::store::registry::Registry;
use mxd::store::tree_file::TreeFile;
use mxd::store::{Blobs, RealDisk, StoreError, replace};

use crate::support::sim_disk::{Fault, Forget, SimDisk};
use crate::support::store::{Bench, beside, clock};

fn tree_of(bench: &Bench, title: &str) -> Tree {
    let mut tree = Tree::new(TaskNode::new(bench.task(), title, "engineer", Timestamp::EPOCH));
    let root = tree.root_id();
    tree.insert(TaskNode::new(bench.task(), "child", "engineer", Timestamp::EPOCH), root).unwrap();
    tree
}

fn project(name: &str) -> Project {
    let ids = mxd::base::IdSource::new(clock());
    Project {
        id: ProjectId::fresh(&ids),
        name: name.to_owned(),
        path: PathBuf::from("/src").join(name),
        base_branch: "main".to_owned(),
        created_at: Timestamp::EPOCH,
        former: Vec::new(),
        extra: serde_json::Map::new(),
    }
}

#[test]
fn a_tree_comes_back_with_what_a_newer_version_added() {
    let disk = SimDisk::new();
    let bench = Bench::new(disk.clone(), "/project");
    let path = bench.folder.join("tree.json");
    let mut file = TreeFile::new(bench.disk.clone(), &path);
    assert!(file.load().unwrap().is_none());
    let tree = tree_of(&bench, "root");
    file.save(&tree).unwrap();
    let text = String::from_utf8(disk.content(&path).unwrap()).unwrap();
    assert!(text.starts_with("{\n  \"version\": 1,\n  \"root\": ") && text.ends_with("}\n"), "{text}");
    let text = text.replacen("\"version\": 1,", "\"version\": 1, \"novel\": {\"a\": [1.5]},", 1);
    let text = text.replacen("\"title\": \"root\",", "\"title\": \"root\", \"shade\": \"deep\",", 1);
    disk.put(&path, text.as_bytes());
    let mut loaded = file.load().unwrap().unwrap();
    assert_eq!(loaded.notes, Vec::<String>::new());
    let root = loaded.tree.root_id();
    loaded.tree.edit(root, |node| node.title = "renamed".to_owned()).unwrap();
    file.save(&loaded.tree).unwrap();
    let text = String::from_utf8(disk.content(&path).unwrap()).unwrap();
    assert!(
        text.contains("\"novel\": {") && text.contains("\"shade\": \"deep\"") && text.contains("renamed"),
        "{text}"
    );
}

#[test]
fn what_is_newer_or_damaged_is_not_saved_over_and_a_copy_is_kept() {
    let disk = SimDisk::new();
    let bench = Bench::new(disk.clone(), "/project");
    let path = bench.folder.join("tree.json");
    let mut file = TreeFile::new(bench.disk.clone(), &path);
    let tree = tree_of(&bench, "root");
    let damaged =
        ["", "{", "null", "{\"version\":1}", "{\"version\":\"1\"}", "{\"version\":1,\"root\":7,\"nodes\":[]}"];
    for (number, text) in damaged.iter().chain(&["{\"version\":2,\"anything\":true}"]).enumerate() {
        disk.put(&path, text.as_bytes());
        for _ in 0..2 {
            let refused = file.save(&tree).unwrap_err();
            let newer = text.contains("\"version\":2");
            assert_eq!(matches!(refused, StoreError::Newer { found: 2, known: 1, .. }), newer, "{refused}");
            assert_eq!(matches!(refused, StoreError::Corrupt { backup: Some(_), .. }), !newer, "{refused}");
            let report = Report::from(refused);
            assert_eq!(report.kind, FaultKind::Config);
            assert!(report.message.contains("tree.json") && !report.hints.is_empty(), "{report}");
        }
        assert_eq!(disk.content(&path).unwrap(), text.as_bytes(), "nothing was changed");
        let kept = beside(bench.disk.as_ref(), &path, "kept-");
        assert_eq!(kept.len(), number + 1, "one copy of each, however often it is refused");
        assert!(kept.iter().any(|copy| disk.content(copy).unwrap() == text.as_bytes()));
        // The copy is as durable as the refusal.
        let after = disk.lose_power(Forget::Everything);
        assert!(kept.iter().all(|copy| after.content(copy) == disk.content(copy)));
    }
    let kept = file.overwrite(&tree).unwrap().unwrap();
    assert_eq!(disk.content(&kept).unwrap(), b"{\"version\":2,\"anything\":true}");
    file.save(&tree).unwrap();
}

#[test]
fn a_file_without_tasks_is_damaged() {
    let disk = SimDisk::new();
    let bench = Bench::new(disk.clone(), "/project");
    let path = bench.folder.join("tree.json");
    disk.put(&path, format!("{{\"version\":1,\"root\":\"{}\",\"nodes\":[]}}", bench.task()).as_bytes());
    let error = TreeFile::new(bench.disk.clone(), &path).load().unwrap_err();
    assert!(error.to_string().contains("it has no tasks"), "{error}");
}

#[test]
fn a_replacement_that_fails_leaves_the_old_content_and_no_rubbish() {
    for fault in Fault::ALL {
        for k in 1.. {
            let disk = SimDisk::new();
            let path = Path::new("/project/file");
            disk.put(path, b"old");
            disk.fail(k, 1, fault);
            let outcome = replace::replace(&disk, path, b"new content");
            if disk.mend() < k {
                outcome.unwrap();
                assert!(k > 4, "create, write, save, rename, save the folder");
                break;
            }
            let found = disk.content(path).unwrap();
            assert!(found == b"old" || (outcome.is_err() && found == b"new content"), "{fault:?} at {k}");
            let names = disk.list(Path::new("/project")).unwrap();
            assert!(outcome.is_ok() || names.len() == 1, "{fault:?} at {k}: {names:?}");
            replace::replace(&disk, path, b"newer").unwrap();
            assert_eq!(disk.lose_power(Forget::Everything).content(path).unwrap(), b"newer");
        }
    }
}

#[test]
fn a_name_that_was_never_saved_is_saved_the_next_time() {
    // The rename succeeds and the folder cannot be saved: the caller is told. Trying again must not believe its eyes.
    let disk = SimDisk::new();
    let blobs = Blobs::new(Arc::new(disk.clone()), "/project/blobs");
    let fails: Vec<_> = (1..20)
        .filter(|k| {
            disk.fail(*k, 1, Fault::Io);
            let failed = blobs.put(format!("blob {k}").as_bytes()).is_err();
            disk.mend();
            let reference = blobs.put(format!("blob {k}").as_bytes()).unwrap();
            let after = Blobs::new(Arc::new(disk.lose_power(Forget::Everything)), "/project/blobs");
            assert_eq!(after.read(&reference.blob).unwrap(), format!("blob {k}").as_bytes(), "failed at call {k}");
            failed
        })
        .collect();
    assert!(fails.len() >= 6, "{fails:?}");
}

#[test]
fn the_same_bytes_are_kept_once_and_a_half_blob_is_made_whole() {
    let disk = SimDisk::new();
    let blobs = Blobs::new(Arc::new(disk.clone()), "/project/blobs");
    let first = blobs.put(b"same").unwrap();
    let renames = |disk: &SimDisk| disk.history().iter().filter(|call| call.starts_with("rename")).count();
    assert_eq!(renames(&disk), 1);
    assert_eq!(blobs.put(b"same").unwrap(), first);
    assert_eq!(renames(&disk), 1, "it was there");
    assert_eq!(first.bytes, 4);
    assert!(blobs.is_intact(&first.blob).unwrap());
    disk.put(&blobs.path(&first.blob), b"sa");
    assert!(!blobs.is_intact(&first.blob).unwrap());
    blobs.put(b"same").unwrap();
    assert_eq!(blobs.read(&first.blob).unwrap(), b"same");
    let empty = blobs.put(b"").unwrap();
    assert_eq!(blobs.read(&empty.blob).unwrap(), b"");
    let missing = "0".repeat(64).parse().unwrap();
    assert!(blobs.read(&missing).unwrap_err().to_string().contains(&"0".repeat(64)));
    for name in ["../../etc/passwd", "", &"A".repeat(64), &"0".repeat(63)] {
        assert!(name.parse::<mxd::model::BlobId>().is_err(), "{name}");
    }
}

#[test]
fn a_path_is_registered_once_and_what_others_added_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data").join("projects.json");
    let registry = Registry::new(Arc::new(RealDisk), &path);
    assert_eq!(registry.list().unwrap(), []);
    let one = registry.register(project("one")).unwrap();
    let again = registry.register(Project { id: project("x").id, ..one.clone() }).unwrap();
    assert_eq!(again, one);
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replacen("\"version\": 1,", "\"version\": 1,\n  \"novel\": 7,", 1);
    std::fs::write(&path, text.replacen("\"name\": \"one\",", "\"name\": \"one\", \"icon\": \"x\",", 1)).unwrap();
    registry.register(project("two")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"novel\": 7") && text.contains("\"icon\": \"x\""), "{text}");
    assert_eq!(registry.list().unwrap().len(), 2);
    assert_eq!(registry.find(one.id).unwrap().map(|project| project.name), Some("one".to_owned()));
    assert!(registry.find_path(Path::new("/src/two")).unwrap().is_some());
    std::fs::write(&path, "{ not json").unwrap();
    assert!(matches!(registry.register(project("three")), Err(StoreError::Corrupt { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ not json");
}

#[test]
fn the_real_disk_keeps_to_the_contract() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let disk = RealDisk;
    let inner = folder.path().join("a").join("b");
    disk.create_dirs(&inner).unwrap();
    disk.create_dirs(&inner).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    let path = inner.join("file");
    assert!(disk.open(&path, Open::Append).is_err() && disk.open(&path, Open::Read).is_err());
    let mut file = disk.open(&path, Open::CreateNew).unwrap();
    assert!(disk.open(&path, Open::CreateNew).is_err());
    assert_eq!(mode(&path), 0o600);
    file.append(b"hello ").unwrap();
    disk.open(&path, Open::Append).unwrap().append(b"world").unwrap();
    file.append(b"!").unwrap();
    file.sync().unwrap();
    let mut buffer = [0; 32];
    assert_eq!((file.read_at(&mut buffer, 6).unwrap(), &buffer[..6]), (6, &b"world!"[..]));
    assert_eq!(file.read_at(&mut buffer, 99).unwrap(), 0);
    file.set_len(5).unwrap();
    assert_eq!(file.len().unwrap(), 5);
    file.append(b".").unwrap();
    assert_eq!(disk::read_all(&disk, &path).unwrap().unwrap(), b"hello.");
    assert_eq!(disk::read_all(&disk, &inner.join("none")).unwrap(), None);
    disk.rename(&path, &inner.join("other")).unwrap();
    disk.sync_dir(&inner).unwrap();
    assert_eq!(disk.list(&inner).unwrap(), ["other"]);
    disk.remove(&inner.join("other")).unwrap();
    assert_eq!(disk.list(&inner).unwrap(), Vec::<std::ffi::OsString>::new());
    assert_eq!(disk.list(&inner.join("none")).unwrap(), Vec::<std::ffi::OsString>::new());
}
