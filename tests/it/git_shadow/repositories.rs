//! Shadows of unusual repositories.

use std::fs;
use std::path::{Path, PathBuf};

use mxd::git::shadow::{OpenError, Rejected, Unsupported, discard, forget};

use super::{Agent, real, status_of};
use crate::git_shadow::mounted::skips;
use crate::git_support::{Scene, at_home, git, git_output, task};

/// Replaces the repository of a scene.
fn replaced(scene: &Scene, arguments: &[&str]) -> PathBuf {
    let origin = scene.root.join("origin");
    fs::rename(&scene.top, &origin).unwrap();
    for setting in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        git(&origin, ["config", setting, "true"]);
    }
    let mut clone = vec!["clone", "--quiet"];
    clone.extend(arguments);
    let address = format!("file://{}", origin.display());
    let plain = origin.display().to_string();
    clone.push(if arguments.contains(&"--shared") { &plain } else { &address });
    clone.push("repo");
    git(&scene.root, clone);
    origin
}

async fn refusal(scene: &Scene, path: &Path, branch: &str) -> Unsupported {
    match Agent::open(scene, path, branch).await {
        Err(OpenError::Unsupported(reason)) => reason,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it has a shadow"),
    }
}

async fn works(scene: &Scene) {
    let agent = Agent::new(scene).await;
    agent.run("echo 1 > one && git add . && git commit -qm one && git branch side").await;
    agent.run("git commit -q --amend -m 'one, amended' && git log --format=%H >/dev/null && git fsck").await;
    assert_eq!(git(&scene.top, ["log", "--format=%s", "-1", &agent.branch]), "one, amended");
    assert_eq!(status_of(&agent.path), "");
    assert_eq!(agent.sh("git status --porcelain"), "");
    assert!(git_output(&scene.top, ["fsck"]).status.success());
}

