//! Locks that a killed process left on refs.

use std::fs;

use crate::git_support::{Scene, at_home, git, task};

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
        assert!(main.exists(), "it may be the person's own git that is at work there");

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

fn sorted(mut paths: Vec<std::path::PathBuf>) -> Vec<std::path::PathBuf> {
    paths.sort();
    paths
}
