//! Where git finds hooks: every way in which a folder among the files of a worktree can be one.

use std::fs;
use std::path::{Path, PathBuf};

use mxd::git::hooks::folders;

use crate::git_support::{Scene, at_home, git};

/// Returns the folders that a task's worktree must not let be written, as its own relative paths.
async fn closed(scene: &Scene, worktree: &Path) -> Vec<String> {
    let worktrees = scene.worktrees().await;
    let here = worktrees.checkout(worktree).await.unwrap();
    let found = folders(worktrees.main(), &here).unwrap();
    let below = found.iter().filter_map(|folder| folder.strip_prefix(worktree).ok());
    below.map(|folder| folder.to_str().unwrap().to_owned()).collect()
}

fn home() -> PathBuf {
    std::env::home_dir().unwrap()
}

at_home! {
    async fn a_relative_folder_counts_in_every_checkout_and_as_soon_as_it_is_set() {
        let scene = Scene::new();
        let task = scene.made(1).await;
        assert_eq!(closed(&scene, &task.path).await, Vec::<String>::new());
        git(&scene.top, ["config", "core.hooksPath", "./.githooks/"]);
        assert_eq!(closed(&scene, &task.path).await, [".githooks"]);
        assert_eq!(closed(&scene, &scene.top).await, [".githooks"]);
        git(&scene.top, ["config", "core.hooksPath", ""]);
        assert_eq!(closed(&scene, &task.path).await, Vec::<String>::new(), "nothing is no folder");
    }

    async fn an_absolute_folder_in_one_checkout_is_closed_in_the_others() {
        let scene = Scene::new();
        let (task, other) = (scene.made(1).await, scene.made(2).await);
        fs::create_dir(scene.top.join("hooks")).unwrap();
        git(&scene.top, ["config", "core.hooksPath", scene.top.join("hooks").to_str().unwrap()]);
        assert_eq!(closed(&scene, &task.path).await, ["hooks"], "a merge would bring it there");
        git(&scene.top, ["config", "core.hooksPath", other.path.join("not/yet").to_str().unwrap()]);
        assert_eq!(closed(&scene, &task.path).await, ["not/yet"]);
        git(&scene.top, ["config", "core.hooksPath", "/usr/share/hooks"]);
        assert_eq!(closed(&scene, &task.path).await, Vec::<String>::new());
    }

    async fn settings_of_the_user_and_of_one_checkout_count_also_where_another_wins() {
        let scene = Scene::new();
        let task = scene.made(1).await;
        git(&scene.top, ["config", "--global", "core.hooksPath", "everywhere"]);
        assert_eq!(closed(&scene, &task.path).await, ["everywhere"]);
        git(&scene.top, ["config", "extensions.worktreeConfig", "true"]);
        git(&task.path, ["config", "--worktree", "core.hooksPath", "here"]);
        assert_eq!(closed(&scene, &task.path).await, ["everywhere", "here"]);
        git(&scene.top, ["config", "--worktree", "core.hooksPath", "there"]);
        assert_eq!(closed(&scene, &task.path).await, ["everywhere", "here", "there"]);
    }

    async fn the_home_folder_may_be_spelled_with_a_tilde() {
        let scene = Scene::new();
        let task = scene.made(1).await;
        // The project is made to lie in the home folder.
        std::os::unix::fs::symlink(&scene.top, home().join("project")).unwrap();
        fs::create_dir(scene.top.join("hooks")).unwrap();
        git(&scene.top, ["config", "--global", "core.hooksPath", "~/project/hooks"]);
        assert_eq!(closed(&scene, &task.path).await, ["hooks"]);
    }

    async fn a_link_to_the_hooks_counts_for_what_it_leads_to() {
        let scene = Scene::new();
        let task = scene.made(1).await;
        fs::create_dir(scene.top.join("tools")).unwrap();
        std::os::unix::fs::symlink("tools", scene.top.join(".githooks")).unwrap();
        git(&scene.top, ["config", "core.hooksPath", ".githooks"]);
        assert_eq!(closed(&scene, &task.path).await, [".githooks", "tools"]);
    }

    async fn where_husky_leads_git_the_files_that_it_runs_are_closed_too() {
        let scene = Scene::new();
        let task = scene.made(1).await;
        git(&scene.top, ["config", "core.hooksPath", ".husky/_"]);
        assert_eq!(closed(&scene, &task.path).await, [".husky", ".husky/_"]);
    }

    async fn settings_that_cannot_be_read_are_an_error_and_not_silence() {
        let scene = Scene::new();
        let task = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        let here = worktrees.checkout(&task.path).await.unwrap();
        fs::write(scene.top.join(".git/config"), "[core\n").unwrap();
        assert!(folders(worktrees.main(), &here).unwrap_err().to_string().contains("cannot read"));
    }
}
