//! Signal handling for commands without the UI.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::{Stop, StopSignal};
use crate::base::Fault;
use crate::process;

/// The signals that these commands handle.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    /// `None` if the process was started to outlive its terminal, as with `nohup`.
    hangup: Option<Signal>,
}

/// The request behind a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalRequest {
    /// Ctrl-C.
    Interrupt,
    /// Exit cleanly, with this code.
    Exit(u8),
}

impl Signals {
    pub fn listen() -> Result<Self, Fault> {
        let listen = |kind| {
            signal(kind).map_err(|error: io::Error| Fault::environment(format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            quit: listen(SignalKind::quit())?,
            hangup: (!process::outlives_terminal()).then(|| listen(SignalKind::hangup())).transpose()?,
        })
    }

    pub async fn next(&mut self) -> SignalRequest {
        let exit = |signal| SignalRequest::Exit(Stop::Signal(signal).exit_code());
        tokio::select! {
            _ = self.interrupt.recv() => SignalRequest::Interrupt,
            _ = self.terminate.recv() => exit(StopSignal::Terminate),
            _ = self.quit.recv() => exit(StopSignal::Quit),
            () = next_hangup(&mut self.hangup) => exit(StopSignal::Hangup),
        }
    }
}

async fn next_hangup(hangup: &mut Option<Signal>) {
    match hangup {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
