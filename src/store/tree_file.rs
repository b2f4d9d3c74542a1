//! `tree.json`: the tree of tasks. If it is lost, it is rebuilt from the sessions, which repeat it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{TaskId, Timestamp, text};
use crate::config::paths::ProjectFolder;
use crate::model::event::{Body, TaskChanged};
use crate::model::task::{TaskNode, TaskNumber};
use crate::model::tree::{RebuiltTree, Tree};
use crate::store::disk::Disk;
use crate::store::files::VersionedFile;
use crate::store::session::Sessions;
use crate::store::{StoreError, line};

/// The format version that this program writes, and the newest that it reads.
pub const VERSION: u64 = 1;

/// The tree of one project on disk.
pub struct TreeFile {
    disk: Arc<dyn Disk>,
    file: VersionedFile,
    /// Fields of a newer version, written back unchanged.
    extra: Map<String, Value>,
    /// The tasks in the file, as far as known.
    saved: BTreeSet<TaskId>,
    unfinished_changes: UnfinishedChanges,
}

/// Changes that affect sessions as well as the tree. They are recorded with the tree, so that the next start finds
/// the changes that a killed process did not finish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnfinishedChanges {
    /// Tasks that were removed from the tree. Their sessions may not record that yet.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<TaskId>,
    /// Tasks whose sessions an import is writing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub importing: BTreeSet<TaskId>,
    /// Tasks of an earlier version that got a number. Their sessions may not record it yet.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub numbered: BTreeSet<TaskId>,
}

impl UnfinishedChanges {
    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.importing.is_empty() && self.numbered.is_empty()
    }
}

