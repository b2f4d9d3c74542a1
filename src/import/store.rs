//! Stores foreign sessions as closed tasks below one task per program.
//!
//! Writes each session as a whole, before the tree that refers to it. The caller announces the tasks in the tree first,
//! so the next start removes an interrupted import, and the next import creates it again with the same ids. Tasks that
//! were continued here are not changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::{Fault, TaskId, Timestamp};
use crate::import::convert::{convert, task_of};
use crate::import::{ForeignSession, Origin};
use crate::model::event::{Event, TaskChanged};
use crate::model::task::{EditedBy, Status, TaskNode};
use crate::model::tree::Tree;
use crate::store::disk::Disk;
use crate::store::{Blobs, Sessions, StoreError, line, replace};

/// The extra field of an imported node. It holds the origin.
const MARK: &str = "imported";
/// The effect of an import on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportStatus {
    /// Not imported yet.
    New,
    /// The file has grown since the import.
    Grown,
    /// Already imported and unchanged.
    Known,
    /// Already imported and continued here, so it stays unchanged.
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedSession {
    pub task: TaskId,
    pub status: ImportStatus,
    pub events: usize,
}

/// Returns what an import would do with a session.
pub fn import_status(
    tree: Option<&Tree>,
    sessions: &Sessions,
    foreign: &ForeignSession,
) -> Result<(TaskId, ImportStatus), Fault> {
    let task = task_of(foreign.origin, &foreign.session, foreign.started);
    let Some(node) = tree.and_then(|tree| tree.get(task)) else { return Ok((task, ImportStatus::New)) };
    let mark = node.extra.get(MARK).unwrap_or(&Value::Null);
    // Any change here is an event after the last imported one.
    let head = sessions.last_page(task, 1)?.events.last().map(|event| event.id.to_string());
    if node.status != Status::Closed || head.as_deref() != mark.get("head").and_then(Value::as_str) {
        return Ok((task, ImportStatus::Kept));
    }
    let is_same = mark.get("bytes").and_then(Value::as_u64) == Some(foreign.bytes);
    Ok((task, if is_same { ImportStatus::Known } else { ImportStatus::Grown }))
}

/// Returns the ids of all tasks that an import at `now` may create.
pub fn task_ids(foreign: &[ForeignSession], now: Timestamp) -> BTreeSet<TaskId> {
    let own = foreign.iter().map(|one| task_of(one.origin, &one.session, one.started));
    own.chain(foreign.iter().map(|one| task_of(one.origin, "", now))).collect()
}

/// Writes sessions that are new or have grown, and inserts their tasks into `tree`. The caller holds the project's lock
/// and saves the tree.
pub fn store_sessions(
    disk: &Arc<dyn Disk>,
    sessions: &Sessions,
    blobs: &Blobs,
    tree: &mut Tree,
    foreign: &[ForeignSession],
    now: Timestamp,
) -> Result<Vec<ImportedSession>, Fault> {
    let tasks: BTreeMap<(Origin, &str), TaskId> = foreign
        .iter()
        .map(|one| ((one.origin, one.session.as_str()), task_of(one.origin, &one.session, one.started)))
        .collect();
    let mut imported = Vec::new();
    // Parents come first.
    for one in in_order(foreign) {
        let (task, status) = import_status(Some(tree), sessions, one)?;
        if status != ImportStatus::New && status != ImportStatus::Grown {
            imported.push(ImportedSession { task, status, events: 0 });
            continue;
        }
        let parent = match one.parent.as_deref().and_then(|parent| tasks.get(&(one.origin, parent)).copied()) {
            Some(parent) if tree.get(parent).is_some() && parent != task => parent,
            _ => origin_task(disk, sessions, tree, one.origin, now)?,
        };
        let mut node = node(one, task, parent);
        node.number = tree.get(task).map_or_else(|| Some(tree.last_number().next()), |known| known.number);
        let mut save_blob = |bytes: &[u8]| blobs.put(bytes);
        let mut events = convert(one, &node, now, &mut save_blob)?;
        record_head(&mut node, &mut events);
        write(disk, sessions, task, &events)?;
        if tree.get(task).is_some() {
            tree.edit(task, |old| (old.extra, old.updated_at) = (node.extra, node.updated_at))
                .map_err(|error| Fault::internal(error.to_string()))?;
        } else {
            tree.insert(node, parent).map_err(|error| Fault::internal(error.to_string()))?;
        }
        imported.push(ImportedSession { task, status, events: events.len() });
    }
    Ok(imported)
}

