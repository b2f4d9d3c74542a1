//! Signals on their way out, gathered for a moment so that a fast model does not send a thousand per second.
//!
//! Nothing is dropped and nothing is reordered: a receiver that is behind finds longer pieces, not fewer.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::provider::response::Signal;

/// How long a signal may wait for company: a frame of the screen. The first waits for none.
pub(super) const GATHER: Duration = Duration::from_millis(30);

#[derive(Debug, Default)]
pub(super) struct Outbox {
    pending: VecDeque<Signal>,
    due: Option<Instant>,
    /// When signals were last sent.
    sent: Option<Instant>,
}

impl Outbox {
    pub(super) fn add(&mut self, signals: Vec<Signal>) {
        for signal in signals {
            self.merge(signal);
        }
        if !self.pending.is_empty() && self.due.is_none() {
            let now = Instant::now();
            self.due = Some(self.sent.map_or(now, |sent| now.max(sent + GATHER)));
        }
    }

    /// Returns when to send. Nothing: there is nothing to send, and no timer is needed.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends what the receiver has room for. The rest waits, and may grow, for another round.
    pub(super) fn offer(&mut self, receiver: &mpsc::Sender<Signal>) {
        self.due = None;
        self.sent = Some(Instant::now());
        while let Some(signal) = self.pending.pop_front() {
            match receiver.try_send(signal) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(signal)) => {
                    self.pending.push_front(signal);
                    self.due = Some(Instant::now() + GATHER);
                    return;
                }
            }
        }
    }

    /// Sends everything that is left, waiting for room unless the whole thing is called off.
    pub(super) async fn drain(mut self, receiver: &mpsc::Sender<Signal>, cancel: &CancellationToken) {
        self.offer(receiver);
        for signal in self.pending {
            tokio::select! {
                biased;
                sent = receiver.send(signal) => if sent.is_err() { return },
                () = cancel.cancelled() => return,
            }
        }
    }

    fn merge(&mut self, signal: Signal) {
        match (self.pending.back_mut(), signal) {
            (Some(Signal::Text(so_far)), Signal::Text(more))
            | (Some(Signal::Thinking(so_far)), Signal::Thinking(more)) => {
                so_far.push_str(&more);
            }
            (Some(Signal::Call { index: last, .. }), Signal::Call { index, call, name, bytes }) if *last == index => {
                self.pending.pop_back();
                self.pending.push_back(Signal::Call { index, call, name, bytes });
            }
            (_, signal) => self.pending.push_back(signal),
        }
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
