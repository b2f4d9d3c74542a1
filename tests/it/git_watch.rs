//! Snapshots of a watched worktree: the same trees as by a look at every file, whatever happens to the files, and no look
//! at every file where nothing calls for it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use mxd::base::TurnId;
use mxd::git::snapshot::{FILE_CAP, SnapshotOutcome};
use mxd::git::{SnapshotCounts, WorktreeSpec, Worktrees};
use ulid::Ulid;

use crate::git_support::{Scene, at_home, commit_all, git};
use crate::support::dice::{self, Dice};

async fn take(worktrees: &Worktrees, wanted: &WorktreeSpec, number: u64) -> SnapshotOutcome {
    let turn = TurnId::from_ulid(Ulid::from_parts(1_730_000_000_000 + number, 0));
    worktrees.take_snapshot(wanted.task, turn, &wanted.path, FILE_CAP).await.unwrap()
}

/// Removes whatever is at a path.
fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes the folders above a path, over files and links that are in the way.
fn make_room(top: &Path, path: &Path) {
    let mut above = top.to_owned();
    for part in path.parent().unwrap().strip_prefix(top).unwrap().components() {
        above.push(part);
        if !above.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            clear(&above);
            fs::create_dir(&above).unwrap();
        }
    }
}

/// Does something to a worktree. The same numbers do the same.
fn meddle(top: &Path, dice: &mut Dice) {
    let names = [
        "a.txt",
        "dir/b.txt",
        "new.txt",
        "deep/er/c.bin",
        "run.sh",
        "link",
        "dir",
        "build/out.o",
        "x.ignored",
        "deep/y.ignored",
        "dir/sub/z",
        "late/file",
    ];
    let (path, other) = (top.join(dice.pick(&names)), top.join(dice.pick(&names)));
    match dice.below(16) {
        0..=4 => {
            make_room(top, &path);
            clear(&path);
            fs::write(&path, format!("{}\r\n", dice.below(5))).unwrap();
        }
        5 | 6 => clear(&path),
        7 => {
            make_room(top, &path);
            clear(&path);
            symlink(dice.pick(&["a.txt", "/nowhere", "../.."]), &path).unwrap();
        }
        8 => {
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                let mode = *dice.pick(&[0o644, 0o755]);
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        9 | 10 => {
            if path.symlink_metadata().is_ok() && !other.starts_with(&path) && !path.starts_with(&other) {
                make_room(top, &other);
                if path.symlink_metadata().is_ok() {
                    clear(&other);
                    fs::rename(&path, &other).unwrap();
                }
            }
        }
        11 => {
            let rules = dice.pick(&["*.ignored\n.env\nbuild/\n", "*.bin\nlate/\n", ""]);
            fs::write(top.join(".gitignore"), rules).unwrap();
        }
        12 => {
            make_room(top, &path);
            clear(&path);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("inner"), "i").unwrap();
        }
        13 => {
            // Git adds no repository that has no commit.
            if !top.join("nested").exists() {
                commit_all(top, "in between");
            }
        }
        14 => drop(git(top, ["reset", "--quiet", "--hard"])),
        _ => {
            let nested = top.join("nested");
            if nested.exists() {
                clear(&nested);
            } else {
                git(top, ["init", "--quiet", "nested"]);
                fs::write(nested.join("file"), "n").unwrap();
            }
        }
    }
}

