//! Snapshots: cheap, exact, and nobody notices them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use mxd::base::TurnId;
use mxd::git::snapshot::{FILE_CAP, Snapshot, SnapshotOutcome};
use mxd::git::{LeftOut, WorktreeSpec};
use ulid::Ulid;

use crate::git_support::{Scene, at_home, belongings, commit_all, files, git, odd_name};

fn turn(number: u64) -> TurnId {
    TurnId::from_ulid(Ulid::from_parts(1_730_000_000_000 + number, 0))
}

async fn take(scene: &Scene, wanted: &WorktreeSpec, number: u64) -> SnapshotOutcome {
    scene.worktrees().await.take_snapshot(wanted.task, turn(number), &wanted.path, FILE_CAP).await.unwrap()
}

async fn taken(scene: &Scene, wanted: &WorktreeSpec, number: u64) -> Snapshot {
    match take(scene, wanted, number).await {
        SnapshotOutcome::New { snapshot, .. } => snapshot,
        SnapshotOutcome::Same(last) => panic!("nothing changed since {last:?}"),
    }
}

async fn put_back(
    scene: &Scene,
    wanted: &WorktreeSpec,
    number: u64,
    snapshot: &Snapshot,
) -> mxd::git::snapshot::SnapshotRestore {
    scene.worktrees().await.restore_snapshot(wanted.task, turn(number), &wanted.path, snapshot).await.unwrap()
}

fn objects(scene: &Scene) -> String {
    git(&scene.top, ["count-objects", "-v"])
}

/// A small source of numbers that repeats.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// Does something to a worktree as a shell, a tool or git would.
fn meddle(folder: &Path, dice: &mut Dice) {
    let names = ["a.txt", "dir/b.txt", "new.txt", "deep/er/c.bin", "run.sh", "link", "dir"];
    let path = folder.join(names[dice.roll(names.len())]);
    let clear = |path: &Path| {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            fs::remove_dir_all(path).unwrap();
        } else {
            let _ = fs::remove_file(path);
        }
    };
    let make_room = |path: &Path| {
        let mut above = folder.to_owned();
        for part in path.parent().unwrap().strip_prefix(folder).unwrap().components() {
            above.push(part);
            if !above.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                let _ = fs::remove_file(&above);
                fs::create_dir(&above).unwrap();
            }
        }
    };
    match dice.roll(8) {
        0 | 1 => {
            make_room(&path);
            clear(&path);
            let content: Vec<u8> = (0..dice.roll(2_000)).map(|_| [b'x', b'\r', b'\n', 0, 200][dice.roll(5)]).collect();
            fs::write(&path, content).unwrap();
        }
        2 => clear(&path),
        3 => {
            make_room(&path);
            clear(&path);
            std::os::unix::fs::symlink(["a.txt", "/nowhere", "../.."][dice.roll(3)], &path).unwrap();
        }
        4 => {
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                let mode = [0o644, 0o755][dice.roll(2)];
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        5 => {
            commit_all(folder, "in between");
        }
        6 => {
            git(folder, ["reset", "--quiet", "--hard"]);
        }
        _ => fs::write(folder.join(odd_name()), dice.roll(1_000).to_string()).unwrap(),
    }
}

/// Takes snapshots of states that the seeds make, and goes back and forth between them.
async fn go_back_and_forth(seeds: u64) {
    for seed in 0..seeds {
        let mut dice = Dice(seed);
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let mut states = Vec::new();
        let mut number = 0;
        for _ in 0..6 {
            for _ in 0..=dice.roll(4) {
                meddle(&wanted.path, &mut dice);
            }
            number += 1;
            states.push((take(&scene, &wanted, number).await.snapshot().clone(), files(&wanted.path)));
        }
        fs::write(wanted.path.join("kept.ignored"), "never touched").unwrap();
        for _ in 0..8 {
            let (snapshot, expected) = &states[dice.roll(states.len())];
            number += 1;
            let before = files(&wanted.path);
            let done = put_back(&scene, &wanted, number, snapshot).await;
            let mut now = files(&wanted.path);
            assert!(now.remove(Path::new("kept.ignored")).is_some(), "seed {seed}");
            assert_eq!(&now, expected, "seed {seed}");
            if dice.roll(2) == 0 {
                number += 1;
                put_back(&scene, &wanted, number, &done.before).await;
                assert_eq!(files(&wanted.path), before, "seed {seed}");
            }
        }
        scene.fsck();
    }
}

