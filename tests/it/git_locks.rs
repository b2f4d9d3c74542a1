//! Locks that a killed process left on refs.

use std::fs;

use mxd::git::BranchFate;

use crate::git_support::{Scene, at_home, git, removal, task};

at_home! {
    async fn a_lock_that_can_only_be_ours_is_removed_and_any_other_is_not() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let locked = |name: &str| {
            let lock = scene.top.join(".git").join(format!("{name}.lock"));
            fs::create_dir_all(lock.parent().unwrap()).unwrap();
            fs::write(&lock, "").unwrap();
            lock
        };
        let ours = [locked(&format!("refs/mxd/pending/{}", task(1))), locked("refs/heads/mxd/x/title")];
        let main = locked("refs/heads/main");
        assert_eq!(sorted(worktrees.break_locks().await.unwrap()), sorted(ours.to_vec()));
        assert!(main.exists(), "it may be the user's own git that is at work there");

        // A landing that was announced says that the branch was ours to move.
        let tree = git(&scene.top, ["rev-parse", "HEAD^{tree}"]);
        let to = git(&scene.top, ["commit-tree", &tree, "-p", "HEAD", "-m", "to"]);
        let note = git(&scene.top, ["commit-tree", &tree, "-p", "HEAD", "-p", &to, "-m", "x\n\nTarget: main\n"]);
        git(&scene.top, ["update-ref", &format!("refs/mxd/pending/{}", task(1)), &note]);
        assert_eq!(worktrees.break_locks().await.unwrap(), std::slice::from_ref(&main));
        assert!(!main.exists());
        assert!(worktrees.break_locks().await.unwrap().is_empty());
    }
}

at_home! {
    async fn a_lock_on_packed_refs_goes_when_nobody_can_hold_it_and_stays_while_somebody_may() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        git(&scene.top, ["pack-refs", "--all"]);
        let lock = scene.top.join(".git/packed-refs.lock");
        let file = fs::File::create(&lock).unwrap();
        if cfg!(target_os = "linux") {
            assert!(worktrees.break_locks().await.unwrap().is_empty(), "somebody has it open");
            // Git closes this lock while it holds it; it stands in the repository then.
            drop(file);
            let program = scene.root.join("git-at-work");
            std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
            let mut at_work = std::process::Command::new(&program).arg("60").current_dir(&wanted.path).spawn().unwrap();
            let comm = std::path::PathBuf::from(format!("/proc/{}/comm", at_work.id()));
            while !fs::read_to_string(&comm).unwrap().starts_with("git") {
                tokio::task::yield_now().await;
            }
            assert!(worktrees.break_locks().await.unwrap().is_empty(), "a git is at work");
            at_work.kill().unwrap();
            at_work.wait().unwrap();
        } else {
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
        }
        assert_eq!(worktrees.break_locks().await.unwrap(), [lock]);
        // What it stopped goes on: a branch is deleted.
        let removed = worktrees.remove(&removal(&wanted, BranchFate::Delete)).await.unwrap();
        assert!(removed.branch_deleted);
    }
}

fn sorted(mut paths: Vec<std::path::PathBuf>) -> Vec<std::path::PathBuf> {
    paths.sort();
    paths
}
