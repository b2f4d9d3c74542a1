use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A watched worktree with a few files.
fn watched() -> (tempfile::TempDir, PathBuf, Watches) {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().join("tree");
    fs::create_dir_all(top.join("sub/deep")).unwrap();
    fs::create_dir_all(top.join("ignored/deep")).unwrap();
    fs::create_dir(top.join(".git")).unwrap();
    for name in ["a.txt", "sub/b.txt", "sub/deep/c.txt"] {
        fs::write(top.join(name), "one").unwrap();
    }
    let watches = Watches::default();
    assert!(begin(&watches, &top));
    (folder, top, watches)
}

fn begin(watches: &Watches, top: &Path) -> bool {
    watches.begin(top, &mut |folders| Some(folders.into_iter().filter(|folder| folder != "ignored").collect()))
}

fn changes(watches: &Watches, top: &Path) -> Option<Vec<String>> {
    let changes = watches.changes(top)?;
    Some(changes.into_iter().map(|path| path.display().to_string()).collect())
}

#[test]
fn each_change_is_reported_once_and_nothing_else() {
    type Change = fn(&Path);
    let cases: [(&[&str], Change); 11] = [
        (&[], |top| drop(fs::read(top.join("a.txt")).unwrap())),
        (&[], |top| fs::write(top.join("ignored/deep/x"), "x").unwrap()),
        (&[], |top| fs::write(top.join(".git/index"), "x").unwrap()),
        (&["a.txt"], |top| fs::write(top.join("a.txt"), "two").unwrap()),
        (&["sub/deep/c.txt"], |top| fs::write(top.join("sub/deep/c.txt"), "two").unwrap()),
        (&["sub/new"], |top| fs::write(top.join("sub/new"), "").unwrap()),
        (&["a.txt"], |top| fs::remove_file(top.join("a.txt")).unwrap()),
        (&["a.txt", "sub/a.txt"], |top| fs::rename(top.join("a.txt"), top.join("sub/a.txt")).unwrap()),
        (&["a.txt"], |top| fs::set_permissions(top.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap()),
        (&["link"], |top| symlink("a.txt", top.join("link")).unwrap()),
        (&["folder"], |top| fs::create_dir(top.join("folder")).unwrap()),
    ];
    for (number, (expected, change)) in cases.into_iter().enumerate() {
        let (_folder, top, watches) = watched();
        change(&top);
        assert_eq!(changes(&watches, &top).unwrap(), expected, "case {number}");
        assert_eq!(changes(&watches, &top).unwrap(), [""; 0], "case {number}, once more");
    }
}

#[test]
fn a_worktree_whose_changes_may_be_missed_is_no_longer_watched() {
    type Change = fn(&Path);
    let cases: [(&str, Change); 5] = [
        ("a moved folder", |top| fs::rename(top.join("sub"), top.join("bus")).unwrap()),
        ("a folder's permissions", |top| {
            fs::set_permissions(top.join("sub"), fs::Permissions::from_mode(0o700)).unwrap();
        }),
        ("a repository within", |top| fs::create_dir(top.join("sub/.git")).unwrap()),
        ("the top is moved", |top| fs::rename(top, top.with_extension("away")).unwrap()),
        ("more than is remembered", |top| {
            (0..=MAX_CHANGES).for_each(|number| fs::write(top.join(format!("sub/{number}")), "").unwrap());
        }),
    ];
    for (what, change) in cases {
        let (_folder, top, watches) = watched();
        change(&top);
        assert_eq!(changes(&watches, &top), None, "{what}");
        assert!(watches.lock().folders.is_empty(), "{what}");
    }
}

/// The kernel reports this with one event without a watch.
#[test]
fn a_full_queue_ends_all_watches() {
    let (_folder, top, watches) = watched();
    watches.lock().on_event(-1, ReadFlags::QUEUE_OVERFLOW, None);
    assert_eq!(changes(&watches, &top), None);
    assert!(begin(&watches, &top));
    assert_eq!(changes(&watches, &top).unwrap(), [""; 0]);
}

#[test]
fn unreliable_worktrees_are_not_watched() {
    let (_folder, top, watches) = watched();
    watches.lock().limit = 2;
    assert!(!begin(&watches, &top), "too few watches are left");
    let (_folder, top, watches) = watched();
    fs::hard_link(top.join("a.txt"), top.join("sub/second")).unwrap();
    assert!(!begin(&watches, &top), "a file has two names");
    let (_folder, top, watches) = watched();
    fs::create_dir(top.join("sub/.git")).unwrap();
    assert!(!begin(&watches, &top), "a repository is in it");
    assert!(!begin(&watches, Path::new("/proc/self")), "not a local file system");
}

#[test]
fn a_new_folder_is_watched_with_its_existing_content() {
    let (_folder, top, watches) = watched();
    fs::create_dir_all(top.join("new/deep")).unwrap();
    fs::write(top.join("new/deep/file"), "").unwrap();
    assert_eq!(changes(&watches, &top).unwrap(), ["new"]);
    let (files, folders) = watches.add_folder(&top, Path::new("new")).unwrap();
    assert_eq!((files, folders), (vec!["new/deep/file".into()], vec!["new".into(), "new/deep".into()]));
    fs::write(top.join("new/deep/file"), "more").unwrap();
    assert_eq!(changes(&watches, &top).unwrap(), ["new/deep/file"]);
    fs::remove_dir_all(top.join("new")).unwrap();
    assert_eq!(changes(&watches, &top).unwrap(), ["new", "new/deep", "new/deep/file"]);
    fs::write(top.join("a.txt"), "two").unwrap();
    assert_eq!(changes(&watches, &top).unwrap(), ["a.txt"], "and the rest is watched still");
}