/// Records the id of the last imported event in the node and in the event that defines the node.
fn record_head(node: &mut TaskNode, events: &mut [Event]) {
    let head = events.last().map(|event| event.id.to_string());
    if let (Some(Value::Object(mark)), Some(head)) = (node.extra.get_mut(MARK), head) {
        mark.insert("head".to_owned(), head.into());
    }
    if let Some(first) = events.first_mut() {
        first.body = TaskChanged::Set { node: Box::new(node.clone()) }.into();
    }
}

/// Sorts the sessions so that parents come first. Breaks cycles.
fn in_order(foreign: &[ForeignSession]) -> Vec<&ForeignSession> {
    let mut order = Vec::with_capacity(foreign.len());
    let mut placed: BTreeSet<(Origin, &str)> = BTreeSet::new();
    let known: BTreeSet<(Origin, &str)> = foreign.iter().map(|one| (one.origin, one.session.as_str())).collect();
    let mut left: Vec<&ForeignSession> = foreign.iter().collect();
    left.sort_by_key(|one| (one.origin, one.started));
    while !left.is_empty() {
        let waits_for_parent = |one: &ForeignSession, placed: &BTreeSet<(Origin, &str)>| {
            one.parent.as_deref().is_some_and(|parent| {
                let parent = (one.origin, parent);
                parent.1 != one.session && known.contains(&parent) && !placed.contains(&parent)
            })
        };
        let (mut ready, waiting): (Vec<&ForeignSession>, Vec<&ForeignSession>) =
            left.iter().copied().partition(|one| !waits_for_parent(one, &placed));
        left = waiting;
        if ready.is_empty() {
            ready.append(&mut left);
        }
        for one in ready {
            // The same session may be in two files.
            if placed.insert((one.origin, one.session.as_str())) {
                order.push(one);
            }
        }
    }
    order
}

fn node(foreign: &ForeignSession, task: TaskId, parent: TaskId) -> TaskNode {
    let ended = foreign.items.last().map_or(foreign.started, |item| item.at);
    let mut node = TaskNode::new(task, foreign.title.clone(), "", foreign.started);
    // Nobody here had it yet: the first message binds it.
    node.profile = None;
    node.description.clone_from(&foreign.description);
    node.status = Status::Closed;
    node.edited_by = EditedBy::User;
    node.parent = Some(parent);
    node.updated_at = ended.max(foreign.started);
    let mark = json!({
        "from": foreign.origin.word(),
        "session": foreign.session,
        "path": foreign.path.to_string_lossy(),
        "bytes": foreign.bytes,
    });
    node.extra.insert(MARK.to_owned(), mark);
    node
}

/// Returns the parent task for the sessions of a program, and creates it if needed.
fn origin_task(
    disk: &Arc<dyn Disk>,
    sessions: &Sessions,
    tree: &mut Tree,
    origin: Origin,
    now: Timestamp,
) -> Result<TaskId, Fault> {
    let is_origin_task = |node: &&TaskNode| {
        let mark = node.extra.get(MARK);
        mark.is_some_and(|mark| mark.get("shelf").and_then(Value::as_str) == Some(origin.word()))
    };
    if let Some(node) = tree.all().find(is_origin_task) {
        return Ok(node.id);
    }
    let root = tree.root_id();
    let task = task_of(origin, "", now);
    let mut node = TaskNode::new(task, format!("Imported from {}", origin.name()), "", now);
    node.profile = None;
    node.status = Status::Closed;
    node.edited_by = EditedBy::User;
    node.parent = Some(root);
    node.number = Some(tree.last_number().next());
    node.extra.insert(MARK.to_owned(), json!({ "shelf": origin.word() }));
    let event = Event {
        v: crate::model::event::VERSION,
        id: crate::base::EventId::from_ulid(task.ulid()),
        parent: None,
        ts: now,
        run: None,
        batch: None,
        body: TaskChanged::Set { node: Box::new(node.clone()) }.into(),
    };
    write(disk, sessions, task, &[event])?;
    tree.insert(node, root).map_err(|error| Fault::internal(error.to_string()))?;
    Ok(task)
}

/// Replaces a session file atomically.
fn write(disk: &Arc<dyn Disk>, sessions: &Sessions, task: TaskId, events: &[Event]) -> Result<(), StoreError> {
    let mut lines = Vec::new();
    for event in events {
        line::encode(event, &mut lines)?;
    }
    let folder = sessions.folder();
    disk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    replace::replace(disk.as_ref(), &sessions.path(task), &lines)
}
