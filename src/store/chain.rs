//! The walk back along `parent`: which lines of a file are the conversation, and which were left aside.
//!
//! Lines are read backwards once. A line that is not the one looked for was rewound away, or belongs to no chain; its
//! body is never parsed. A parent that is nowhere in the file (its line was damaged) does not hide what came before:
//! the walk goes on with the line that stood in front of the child, and counts a gap.

use std::io;

use crate::base::EventId;
use crate::model::event::{Body, Event};
use crate::store::disk::DiskFile;
use crate::store::line::{self, Parsed};
use crate::store::scan::{Backward, OwnedSpan};

/// What was wrong on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that hold no event.
    pub bad_lines: usize,
    /// Events whose parent is not in the file.
    pub gaps: usize,
}

/// Where a walk can be taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Everything at or behind this offset has been walked.
    pub offset: u64,
    /// The event to look for. Nothing: the first one met.
    pub want: Option<EventId>,
}

/// Walks a chain backwards, one event at a time.
pub struct Walk<'f> {
    file: &'f dyn DiskFile,
    lines: Backward<'f>,
    want: Want,
    /// The line in front of the last event taken: where to go on if its parent cannot be found.
    in_front: Option<(u64, EventId)>,
    damage: Damage,
    /// From here on bad lines have been counted: a gap makes the walk read lines again.
    counted: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Any,
    This(EventId),
    Nothing,
}

/// An event of the chain, with its line.
pub struct Link {
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
        Ok(Self { file, lines, want, in_front: None, damage: Damage::default(), counted: position.offset })
    }

    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// Returns the next older event of the chain, or nothing at its beginning.
    pub fn next_link(&mut self) -> io::Result<Option<Link>> {
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
            if let Some(link) = self.look_at(span) {
                return Ok(Some(link));
            }
        }
    }

    fn look_at(&mut self, span: OwnedSpan) -> Option<Link> {
        let OwnedSpan { offset, bytes, .. } = span;
        let bad = usize::from(offset < self.counted);
        self.counted = self.counted.min(offset);
        let Some(bytes) = bytes else {
            self.damage.bad_lines += bad;
            return None;
        };
        // Nearly always the line in front is the parent: then nothing is gained by looking at its envelope first.
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
            self.in_front.get_or_insert((end, header.id));
            return None;
        }
        let event = header.into_event();
        let line = if garbage == 0 { bytes } else { bytes[garbage..].to_vec() };
        Some(self.take(offset, event, line))
    }

    /// Takes the event that was looked for, and looks for its parent from now on.
    fn take(&mut self, offset: u64, event: Event, line: Vec<u8>) -> Link {
        self.want = event.parent.map_or(Want::Nothing, Want::This);
        self.in_front = None;
        Link { offset, event, line }
    }

    /// Goes back to the line in front of the child whose parent is missing. Tells whether there is one.
    fn bridge_gap(&mut self) -> io::Result<bool> {
        if let Want::This(_) = self.want {
            self.damage.gaps += 1;
        }
        let Some((end, id)) = self.in_front.take() else {
            self.want = Want::Nothing;
            return Ok(false);
        };
        self.lines = Backward::new(self.file, end)?;
        self.want = Want::This(id);
        Ok(true)
    }

    /// Returns where to go on later, if there is more.
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

/// Whether the exact lines are wanted beside the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    Keep,
    Drop,
}

/// Walks back from the chain's end to its last completed compaction and no further. Of what was written while that
/// compaction ran, the messages stay: they were sent to the agent and are not in its summary.
pub fn active(mut walk: Walk<'_>, keep: Lines) -> io::Result<ActiveChain> {
    let mut chain = ActiveChain::default();
    let mut window: Option<Window> = None;
    while let Some(link) = walk.next_link()? {
        match (&mut window, &link.event.body) {
            (None, Body::CompactMarker(_)) => {
                chain.push(link, keep);
                window = Some(Window { outside: chain.events.len(), closed: false });
            }
            (None, _) | (Some(_), Body::Message(_)) => chain.push(link, keep),
            (Some(window), Body::CompactStarted(_)) => {
                window.closed = true;
                // It stays as well: a copy of this chain must know where the compaction began.
                chain.push(link, keep);
                break;
            }
            // Another marker first: the one we stand on never had a beginning.
            (Some(_), Body::CompactMarker(_)) => break,
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

/// A compaction whose beginning is being looked for.
struct Window {
    /// How many events are newer than it.
    outside: usize,
    closed: bool,
}

impl ActiveChain {
    fn push(&mut self, link: Link, keep: Lines) {
        self.events.push(link.event);
        if keep == Lines::Keep {
            self.lines.push(link.line);
        }
    }
}
