//! `digests.json`: what the sessions of a project add up to, so that a start need not read them.
//!
//! Derived, never the truth: a digest counts only while its session begins with exactly what it was made of. What was
//! appended since is read and folded behind it; in every other case the session itself is read. A file that is
//! missing, damaged, or written by another version of the program is as good as none.

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
use crate::store::disk::{self, Disk, DiskFile};
use crate::store::line;
use crate::store::mark::Mark;
use crate::store::scan::{Backward, Forward};
use crate::store::session::Sessions;
use crate::store::tail;
use crate::store::{StoreError, replace};

/// The format that this program reads and writes. Another one is not read, whether older or newer.
const VERSION: u64 = 2;
/// Folds may come to something else in another version of the program, over the same events.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// How many sessions are read at a time, on a machine that has so many processors.
const MOST_READERS: usize = 8;

/// The digests of one project.
pub struct Digests {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    known: BTreeMap<TaskId, Digest>,
    unsaved: bool,
}

#[derive(Serialize, Deserialize)]
struct Format {
    version: u64,
    program: String,
    tasks: BTreeMap<TaskId, Digest>,
}

/// What a session came to when `head` was its last event.
#[derive(Serialize, Deserialize)]
struct Digest {
    head: EventId,
    /// Where the line of `head` begins and where it ends: everything before its end is in the state.
    line: u64,
    len: u64,
    /// As text: most digests are only carried from one file to the next.
    state: Box<RawValue>,
}

/// What a session adds up to, and the event it was folded up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub head: Option<EventId>,
    pub state: SessionState,
}

impl Digests {
    /// Reads the file at `path`, as far as it is of use.
    pub fn load(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let text = disk::read_all(disk.as_ref(), &path).ok().flatten();
        let format = text.and_then(|text| serde_json::from_slice::<Format>(&text).ok());
        let usable = format.filter(|format| format.version == VERSION && format.program == PROGRAM);
        Self { disk, path, known: usable.map(|format| format.tasks).unwrap_or_default(), unsaved: false }
    }

    /// Returns what a session adds up to, having read as little of it as it takes.
    pub fn summary(&mut self, sessions: &Sessions, task: TaskId) -> Result<Summary, StoreError> {
        let (summary, counts) = self.read(sessions, task)?;
        if !counts {
            self.unsaved |= self.known.remove(&task).is_some();
        }
        Ok(summary)
    }

    /// The same for many sessions, several of them at a time.
    pub fn summaries(&mut self, sessions: &Sessions, tasks: &[TaskId]) -> Result<Vec<(TaskId, Summary)>, StoreError> {
        let readers = thread::available_parallelism().map_or(1, usize::from).min(MOST_READERS);
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

    /// Reads what a session adds up to, and whether its digest still counts.
    fn read(&self, sessions: &Sessions, task: TaskId) -> Result<(Summary, bool), StoreError> {
        // Whatever is wrong with a digest, or with the short way, the session has the last word.
        let resumed = self.known.get(&task).and_then(|digest| digest.resume(sessions, task).ok().flatten());
        if let Some(summary) = resumed {
            return Ok((summary, true));
        }
        let active = sessions.active(task)?;
        Ok((Summary { head: active.head, state: active.state() }, false))
    }

    /// Takes note that a session came to `state` with `head`, which is in its file, perhaps with more behind it.
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
            self.known.insert(task, Digest { head, line, len, state });
            self.unsaved = true;
        }
        Ok(())
    }

    /// Forgets the sessions that are not `wanted`.
    pub fn retain(&mut self, wanted: impl Fn(TaskId) -> bool) {
        let before = self.known.len();
        self.known.retain(|task, _| wanted(*task));
        self.unsaved |= self.known.len() < before;
    }

    /// Writes the file, if there is anything new to write.
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

impl Digest {
    /// Goes on from here through what was appended since. Nothing: the session is not what this was made of, or it does
    /// not simply go on.
    fn resume(&self, sessions: &Sessions, task: TaskId) -> Result<Option<Summary>, StoreError> {
        let Some(file) = sessions.open(task)? else { return Ok(None) };
        self.fold(file.as_ref()).map_err(StoreError::io("read", &sessions.path(task)))
    }

    fn fold(&self, file: &dyn DiskFile) -> io::Result<Option<Summary>> {
        let mark = Mark { head: self.head, line: self.line, len: self.len };
        if !mark.stands_in(file)? {
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

/// Tells whether an event goes on from `head`. One that moves the head hangs elsewhere, says where it came from, and
/// carries what is in force from then on.
fn follows(event: &Event, head: EventId) -> bool {
    let last = if let Body::HeadMoved(moved) = &event.body { moved.from } else { event.parent };
    last == Some(head)
}

/// Returns where the line of `head` begins and ends, if it is above `floor` and as this version writes it.
fn place_of(file: &mut dyn DiskFile, floor: u64, head: EventId) -> io::Result<Option<(u64, u64)>> {
    // A digest must not outlive what it was made of, not even a loss of power.
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
