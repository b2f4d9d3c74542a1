//! A run as the engine sees it, independent of the backend: its commands and how it ends.

use std::sync::Arc;

use crate::base::MessageId;
use crate::model::event::{Event, Exit, InterruptReason};

/// A command to a live run.
#[derive(Debug)]
pub enum RunCommand {
    /// An event was appended to the session.
    Deliver(Arc<Event>),
    /// The user withdraws messages.
    Withdraw(Vec<MessageId>),
    /// Interrupt the turn and keep the session.
    Interrupt,
    /// Move the command of a call to the background.
    Background { call: String },
    /// Kill a background process.
    Kill { process: String },
    /// End the run as soon as the turn in progress, with its tool calls and background processes, is over. No other
    /// turn begins.
    WrapUp,
    /// End the run.
    Teardown(InterruptReason),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As recorded in the last event of its session.
    Exited(Exit),
    /// It had nothing to do. Messages that reached it too late are in the session: the caller checks for them.
    Idle,
}
