//! Frame scheduling: at once for user input, rate-limited for everything else, never without a request.
//!
//! Pure: the caller passes the time and gets the next deadline. Invariants: a request is never lost, only delayed and
//! merged with others; no frame is due while one is being written; without a request there is no deadline.

use std::time::{Duration, Instant};

/// Why a frame is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The user did something and expects to see the effect.
    Input,
    /// The window was resized, possibly a hundred times a second.
    Resize,
    /// The engine's state changed.
    Engine,
}

/// The rate of frames not caused by input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameRate {
    #[default]
    Normal,
    /// The terminal is unfocused or remote.
    Relaxed,
}

/// When a requested frame is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Now,
    At(Instant),
    /// As soon as the current frame is written.
    AfterWrite,
}

/// The shortest time between frames caused by input: a mouse wheel can turn faster than any screen.
const INPUT_GAP: Duration = Duration::from_millis(8);
/// Thirty frames a second.
const NORMAL_GAP: Duration = Duration::from_nanos(1_000_000_000 / 30);
const RELAXED_GAP: Duration = Duration::from_millis(100);

/// Decides when frames are drawn.
#[derive(Clone, Debug, Default)]
pub struct FrameLimiter {
    rate: FrameRate,
    due: Option<Instant>,
    /// The frame that is due was caused by input.
    for_input: bool,
    last: Option<Instant>,
    last_for_input: Option<Instant>,
    in_flight: bool,
}

impl FrameLimiter {
    pub fn set_rate(&mut self, rate: FrameRate) {
        self.rate = rate;
    }

    /// Requests a frame. Several requests become one frame, at the earliest of their times.
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

    /// Requests a frame at a given time: the next step of an animation.
    pub fn request_at(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn gap(&self) -> Duration {
        match self.rate {
            FrameRate::Normal => NORMAL_GAP,
            FrameRate::Relaxed => RELAXED_GAP,
        }
    }

    fn when(&self, now: Instant) -> When {
        match self.due {
            _ if self.in_flight => When::AfterWrite,
            Some(due) if due > now => When::At(due),
            Some(_) | None => When::Now,
        }
    }

    /// Returns when to wake up, or `None` if no frame can become due.
    pub fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.in_flight)
    }

    /// Returns true if a frame should be drawn now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|due| due <= now)
    }

    /// Records that a frame was drawn and is being written. It serves every request so far.
    pub fn on_drawn(&mut self, now: Instant) {
        self.due = None;
        self.last = Some(now);
        if std::mem::take(&mut self.for_input) {
            self.last_for_input = Some(now);
        }
        self.in_flight = true;
    }

    /// Records that the writer is busy: a due frame stays due until the writer is free.
    pub fn on_writer_busy(&mut self) {
        self.in_flight = true;
    }

    /// Records that the frame was written.
    pub fn on_written(&mut self) {
        self.in_flight = false;
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
