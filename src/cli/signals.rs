//! The signals that a command without a screen hears, as values.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::base::Fault;
use crate::term::{Stop, StopSignal};

/// What has been sent to this process.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
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
            hangup: hear(SignalKind::hangup())?,
        })
    }

    pub async fn next(&mut self) -> Heard {
        let end = |signal| Heard::End(Stop::Signal(signal).exit_code());
        tokio::select! {
            _ = self.interrupt.recv() => Heard::Interrupt,
            _ = self.terminate.recv() => end(StopSignal::Terminate),
            _ = self.hangup.recv() => end(StopSignal::Hangup),
        }
    }
}
