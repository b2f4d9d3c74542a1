//! Tracks the time limits of one response.

use std::time::Duration;

use tokio::time::Instant;

use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::http::Timeouts;

/// The deadlines of a response in progress.
#[derive(Debug)]
pub(super) struct Deadlines {
    timeouts: Timeouts,
    started: Instant,
    last_bytes: Option<Instant>,
    last_content: Instant,
}

impl Deadlines {
    /// Starts all limits, just before the request is sent.
    pub(super) fn new(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        Self { timeouts, started: now, last_bytes: None, last_content: now }
    }

    /// Resets the limits on silence after a piece of the body has arrived.
    pub(super) fn received(&mut self, has_content: bool) {
        let now = Instant::now();
        self.last_bytes = Some(now);
        if has_content {
            self.last_content = now;
        }
    }

    /// Returns when the next limit runs out.
    pub(super) fn deadline(&self) -> Instant {
        let end = self.started + self.timeouts.response;
        self.bytes_by().min(self.content_by()).min(end)
    }

    /// Returns the error for the limit that ran out at [`Self::deadline`].
    pub(super) fn failure(&self) -> ApiError {
        let deadline = self.deadline();
        if deadline == self.bytes_by() {
            silence(self.last_bytes.map_or(self.timeouts.first_byte, |_| self.timeouts.idle))
        } else if deadline == self.content_by() {
            let problem = format!("received only keep-alives for {} s", self.timeouts.content.as_secs());
            ApiError::new(ErrorClass::Timeout, problem)
        } else {
            let problem = format!("the response did not end within {} s", self.timeouts.response.as_secs());
            ApiError::new(ErrorClass::Runaway, problem)
        }
    }

    fn bytes_by(&self) -> Instant {
        match self.last_bytes {
            Some(last) => last + self.timeouts.idle,
            None => self.started + self.timeouts.first_byte,
        }
    }

    fn content_by(&self) -> Instant {
        // Before the first byte, only the limit on that byte counts.
        let limit = if self.last_bytes.is_some() { self.timeouts.content } else { self.timeouts.response };
        self.last_content + limit
    }
}

/// Returns the error for a server that sent nothing for `limit`.
pub(super) fn silence(limit: Duration) -> ApiError {
    ApiError::new(ErrorClass::Timeout, format!("received nothing for {} s", limit.as_secs()))
}
