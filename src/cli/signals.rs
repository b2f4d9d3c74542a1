//! The signals that a command without a screen hears, as values.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::{Stop, StopSignal};
use crate::base::Fault;
use crate::process;

/// What has been sent to this process.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    /// The terminal's last word. None: this was started to outlive it.
    hangup: Option<Signal>,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Ctrl-C.
    Interrupt,
    /// The program ends in order, with this code.
    End(u8),
}

impl Signals {
    pub fn listen() -> Result<Self, Fault> {
        let hear = |kind| {
            signal(kind).map_err(|error: io::Error| Fault::environment(format!("signals cannot be heard: {error}")))
        };
        Ok(Self {
            interrupt: hear(SignalKind::interrupt())?,
            terminate: hear(SignalKind::terminate())?,
            quit: hear(SignalKind::quit())?,
            hangup: (!process::outlives_terminal()).then(|| hear(SignalKind::hangup())).transpose()?,
        })
    }

    pub async fn next(&mut self) -> Heard {
        let end = |signal| Heard::End(Stop::Signal(signal).exit_code());
        tokio::select! {
            _ = self.interrupt.recv() => Heard::Interrupt,
            _ = self.terminate.recv() => end(StopSignal::Terminate),
            _ = self.quit.recv() => end(StopSignal::Quit),
            () = gone(&mut self.hangup) => end(StopSignal::Hangup),
        }
    }
}

async fn gone(hangup: &mut Option<Signal>) {
    match hangup {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
