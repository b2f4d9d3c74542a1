//! A run as the engine sees it, whoever carries it out: what is said to it and how it ends.

use std::sync::Arc;

use crate::base::MessageId;
use crate::model::event::{Event, Exit, InterruptReason};

/// What can be said to a run that is alive.
#[derive(Debug)]
pub enum RunCommand {
    /// Somebody wrote into the session.
    Hear(Arc<Event>),
    /// The user takes messages back.
    Withdraw(Vec<MessageId>),
    /// Cut the turn short and keep the session.
    Interrupt,
    /// Let the command that a call waits for go on in the background.
    Background { call: String },
    /// End a process in the background.
    Kill { process: String },
    /// End the run.
    Teardown(InterruptReason),
}

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As the last event of its session says.
    Exited(Exit),
    /// It had nothing to do. What reached it too late is in the session: whoever started it looks.
    Resting,
}
