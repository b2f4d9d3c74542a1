//! What comes from the terminal: a thread that reads bytes and hands on what they mean, in the order they came.
//!
//! The thread sleeps until there is something to read, and can be stopped for good at any moment: after
//! [`Reader::stop`] not one byte is taken from whoever has the terminal next. A full queue slows the reading, not
//! the heap. A terminal that is gone is said once and ends the thread; it never turns in circles.

mod burst;
mod parser;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::mpsc;

use self::burst::Gatherer;
use self::parser::Parser;
use super::device::{Ready, Tty};
use super::query::Answer;
use crate::base::keys::Input;

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Input(Input),
    Answer(Answer),
}

/// How many reads may wait for the loop before the terminal has to wait.
const QUEUE: usize = 64;
/// How much is taken in one go before it is handed on.
const BATCH: usize = 64 << 10;

pub(super) struct Reader {
    wake: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    heard: mpsc::Receiver<Vec<Heard>>,
}

impl Reader {
    pub(super) fn start(tty: Arc<Tty>) -> io::Result<Self> {
        let (asleep, wake) = pipe_with(PipeFlags::CLOEXEC)?;
        let (sender, heard) = mpsc::channel(QUEUE);
        let thread =
            std::thread::Builder::new().name("terminal input".into()).spawn(move || read(&tty, &asleep, &sender))?;
        Ok(Self { wake: Some(wake), thread: Some(thread), heard })
    }

    /// Returns a reader that hears what is handed to it.
    #[cfg(test)]
    pub(super) fn handed() -> (Self, mpsc::Sender<Vec<Heard>>) {
        let (sender, heard) = mpsc::channel(QUEUE);
        (Self { wake: None, thread: None, heard }, sender)
    }

    /// Waits for the next things that were read together. None when nothing can follow.
    pub(super) async fn next(&mut self) -> Option<Vec<Heard>> {
        self.heard.recv().await
    }

    /// Stops reading. When this returns, no byte is taken from the terminal any more. What was read is returned.
    pub(super) fn stop(mut self) -> Vec<Heard> {
        self.end();
        let mut left = Vec::new();
        while let Ok(more) = self.heard.try_recv() {
            left.extend(more);
        }
        left
    }

    fn end(&mut self) {
        // Closed first: a thread that waits for room in the queue has to see it.
        self.heard.close();
        self.wake.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.end();
    }
}

fn read(tty: &Tty, asleep: &OwnedFd, heard: &mpsc::Sender<Vec<Heard>>) {
    let mut parser = Parser::default();
    let mut gatherer = Gatherer::default();
    let mut buffer = vec![0; BATCH];
    loop {
        let end = match tty.wait_readable(asleep.as_fd(), parser.patience()) {
            Ok(Ready::Woken) => return,
            Ok(Ready::TimedOut) => {
                parser.give_up_waiting();
                End::Open
            }
            Ok(Ready::Device) => fill(tty, &mut parser, &mut buffer),
            Err(_) => End::Gone,
        };
        let mut batch = gatherer.gather(parser.take());
        if end == End::Gone {
            batch.push(Heard::Input(Input::Closed));
        }
        if !batch.is_empty() && heard.blocking_send(batch).is_err() {
            return;
        }
        if end == End::Gone {
            return;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Gone,
}

/// Reads what is there, at most one batch.
fn fill(tty: &Tty, parser: &mut Parser, buffer: &mut [u8]) -> End {
    match tty.read(buffer) {
        Ok(0) => End::Gone,
        Ok(count) => {
            parser.feed(&buffer[..count]);
            End::Open
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => End::Open,
        Err(_) => End::Gone,
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
