//! A position in a session, stored in derived files: everything before it has been read.
//!
//! A cursor is valid only while the session starts with exactly the data that was read. Then only the appended part
//! has to be read.

use std::io;

use crate::base::{EventId, TaskId};
use crate::model::event::Event;
use crate::store::StoreError;
use crate::store::disk::DiskFile;
use crate::store::line;
use crate::store::scan::Forward;
use crate::store::session::Sessions;
use crate::store::tail;

/// Enough bytes of a line to identify its event.
const OPENING: usize = 64;

/// How far a session was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCursor {
    /// The last event that was read.
    pub head: EventId,
    /// The start and the end of the line of `head`, including its newline.
    pub line: u64,
    pub len: u64,
}

impl ReadCursor {
    /// Returns true if the line of the head, with its newline, is still at its offset. Files are only appended to,
    /// and ids are unique: then everything before that line is unchanged.
    pub(in crate::store) fn is_valid_in(&self, file: &dyn DiskFile) -> io::Result<bool> {
        if self.line >= self.len || file.len()? < self.len {
            return Ok(false);
        }
        let mut opening = [0; OPENING];
        let read = file.read_at(&mut opening, self.line)?;
        let mut end = [0];
        file.read_at(&mut end, self.len - 1)?;
        Ok(end == *b"\n" && Event::opens(&opening[..read], self.head))
    }
}

/// An event and the range of its text in the file.
#[derive(Debug)]
pub struct LocatedEvent {
    pub event: Event,
    pub start: u64,
    pub len: usize,
}

/// The result of [`Sessions::follow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowOutcome {
    /// Everything up to this cursor was read. `None` if the session has no events yet.
    To(Option<ReadCursor>),
    /// Like [`FollowOutcome::To`], but there is more to read.
    Partly(ReadCursor),
    /// The session does not match the cursor.
    Other,
}

impl Sessions {
    /// Calls `each` with the events after the cursor, in file order, until about `most` bytes were read. This
    /// includes rewound events, but not an unacknowledged end.
    pub fn follow(
        &self,
        task: TaskId,
        cursor: Option<ReadCursor>,
        most: u64,
        each: impl FnMut(LocatedEvent),
    ) -> Result<FollowOutcome, StoreError> {
        let Some(file) = self.open(task)? else {
            return Ok(if cursor.is_some() { FollowOutcome::Other } else { FollowOutcome::To(None) });
        };
        follow(file.as_ref(), cursor, most, each).map_err(StoreError::io("read", &self.path(task)))
    }

    /// Returns the event at an offset, if it is still there.
    pub fn event_at(&self, task: TaskId, start: u64, len: usize) -> Result<Option<Event>, StoreError> {
        if len > line::MAX_LINE {
            return Ok(None);
        }
        let Some(file) = self.open(task)? else { return Ok(None) };
        let mut bytes = vec![0; len];
        let read = file.read_at(&mut bytes, start).map_err(StoreError::io("read", &self.path(task)))?;
        Ok(line::event(&bytes[..read]))
    }
}

fn follow(
    file: &dyn DiskFile,
    cursor: Option<ReadCursor>,
    most: u64,
    mut each: impl FnMut(LocatedEvent),
) -> io::Result<FollowOutcome> {
    if let Some(cursor) = cursor
        && !cursor.is_valid_in(file)?
    {
        return Ok(FollowOutcome::Other);
    }
    let from = cursor.map_or(0, |cursor| cursor.len);
    let end = tail::inspect_above(file, from)?.good;
    let mut lines = Forward::new(file, from, end);
    let mut cursor = cursor;
    while let Some(span) = lines.next_line()? {
        let Some(bytes) = span.bytes else { continue };
        let (garbage, event) = match line::parse(bytes) {
            line::Parsed::Whole(header) => (0, header.into_event()),
            line::Parsed::Behind { garbage, header } => (garbage, header.into_event()),
            line::Parsed::Blank | line::Parsed::Bad => continue,
        };
        let (start, len) = (span.offset + garbage as u64, bytes.len() - garbage);
        let end_of_line = start + len as u64;
        // A line without a newline is read once it has one. A line that is glued to the next, or written by another
        // version, is read, but cannot be the head of a cursor.
        if !span.terminated && end_of_line == end {
            break;
        }
        let ours = span.terminated && garbage == 0 && Event::opens(bytes, event.id);
        let head = event.id;
        each(LocatedEvent { event, start, len });
        if ours {
            let reached = ReadCursor { head, line: start, len: end_of_line + 1 };
            cursor = Some(reached);
            if reached.len - from >= most && reached.len < end {
                return Ok(FollowOutcome::Partly(reached));
            }
        }
    }
    Ok(FollowOutcome::To(cursor))
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
