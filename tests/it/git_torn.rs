//! What a loss of power leaves half written: objects without content, refs that lead to them, a torn index.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use mxd::base::TurnId;
use mxd::git::snapshot::{FILE_CAP, Snapshot};
use mxd::git::{BranchFate, WorktreeSpec, WorktreeState};
use ulid::Ulid;

use crate::git_support::{Scene, at_home, commit_all, git, git_output, main, removal};

fn turn(number: u64) -> TurnId {
    TurnId::from_ulid(Ulid::from_parts(1_730_000_000_000 + number, u128::from(number)))
}

async fn snapshot(scene: &Scene, wanted: &WorktreeSpec, number: u64) -> Snapshot {
    let worktrees = scene.worktrees().await;
    let taken = worktrees.take_snapshot(wanted.task, turn(number), &wanted.path, FILE_CAP).await.unwrap();
    taken.snapshot().clone()
}

fn loose_objects(scene: &Scene) -> BTreeSet<PathBuf> {
    let objects = fs::read_dir(scene.top.join(".git/objects")).unwrap().map(|entry| entry.unwrap().path());
    let folders = objects.filter(|path| path.file_name().unwrap().len() == 2);
    folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect()
}

fn truncate(path: &Path, length: u64) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    fs::set_permissions(path, permissions).unwrap();
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

fn refs(scene: &Scene, below: &str) -> Vec<String> {
    git(&scene.top, ["for-each-ref", "--format=%(refname)", below]).lines().map(str::to_owned).collect()
}

fn assert_sound(scene: &Scene) {
    scene.fsck();
    let collected = git_output(&scene.top, ["gc", "--quiet", "--prune=now"]);
    assert!(collected.status.success(), "{}", String::from_utf8_lossy(&collected.stderr));
}

at_home! {
    async fn objects_that_a_loss_of_power_emptied_are_gone_after_the_next_start_and_git_is_content() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("new.txt"), "kept\n").unwrap();
        let kept = snapshot(&scene, &wanted, 1).await;
        let before = loose_objects(&scene);
        fs::write(wanted.path.join("dir/b.txt"), "lost\n").unwrap();
        fs::write(wanted.path.join("new.txt"), "lost\n").unwrap();
        snapshot(&scene, &wanted, 2).await;
        let written: Vec<PathBuf> = loose_objects(&scene).difference(&before).cloned().collect();
        assert!(written.len() >= 4, "{written:?}");
        written.iter().for_each(|object| truncate(object, 0));
        assert!(!git_output(&scene.top, ["fsck", "--full"]).status.success());

        let worktrees = scene.worktrees().await;
        let mended = worktrees.repair_torn_writes().await.unwrap();
        assert_eq!(mended.refs.len(), 1, "{mended:?}");
        assert_eq!(mended.objects.len(), written.len(), "{mended:?}");
        assert_eq!(refs(&scene, "refs/mxd").len(), 1);
        assert_sound(&scene);
        // What was kept before is there, and the files are kept anew.
        assert_eq!(git(&scene.top, ["show", &format!("{}:new.txt", kept.commit)]), "kept");
        let again = snapshot(&scene, &wanted, 3).await;
        assert_eq!(git(&scene.top, ["show", &format!("{}:new.txt", again.commit)]), "lost");
        assert!(worktrees.repair_torn_writes().await.unwrap().is_empty());
        assert_sound(&scene);
    }

    async fn each_kind_of_object_alone_makes_its_snapshot_go_also_if_only_its_end_is_missing() {
        for (kind, length) in [("commit", 0), ("tree", 0), ("blob", 0), ("commit", 20), ("tree", 20), ("blob", 12)] {
            let scene = Scene::new();
            let wanted = scene.made(1).await;
            fs::write(wanted.path.join("new.txt"), "some words that take some room\n").unwrap();
            let kept = snapshot(&scene, &wanted, 1).await;
            let object = match kind {
                "commit" => kept.commit.clone(),
                "tree" => kept.tree.clone(),
                _ => git(&scene.top, ["rev-parse", &format!("{}:new.txt", kept.commit)]),
            };
            truncate(&scene.top.join(".git/objects").join(&object[..2]).join(&object[2..]), length);
            let mended = scene.worktrees().await.repair_torn_writes().await.unwrap();
            assert_eq!(mended.refs.len(), 1, "{kind}, {length}: {mended:?}");
            assert_eq!(mended.objects.len(), 1, "{kind}, {length}: {mended:?}");
            assert_sound(&scene);
        }
    }

    async fn a_ref_without_content_goes_and_a_branch_returns_to_its_last_commit_that_is_there() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let first = commit_all(&wanted.path, "first");
        fs::write(wanted.path.join("new.txt"), "x\n").unwrap();
        let last = commit_all(&wanted.path, "last");
        truncate(&scene.top.join(".git/objects").join(&last[..2]).join(&last[2..]), 0);
        let torn = scene.top.join(".git/refs/mxd/seen").join(wanted.task.to_string());
        fs::create_dir_all(torn.parent().unwrap()).unwrap();
        fs::write(&torn, "").unwrap();
        let mended = scene.worktrees().await.repair_torn_writes().await.unwrap();
        assert_eq!(mended.branches, [format!("refs/heads/{}", wanted.branch)]);
        assert_eq!(mended.refs, [format!("refs/mxd/seen/{}", wanted.task)]);
        assert_eq!(git(&wanted.path, ["rev-parse", "HEAD"]), first);
        assert_eq!(fs::read_to_string(wanted.path.join("new.txt")).unwrap(), "x\n");
    }

    async fn what_is_whole_is_left_alone() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("new.txt"), "x\n").unwrap();
        snapshot(&scene, &wanted, 1).await;
        let (objects, known) = (loose_objects(&scene), refs(&scene, "refs"));
        assert!(scene.worktrees().await.repair_torn_writes().await.unwrap().is_empty());
        assert_eq!((loose_objects(&scene), refs(&scene, "refs")), (objects, known));
    }

    async fn a_worktree_with_a_torn_index_or_head_is_mended_and_can_be_removed() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        for (number, file, length) in [(1, "index", 0), (2, "index", 50), (3, "HEAD", 0)] {
            for mended_first in [true, false] {
                let wanted = scene.made(number * 10 + u64::from(mended_first)).await;
                fs::write(wanted.path.join("a.txt"), "changed\n").unwrap();
                fs::write(wanted.path.join("new.txt"), "new\n").unwrap();
                truncate(&scene.entry(&wanted).join(file), length);
                if mended_first && file == "index" {
                    assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::Present);
                    let status = git(&wanted.path, ["status", "--porcelain"]);
                    assert_eq!(status.lines().collect::<Vec<_>>(), [" M a.txt", "?? new.txt"]);
                }
                let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
                let archive = removed.archive.unwrap();
                assert_eq!(git(&scene.top, ["show", &format!("{archive}:a.txt")]), "changed");
                assert_eq!(git(&scene.top, ["show", &format!("{archive}:new.txt")]), "new");
                assert!(removed.branch_deleted && !wanted.path.exists());
            }
        }
        scene.fsck();
    }
}
