//! Capabilities of the backend: refuses commands that it cannot carry out, and adapts the delivery of messages.

use crate::base::{Fault, TaskId};
use crate::engine::backend::Capabilities;
use crate::engine::command::Command;
use crate::engine::machine::{Effect, Machine};
use crate::engine::review::RewindScope;
use crate::engine::update::{Level, Notice};
use crate::model::message::Delivery;

#[derive(Clone, Debug)]
pub(super) struct BackendFacts {
    name: String,
    can: Capabilities,
}

impl Default for BackendFacts {
    fn default() -> Self {
        Self { name: "mxd".to_owned(), can: Capabilities::ALL }
    }
}

impl Machine {
    /// Sets the backend.
    pub fn set_backend(&mut self, name: &str, can: Capabilities) {
        self.backend = BackendFacts { name: name.to_owned(), can };
    }

    /// Refuses a command that the backend cannot carry out.
    pub(super) fn check_capability(&self, command: &Command) -> Result<(), Fault> {
        let can = &self.backend.can;
        let (possible, what, instead) = match command {
            Command::Interrupt { .. } => (can.interrupt, "be interrupted during a turn", "stop the task instead"),
            Command::Compact { .. } => {
                (can.compact, "be told to compact its conversation", "it compacts automatically")
            }
            Command::Background { .. } | Command::Kill { .. } => {
                (can.our_tools, "expose its processes", "stop the task to end all of them")
            }
            Command::Rewind { extent: RewindScope::Conversation | RewindScope::Both, .. }
            | Command::Redo { .. }
            | Command::Resend { .. } => (can.resume, "rewind its conversation", "rewind only the files"),
            Command::Fork { .. } | Command::ForkContext { .. } => {
                (can.fork, "continue a copied conversation", "create a task and describe what it needs to know")
            }
            Command::Rewind { extent: RewindScope::Files, .. }
            | Command::Send { .. }
            | Command::Message { .. }
            | Command::Ask { .. }
            | Command::Withdraw { .. }
            | Command::Answer { .. }
            | Command::Create { .. }
            | Command::Update { .. }
            | Command::Close { .. }
            | Command::Delete { .. }
            | Command::Reset { .. }
            | Command::Restore { .. }
            | Command::Move { .. }
            | Command::Reorder { .. }
            | Command::Resume { .. }
            | Command::Stop { .. }
            | Command::Merge { .. }
            | Command::CancelMerge { .. }
            | Command::UndoMerge { .. }
            | Command::Verify { .. }
            | Command::CatchUp { .. }
            | Command::Review { .. }
            | Command::Files(_)
            | Command::HandOver { .. }
            | Command::Quit => return Ok(()),
        };
        if possible {
            return Ok(());
        }
        Err(Fault::user(format!("{} cannot {what}", self.backend.name)).hint(instead))
    }

    /// Returns how to deliver a user message to a running task: as wanted, or as early as the backend can take it. The
    /// user is notified of a difference.
    pub(super) fn possible_delivery(&mut self, task: TaskId, wanted: Delivery) -> Delivery {
        let can = self.backend.can;
        let possible = match wanted {
            Delivery::Interrupt if can.interrupt => Delivery::Interrupt,
            Delivery::Interrupt | Delivery::Steer if can.steer => Delivery::Steer,
            Delivery::Interrupt | Delivery::Steer | Delivery::Next => Delivery::Next,
        };
        if possible == wanted || !self.has_run(task) {
            return wanted;
        }
        let name = &self.backend.name;
        let text = match possible {
            Delivery::Steer | Delivery::Interrupt => {
                format!("{name} cannot be interrupted during a turn: it gets your message at its next step")
            }
            Delivery::Next => {
                format!("{name} takes no messages during a turn: yours is delivered when the turn ends")
            }
        };
        self.out.push(Effect::Notify(Notice { level: Level::Info, text, task: Some(task) }));
        possible
    }
}
