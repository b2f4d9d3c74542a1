//! Putting worktrees away and bringing them back: nothing that is only there may be lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mxd::git::{BranchFate, Error, LeftOut, RestoreOutcome, Uncommitted, WorktreeSpec, WorktreeState};

use crate::git_support::{Scene, at_home, belongings, commit_all, files, git, main, odd_name, removal};

fn archive_of(wanted: &WorktreeSpec) -> String {
    format!("refs/mxd/archive/{}", wanted.task)
}

/// Changes of every kind that are not committed.
fn make_a_mess(folder: &Path) {
    fs::write(folder.join("a.txt"), "one\r\nTWO\nno line break").unwrap();
    fs::remove_file(folder.join("dir/b.txt")).unwrap();
    fs::remove_dir(folder.join("dir")).unwrap();
    fs::write(folder.join("dir"), "a file where a folder was").unwrap();
    fs::remove_file(folder.join("link")).unwrap();
    fs::create_dir(folder.join("link")).unwrap();
    fs::write(folder.join("link/inner"), [0, 159, 146, 150]).unwrap();
    fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(folder.join(odd_name()), "odd").unwrap();
    std::os::unix::fs::symlink("/nowhere/at all", folder.join("dangling")).unwrap();
    fs::write(folder.join("tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(folder.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    fs::write(folder.join("x.ignored"), "ignored").unwrap();
}

at_home! {
    async fn a_clean_merged_worktree_goes_without_a_trace() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        assert_eq!((removed.archive, removed.aside, removed.branch_deleted), (None, None, true));
        assert!(!wanted.path.exists() && !scene.entry(&wanted).exists());
        assert!(!scene.has_ref(&wanted.branch) && !scene.has_ref(&archive_of(&wanted)));
        let again = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        assert_eq!((again.archive, again.branch_deleted), (None, false));
        let nothing = worktrees.restore(&wanted).await.unwrap_err();
        assert!(matches!(nothing, Error::NothingSaved(task) if task == wanted.task));
    }

    async fn uncommitted_work_comes_back_byte_for_byte() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("committed.txt"), "c").unwrap();
        let tip = commit_all(&wanted.path, "work");
        make_a_mess(&wanted.path);
        let mut before = files(&wanted.path);
        before.remove(Path::new("x.ignored"));
        let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        let archive = removed.archive.unwrap();
        assert_eq!(git(&scene.top, ["rev-parse", &archive_of(&wanted)]), archive);
        assert_eq!(git(&scene.top, ["rev-parse", &format!("{archive}^1")]), tip);
        assert!(!wanted.path.exists() && !scene.has_ref(&wanted.branch));

        let RestoreOutcome { worktree, uncommitted } = worktrees.restore(&wanted).await.unwrap();
        assert_eq!(worktree, WorktreeState::Created);
        assert!(matches!(uncommitted, Uncommitted::Restored(paths) if paths.len() == 10));
        assert_eq!(files(&wanted.path), before);
        assert_eq!(git(&wanted.path, ["rev-parse", "HEAD"]), tip);
        assert_eq!(git(&wanted.path, ["diff", "--cached", "--name-only"]), "", "nothing is staged");
        assert!(matches!(worktrees.restore(&wanted).await.unwrap().uncommitted, Uncommitted::Restored(_)), "again is fine");
        assert_eq!(files(&wanted.path), before);
        scene.fsck();
    }

    async fn line_endings_that_git_would_convert_come_back_as_they_were() {
        let scene = Scene::new();
        fs::write(scene.top.join(".gitattributes"), "*.txt text eol=crlf\n*.id ident\n").unwrap();
        fs::write(scene.top.join("c.txt"), "one\r\ntwo\r\n").unwrap();
        fs::write(scene.top.join("v.id"), "$Id$\n").unwrap();
        scene.commit_all("attributes");
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        let untouched = fs::read(wanted.path.join("a.txt")).unwrap();
        assert_eq!(untouched, b"one\r\ntwo\r\nthree\r\n");
        fs::write(wanted.path.join("c.txt"), "one\ntwo\r\nmixed\n").unwrap();
        fs::write(wanted.path.join("new.txt"), "only\nline feeds\n").unwrap();
        fs::write(wanted.path.join("v.id"), "$Id: mine $\n").unwrap();
        let before = files(&wanted.path);
        worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        worktrees.restore(&wanted).await.unwrap();
        assert_eq!(files(&wanted.path), before);
    }

    async fn unmerged_commits_are_kept_and_merged_ones_need_no_archive() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("new.txt"), "n").unwrap();
        let tip = commit_all(&wanted.path, "work");
        let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        assert!(removed.archive.is_some() && removed.branch_deleted);
        let restored = worktrees.restore(&wanted).await.unwrap();
        assert_eq!(restored, RestoreOutcome { worktree: WorktreeState::Created, uncommitted: Uncommitted::None });
        assert_eq!(git(&wanted.path, ["rev-parse", "HEAD"]), tip);

        let merged = scene.made(2).await;
        fs::write(merged.path.join("other.txt"), "o").unwrap();
        commit_all(&merged.path, "other");
        git(&scene.top, ["merge", "--quiet", "--no-edit", &merged.branch]);
        assert_eq!(worktrees.remove(&removal(&merged, BranchFate::Delete)).await.unwrap().archive, None);
    }

    async fn a_kept_branch_stays_and_the_worktree_comes_back_from_it() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        let removed = worktrees.remove(&removal(&wanted, BranchFate::Keep)).await.unwrap();
        assert!(!removed.branch_deleted && scene.has_ref(&wanted.branch));
        assert_eq!(worktrees.restore(&wanted).await.unwrap().worktree, WorktreeState::Created);
        assert_eq!(files(&wanted.path), files(&scene.top));
    }

    async fn archiving_touches_nothing_of_the_user() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(scene.top.join("a.txt"), "stashed").unwrap();
        git(&scene.top, ["stash", "--quiet"]);
        fs::write(scene.top.join("a.txt"), "staged").unwrap();
        git(&scene.top, ["add", "a.txt"]);
        make_a_mess(&wanted.path);
        let main_git = scene.top.join(".git");
        let before = (belongings(&scene, &main_git), files(&scene.top));
        scene.worktrees().await.remove(&removal(&wanted, BranchFate::Keep)).await.unwrap();
        let mut after = belongings(&scene, &main_git);
        after.retain(|path, _| before.0.contains_key(path));
        assert_eq!((after, files(&scene.top)), before);
    }

    async fn a_worktree_on_another_branch_is_archived_with_both() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("task.txt"), "t").unwrap();
        let tip = commit_all(&wanted.path, "task");
        git(&wanted.path, ["checkout", "--quiet", "--detach", "main"]);
        fs::write(wanted.path.join("side.txt"), "s").unwrap();
        let side = commit_all(&wanted.path, "side");
        let archive = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap().archive.unwrap();
        assert_eq!(git(&scene.top, ["rev-parse", &format!("{archive}^@")]), format!("{side}\n{tip}"));
    }

    async fn an_earlier_archive_is_not_lost_by_a_later_one() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("first.txt"), "1").unwrap();
        let first = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap().archive.unwrap();
        worktrees.create(&wanted, &main()).await.unwrap();
        fs::write(wanted.path.join("second.txt"), "2").unwrap();
        let second = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap().archive.unwrap();
        assert_ne!(first, second);
        git(&scene.top, ["merge-base", "--is-ancestor", &first, &archive_of(&wanted)]);
        worktrees.restore(&wanted).await.unwrap();
        assert!(wanted.path.join("second.txt").exists() && !wanted.path.join("first.txt").exists());
    }

    async fn a_removal_cut_short_at_any_step_is_finished_and_keeps_the_work() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        for (number, steps) in (0..4).enumerate() {
            let wanted = scene.made(number as u64).await;
            fs::write(wanted.path.join("new.txt"), "n").unwrap();
            let done = removal(&wanted, BranchFate::Keep);
            if steps > 0 {
                // The archive is written, and nothing else: what a removal of a copy would leave.
                let archive = worktrees.remove(&done).await.unwrap().archive.unwrap();
                if steps < 3 {
                    worktrees.restore(&wanted).await.unwrap();
                }
                assert_eq!(git(&scene.top, ["rev-parse", &archive_of(&wanted)]), archive);
            }
            if steps == 2 {
                // The folder is in the trash.
                fs::create_dir_all(scene.data.join("worktrees/.trash")).unwrap();
                fs::rename(&wanted.path, scene.data.join("worktrees/.trash/x")).unwrap();
            }
            let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
            assert!(removed.archive.is_some() && removed.branch_deleted, "{steps}");
            assert!(!wanted.path.exists() && !scene.entry(&wanted).exists(), "{steps}");
            worktrees.restore(&wanted).await.unwrap();
            assert_eq!(fs::read(wanted.path.join("new.txt")).unwrap(), b"n", "{steps}");
        }
        worktrees.empty_trash().await.unwrap();
        scene.fsck();
    }

    async fn what_cannot_be_archived_is_moved_aside_and_not_deleted() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        let nested = wanted.path.join("vendor/clone");
        fs::create_dir_all(&nested).unwrap();
        git(&nested, ["init", "--quiet"]);
        fs::write(nested.join("deep.txt"), "d").unwrap();
        commit_all(&nested, "nested");
        fs::write(wanted.path.join("new.txt"), "n").unwrap();
        let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        assert_eq!(removed.left_out, [LeftOut::Repository("vendor/clone".into())]);
        let aside = removed.aside.unwrap();
        assert_eq!(fs::read(aside.join("vendor/clone/deep.txt")).unwrap(), b"d");
        assert!(removed.archive.is_some());
        worktrees.empty_trash().await.unwrap();
        assert!(aside.exists());
        assert_eq!(git(&scene.top, ["worktree", "list"]).lines().count(), 1);
    }

    async fn restore_does_not_write_over_other_work() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "archived").unwrap();
        worktrees.remove(&removal(&wanted, BranchFate::Keep)).await.unwrap();
        worktrees.create(&wanted, &main()).await.unwrap();
        fs::write(wanted.path.join("a.txt"), "newer").unwrap();
        let error = worktrees.restore(&wanted).await.unwrap_err();
        assert!(matches!(&error, Error::Dirty { files: 1, example, .. } if example == "a.txt"), "{error}");
        assert_eq!(fs::read(wanted.path.join("a.txt")).unwrap(), b"newer");
        commit_all(&wanted.path, "went on");
        let kept = worktrees.restore(&wanted).await.unwrap().uncommitted;
        assert!(matches!(kept, Uncommitted::Archived { archive } if scene.has_ref(&archive)));
    }

    async fn the_repository_itself_and_foreign_folders_are_never_removed() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let mut wanted = scene.wanted(1).await;
        for path in [scene.top.clone(), scene.root.clone()] {
            wanted.path = path;
            assert!(matches!(worktrees.remove(&removal(&wanted, BranchFate::Keep)).await, Err(Error::Refused(_))));
        }
        wanted.path = scene.root.join("other");
        fs::create_dir(&wanted.path).unwrap();
        git(&wanted.path, ["init", "--quiet"]);
        assert!(matches!(worktrees.remove(&removal(&wanted, BranchFate::Keep)).await, Err(Error::InTheWay(_))));
        assert!(wanted.path.exists() && scene.top.exists());
    }

    async fn a_branch_that_somebody_has_checked_out_is_not_deleted() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        git(&wanted.path, ["switch", "--quiet", "--detach"]);
        git(&scene.top, ["switch", "--quiet", &wanted.branch]);
        let removed = scene.worktrees().await.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        assert!(!removed.branch_deleted && scene.has_ref(&wanted.branch));
    }

    async fn folders_that_forbid_deletion_are_deleted_all_the_same() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let cache = scene.data.join("worktrees/.trash/x/cache");
        fs::create_dir_all(&cache).unwrap();
        fs::write(cache.join("module"), "m").unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o500)).unwrap();
        assert_eq!(worktrees.empty_trash().await.unwrap(), Vec::<std::path::PathBuf>::new());
        assert!(!cache.exists());
    }
}
