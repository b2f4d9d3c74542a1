//! A place in a session that a derived file remembers: everything up to here has been read.
//!
//! A mark counts only while the session begins with exactly what was read. What is appended behind it can then be read
//! alone, and nothing of the file before it needs to be looked at.

use std::io;

use crate::base::{EventId, TaskId};
use crate::model::event::Event;
use crate::store::StoreError;
use crate::store::disk::DiskFile;
use crate::store::line;
use crate::store::scan::Forward;
use crate::store::session::Sessions;
use crate::store::tail;

/// As much of a line as says whose it is.
const OPENING: usize = 64;

/// How far a session was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The last event that was read.
    pub head: EventId,
    /// Where the line of `head` begins and where it ends, with its newline.
    pub line: u64,
    pub len: u64,
}

impl Mark {
    /// Tells whether the line of the head stands where it stood, with its newline. Files are only appended to, and no
    /// two events have the same id: what is before that line is what was before it then.
    pub(in crate::store) fn stands_in(&self, file: &dyn DiskFile) -> io::Result<bool> {
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

/// An event and where its text stands in the file.
#[derive(Debug)]
pub struct Located {
    pub event: Event,
    pub start: u64,
    pub len: usize,
}

/// How reading on went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Everything up to this mark was read. Nothing: the session has no events yet.
    To(Option<Mark>),
    /// As [`Followed::To`], and there is more.
    Partly(Mark),
    /// The session is not what the mark was made of.
    Other,
}

impl Sessions {
    /// Calls `each` with the events behind `mark`, in the order of the file, until about `most` bytes were read. Events
    /// that were rewound are among them. An end that was not acknowledged does not count.
    pub fn follow(
        &self,
        task: TaskId,
        mark: Option<Mark>,
        most: u64,
        each: impl FnMut(Located),
    ) -> Result<Followed, StoreError> {
        let Some(file) = self.open(task)? else {
            return Ok(if mark.is_some() { Followed::Other } else { Followed::To(None) });
        };
        follow(file.as_ref(), mark, most, each).map_err(StoreError::io("read", &self.path(task)))
    }

    /// Returns the event whose text stands at a place, if it still does.
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

fn follow(file: &dyn DiskFile, mark: Option<Mark>, most: u64, mut each: impl FnMut(Located)) -> io::Result<Followed> {
    if let Some(mark) = mark
        && !mark.stands_in(file)?
    {
        return Ok(Followed::Other);
    }
    let from = mark.map_or(0, |mark| mark.len);
    let end = tail::inspect_above(file, from)?.good;
    let mut lines = Forward::new(file, from, end);
    let mut mark = mark;
    while let Some(span) = lines.next_line()? {
        let Some(bytes) = span.bytes else { continue };
        let (garbage, event) = match line::parse(bytes) {
            line::Parsed::Whole(header) => (0, header.into_event()),
            line::Parsed::Behind { garbage, header } => (garbage, header.into_event()),
            line::Parsed::Blank | line::Parsed::Bad => continue,
        };
        let (start, len) = (span.offset + garbage as u64, bytes.len() - garbage);
        let end_of_line = start + len as u64;
        // A line that gets its newline later is read then; one that is glued to the next, or spelled in another way
        // than ours, is read, but nobody can go on from it.
        if !span.terminated && end_of_line == end {
            break;
        }
        let ours = span.terminated && garbage == 0 && Event::opens(bytes, event.id);
        let head = event.id;
        each(Located { event, start, len });
        if ours {
            let reached = Mark { head, line: start, len: end_of_line + 1 };
            mark = Some(reached);
            if reached.len - from >= most && reached.len < end {
                return Ok(Followed::Partly(reached));
            }
        }
    }
    Ok(Followed::To(mark))
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
