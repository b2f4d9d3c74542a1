//! A project to measure on: a repository, a data folder, and tasks that sleep.

use std::process::Command as Process;
use std::sync::Arc;

use mxd::base::{IdSource, ProjectId, SystemClock, TaskId, Timestamp, TurnId};
use mxd::config::paths::Home;
use mxd::config::{Environment, Merged, merge};
use mxd::engine::models::CommandLineChoice;
use mxd::engine::{EngineOptions, Handle};
use mxd::model::event::{AssistantText, StopReason, TaskChanged, TurnEnded};
use mxd::model::tree::Tree;
use mxd::model::{Project, Status, TaskNode};
use mxd::provider::Provider;
use mxd::store::registry::Registry;
use mxd::store::tree_file::TreeFile;
use mxd::store::{Durability, RealDisk, Store};

use crate::fixture::{self, Fixture};
use crate::{Outcome, turns};

/// A project in a folder of its own.
pub struct BenchProject {
    pub folder: tempfile::TempDir,
    pub home: Home,
    pub project: Project,
    ids: IdSource,
}

impl BenchProject {
    pub fn new() -> Outcome<Self> {
        Self::with_files(0)
    }

    /// As [`BenchProject::new`], with so many files more, a hundred in a folder.
    pub fn with_files(files: usize) -> Outcome<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let path = folder.path().join("app");
        std::fs::create_dir(&path)?;
        std::fs::write(path.join("notes.txt"), fixture::text(1_500))?;
        for number in 0..files {
            let folder = path.join(format!("part{}", number / 100));
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(format!("file{number}.txt")), format!("file {number}\n").repeat(50))?;
        }
        for arguments in ["init -q -b main", "add .", "-c user.name=A -c user.email=a@b.c commit -q -m start"] {
            let done = Process::new("git").args(arguments.split(' ')).current_dir(&path).status()?;
            if !done.success() {
                return Err(format!("git {arguments} failed").into());
            }
        }
        let ids = fixture::ids();
        let project = Project {
            id: ProjectId::fresh(&ids),
            name: "app".to_owned(),
            path: std::fs::canonicalize(path)?,
            base_branch: "main".to_owned(),
            created_at: Timestamp::EPOCH,
            former: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let home = Home::locate(Some(folder.path().join("data").as_os_str()), None, None)?;
        Ok(Self { folder, home, project, ids })
    }

    /// Starts an engine in this process, in which so many may work at once.
    pub async fn open(&self, most: usize, provider: Arc<dyn Provider>) -> Outcome<Handle> {
        let mut merged: Merged = merge(&Environment::new(|_| None), &[])?;
        merged.settings.max_running = u32::try_from(most)?;
        let options = EngineOptions {
            home: self.home.clone(),
            project: self.project.clone(),
            merged,
            choice: CommandLineChoice::default(),
            budget: None,
            mode: None,
            hold: false,
            scripted: Some(provider),
            backend: None,
            clock: Arc::new(SystemClock),
            ids: self.ids.clone(),
        };
        Ok(mxd::engine::open(options).await?)
    }

    /// Makes the project known to the program, with a model that plays a scenario.
    pub fn register(&self, scenario: &serde_json::Value) -> Outcome {
        let script = self.folder.path().join("scenario.json");
        std::fs::create_dir_all(self.home.root())?;
        std::fs::write(&script, scenario.to_string())?;
        let groups = serde_json::json!({ "s": { "provider": "scripted", "script": script } });
        let config = serde_json::json!({ "authGroups": groups, "maxRunning": 64 });
        std::fs::write(self.home.config(), config.to_string())?;
        Registry::new(Arc::new(RealDisk), self.home.projects()).register(self.project.clone())?;
        Ok(())
    }

    /// Makes tasks that are in progress and asleep, each with a session of `bytes` of which the last `active` count.
    pub async fn sleepers(&self, count: usize, bytes: usize, active: usize) -> Outcome<Vec<Fixture>> {
        let folder = self.home.project(self.project.id);
        std::fs::create_dir_all(folder.sessions())?;
        let root = TaskNode::new(TaskId::fresh(&self.ids), "root", "orchestrator", Timestamp::EPOCH);
        let mut tree = Tree::new(TaskNode { status: Status::Passed, ..root });
        let mut written = Vec::new();
        for number in 0..count {
            let session = Fixture::write(&folder.sessions(), bytes, active)?;
            let node = TaskNode::new(session.task, format!("Sleeper {number}"), "engineer", Timestamp::EPOCH);
            tree.insert(TaskNode { status: Status::InProgress, ..node }, tree.root_id())?;
            written.push(session);
        }
        TreeFile::new(Arc::new(RealDisk), folder.tree()).save(&tree)?;
        self.put_to_sleep(&written, &tree).await?;
        Ok(written)
    }

    /// Ends every conversation with the agent's own word, so that nothing is owed.
    async fn put_to_sleep(&self, written: &[Fixture], tree: &Tree) -> Outcome {
        let folder = self.home.project(self.project.id);
        let store: Store = turns::open_at(&folder.sessions(), &folder.blobs(), Durability::Os)?;
        for session in written {
            let rest = TurnEnded { turn: TurnId::fresh(&self.ids), stop: StopReason::EndTurn };
            let bodies = vec![AssistantText { text: "I wait.".to_owned() }.into(), rest.into()];
            store.submit(session.task, None, bodies).await?;
        }
        let root = tree.get(tree.root_id()).ok_or("there is no root")?.clone();
        store.append(tree.root_id(), None, TaskChanged::Set { node: Box::new(root) }).await?;
        store.close();
        Ok(())
    }
}
