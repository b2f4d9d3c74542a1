//! `tree.json`: what is known of the tasks besides their sessions. Can be lost: sessions repeat it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{TaskId, Timestamp, text};
use crate::model::event::{Body, TaskChanged};
use crate::model::task::TaskNode;
use crate::model::tree::{Rebuilt, Tree};
use crate::store::disk::Disk;
use crate::store::files::VersionedFile;
use crate::store::session::Sessions;
use crate::store::{StoreError, line};

/// The newest format that this program reads and the one it writes.
pub const VERSION: u64 = 1;

/// The tree of one project, on disk.
pub struct TreeFile {
    file: VersionedFile,
    /// Fields of a newer version, written back as they were.
    extra: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Format {
    version: u64,
    root: TaskId,
    nodes: Vec<TaskNode>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl TreeFile {
    pub fn new(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Self {
        Self { file: VersionedFile::new(disk, path, VERSION), extra: Map::new() }
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the tree, or nothing if none was saved yet.
    pub fn load(&mut self) -> Result<Option<Rebuilt>, StoreError> {
        let Some(format) = self.file.load::<Format>()? else { return Ok(None) };
        self.extra = format.extra;
        let rebuilt = Tree::from_nodes(Some(format.root), format.nodes);
        rebuilt.map(Some).ok_or_else(|| StoreError::Corrupt {
            path: self.file.path().to_owned(),
            problem: "it lists no tasks".to_owned(),
            backup: None,
        })
    }

    /// As [`TreeFile::load`]. That no tree was saved yet is only believed if no session remembers a task: a file that
    /// went missing must not make a project look new.
    pub fn load_beside(&mut self, sessions: &Sessions) -> Result<Option<Rebuilt>, StoreError> {
        if let Some(rebuilt) = self.load()? {
            return Ok(Some(rebuilt));
        }
        match nodes_in(sessions)?.nodes.len() {
            0 => Ok(None),
            tasks => Err(StoreError::Corrupt {
                path: self.file.path().to_owned(),
                problem: format!("it is gone, and the sessions remember {}", text::count(tasks, "task", "tasks")),
                backup: None,
            }),
        }
    }

    pub fn save(&self, tree: &Tree) -> Result<(), StoreError> {
        self.file.save(&self.format(tree))
    }

    /// Replaces the file even if it is damaged, keeping a copy. Returns where the copy is.
    pub fn overwrite(&self, tree: &Tree) -> Result<Option<PathBuf>, StoreError> {
        self.file.overwrite(&self.format(tree))
    }

    /// Takes the file away, keeping a copy. Returns where the copy is.
    pub fn set_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        self.file.set_aside()
    }

    fn format(&self, tree: &Tree) -> Format {
        let nodes = tree.all().cloned().collect();
        Format { version: VERSION, root: tree.root_id(), nodes, extra: self.extra.clone() }
    }
}

/// What the sessions of a project remember of its tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    pub nodes: BTreeMap<TaskId, TaskNode>,
    /// Tasks that were taken out of the tree, and must not come back because a file does not know it yet.
    pub removed: BTreeSet<TaskId>,
}

/// Returns what the sessions of a project remember. A session that never recorded its task gives a node that says so:
/// its conversation must stay reachable.
pub fn nodes_in(sessions: &Sessions) -> Result<Remembered, StoreError> {
    let Remembered { mut nodes, mut removed } = Remembered::default();
    for task in sessions.list()? {
        // A session that cannot be read remembers nothing; the check of that session says so.
        let Ok(change) = last_change(sessions, task) else { continue };
        match change {
            Some(TaskChanged::Set { node }) => {
                nodes.insert(task, *node);
            }
            Some(TaskChanged::Removed) => {
                removed.insert(task);
            }
            None => {
                let created = Timestamp::from_millis(i64::try_from(task.ulid().timestamp_ms()).unwrap_or(0));
                nodes
                    .insert(task, TaskNode::new(task, format!("Recovered task {}", task.short()), "engineer", created));
            }
        }
    }
    Ok(Remembered { nodes, removed })
}

/// Returns what a session last said of its own task, on whatever branch of its history.
pub(in crate::store) fn last_change(sessions: &Sessions, task: TaskId) -> Result<Option<TaskChanged>, StoreError> {
    let mut last = None;
    sessions.scan(task, |span| {
        let header = span.bytes.and_then(|bytes| line::parse(bytes).header());
        if let Some(header) = header.filter(|header| header.kind == "task_changed")
            && let Body::TaskChanged(change) = header.into_event().body
        {
            last = Some(change);
        }
    })?;
    Ok(last)
}
