//! The end of a session log: what is good, what a crash left behind.
//!
//! Looks, and changes nothing; [`crate::store::log`] acts on it, readers only respect it. A line counts once its
//! newline is there, or once its object is whole. A group of lines that was appended together counts once its last
//! line does: before that nobody was told of it.

use std::io;

use crate::base::EventId;
use crate::model::event::Batch;
use crate::store::disk::DiskFile;
use crate::store::line::{self, Parsed};
use crate::store::scan::{Backward, OwnedSpan};

/// What stands at the end of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// The last event that counts.
    pub head: Option<EventId>,
    /// Where everything that counts ends.
    pub good: u64,
    /// How long the file is. What lies between `good` and here was never acknowledged.
    pub len: u64,
    /// The last line that counts lacks its newline.
    pub unterminated: bool,
}

impl Tail {
    pub fn is_torn(&self) -> bool {
        self.good < self.len
    }

    /// Tells whether anything has to be put right before the next append.
    pub fn needs_healing(&self) -> bool {
        self.is_torn() || self.unterminated
    }
}

/// Reads as much of the end of `file` as it takes to know where it stands.
pub fn inspect(file: &dyn DiskFile) -> io::Result<Tail> {
    inspect_above(file, 0)
}

/// As [`inspect`], for a file that is known to be good up to `floor`, where a line begins. No head: nothing counts above
/// it.
pub fn inspect_above(file: &dyn DiskFile, floor: u64) -> io::Result<Tail> {
    let len = file.len()?;
    let mut tail = Tail { good: len, len, ..Tail::default() };
    let mut lines = Backward::above(file, floor, len)?;
    let mut next = lines.next_line()?;

    while let Some(span) = next.take_if(|span| !span.terminated) {
        let bytes = span.bytes.as_deref().unwrap_or_default();
        match line::parse(bytes) {
            Parsed::Whole(_) => {
                tail.unterminated = true;
                next = Some(span);
                break;
            }
            // Without its newline nobody was told of it, and what looks like an event at the end of a torn line may
            // be no more than a value inside it.
            Parsed::Behind { .. } | Parsed::Bad | Parsed::Blank => {
                tail.good = span.offset;
                next = lines.next_line()?;
            }
        }
    }

    while let Some(span) = next {
        let Some((id, batch)) = place(&span) else {
            next = lines.next_line()?;
            continue;
        };
        let group = batch.filter(|batch| batch.1 > 1);
        match group.map(|batch| whole_from(&mut lines, &span, batch)).transpose()? {
            None | Some(Group::Whole) => {
                tail.head = Some(id);
                return Ok(tail);
            }
            Some(Group::Broken { start, before }) => {
                tail.good = start;
                tail.unterminated = before.as_ref().is_some_and(|line| !line.terminated);
                next = before;
            }
        }
    }
    Ok(tail)
}

fn place(span: &OwnedSpan) -> Option<(EventId, Option<Batch>)> {
    let header = line::parse(span.bytes.as_deref()?).header()?;
    Some((header.id, header.batch))
}

/// Tells whether zeros stand where a line should: no line of ours has any, nor is one of ours too long to read.
fn has_hole(span: &OwnedSpan) -> bool {
    span.bytes.as_deref().is_none_or(|bytes| bytes.contains(&0))
}

enum Group {
    Whole,
    /// Lines are missing; what is there starts at `start`, and `before` is the line in front of it.
    Broken {
        start: u64,
        before: Option<OwnedSpan>,
    },
}

/// Walks back through the group whose last line present is `last`. Lines missing at its end mean that the write was
/// cut. A hole of zeros inside it means that the disk lost power before it had all of it. Any other damage inside
/// it happened later, to something that was acknowledged: that is no reason to drop the rest.
fn whole_from(lines: &mut Backward<'_>, last: &OwnedSpan, batch: Batch) -> io::Result<Group> {
    let cut_short = !batch.is_last();
    let mut hole = has_hole(last);
    let mut start = last.offset;
    let mut expected = batch.0;
    while expected > 1 {
        expected -= 1;
        let span = lines.next_line()?;
        let found = span.as_ref().and_then(place);
        if found.is_some_and(|(_, part)| part == Some(Batch(expected, batch.1))) {
            hole = span.as_ref().is_some_and(has_hole);
            start = span.map_or(start, |span| span.offset);
            continue;
        }
        // The hole is where the missing line was, or it reaches up to the line behind it.
        let broken = cut_short || hole || span.as_ref().is_some_and(has_hole);
        return Ok(if broken { Group::Broken { start, before: span } } else { Group::Whole });
    }
    if cut_short {
        return Ok(Group::Broken { start, before: lines.next_line()? });
    }
    Ok(Group::Whole)
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
