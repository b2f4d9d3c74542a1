//! The shadow repository of an agent, in a mount namespace: everything of git works inside, nothing is written outside,
//! and what belongs to the repository gets there.

mod deaths;
mod mounted;
mod repositories;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mxd::git::merge::{MergeOutcome, MergeRequest, MergeStrategy};
use mxd::git::shadow::{Inside, OpenError, Opened, Rejected, Shadow, ShadowSpec, Synced};
use mxd::git::{WorktreeSpec, status};
use mxd::process::ChildSpec;

use crate::git_support::{Kind, Scene, at_home, commit_all, files, git, git_output, task};
use mounted::{Mounted, skips};

/// A task with a worktree and its shadow.
struct Agent<'s> {
    scene: &'s Scene,
    path: PathBuf,
    branch: String,
    shadow: Shadow,
    folder: PathBuf,
    opened: Opened,
    inside: Arc<Mounted>,
    sandbox: Arc<dyn Inside>,
}

impl<'s> Agent<'s> {
    async fn new(scene: &'s Scene) -> Self {
        let made = scene.made(1).await;
        Self::at(scene, &made).await
    }

    async fn at(scene: &'s Scene, made: &WorktreeSpec) -> Self {
        Self::open(scene, &made.path, &made.branch).await.unwrap()
    }

    async fn open(scene: &'s Scene, path: &Path, branch: &str) -> Result<Self, OpenError> {
        let worktrees = scene.worktrees().await;
        let checkout = worktrees.checkout(path).await.unwrap();
        let folder = scene.data.join("shadow").join(path.file_name().unwrap());
        let spec = ShadowSpec { task: task(1), branch: branch.to_owned(), checkout, folder: folder.clone() };
        let (shadow, opened) = Shadow::open(worktrees.main(), spec).await?;
        let inside = Arc::new(Mounted::new(&shadow));
        let sandbox: Arc<dyn Inside> = inside.clone();
        Ok(Self { scene, path: path.to_owned(), branch: branch.to_owned(), shadow, folder, opened, inside, sandbox })
    }

    fn sh(&self, script: &str) -> String {
        self.inside.sh(&self.path, script)
    }

    async fn sync(&self) -> Synced {
        self.shadow.sync(&self.sandbox).await.unwrap()
    }

    /// Runs a script as the engine would.
    async fn run(&self, script: &str) -> Synced {
        self.sync().await;
        self.sh(script);
        let synced = self.sync().await;
        assert_eq!(synced.rejected, None, "{script}");
        synced
    }

    /// Runs the command that a notice names.
    fn obey(&self, notice: &str) {
        let command = notice.split('`').nth(1).unwrap();
        self.sh(command);
    }

    fn tip(&self) -> String {
        git(&self.scene.top, ["rev-parse", &self.branch])
    }

    fn saved(&self) -> BTreeMap<String, String> {
        let prefix = format!("refs/mxd/shadow/{}/", task(1));
        let listed = git(&self.scene.top, ["for-each-ref", "--format=%(refname) %(objectname)", &prefix]);
        let entry =
            |line: &str| line.split_once(' ').map(|(name, id)| (name[prefix.len()..].to_owned(), id.to_owned()));
        listed.lines().filter_map(entry).collect()
    }

    fn git_dir(&self) -> PathBuf {
        PathBuf::from(git(&self.path, ["rev-parse", "--absolute-git-dir"]))
    }

    fn place(&self) -> PathBuf {
        self.folder.join("git")
    }
}

/// A sandbox in which nothing may be started.
#[derive(Debug)]
struct Nobody;

impl Inside for Nobody {
    fn enter(&self, child: ChildSpec) -> ChildSpec {
        panic!("{} was started", child.label);
    }
}

/// Everything in the real git folder.
fn real(scene: &Scene) -> BTreeMap<PathBuf, Kind> {
    files(&scene.top.join(".git"))
}

fn status_of(folder: &Path) -> String {
    git(folder, ["status", "--porcelain"])
}

