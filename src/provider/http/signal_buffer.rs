//! Coalesces signals, so that a fast model does not send a thousand per second.
//!
//! No content is dropped or reordered: a slow receiver gets longer pieces.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::provider::response::Signal;

/// How long signals are collected: one frame of the screen. The first signal is sent at once.
pub(super) const GATHER: Duration = Duration::from_millis(30);

#[derive(Debug, Default)]
pub(super) struct SignalBuffer {
    pending: VecDeque<Signal>,
    due: Option<Instant>,
    /// When signals were last sent.
    sent: Option<Instant>,
}

impl SignalBuffer {
    pub(super) fn add(&mut self, signals: Vec<Signal>) {
        for signal in signals {
            self.merge(signal);
        }
        if !self.pending.is_empty() && self.due.is_none() {
            let now = Instant::now();
            self.due = Some(self.sent.map_or(now, |sent| now.max(sent + GATHER)));
        }
    }

    /// Returns when to send, or `None` if there is nothing to send.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Sends as many signals as the receiver has room for. The rest stays pending, and may be merged with later ones.
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

    /// Sends all pending signals, waiting for room until cancelled.
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
#[path = "signal_buffer_tests.rs"]
mod tests;
