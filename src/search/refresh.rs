//! Updates the index: reads only what was appended to each session since it was last read.
//!
//! The entries and the read position are written in one transaction. The index is consistent whenever a process ends,
//! and two processes that update it share the work and never index anything twice.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::base::{EventId, TaskId};
use crate::model::event::Body;
use crate::model::search::HitKind;
use crate::model::task::TaskNode;
use crate::model::tree::Tree;
use crate::search::extract::searchable_text;
use crate::search::index::{Index, IndexError};
use crate::search::tokenize::normalize;
use crate::store::cursor::{FollowOutcome, LocatedEvent, ReadCursor};
use crate::store::{Blobs, Sessions};

/// How much of a session is read in one transaction, so that others get their turn.
const CHUNK: u64 = 8 << 20;

/// The stored state of a task in the index.
struct IndexedTask {
    id: i64,
    cursor: Option<ReadCursor>,
    moved: bool,
    node: Option<Vec<u8>>,
}

/// Indexes new events of the sessions and changes of the tree.
pub fn refresh(index: &mut Index, sessions: &Sessions, blobs: &Blobs, tree: Option<&Tree>) -> Result<(), IndexError> {
    let with_session: BTreeSet<TaskId> = sessions.list()?.into_iter().collect();
    let nodes: BTreeMap<TaskId, &TaskNode> = tree.into_iter().flat_map(Tree::all).map(|node| (node.id, node)).collect();
    remove_deleted_tasks(index, |task| with_session.contains(&task) || nodes.contains_key(&task))?;
    for task in with_session.iter().chain(nodes.keys().filter(|task| !with_session.contains(task))) {
        if let Some(node) = nodes.get(task) {
            describe(index, node)?;
        }
        while index_chunk(index, sessions, blobs, *task)? {}
    }
    Ok(())
}

/// Drops the entries of deleted tasks.
fn remove_deleted_tasks(index: &mut Index, is_there: impl Fn(TaskId) -> bool) -> Result<(), IndexError> {
    let mut gone = Vec::new();
    {
        let mut listed = index.connection.prepare("select id, task from tasks")?;
        let mut rows = listed.query([])?;
        while let Some(row) = rows.next()? {
            let name: String = row.get(1)?;
            if !name.parse().is_ok_and(&is_there) {
                gone.push(row.get::<_, i64>(0)?);
            }
        }
    }
    for id in gone {
        let change = index.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        drop_entries(&change, id, "true")?;
        change.execute("delete from tasks where id = ?", [id])?;
        change.commit()?;
    }
    Ok(())
}

fn indexed_task(connection: &Connection, task: TaskId) -> Result<Option<IndexedTask>, IndexError> {
    let mut statement =
        connection.prepare_cached("select id, head, line, len, moved, node from tasks where task = ?")?;
    let found = statement
        .query_row([task.to_string()], |row| {
            let head: Option<String> = row.get(1)?;
            let place: (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, head, place, row.get(4)?, row.get(5)?))
        })
        .optional()?;
    let Some((id, head, (line, len), moved, node)) = found else { return Ok(None) };
    // An invalid cursor counts as none: the session is read again.
    let cursor = (|| {
        let head = head?.parse().ok()?;
        Some(ReadCursor { head, line: u64::try_from(line?).ok()?, len: u64::try_from(len?).ok()? })
    })();
    Ok(Some(IndexedTask { id, cursor, moved, node }))
}

/// Returns the state of a task, adding the task if it is new.
fn indexed_task_or_insert(connection: &Connection, task: TaskId) -> Result<IndexedTask, IndexError> {
    if let Some(known) = indexed_task(connection, task)? {
        return Ok(known);
    }
    connection.prepare_cached("insert into tasks (task) values (?)")?.execute([task.to_string()])?;
    Ok(IndexedTask { id: connection.last_insert_rowid(), cursor: None, moved: false, node: None })
}

/// Indexes the title, description and results of a task, if they changed.
fn describe(index: &mut Index, node: &TaskNode) -> Result<(), IndexError> {
    let mut hasher = blake3::Hasher::new();
    let results = node.results.iter().map(|round| &round.result);
    for text in [&node.title, &node.description].into_iter().chain(results) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    let fingerprint = hasher.finalize().as_bytes()[..16].to_vec();
    if indexed_task(&index.connection, node.id)?.is_some_and(|known| known.node.as_ref() == Some(&fingerprint)) {
        return Ok(());
    }
    let change = index.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let id = indexed_task_or_insert(&change, node.id)?.id;
    drop_entries(&change, id, "event is null")?;
    let results = node.results.iter().map(|round| (HitKind::Result, &round.result, round.at));
    let own =
        [(HitKind::Title, &node.title, node.created_at), (HitKind::Description, &node.description, node.created_at)];
    for (text, at) in own.into_iter().chain(results).zip(0..) {
        let (place, text, moment) = text;
        if !text.trim().is_empty() {
            // The number of the text takes the place of an offset in the session.
            add(&change, &Entry { task: id, event: None, place, at: moment.as_millis(), start: at, len: 0 }, text)?;
        }
    }
    change.execute("update tasks set node = ? where id = ?", params![fingerprint, id])?;
    change.commit()?;
    Ok(())
}

