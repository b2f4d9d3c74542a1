//! Follows the tree file and the sessions of a project. Detects changes by size and modification time, then reads the
//! new events.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::base::{EventId, Fault, TaskId};
use crate::config::Settings;
use crate::engine::snapshot::{ProjectView, Snapshot, TaskView};
use crate::engine::update::Update;
use crate::model::conversation::Role;
use crate::model::fold::SessionState;
use crate::model::live::Activity;
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Tree;
use crate::model::{Event, Project};
use crate::store::tree_file::TreeFile;
use crate::store::{RealDisk, Sessions, StateCache, StoreError};
use crate::tools::names;

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
        Snapshot { project, root: self.tree.root_id(), tasks, quiet: false }
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
        for node in nodes {
            match self.poll_task(node, &mut updates) {
                Ok(()) => {}
                Err(error) => tracing::warn!(%error, "a session could not be read; will retry"),
            }
        }
        updates
    }

    fn poll_task(&mut self, node: TaskNode, updates: &mut Vec<Update>) -> Result<(), StoreError> {
        let task = node.id;
        let now = stamp(&self.sessions.path(task));
        let view = match self.known.get(&task) {
            Some(known) if known.stamp == now && known.view.node == node => return Ok(()),
            Some(known) if known.stamp == now => TaskView { node, ..known.view.clone() },
            known => {
                let head = known.and_then(|known| known.head);
                let summary = self.state_cache.summary(&self.sessions, task)?;
                if known.is_some() {
                    updates.extend(self.new_events(task, head)?);
                }
                let view = view(node, &summary.state);
                self.known.insert(task, FollowedTask { stamp: now, head: summary.head, view: view.clone() });
                view
            }
        };
        if let Some(known) = self.known.get_mut(&task) {
            known.view = view.clone();
        }
        updates.push(Update::Task { task: Box::new(view) });
        Ok(())
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

/// Returns the view of a task whose run is in another process. Derives its activity from its session.
fn view(node: TaskNode, state: &SessionState) -> TaskView {
    let turns = &state.turns;
    let only_yields =
        turns.open.iter().all(|call| names::split(&names::canonical(&call.name)) == Some((names::OWN, names::YIELD)));
    let activity = if node.status != Status::InProgress || turns.last_exit.is_some() {
        Activity::Idle
    } else if !state.asks.is_empty() {
        Activity::Waiting
    } else if !only_yields {
        Activity::Tool
    } else if turns.open.is_empty() && turns.last_role == Some(Role::User) {
        Activity::Thinking
    } else {
        Activity::Idle
    };
    let alive = node.status == Status::InProgress && turns.last_exit.is_none();
    TaskView { activity, alive, since: state.activity.at, ..TaskView::from_session(node, state) }
}

fn load(path: &Path) -> Result<Option<Tree>, Fault> {
    let rebuilt = TreeFile::new(Arc::new(RealDisk), path).load()?;
    Ok(rebuilt.map(|rebuilt| rebuilt.tree))
}

fn stamp(path: &Path) -> Stamp {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}
