//! What is not committed, how far a branch has come, what is copied into a worktree, and what agents' commits carry.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use mxd::git::diff;
use mxd::git::include::{self, Skip};
use mxd::git::status::{self, ChangeKind, Changed, DiffStat, Drift, Operation};
use mxd::git::{AgentGit, Checkout, WorktreeSpec};
use mxd::process::Environment;

use crate::git_support::{Scene, at_home, commit_all, git, git_output, odd_name};

async fn checkout(scene: &Scene, wanted: &WorktreeSpec) -> Checkout {
    scene.worktrees().await.checkout(&wanted.path).await.unwrap()
}

/// Returns the lines that a checkout added since it left main.
async fn added(checkout: &Checkout) -> Vec<String> {
    let diff = diff::since_base(checkout, "main", &diff::DiffSettings::default()).await.unwrap();
    let lines = diff.files.into_iter().flat_map(|file| file.hunks).flat_map(|hunk| hunk.lines);
    lines.filter(|line| line.kind == mxd::model::diff::LineKind::Added).map(|line| line.text).collect()
}

fn changed(path: impl Into<PathBuf>, kind: ChangeKind) -> Changed {
    Changed { path: path.into(), kind }
}

/// Runs git as an agent of task `T1` would, in `folder`.
fn as_agent(agent: &AgentGit, folder: &Path, task: Option<&str>, arguments: &[&str]) -> std::process::Output {
    let mut environment = agent.environment(Environment::new(), std::env::vars_os());
    if let Some(task) = task {
        environment = environment.with("MXD_TASK", task);
    }
    let variables = environment.variables(std::env::vars_os());
    Command::new("git").args(arguments).current_dir(folder).env_clear().envs(variables).output().unwrap()
}

fn trailers(folder: &Path) -> String {
    git(folder, ["log", "-1", "--format=%(trailers:key=Task-Id,valueonly,separator=%x2C)"])
}

