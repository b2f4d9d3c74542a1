//! Worktrees on real repositories: made once, many at a time, found half made, found missing.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use futures::future::join_all;
use mxd::git::status::Operation;
use mxd::git::{BranchStart, Error, OwnedWorktree, RecreateReason, Stray, WorktreeSpec, WorktreeState};

use crate::git_support::{Scene, at_home, commit_all, files, git, git_output, main, odd_name};

/// The reason on the lock while a worktree is being made.
const BEING_MADE: &str = "mxd: being made";

fn recreated(why: RecreateReason) -> WorktreeState {
    WorktreeState::Recreated { why, aside: None }
}

fn on_branch(wanted: &WorktreeSpec) -> String {
    git(&wanted.path, ["symbolic-ref", "--short", "HEAD"])
}

fn status(folder: &Path) -> String {
    git(folder, ["status", "--porcelain"])
}

at_home! {
    async fn a_worktree_has_the_files_of_its_start_and_a_branch_of_its_own() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.wanted(1).await;
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::Created);
        assert_eq!(files(&wanted.path), files(&scene.top));
        assert_eq!(on_branch(&wanted), wanted.branch);
        assert_eq!(status(&wanted.path), "");
        assert!(!git(&scene.top, ["config", "--list", "--local"]).contains("branch."), "no upstream is set up");
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::Present);
        scene.fsck();
    }

    async fn a_worktree_starts_from_the_branch_or_commit_it_is_told() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let first = git(&scene.top, ["rev-parse", "HEAD"]);
        let parent = scene.made(1).await;
        fs::write(parent.path.join("parent.txt"), "p").unwrap();
        let tip = commit_all(&parent.path, "parent's work");
        let (child, old) = (scene.wanted(2).await, scene.wanted(3).await);
        worktrees.create(&child, &BranchStart::Branch(parent.branch.clone())).await.unwrap();
        assert_eq!(git(&child.path, ["rev-parse", "HEAD"]), tip);
        worktrees.create(&old, &BranchStart::Commit(first.clone())).await.unwrap();
        assert_eq!(git(&old.path, ["rev-parse", "HEAD"]), first);
        let missing = worktrees.create(&scene.wanted(4).await, &BranchStart::Branch("gone".into())).await.unwrap_err();
        assert!(matches!(missing, Error::NoBranch(name) if name == "gone"));
        assert!(!scene.wanted(4).await.path.exists());
    }

    async fn sixty_four_at_once_all_stand() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let mut all = Vec::new();
        for number in 0..64 {
            all.push(scene.wanted(number).await);
        }
        let start = main();
        let made = join_all(all.iter().map(|wanted| worktrees.create(wanted, &start))).await;
        for (wanted, state) in all.iter().zip(made) {
            assert_eq!(state.unwrap(), WorktreeState::Created);
            assert_eq!(on_branch(wanted), wanted.branch);
            assert_eq!(status(&wanted.path), "");
        }
        assert_eq!(git(&scene.top, ["worktree", "list", "--porcelain"]).matches("\nworktree ").count(), 64);
        let same = join_all((0..8).map(|_| worktrees.create(&all[0], &start))).await;
        assert!(same.into_iter().all(|state| state.unwrap() == WorktreeState::Present));
        scene.fsck();
    }

    async fn two_makers_who_do_not_know_of_each_other_do_not_lose_a_worktree() {
        let scene = Scene::new();
        let (one, other) = (scene.worktrees().await, scene.worktrees().await);
        let mut all = Vec::new();
        for number in 0..24 {
            all.push(scene.wanted(number).await);
        }
        let start = main();
        let makers = [&one, &other];
        let made = all.iter().enumerate().map(|(at, wanted)| makers[at % 2].create(wanted, &start));
        for state in join_all(made).await {
            assert_eq!(state.unwrap(), WorktreeState::Created);
        }
    }

    async fn odd_branch_names_of_the_user_are_taken_as_they_are() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let odd = ["feature/größe+1", "-dash", "HEAD2", "deadbeef", "a@b", "mxdx", "with'quote", "$(id)"];
        for (number, name) in odd.into_iter().enumerate() {
            git(&scene.top, ["update-ref", &format!("refs/heads/{name}"), "main"]);
            let wanted = scene.wanted(number as u64).await;
            let state = worktrees.create(&wanted, &BranchStart::Branch(name.to_owned())).await;
            assert_eq!(state.unwrap(), WorktreeState::Created, "{name}");
        }
        // A tag of the same name must not win.
        let wanted = scene.wanted(90).await;
        let tip = scene.commit_all("newer");
        git(&scene.top, ["tag", "main", "main~1"]);
        worktrees.create(&wanted, &main()).await.unwrap();
        assert_eq!(git(&wanted.path, ["rev-parse", "HEAD"]), tip);
    }

    async fn a_branch_called_mxd_is_named_as_what_is_in_the_way() {
        let scene = Scene::new();
        git(&scene.top, ["branch", "mxd"]);
        let error = scene.worktrees().await.create(&scene.wanted(1).await, &main()).await.unwrap_err();
        assert!(matches!(&error, Error::BranchInTheWay(name) if name == "mxd"), "{error}");
        assert!(error.to_string().contains("git branch -m"));
    }

    async fn names_that_are_not_text_come_along() {
        let scene = Scene::new();
        fs::write(scene.top.join(odd_name()), "odd").unwrap();
        scene.commit_all("odd");
        let wanted = scene.made(1).await;
        assert_eq!(fs::read(wanted.path.join(odd_name())).unwrap(), b"odd");
    }

    async fn hooks_and_fsmonitor_of_the_repository_do_not_run() {
        let scene = Scene::new();
        let script = format!("#!/bin/sh\ntouch {}\n", scene.root.join("ran").display());
        for hook in ["post-checkout", "post-commit", "reference-transaction", "post-index-change"] {
            let path = scene.top.join(".git/hooks").join(hook);
            fs::write(&path, &script).unwrap();
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        git(&scene.top, ["config", "core.fsmonitor", scene.top.join(".git/hooks/post-commit").to_str().unwrap()]);
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        let checkout = worktrees.checkout(&wanted.path).await.unwrap();
        assert!(mxd::git::status::dirty(&checkout, 10).await.unwrap().is_clean());
        assert!(!scene.root.join("ran").exists());
    }

    async fn what_an_agent_writes_into_its_git_file_leads_our_calls_nowhere() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let evil = scene.root.join("evil");
        git(&scene.root, ["init", "--quiet", "evil"]);
        let script = scene.root.join("payload.sh");
        fs::write(&script, format!("#!/bin/sh\ntouch {}\n", scene.root.join("ran").display())).unwrap();
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        git(&evil, ["config", "core.fsmonitor", script.to_str().unwrap()]);
        fs::write(wanted.path.join(".git"), format!("gitdir: {}\n", evil.join(".git").display())).unwrap();
        fs::write(scene.entry(&wanted).join("commondir"), evil.join(".git").to_str().unwrap()).unwrap();
        let worktrees = scene.worktrees().await;
        let checkout = worktrees.checkout(&wanted.path).await.unwrap();
        let _ = mxd::git::status::dirty(&checkout, 10).await;
        assert!(!scene.root.join("ran").exists());
        fs::write(scene.entry(&wanted).join("commondir"), "../..\n").unwrap();
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), recreated(RecreateReason::LinkLost));
        assert_eq!(status(&wanted.path), "");
    }

    async fn a_sparse_checkout_stays_sparse() {
        let scene = Scene::new();
        fs::create_dir(scene.top.join("other")).unwrap();
        fs::write(scene.top.join("other/c.txt"), "c").unwrap();
        scene.commit_all("other");
        git(&scene.top, ["sparse-checkout", "set", "--cone", "dir"]);
        let plain = scene.root.join("plain");
        git(&scene.top, ["worktree", "add", "--quiet", "--detach", plain.to_str().unwrap()]);
        let wanted = scene.made(1).await;
        assert_eq!(files(&wanted.path), files(&plain));
        assert!(!wanted.path.join("other").exists());
    }

    async fn a_deleted_worktree_is_made_again_from_its_branch() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("work.txt"), "w").unwrap();
        let tip = commit_all(&wanted.path, "work");
        fs::remove_dir_all(&wanted.path).unwrap();
        let state = worktrees.create(&wanted, &main()).await.unwrap();
        assert_eq!(state, recreated(RecreateReason::Deleted));
        assert!(state.notice().unwrap().contains("deleted"));
        assert_eq!(git(&wanted.path, ["rev-parse", "HEAD"]), tip);
        assert_eq!(status(&wanted.path), "");
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::Present);
    }

    async fn a_worktree_moved_by_hand_is_made_again_and_the_moved_files_stay() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("new.txt"), "n").unwrap();
        let elsewhere = scene.root.join("elsewhere");
        fs::rename(&wanted.path, &elsewhere).unwrap();
        assert_eq!(scene.worktrees().await.create(&wanted, &main()).await.unwrap(), recreated(RecreateReason::Deleted));
        assert_eq!(status(&wanted.path), "");
        assert_eq!(fs::read(elsewhere.join("new.txt")).unwrap(), b"n");
    }

    async fn a_worktree_moved_by_git_is_moved_back_with_everything_in_it() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("new.txt"), "n").unwrap();
        let elsewhere = scene.root.join("elsewhere");
        git(&scene.top, ["worktree", "move", "-f", "-f", wanted.path.to_str().unwrap(), elsewhere.to_str().unwrap()]);
        let state = scene.worktrees().await.create(&wanted, &main()).await.unwrap();
        assert_eq!(state, recreated(RecreateReason::Moved(elsewhere.clone())));
        assert_eq!(status(&wanted.path), "?? new.txt");
        assert!(!elsewhere.exists());
    }

    async fn an_emptied_worktree_is_filled_again() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("staged.txt"), "s").unwrap();
        git(&wanted.path, ["add", "staged.txt"]);
        let before = files(&wanted.path);
        for entry in fs::read_dir(&wanted.path).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else if entry.file_name() != ".git" {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), recreated(RecreateReason::Emptied));
        assert_eq!(files(&wanted.path), before, "what was staged is back too");
        fs::remove_dir_all(&wanted.path).unwrap();
        fs::create_dir(&wanted.path).unwrap();
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), recreated(RecreateReason::Emptied));
        assert_eq!(files(&wanted.path), files(&scene.top));
    }

    async fn a_worktree_without_its_git_file_keeps_its_files() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "changed").unwrap();
        fs::remove_file(wanted.path.join(".git")).unwrap();
        assert_eq!(scene.worktrees().await.create(&wanted, &main()).await.unwrap(), recreated(RecreateReason::LinkLost));
        assert_eq!(status(&wanted.path), " M a.txt");
    }

    async fn a_worktree_that_the_repository_forgot_is_set_aside_with_its_files() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("new.txt"), "n").unwrap();
        fs::remove_dir_all(scene.entry(&wanted)).unwrap();
        let state = scene.worktrees().await.create(&wanted, &main()).await.unwrap();
        let WorktreeState::Recreated { why: RecreateReason::EntryLost, aside: Some(aside) } = &state else { panic!("{state:?}") };
        assert_eq!(fs::read(aside.join("new.txt")).unwrap(), b"n");
        assert!(state.notice().unwrap().contains(aside.to_str().unwrap()));
        assert_eq!(status(&wanted.path), "");
        let stray = scene.worktrees().await.stray(&[OwnedWorktree { path: wanted.path, branch: wanted.branch }]).await.unwrap();
        assert_eq!(stray, [Stray::Aside(aside.clone())]);
    }

    async fn another_branch_a_detached_head_and_a_rebase_are_reported_and_left_alone() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.made(1).await;
        git(&wanted.path, ["switch", "--quiet", "-c", "side"]);
        fs::write(wanted.path.join("a.txt"), "side").unwrap();
        commit_all(&wanted.path, "side");
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::OtherBranch("side".to_owned()));
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::OtherBranch("side".to_owned()));
        assert_eq!(on_branch(&wanted), "side");
        git(&wanted.path, ["checkout", "--quiet", "--detach"]);
        assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::Detached { operation: None });
        git(&wanted.path, ["switch", "--quiet", &wanted.branch]);
        fs::write(wanted.path.join("a.txt"), "task").unwrap();
        commit_all(&wanted.path, "task");
        assert!(!git_output(&wanted.path, ["rebase", "side"]).status.success(), "it must conflict");
        let state = worktrees.create(&wanted, &main()).await.unwrap();
        assert_eq!(state, WorktreeState::Detached { operation: Some(Operation::Rebase) });
        assert!(state.notice().unwrap().contains("rebase"));
    }

    async fn a_deleted_branch_is_made_again_where_the_worktree_stood() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "work").unwrap();
        let tip = commit_all(&wanted.path, "work");
        git(&scene.top, ["update-ref", "-d", &format!("refs/heads/{}", wanted.branch)]);
        assert_eq!(scene.worktrees().await.create(&wanted, &main()).await.unwrap(), recreated(RecreateReason::BranchLost));
        assert_eq!(git(&wanted.path, ["rev-parse", "HEAD"]), tip);
        assert_eq!(status(&wanted.path), "");
    }

    async fn a_branch_that_a_user_has_checked_out_is_not_taken_from_them() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = scene.wanted(1).await;
        git(&scene.top, ["branch", &wanted.branch]);
        let review = scene.root.join("review");
        git(&scene.top, ["worktree", "add", "--quiet", review.to_str().unwrap(), &wanted.branch]);
        let error = worktrees.create(&wanted, &main()).await.unwrap_err();
        assert!(matches!(&error, Error::BranchBusy { path, .. } if *path == review), "{error}");
        git(&review, ["switch", "--quiet", "--detach"]);
        git(&scene.top, ["switch", "--quiet", &wanted.branch]);
        let error = worktrees.create(&wanted, &main()).await.unwrap_err();
        assert!(matches!(&error, Error::BranchBusy { path, .. } if *path == scene.top), "{error}");
    }

    async fn what_is_not_ours_is_not_touched() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let (files_there, repository, file) = (scene.wanted(1).await, scene.wanted(2).await, scene.wanted(3).await);
        fs::create_dir_all(&files_there.path).unwrap();
        fs::write(files_there.path.join("mine"), "x").unwrap();
        fs::create_dir_all(&repository.path).unwrap();
        git(&repository.path, ["init", "--quiet"]);
        fs::write(&file.path, "x").unwrap();
        for wanted in [files_there, repository, file] {
            let error = worktrees.create(&wanted, &main()).await.unwrap_err();
            assert!(matches!(&error, Error::InTheWay(path) if *path == wanted.path), "{error}");
        }
    }

    async fn every_leftover_of_a_killed_creation_is_finished() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let add = |wanted: &WorktreeSpec| {
            git(&scene.top, ["branch", &wanted.branch, "main"]);
            let path = wanted.path.to_str().unwrap();
            git(&scene.top, ["worktree", "add", "--no-checkout", "--lock", "--reason", BEING_MADE, path, &wanted.branch]);
            scene.entry(wanted)
        };
        // Only the branch.
        let branch = scene.wanted(1).await;
        git(&scene.top, ["branch", &branch.branch, "main"]);
        // An entry that does not yet say where its worktree is.
        let nameless = scene.wanted(2).await;
        let entry = add(&nameless);
        fs::remove_dir_all(&nameless.path).unwrap();
        for name in ["gitdir", "HEAD", "commondir"] {
            fs::remove_file(entry.join(name)).unwrap();
        }
        // An entry without a folder.
        let folderless = scene.wanted(3).await;
        add(&folderless);
        fs::remove_dir_all(&folderless.path).unwrap();
        // A folder with nothing but its link, and no HEAD yet.
        let headless = scene.wanted(4).await;
        fs::write(add(&headless).join("HEAD"), "ref: refs/heads/.invalid\n").unwrap();
        // Nothing written yet.
        let unfilled = scene.wanted(5).await;
        add(&unfilled);
        // Half written, with the lock that the killed git left.
        let half = scene.wanted(6).await;
        let entry = add(&half);
        fs::write(half.path.join("a.txt"), "on").unwrap();
        fs::create_dir(half.path.join("dir")).unwrap();
        fs::write(entry.join("index.lock"), "DIRC").unwrap();
        // All written, and not yet marked as made.
        let unmarked = scene.wanted(7).await;
        add(&unmarked);
        git(&unmarked.path, ["reset", "--hard", "--quiet"]);
        // An empty folder that nobody noted.
        let empty = scene.wanted(8).await;
        fs::create_dir_all(&empty.path).unwrap();

        for wanted in [branch, nameless, folderless, headless, unfilled, half, unmarked, empty] {
            let name = &wanted.branch;
            assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::Created, "{name}");
            assert_eq!(files(&wanted.path), files(&scene.top), "{name}");
            assert_eq!(status(&wanted.path), "", "{name}");
            assert_eq!(on_branch(&wanted), *name);
            assert_eq!(worktrees.create(&wanted, &main()).await.unwrap(), WorktreeState::Present, "{name}");
        }
        assert_eq!(fs::read_dir(scene.top.join(".git/worktrees")).unwrap().count(), 8, "no entry is left over");
        scene.fsck();
    }

    async fn half_made_worktrees_that_nobody_owns_are_undone_and_finished_ones_are_not() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let (half, owned, made) = (scene.wanted(1).await, scene.wanted(2).await, scene.made(3).await);
        for wanted in [&half, &owned] {
            git(&scene.top, ["branch", &wanted.branch, "main"]);
            let path = wanted.path.to_str().unwrap();
            git(&scene.top, ["worktree", "add", "--no-checkout", "--lock", "--reason", BEING_MADE, path, &wanted.branch]);
        }
        let known = [OwnedWorktree { path: owned.path.clone(), branch: owned.branch.clone() }];
        assert_eq!(worktrees.tidy(&known).await.unwrap(), std::slice::from_ref(&half.path));
        assert!(!half.path.exists() && !scene.entry(&half).exists());
        assert!(owned.path.exists() && made.path.exists());
        let stray = worktrees.stray(&known).await.unwrap();
        assert!(stray.contains(&Stray::Worktree { path: made.path.clone(), branch: Some(made.branch.clone()) }), "{stray:?}");
        assert!(stray.contains(&Stray::Branch(half.branch.clone())) && stray.contains(&Stray::Branch(made.branch)));
        assert!(!stray.contains(&Stray::Branch(owned.branch)));
    }

    async fn strays_are_named_and_a_users_own_worktrees_are_not() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        git(&scene.top, ["branch", "mxd/notes"]);
        let theirs = scene.root.join("theirs");
        git(&scene.top, ["worktree", "add", "--quiet", theirs.to_str().unwrap(), "-b", "theirs"]);
        let folder = scene.data.join("worktrees/who-knows");
        fs::create_dir(&folder).unwrap();
        let trash = scene.data.join("worktrees/.trash/old");
        fs::create_dir_all(&trash).unwrap();
        assert_eq!(worktrees.stray(&[]).await.unwrap(), [Stray::Folder(folder), Stray::Trash(trash.clone())]);
        assert_eq!(worktrees.empty_trash().await.unwrap(), Vec::<std::path::PathBuf>::new());
        assert!(!trash.exists());
    }

    async fn a_worktree_in_use_is_not_pruned_by_the_user() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let hidden = scene.root.join("hidden");
        fs::rename(&wanted.path, &hidden).unwrap();
        git(&scene.top, ["worktree", "prune", "--expire=now"]);
        fs::rename(&hidden, &wanted.path).unwrap();
        assert_eq!(scene.worktrees().await.create(&wanted, &main()).await.unwrap(), WorktreeState::Present);
        assert!(String::from_utf8_lossy(wanted.path.as_os_str().as_bytes()).contains(&wanted.task.to_string()));
    }
}
