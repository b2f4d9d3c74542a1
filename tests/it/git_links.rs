//! Links that an agent puts in the place of folders: nothing is read, written or deleted through them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use mxd::base::TurnId;
use mxd::git::merge::{MergeRequest, MergeStrategy};
use mxd::git::snapshot::{FILE_CAP, Snapshot};
use mxd::git::{BranchFate, BranchStart, Error, WorktreeSpec, include};
use ulid::Ulid;

use crate::git_support::{Kind, Scene, at_home, commit_all, files, git, main, removal};

fn turn(number: u64) -> TurnId {
    TurnId::from_ulid(Ulid::from_parts(1_730_000_000_000 + number, u128::from(number)))
}

async fn snapshot(scene: &Scene, wanted: &WorktreeSpec, number: u64) -> Snapshot {
    let worktrees = scene.worktrees().await;
    let taken = worktrees.take_snapshot(wanted.task, turn(number), &wanted.path, FILE_CAP).await.unwrap();
    taken.snapshot().clone()
}

/// A folder of the user that has files of the same names as the repository, and some of its own.
fn victim(scene: &Scene) -> PathBuf {
    let victim = scene.root.join("victim");
    fs::create_dir_all(victim.join("dir")).unwrap();
    for name in ["a.txt", "dir/b.txt", "mine.txt", "dir/mine.txt"] {
        fs::write(victim.join(name), "precious\n").unwrap();
    }
    victim
}

fn is_link(error: &Error, path: &Path, target: &Path) -> bool {
    matches!(error, Error::LinkInPlace { path: at, target: to } if at == path && to == target)
}

/// Puts a link to `target` in the place of a worktree. Returns where the worktree is now.
fn replace(wanted: &WorktreeSpec, target: &Path) -> PathBuf {
    let moved = wanted.path.with_extension("moved");
    fs::rename(&wanted.path, &moved).unwrap();
    symlink(target, &wanted.path).unwrap();
    moved
}

fn refs(scene: &Scene) -> String {
    git(&scene.top, ["for-each-ref"])
}

fn everything(folder: &Path) -> BTreeMap<PathBuf, Kind> {
    files(folder)
}

