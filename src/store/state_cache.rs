//! `digests.json`: the cached states of a project's sessions, so that a start need not read them.
//!
//! Derived data: an entry is valid only while its session starts with exactly the events it was made from. Events
//! appended since then are read and folded; otherwise the whole session is read. A missing or damaged file, or one of
//! another version, counts as empty.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::base::{EventId, TaskId};
use crate::model::event::{Body, Event};
use crate::model::fold::SessionState;
use crate::store::cursor::ReadCursor;
use crate::store::disk::{self, Disk, DiskFile};
use crate::store::line;
use crate::store::scan::{Backward, Forward};
use crate::store::session::Sessions;
use crate::store::tail;
use crate::store::{StoreError, replace};

/// The format version. Files with another version, older or newer, are ignored.
const VERSION: u64 = 2;
/// Another version of the program may fold the same events differently.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The number of sessions read in parallel.
const MAX_READERS: usize = 8;

/// The cached states of one project.
pub struct StateCache {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    known: BTreeMap<TaskId, CachedState>,
    unsaved: bool,
}

#[derive(Serialize, Deserialize)]
struct Format {
    version: u64,
    program: String,
    tasks: BTreeMap<TaskId, CachedState>,
}

/// The state of a session with `head` as its last event.
#[derive(Serialize, Deserialize)]
struct CachedState {
    head: EventId,
    /// The start and the end of the line of `head`: the state includes everything up to its end.
    line: u64,
    len: u64,
    /// As text: most entries are only copied from one file to the next.
    state: Box<RawValue>,
}

/// The state of a session, and the last event that it includes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub head: Option<EventId>,
    pub state: SessionState,
}

impl StateCache {
    /// Loads the file at `path`. An invalid file counts as empty.
    pub fn load(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let text = disk::read_all(disk.as_ref(), &path).ok().flatten();
        let format = text.and_then(|text| serde_json::from_slice::<Format>(&text).ok());
        let usable = format.filter(|format| format.version == VERSION && format.program == PROGRAM);
        Self { disk, path, known: usable.map(|format| format.tasks).unwrap_or_default(), unsaved: false }
    }

    /// Returns the state of a session, reading as little of it as possible.
    pub fn summary(&mut self, sessions: &Sessions, task: TaskId) -> Result<Summary, StoreError> {
        let (summary, counts) = self.read(sessions, task)?;
        if !counts {
            self.unsaved |= self.known.remove(&task).is_some();
        }
        Ok(summary)
    }

