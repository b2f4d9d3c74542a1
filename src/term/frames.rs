//! When the next frame is drawn: at once for what a person did, at most so many times a second for everything else, and
//! never when nothing asked for one.
//!
//! Pure: time is handed in, and the answer is a moment to wake up at. Invariants: a request is never lost, only delayed
//! and merged with others; while a frame is on its way to a slow terminal no other is due; without a request there is
//! no moment to wake up at.

use std::time::{Duration, Instant};

/// Why a frame is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A person did something and looks for the effect.
    Input,
    /// The window changed its size; it may do so a hundred times a second.
    Resize,
    /// The work moved on.
    Engine,
}

/// How often frames that nobody is waiting for are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    #[default]
    Normal,
    /// The person looks elsewhere, or the line is slow.
    Relaxed,
}

/// When a requested frame is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Now,
    At(Instant),
    /// As soon as the frame on its way has arrived.
    AfterLanding,
}

/// The shortest time between frames that a person causes: a wheel can turn faster than any screen.
const INPUT_GAP: Duration = Duration::from_millis(8);
/// Thirty frames a second.
const NORMAL_GAP: Duration = Duration::from_nanos(1_000_000_000 / 30);
const RELAXED_GAP: Duration = Duration::from_millis(100);

/// Decides when frames are drawn.
#[derive(Clone, Debug, Default)]
pub struct FrameLimiter {
    pace: Pace,
    due: Option<Instant>,
    /// Whether a person waits for the frame that is due.
    for_input: bool,
    last: Option<Instant>,
    last_for_input: Option<Instant>,
    flying: bool,
}

impl FrameLimiter {
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Asks for a frame. Several requests become one frame, at the earliest of their moments.
    pub fn request(&mut self, now: Instant, reason: Reason) -> When {
        let earliest = match reason {
            Reason::Input => {
                self.for_input = true;
                self.last_for_input.map_or(now, |last| last + INPUT_GAP)
            }
            Reason::Resize => self.last.map_or(now, |last| last + NORMAL_GAP),
            Reason::Engine => self.last.map_or(now, |last| last + self.gap()),
        };
        self.request_at(earliest.max(now));
        self.when(now)
    }

    /// Asks for a frame at a moment: the next step of something that moves.
    pub fn request_at(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn gap(&self) -> Duration {
        match self.pace {
            Pace::Normal => NORMAL_GAP,
            Pace::Relaxed => RELAXED_GAP,
        }
    }

    fn when(&self, now: Instant) -> When {
        match self.due {
            _ if self.flying => When::AfterLanding,
            Some(due) if due > now => When::At(due),
            Some(_) | None => When::Now,
        }
    }

    /// Returns the moment to wake up at, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.flying)
    }

    /// Tells whether a frame should be drawn now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|due| due <= now)
    }

    /// Notes that a frame was drawn, which serves every request so far, and that it is on its way.
    pub fn drawn(&mut self, now: Instant) {
        self.due = None;
        self.last = Some(now);
        if std::mem::take(&mut self.for_input) {
            self.last_for_input = Some(now);
        }
        self.flying = true;
    }

    /// Notes that the line is taken: what is due stays due until the line is free.
    pub fn held_up(&mut self) {
        self.flying = true;
    }

    /// Notes that the frame on its way has arrived.
    pub fn landed(&mut self) {
        self.flying = false;
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
