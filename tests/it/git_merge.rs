//! Bringing branches together: preview, every way of doing it, refusals, undo, and crashes in between.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mxd::base::TurnId;
use mxd::git::conflict_scan::ConflictScanner;
use mxd::git::merge::{
    CheckoutFate, Conflict, ConflictKind, MergeOutcome, MergeRequest, MergeStrategy, RecoveredMerge,
};
use mxd::git::{Error, WorktreeSpec};

use crate::git_support::{Scene, at_home, commit_all, files, git};

fn request(wanted: &WorktreeSpec, strategy: MergeStrategy) -> MergeRequest {
    let message = "Bring it in".to_owned();
    MergeRequest {
        task: wanted.task,
        branch: wanted.branch.clone(),
        target: "main".to_owned(),
        strategy,
        message,
        expected: None,
    }
}

/// A task with two commits: a changed file and a new one.
async fn task_with_work(scene: &Scene, number: u64) -> WorktreeSpec {
    let wanted = scene.made(number).await;
    fs::write(wanted.path.join("a.txt"), "one\ntwo\nthree\nfour\n").unwrap();
    commit_all(&wanted.path, "change a");
    fs::write(wanted.path.join(format!("new-{number}.txt")), "new\n").unwrap();
    commit_all(&wanted.path, "add a file");
    wanted
}

fn pending(scene: &Scene) -> String {
    git(&scene.top, ["for-each-ref", "refs/mxd/pending/"])
}

fn head(folder: &Path) -> String {
    git(folder, ["rev-parse", "HEAD"])
}

fn status(folder: &Path) -> String {
    git(folder, ["status", "--porcelain"])
}

fn done(outcome: MergeOutcome) -> (String, String, CheckoutFate, String) {
    match outcome {
        MergeOutcome::Done { from, to, checkout, undo } => (from, to, checkout, undo),
        other @ (MergeOutcome::Nothing | MergeOutcome::Conflicts(_)) => panic!("{other:?}"),
    }
}

fn kinds(conflicts: &[Conflict]) -> Vec<(PathBuf, ConflictKind)> {
    conflicts.iter().map(|conflict| (conflict.path.clone(), conflict.kind)).collect()
}