#[derive(Serialize, Deserialize)]
struct Format {
    version: u64,
    root: TaskId,
    /// The highest number ever given to a task. Absent in trees of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_number: Option<TaskNumber>,
    #[serde(rename = "unsettled", default, skip_serializing_if = "UnfinishedChanges::is_empty")]
    unfinished_changes: UnfinishedChanges,
    nodes: Vec<TaskNode>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl TreeFile {
    pub fn new(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Self {
        Self {
            file: VersionedFile::new(Arc::clone(&disk), path, VERSION),
            disk,
            extra: Map::new(),
            saved: BTreeSet::new(),
            unfinished_changes: UnfinishedChanges::default(),
        }
    }

    /// Returns the changes that may be unfinished, as of the last load or save.
    pub fn unfinished_changes(&self) -> &UnfinishedChanges {
        &self.unfinished_changes
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the tree, or `None` if none was saved yet.
    pub fn load(&mut self) -> Result<Option<RebuiltTree>, StoreError> {
        let Some(format) = self.file.load::<Format>()? else { return Ok(None) };
        self.extra = format.extra;
        self.saved = format.nodes.iter().map(|node| node.id).collect();
        self.unfinished_changes = format.unfinished_changes;
        self.unfinished_changes.removed.retain(|task| !self.saved.contains(task));
        self.unfinished_changes.importing.retain(|task| !self.saved.contains(task));
        let mut nodes = format.nodes;
        nodes.iter_mut().for_each(|node| self.folder().locate(node));
        let rebuilt = Tree::from_nodes_after(format.last_number, Some(format.root), nodes);
        let rebuilt = rebuilt.ok_or_else(|| StoreError::Corrupt {
            path: self.file.path().to_owned(),
            problem: "it has no tasks".to_owned(),
            backup: None,
        })?;
        self.unfinished_changes.numbered.extend(&rebuilt.numbered);
        Ok(Some(rebuilt))
    }

    /// Like [`TreeFile::load`], but a missing file is an error if the sessions record tasks: a lost file must not
    /// make a project look new.
    pub fn load_beside(&mut self, sessions: &Sessions) -> Result<Option<RebuiltTree>, StoreError> {
        if let Some(rebuilt) = self.load()? {
            return Ok(Some(rebuilt));
        }
        match nodes_in(sessions)?.nodes.len() {
            0 => Ok(None),
            tasks => Err(StoreError::Corrupt {
                path: self.file.path().to_owned(),
                problem: format!("it is gone, but the sessions have {}", text::count(tasks, "task", "tasks")),
                backup: None,
            }),
        }
    }

    /// Saves the tree. Missing tasks stay recorded as removed until the next start has processed them; a recorded
    /// import counts as finished.
    pub fn save(&mut self, tree: &Tree) -> Result<(), StoreError> {
        let unfinished_changes = self.unfinished_changes_with(tree);
        self.file.save(&self.format(tree, &unfinished_changes))?;
        self.set_saved(tree, unfinished_changes);
        Ok(())
    }

    /// Saves the tree and records that an import is about to write the sessions of `tasks`.
    pub fn announce_import(&mut self, tree: &Tree, mut tasks: BTreeSet<TaskId>) -> Result<(), StoreError> {
        tasks.retain(|task| tree.get(*task).is_none());
        let unfinished_changes = UnfinishedChanges { importing: tasks, ..self.unfinished_changes_with(tree) };
        self.file.save(&self.format(tree, &unfinished_changes))?;
        self.set_saved(tree, unfinished_changes);
        Ok(())
    }

    /// Removes sessions without a task that hold no conversation: those of an interrupted import, which the next
    /// import writes again, and empty ones. Needs the project's lock.
    pub fn remove_unfinished(&mut self, sessions: &Sessions) -> Result<Vec<PathBuf>, StoreError> {
        let mut removed = Vec::new();
        for path in self.unfinished(sessions)? {
            self.disk.remove(&path).map_err(StoreError::io("remove", &path))?;
            removed.push(path);
        }
        self.unfinished_changes.importing.clear();
        Ok(removed)
    }

    /// Returns the sessions that [`TreeFile::remove_unfinished`] removes.
    pub fn unfinished(&self, sessions: &Sessions) -> Result<Vec<PathBuf>, StoreError> {
        let mut found = Vec::new();
        for task in sessions.list()?.into_iter().filter(|task| !self.saved.contains(task)) {
            let is_empty =
                || Ok::<_, StoreError>(sessions.open(task)?.is_some_and(|file| file.len().is_ok_and(|len| len == 0)));
            if self.unfinished_changes.importing.contains(&task) || is_empty()? {
                found.push(sessions.path(task));
            }
        }
        Ok(found)
    }

    /// Returns the removed tasks whose sessions do not record the removal.
    pub fn unrecorded_removals(&self, sessions: &Sessions) -> Result<Vec<TaskId>, StoreError> {
        let mut untold = Vec::new();
        for task in &self.unfinished_changes.removed {
            if sessions.path(*task).exists()
                && last_change(sessions, *task)? != RecordedChange::Change(TaskChanged::Removed)
            {
                untold.push(*task);
            }
        }
        Ok(untold)
    }

    /// Clears the tasks whose sessions do not record their numbers. The next save omits them.
    pub fn clear_numbered(&mut self) {
        self.unfinished_changes.numbered.clear();
    }

    /// Clears the recorded removals. The next save omits them.
    pub fn clear_removals(&mut self) {
        self.unfinished_changes.removed.clear();
    }

    fn unfinished_changes_with(&self, tree: &Tree) -> UnfinishedChanges {
        let mut removed = self.unfinished_changes.removed.clone();
        removed.extend(&self.saved);
        removed.retain(|task| tree.get(*task).is_none());
        let mut numbered = self.unfinished_changes.numbered.clone();
        numbered.retain(|task| tree.get(*task).is_some());
        UnfinishedChanges { removed, importing: BTreeSet::new(), numbered }
    }

    fn set_saved(&mut self, tree: &Tree, unfinished_changes: UnfinishedChanges) {
        self.saved = tree.all().map(|node| node.id).collect();
        self.unfinished_changes = unfinished_changes;
    }

    /// Replaces the file even if it is damaged, after saving a copy. Returns the path of the copy.
    pub fn overwrite(&mut self, tree: &Tree) -> Result<Option<PathBuf>, StoreError> {
        let unfinished_changes = self.unfinished_changes_with(tree);
        let copy = self.file.overwrite(&self.format(tree, &unfinished_changes))?;
        self.set_saved(tree, unfinished_changes);
        Ok(copy)
    }

    /// Removes the file after saving a copy. Returns the path of the copy.
    pub fn move_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        self.file.move_aside()
    }

    fn folder(&self) -> ProjectFolder {
        ProjectFolder::at(self.path().parent().unwrap_or(Path::new(".")))
    }

    fn format(&self, tree: &Tree, unfinished_changes: &UnfinishedChanges) -> Format {
        let (nodes, unfinished_changes) = (tree.all().cloned().collect(), unfinished_changes.clone());
        let (root, last_number) = (tree.root_id(), Some(tree.last_number()));
        Format { version: VERSION, root, last_number, unfinished_changes, nodes, extra: self.extra.clone() }
    }
}

/// The tree as recorded in the sessions of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedTree {
    pub nodes: BTreeMap<TaskId, TaskNode>,
    /// Tasks that were removed from the tree, and must not be restored from a stale file.
    pub removed: BTreeSet<TaskId>,
    /// The highest number that a session records, also of a removed task.
    pub last_number: Option<TaskNumber>,
}

/// Returns the tree as recorded in the sessions. A session without a record of its task gives a placeholder node, so
/// that its conversation stays reachable.
pub fn nodes_in(sessions: &Sessions) -> Result<RecordedTree, StoreError> {
    let RecordedTree { mut nodes, mut removed, mut last_number } = RecordedTree::default();
    for task in sessions.list()? {
        // An unreadable session records nothing; the check of that session reports it.
        let Ok((change, number)) = recorded_changes(sessions, task) else { continue };
        last_number = last_number.max(number);
        match change {
            RecordedChange::Change(TaskChanged::Set { mut node }) => {
                sessions.project_folder().locate(&mut node);
                nodes.insert(task, *node);
            }
            RecordedChange::Change(TaskChanged::Removed) => {
                removed.insert(task);
            }
            RecordedChange::Empty => {}
            RecordedChange::Conversation => {
                let created = Timestamp::from_millis(i64::try_from(task.ulid().timestamp_ms()).unwrap_or(0));
                nodes
                    .insert(task, TaskNode::new(task, format!("Recovered task {}", task.short()), "engineer", created));
            }
        }
    }
    Ok(RecordedTree { nodes, removed, last_number })
}

/// The last recorded change of a task in its session.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) enum RecordedChange {
    /// The session has no events.
    Empty,
    /// It has events, but no record of its task.
    Conversation,
    /// The last change, on any branch of the history.
    Change(TaskChanged),
}