/// Two worktrees suffer the same; of one the watch tells, at the other every file is looked at each time.
async fn compare_watch_and_look(rounds: u64) {
    let (mut changes, mut full) = (0, 0);
    for seed in 0..dice::number("MXD_ROUNDS", rounds) {
        let (watched, looked) = (Scene::new(), Scene::new());
        let (one, other) = (watched.made(1).await, looked.made(1).await);
        let worktrees = watched.worktrees().await;
        let mut dice = [Dice::new(seed), Dice::new(seed)];
        for round in 1..=30 {
            let meddlings = dice[0].below(3).max(dice[1].below(3));
            for _ in 0..=meddlings {
                meddle(&one.path, &mut dice[0]);
                meddle(&other.path, &mut dice[1]);
            }
            let by_watch = take(&worktrees, &one, round).await;
            let by_look = take(&looked.worktrees().await, &other, round).await;
            let (by_watch, by_look) = (by_watch.snapshot(), by_look.snapshot());
            if by_watch.tree != by_look.tree {
                let list = |scene: &Scene, tree: &str| git(&scene.top, ["ls-tree", "-r", tree]);
                assert_eq!(list(&watched, &by_watch.tree), list(&looked, &by_look.tree), "seed {seed}, round {round}");
            }
            assert_eq!(by_watch.left_out, by_look.left_out, "seed {seed}, round {round}");
        }
        watched.fsck();
        let looks = worktrees.snapshot_counts();
        (changes, full) = (changes + looks.changes, full + looks.full);
    }
    assert!(
        changes > 4 * rounds && full > 4 * rounds,
        "both ways are used: {changes} by changes, {full} at every file"
    );
}

at_home! {
    async fn what_a_watch_tells_gives_the_same_trees_as_a_look_at_every_file() {
        compare_watch_and_look(2).await;
    }

    #[ignore = "minutes; `cargo proof`"]
    async fn proof_what_a_watch_tells_gives_the_same_trees_as_a_look_at_every_file() {
        compare_watch_and_look(20).await;
    }

    async fn turns_cost_what_they_changed_and_not_a_look_at_every_file() {
        let scene = Scene::new();
        fs::create_dir(scene.top.join("many")).unwrap();
        (0..300).for_each(|number| fs::write(scene.top.join(format!("many/{number}")), "").unwrap());
        scene.commit_all("many");
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        take(&worktrees, &wanted, 1).await;
        let mut number = 2;
        for _ in 0..10 {
            assert!(matches!(take(&worktrees, &wanted, number).await, SnapshotOutcome::Same(_)));
            number += 1;
        }
        for edit in 0..10 {
            fs::write(wanted.path.join(format!("many/{edit}")), "edited").unwrap();
            fs::write(wanted.path.join("x.ignored"), edit.to_string()).unwrap();
            assert!(matches!(take(&worktrees, &wanted, number).await, SnapshotOutcome::New { .. }));
            number += 1;
        }
        fs::create_dir_all(wanted.path.join("brand/new")).unwrap();
        fs::write(wanted.path.join("brand/new/file"), "new").unwrap();
        let SnapshotOutcome::New { snapshot, .. } = take(&worktrees, &wanted, number).await else { panic!("a new file") };
        assert_eq!(git(&scene.top, ["cat-file", "-p", &format!("{}:brand/new/file", snapshot.tree)]), "new");
        fs::write(wanted.path.join("brand/new/file"), "changed").unwrap();
        assert!(matches!(take(&worktrees, &wanted, number + 1).await, SnapshotOutcome::New { .. }));
        assert_eq!(worktrees.snapshot_counts(), SnapshotCounts { full: 1, changes: 12, none: 10 });
        worktrees.unwatch(&wanted.path);
        assert!(matches!(take(&worktrees, &wanted, number + 2).await, SnapshotOutcome::Same(_)));
        assert_eq!(worktrees.snapshot_counts().full, 2, "unwatched, everything is looked at");
    }

    /// What was captured once stays in a snapshot when it is ignored later, also where a watch told of it.
    async fn a_file_that_a_watch_told_of_stays_when_it_is_ignored_later() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        take(&worktrees, &wanted, 1).await;
        fs::write(wanted.path.join("notes.txt"), "kept").unwrap();
        take(&worktrees, &wanted, 2).await;
        fs::write(wanted.path.join(".gitignore"), "notes.txt\n").unwrap();
        let taken = take(&worktrees, &wanted, 3).await;
        assert_eq!(git(&scene.top, ["cat-file", "-p", &format!("{}:notes.txt", taken.snapshot().tree)]), "kept");
        assert_eq!(worktrees.snapshot_counts(), SnapshotCounts { full: 2, changes: 1, none: 0 });
    }
}
