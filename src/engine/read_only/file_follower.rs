//! Follows the tree file and the sessions of a project. Detects changes by size and modification time, then reads the
//! new events.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::base::{EventId, Fault, TaskId};
use crate::config::Settings;
use crate::engine::session_view;
use crate::engine::snapshot::{ProjectView, Snapshot, TaskView, Wait};
use crate::engine::stall::{self, TaskProgress};
use crate::engine::update::Update;
use crate::model::live_turn::LiveTurns;
use crate::model::task::TaskNode;
use crate::model::tree::Tree;
use crate::model::{Event, Project};
use crate::store::tree_file::TreeFile;
use crate::store::{RealDisk, Sessions, StateCache, StoreError};

/// How many new events of a session are sent one by one. If there are more, the watcher gets `Resync`.
const MAX_EVENTS: usize = 500;

/// Size and modification time of a file. `None` if it does not exist.
type Stamp = Option<(u64, SystemTime)>;

struct FollowedTask {
    stamp: Stamp,
    head: Option<EventId>,
    view: TaskView,
}

pub(super) struct FileFollower {
    project: Project,
    settings: Settings,
    tree_path: PathBuf,
    tree_stamp: Stamp,
    tree: Tree,
    sessions: Sessions,
    state_cache: StateCache,
    known: BTreeMap<TaskId, FollowedTask>,
}

impl FileFollower {
    pub(super) fn new(
        project: Project,
        settings: Settings,
        tree_path: PathBuf,
        state_cache: PathBuf,
        sessions: Sessions,
    ) -> Result<Self, Fault> {
        let tree_stamp = stamp(&tree_path);
        let tree = load(&tree_path)?.ok_or_else(|| {
            Fault::environment("the mxd process that has this project open is still starting")
                .hint("try again in a moment")
        })?;
        let state_cache = StateCache::load(Arc::new(RealDisk), state_cache);
        let known = BTreeMap::new();
        let mut follower = Self { project, settings, tree_path, tree_stamp, tree, sessions, state_cache, known };
        follower.poll_tasks();
        Ok(follower)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let project = ProjectView::set_up(&self.project, &self.settings);
        let tasks = self.tree.all().filter_map(|node| Some(self.known.get(&node.id)?.view.clone())).collect();
        Snapshot {
            project,
            root: self.tree.root_id(),
            tasks,
            quiet: false,
            live: LiveTurns::default(),
            clients: Vec::new(),
        }
    }

    /// Returns what changed since the last call.
    pub(super) fn poll(&mut self) -> Vec<Update> {
        let now = stamp(&self.tree_path);
        if now != self.tree_stamp {
            match load(&self.tree_path) {
                Ok(Some(tree)) => (self.tree, self.tree_stamp) = (tree, now),
                Ok(None) => {}
                Err(fault) => tracing::warn!(%fault, "the tree could not be read; will retry"),
            }
        }
        self.poll_tasks()
    }

    fn poll_tasks(&mut self) -> Vec<Update> {
        let mut updates = Vec::new();
        let nodes: Vec<TaskNode> = self.tree.all().cloned().collect();
        let gone: Vec<TaskId> = self.known.keys().copied().filter(|task| self.tree.get(*task).is_none()).collect();
        for task in gone {
            self.known.remove(&task);
            updates.push(Update::Removed { task });
        }
        let mut changed = BTreeSet::new();
        for node in nodes {
            let task = node.id;
            match self.poll_task(node, &mut updates) {
                Ok(true) => drop(changed.insert(task)),
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "a session could not be read; will retry"),
            }
        }
        if !changed.is_empty() || !updates.is_empty() {
            changed.extend(self.update_waits());
        }
        for task in changed {
            if let Some(known) = self.known.get(&task) {
                updates.push(Update::Task { task: Box::new(known.view.clone()) });
            }
        }
        updates
    }

    /// Determines what each task waits for, which depends on the others. Returns the tasks whose wait changed.
    fn update_waits(&mut self) -> Vec<TaskId> {
        let waits: Vec<(TaskId, Option<Wait>)> = {
            let progress = |task| match self.known.get(&task) {
                Some(known) => session_view::progress(&known.view),
                None => TaskProgress::Idle,
            };
            self.known.keys().map(|task| (*task, stall::wait(&self.tree, *task, &progress))).collect()
        };
        let mut changed = Vec::new();
        for (task, wait) in waits {
            if let Some(known) = self.known.get_mut(&task).filter(|known| known.view.waits != wait) {
                known.view.waits = wait;
                changed.push(task);
            }
        }
        changed
    }

    /// Reads what is new of a task. Returns true if there is something.
    fn poll_task(&mut self, node: TaskNode, updates: &mut Vec<Update>) -> Result<bool, StoreError> {
        let task = node.id;
        let now = stamp(&self.sessions.path(task));
        let view = match self.known.get(&task) {
            Some(known) if known.stamp == now && known.view.node == node => return Ok(false),
            Some(known) if known.stamp == now => TaskView { node, ..known.view.clone() },
            known => {
                let head = known.and_then(|known| known.head);
                let summary = self.state_cache.summary(&self.sessions, task)?;
                if known.is_some() {
                    updates.extend(self.new_events(task, head)?);
                }
                let view = session_view::view(node, &summary.state);
                self.known.insert(task, FollowedTask { stamp: now, head: summary.head, view: view.clone() });
                view
            }
        };
        if let Some(known) = self.known.get_mut(&task) {
            known.view = view;
        }
        Ok(true)
    }

    /// Returns the events after `head`, or `Resync` if there are too many.
    fn new_events(&self, task: TaskId, head: Option<EventId>) -> Result<Vec<Update>, StoreError> {
        let page = self.sessions.last_page(task, MAX_EVENTS)?;
        let is_new = |event: &Event| head.is_none_or(|head| event.id > head);
        if page.older.is_some() && page.events.first().is_some_and(is_new) {
            return Ok(vec![Update::Resync]);
        }
        let new = page.events.into_iter().filter(is_new);
        Ok(new.map(|event| Update::Event { task, event: Arc::new(event) }).collect())
    }
}

fn load(path: &Path) -> Result<Option<Tree>, Fault> {
    let rebuilt = TreeFile::new(Arc::new(RealDisk), path).load()?;
    Ok(rebuilt.map(|rebuilt| rebuilt.tree))
}

fn stamp(path: &Path) -> Stamp {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}
