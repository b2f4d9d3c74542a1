//! A small world for the real binary: a home, a data folder and repositories in one temporary folder.
//!
//! The program sees nothing of the machine but `PATH`. Nothing here touches the real home.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use mxd::base::{Clock as _, Timestamp};
use mxd::base::{IdSource, MessageId, SystemClock, TaskId};
use mxd::config::paths::{Home, ProjectFolder};
use mxd::model::event::{Body, Event, TaskChanged};
use mxd::model::{Message, MessageSource, TaskNode, Tree};
use mxd::store::disk::RealDisk;
use mxd::store::registry::Registry;
use mxd::store::tree_file::TreeFile;
use mxd::store::writer::Options;
use mxd::store::{Durability, Store};

use crate::support::scratch;

/// A temporary machine.
pub struct World {
    folder: tempfile::TempDir,
    pub ids: IdSource,
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().expect("it was not killed"),
            out: String::from_utf8(output.stdout.clone()).expect("it speaks UTF-8"),
            err: String::from_utf8(output.stderr.clone()).expect("it speaks UTF-8"),
        }
    }

    /// Everything that went well, with nothing on standard error.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        self.out
    }

    /// A refusal: nothing on standard output, the sentence and the hints on standard error.
    #[track_caller]
    pub fn refused(self, code: i32, sentence: &str) -> String {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.starts_with("mxd: "), "{self:?}");
        assert!(self.err.contains(sentence), "expected {sentence:?} in {self:?}");
        self.err
    }
}

/// Returns the commands in backticks that the hints of `err` name.
pub fn hinted_commands(err: &str) -> Vec<String> {
    let hints = err.lines().filter(|line| line.trim_start().starts_with("hint:"));
    hints.flat_map(|hint| hint.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

impl World {
    pub fn new() -> Self {
        Self::below(&scratch::folder())
    }

    /// A machine whose files are where those of a user are: what is saved goes to a disk.
    pub fn on_disk() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// A machine whose files are all below a folder.
    pub fn below(folder: &Path) -> Self {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let world = Self { folder, ids: IdSource::new(Arc::new(SystemClock)) };
        fs::create_dir(world.home_folder()).unwrap();
        fs::create_dir(world.temporary()).unwrap();
        world
    }

    /// The folder that everything is in, spelled as git spells it.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    pub fn home_folder(&self) -> PathBuf {
        self.root().join("home")
    }

    pub fn data(&self) -> PathBuf {
        self.root().join("data")
    }

    /// Where programs put what is only for now.
    pub fn temporary(&self) -> PathBuf {
        self.root().join("tmp")
    }

    pub fn home(&self) -> Home {
        Home::locate(Some(self.data().as_os_str()), None, None).unwrap()
    }

    /// A command that sees this world and nothing of the real one.
    pub fn command(&self, program: impl AsRef<OsStr>, cwd: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(cwd).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home_folder()).env("MXD_HOME", self.data()).env("TMPDIR", self.temporary());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
        command
    }

    pub fn mxd_command(&self, cwd: &Path) -> Command {
        self.command(env!("CARGO_BIN_EXE_mxd"), cwd)
    }

    pub fn mxd<S: AsRef<OsStr>>(&self, cwd: &Path, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(&self.mxd_command(cwd).args(args).output().unwrap())
    }

    /// Runs a line of shell, as a user who pastes a hint does; `mxd` is the binary under test.
    pub fn paste(&self, cwd: &Path, line: &str) -> Ran {
        let binary = Path::new(env!("CARGO_BIN_EXE_mxd")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([binary.to_owned()].into_iter().chain(std::env::split_paths(&path))).unwrap();
        let mut command = self.command("sh", cwd);
        identify(&mut command).env("PATH", path);
        Ran::of(&command.args(["-c", line]).output().unwrap())
    }

    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, cwd: &Path, args: impl IntoIterator<Item = S>) -> String {
        let mut command = self.command("git", cwd);
        let output = identify(&mut command).args(args).output().unwrap();
        assert!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// A folder in the world.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A repository on `main` with one commit.
    pub fn repository(&self, name: &str) -> PathBuf {
        let path = self.folder(name);
        self.git(&path, ["init", "-q", "-b", "main"]);
        self.git(&path, ["commit", "-q", "--allow-empty", "-m", "start"]);
        path
    }

    /// A repository that is registered.
    pub fn project(&self, name: &str) -> Project<'_> {
        let path = self.repository(name);
        self.mxd(&path, ["init"]).ok();
        let registry = Registry::new(Arc::new(RealDisk), self.home().projects());
        let project = registry.find_path(&path).unwrap().expect("it was just registered");
        Project { world: self, path, folder: self.home().project(project.id) }
    }
}

/// Says who commits, for git alone: the program under test is never told this way.
fn identify(command: &mut Command) -> &mut Command {
    for (name, value) in [("NAME", "Ann"), ("EMAIL", "ann@example.org")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command
}

/// A registered repository and the store of its sessions.
pub struct Project<'w> {
    pub world: &'w World,
    pub path: PathBuf,
    pub folder: ProjectFolder,
}

impl Project<'_> {
    pub fn mxd<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.world.mxd(&self.path, args)
    }

    pub fn task(&self, title: &str) -> TaskNode {
        TaskNode::new(TaskId::fresh(&self.world.ids), title, "engineer", now())
    }

    /// Appends events to a session, each for itself, through the real writer.
    pub fn append(&self, task: TaskId, bodies: Vec<Body>) -> Vec<Event> {
        let store = self.store();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        bodies
            .into_iter()
            .map(|body| runtime.block_on(store.append(task, None, body)).unwrap())
            .map(Arc::unwrap_or_clone)
            .collect()
    }

    pub fn store(&self) -> Store {
        let options = Options {
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock),
            ids: self.world.ids.clone(),
            sessions: self.folder.sessions(),
            blobs: self.folder.blobs(),
            durability: Durability::Sync,
        };
        Store::start(options).unwrap()
    }

    /// A tree of a root and tasks below it, each with a session that remembers it, as an engine leaves them.
    pub fn plant(&self, root: &TaskNode, children: &[TaskNode]) -> Tree {
        let mut tree = Tree::new(root.clone());
        for child in children {
            tree.insert(child.clone(), root.id).unwrap();
        }
        for node in tree.all() {
            self.append(node.id, vec![TaskChanged::Set { node: Box::new(node.clone()) }.into()]);
        }
        self.save(&tree);
        tree
    }

    pub fn save(&self, tree: &Tree) {
        TreeFile::new(Arc::new(RealDisk), self.folder.tree()).save(tree).unwrap();
    }

    pub fn message(&self, body: &str) -> Message {
        Message::new(MessageId::fresh(&self.world.ids), now(), MessageSource::User, body)
    }
}

pub fn now() -> Timestamp {
    SystemClock.now()
}

/// Returns every line of `text` as JSON.
#[track_caller]
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}
