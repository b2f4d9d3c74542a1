//! Inspects the end of a session log: its valid part, and the damage of a crash.
//!
//! Read-only: [`crate::store::log`] repairs, readers ignore the damage. A line counts once its newline is there, or
//! once its object is complete. A batch counts once its last line does: before that it was not acknowledged.

use std::io;

use crate::base::EventId;
use crate::model::event::Batch;
use crate::store::disk::DiskFile;
use crate::store::line::{self, Parsed};
use crate::store::scan::{Backward, OwnedSpan};

/// The state of the end of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// The last event that counts.
    pub head: Option<EventId>,
    /// The end of the valid part.
    pub good: u64,
    /// The length of the file. Data between `good` and here was never acknowledged.
    pub len: u64,
    /// The last valid line lacks its newline.
    pub unterminated: bool,
}

impl Tail {
    pub fn is_torn(&self) -> bool {
        self.good < self.len
    }

    /// Returns true if the log needs a repair before the next append.
    pub fn needs_repair(&self) -> bool {
        self.is_torn() || self.unterminated
    }
}

/// Inspects the end of `file`, reading as little as necessary.
pub fn inspect(file: &dyn DiskFile) -> io::Result<Tail> {
    inspect_above(file, 0)
}

/// Like [`inspect`], for a file that is valid up to `floor`, where a line starts. Without a head, nothing counts
/// after the floor.
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
            // Without its newline the line was not acknowledged, and an apparent event at the end of a torn line may
            // be a value inside it.
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

/// Returns true if a line contains zeros or is too long: Matrix writes no such lines.
fn has_hole(span: &OwnedSpan) -> bool {
    span.bytes.as_deref().is_none_or(|bytes| bytes.contains(&0))
}

enum Group {
    Whole,
    /// Lines are missing; the present part starts at `start`, and `before` is the line before it.
    Broken {
        start: u64,
        before: Option<OwnedSpan>,
    },
}

/// Walks back through the batch whose last present line is `last`. Missing lines at its end mean that the write was
/// cut. A hole of zeros inside it means that the disk lost power before it had all of it. Any other damage inside it
/// happened after it was acknowledged, and is no reason to drop the rest.
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
        // The hole is in place of the missing line, or extends to the line after it.
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