at_home! {
    async fn a_snapshot_holds_tracked_and_untracked_files_and_not_ignored_ones() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "changed").unwrap();
        fs::write(wanted.path.join("new.txt"), "new").unwrap();
        fs::write(wanted.path.join(".env"), "secret").unwrap();
        fs::remove_file(wanted.path.join("run.sh")).unwrap();
        let snapshot = taken(&scene, &wanted, 1).await;
        let listed = git(&scene.top, ["ls-tree", "-r", "--name-only", &snapshot.tree]);
        assert_eq!(listed.lines().collect::<Vec<_>>(), [".gitignore", "a.txt", "dir/b.txt", "link", "new.txt"]);
        let name = format!("refs/mxd/snapshots/{}/{}", wanted.task, turn(1));
        assert_eq!(git(&scene.top, ["rev-parse", &name]), snapshot.commit);
        assert_eq!(Some(git(&wanted.path, ["rev-parse", "HEAD"])), snapshot.head);
        assert_eq!(scene.worktrees().await.snapshots(wanted.task).await.unwrap(), [snapshot]);
        scene.fsck();
    }

    async fn nothing_new_makes_no_object_and_no_ref() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let first = taken(&scene, &wanted, 1).await;
        let before = objects(&scene);
        for number in 2..5 {
            assert_eq!(take(&scene, &wanted, number).await, SnapshotOutcome::Same(first.clone()));
        }
        fs::write(wanted.path.join(".env"), "ignored").unwrap();
        fs::write(wanted.path.join("a.txt"), fs::read(wanted.path.join("a.txt")).unwrap()).unwrap();
        assert_eq!(take(&scene, &wanted, 5).await, SnapshotOutcome::Same(first.clone()), "written again, and the same");
        assert_eq!(objects(&scene), before);
        assert_eq!(git(&scene.top, ["for-each-ref", "refs/mxd/"]).lines().count(), 1);
        commit_all(&wanted.path, "empty");
        assert_eq!(taken(&scene, &wanted, 6).await.tree, first.tree, "where the branch stood is part of it");
    }

    async fn whoever_only_looks_sees_the_same_state_and_leaves_nothing() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let (worktrees, entry) = (scene.worktrees().await, scene.entry(&wanted));
        let fresh = worktrees.state_read_only(&wanted.path).await.unwrap();
        assert_eq!(fresh, taken(&scene, &wanted, 1).await.tree, "also where nobody has taken one yet");
        fs::write(wanted.path.join("a.txt"), "changed once").unwrap();
        taken(&scene, &wanted, 2).await;
        fs::write(wanted.path.join("a.txt"), "changed\r\n").unwrap();
        // Somebody who looked was killed.
        fs::write(entry.join("mxd-look-999999999-0"), "left").unwrap();
        fs::write(entry.join("mxd-look-999999999-0.lock"), "left").unwrap();
        let before = belongings(&scene, &entry);
        let ours = |name: &str| fs::read(entry.join(name)).unwrap();
        let (index, tree) = (ours("mxd-index"), ours("mxd-tree"));
        let looked = worktrees.state_read_only(&wanted.path).await.unwrap();
        assert_eq!((ours("mxd-index"), ours("mxd-tree")), (index, tree));
        assert_eq!(belongings(&scene, &entry), before);
        let left = fs::read_dir(&entry).unwrap().filter(|found| {
            found.as_ref().unwrap().file_name().to_string_lossy().starts_with("mxd-look-")
        });
        assert_eq!(left.count(), 0);
        assert_eq!(looked, taken(&scene, &wanted, 3).await.tree);
    }

    async fn the_users_index_stash_and_reflogs_are_not_touched() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let path = &wanted.path;
        fs::write(path.join("a.txt"), "stashed").unwrap();
        git(path, ["stash", "--quiet"]);
        fs::write(path.join("a.txt"), "staged").unwrap();
        git(path, ["add", "a.txt"]);
        fs::write(path.join("a.txt"), "not staged").unwrap();
        let entry = scene.entry(&wanted);
        let before = belongings(&scene, &entry);
        let snapshot = taken(&scene, &wanted, 1).await;
        assert_eq!(belongings(&scene, &entry), before);
        fs::write(path.join("a.txt"), "later").unwrap();
        put_back(&scene, &wanted, 2, &snapshot).await;
        assert_eq!(belongings(&scene, &entry), before);
        assert_eq!(fs::read(path.join("a.txt")).unwrap(), b"not staged");
        assert_eq!(git(path, ["show", ":a.txt"]), "staged");
    }

    async fn any_state_comes_back_byte_for_byte_and_the_undo_too() {
        go_back_and_forth(3).await;
    }

    #[ignore = "minutes; `cargo proof`"]
    async fn proof_any_state_comes_back_byte_for_byte_and_the_undo_too() {
        go_back_and_forth(60).await;
    }

    async fn converted_line_endings_come_back_exactly_and_unchanged_files_stay() {
        let scene = Scene::new();
        fs::write(scene.top.join(".gitattributes"), "* text=auto eol=crlf\n").unwrap();
        scene.commit_all("attributes");
        let wanted = scene.made(1).await;
        assert_eq!(fs::read(wanted.path.join("a.txt")).unwrap(), b"one\r\ntwo\r\nthree\r\n");
        let (clean, clean_files) = (taken(&scene, &wanted, 1).await, files(&wanted.path));
        fs::write(wanted.path.join("a.txt"), "one\ntwo\r\nthree\n").unwrap();
        let (mixed, mixed_files) = (taken(&scene, &wanted, 2).await, files(&wanted.path));
        fs::write(wanted.path.join("a.txt"), "one\ntwo\nthree\n").unwrap();
        put_back(&scene, &wanted, 3, &clean).await;
        assert_eq!(files(&wanted.path), clean_files);
        put_back(&scene, &wanted, 4, &mixed).await;
        assert_eq!(files(&wanted.path), mixed_files);
    }

    async fn a_file_of_a_filter_driver_is_stored_as_git_has_it_and_comes_back_through_the_filter() {
        let scene = Scene::new();
        git(&scene.top, ["config", "filter.shout.clean", "tr A-Z a-z"]);
        git(&scene.top, ["config", "filter.shout.smudge", "tr a-z A-Z"]);
        fs::write(scene.top.join(".gitattributes"), "*.big filter=shout\n").unwrap();
        fs::write(scene.top.join("x.big"), "LOUD WORDS\n").unwrap();
        scene.commit_all("filter");
        let wanted = scene.made(1).await;
        let big = wanted.path.join("x.big");
        assert_eq!(fs::read(&big).unwrap(), b"LOUD WORDS\n");
        let untouched = taken(&scene, &wanted, 1).await;
        fs::write(&big, "Mixed Words\n").unwrap();
        let mixed = taken(&scene, &wanted, 2).await;
        put_back(&scene, &wanted, 3, &untouched).await;
        assert_eq!(fs::read(&big).unwrap(), b"LOUD WORDS\n");
        put_back(&scene, &wanted, 4, &mixed).await;
        assert_eq!(fs::read(&big).unwrap(), b"Mixed Words\n");
    }

    async fn split_and_sparse_indexes_are_captured_whole() {
        for setting in ["core.splitIndex", "index.sparse"] {
            let scene = Scene::new();
            fs::create_dir(scene.top.join("other")).unwrap();
            fs::write(scene.top.join("other/c.txt"), "c").unwrap();
            fs::write(scene.top.join(".gitattributes"), "*.txt text\n").unwrap();
            scene.commit_all("other");
            git(&scene.top, ["config", setting, "true"]);
            if setting == "index.sparse" {
                git(&scene.top, ["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
            }
            let wanted = scene.made(1).await;
            git(&wanted.path, ["update-index", "--refresh"]);
            let clean = taken(&scene, &wanted, 1).await;
            assert_eq!(clean.tree, git(&wanted.path, ["rev-parse", "HEAD^{tree}"]), "{setting}");
            let before = files(&wanted.path);
            fs::write(wanted.path.join("dir/b.txt"), "changed\r\n").unwrap();
            let changed = taken(&scene, &wanted, 2).await;
            let listed = git(&scene.top, ["ls-tree", "-r", "--name-only", &changed.tree]);
            assert!(listed.contains("other/c.txt"), "{setting}: {listed}");
            put_back(&scene, &wanted, 3, &clean).await;
            assert_eq!(files(&wanted.path), before, "{setting}");
        }
    }

    async fn a_memory_that_was_damaged_is_made_anew() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let first = taken(&scene, &wanted, 1).await;
        fs::write(scene.entry(&wanted).join("mxd-index"), "not an index").unwrap();
        assert_eq!(take(&scene, &wanted, 2).await, SnapshotOutcome::Same(first));
    }

    async fn large_files_are_left_out_said_so_and_left_alone() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let big = wanted.path.join("big.bin");
        fs::write(&big, vec![1; 5_000]).unwrap();
        fs::write(wanted.path.join("small.txt"), "s").unwrap();
        let worktrees = scene.worktrees().await;
        let taken = worktrees.take_snapshot(wanted.task, turn(1), &wanted.path, 1_000).await.unwrap();
        let SnapshotOutcome::New { snapshot, left_out } = taken else { panic!("nothing new") };
        assert_eq!(left_out, [LeftOut::TooLarge { path: "big.bin".into(), bytes: 5_000 }]);
        assert_eq!(snapshot.left_out, [PathBuf::from("big.bin")]);
        fs::write(&big, vec![2; 10]).unwrap();
        fs::write(wanted.path.join("small.txt"), "other").unwrap();
        let done = put_back(&scene, &wanted, 2, &snapshot).await;
        assert_eq!((done.written, done.left_alone), (vec!["small.txt".into()], vec!["big.bin".into()]));
        assert_eq!(fs::read(&big).unwrap(), vec![2; 10]);
    }

    async fn what_was_ignored_then_or_is_ignored_now_is_not_lost() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let path = &wanted.path;
        fs::write(path.join("notes.ignored"), "was ignored").unwrap();
        fs::write(path.join("seen.txt"), "was seen").unwrap();
        let snapshot = taken(&scene, &wanted, 1).await;
        fs::write(path.join(".gitignore"), "seen.txt\n").unwrap();
        fs::write(path.join("seen.txt"), "precious").unwrap();
        let done = put_back(&scene, &wanted, 2, &snapshot).await;
        assert_eq!(fs::read(path.join("notes.ignored")).unwrap(), b"was ignored");
        assert_eq!(done.left_alone, [PathBuf::from("notes.ignored")]);
        assert_eq!(fs::read(path.join("seen.txt")).unwrap(), b"was seen");
        put_back(&scene, &wanted, 3, &done.before).await;
        assert_eq!(fs::read(path.join("seen.txt")).unwrap(), b"precious");
    }

    async fn a_put_back_cut_short_is_finished_by_the_next() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("new.txt"), "n").unwrap();
        let (snapshot, expected) = (taken(&scene, &wanted, 1).await, files(&wanted.path));
        fs::write(wanted.path.join("a.txt"), "later").unwrap();
        fs::remove_file(wanted.path.join("new.txt")).unwrap();
        // Killed with one file written, one to go, a draft half written, and the lock of our own index left.
        fs::write(wanted.path.join("new.txt"), "n").unwrap();
        fs::write(wanted.path.join(".mxd-draft-a.txt"), "on").unwrap();
        fs::write(scene.entry(&wanted).join("mxd-index.lock"), "").unwrap();
        put_back(&scene, &wanted, 2, &snapshot).await;
        assert_eq!(files(&wanted.path), expected);
    }

    async fn the_oldest_are_forgotten_beyond_a_bound() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        for number in 1..=6 {
            fs::write(wanted.path.join("a.txt"), number.to_string()).unwrap();
            taken(&scene, &wanted, number).await;
        }
        let worktrees = scene.worktrees().await;
        assert_eq!(worktrees.prune_snapshots(wanted.task, 4).await.unwrap(), 2);
        let kept: Vec<TurnId> = worktrees.snapshots(wanted.task).await.unwrap().iter().map(|kept| kept.turn).collect();
        assert_eq!(kept, [turn(3), turn(4), turn(5), turn(6)]);
        assert_eq!(worktrees.prune_snapshots(wanted.task, 4).await.unwrap(), 0);
    }

    async fn a_repository_inside_a_worktree_is_left_out_and_left_alone() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let first = taken(&scene, &wanted, 1).await;
        let nested = wanted.path.join("vendor");
        fs::create_dir(&nested).unwrap();
        git(&nested, ["init", "--quiet"]);
        fs::write(nested.join("file"), "x").unwrap();
        fs::write(wanted.path.join("a.txt"), "changed").unwrap();
        let SnapshotOutcome::New { left_out, .. } = take(&scene, &wanted, 2).await else { panic!("nothing new") };
        assert_eq!(left_out, [LeftOut::Repository("vendor".into())]);
        put_back(&scene, &wanted, 3, &first).await;
        assert_eq!(fs::read(nested.join("file")).unwrap(), b"x");
        assert_eq!(fs::read(wanted.path.join("a.txt")).unwrap(), b"one\ntwo\nthree\n");
    }
}
