//! Brings the index up to date: reads what was appended to each session since it was last read, and nothing else.
//!
//! What is read and how far it was read are kept in one transaction. However a process ends, the index says no more than
//! it holds, and two processes at work on it share the work and never do any of it twice.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use crate::base::{EventId, TaskId};
use crate::model::event::Body;
use crate::model::search::Place;
use crate::model::task::TaskNode;
use crate::model::tree::Tree;
use crate::search::index::{Index, Trouble};
use crate::search::said::said;
use crate::search::words::plain;
use crate::store::mark::{Followed, Located, Mark};
use crate::store::{Blobs, Sessions};

/// How much of a session is read before what was found is kept, and others have their turn.
const PIECE: u64 = 8 << 20;

/// What the index knows of a task.
struct Known {
    id: i64,
    mark: Option<Mark>,
    moved: bool,
    node: Option<Vec<u8>>,
}

/// Reads what is new in the sessions and in the tree.
pub fn refresh(index: &mut Index, sessions: &Sessions, blobs: &Blobs, tree: Option<&Tree>) -> Result<(), Trouble> {
    let with_session: BTreeSet<TaskId> = sessions.list()?.into_iter().collect();
    let nodes: BTreeMap<TaskId, &TaskNode> = tree.into_iter().flat_map(Tree::all).map(|node| (node.id, node)).collect();
    forget_others(index, |task| with_session.contains(&task) || nodes.contains_key(&task))?;
    for task in with_session.iter().chain(nodes.keys().filter(|task| !with_session.contains(task))) {
        if let Some(node) = nodes.get(task) {
            describe(index, node)?;
        }
        while read_on(index, sessions, blobs, *task)? {}
    }
    Ok(())
}

/// Drops what is known of tasks that are gone.
fn forget_others(index: &mut Index, is_there: impl Fn(TaskId) -> bool) -> Result<(), Trouble> {
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

fn known(connection: &Connection, task: TaskId) -> Result<Option<Known>, Trouble> {
    let mut asked = connection.prepare_cached("select id, head, line, len, moved, node from tasks where task = ?")?;
    let found = asked
        .query_row([task.to_string()], |row| {
            let head: Option<String> = row.get(1)?;
            let place: (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, head, place, row.get(4)?, row.get(5)?))
        })
        .optional()?;
    let Some((id, head, (line, len), moved, node)) = found else { return Ok(None) };
    // A mark that makes no sense is none: the session is read again.
    let mark = (|| {
        let head = head?.parse().ok()?;
        Some(Mark { head, line: u64::try_from(line?).ok()?, len: u64::try_from(len?).ok()? })
    })();
    Ok(Some(Known { id, mark, moved, node }))
}

/// Returns what is known of a task, as something: a task that was unknown is known from here on.
fn known_or_new(connection: &Connection, task: TaskId) -> Result<Known, Trouble> {
    if let Some(known) = known(connection, task)? {
        return Ok(known);
    }
    connection.prepare_cached("insert into tasks (task) values (?)")?.execute([task.to_string()])?;
    Ok(Known { id: connection.last_insert_rowid(), mark: None, moved: false, node: None })
}

/// Takes in what a task says of itself, if that has changed.
fn describe(index: &mut Index, node: &TaskNode) -> Result<(), Trouble> {
    let mut hasher = blake3::Hasher::new();
    let results = node.results.iter().map(|round| &round.result);
    for text in [&node.title, &node.description].into_iter().chain(results) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    let fingerprint = hasher.finalize().as_bytes()[..16].to_vec();
    if known(&index.connection, node.id)?.is_some_and(|known| known.node.as_ref() == Some(&fingerprint)) {
        return Ok(());
    }
    let change = index.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let id = known_or_new(&change, node.id)?.id;
    drop_entries(&change, id, "event is null")?;
    let results = node.results.iter().map(|round| (Place::Result, &round.result, round.at));
    let own = [(Place::Title, &node.title, node.created_at), (Place::Description, &node.description, node.created_at)];
    for (text, at) in own.into_iter().chain(results).zip(0..) {
        let (place, text, moment) = text;
        if !text.trim().is_empty() {
            // The number of the text among those of the task stands where a place in the session would.
            add(&change, &Entry { task: id, event: None, place, at: moment.as_millis(), start: at, len: 0 }, text)?;
        }
    }
    change.execute("update tasks set node = ? where id = ?", params![fingerprint, id])?;
    change.commit()?;
    Ok(())
}