    /// Like [`StateCache::summary`], for many sessions in parallel.
    pub fn summaries(&mut self, sessions: &Sessions, tasks: &[TaskId]) -> Result<Vec<(TaskId, Summary)>, StoreError> {
        let readers = thread::available_parallelism().map_or(1, usize::from).min(MAX_READERS);
        let share = tasks.len().div_ceil(readers).max(1);
        let known = &*self;
        let read = |part: &[TaskId]| {
            let each = part.iter().map(|task| known.read(sessions, *task).map(|read| (*task, read)));
            each.collect::<Result<Vec<_>, StoreError>>()
        };
        let parts: Vec<_> = thread::scope(|scope| {
            let readers: Vec<_> = tasks.chunks(share).map(|part| scope.spawn(move || read(part))).collect();
            let joined = readers.into_iter().map(thread::ScopedJoinHandle::join);
            joined.map(|read| read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        let mut summaries = Vec::with_capacity(tasks.len());
        for part in parts {
            for (task, (summary, counts)) in part? {
                if !counts {
                    self.unsaved |= self.known.remove(&task).is_some();
                }
                summaries.push((task, summary));
            }
        }
        Ok(summaries)
    }

    /// Reads the state of a session. The flag tells if its entry is still valid.
    fn read(&self, sessions: &Sessions, task: TaskId) -> Result<(Summary, bool), StoreError> {
        // On any problem with an entry, the session itself is read.
        let resumed = self.known.get(&task).and_then(|digest| digest.resume(sessions, task).ok().flatten());
        if let Some(summary) = resumed {
            return Ok((summary, true));
        }
        let active = sessions.active(task)?;
        Ok((Summary { head: active.head, state: active.state() }, false))
    }

    /// Stores `state` for the session with `head`, which is in its file, perhaps followed by more.
    pub fn note(
        &mut self,
        sessions: &Sessions,
        task: TaskId,
        head: EventId,
        state: &SessionState,
    ) -> Result<(), StoreError> {
        let floor = match self.known.get(&task) {
            Some(known) if known.head == head => return Ok(()),
            Some(known) => known.len,
            None => 0,
        };
        let Some(mut file) = sessions.open(task)? else { return Ok(()) };
        let found = place_of(file.as_mut(), floor, head).map_err(StoreError::io("read", &sessions.path(task)))?;
        if let Some((line, len)) = found {
            let state = serde_json::value::to_raw_value(state)?;
            self.known.insert(task, CachedState { head, line, len, state });
            self.unsaved = true;
        }
        Ok(())
    }

    /// Drops the sessions that are not `wanted`.
    pub fn retain(&mut self, wanted: impl Fn(TaskId) -> bool) {
        let before = self.known.len();
        self.known.retain(|task, _| wanted(*task));
        self.unsaved |= self.known.len() < before;
    }

    /// Writes the file, if it changed.
    pub fn save(&mut self) -> Result<(), StoreError> {
        if !self.unsaved {
            return Ok(());
        }
        let tasks = std::mem::take(&mut self.known);
        let format = Format { version: VERSION, program: PROGRAM.to_owned(), tasks };
        let text = serde_json::to_vec(&format);
        self.known = format.tasks;
        replace::replace(self.disk.as_ref(), &self.path, &text?)?;
        self.unsaved = false;
        Ok(())
    }
}

impl CachedState {
    /// Folds the events appended since. `None` if the session does not match this entry, or does not continue
    /// linearly.
    fn resume(&self, sessions: &Sessions, task: TaskId) -> Result<Option<Summary>, StoreError> {
        let Some(file) = sessions.open(task)? else { return Ok(None) };
        self.fold(file.as_ref()).map_err(StoreError::io("read", &sessions.path(task)))
    }

    fn fold(&self, file: &dyn DiskFile) -> io::Result<Option<Summary>> {
        let cursor = ReadCursor { head: self.head, line: self.line, len: self.len };
        if !cursor.is_valid_in(file)? {
            return Ok(None);
        }
        let Ok(mut state) = serde_json::from_str::<SessionState>(self.state.get()) else { return Ok(None) };
        let mut head = self.head;
        let tail = tail::inspect_above(file, self.len)?;
        let mut lines = Forward::new(file, self.len, tail.good);
        while let Some(span) = lines.next_line()? {
            let event = span.bytes.and_then(line::event).filter(|event| follows(event, head));
            let Some(event) = event else { return Ok(None) };
            state.apply(&event);
            head = event.id;
        }
        Ok(Some(Summary { head: Some(head), state }))
    }
}

/// Returns true if an event continues from `head`. An event that moves the head has another parent, names the old
/// head, and carries the new state.
fn follows(event: &Event, head: EventId) -> bool {
    let last = if let Body::HeadMoved(moved) = &event.body { moved.from } else { event.parent };
    last == Some(head)
}

/// Returns the start and the end of the line of `head`, if it is above `floor` and written by this version.
fn place_of(file: &mut dyn DiskFile, floor: u64, head: EventId) -> io::Result<Option<(u64, u64)>> {
    // An entry must not outlive its events, even in a power loss.
    file.sync()?;
    let tail = tail::inspect_above(file, floor)?;
    let mut lines = Backward::above(file, floor, tail.good)?;
    while let Some(span) = lines.next_line()? {
        let Some(bytes) = span.bytes.filter(|bytes| Event::opens(bytes, head)) else { continue };
        let whole = span.terminated && line::event(&bytes).is_some();
        return Ok(whole.then_some((span.offset, span.offset + bytes.len() as u64 + 1)));
    }
    Ok(None)
}
