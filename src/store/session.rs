//! Reads sessions: the active chain, older pages, the whole file. Never writes and needs no lock. Works while another
//! process appends: incomplete data is ignored.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::{EventId, TaskId};
use crate::config::paths::ProjectFolder;
use crate::model::event::Event;
use crate::model::fold::SessionState;
use crate::store::StoreError;
use crate::store::chain::{self, ActiveChain, Damage, Lines, Position, Walk};
use crate::store::disk::{Disk, DiskFile, Open};
use crate::store::line;
use crate::store::scan::{Forward, Span};
use crate::store::tail::{self, Tail};

/// The sessions of one project, for reading.
#[derive(Clone)]
pub struct Sessions {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
}

/// The state from which an agent resumes.
#[derive(Debug, Default)]
pub struct ActiveSession {
    /// The active chain, oldest first.
    pub events: Vec<Event>,
    pub head: Option<EventId>,
    pub damage: Damage,
}

impl ActiveSession {
    pub fn state(&self) -> SessionState {
        SessionState::replay(&self.events)
    }
}

/// The end of a page, to request the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(Position);

/// A piece of a transcript, oldest first.
#[derive(Debug, Default)]
pub struct Page {
    pub events: Vec<Event>,
    /// `None` if the page starts at the beginning of the session.
    pub older: Option<Cursor>,
    pub damage: Damage,
}

/// Returns the file name of a session.
pub fn file_name(task: TaskId) -> String {
    format!("{task}.jsonl")
}

impl Sessions {
    pub fn new(disk: Arc<dyn Disk>, folder: impl Into<PathBuf>) -> Self {
        Self { disk, folder: folder.into() }
    }

