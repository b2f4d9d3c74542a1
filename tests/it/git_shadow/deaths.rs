//! `kill -9` at the steps of making a shadow and of a sync.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Agent, status_of};
use crate::git_shadow::mounted::skips;
use crate::git_support::{Scene, at_home, git, git_output};

/// Set in the process that dies: the folder of the scene.
const VICTIM: &str = "GIT_SHADOW_VICTIM";

/// Carries out a sync in a process of its own, which dies at its `number`-th step. Returns the steps that it passed.
fn sync_until(scene: &Scene, agent: &Agent<'_>, number: usize) -> (Vec<String>, bool) {
    let passed = scene.root.join("steps");
    let _ = fs::remove_file(&passed);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["git_shadow::deaths::victim", "--exact", "--include-ignored"]).stdin(Stdio::null());
    command.env(VICTIM, &scene.root).env("GIT_SHADOW_WORKTREE", &agent.path).env("GIT_SHADOW_BRANCH", &agent.branch);
    command.env("MXD_TEST_STEPS", &passed).env("MXD_TEST_STEP", number.to_string());
    let output = command.output().unwrap();
    let steps = fs::read_to_string(&passed).unwrap_or_default().lines().map(str::to_owned).collect();
    let is_killed = output.status.signal() == Some(9);
    assert!(is_killed || output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    (steps, is_killed)
}

#[tokio::test]
#[ignore = "started by the other tests of this file"]
async fn victim() {
    let Some(root) = std::env::var_os(VICTIM).map(PathBuf::from) else { return };
    let [path, branch] = ["GIT_SHADOW_WORKTREE", "GIT_SHADOW_BRANCH"].map(|name| std::env::var(name).unwrap());
    let scene = Scene::existing(&root);
    let agent = Agent::open(&scene, Path::new(&path), &branch).await.unwrap();
    agent.shadow.sync(&agent.sandbox).await.unwrap();
}

at_home! {
    async fn a_sync_that_dies_at_any_step_is_finished_by_the_next() {
        if skips() { return }
        let mut number = 1;
        loop {
            let scene = Scene::new();
            let agent = Agent::new(&scene).await;
            agent.run("echo 0 > zero && git add . && git commit -qm zero").await;
            agent.sh("echo 1 > one && git add . && git commit -qm one && git tag t && echo s > s && git add s");
            let inside = agent.sh("git rev-parse HEAD; git status --porcelain");
            let (steps, is_killed) = sync_until(&scene, &agent, number);
            scene.fsck();
            git(&scene.top, ["gc", "--quiet"]);
            let agent = Agent::open(&scene, &agent.path, &agent.branch).await.unwrap();
            agent.sync().await;
            let last = steps.last().cloned().unwrap_or_default();
            assert_eq!(agent.sh("git rev-parse HEAD; git status --porcelain"), inside, "{last}");
            assert_eq!(format!("{}\n{}", agent.tip(), status_of(&agent.path)), inside, "{last}");
            assert!(agent.saved().contains_key("tags/t"), "{last}");
            assert!(agent.sync().await.published.is_none());
            scene.fsck();
            let left = fs::read_dir(scene.top.join(".git/objects")).unwrap().flatten();
            assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("tmp_objdir")), "{last}");
            if !is_killed {
                assert!(steps.len() >= 6, "{steps:?}");
                break;
            }
            number += 1;
        }
    }

    async fn a_shadow_that_is_half_made_is_made_again() {
        if skips() { return }
        for number in 1..=2 {
            let scene = Scene::new();
            let agent = Agent::new(&scene).await;
            fs::remove_dir_all(scene.data.join("shadow")).unwrap();
            let (steps, is_killed) = sync_until(&scene, &agent, number);
            assert!(is_killed, "{steps:?}");
            let agent = Agent::open(&scene, &agent.path, &agent.branch).await.unwrap();
            agent.run("echo 1 > one && git add . && git commit -qm one").await;
            assert!(git_output(&scene.top, ["fsck"]).status.success());
        }
    }
}
