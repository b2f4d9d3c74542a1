//! Walks a session backwards along `parent`, to separate the conversation from rewound events.
//!
//! Lines are read backwards once. The body of a line outside of the chain is never parsed. A parent that is not in
//! the file (its line was damaged) does not hide older events: the walk continues with the line before the child and
//! counts a gap.

use std::io;

use crate::base::EventId;
use crate::model::event::{Body, Event};
use crate::store::disk::DiskFile;
use crate::store::line::{self, Parsed};
use crate::store::scan::{Backward, OwnedSpan};

/// The damage found during a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines without an event.
    pub bad_lines: usize,
    /// Events whose parent is not in the file.
    pub gaps: usize,
}

/// The position at which a walk can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Everything at or after this offset has been walked.
    pub offset: u64,
    /// The event to find next. `None` for the first one met.
    pub want: Option<EventId>,
}

/// Walks a chain backwards, one event at a time.
pub struct Walk<'f> {
    file: &'f dyn DiskFile,
    lines: Backward<'f>,
    want: Want,
    /// The line before the last event taken: the walk continues there if the parent is missing.
    line_before: Option<(u64, EventId)>,
    damage: Damage,
    /// Bad lines from this offset on are already counted: after a gap the walk reads lines again.
    counted: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Any,
    This(EventId),
    Nothing,
}

/// An event of the chain and its line.
pub struct ChainLink {
    pub offset: u64,
    pub event: Event,
    pub line: Vec<u8>,
}

impl<'f> Walk<'f> {
    /// Starts at the last event before `end`.
    pub fn from_end(file: &'f dyn DiskFile, end: u64) -> io::Result<Self> {
        Self::resume(file, Position { offset: end, want: None })
    }

    pub fn resume(file: &'f dyn DiskFile, position: Position) -> io::Result<Self> {
        let lines = Backward::new(file, position.offset)?;
        let want = position.want.map_or(Want::Any, Want::This);
        Ok(Self { file, lines, want, line_before: None, damage: Damage::default(), counted: position.offset })
    }

    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// Returns the next older event of the chain, or `None` at its beginning.
    pub fn next_link(&mut self) -> io::Result<Option<ChainLink>> {
        if self.want == Want::Nothing {
            return Ok(None);
        }
        loop {
            let Some(span) = self.lines.next_line()? else {
                if !self.bridge_gap()? {
                    return Ok(None);
                }
                continue;
            };
            if let Some(link) = self.examine(span) {
                return Ok(Some(link));
            }
        }
    }

    fn examine(&mut self, span: OwnedSpan) -> Option<ChainLink> {
        let OwnedSpan { offset, bytes, .. } = span;
        let bad = usize::from(offset < self.counted);
        self.counted = self.counted.min(offset);
        let Some(bytes) = bytes else {
            self.damage.bad_lines += bad;
            return None;
        };
        // Usually the line before is the parent: then parsing its envelope first gains nothing.
        if let Want::This(id) = self.want
            && Event::opens(&bytes, id)
            && let Some(event) = line::event(&bytes)
        {
            return Some(self.take(offset, event, bytes));
        }
        let mut garbage = 0;
        let header = match line::parse(&bytes) {
            Parsed::Whole(header) => header,
            Parsed::Behind { garbage: before, header } => {
                self.damage.bad_lines += bad;
                garbage = before;
                header
            }
            Parsed::Bad => {
                self.damage.bad_lines += bad;
                return None;
            }
            Parsed::Blank => return None,
        };
        let wanted = match self.want {
            Want::Any => true,
            Want::This(id) => id == header.id,
            Want::Nothing => false,
        };
        if !wanted {
            let end = offset + bytes.len() as u64;
            self.line_before.get_or_insert((end, header.id));
            return None;
        }
        let event = header.into_event();
        let line = if garbage == 0 { bytes } else { bytes[garbage..].to_vec() };
        Some(self.take(offset, event, line))
    }

    /// Takes the expected event, and expects its parent from now on.
    fn take(&mut self, offset: u64, event: Event, line: Vec<u8>) -> ChainLink {
        self.want = event.parent.map_or(Want::Nothing, Want::This);
        self.line_before = None;
        ChainLink { offset, event, line }
    }

    /// Returns to the line before the child whose parent is missing. Returns false if there is none.
    fn bridge_gap(&mut self) -> io::Result<bool> {
        if let Want::This(_) = self.want {
            self.damage.gaps += 1;
        }
        let Some((end, id)) = self.line_before.take() else {
            self.want = Want::Nothing;
            return Ok(false);
        };
        self.lines = Backward::new(self.file, end)?;
        self.want = Want::This(id);
        Ok(true)
    }

    /// Returns the position to resume at, if there is more.
    pub fn position(&self, oldest: u64) -> Option<Position> {
        match self.want {
            Want::This(id) => Some(Position { offset: oldest, want: Some(id) }),
            Want::Any => Some(Position { offset: oldest, want: None }),
            Want::Nothing => None,
        }
    }
}

/// The active part of a chain, oldest first: everything since the last completed compaction.
#[derive(Debug, Default)]
pub struct ActiveChain {
    pub events: Vec<Event>,
    pub lines: Vec<Vec<u8>>,
    pub damage: Damage,
}

/// Whether the exact lines are kept along with the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    Keep,
    Drop,
}

/// Walks back from the end of the chain to its last completed compaction. Messages written while that compaction ran
/// stay: they were sent to the agent and are not in its summary.
pub fn active(mut walk: Walk<'_>, keep: Lines) -> io::Result<ActiveChain> {
    let mut chain = ActiveChain::default();
    let mut window: Option<Window> = None;
    while let Some(link) = walk.next_link()? {
        match (&mut window, &link.event.body) {
            (None, Body::CompactMarker(_)) => {
                chain.push(link, keep);
                window = Some(Window { outside: chain.events.len(), closed: false });
            }
            // Everything before it is retired.
            (None, Body::HandedOver(_)) => {
                chain.push(link, keep);
                break;
            }
            (None, _) | (Some(_), Body::Message(_)) => chain.push(link, keep),
            (Some(window), Body::CompactStarted(_)) => {
                window.closed = true;
                // The start stays as well: a copy of this chain must know where the compaction began.
                chain.push(link, keep);
                break;
            }
            // Another marker comes first: the current one has no start.
            (Some(_), Body::CompactMarker(_) | Body::HandedOver(_)) => break,
            (Some(_), _) => {}
        }
    }
    if let Some(Window { outside, closed: false }) = window {
        chain.events.truncate(outside);
        chain.lines.truncate(outside);
    }
    chain.events.reverse();
    chain.lines.reverse();
    chain.damage = walk.damage();
    Ok(chain)
}

/// A compaction whose start has not been found yet.
struct Window {
    /// The number of events newer than it.
    outside: usize,
    closed: bool,
}

impl ActiveChain {
    fn push(&mut self, link: ChainLink, keep: Lines) {
        self.events.push(link.event);
        if keep == Lines::Keep {
            self.lines.push(link.line);
        }
    }
}