    pub fn path(&self, task: TaskId) -> PathBuf {
        self.folder.join(file_name(task))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the project of these sessions.
    pub fn project_folder(&self) -> ProjectFolder {
        ProjectFolder::at(self.folder.parent().unwrap_or(Path::new(".")))
    }

    /// Returns the tasks that have a session, oldest first.
    pub fn list(&self) -> Result<Vec<TaskId>, StoreError> {
        let names = self.disk.list(&self.folder).map_err(StoreError::io("list", &self.folder))?;
        let mut tasks: Vec<TaskId> =
            names.iter().filter_map(|name| name.to_str()?.strip_suffix(".jsonl")?.parse().ok()).collect();
        tasks.sort_unstable();
        Ok(tasks)
    }

    /// Returns the active chain: from the head back to the last completed compaction.
    pub fn active(&self, task: TaskId) -> Result<ActiveSession, StoreError> {
        let chain = self.with_file(task, |file, tail| {
            chain::active(Walk::from_end(file, tail.good)?, Lines::Drop).map(|chain| (chain, tail.head))
        })?;
        let (ActiveChain { events, damage, .. }, head) = chain.unwrap_or_default();
        Ok(ActiveSession { events, head, damage })
    }

    /// Returns the chain that was active when `event` was the head.
    pub fn active_at(&self, task: TaskId, event: EventId) -> Result<ActiveSession, StoreError> {
        let ActiveChain { events, damage, .. } = self.chain_at(task, event, Lines::Drop)?;
        Ok(ActiveSession { events, head: Some(event), damage })
    }

    fn chain_at(&self, task: TaskId, event: EventId, lines: Lines) -> Result<ActiveChain, StoreError> {
        let found = self.with_file(task, |file, tail| {
            let Some(offset) = end_of(file, tail.good, event)? else { return Ok(None) };
            let walk = Walk::resume(file, Position { offset, want: Some(event) })?;
            chain::active(walk, lines).map(Some)
        })?;
        found.flatten().ok_or(StoreError::UnknownEvent { session: task, event })
    }

    /// Like [`Sessions::active_at`], with the exact lines, for copying.
    pub(in crate::store) fn active_lines_at(&self, task: TaskId, event: EventId) -> Result<ActiveChain, StoreError> {
        self.chain_at(task, event, Lines::Keep)
    }

    /// Returns the active chain with its exact lines, for copying.
    pub(in crate::store) fn active_lines(&self, task: TaskId) -> Result<ActiveChain, StoreError> {
        let chain = self.with_file(task, |file, tail| chain::active(Walk::from_end(file, tail.good)?, Lines::Keep))?;
        Ok(chain.unwrap_or_default())
    }

    /// Returns the last `count` events of the chain, including those before a compaction.
    pub fn last_page(&self, task: TaskId, count: usize) -> Result<Page, StoreError> {
        let page = self.with_file(task, |file, tail| page(Walk::from_end(file, tail.good)?, count))?;
        Ok(page.unwrap_or_default())
    }

    /// Returns the `count` events before a page.
    pub fn page_before(&self, task: TaskId, cursor: Cursor, count: usize) -> Result<Page, StoreError> {
        let page = self.with_file(task, |file, _| page(Walk::resume(file, cursor.0)?, count))?;
        Ok(page.unwrap_or_default())
    }

    /// Returns the end of the page before `event`.
    pub fn cursor_before(&self, task: TaskId, event: EventId) -> Result<Cursor, StoreError> {
        let found = self.with_file(task, |file, tail| {
            let Some(offset) = end_of(file, tail.good, event)? else { return Ok(None) };
            let mut walk = Walk::resume(file, Position { offset, want: Some(event) })?;
            let link = walk.next_link()?;
            Ok(link.map(|link| walk.position(link.offset).unwrap_or(Position { offset: 0, want: None })))
        })?;
        found.flatten().map(Cursor).ok_or(StoreError::UnknownEvent { session: task, event })
    }

    /// Calls `each` with every line of the file in order, including those outside of the active chain.
    pub fn scan(&self, task: TaskId, mut each: impl FnMut(&Span<'_>)) -> Result<Tail, StoreError> {
        let tail = self.with_file(task, |file, tail| {
            let mut lines = Forward::new(file, 0, tail.good);
            while let Some(span) = lines.next_line()? {
                each(&span);
            }
            Ok(tail.clone())
        })?;
        Ok(tail.unwrap_or_default())
    }

    /// Calls `each` with every event of the file in order. Returns the number of lines without an event.
    pub fn stream(&self, task: TaskId, mut each: impl FnMut(Event)) -> Result<usize, StoreError> {
        let mut bad = 0;
        self.scan(task, |span| match span.bytes.map(line::parse) {
            Some(line::Parsed::Whole(header)) => each(header.into_event()),
            Some(line::Parsed::Behind { header, .. }) => {
                bad += 1;
                each(header.into_event());
            }
            Some(line::Parsed::Bad) | None => bad += 1,
            Some(line::Parsed::Blank) => {}
        })?;
        Ok(bad)
    }

    /// Calls `each` with every event of the chain, oldest first, including those before a compaction. Holds the ids
    /// of the chain in memory, never its events.
    pub fn stream_chain(&self, task: TaskId, mut each: impl FnMut(Event)) -> Result<Damage, StoreError> {
        let damage = self.with_file(task, |file, tail| {
            let mut walk = Walk::from_end(file, tail.good)?;
            let mut ids = Vec::new();
            while let Some(link) = walk.next_link()? {
                ids.push(link.event.id);
            }
            let mut lines = Forward::new(file, 0, tail.good);
            while let (Some(span), Some(next)) = (lines.next_line()?, ids.last()) {
                let header = span.bytes.and_then(|bytes| line::parse(bytes).header());
                if let Some(header) = header.filter(|header| header.id == *next) {
                    ids.pop();
                    each(header.into_event());
                }
            }
            Ok(walk.damage())
        })?;
        Ok(damage.unwrap_or_default())
    }

    /// Returns the ids of the chain, from the head back to the beginning, past compactions.
    pub fn chain_ids(&self, task: TaskId) -> Result<Vec<EventId>, StoreError> {
        let ids = self.with_file(task, |file, tail| {
            let mut walk = Walk::from_end(file, tail.good)?;
            let mut ids = Vec::new();
            while let Some(link) = walk.next_link()? {
                ids.push(link.event.id);
            }
            Ok(ids)
        })?;
        Ok(ids.unwrap_or_default())
    }

    /// Opens the session's file, or returns `None` if the task has no session.
    pub(in crate::store) fn open(&self, task: TaskId) -> Result<Option<Box<dyn DiskFile>>, StoreError> {
        let path = self.path(task);
        match self.disk.open(&path, Open::Read) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("open", &path)(error)),
        }
    }

    /// Runs `read` on the session's file, or returns `None` if the task has no session.
    fn with_file<T>(
        &self,
        task: TaskId,
        read: impl FnOnce(&dyn DiskFile, &Tail) -> io::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let Some(file) = self.open(task)? else { return Ok(None) };
        let path = self.path(task);
        let tail = tail::inspect(file.as_ref()).map_err(StoreError::io("read the end of", &path))?;
        read(file.as_ref(), &tail).map(Some).map_err(StoreError::io("read", &path))
    }
}

/// Takes `count` events from a walk.
fn page(mut walk: Walk<'_>, count: usize) -> io::Result<Page> {
    let mut events = Vec::new();
    let mut oldest = None;
    while events.len() < count {
        let Some(link) = walk.next_link()? else { break };
        oldest = Some(link.offset);
        events.push(link.event);
    }
    events.reverse();
    let older = oldest.and_then(|offset| walk.position(offset)).map(Cursor);
    Ok(Page { events, older, damage: walk.damage() })
}

/// Returns the end of the line of `event`.
fn end_of(file: &dyn DiskFile, end: u64, event: EventId) -> io::Result<Option<u64>> {
    let mut lines = crate::store::scan::Backward::new(file, end)?;
    while let Some(span) = lines.next_line()? {
        let Some(bytes) = span.bytes else { continue };
        if line::parse(&bytes).header().is_some_and(|header| header.id == event) {
            return Ok(Some(span.offset + bytes.len() as u64));
        }
    }
    Ok(None)
}
