//! Terminal input: a thread that reads bytes and sends parsed events in order.
//!
//! The thread sleeps until there is input. After [`Reader::stop`] it takes no further byte, so the next program gets
//! all of them. A full queue slows down reading instead of growing. When the terminal is gone, the thread sends
//! [`Input::Closed`] once and ends.

mod coalesce;
mod parser;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::mpsc;

use self::coalesce::Coalescer;
use self::parser::Parser;
use super::device::{Ready, Tty};
use super::query::QueryReply;
use crate::base::keys::Input;

/// An event read from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReaderEvent {
    Input(Input),
    Reply(QueryReply),
}

/// Batches that may wait for the main loop before reading pauses.
const QUEUE: usize = 64;
/// The most bytes read at once.
const BATCH: usize = 64 << 10;

pub(super) struct Reader {
    wake: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    events: mpsc::Receiver<Vec<ReaderEvent>>,
}

impl Reader {
    pub(super) fn start(tty: Arc<Tty>) -> io::Result<Self> {
        let (wake_pipe, wake) = pipe_with(PipeFlags::CLOEXEC)?;
        let (sender, events) = mpsc::channel(QUEUE);
        let thread =
            std::thread::Builder::new().name("terminal input".into()).spawn(move || read(&tty, &wake_pipe, &sender))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), events })
    }

    /// Returns a reader fed by a channel.
    #[cfg(test)]
    pub(super) fn from_channel() -> (Self, mpsc::Sender<Vec<ReaderEvent>>) {
        let (sender, events) = mpsc::channel(QUEUE);
        (Self { wake: None, thread: None, events }, sender)
    }

    /// Waits for the next batch. `None` if no more can follow.
    pub(super) async fn next(&mut self) -> Option<Vec<ReaderEvent>> {
        self.events.recv().await
    }

    /// Stops reading and returns the unread events. After this no byte is taken from the terminal.
    pub(super) fn stop(mut self) -> Vec<ReaderEvent> {
        self.shut_down();
        let mut left = Vec::new();
        while let Ok(more) = self.events.try_recv() {
            left.extend(more);
        }
        left
    }

    fn shut_down(&mut self) {
        // Closed first, so that a thread blocked on a full queue notices.
        self.events.close();
        self.wake.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shut_down();
    }
}

fn read(tty: &Tty, wake_pipe: &OwnedFd, events: &mpsc::Sender<Vec<ReaderEvent>>) {
    let mut parser = Parser::default();
    let mut coalescer = Coalescer::default();
    let mut buffer = vec![0; BATCH];
    loop {
        let state = match tty.wait_readable(wake_pipe.as_fd(), parser.timeout()) {
            Ok(Ready::Woken) => return,
            Ok(Ready::TimedOut) => {
                parser.on_timeout();
                DeviceState::Open
            }
            Ok(Ready::Device) => fill(tty, &mut parser, &mut buffer),
            Err(_) => DeviceState::Gone,
        };
        let mut batch = coalescer.coalesce(parser.take());
        if state == DeviceState::Gone {
            batch.push(ReaderEvent::Input(Input::Closed));
        }
        if !batch.is_empty() && events.blocking_send(batch).is_err() {
            return;
        }
        if state == DeviceState::Gone {
            return;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceState {
    Open,
    Gone,
}

/// Reads at most one batch.
fn fill(tty: &Tty, parser: &mut Parser, buffer: &mut [u8]) -> DeviceState {
    match tty.read(buffer) {
        Ok(0) => DeviceState::Gone,
        Ok(count) => {
            parser.feed(&buffer[..count]);
            DeviceState::Open
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            DeviceState::Open
        }
        Err(_) => DeviceState::Gone,
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