at_home! {
    async fn what_is_not_committed_is_named_counted_and_capped() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let here = checkout(&scene, &wanted).await;
        assert!(status::dirty(&here, 10).await.unwrap().is_clean());
        let path = &wanted.path;
        fs::write(path.join("a.txt"), "changed").unwrap();
        fs::remove_file(path.join("dir/b.txt")).unwrap();
        fs::write(path.join("staged.txt"), "s").unwrap();
        git(path, ["add", "staged.txt"]);
        fs::write(path.join(odd_name()), "odd").unwrap();
        fs::remove_file(path.join("link")).unwrap();
        fs::write(path.join("link"), "no link").unwrap();
        fs::create_dir(path.join("new folder")).unwrap();
        for number in 0..5 {
            fs::write(path.join(format!("new folder/{number}")), "x").unwrap();
        }
        fs::write(path.join(".env"), "ignored").unwrap();
        let dirty = status::dirty(&here, 100).await.unwrap();
        assert_eq!((dirty.tracked, dirty.untracked, dirty.conflicted), (4, 2, 0));
        assert_eq!(dirty.changes, [
            changed("a.txt", ChangeKind::Modified),
            changed("dir/b.txt", ChangeKind::Deleted),
            changed("link", ChangeKind::TypeChanged),
            changed("staged.txt", ChangeKind::Added),
            changed(odd_name(), ChangeKind::Untracked),
            changed("new folder/", ChangeKind::Untracked),
        ]);
        let few = status::dirty(&here, 2).await.unwrap();
        assert_eq!((few.changes.len(), few.count()), (2, 6));
        assert_eq!(few.index_lock, None);
    }

    async fn the_diff_of_a_branch_is_the_same_before_and_after_it_is_merged() {
        for way in ["--ff-only", "--no-ff"] {
            let scene = Scene::new();
            let wanted = scene.made(1).await;
            let here = checkout(&scene, &wanted).await;
            for name in ["first", "second"] {
                fs::write(wanted.path.join(name), format!("{name} of it\n")).unwrap();
                commit_all(&wanted.path, name);
            }
            let before = added(&here).await;
            assert_eq!(before, ["first of it", "second of it"]);
            git(&scene.top, ["merge", "-q", "--no-edit", way, wanted.branch.as_str()]);
            assert_eq!(added(&here).await, before, "{way}");
            fs::write(scene.top.join("a.txt"), "main goes on").unwrap();
            scene.commit_all("main goes on");
            assert_eq!(added(&here).await, before, "{way}");
            // What is done after the merge is what one wants to see from then on.
            fs::write(wanted.path.join("third"), "third of it\n").unwrap();
            commit_all(&wanted.path, "third");
            assert_eq!(added(&here).await, ["third of it"]);
        }
    }

    async fn conflicts_operations_and_locks_are_seen() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(scene.top.join("a.txt"), "main").unwrap();
        scene.commit_all("main");
        fs::write(wanted.path.join("a.txt"), "task").unwrap();
        commit_all(&wanted.path, "task");
        assert!(!git_output(&wanted.path, ["merge", "main"]).status.success(), "it must conflict");
        let here = checkout(&scene, &wanted).await;
        let dirty = status::dirty(&here, 10).await.unwrap();
        assert_eq!((dirty.conflicted, dirty.operation), (1, Some(Operation::Merge)));
        assert_eq!(dirty.changes, [changed("a.txt", ChangeKind::Conflicted)]);
        let lock = fs::File::create(scene.entry(&wanted).join("index.lock")).unwrap();
        assert!(status::dirty(&here, 10).await.unwrap().index_lock.is_some(), "and reading goes on");
        lock.set_modified(SystemTime::now() - Duration::from_mins(1)).unwrap();
        drop(lock);
        let worktrees = scene.worktrees().await;
        let slow = scene.data.join("git-slow");
        fs::create_dir_all(&scene.data).unwrap();
        fs::write(&slow, "#!/bin/sh\nread line").unwrap();
        fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).unwrap();
        let mut at_work = Command::new(slow).current_dir(&wanted.path).stdin(Stdio::piped()).spawn().unwrap();
        assert!(!worktrees.unlock_index(&wanted.path).await.unwrap(), "a git is at work there");
        at_work.kill().unwrap();
        at_work.wait().unwrap();
        assert!(worktrees.unlock_index(&wanted.path).await.unwrap());
        assert!(!worktrees.unlock_index(&wanted.path).await.unwrap(), "it is gone");
        git(&wanted.path, ["add", "a.txt"]);
    }

    async fn a_diffstat_counts_commits_and_what_is_not_committed_since_the_branch_left() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        fs::write(scene.top.join("main.txt"), "not ours\n").unwrap();
        scene.commit_all("main goes on");
        fs::write(wanted.path.join("a.txt"), "one\nTWO\nthree\nfour\n").unwrap();
        commit_all(&wanted.path, "work");
        fs::write(wanted.path.join("new.txt"), "1\n2\n").unwrap();
        fs::remove_file(wanted.path.join("dir/b.txt")).unwrap();
        let here = checkout(&scene, &wanted).await;
        let stat = status::diffstat(&here, "main").await.unwrap();
        assert_eq!(stat, DiffStat { files: 3, added: 4, removed: 2 });
        let drift = status::drift(&here, &wanted.branch, "main").await.unwrap();
        assert_eq!(drift, Drift { ahead: 1, behind: 1 });
        assert!(status::drift(&here, &wanted.branch, "gone").await.is_err());
    }

    async fn a_merged_branch_keeps_the_size_of_its_changes() {
        for how in ["--no-ff", "--ff-only"] {
            let scene = Scene::new();
            let wanted = scene.made(1).await;
            let here = checkout(&scene, &wanted).await;
            assert_eq!(status::diffstat(&here, "main").await.unwrap(), DiffStat::default(), "nothing was done yet");
            fs::write(wanted.path.join("new.txt"), "1\n2\n").unwrap();
            commit_all(&wanted.path, "work");
            git(&scene.top, ["merge", "-q", how, "-m", "merge", &wanted.branch]);
            fs::write(scene.top.join("main.txt"), "not ours\n").unwrap();
            scene.commit_all("main goes on");
            let stat = status::diffstat(&here, "main").await.unwrap();
            assert_eq!(stat, DiffStat { files: 1, added: 2, removed: 0 }, "{how}");
        }
    }

    async fn a_renamed_file_counts_as_one_for_whoever_counts() {
        let scene = Scene::new();
        let lines: String = (0..40).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
        fs::write(scene.top.join("old.txt"), &lines).unwrap();
        scene.commit_all("a long file");
        let wanted = scene.made(1).await;
        git(&wanted.path, ["mv", "old.txt", "new.txt"]);
        fs::write(wanted.path.join("new.txt"), lines.replace("line 7\n", "seven\n")).unwrap();
        commit_all(&wanted.path, "renamed");
        let here = checkout(&scene, &wanted).await;
        let expected = DiffStat { files: 1, added: 1, removed: 1 };
        assert_eq!(status::diffstat(&here, "main").await.unwrap(), expected);
        assert_eq!(scene.worktrees().await.preview(&wanted.branch, "main").await.unwrap().stat, expected);
        let diff = mxd::git::diff::since_base(&here, "main", &mxd::git::diff::DiffSettings::default()).await.unwrap();
        assert_eq!((diff.files.len(), diff.added(), diff.removed()), (1, 1, 1));
    }

    async fn ignored_files_that_are_asked_for_are_copied_with_their_modes_and_once() {
        let scene = Scene::new();
        let top = &scene.top;
        let include_file = ".env\nbuild/\n!build/skip\n*.ignored\na.txt\nuntracked.txt\nsecret-link\n[broken\n";
        fs::write(top.join(".worktreeinclude"), include_file).unwrap();
        scene.commit_all("include");
        fs::write(top.join(".env"), "KEY=1").unwrap();
        fs::set_permissions(top.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir_all(top.join("build/deep")).unwrap();
        fs::write(top.join("build/deep/cache"), vec![7; 100_000]).unwrap();
        fs::set_permissions(top.join("build/deep/cache"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(top.join("build/skip"), "s").unwrap();
        std::os::unix::fs::symlink("deep/cache", top.join("build/inside")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", top.join("build/outside")).unwrap();
        std::os::unix::fs::symlink("../../..", top.join("build/up")).unwrap();
        fs::write(top.join("untracked.txt"), "not ignored").unwrap();
        fs::write(top.join("dir/mine.ignored"), "theirs").unwrap();
        let wanted = scene.made(1).await;
        fs::write(wanted.path.join("dir/mine.ignored"), "mine").unwrap();

        let worktrees = scene.worktrees().await;
        let included = include::copy(worktrees.main(), &worktrees.checkout(&wanted.path).await.unwrap()).await.unwrap();
        let copied: Vec<PathBuf> = [".env", "build/deep/cache", "build/inside"].map(PathBuf::from).to_vec();
        assert_eq!((included.files, &included.copied), (3, &copied), "{included:?}");
        assert_eq!(included.skipped, [
            ("build/outside".into(), Skip::LeadsOut),
            ("build/up".into(), Skip::LeadsOut),
            ("dir/mine.ignored".into(), Skip::Exists),
        ]);
        let mode = |name: &str| fs::metadata(wanted.path.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(".env"), mode("build/deep/cache")), (0o600, 0o755));
        assert_eq!(fs::read(wanted.path.join("build/deep/cache")).unwrap(), vec![7; 100_000]);
        assert_eq!(fs::read(wanted.path.join("dir/mine.ignored")).unwrap(), b"mine");
        assert!(!wanted.path.join("untracked.txt").exists() && !wanted.path.join("build/skip").exists());
        assert_eq!(git(&wanted.path, ["status", "--porcelain"]), "");
        let again = include::copy(worktrees.main(), &worktrees.checkout(&wanted.path).await.unwrap()).await.unwrap();
        assert_eq!((again.files, again.skipped_count), (0, 6));
    }

    async fn without_the_file_nothing_is_copied_and_links_in_the_worktree_are_not_followed() {
        let scene = Scene::new();
        fs::write(scene.top.join(".env"), "KEY=1").unwrap();
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        assert_eq!(include::copy(worktrees.main(), &worktrees.checkout(&wanted.path).await.unwrap()).await.unwrap().files, 0);
        assert!(!wanted.path.join(".env").exists());

        fs::write(scene.top.join(".worktreeinclude"), "build/\n").unwrap();
        fs::create_dir(scene.top.join("build")).unwrap();
        fs::write(scene.top.join("build/x"), "x").unwrap();
        let outside = scene.root.join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, wanted.path.join("build")).unwrap();
        let included = include::copy(worktrees.main(), &worktrees.checkout(&wanted.path).await.unwrap()).await.unwrap();
        assert_eq!((included.files, included.skipped_count), (0, 1), "{included:?}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    async fn every_way_to_commit_carries_the_task_once() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        let agent = AgentGit::prepare(worktrees.main(), &scene.data.join("hooks")).await.unwrap();
        let path = &wanted.path;
        let commit = |arguments: &[&str]| {
            let all = [&["commit", "--quiet", "--allow-empty"], arguments].concat();
            let output = as_agent(&agent, path, Some("T1"), &all);
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        commit(&["-m", "plain"]);
        assert_eq!(git(path, ["log", "-1", "--format=%B"]).trim_end(), "plain\n\nTask-Id: T1");
        commit(&["-m", "subject", "-m", "body\n\n---\nafter the line\n\nSigned-off-by: Ann <ann@example.org>"]);
        assert_eq!(trailers(path), "T1");
        assert!(git(path, ["log", "-1", "--format=%B"]).contains("Signed-off-by: Ann <ann@example.org>\nTask-Id: T1"));
        commit(&["--amend", "--no-edit"]);
        assert_eq!(trailers(path), "T1");
        commit(&["--amend", "-m", "again"]);
        assert_eq!(trailers(path), "T1");
        let message = scene.root.join("message");
        fs::write(&message, "from a file\n\nTask-Id: T0\n").unwrap();
        commit(&["-F", message.to_str().unwrap()]);
        assert_eq!(trailers(path), "T0", "a commit that is taken over keeps its own");
        commit(&["-v", "-m", "verbose", "--cleanup=scissors"]);
        assert_eq!(trailers(path), "T1");

        fs::write(scene.top.join("main.txt"), "m").unwrap();
        scene.commit_all("main");
        assert!(as_agent(&agent, path, Some("T1"), &["merge", "--no-edit", "main"]).status.success());
        assert_eq!((trailers(path).as_str(), git(path, ["rev-list", "--count", "--merges", "HEAD"]).as_str()), ("T1", "1"));
        assert!(as_agent(&agent, path, Some("T1"), &["revert", "--no-edit", "-m", "1", "HEAD"]).status.success());
        assert_eq!(trailers(path), "T1");
    }

    async fn a_commit_without_a_message_or_a_task_is_as_it_would_be_without_the_hook() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        let agent = AgentGit::prepare(worktrees.main(), &scene.data.join("hooks with space")).await.unwrap();
        let head = git(&wanted.path, ["rev-parse", "HEAD"]);
        let called_off = as_agent(&agent, &wanted.path, Some("T1"), &["commit", "--allow-empty"]);
        assert!(!called_off.status.success(), "an empty message calls the commit off");
        assert_eq!(git(&wanted.path, ["rev-parse", "HEAD"]), head);
        assert!(as_agent(&agent, &wanted.path, None, &["commit", "--allow-empty", "-m", "no task"]).status.success());
        assert_eq!(git(&wanted.path, ["log", "-1", "--format=%B"]).trim_end(), "no task");
    }

    async fn the_repositorys_hooks_do_not_run_for_agents() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let hook = scene.top.join(".git/hooks/pre-commit");
        fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!git_output(&wanted.path, ["commit", "--allow-empty", "-m", "person"]).status.success());
        let worktrees = scene.worktrees().await;
        let agent = AgentGit::prepare(worktrees.main(), &scene.data.join("hooks")).await.unwrap();
        assert!(as_agent(&agent, &wanted.path, Some("T1"), &["commit", "--allow-empty", "-m", "agent"]).status.success());
    }

    async fn an_agent_can_commit_where_git_knows_nobody() {
        let scene = Scene::new();
        let wanted = scene.made(1).await;
        let worktrees = scene.worktrees().await;
        let agent = AgentGit::prepare(worktrees.main(), &scene.data.join("hooks")).await.unwrap();
        let stranger: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_AUTHOR") && !name.to_string_lossy().starts_with("GIT_COMMITTER"))
            .filter(|(name, _)| name != "EMAIL")
            .collect();
        let variables = agent.environment(Environment::new(), stranger.clone()).variables(stranger);
        let output = Command::new("git")
            .args(["commit", "--allow-empty", "-m", "x"])
            .current_dir(&wanted.path)
            .env_clear()
            .envs(variables)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(git(&wanted.path, ["log", "-1", "--format=%an"]), "Matrix agent");
    }
}