at_home! {
    async fn a_worktree_replaced_by_a_link_is_neither_rewound_nor_captured_nor_filled() {
        let scene = Scene::new();
        let (worktrees, wanted, victim) = (scene.worktrees().await, scene.made(1).await, victim(&scene));
        let start = snapshot(&scene, &wanted, 1).await;
        fs::write(wanted.path.join("a.txt"), "changed\n").unwrap();
        let changed = snapshot(&scene, &wanted, 2).await;
        assert_ne!(start.tree, changed.tree);
        let (moved, before, known) = (replace(&wanted, &victim), everything(&victim), refs(&scene));

        let refused = worktrees.restore_snapshot(wanted.task, turn(3), &wanted.path, &start).await.unwrap_err();
        assert!(is_link(&refused, &wanted.path, &victim), "{refused}");
        for refused in [
            worktrees.take_snapshot(wanted.task, turn(4), &wanted.path, FILE_CAP).await.map(drop).unwrap_err(),
            worktrees.state(&wanted.path).await.map(drop).unwrap_err(),
            worktrees.state_read_only(&wanted.path).await.map(drop).unwrap_err(),
            worktrees.move_branch(&wanted.path, &wanted.branch, "main").await.map(drop).unwrap_err(),
            worktrees.create(&wanted, &main()).await.map(drop).unwrap_err(),
            worktrees.restore(&wanted).await.map(drop).unwrap_err(),
        ] {
            assert!(is_link(&refused, &wanted.path, &victim), "{refused}");
        }
        assert_eq!((everything(&victim), refs(&scene)), (before, known));

        // Without the link everything is as before.
        fs::remove_file(&wanted.path).unwrap();
        fs::rename(&moved, &wanted.path).unwrap();
        worktrees.restore_snapshot(wanted.task, turn(5), &wanted.path, &start).await.unwrap();
        assert_eq!(fs::read_to_string(wanted.path.join("a.txt")).unwrap(), "one\ntwo\nthree\n");
    }

    async fn a_link_swapped_in_after_the_checkout_was_looked_up_leads_no_call_of_git_there() {
        let scene = Scene::new();
        let (worktrees, wanted, victim) = (scene.worktrees().await, scene.made(1).await, victim(&scene));
        let checkout = worktrees.checkout(&wanted.path).await.unwrap();
        fs::write(victim.join(".git"), fs::read(wanted.path.join(".git")).unwrap()).unwrap();
        replace(&wanted, &victim);
        let before = everything(&victim);
        let refused = mxd::git::status::dirty(&checkout, 10).await.unwrap_err();
        assert!(is_link(&refused, &wanted.path, &victim), "{refused}");
        assert!(checkout.handle().is_err() && include::copy(worktrees.main(), &checkout).await.is_ok());
        fs::write(scene.top.join(include::FILE), "*.ignored\n").unwrap();
        fs::write(scene.top.join("x.ignored"), "x").unwrap();
        assert!(include::copy(worktrees.main(), &checkout).await.is_err());
        assert_eq!(everything(&victim), before);
    }

    async fn a_folder_whose_git_file_names_something_else_is_not_written_to() {
        let scene = Scene::new();
        let (worktrees, wanted) = (scene.worktrees().await, scene.made(1).await);
        let start = snapshot(&scene, &wanted, 1).await;
        fs::write(wanted.path.join("a.txt"), "changed\n").unwrap();
        let other = scene.made(2).await;
        fs::write(wanted.path.join(".git"), fs::read(other.path.join(".git")).unwrap()).unwrap();
        let before = everything(&wanted.path);
        let refused = worktrees.restore_snapshot(wanted.task, turn(2), &wanted.path, &start).await.unwrap_err();
        assert!(matches!(&refused, Error::NotTheCheckout { path, .. } if *path == wanted.path), "{refused}");
        assert_eq!(everything(&wanted.path), before);
        // The next start repairs it, and deleting archives what is in it.
        let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        let archive = removed.archive.unwrap();
        assert_eq!(git(&scene.top, ["show", &format!("{archive}:a.txt")]), "changed");
        assert!(other.path.join("a.txt").exists());
    }

    async fn a_link_above_a_file_is_replaced_by_a_folder_and_not_passed_through() {
        let scene = Scene::new();
        let (worktrees, wanted, victim) = (scene.worktrees().await, scene.made(1).await, victim(&scene));
        fs::write(wanted.path.join("dir/new.txt"), "new\n").unwrap();
        let start = snapshot(&scene, &wanted, 1).await;
        let before = everything(&wanted.path);
        fs::remove_dir_all(wanted.path.join("dir")).unwrap();
        symlink(victim.join("dir"), wanted.path.join("dir")).unwrap();
        let theirs = everything(&victim);
        let linked = snapshot(&scene, &wanted, 2).await;
        assert!(!git(&scene.top, ["ls-tree", "-r", "--name-only", &linked.tree]).contains("dir/"));
        worktrees.restore_snapshot(wanted.task, turn(3), &wanted.path, &start).await.unwrap();
        assert_eq!(everything(&wanted.path), before);
        worktrees.restore_snapshot(wanted.task, turn(4), &wanted.path, &linked).await.unwrap();
        assert_eq!(fs::read_link(wanted.path.join("dir")).unwrap(), victim.join("dir"));
        assert_eq!(everything(&victim), theirs);
    }

    async fn a_task_whose_worktree_is_a_link_is_removed_and_what_it_leads_to_stays() {
        let scene = Scene::new();
        let (worktrees, wanted, victim) = (scene.worktrees().await, scene.made(1).await, victim(&scene));
        commit_all(&wanted.path, "work");
        // The most tempting victim: another worktree, whose .git is a file.
        git(&scene.top, ["worktree", "add", "--quiet", "-b", "review", scene.root.join("review").to_str().unwrap()]);
        for target in [victim, scene.root.join("review")] {
            let wanted = if target.ends_with("review") { scene.made(2).await } else { scene.wanted(1).await };
            let before = everything(&target);
            replace(&wanted, &target);
            let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
            assert!(removed.branch_deleted && !wanted.path.exists());
            assert_eq!(fs::read_link(removed.aside.unwrap()).unwrap(), target);
            assert_eq!(everything(&target), before);
            assert!(!scene.entry(&wanted).exists());
        }
        assert!(scene.root.join("review/.git").is_file());
        scene.fsck();
    }

    async fn folders_of_ours_that_became_links_are_not_emptied() {
        let scene = Scene::new();
        let (worktrees, wanted, victim) = (scene.worktrees().await, scene.made(1).await, victim(&scene));
        let before = everything(&victim);
        let folder = wanted.path.parent().unwrap().to_owned();
        symlink(&victim, folder.join(".trash")).unwrap();
        assert!(worktrees.empty_trash().await.is_err());
        assert!(worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.is_err());
        assert!(wanted.path.join("a.txt").exists());
        fs::remove_file(folder.join(".trash")).unwrap();
        worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        assert_eq!(everything(&victim), before);

        fs::rename(&folder, folder.with_extension("moved")).unwrap();
        symlink(&victim, &folder).unwrap();
        let refused = mxd::git::Worktrees::open(&scene.top, &folder, None).await;
        assert!(matches!(refused, Err(Error::Refused(_))));
        assert_eq!(everything(&victim), before);
    }

    async fn a_merge_into_a_checkout_that_became_a_link_moves_nothing() {
        let scene = Scene::new();
        let (worktrees, above, victim) = (scene.worktrees().await, scene.made(1).await, victim(&scene));
        let below = scene.wanted(2).await;
        worktrees.create(&below, &BranchStart::Branch(above.branch.clone())).await.unwrap();
        fs::write(below.path.join("a.txt"), "work\n").unwrap();
        commit_all(&below.path, "work");
        replace(&above, &victim);
        let (before, known) = (everything(&victim), refs(&scene));
        let request = MergeRequest {
            task: below.task,
            branch: below.branch.clone(),
            target: above.branch.clone(),
            strategy: MergeStrategy::Merge,
            message: "Merge".to_owned(),
            expected: None,
        };
        let refused = worktrees.merge(&request).await.unwrap_err();
        assert!(is_link(&refused, &above.path, &victim), "{refused}");
        assert_eq!((everything(&victim), refs(&scene)), (before, known));
    }

    async fn ignored_files_are_not_copied_through_a_link_in_the_worktree() {
        let scene = Scene::new();
        let (worktrees, wanted, victim) = (scene.worktrees().await, scene.made(1).await, victim(&scene));
        fs::write(scene.top.join(include::FILE), "secrets/\n*.ignored\n").unwrap();
        fs::create_dir(scene.top.join("secrets")).unwrap();
        fs::write(scene.top.join("secrets/x.ignored"), "x").unwrap();
        symlink(&victim, wanted.path.join("secrets")).unwrap();
        let before = everything(&victim);
        let checkout = worktrees.checkout(&wanted.path).await.unwrap();
        let included = include::copy(worktrees.main(), &checkout).await.unwrap();
        assert_eq!((included.files, included.skipped_count), (0, 1));
        assert_eq!(everything(&victim), before);
    }
}