at_home! {
    async fn a_preview_counts_both_sides_and_changes_nothing() {
        let scene = Scene::new();
        let wanted = task_with_work(&scene, 1).await;
        fs::write(scene.top.join("dir/b.txt"), "main\n").unwrap();
        scene.commit_all("main goes on");
        let before = git(&scene.top, ["for-each-ref"]);
        let preview = scene.worktrees().await.preview(&wanted.branch, "main").await.unwrap();
        assert_eq!((preview.ahead, preview.behind, preview.conflicts), (2, 1, vec![]));
        assert_eq!((preview.branch, preview.target), (head(&wanted.path), head(&scene.top)));
        assert_eq!(git(&scene.top, ["for-each-ref"]), before);
    }

    async fn a_merge_updates_the_clean_checkout_and_names_the_task() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        fs::write(scene.top.join("dir/b.txt"), "main\n").unwrap();
        let main = scene.commit_all("main goes on");
        fs::write(scene.top.join("mine.txt"), "untracked, and no reason to refuse").unwrap();
        let (from, to, checkout, _) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        assert_eq!((from, checkout), (main.clone(), CheckoutFate::Updated(scene.top.clone())));
        assert_eq!(head(&scene.top), to);
        assert_eq!(git(&scene.top, ["rev-parse", "HEAD^@"]), format!("{main}\n{}", head(&wanted.path)));
        assert_eq!(status(&scene.top), "?? mine.txt");
        assert_eq!(fs::read(scene.top.join("new-1.txt")).unwrap(), b"new\n");
        assert_eq!(git(&scene.top, ["log", "-1", "--format=%an|%s|%(trailers:key=Task-Id,valueonly)"]).trim_end(), format!("Ann|Bring it in|{}", wanted.task));
        assert_eq!(pending(&scene), "");
        assert_eq!(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap(), MergeOutcome::Nothing);
        scene.fsck();
    }

    async fn a_squash_is_one_commit_and_a_rebase_keeps_each() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let (squashed, rebased) = (task_with_work(&scene, 1).await, scene.made(2).await);
        for number in 0..3 {
            fs::write(rebased.path.join(format!("r{number}")), "r").unwrap();
            commit_all(&rebased.path, &format!("step {number}"));
        }
        let start = head(&scene.top);
        done(worktrees.merge(&request(&squashed, MergeStrategy::Squash)).await.unwrap());
        assert_eq!(git(&scene.top, ["rev-list", "--count", &format!("{start}..HEAD")]), "1");
        assert_eq!(git(&scene.top, ["rev-parse", "HEAD^{tree}"]), git(&squashed.path, ["rev-parse", "HEAD^{tree}"]));
        done(worktrees.merge(&request(&rebased, MergeStrategy::Rebase)).await.unwrap());
        let log = git(&scene.top, ["log", "--format=%s", &format!("{start}..HEAD")]);
        assert_eq!(log, "step 2\nstep 1\nstep 0\nBring it in");
        assert_eq!(git(&scene.top, ["rev-list", "--count", "--merges", "HEAD"]), "0");
        assert_eq!(status(&scene.top), "");
        assert_eq!(worktrees.merge(&request(&rebased, MergeStrategy::Rebase)).await.unwrap(), MergeOutcome::Nothing);
        git(&squashed.path, ["merge", "--quiet", "--no-edit", "main"]);
        commit_all(&squashed.path, "more");
        let refusal = worktrees.merge(&request(&squashed, MergeStrategy::Rebase)).await.unwrap_err().to_string();
        assert!(refusal.contains("merge or squash"), "{refusal}");
    }

    async fn a_target_that_nobody_has_checked_out_only_moves() {
        let scene = Scene::new();
        let wanted = task_with_work(&scene, 1).await;
        for detached in [false, true] {
            let switch: &[&str] = if detached { &["--detach"] } else { &["-c", "other"] };
            git(&scene.top, [&["switch", "--quiet"], switch].concat());
            let before = (head(&scene.top), files(&scene.top), status(&scene.top));
            let (_, to, checkout, undo) = done(scene.worktrees().await.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
            assert_eq!(checkout, CheckoutFate::OnlyRef);
            assert_eq!(git(&scene.top, ["rev-parse", "main"]), to);
            assert_eq!((head(&scene.top), files(&scene.top), status(&scene.top)), before);
            assert_eq!(scene.worktrees().await.undo_merge(wanted.task, &undo).await.unwrap(), CheckoutFate::OnlyRef);
        }
    }

    async fn a_sub_task_goes_into_the_worktree_of_the_task_above() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let above = scene.made(1).await;
        let wanted = task_with_work(&scene, 2).await;
        let into = MergeRequest { target: above.branch.clone(), ..request(&wanted, MergeStrategy::Merge) };
        let (_, to, checkout, _) = done(worktrees.merge(&into).await.unwrap());
        assert_eq!((checkout, head(&above.path)), (CheckoutFate::Updated(above.path.clone()), to));
        assert_eq!(status(&above.path), "");
    }

    async fn either_side_being_dirty_is_refused_with_the_reason() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        let refs = git(&scene.top, ["for-each-ref"]);
        fs::write(wanted.path.join("forgotten.txt"), "f").unwrap();
        let error = worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap_err();
        assert!(matches!(&error, Error::Dirty { path, example, .. } if *path == wanted.path && example == "forgotten.txt"), "{error}");
        fs::remove_file(wanted.path.join("forgotten.txt")).unwrap();
        fs::write(scene.top.join("dir/b.txt"), "not committed").unwrap();
        let error = worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap_err();
        assert!(matches!(&error, Error::Dirty { path, .. } if *path == scene.top), "{error}");
        git(&scene.top, ["checkout", "--quiet", "--", "."]);
        fs::write(scene.top.join("new-1.txt"), "mine, and in the way").unwrap();
        let error = worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap_err();
        assert!(error.to_string().contains("new-1.txt"), "{error}");
        assert_eq!(fs::read(scene.top.join("new-1.txt")).unwrap(), b"mine, and in the way");
        assert_eq!(git(&scene.top, ["for-each-ref"]), refs, "nothing moved, nothing is noted");
    }

    async fn conflicts_of_every_kind_are_named_with_both_sides() {
        let scene = Scene::new();
        let top = &scene.top;
        for name in ["deleted-by-us", "deleted-by-them", "moved"] {
            let lines = format!("{name}\n").repeat(9);
            fs::write(top.join(name), lines).unwrap();
        }
        fs::write(top.join("binary"), [0, 1, 2, 3]).unwrap();
        scene.commit_all("more files");
        let wanted = scene.made(1).await;
        let change = |folder: &Path, side: &str| {
            fs::write(folder.join("a.txt"), format!("one\n{side}\nthree\n")).unwrap();
            fs::write(folder.join("both-added"), side).unwrap();
            fs::write(folder.join("binary"), [0, u8::try_from(side.len()).unwrap(), 9]).unwrap();
            fs::rename(folder.join("moved"), folder.join(format!("moved-{side}"))).unwrap();
        };
        change(top, "main");
        fs::remove_file(top.join("deleted-by-us")).unwrap();
        fs::write(top.join("deleted-by-them"), "main changed it").unwrap();
        scene.commit_all("main");
        change(&wanted.path, "tasks");
        fs::remove_file(wanted.path.join("deleted-by-them")).unwrap();
        fs::write(wanted.path.join("deleted-by-us"), "task changed it").unwrap();
        commit_all(&wanted.path, "task");

        let refs = git(top, ["for-each-ref"]);
        let worktrees = scene.worktrees().await;
        let preview = worktrees.preview(&wanted.branch, "main").await.unwrap();
        let found = kinds(&preview.conflicts);
        for expected in [
            ("a.txt", ConflictKind::Content),
            ("binary", ConflictKind::Binary),
            ("both-added", ConflictKind::BothAdded),
            ("deleted-by-them", ConflictKind::DeletedByThem),
            ("deleted-by-us", ConflictKind::DeletedByUs),
        ] {
            assert!(found.contains(&(expected.0.into(), expected.1)), "{expected:?} in {found:?}");
        }
        assert!(found.iter().any(|(path, _)| path.to_string_lossy().starts_with("moved")), "{found:?}");
        let content = preview.conflicts.iter().find(|conflict| conflict.kind == ConflictKind::Content).unwrap();
        assert_eq!(content.ours.as_ref().unwrap().text, "one\nmain\nthree\n");
        assert_eq!(content.theirs.as_ref().unwrap().text, "one\ntasks\nthree\n");
        let marked = &content.marked.as_ref().unwrap().text;
        assert!(marked.starts_with("<<<<<<<") && marked.contains("main\n=======\ntasks\n>>>>>>>"), "{marked}");
        for how in [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase] {
            let MergeOutcome::Conflicts(conflicts) = worktrees.merge(&request(&wanted, how)).await.unwrap() else { panic!("{how:?}") };
            assert!(!conflicts.is_empty());
        }
        assert_eq!(git(top, ["for-each-ref"]), refs, "nothing was changed");
        assert_eq!(status(top), "");
    }

    async fn a_mode_changed_by_both_and_line_endings_are_no_trouble() {
        let scene = Scene::new();
        fs::write(scene.top.join(".gitattributes"), "*.txt eol=crlf\n").unwrap();
        scene.commit_all("attributes");
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "one\r\ntwo\r\nthree\r\nfour\r\n").unwrap();
        fs::set_permissions(wanted.path.join("dir/b.txt"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        commit_all(&wanted.path, "task");
        // The main checkout was made before the attributes; its files are as git would write them now.
        git(&scene.top, ["rm", "--quiet", "-r", "--cached", "."]);
        git(&scene.top, ["reset", "--quiet", "--hard"]);
        done(scene.worktrees().await.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        assert_eq!(files(&scene.top), files(&wanted.path));
        assert_eq!(status(&scene.top), "");
    }

    async fn a_landing_is_taken_back_unless_something_came_after() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        let (before, before_files) = (head(&scene.top), files(&scene.top));
        let (.., undo) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        assert_eq!(undo, format!("refs/mxd/undo/{}/1", wanted.task));
        assert_eq!(worktrees.undo_merge(wanted.task, &undo).await.unwrap(), CheckoutFate::Updated(scene.top.clone()));
        assert_eq!((head(&scene.top), files(&scene.top), status(&scene.top).as_str()), (before, before_files, ""));
        assert!(!scene.has_ref(&undo));
        let (.., undo) = done(worktrees.merge(&request(&wanted, MergeStrategy::Squash)).await.unwrap());
        scene.commit_all("something after");
        let error = worktrees.undo_merge(wanted.task, &undo).await.unwrap_err();
        assert!(error.to_string().contains("git revert"), "{error}");
        assert_eq!(pending(&scene), "");
    }

    async fn taking_back_that_was_cut_short_is_finished_with_its_way_back() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        let (from, to, _, undo) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        // The same note with the ends exchanged, as the process leaves it that ends once the target has moved.
        let words = git(&scene.top, ["log", "-1", "--format=%B", &undo]);
        let tree = format!("{to}^{{tree}}");
        let note = git(&scene.top, ["commit-tree", &tree, "-p", &to, "-p", &from, "-m", &words]);
        git(&scene.top, ["update-ref", &format!("refs/mxd/pending/{}", wanted.task), &note]);
        git(&scene.top, ["update-ref", "refs/heads/main", &from]);
        let finished = RecoveredMerge::Finished { task: wanted.task, checkout: Some(scene.top.clone()) };
        assert_eq!(worktrees.recover_merges().await.unwrap(), [finished]);
        assert_eq!((head(&scene.top), status(&scene.top).as_str()), (from, ""));
        assert!(!scene.has_ref(&undo) && pending(&scene).is_empty(), "nothing says that it is merged");
    }

    async fn a_landing_cut_short_before_the_target_moved_never_happened() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        let (from, to, _, undo) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        let note = git(&scene.top, ["rev-parse", &undo]);
        git(&scene.top, ["reset", "--quiet", "--hard", &from]);
        git(&scene.top, ["update-ref", &format!("refs/mxd/pending/{}", wanted.task), &note]);
        assert_eq!(worktrees.recover_merges().await.unwrap(), [RecoveredMerge::Undone { task: wanted.task }]);
        assert_eq!((head(&scene.top), pending(&scene).as_str(), scene.has_ref(&undo)), (from, "", false));
        assert!(worktrees.recover_merges().await.unwrap().is_empty());
        let (_, again, ..) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        assert_eq!(git(&scene.top, ["rev-parse", &format!("{again}^{{tree}}")]), git(&scene.top, ["rev-parse", &format!("{to}^{{tree}}")]));
    }

    async fn a_landing_cut_short_after_the_target_moved_is_finished() {
        for step in ["nothing followed", "half followed", "all followed", "the user went on"] {
            let scene = Scene::new();
            let worktrees = scene.worktrees().await;
            let wanted = task_with_work(&scene, 1).await;
            let (from, to, _, undo) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
            let expected = files(&scene.top);
            let note = git(&scene.top, ["rev-parse", &undo]);
            git(&scene.top, ["update-ref", &format!("refs/mxd/pending/{}", wanted.task), &note]);
            match step {
                "nothing followed" | "half followed" => {
                    git(&scene.top, ["read-tree", "--reset", "-u", &from]);
                    if step == "half followed" {
                        fs::write(scene.top.join("a.txt"), "one\ntwo\nthr").unwrap();
                        fs::write(scene.top.join("new-1.txt"), "").unwrap();
                        fs::write(scene.top.join(".git/index.lock"), "DIRC").unwrap();
                    }
                }
                "all followed" => {}
                _ => fs::write(scene.top.join("dir/b.txt"), "edited after the crash").unwrap(),
            }
            let finished = RecoveredMerge::Finished { task: wanted.task, checkout: Some(scene.top.clone()) };
            assert_eq!(worktrees.recover_merges().await.unwrap(), [finished], "{step}");
            assert_eq!((head(&scene.top), pending(&scene).as_str()), (to, ""), "{step}");
            if step == "the user went on" {
                assert_eq!(fs::read(scene.top.join("dir/b.txt")).unwrap(), b"edited after the crash");
            } else {
                assert_eq!((files(&scene.top), status(&scene.top).as_str()), (expected, ""), "{step}");
            }
            scene.fsck();
        }
    }

    async fn a_lock_that_the_users_own_git_holds_is_not_taken_from_it_at_a_start() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        let (from, to, _, undo) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        let note = git(&scene.top, ["rev-parse", &undo]);
        git(&scene.top, ["update-ref", &format!("refs/mxd/pending/{}", wanted.task), &note]);
        git(&scene.top, ["read-tree", "--reset", "-u", &from]);
        let lock = scene.top.join(".git/index.lock");
        let held = fs::File::create(&lock).unwrap();
        assert!(worktrees.recover_merges().await.unwrap().is_empty());
        assert!(lock.exists() && !pending(&scene).is_empty(), "it is finished at the next start");
        drop(held);
        fs::remove_file(&lock).unwrap();
        let finished = RecoveredMerge::Finished { task: wanted.task, checkout: Some(scene.top.clone()) };
        assert_eq!(worktrees.recover_merges().await.unwrap(), [finished]);
        assert_eq!((head(&scene.top), status(&scene.top).as_str()), (to, ""));
    }

    async fn a_checkout_that_cannot_follow_at_first_follows_after_all() {
        let scene = Scene::new();
        let (worktrees, wanted) = (scene.worktrees().await, task_with_work(&scene, 1).await);
        // A filter that fails once.
        let (failed, script) = (scene.root.join("failed"), scene.root.join("filter.sh"));
        let text = format!("#!/bin/sh\n[ -e '{0}' ] && exec cat\ntouch '{0}'\nexit 1\n", failed.display());
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        git(&scene.top, ["config", "filter.once.smudge", script.to_str().unwrap()]);
        git(&scene.top, ["config", "filter.once.clean", "cat"]);
        git(&scene.top, ["config", "filter.once.required", "true"]);
        fs::write(scene.top.join(".git/info/attributes"), "a.txt filter=once\n").unwrap();
        let (_, to, fate, _) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        assert!(failed.exists(), "the filter was run");
        assert_eq!(fate, CheckoutFate::Updated(scene.top.clone()));
        assert_eq!((head(&scene.top), pending(&scene).as_str(), status(&scene.top).as_str()), (to, "", ""));
    }

    async fn ways_back_from_old_merges_are_forgotten_but_for_the_last_of_each_task() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        let (.., last) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        let words = git(&scene.top, ["log", "-1", "--format=%B", &last]);
        let ends = git(&scene.top, ["log", "-1", "--format=%P", &last]);
        let (from, to) = ends.split_once(' ').unwrap();
        let tree = format!("{from}^{{tree}}");
        let add = |number: u64, days: u64| {
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
            let date = format!("{} +0000", now - days * 24 * 3600);
            let note = std::process::Command::new("git")
                .current_dir(&scene.top)
                .env("GIT_COMMITTER_DATE", date)
                .args(["commit-tree", &tree, "-p", from, "-p", to, "-m", &words])
                .output()
                .unwrap();
            let note = String::from_utf8(note.stdout).unwrap();
            let name = format!("refs/mxd/undo/{}/{number}", wanted.task);
            git(&scene.top, ["update-ref", &name, note.trim()]);
            name
        };
        let (old, young, newest) = (add(2, 31), add(3, 29), add(4, 400));
        assert_eq!(worktrees.old_undo_refs().await.unwrap(), std::slice::from_ref(&old));
        worktrees.delete_undo_refs(std::slice::from_ref(&old)).await.unwrap();
        assert!(!scene.has_ref(&old));
        assert!([last, young, newest.clone()].iter().all(|kept| scene.has_ref(kept)));
        assert_eq!(worktrees.undoable_merges().await.unwrap()[0].undo, newest);
    }

    async fn a_checkout_with_somebodys_changes_in_it_is_not_settled_over_their_head() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let wanted = task_with_work(&scene, 1).await;
        let (from, _, _, undo) = done(worktrees.merge(&request(&wanted, MergeStrategy::Merge)).await.unwrap());
        let note = git(&scene.top, ["rev-parse", &undo]);
        git(&scene.top, ["update-ref", &format!("refs/mxd/pending/{}", wanted.task), &note]);
        git(&scene.top, ["read-tree", "--reset", "-u", &from]);
        fs::write(scene.top.join("a.txt"), "a user's edit").unwrap();
        let recovered = worktrees.recover_merges().await.unwrap();
        let unsettled = RecoveredMerge::Blocked { task: wanted.task, checkout: scene.top.clone(), files: vec!["a.txt".into()] };
        assert_eq!(recovered, [unsettled]);
        assert_eq!(fs::read(scene.top.join("a.txt")).unwrap(), b"a user's edit");
    }

    async fn two_landings_at_once_both_arrive() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let (one, other) = (scene.made(1).await, scene.made(2).await);
        for wanted in [&one, &other] {
            fs::write(wanted.path.join(format!("{}.txt", wanted.task)), "x").unwrap();
            commit_all(&wanted.path, "work");
        }
        let (first, second) = (request(&one, MergeStrategy::Merge), request(&other, MergeStrategy::Merge));
        let (first, second) = tokio::join!(worktrees.merge(&first), worktrees.merge(&second));
        done(first.unwrap());
        done(second.unwrap());
        assert!(scene.top.join(format!("{}.txt", one.task)).exists());
        assert!(scene.top.join(format!("{}.txt", other.task)).exists());
        assert_eq!(status(&scene.top), "");
    }

    async fn the_radar_names_pairs_that_would_conflict_and_remembers() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let mut branches = Vec::new();
        for number in 0..6 {
            let wanted = scene.made(number).await;
            // 0 and 1 change the same line, 2 changes the same file elsewhere, 3 puts a folder where 4 puts a file.
            match number {
                0 | 1 => fs::write(wanted.path.join("a.txt"), format!("one\n{number}\nthree\n")).unwrap(),
                2 => fs::write(wanted.path.join("a.txt"), "one\ntwo\nthree\nfour\nfive\n").unwrap(),
                3 => {
                    fs::create_dir(wanted.path.join("place")).unwrap();
                    fs::write(wanted.path.join("place/inner"), "x").unwrap();
                }
                4 => fs::write(wanted.path.join("place"), "x").unwrap(),
                _ => fs::write(wanted.path.join("alone"), "x").unwrap(),
            }
            commit_all(&wanted.path, "work");
            branches.push(wanted.branch);
        }
        branches.push("gone".to_owned());
        let radar = ConflictScanner::default();
        let clashes = radar.conflicts_between(worktrees.main(), &branches, &BTreeMap::new()).await.unwrap();
        let pairs: Vec<(&str, &str)> = clashes.iter().map(|clash| (clash.one.as_str(), clash.other.as_str())).collect();
        assert!(pairs.contains(&(&branches[0], &branches[1])), "{clashes:?}");
        assert!(pairs.contains(&(&branches[3], &branches[4])), "{clashes:?}");
        let quiet = |branch: &String| !pairs.iter().any(|(one, other)| one == branch || other == branch);
        assert!(quiet(&branches[5]), "{clashes:?}");
        assert_eq!(clashes[0].files, [PathBuf::from("a.txt")]);
        assert_eq!(radar.conflicts_between(worktrees.main(), &branches, &BTreeMap::new()).await.unwrap(), clashes);
    }

    async fn the_radar_sees_what_is_not_committed_yet_where_somebody_is_at_work() {
        let scene = Scene::new();
        fs::write(scene.top.join(".gitattributes"), "*.txt eol=crlf\n").unwrap();
        scene.commit_all("attributes");
        let worktrees = scene.worktrees().await;
        let (one, other) = (scene.made(1).await, scene.made(2).await);
        let keep = async |wanted: &WorktreeSpec, number: u64| {
            let turn = TurnId::from_ulid(ulid::Ulid::from_parts(1_730_000_000_000 + number, 1));
            worktrees.take_snapshot(wanted.task, turn, &wanted.path, 1 << 20).await.unwrap();
        };
        fs::write(one.path.join("a.txt"), "one\r\nfirst\r\nthree\r\n").unwrap();
        commit_all(&one.path, "committed");
        fs::write(other.path.join("a.txt"), "one\r\nsecond\r\nthree\r\n").unwrap();
        fs::write(other.path.join("dir/b.txt"), "b\r\nmore\r\n").unwrap();
        keep(&other, 1).await;
        let branches = [one.branch.clone(), other.branch.clone()];
        let radar = ConflictScanner::default();
        let look = async |at_work: &[&WorktreeSpec]| {
            let at_work = at_work.iter().map(|wanted| (wanted.branch.clone(), wanted.task)).collect();
            radar.conflicts_between(worktrees.main(), &branches, &at_work).await.unwrap()
        };
        assert_eq!(look(&[]).await, [], "nobody is at work there");
        let clashes = look(&[&one, &other]).await;
        assert_eq!(clashes.len(), 1);
        assert_eq!(clashes[0].files, [PathBuf::from("a.txt")]);
        let objects = git(&scene.top, ["count-objects"]);
        assert_eq!(look(&[&one, &other]).await, clashes);
        assert_eq!(git(&scene.top, ["count-objects"]), objects, "looking again leaves nothing behind");
        // Line endings of the disk are no change.
        fs::write(other.path.join("a.txt"), "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n").unwrap();
        keep(&other, 2).await;
        let far = look(&[&other]).await;
        fs::write(other.path.join("a.txt"), "one\r\ntwo\r\nthree\r\n").unwrap();
        keep(&other, 3).await;
        assert_eq!(look(&[&other]).await, [], "{far:?}");
    }
}
