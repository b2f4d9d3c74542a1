use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

const LATER: Duration = Duration::from_mins(1);

/// A worktree with a few files, and its git folder.
fn worktree() -> (tempfile::TempDir, Checkout) {
    let folder = tempfile::tempdir().unwrap();
    let (path, git) = (folder.path().join("tree"), folder.path().join("git"));
    fs::create_dir_all(path.join("sub/empty")).unwrap();
    fs::create_dir_all(git.join("refs/heads")).unwrap();
    fs::create_dir_all(git.join("info")).unwrap();
    for (name, text) in [("a.txt", "one"), ("sub/b.txt", "two"), (".git", "gitdir: elsewhere\n")] {
        fs::write(path.join(name), text).unwrap();
    }
    symlink("a.txt", path.join("link")).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/work\n").unwrap();
    fs::write(git.join("refs/heads/work"), "1".repeat(40)).unwrap();
    (folder, Checkout { path, git_dir: git.clone(), common: git })
}

/// Takes a fingerprint as if a minute had passed since the last change.
fn settled(checkout: &Checkout) -> StatFingerprint {
    let fingerprint = StatFingerprint::at_time(checkout, SystemTime::now() + LATER).unwrap();
    assert!(fingerprint.settled);
    fingerprint
}

#[test]
fn temporary_files_do_not_change_the_fingerprint() {
    let (_folder, checkout) = worktree();
    let before = settled(&checkout);
    assert!(before.is_unchanged(&StatFingerprint::at(&checkout).unwrap()));
    fs::write(checkout.path.join("sub/passing"), "").unwrap();
    fs::remove_file(checkout.path.join("sub/passing")).unwrap();
    assert!(before.is_unchanged(&StatFingerprint::at(&checkout).unwrap()));
}

#[test]
fn every_change_alters_the_fingerprint() {
    type Change = fn(&Path, &Path);
    let changes: [(&str, Change); 14] = [
        ("longer", |tree, _| fs::write(tree.join("a.txt"), "longer").unwrap()),
        ("in a folder", |tree, _| fs::write(tree.join("sub/b.txt"), "longer").unwrap()),
        ("new", |tree, _| fs::write(tree.join("new"), "").unwrap()),
        ("new in a folder that was empty", |tree, _| fs::write(tree.join("sub/empty/new"), "").unwrap()),
        ("a new folder", |tree, _| fs::create_dir(tree.join("folder")).unwrap()),
        ("gone", |tree, _| fs::remove_file(tree.join("sub/b.txt")).unwrap()),
        ("renamed", |tree, _| fs::rename(tree.join("a.txt"), tree.join("c.txt")).unwrap()),
        ("moved", |tree, _| fs::rename(tree.join("a.txt"), tree.join("sub/a.txt")).unwrap()),
        ("executable", |tree, _| fs::set_permissions(tree.join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap()),
        ("another link", |tree, _| {
            fs::remove_file(tree.join("link")).unwrap();
            symlink("sub/b", tree.join("link")).unwrap();
        }),
        ("another branch", |_, git| fs::write(git.join("HEAD"), "ref: refs/heads/other\n").unwrap()),
        ("another commit", |_, git| fs::write(git.join("refs/heads/work"), "2".repeat(40)).unwrap()),
        ("packed refs", |_, git| fs::write(git.join("packed-refs"), "").unwrap()),
        ("ignored", |_, git| fs::write(git.join("info/exclude"), "*.o\n").unwrap()),
    ];
    for (what, change) in changes {
        let (_folder, checkout) = worktree();
        let before = settled(&checkout);
        change(&checkout.path, &checkout.git_dir);
        assert!(!before.is_unchanged(&StatFingerprint::at(&checkout).unwrap()), "{what}");
    }
}

/// A change of the same size within a tick looks the same, so an early fingerprint is not trusted.
#[test]
fn a_fingerprint_within_a_tick_is_not_trusted() {
    let (_folder, checkout) = worktree();
    let changed = fs::metadata(checkout.path.join("a.txt")).unwrap().modified().unwrap();
    assert!(!StatFingerprint::at_time(&checkout, changed + TICK / 2).unwrap().settled);
    for round in 0..200 {
        let before = StatFingerprint::at(&checkout).unwrap();
        fs::write(checkout.path.join("a.txt"), format!("{round:03}")).unwrap();
        assert!(!before.is_unchanged(&StatFingerprint::at(&checkout).unwrap()), "round {round}");
    }
}

#[test]
fn timestamps_without_fractions_get_a_longer_tick() {
    assert_eq!(settled_at(10, 5), Duration::new(10, 5) + TICK);
    assert_eq!(settled_at(10, 0), Duration::new(10, 0) + COARSE_TICK);
    assert_eq!(
        (settled_at(-1, 5), settled_at(i64::MAX, 5).as_secs()),
        (TICK + Duration::from_nanos(5), i64::MAX as u64)
    );
}

#[test]
fn large_or_unreadable_worktrees_have_no_fingerprint() {
    let (_folder, checkout) = worktree();
    for number in 0..MAX_FILES {
        fs::write(checkout.path.join(format!("sub/{number}")), "").unwrap();
    }
    assert_eq!(StatFingerprint::at(&checkout), None);
    let (_folder, checkout) = worktree();
    fs::create_dir(checkout.path.join("sub/.git")).unwrap();
    assert_eq!(StatFingerprint::at(&checkout), None, "commits in a nested repository change no file");
    let gone = Checkout { path: checkout.path.join("nowhere"), ..checkout };
    assert_eq!(StatFingerprint::at(&gone), None);
}
