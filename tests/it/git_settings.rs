//! Settings of a repository that would run programs, lead elsewhere or make objects missing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use mxd::base::TurnId;
use mxd::git::agent_env::AgentGit;
use mxd::git::discover::{DiscoverError, RepoLocation};
use mxd::git::merge::{MergeOutcome, MergeRequest, MergeStrategy};
use mxd::git::snapshot::FILE_CAP;
use mxd::git::{Error, WorktreeSpec, Worktrees, union};
use mxd::process::Environment;
use ulid::Ulid;

use crate::git_support::{Scene, at_home, commit_all, git, git_output, main, removal};

fn turn(number: u64) -> TurnId {
    TurnId::from_ulid(Ulid::from_parts(1_730_000_000_000 + number, u128::from(number)))
}

/// A program that leaves a mark when it runs.
fn payload(scene: &Scene) -> (PathBuf, String) {
    let (mark, script) = (scene.root.join("ran"), scene.root.join("payload.sh"));
    fs::write(&script, format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit 1\n", mark.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (mark, script.to_str().unwrap().to_owned())
}

/// Runs git as an agent's process would.
async fn agents_git(scene: &Scene, folder: &Path, arguments: &[&str]) -> std::process::Output {
    let worktrees = scene.worktrees().await;
    let agent = AgentGit::prepare(worktrees.main(), &scene.data.join("hooks")).await.unwrap();
    let environment = Environment::new().with("MXD_TASK", "01TASK");
    let variables = agent.environment(environment, std::env::vars_os()).variables(std::env::vars_os());
    Command::new("git").args(arguments).current_dir(folder).env_clear().envs(variables).output().unwrap()
}

/// Makes a clone without the content of files, as `git clone --filter=blob:none` does, and a worktree folder for it.
fn partial_clone(scene: &Scene) -> Scene {
    git(&scene.top, ["config", "uploadpack.allowFilter", "true"]);
    git(&scene.top, ["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let clone = Scene::empty();
    fs::remove_dir_all(&clone.top).unwrap();
    let url = format!("file://{}", scene.top.display());
    git(&clone.root, ["clone", "--quiet", "--filter=blob:none", &url, clone.top.to_str().unwrap()]);
    clone
}

fn request(wanted: &WorktreeSpec) -> MergeRequest {
    MergeRequest {
        task: wanted.task,
        branch: wanted.branch.clone(),
        target: "main".to_owned(),
        strategy: MergeStrategy::Merge,
        message: "Merge".to_owned(),
        expected: None,
    }
}

at_home! {
    async fn a_partial_clone_is_worked_in_like_any_other() {
        let origin = Scene::new();
        fs::write(origin.top.join("old.txt"), "only in history\n").unwrap();
        let old = origin.commit_all("old");
        fs::remove_file(origin.top.join("old.txt")).unwrap();
        origin.commit_all("gone");
        let clone = partial_clone(&origin);
        assert_eq!(RepoLocation::of(&clone.top).unwrap().top, clone.top);
        let wanted = clone.made(1).await;
        let worktrees = clone.worktrees().await;
        fs::write(wanted.path.join("a.txt"), "work\n").unwrap();
        worktrees.take_snapshot(wanted.task, turn(1), &wanted.path, FILE_CAP).await.unwrap();
        commit_all(&wanted.path, "work");
        assert!(matches!(worktrees.merge(&request(&wanted)).await.unwrap(), MergeOutcome::Done { .. }));
        assert_eq!(fs::read_to_string(clone.top.join("a.txt")).unwrap(), "work\n");

        // A commit whose files are not here yet: they are fetched.
        let from_history = clone.wanted(2).await;
        worktrees.create(&from_history, &mxd::git::BranchStart::Commit(old)).await.unwrap();
        assert_eq!(fs::read_to_string(from_history.path.join("old.txt")).unwrap(), "only in history\n");
        worktrees.remove(&removal(&from_history, mxd::git::BranchFate::Delete)).await.unwrap();
        clone.fsck();
    }

    async fn a_promisor_remote_runs_no_program_of_the_repository_when_a_worktree_is_made() {
        let origin = Scene::new();
        fs::write(origin.top.join("old.txt"), "only in history\n").unwrap();
        let old = origin.commit_all("old");
        fs::remove_file(origin.top.join("old.txt")).unwrap();
        origin.commit_all("gone");
        let settings: [&[(&str, &str)]; 4] = [
            &[("remote.origin.uploadpack", "PAYLOAD")],
            &[("remote.origin.url", "ext::PAYLOAD"), ("protocol.ext.allow", "always")],
            &[("remote.origin.url", "ssh://127.0.0.1:1/x"), ("core.sshCommand", "PAYLOAD")],
            &[("remote.origin.url", "git://127.0.0.1:1/x"), ("core.gitProxy", "PAYLOAD")],
        ];
        for (number, settings) in settings.into_iter().enumerate() {
            let clone = partial_clone(&origin);
            let (mark, script) = payload(&clone);
            for (key, value) in settings {
                git(&clone.top, ["config", key, &value.replace("PAYLOAD", &script)]);
            }
            let wanted = clone.wanted(1).await;
            let made = clone.worktrees().await.create(&wanted, &mxd::git::BranchStart::Commit(old.clone())).await;
            assert!(!mark.exists(), "{settings:?}: {made:?}");
            assert!(made.is_err(), "{settings:?}: what is missing cannot have been fetched");
            if number == 0 {
                assert!(made.unwrap_err().to_string().contains("remote.origin.uploadpack"));
                // Of this setting the first value counts, so it cannot be replaced; but no missing object fetches by itself.
                agents_git(&clone, &clone.top, &["show", &format!("{old}:old.txt")]).await;
            } else {
                agents_git(&clone, &clone.top, &["fetch", "--quiet", "origin"]).await;
            }
            assert!(!mark.exists(), "{settings:?}: an agent's git");
        }
    }

    async fn settings_of_the_repository_run_nothing_in_an_agents_git() {
        let scene = Scene::new();
        let (mark, script) = payload(&scene);
        fs::write(scene.top.join(".gitattributes"), "*.txt diff=x\n").unwrap();
        scene.commit_all("attributes");
        for (key, value) in [
            ("core.fsmonitor", &*script),
            ("trailer.sign.command", &script),
            ("trailer.sign.ifmissing", "add"),
            ("trailer.other.cmd", &script),
            ("diff.external", &script),
            ("diff.x.textconv", &script),
            ("gpg.program", &script),
            ("log.showSignature", "true"),
            ("credential.helper", &format!("!{script}")),
            ("interactive.diffFilter", &script),
        ] {
            git(&scene.top, ["config", key, value]);
        }
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("a.txt"), "work\n").unwrap();
        let run = |arguments: &'static [&'static str]| agents_git(&scene, &wanted.path, arguments);
        assert!(run(&["status"]).await.status.success());
        let diff = String::from_utf8_lossy(&run(&["diff"]).await.stdout).into_owned();
        assert!(diff.contains("+work") && diff.contains("-one"), "{diff}");
        assert!(run(&["commit", "--quiet", "--all", "-m", "work"]).await.status.success());
        assert!(run(&["log", "-p", "-1"]).await.status.success());
        run(&["credential", "fill"]).await;
        assert!(!mark.exists(), "{:?}", fs::read_to_string(&mark));
        let message = git_output(&wanted.path, ["-c", "log.showSignature=false", "log", "-1", "--format=%B"]);
        assert!(String::from_utf8_lossy(&message.stdout).contains("Task-Id: 01TASK"), "{message:?}");
        // Without what is said in their place, they do run.
        git_output(&wanted.path, ["status"]);
        assert!(mark.exists());
    }

    async fn a_repository_that_keeps_its_files_elsewhere_is_refused() {
        let scene = Scene::new();
        let elsewhere = scene.root.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("a.txt"), "precious\n").unwrap();
        git(&scene.top, ["config", "core.worktree", elsewhere.to_str().unwrap()]);
        let refused = RepoLocation::of(&scene.top).unwrap_err();
        assert!(matches!(&refused, DiscoverError::OtherFolder { top, .. } if *top == elsewhere), "{refused}");
        let refused = Worktrees::open(&scene.top, &scene.data.join("worktrees"), None).await;
        assert!(matches!(refused, Err(Error::Refused(_))));
        assert_eq!(fs::read_to_string(elsewhere.join("a.txt")).unwrap(), "precious\n");
        git(&scene.top, ["--git-dir", ".git", "config", "--unset", "core.worktree"]);
        assert_eq!(RepoLocation::of(&scene.top).unwrap().top, scene.top);
        // The same setting is right where it says what is so anyway, as in a submodule.
        git(&scene.top, ["config", "core.worktree", ".."]);
        assert_eq!(RepoLocation::of(&scene.top).unwrap().top, scene.top);
        scene.made(1).await;
    }

    async fn lines_that_two_tasks_add_to_the_memory_do_not_conflict() {
        let scene = Scene::new();
        let memory = |folder: &Path| folder.join(union::MEMORY);
        fs::create_dir(scene.top.join(".mxd")).unwrap();
        fs::write(memory(&scene.top), "# Memory\n").unwrap();
        scene.commit_all("memory");
        let worktrees = scene.worktrees().await;
        worktrees.merge_memory_by_union().await.unwrap();
        worktrees.merge_memory_by_union().await.unwrap();
        let (one, two, three) = (scene.made(1).await, scene.made(2).await, scene.made(3).await);
        for (wanted, line) in [(&one, "- one\n"), (&two, "- two"), (&three, "- three\n")] {
            fs::write(memory(&wanted.path), format!("# Memory\n{line}")).unwrap();
            commit_all(&wanted.path, "learnt");
        }
        assert!(matches!(worktrees.merge(&request(&one)).await.unwrap(), MergeOutcome::Done { .. }));
        assert!(worktrees.preview(&two.branch, "main").await.unwrap().conflicts.is_empty());
        assert!(matches!(worktrees.merge(&request(&two)).await.unwrap(), MergeOutcome::Done { .. }));
        let merged = fs::read_to_string(memory(&scene.top)).unwrap();
        assert_eq!(merged.lines().collect::<Vec<_>>(), ["# Memory", "- one", "- two"]);
        // The same where an agent or the user merges.
        git(&three.path, ["merge", "--quiet", "-m", "take main in", "main"]);
        let merged = fs::read_to_string(memory(&three.path)).unwrap();
        assert!(["- one", "- two", "- three"].iter().all(|line| merged.contains(line)), "{merged}");
        let attributes = fs::read_to_string(scene.top.join(".git/info/attributes")).unwrap();
        assert_eq!(attributes.matches("merge=union").count(), 1, "{attributes}");
        assert_eq!(git(&scene.top, ["status", "--porcelain"]), "");
    }

    async fn a_memory_that_two_tasks_begin_is_that_of_both_also_after_a_rebase() {
        let scene = Scene::new();
        let worktrees = scene.worktrees().await;
        let (one, two) = (scene.made(1).await, scene.made(2).await);
        for (wanted, line) in [(&one, "- one\n"), (&two, "- two\n")] {
            fs::create_dir(wanted.path.join(".mxd")).unwrap();
            fs::write(wanted.path.join(union::MEMORY), line).unwrap();
            commit_all(&wanted.path, "learnt");
        }
        assert!(matches!(worktrees.merge(&request(&one)).await.unwrap(), MergeOutcome::Done { .. }));
        let rebase = MergeRequest { strategy: MergeStrategy::Rebase, ..request(&two) };
        assert!(matches!(worktrees.merge(&rebase).await.unwrap(), MergeOutcome::Done { .. }));
        let merged = fs::read_to_string(scene.top.join(union::MEMORY)).unwrap();
        assert!(merged.contains("- one\n") && merged.contains("- two\n"), "{merged}");
    }

    async fn a_line_break_in_the_path_of_the_repository_is_no_trouble() {
        let scene = Scene::new();
        let odd = scene.root.join("odd\nplace");
        fs::rename(&scene.top, &odd).unwrap();
        let worktrees = Worktrees::open(&odd, &scene.data.join("work\ntrees"), None).await.unwrap();
        let wanted = WorktreeSpec { path: worktrees.path_for(crate::git_support::task(1), "x"), ..Scene::new().wanted(1).await };
        worktrees.create(&wanted, &main()).await.unwrap();
        fs::write(wanted.path.join("a.txt"), "work\n").unwrap();
        worktrees.take_snapshot(wanted.task, turn(1), &wanted.path, FILE_CAP).await.unwrap();
        commit_all(&wanted.path, "work");
        assert!(matches!(worktrees.merge(&request(&wanted)).await.unwrap(), MergeOutcome::Done { .. }));
        assert_eq!(fs::read_to_string(odd.join("a.txt")).unwrap(), "work\n");
        worktrees.remove(&removal(&wanted, mxd::git::BranchFate::Delete)).await.unwrap();
        assert!(!wanted.path.exists());
    }
}
