//! Puts foreign sessions on the shelf: as closed tasks below one that says where they are from.
//!
//! A session is written as a whole, then the tree that knows it. The caller announces both in the tree first: what is cut
//! short in between is removed at the next start, and made again by the next import, with the same ids. A task that somebody has worked on since is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::{Fault, TaskId, Timestamp};
use crate::import::weave::{task_of, weave};
use crate::import::{Foreign, Origin};
use crate::model::event::{Event, TaskChanged};
use crate::model::task::{EditedBy, Status, TaskNode};
use crate::model::tree::Tree;
use crate::store::disk::Disk;
use crate::store::{Blobs, Sessions, StoreError, line, replace};

/// The field of a node that says where it is from.
const MARK: &str = "imported";
/// Who would do the work if it went on.
const PROFILE: &str = "engineer";

/// What became, or would become, of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was not here yet.
    New,
    /// It has grown since it was imported.
    Grown,
    /// It is here as it is there.
    Known,
    /// It is here, and something happened to it here.
    Kept,
}

/// A session on the shelf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shelved {
    pub task: TaskId,
    pub fate: Fate,
    pub events: usize,
}

/// Returns what an import would do with a session.
pub fn fate(tree: Option<&Tree>, sessions: &Sessions, foreign: &Foreign) -> Result<(TaskId, Fate), Fault> {
    let task = task_of(foreign.origin, &foreign.session, foreign.started);
    let Some(node) = tree.and_then(|tree| tree.get(task)) else { return Ok((task, Fate::New)) };
    let mark = node.extra.get(MARK).unwrap_or(&Value::Null);
    // Whatever happens to a task here is an event behind the last one that was imported.
    let head = sessions.last_page(task, 1)?.events.last().map(|event| event.id.to_string());
    if node.status != Status::Closed || head.as_deref() != mark.get("head").and_then(Value::as_str) {
        return Ok((task, Fate::Kept));
    }
    let is_same = mark.get("bytes").and_then(Value::as_u64) == Some(foreign.bytes);
    Ok((task, if is_same { Fate::Known } else { Fate::Grown }))
}

/// Returns every task that an import at `now` may write a session for.
pub fn tasks(foreign: &[Foreign], now: Timestamp) -> BTreeSet<TaskId> {
    let own = foreign.iter().map(|one| task_of(one.origin, &one.session, one.started));
    own.chain(foreign.iter().map(|one| task_of(one.origin, "", now))).collect()
}

/// Writes sessions that are new or have grown, and puts their tasks into `tree`, which is the caller's to save. The
/// caller holds the project's lock.
pub fn shelve(
    disk: &Arc<dyn Disk>,
    sessions: &Sessions,
    blobs: &Blobs,
    tree: &mut Tree,
    foreign: &[Foreign],
    now: Timestamp,
) -> Result<Vec<Shelved>, Fault> {
    let tasks: BTreeMap<(Origin, &str), TaskId> = foreign
        .iter()
        .map(|one| ((one.origin, one.session.as_str()), task_of(one.origin, &one.session, one.started)))
        .collect();
    let mut shelved = Vec::new();
    // One that belongs below another comes after it.
    for one in in_order(foreign) {
        let (task, fate) = fate(Some(tree), sessions, one)?;
        if fate != Fate::New && fate != Fate::Grown {
            shelved.push(Shelved { task, fate, events: 0 });
            continue;
        }
        let shelf = match one.above.as_deref().and_then(|above| tasks.get(&(one.origin, above)).copied()) {
            Some(above) if tree.get(above).is_some() && above != task => above,
            _ => shelf(disk, sessions, tree, one.origin, now)?,
        };
        let mut node = node(one, task, shelf);
        let mut keep = |bytes: &[u8]| blobs.put(bytes);
        let mut events = weave(one, &node, now, &mut keep)?;
        note_head(&mut node, &mut events);
        write(disk, sessions, task, &events)?;
        if tree.get(task).is_some() {
            tree.edit(task, |old| (old.extra, old.updated_at) = (node.extra, node.updated_at))
                .map_err(|error| Fault::internal(error.to_string()))?;
        } else {
            tree.insert(node, shelf).map_err(|error| Fault::internal(error.to_string()))?;
        }
        shelved.push(Shelved { task, fate, events: events.len() });
    }
    Ok(shelved)
}

/// Writes down which event is the last that was imported, in the node and in the event that says what the node is.
fn note_head(node: &mut TaskNode, events: &mut [Event]) {
    let head = events.last().map(|event| event.id.to_string());
    if let (Some(Value::Object(mark)), Some(head)) = (node.extra.get_mut(MARK), head) {
        mark.insert("head".to_owned(), head.into());
    }
    if let Some(first) = events.first_mut() {
        first.body = TaskChanged::Set { node: Box::new(node.clone()) }.into();
    }
}

/// Returns sessions so that each comes after the one it belongs below. A circle is cut where it is met.
fn in_order(foreign: &[Foreign]) -> Vec<&Foreign> {
    let mut order = Vec::with_capacity(foreign.len());
    let mut placed: BTreeSet<(Origin, &str)> = BTreeSet::new();
    let known: BTreeSet<(Origin, &str)> = foreign.iter().map(|one| (one.origin, one.session.as_str())).collect();
    let mut left: Vec<&Foreign> = foreign.iter().collect();
    left.sort_by_key(|one| (one.origin, one.started));
    while !left.is_empty() {
        let waits = |one: &Foreign, placed: &BTreeSet<(Origin, &str)>| {
            one.above.as_deref().is_some_and(|above| {
                let above = (one.origin, above);
                above.1 != one.session && known.contains(&above) && !placed.contains(&above)
            })
        };
        let (mut ready, waiting): (Vec<&Foreign>, Vec<&Foreign>) =
            left.iter().copied().partition(|one| !waits(one, &placed));
        left = waiting;
        if ready.is_empty() {
            ready.append(&mut left);
        }
        for one in ready {
            // The same session in two files is one session.
            if placed.insert((one.origin, one.session.as_str())) {
                order.push(one);
            }
        }
    }
    order
}

fn node(foreign: &Foreign, task: TaskId, parent: TaskId) -> TaskNode {
    let ended = foreign.items.last().map_or(foreign.started, |item| item.at);
    let mut node = TaskNode::new(task, foreign.title.clone(), PROFILE, foreign.started);
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

/// Returns the task below which the sessions of a program hang, made if there is none.
fn shelf(
    disk: &Arc<dyn Disk>,
    sessions: &Sessions,
    tree: &mut Tree,
    origin: Origin,
    now: Timestamp,
) -> Result<TaskId, Fault> {
    let is_shelf = |node: &&TaskNode| {
        let mark = node.extra.get(MARK);
        mark.is_some_and(|mark| mark.get("shelf").and_then(Value::as_str) == Some(origin.word()))
    };
    if let Some(node) = tree.all().find(is_shelf) {
        return Ok(node.id);
    }
    let root = tree.root_id();
    let task = task_of(origin, "", now);
    let mut node = TaskNode::new(task, format!("Imported from {}", origin.name()), PROFILE, now);
    node.status = Status::Closed;
    node.edited_by = EditedBy::User;
    node.parent = Some(root);
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

/// Writes a session as a whole: it is there with all its events, or as it was.
fn write(disk: &Arc<dyn Disk>, sessions: &Sessions, task: TaskId, events: &[Event]) -> Result<(), StoreError> {
    let mut lines = Vec::new();
    for event in events {
        line::encode(event, &mut lines)?;
    }
    let folder = sessions.folder();
    disk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    replace::replace(disk.as_ref(), &sessions.path(task), &lines)
}