at_home! {
    async fn a_commit_inside_is_published_and_the_checkout_is_clean_outside() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        let before = agent.tip();
        let synced = agent.run("echo new > new.txt && git add new.txt && git commit -qm 'Add a file'").await;
        let tip = agent.tip();
        assert_eq!(synced.published.as_deref(), Some(tip.as_str()));
        assert_eq!(git(&scene.top, ["rev-parse", &format!("{tip}^")]), before);
        assert_eq!(agent.sh("git rev-parse HEAD"), tip);
        assert_eq!(status_of(&agent.path), "");
        assert_eq!(agent.sh("git status --porcelain"), "");
        scene.fsck();
    }

    async fn nothing_that_an_agent_does_to_the_git_folder_reaches_the_real_one() {
        if skips() { return }
        let scene = Scene::new();
        git(&scene.top, ["branch", "mxd/other"]);
        git(&scene.top, ["config", "user.nickname", "a"]);
        let agent = Agent::new(&scene).await;
        let before = real(&scene);
        let attacks = [
            "echo /tmp > $D/commondir",
            "printf '[core]\\n\\tfsmonitor = touch /tmp/owned\\n' > $D/config.worktree",
            "git update-ref refs/heads/main $(git commit-tree -m x HEAD^{tree})",
            "git pack-refs --all --prune",
            "echo /nowhere > $C/objects/info/alternates",
            "echo x >> a.txt; git stash",
            "echo '* filter=x' > $C/info/attributes",
            "printf '#!/bin/sh\\n' > $C/hooks/post-checkout; chmod +x $C/hooks/post-checkout",
            "git branch -D mxd/other",
            "git gc -q --prune=now",
            "rm -rf $C/objects/??",
            "echo ref: refs/heads/x > $C/HEAD",
            "git config core.fsmonitor 'touch /tmp/owned'",
            "rm -rf $C/refs $C/logs $C/worktrees",
        ];
        for attack in attacks {
            agent.inside.sh_output(&agent.path, &format!("C=$(git rev-parse --git-common-dir) D=$(git rev-parse --git-dir)\n{attack}"));
            assert!(real(&scene) == before, "{attack}");
        }
        let common = scene.top.join(".git");
        let refused = [
            "echo gitdir: /tmp > .git".to_owned(),
            "rm -f .git".to_owned(),
            format!("touch {}/real/x", common.display()),
            format!("rm -f {}/real/*/*", common.display()),
        ];
        for attack in refused {
            assert!(!agent.inside.sh_output(&agent.path, &attack).status.success(), "{attack}");
        }
        assert!(real(&scene) == before);
        scene.fsck();
    }

    async fn every_part_of_git_works_inside_and_only_the_own_branch_is_published() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        let main = git(&scene.top, ["rev-parse", "main"]);
        agent.run("echo 1 > one && git add . && git commit -qm one").await;
        agent.run("echo 2 > two && git add two && git commit -qm two && git commit -q --amend -m 'two, amended'").await;
        agent.run("git tag light && git tag -a heavy -m heavy && git branch side HEAD^").await;
        agent.run("git rebase -q --onto main side && git gc -q").await;
        agent.run("echo 3 >> two && git stash -q && echo 4 >> two && git stash -q").await;
        agent.run("git switch -q -c feature && echo f > f && git add f && git commit -qm f && git update-ref refs/heads/main HEAD").await;
        agent.run("git init -q ../nested && cd ../nested && git commit -q --allow-empty -m n && git clone -q . ../clone && rm -rf ../nested ../clone").await;
        assert_eq!(git(&scene.top, ["rev-parse", "main"]), main);
        let saved = agent.saved();
        let names: Vec<&str> = saved.keys().map(String::as_str).collect();
        assert_eq!(names, ["heads/feature", "heads/main", "heads/side", "stash/000000", "stash/000001", "tags/heavy", "tags/light"]);
        assert_eq!(git(&scene.top, ["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/stash"]).lines().count(), 2);
        assert_eq!(git(&scene.top, ["log", "--format=%s", &agent.branch]), "two, amended\nstart");
        // Outside, HEAD is where the agent's branch is, without a name that nobody knows.
        assert_eq!(git(&agent.path, ["rev-parse", "HEAD"]), saved["heads/feature"]);
        assert_eq!(status_of(&agent.path), "");
        scene.fsck();
        agent.run("git switch -q - && git branch -D feature side && git tag -d light heavy && git stash clear && git update-ref refs/heads/main main@{1}").await;
        assert_eq!(agent.saved(), BTreeMap::new());
    }

    async fn what_is_staged_inside_is_staged_outside_with_its_content() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.run("echo staged > a.txt && git add a.txt && echo later > a.txt && git rm -q --cached run.sh && echo n > n && git add -N n").await;
        assert_eq!(git(&agent.path, ["show", ":a.txt"]), "staged");
        assert_eq!(status_of(&agent.path), agent.sh("git status --porcelain"));
        let checkout = scene.worktrees().await.checkout(&agent.path).await.unwrap();
        let dirty = status::dirty(&checkout, 100).await.unwrap();
        assert_eq!((dirty.tracked, dirty.untracked), (3, 1));
        git(&scene.top, ["gc", "--quiet", "--prune=now"]);
        scene.fsck();
    }

    async fn a_branch_that_moves_outside_moves_inside_before_the_next_command() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.run("echo 1 > one && git add . && git commit -qm one").await;
        fs::write(scene.top.join("base.txt"), "base\n").unwrap();
        let main = scene.commit_all("on main");
        git(&scene.top, ["tag", "v1"]);
        agent.run("git merge -q -m merged main && git rev-parse v1").await;
        assert_eq!(agent.sh("git rev-parse main v1"), format!("{main}\n{main}"));
        // A user who commits in the worktree, and stages something.
        fs::write(agent.path.join("mine.txt"), "mine\n").unwrap();
        let mine = commit_all(&agent.path, "by hand");
        fs::write(agent.path.join("staged.txt"), "staged\n").unwrap();
        git(&agent.path, ["add", "staged.txt"]);
        git(&scene.top, ["tag", "-d", "v1"]);
        agent.sync().await;
        assert_eq!(agent.sh("git rev-parse HEAD"), mine);
        assert_eq!(agent.sh("git status --porcelain"), "A  staged.txt");
        assert_eq!(agent.sh("git tag"), "");
    }

    async fn snapshots_merges_and_their_undo_see_what_an_agent_committed() {
        if skips() { return }
        let scene = Scene::new();
        let made = scene.made(1).await;
        let agent = Agent::at(&scene, &made).await;
        agent.run("echo 1 > one && git add . && git commit -qm one").await;
        let worktrees = scene.worktrees().await;
        let request = MergeRequest {
            task: made.task,
            branch: made.branch.clone(),
            target: "main".to_owned(),
            strategy: MergeStrategy::Merge,
            message: "Merge it".to_owned(),
            expected: None,
        };
        let outcome = worktrees.merge(&request).await.unwrap();
        assert!(matches!(outcome, MergeOutcome::Done { .. }), "{outcome:?}");
        assert_eq!(fs::read_to_string(scene.top.join("one")).unwrap(), "1\n");
        agent.sync().await;
        assert_eq!(agent.sh("git log --format=%s -1 main"), "Merge it");
        let conflicted = "git switch -q -c x HEAD^ && echo 2 > one && git add one && git commit -qm x && git merge -q - || true";
        agent.run(conflicted).await;
        let checkout = worktrees.checkout(&agent.path).await.unwrap();
        let dirty = status::dirty(&checkout, 10).await.unwrap();
        assert_eq!((dirty.conflicted, dirty.operation), (1, Some(status::Operation::Merge)));
        agent.run("git merge --abort && git switch -q -").await;
        assert_eq!(status::dirty(&checkout, 10).await.unwrap(), status::Dirty::default());
    }

    async fn the_commands_of_a_stopped_rebase_stay_inside() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.run("echo 1 > one && git add . && git commit -qm one").await;
        agent.run("GIT_SEQUENCE_EDITOR='printf \"break\\nexec touch /tmp/owned\\n\" >' git rebase -q -i HEAD^").await;
        let checkout = scene.worktrees().await.checkout(&agent.path).await.unwrap();
        assert_eq!(status::dirty(&checkout, 10).await.unwrap().operation, Some(status::Operation::Rebase));
        assert!(!agent.git_dir().join("rebase-merge").exists());
        agent.run("git rebase --abort").await;
        assert_eq!(status::dirty(&checkout, 10).await.unwrap().operation, None);
        assert_eq!(git(&agent.path, ["symbolic-ref", "--short", "HEAD"]), agent.branch);
    }

    async fn an_index_with_a_path_into_the_git_folder_is_not_published() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.sync().await;
        let index = fs::read(agent.git_dir().join("index")).unwrap();
        // Git refuses to write such a path, so the bytes of an ordinary one are replaced.
        let name = b"dir/b.txt";
        let at = index.windows(name.len()).position(|bytes| bytes == name).unwrap();
        let mut forged = index.clone();
        forged[at..at + name.len()].copy_from_slice(b".git/b.tx");
        let end = forged.len() - 20;
        let sum = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &forged[..end]);
        forged[end..].copy_from_slice(sum.as_ref());
        let admin = agent.place().join("worktrees").join(agent.git_dir().file_name().unwrap());
        fs::write(admin.join("index"), forged).unwrap();
        let synced = agent.sync().await;
        assert!(synced.index_problem.is_some());
        assert_eq!(fs::read(agent.git_dir().join("index")).unwrap(), index);
        fs::write(admin.join("index"), "DIRC nonsense").unwrap();
        let synced = agent.sync().await;
        assert!(synced.index_problem.is_some());
        assert_eq!(fs::read(agent.git_dir().join("index")).unwrap(), index);
        agent.obey(&synced.notices(&agent.branch)[0]);
        assert_eq!(agent.sync().await.index_problem, None);
        assert_eq!(status_of(&agent.path), "");
    }

    async fn a_branch_moved_on_both_sides_loses_no_commit() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.run("true").await;
        agent.sh("echo 1 > one && git add . && git commit -qm inside");
        let inside = agent.sh("git rev-parse HEAD");
        git(&scene.top, ["update-ref", &format!("refs/heads/{}", agent.branch), &git(&scene.top, ["commit-tree", "-m", "outside", "-p", "main", "main^{tree}"])]);
        let outside = agent.tip();
        let synced = agent.sync().await;
        assert_eq!(synced.published, None);
        assert_eq!(git(&scene.top, ["rev-parse", &synced.diverged.clone().unwrap()]), inside);
        assert_eq!((agent.tip(), agent.sh("git rev-parse HEAD")), (outside.clone(), outside.clone()));
        assert_eq!(synced.notices(&agent.branch).len(), 1);
        agent.run(&format!("git reset -q --hard && git cherry-pick {inside}")).await;
        assert_eq!(git(&scene.top, ["rev-parse", &format!("{}^", agent.branch)]), outside);
        scene.fsck();
    }

    async fn commits_whose_objects_are_gone_are_not_accepted() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        let before = (agent.tip(), status_of(&agent.path));
        agent.sync().await;
        agent.sh("echo 1 > one && git add . && git commit -qm one");
        agent.sh("f=$(git rev-parse HEAD:one | sed 's|^..|&/|'); rm -f $(git rev-parse --git-common-dir)/objects/$f");
        let synced = agent.sync().await;
        assert!(matches!(synced.rejected, Some(Rejected::Unreadable(_))), "{synced:?}");
        assert_eq!(agent.tip(), before.0);
        scene.fsck();
        // With the content back, the next sync takes it.
        agent.sh("git hash-object -w one");
        assert_eq!(agent.sync().await.published, Some(agent.tip()));
        scene.fsck();
    }

    async fn objects_that_git_finds_invalid_are_not_accepted() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.sync().await;
        let before = agent.tip();
        let script = "b=$(git hash-object -w a.txt)\nt=$(printf '100644 .git\\0' > /tmp/t.$$; printf \"$(echo $b | sed 's/../\\\\x&/g')\" >> /tmp/t.$$; git hash-object -w -t tree --literally /tmp/t.$$; rm /tmp/t.$$)\n";
        agent.inside.sh(&agent.path, &format!("bash -c '{}'", format!("{script}git reset -q --soft $(git commit-tree -m x -p HEAD $t)").replace('\'', "'\\''")));
        let synced = agent.sync().await;
        assert!(matches!(synced.rejected, Some(Rejected::Invalid(_))), "{synced:?}");
        assert_eq!(agent.tip(), before);
        assert!(!synced.notices(&agent.branch).is_empty());
    }

    async fn links_in_a_shadow_lead_nowhere() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        let outside = scene.root.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("main"), "kept").unwrap();
        let before = real(&scene);
        agent.sh(&format!("C=$(git rev-parse --git-common-dir); rm -rf $C/refs/heads $C/packed-refs; ln -s {0} $C/refs/heads; ln -s {0}/main $C/packed-refs", outside.display()));
        fs::write(scene.top.join("base.txt"), "base\n").unwrap();
        let _ = agent.shadow.sync(&agent.sandbox).await;
        assert_eq!(fs::read_to_string(outside.join("main")).unwrap(), "kept");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert!(real(&scene) == before);
    }

    async fn a_lost_or_damaged_shadow_is_made_again_with_what_the_agent_had() {
        if skips() { return }
        let scene = Scene::new();
        let made = scene.made(1).await;
        let agent = Agent::at(&scene, &made).await;
        assert_eq!(agent.opened, Opened::Created);
        agent.run("git branch side && git tag t && echo 1 > one && git add . && git commit -qm one").await;
        agent.run("echo 2 > one && git stash -q && echo 3 > staged && git add staged").await;
        let state = |agent: &Agent<'_>| agent.sh("git for-each-ref --format='%(refname) %(objectname)'; git stash list --format=%H; git status --porcelain; git rev-parse HEAD");
        let before = state(&agent);
        drop(agent);
        let agent = Agent::at(&scene, &made).await;
        assert_eq!(agent.opened, Opened::Present);
        fs::remove_dir_all(agent.place()).unwrap();
        let agent = Agent::at(&scene, &made).await;
        assert_eq!((agent.opened.clone(), state(&agent)), (Opened::Created, before.clone()));
        agent.run("true").await;
        fs::remove_file(agent.place().join("config")).unwrap();
        let agent = Agent::at(&scene, &made).await;
        assert!(matches!(agent.opened, Opened::Recreated { .. }));
        assert_eq!(state(&agent), before);
        agent.run("git stash pop -q && git commit -qam three").await;
        scene.fsck();
    }

    async fn the_users_own_checkout_can_have_a_shadow() {
        if skips() { return }
        let scene = Scene::new();
        git(&scene.top, ["branch", "dev"]);
        let agent = Agent::open(&scene, &scene.top, "main").await.unwrap();
        agent.run("echo 1 > one && git add . && git commit -qm one && echo 2 > two && git add two").await;
        assert_eq!(git(&scene.top, ["log", "--format=%s", "-1", "main"]), "one");
        assert_eq!(status_of(&scene.top), "A  two");
        git(&scene.top, ["commit", "--quiet", "-m", "by the user"]);
        agent.sync().await;
        assert_eq!(agent.sh("git log --format=%s -1; git status --porcelain"), "by the user");
        agent.run("git switch -q dev").await;
        assert_eq!(git(&scene.top, ["symbolic-ref", "HEAD"]), "refs/heads/dev");
        assert_eq!(status_of(&scene.top), "");
        agent.run("echo d > d && git add d && git commit -qm d").await;
        assert_eq!(git(&scene.top, ["log", "--format=%s", "-1", "dev"]), "start", "only the own branch is published");
        assert_eq!(git(&scene.top, ["log", "--format=%s", "-1", "HEAD"]), "d");
        assert_eq!(status_of(&scene.top), "");
        scene.fsck();
    }

    async fn a_sync_without_a_change_starts_no_process() {
        if skips() { return }
        let scene = Scene::new();
        let agent = Agent::new(&scene).await;
        agent.run("echo 1 > one && git add . && git commit -qm one").await;
        let nobody: Arc<dyn Inside> = Arc::new(Nobody);
        assert_eq!(agent.shadow.sync(&nobody).await.unwrap(), Synced::default());
        // Reading, too: the index is written again when files are compared.
        agent.sh("touch a.txt && git status --porcelain");
        assert_eq!(agent.shadow.sync(&nobody).await.unwrap(), Synced::default());
        assert!(git_output(&agent.path, ["diff-files", "--quiet"]).status.success());
    }
}