at_home! {
    async fn a_repository_with_packed_refs_only() {
        if skips() { return }
        let scene = Scene::new();
        git(&scene.top, ["tag", "-a", "v1", "-m", "v1"]);
        git(&scene.top, ["gc", "--quiet"]);
        works(&scene).await;
    }

    async fn a_clone_that_borrows_objects() {
        if skips() { return }
        let scene = Scene::new();
        replaced(&scene, &["--shared"]);
        works(&scene).await;
        let alternates = scene.top.join(".git/objects/info/alternates");
        assert!(alternates.exists());
        // A relative path, as `git repack` users write it.
        fs::write(alternates, "../../../origin/.git/objects\n").unwrap();
        let agent = Agent::open(&scene, &scene.top, "main").await.unwrap();
        agent.run("git commit -q --allow-empty -m relative").await;
    }

    async fn a_shallow_clone() {
        if skips() { return }
        let scene = Scene::new();
        fs::write(scene.top.join("a.txt"), "2\n").unwrap();
        scene.commit_all("second");
        replaced(&scene, &["--depth", "1"]);
        works(&scene).await;
    }

    async fn a_partial_clone_publishes_commits_and_fetches_nothing_for_it() {
        if skips() { return }
        let scene = Scene::new();
        fs::write(scene.top.join("old.txt"), "old\n").unwrap();
        scene.commit_all("second");
        fs::remove_file(scene.top.join("old.txt")).unwrap();
        scene.commit_all("third");
        let origin = replaced(&scene, &["--filter=blob:none"]);
        let agent = Agent::new(&scene).await;
        let gone = scene.root.join("gone");
        fs::rename(&origin, &gone).unwrap();
        agent.run("echo 1 > one && git add . && git commit -qm one").await;
        assert_eq!(git(&scene.top, ["log", "--format=%s", "-1", &agent.branch]), "one");
        fs::rename(&gone, &origin).unwrap();
        assert_eq!(agent.sh("git show HEAD~2:old.txt"), "old", "missing objects are fetched inside");
        agent.run("git commit -q --allow-empty -m two").await;
        assert!(git_output(&scene.top, ["fsck"]).status.success());
    }

    async fn history_that_only_the_sandbox_fetched_is_refused_if_it_is_incomplete() {
        if skips() { return }
        let scene = Scene::new();
        let origin = replaced(&scene, &["--depth", "1"]);
        for number in 0..3 {
            git(&origin, ["commit", "--quiet", "--allow-empty", "-m", &number.to_string()]);
        }
        let agent = Agent::new(&scene).await;
        agent.sync().await;
        agent.sh("git fetch -q --depth 1 origin main && git reset -q --hard FETCH_HEAD");
        let synced = agent.sync().await;
        assert!(matches!(synced.rejected, Some(Rejected::Incomplete(_) | Rejected::Invalid(_))), "{synced:?}");
        assert!(git_output(&scene.top, ["fsck"]).status.success());
    }

    async fn a_git_folder_apart_from_its_checkout() {
        if skips() { return }
        let scene = Scene::new();
        let apart = scene.root.join("apart.git");
        git(&scene.top, ["init", "--quiet", &format!("--separate-git-dir={}", apart.display())]);
        works(&scene).await;
        let agent = Agent::open(&scene, &scene.top, "main").await.unwrap();
        agent.run("git commit -q --allow-empty -m root").await;
        assert_eq!(git(&scene.top, ["log", "--format=%s", "-1", "main"]), "root");
    }

    async fn worktree_settings_and_a_split_index() {
        if skips() { return }
        let scene = Scene::new();
        git(&scene.top, ["config", "extensions.worktreeConfig", "true"]);
        let made = scene.made(1).await;
        git(&made.path, ["config", "--worktree", "user.nickname", "w"]);
        git(&made.path, ["update-index", "--split-index"]);
        let agent = Agent::at(&scene, &made).await;
        assert_eq!(agent.sh("git config user.nickname; git status --porcelain"), "w");
        agent.run("git update-index --no-split-index && echo 1 > one && git add . && git commit -qm one").await;
        assert_eq!(status_of(&agent.path), "");
    }

    async fn logins_in_the_settings_are_not_inside() {
        if skips() { return }
        let scene = Scene::new();
        git(&scene.top, ["remote", "add", "origin", "https://ann:hidden-word@host.invalid/x"]);
        git(&scene.top, ["config", "http.extraHeader", "Authorization: hidden-word"]);
        let agent = Agent::new(&scene).await;
        git(&scene.top, ["config", "remote.origin.pushurl", "git@push.invalid:x"]);
        let addresses = mxd::git::remote_addresses(scene.worktrees().await.main());
        assert_eq!(addresses, ["https://ann:hidden-word@host.invalid/x", "git@push.invalid:x"]);
        assert_eq!(agent.sh("git remote get-url origin"), "https://host.invalid/x");
        assert!(!agent.inside.sh_output(&agent.path, "grep -r hidden-word $(git rev-parse --git-common-dir)").status.success());
        git(&scene.top, ["config", "user.nickname", "later"]);
        let agent = Agent::open(&scene, &agent.path, &agent.branch).await.unwrap();
        assert_eq!(agent.sh("git config user.nickname"), "later");
    }

    async fn large_files_of_lfs_reach_the_store_if_they_are_what_they_claim() {
        if skips() { return }
        let scene = Scene::new();
        let store = scene.top.join(".git/lfs/objects");
        let name = |content: &str| -> String {
            let hash = ring::digest::digest(&ring::digest::SHA256, content.as_bytes());
            hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
        };
        let place = |hash: &str| store.join(&hash[..2]).join(&hash[2..4]).join(hash);
        let (old, new, forged) = (name("old"), name("new"), name("another"));
        fs::create_dir_all(place(&old).parent().unwrap()).unwrap();
        fs::write(place(&old), "old").unwrap();
        let agent = Agent::new(&scene).await;
        agent.sync().await;
        let add = |hash: &str| format!("d=$(git rev-parse --git-common-dir)/lfs/objects/{}/{}; mkdir -p $d; printf new > $d/{hash}", &hash[..2], &hash[2..4]);
        agent.sh(&format!("cat {}\nprintf x > {}", place(&old).display(), place(&old).display()));
        agent.sh(&add(&new));
        agent.sh(&add(&forged));
        agent.sh("git commit -q --allow-empty -m x");
        let synced = agent.sync().await;
        assert_eq!(synced.lfs_refused, 1);
        assert_eq!(fs::read_to_string(place(&new)).unwrap(), "new");
        assert_eq!(fs::read_to_string(place(&old)).unwrap(), "old");
        assert!(!place(&forged).exists());
    }

    async fn repositories_without_a_shadow_have_a_reason() {
        let scene = Scene::new();
        let made = scene.made(1).await;
        let git_dir = scene.entry(&made);
        let at = || refusal(&scene, &made.path, &made.branch);
        fs::create_dir_all(git_dir.join("modules/sub")).unwrap();
        assert_eq!(at().await, Unsupported::Submodules);
        fs::remove_dir_all(git_dir.join("modules")).unwrap();
        git(&scene.top, ["config", "lfs.storage", "/elsewhere"]);
        assert_eq!(at().await, Unsupported::LfsStorage);
        git(&scene.top, ["config", "--unset", "lfs.storage"]);
        let objects = scene.top.join(".git/objects");
        fs::rename(&objects, scene.root.join("objects")).unwrap();
        std::os::unix::fs::symlink(scene.root.join("objects"), &objects).unwrap();
        assert_eq!(at().await, Unsupported::Linked("objects"));
    }

    async fn a_discarded_shadow_leaves_the_repository_as_it_is() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.run("git branch side && echo 1 > one && git add . && git commit -qm one").await;
        let worktrees = scene.worktrees().await;
        let checkout = worktrees.checkout(&agent.path).await.unwrap();
        let before = real(&scene);
        discard(&checkout, &agent.folder).await.unwrap();
        assert!(real(&scene) == before);
        assert!(!agent.folder.exists());
        forget(worktrees.main(), task(1)).await.unwrap();
        assert!(agent.saved().is_empty());
    }
}