/// Returns the last recorded change of a task.
pub(in crate::store) fn last_change(sessions: &Sessions, task: TaskId) -> Result<RecordedChange, StoreError> {
    recorded_changes(sessions, task).map(|(last, _)| last)
}

/// Returns the last recorded change of a task, and its number if any change records one.
fn recorded_changes(sessions: &Sessions, task: TaskId) -> Result<(RecordedChange, Option<TaskNumber>), StoreError> {
    let mut recorded = RecordedChange::Empty;
    let mut number = None;
    let mut is_damaged = false;
    sessions.scan(task, |span| {
        let header = span.bytes.and_then(|bytes| line::parse(bytes).header());
        is_damaged |= header.is_none();
        let Some(header) = header else { return };
        if recorded == RecordedChange::Empty {
            recorded = RecordedChange::Conversation;
        }
        if header.kind == "task_changed"
            && let Body::TaskChanged(change) = header.into_event().body
        {
            if let TaskChanged::Set { node } = &change {
                number = number.max(node.number);
            }
            recorded = RecordedChange::Change(change);
        }
    })?;
    if is_damaged && recorded == RecordedChange::Empty {
        // Unreadable lines may be part of a conversation.
        recorded = RecordedChange::Conversation;
    }
    Ok((recorded, number))
}