/// Takes in a piece of a session. Tells whether there is more.
fn read_on(index: &mut Index, sessions: &Sessions, blobs: &Blobs, task: TaskId) -> Result<bool, Trouble> {
    // Nearly always there is nothing new, and nobody needs to be kept waiting to find that out.
    if let Some(Known { mark: mark @ Some(_), .. }) = known(&index.connection, task)?
        && sessions.follow(task, mark, 1, |_| {})? == Followed::To(mark)
    {
        return Ok(false);
    }
    let change = index.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let known = known_or_new(&change, task)?;
    let mut kept: Result<(), Trouble> = Ok(());
    let mut moved = known.moved;
    let followed = sessions.follow(task, known.mark, PIECE, |located| {
        moved |= matches!(located.event.body, Body::HeadMoved(_));
        if kept.is_ok() {
            kept = take_in(&change, known.id, &located, blobs);
        }
    })?;
    kept?;
    let mark = match followed {
        Followed::To(mark) => mark,
        Followed::Partly(mark) => Some(mark),
        Followed::Other => {
            drop_entries(&change, known.id, "event is not null")?;
            change
                .execute("update tasks set head = null, line = null, len = null, moved = 0 where id = ?", [known.id])?;
            change.commit()?;
            return Ok(sessions.path(task).exists());
        }
    };
    let (head, line, len) = match mark {
        Some(mark) => (Some(mark.head.to_string()), i64::try_from(mark.line).ok(), i64::try_from(mark.len).ok()),
        None => (None, None, None),
    };
    change.execute(
        "update tasks set head = ?, line = ?, len = ?, moved = ? where id = ?",
        params![head, line, len, moved, known.id],
    )?;
    let finished = !matches!(followed, Followed::Partly(_));
    if moved && finished {
        note_rewound(&change, known.id, sessions, task)?;
    }
    change.commit()?;
    Ok(!finished)
}

/// One text of a task: where it stands, and as what.
struct Entry<'a> {
    task: i64,
    event: Option<&'a str>,
    place: Place,
    at: i64,
    start: i64,
    len: i64,
}

fn take_in(change: &Connection, task: i64, located: &Located, blobs: &Blobs) -> Result<(), Trouble> {
    let Some((place, text)) = said(&located.event, blobs) else { return Ok(()) };
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

fn add(change: &Connection, entry: &Entry<'_>, text: &str) -> Result<(), Trouble> {
    let Entry { task, event, place, at, start, len } = entry;
    // What stands behind damage may be read again; it is kept once.
    let added = change
        .prepare_cached("insert or ignore into entries (task, event, place, at, start, len) values (?, ?, ?, ?, ?, ?)")?
        .execute(params![task, event, *place as i64, at, start, len])?;
    if added > 0 {
        let id = change.last_insert_rowid();
        change.prepare_cached("insert into words (rowid, text) values (?, ?)")?.execute(params![id, plain(text)])?;
    }
    Ok(())
}

/// Drops those entries of a task for which `which` holds.
fn drop_entries(change: &Connection, task: i64, which: &str) -> Result<(), Trouble> {
    change.execute(
        &format!("delete from words where rowid in (select id from entries where task = ? and {which})"),
        [task],
    )?;
    change.execute(&format!("delete from entries where task = ? and {which}"), [task])?;
    Ok(())
}

/// Marks what the conversation no longer goes through, and what it goes through again.
fn note_rewound(change: &Connection, task: i64, sessions: &Sessions, name: TaskId) -> Result<(), Trouble> {
    let chain: BTreeSet<EventId> = sessions.chain_ids(name)?.into_iter().collect();
    let mut differing = Vec::new();
    {
        let mut asked =
            change.prepare("select id, event, rewound from entries where task = ? and event is not null")?;
        let mut rows = asked.query([task])?;
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
