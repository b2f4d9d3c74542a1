//! `tree.json`: what is known of the tasks besides their sessions. Can be lost: sessions repeat it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{TaskId, Timestamp, text};
use crate::config::paths::ProjectFolder;
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
    disk: Arc<dyn Disk>,
    file: VersionedFile,
    /// Fields of a newer version, written back as they were.
    extra: Map<String, Value>,
    /// The tasks that the file has, as far as that is known.
    saved: BTreeSet<TaskId>,
    unsettled: Unsettled,
}

/// Changes that concern sessions as well as the tree. They are announced with the tree, so that a start finds what a killed
/// process did not finish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsettled {
    /// Tasks that were taken out of the tree. Their sessions may not say so yet.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub removed: BTreeSet<TaskId>,
    /// Tasks whose sessions an import is writing.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub importing: BTreeSet<TaskId>,
}

impl Unsettled {
    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.importing.is_empty()
    }
}

#[derive(Serialize, Deserialize)]
struct Format {
    version: u64,
    root: TaskId,
    #[serde(default, skip_serializing_if = "Unsettled::is_empty")]
    unsettled: Unsettled,
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
            unsettled: Unsettled::default(),
        }
    }

    /// Returns what may not be finished, as of the last load or save.
    pub fn unsettled(&self) -> &Unsettled {
        &self.unsettled
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the tree, or nothing if none was saved yet.
    pub fn load(&mut self) -> Result<Option<Rebuilt>, StoreError> {
        let Some(format) = self.file.load::<Format>()? else { return Ok(None) };
        self.extra = format.extra;
        self.saved = format.nodes.iter().map(|node| node.id).collect();
        self.unsettled = format.unsettled;
        self.unsettled.removed.retain(|task| !self.saved.contains(task));
        self.unsettled.importing.retain(|task| !self.saved.contains(task));
        let mut nodes = format.nodes;
        nodes.iter_mut().for_each(|node| self.folder().locate(node));
        let rebuilt = Tree::from_nodes(Some(format.root), nodes);
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

    /// Saves the tree. Tasks that it no longer has stay announced as removed until a start has settled them; an import that
    /// was announced is through.
    pub fn save(&mut self, tree: &Tree) -> Result<(), StoreError> {
        let unsettled = self.unsettled_by(tree);
        self.file.save(&self.format(tree, &unsettled))?;
        self.remember(tree, unsettled);
        Ok(())
    }

    /// Saves the tree as it is, and that an import is about to write the sessions of `tasks`.
    pub fn announce_import(&mut self, tree: &Tree, mut tasks: BTreeSet<TaskId>) -> Result<(), StoreError> {
        tasks.retain(|task| tree.get(*task).is_none());
        let unsettled = Unsettled { importing: tasks, ..self.unsettled_by(tree) };
        self.file.save(&self.format(tree, &unsettled))?;
        self.remember(tree, unsettled);
        Ok(())
    }

    /// Removes sessions that belong to no task and hold nothing that was ever said here: those of an import that was cut
    /// short, which the next import writes again, and empty ones. Needs the project's lock.
    pub fn remove_unfinished(&mut self, sessions: &Sessions) -> Result<Vec<PathBuf>, StoreError> {
        let mut removed = Vec::new();
        for path in self.unfinished(sessions)? {
            self.disk.remove(&path).map_err(StoreError::io("remove", &path))?;
            removed.push(path);
        }
        self.unsettled.importing.clear();
        Ok(removed)
    }

    /// Returns the sessions that [`TreeFile::remove_unfinished`] removes.
    pub fn unfinished(&self, sessions: &Sessions) -> Result<Vec<PathBuf>, StoreError> {
        let mut found = Vec::new();
        for task in sessions.list()?.into_iter().filter(|task| !self.saved.contains(task)) {
            let is_empty =
                || Ok::<_, StoreError>(sessions.open(task)?.is_some_and(|file| file.len().is_ok_and(|len| len == 0)));
            if self.unsettled.importing.contains(&task) || is_empty()? {
                found.push(sessions.path(task));
            }
        }
        Ok(found)
    }

    /// Returns the tasks that were removed and whose sessions do not say so.
    pub fn untold_removals(&self, sessions: &Sessions) -> Result<Vec<TaskId>, StoreError> {
        let mut untold = Vec::new();
        for task in &self.unsettled.removed {
            if sessions.path(*task).exists() && last_change(sessions, *task)? != Memory::Change(TaskChanged::Removed) {
                untold.push(*task);
            }
        }
        Ok(untold)
    }

    /// Forgets the removals that are settled. The next save leaves them out.
    pub fn removals_settled(&mut self) {
        self.unsettled.removed.clear();
    }

    fn unsettled_by(&self, tree: &Tree) -> Unsettled {
        let mut removed = self.unsettled.removed.clone();
        removed.extend(&self.saved);
        removed.retain(|task| tree.get(*task).is_none());
        Unsettled { removed, importing: BTreeSet::new() }
    }

    fn remember(&mut self, tree: &Tree, unsettled: Unsettled) {
        self.saved = tree.all().map(|node| node.id).collect();
        self.unsettled = unsettled;
    }

    /// Replaces the file even if it is damaged, keeping a copy. Returns where the copy is.
    pub fn overwrite(&mut self, tree: &Tree) -> Result<Option<PathBuf>, StoreError> {
        let unsettled = self.unsettled_by(tree);
        let kept = self.file.overwrite(&self.format(tree, &unsettled))?;
        self.remember(tree, unsettled);
        Ok(kept)
    }

    /// Takes the file away, keeping a copy. Returns where the copy is.
    pub fn set_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        self.file.set_aside()
    }

    fn folder(&self) -> ProjectFolder {
        ProjectFolder::at(self.path().parent().unwrap_or(Path::new(".")))
    }

    fn format(&self, tree: &Tree, unsettled: &Unsettled) -> Format {
        let (nodes, unsettled) = (tree.all().cloned().collect(), unsettled.clone());
        Format { version: VERSION, root: tree.root_id(), unsettled, nodes, extra: self.extra.clone() }
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
            Memory::Change(TaskChanged::Set { mut node }) => {
                sessions.project_folder().locate(&mut node);
                nodes.insert(task, *node);
            }
            Memory::Change(TaskChanged::Removed) => {
                removed.insert(task);
            }
            Memory::Empty => {}
            Memory::Conversation => {
                let created = Timestamp::from_millis(i64::try_from(task.ulid().timestamp_ms()).unwrap_or(0));
                nodes
                    .insert(task, TaskNode::new(task, format!("Recovered task {}", task.short()), "engineer", created));
            }
        }
    }
    Ok(Remembered { nodes, removed })
}

/// What a session remembers of its own task.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) enum Memory {
    /// The session has no event.
    Empty,
    /// It has events, and none of them says what its task was.
    Conversation,
    /// What it last said, on whatever branch of its history.
    Change(TaskChanged),
}

/// Returns what a session remembers of its own task.
pub(in crate::store) fn last_change(sessions: &Sessions, task: TaskId) -> Result<Memory, StoreError> {
    let mut memory = Memory::Empty;
    let mut is_damaged = false;
    sessions.scan(task, |span| {
        let header = span.bytes.and_then(|bytes| line::parse(bytes).header());
        is_damaged |= header.is_none();
        let Some(header) = header else { return };
        if memory == Memory::Empty {
            memory = Memory::Conversation;
        }
        if header.kind == "task_changed"
            && let Body::TaskChanged(change) = header.into_event().body
        {
            memory = Memory::Change(change);
        }
    })?;
    // Lines that cannot be read are somebody's conversation, too.
    Ok(if is_damaged && memory == Memory::Empty { Memory::Conversation } else { memory })
}
