use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("refs/heads/a")).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    read(&Dir::open(folder).unwrap()).unwrap().refs.into_keys().collect()
}

#[test]
fn a_loose_ref_hides_the_packed_one() {
    let folder = scene();
    fs::write(
        folder.path().join("packed-refs"),
        format!("# pack-refs with: peeled\n{ONE} refs/heads/a/b\n^{TWO}\n{ONE} refs/tags/t\n"),
    )
    .unwrap();
    fs::write(folder.path().join("refs/heads/a/b"), format!("{TWO}\n")).unwrap();
    let found = read(&Dir::open(folder.path()).unwrap()).unwrap();
    assert_eq!(found.refs["refs/heads/a/b"], Oid::from_str(TWO).unwrap());
    assert_eq!(found.refs["refs/tags/t"], Oid::from_str(ONE).unwrap());
}

#[test]
fn a_symbolic_ref_is_no_commit() {
    let folder = scene();
    fs::create_dir_all(folder.path().join("refs/remotes/origin")).unwrap();
    fs::write(folder.path().join("refs/remotes/origin/HEAD"), "ref: refs/remotes/origin/main\n").unwrap();
    let found = read(&Dir::open(folder.path()).unwrap()).unwrap();
    assert!(found.refs.is_empty());
    assert_eq!(found.symbolic["refs/remotes/origin/HEAD"], "refs/remotes/origin/main");
}

#[test]
fn links_devices_and_nonsense_are_left_out() {
    let folder = scene();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x"), format!("{ONE}\n")).unwrap();
    let heads = folder.path().join("refs/heads");
    symlink(outside.path().join("x"), heads.join("link")).unwrap();
    symlink(outside.path(), heads.join("folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, heads.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
    fs::write(heads.join("short"), "1234\n").unwrap();
    fs::write(heads.join("zero"), format!("{}\n", "0".repeat(40))).unwrap();
    fs::write(heads.join("x.lock"), format!("{ONE}\n")).unwrap();
    fs::write(heads.join("good"), format!("{ONE}\n")).unwrap();
    assert_eq!(names(folder.path()), ["refs/heads/good"]);
}

#[test]
fn refs_of_one_checkout_and_of_matrix_are_not_shared() {
    let folder = scene();
    let lines =
        ["refs/mxd/undo/1", "refs/bisect/bad", "refs/worktree/x", "refs/stash", "refs/heads/../x", "refs/heads/y"];
    let packed = lines.map(|name| format!("{ONE} {name}\n")).concat();
    fs::write(folder.path().join("packed-refs"), packed).unwrap();
    assert_eq!(names(folder.path()), ["refs/heads/y"]);
}

#[test]
fn the_stash_is_read_from_its_log() {
    let folder = scene();
    fs::create_dir_all(folder.path().join("logs/refs")).unwrap();
    let log = format!("{} {ONE} A <a@x> 1 +0000\tWIP\n{ONE} {TWO} A <a@x> 2 +0000\tWIP\nnonsense\n", "0".repeat(40));
    fs::write(folder.path().join("logs/refs/stash"), log).unwrap();
    let entries = stash(&Dir::open(folder.path()).unwrap());
    assert_eq!(entries, [ONE, TWO].map(|hex| Oid::from_str(hex).unwrap()));
}
