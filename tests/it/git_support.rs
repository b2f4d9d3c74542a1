//! A repository in a temporary folder, and a home that is not the developer's.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]
#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::future::Future;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use mxd::base::TaskId;
use mxd::git::{BranchFate, BranchStart, Removal, WorktreeSpec, Worktrees, branch};
use ulid::Ulid;

use crate::support::scratch;

/// Set in the process that has its own home.
const AT_HOME: &str = "GIT_TEST_AT_HOME";

/// Declares tests that run in a process of their own whose home is a temporary folder: git and libgit2 read settings
/// from there, and a test must not depend on whose machine it runs on.
macro_rules! at_home {
    ($($(#[$meta:meta])* async fn $name:ident() $body:block)*) => {$(
        #[test]
        $(#[$meta])*
        fn $name() {
            crate::git_support::run_at_home(concat!(module_path!(), "::", stringify!($name)), async $body);
        }
    )*};
}
pub(crate) use at_home;

pub fn run_at_home(test: &str, body: impl Future<Output = ()>) {
    if std::env::var_os(AT_HOME).is_some() {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(body);
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (_, name) = test.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--include-ignored", "--nocapture"]).env(AT_HOME, "1").stdin(Stdio::null());
    homely(&mut command, home.path());
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "the test was not found: {said}");
}

fn homely(command: &mut Command, home: &Path) {
    command.env("HOME", home).env("XDG_CONFIG_HOME", home.join(".config")).env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ann").env(format!("GIT_{role}_EMAIL"), "ann@example.org");
    }
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL"] {
        command.env_remove(name);
    }
}

/// Runs git as a user would, in `folder`.
pub fn git_output<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Output {
    Command::new("git").current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// As [`git_output`]; it must succeed. Returns what it said, without the last line break.
pub fn git<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> String {
    let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
    let output = git_output(folder, &arguments);
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub fn task(number: u64) -> TaskId {
    TaskId::from_ulid(Ulid::from_parts(1_730_000_000_000 + number, u128::from(number) * 7919))
}

pub struct Scene {
    /// Deleted with the scene, unless it belongs to another process.
    _folder: Option<tempfile::TempDir>,
    pub root: PathBuf,
    pub top: PathBuf,
    pub data: PathBuf,
}

impl Scene {
    /// A repository with one commit on `main`: `a.txt`, `dir/b.txt`, a script and a link.
    pub fn new() -> Self {
        let scene = Self::empty();
        fs::create_dir(scene.top.join("dir")).unwrap();
        fs::write(scene.top.join("a.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(scene.top.join("dir/b.txt"), "b\n").unwrap();
        fs::write(scene.top.join("run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(scene.top.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("a.txt", scene.top.join("link")).unwrap();
        fs::write(scene.top.join(".gitignore"), "*.ignored\n.env\nbuild/\n").unwrap();
        scene.commit_all("start");
        scene
    }

    pub fn empty() -> Self {
        let folder = tempfile::tempdir_in(scratch::folder()).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (top, data) = (root.join("repo"), root.join("data"));
        fs::create_dir(&top).unwrap();
        git(&top, ["init", "--quiet", "--initial-branch=main"]);
        Self { _folder: Some(folder), root, top, data }
    }

    /// The scene of another process.
    pub fn existing(root: &Path) -> Self {
        Self { _folder: None, root: root.to_owned(), top: root.join("repo"), data: root.join("data") }
    }

    pub fn commit_all(&self, message: &str) -> String {
        commit_all(&self.top, message)
    }

    pub async fn worktrees(&self) -> Worktrees {
        Worktrees::open(&self.top, &self.data.join("worktrees"), Some(&self.data.join("records"))).await.unwrap()
    }

    /// The branch and place of a task.
    pub async fn wanted(&self, number: u64) -> WorktreeSpec {
        let title = format!("Task number {number}");
        let path = self.worktrees().await.path_for(task(number), &title);
        WorktreeSpec { task: task(number), branch: branch::name(task(number), &title), path }
    }

    /// Makes the worktree of a task from `main`.
    pub async fn made(&self, number: u64) -> WorktreeSpec {
        let wanted = self.wanted(number).await;
        self.worktrees().await.create(&wanted, &main()).await.unwrap();
        wanted
    }

    pub fn fsck(&self) {
        let output = git_output(&self.top, ["fsck", "--full", "--strict"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
    }

    pub fn has_ref(&self, name: &str) -> bool {
        git_output(&self.top, ["rev-parse", "--verify", "--quiet", name]).status.success()
    }

    /// The folder in which the repository keeps what belongs to one worktree.
    pub fn entry(&self, wanted: &WorktreeSpec) -> PathBuf {
        self.top.join(".git/worktrees").join(wanted.path.file_name().unwrap())
    }
}

pub fn commit_all(folder: &Path, message: &str) -> String {
    git(folder, ["add", "--all"]);
    git(folder, ["commit", "--quiet", "--allow-empty", "-m", message]);
    git(folder, ["rev-parse", "HEAD"])
}

pub fn main() -> BranchStart {
    BranchStart::Branch("main".to_owned())
}

pub fn removal(wanted: &WorktreeSpec, fate: BranchFate) -> Removal {
    Removal {
        task: wanted.task,
        path: wanted.path.clone(),
        branch: wanted.branch.clone(),
        fate,
        bases: vec!["main".to_owned()],
    }
}

/// What a file is, to the byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    File { content: Vec<u8>, executable: bool },
    Link(PathBuf),
}

/// Everything in a folder but its `.git`.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Kind> {
    fn gather(top: &Path, folder: &Path, all: &mut BTreeMap<PathBuf, Kind>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(top).unwrap().to_owned();
            if name.as_os_str() == ".git" {
                continue;
            }
            let found = fs::symlink_metadata(&path).unwrap();
            if found.is_symlink() {
                all.insert(name, Kind::Link(fs::read_link(&path).unwrap()));
            } else if found.is_dir() {
                gather(top, &path, all);
            } else {
                let executable = found.permissions().mode() & 0o100 != 0;
                all.insert(name, Kind::File { content: fs::read(&path).unwrap(), executable });
            }
        }
    }
    let mut all = BTreeMap::new();
    gather(folder, folder, &mut all);
    all
}

/// Everything that belongs to a user in a checkout: index, HEAD, stash, reflogs, to the byte.
pub fn belongings(scene: &Scene, git_dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let common = scene.top.join(".git");
    let mut all = BTreeMap::new();
    for path in [git_dir.join("index"), git_dir.join("HEAD"), git_dir.join("logs/HEAD"), common.join("refs/stash")] {
        all.insert(path.clone(), fs::read(&path).unwrap_or_default());
    }
    for folder in [common.join("logs"), git_dir.join("logs")] {
        for (name, kind) in files(&folder) {
            if let Kind::File { content, .. } = kind {
                all.insert(folder.join(name), content);
            }
        }
    }
    all
}

/// A file name that is not text.
pub fn odd_name() -> &'static OsStr {
    OsStr::from_bytes(b"caf\xe9 \n.txt")
}