/// Indexes a chunk of a session. Returns true if there is more.
fn index_chunk(index: &mut Index, sessions: &Sessions, blobs: &Blobs, task: TaskId) -> Result<bool, IndexError> {
    // Usually there is nothing new; checking that takes no write lock.
    if let Some(IndexedTask { cursor: cursor @ Some(_), .. }) = indexed_task(&index.connection, task)?
        && sessions.follow(task, cursor, 1, |_| {})? == FollowOutcome::To(cursor)
    {
        return Ok(false);
    }
    let change = index.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let known = indexed_task_or_insert(&change, task)?;
    let mut indexed: Result<(), IndexError> = Ok(());
    let mut moved = known.moved;
    let followed = sessions.follow(task, known.cursor, CHUNK, |located| {
        moved |= matches!(located.event.body, Body::HeadMoved(_));
        if indexed.is_ok() {
            indexed = index_event(&change, known.id, &located, blobs);
        }
    })?;
    indexed?;
    let cursor = match followed {
        FollowOutcome::To(cursor) => cursor,
        FollowOutcome::Partly(cursor) => Some(cursor),
        FollowOutcome::Other => {
            drop_entries(&change, known.id, "event is not null")?;
            change
                .execute("update tasks set head = null, line = null, len = null, moved = 0 where id = ?", [known.id])?;
            change.commit()?;
            return Ok(sessions.path(task).exists());
        }
    };
    let (head, line, len) = match cursor {
        Some(cursor) => {
            (Some(cursor.head.to_string()), i64::try_from(cursor.line).ok(), i64::try_from(cursor.len).ok())
        }
        None => (None, None, None),
    };
    change.execute(
        "update tasks set head = ?, line = ?, len = ?, moved = ? where id = ?",
        params![head, line, len, moved, known.id],
    )?;
    let finished = !matches!(followed, FollowOutcome::Partly(_));
    if moved && finished {
        note_rewound(&change, known.id, sessions, task)?;
    }
    change.commit()?;
    Ok(!finished)
}

/// One text of a task: its location and kind.
struct Entry<'a> {
    task: i64,
    event: Option<&'a str>,
    place: HitKind,
    at: i64,
    start: i64,
    len: i64,
}

fn index_event(change: &Connection, task: i64, located: &LocatedEvent, blobs: &Blobs) -> Result<(), IndexError> {
    let Some((place, text)) = searchable_text(&located.event, blobs) else { return Ok(()) };
    let event = located.event.id.to_string();
    let entry = Entry {
        task,
        event: Some(&event),
        place,
        at: located.event.ts.as_millis(),
        start: i64::try_from(located.start).unwrap_or(i64::MAX),
        len: i64::try_from(located.len).unwrap_or(i64::MAX),
    };
    add(change, &entry, &text)
}

fn add(change: &Connection, entry: &Entry<'_>, text: &str) -> Result<(), IndexError> {
    let Entry { task, event, place, at, start, len } = entry;
    // Text after damage may be read again; it is stored once.
    let added = change
        .prepare_cached("insert or ignore into entries (task, event, place, at, start, len) values (?, ?, ?, ?, ?, ?)")?
        .execute(params![task, event, *place as i64, at, start, len])?;
    if added > 0 {
        let id = change.last_insert_rowid();
        change
            .prepare_cached("insert into words (rowid, text) values (?, ?)")?
            .execute(params![id, normalize(text)])?;
    }
    Ok(())
}

/// Deletes the entries of a task that match `which`.
fn drop_entries(change: &Connection, task: i64, which: &str) -> Result<(), IndexError> {
    change.execute(
        &format!("delete from words where rowid in (select id from entries where task = ? and {which})"),
        [task],
    )?;
    change.execute(&format!("delete from entries where task = ? and {which}"), [task])?;
    Ok(())
}

/// Updates which entries are outside of the active chain.
fn note_rewound(change: &Connection, task: i64, sessions: &Sessions, name: TaskId) -> Result<(), IndexError> {
    let chain: BTreeSet<EventId> = sessions.chain_ids(name)?.into_iter().collect();
    let mut differing = Vec::new();
    {
        let mut statement =
            change.prepare("select id, event, rewound from entries where task = ? and event is not null")?;
        let mut rows = statement.query([task])?;
        while let Some(row) = rows.next()? {
            let event: String = row.get(1)?;
            let rewound = !event.parse().is_ok_and(|event| chain.contains(&event));
            if rewound != row.get::<_, bool>(2)? {
                differing.push((row.get::<_, i64>(0)?, rewound));
            }
        }
    }
    for (id, rewound) in differing {
        change.execute("update entries set rewound = ? where id = ?", params![rewound, id])?;
    }
    Ok(())
}
