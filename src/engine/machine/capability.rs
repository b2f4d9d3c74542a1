//! What the backend of a task cannot do: what becomes of commands and messages that ask for it.

use crate::base::{Fault, TaskId};
use crate::engine::backend::Capabilities;
use crate::engine::command::Command;
use crate::engine::machine::{Effect, Machine};
use crate::engine::review::Extent;
use crate::engine::update::{Level, Notice};
use crate::model::message::Delivery;

/// The backend, as the machine knows it.
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
    /// Takes note of who works on the tasks.
    pub fn set_backend(&mut self, name: &str, can: Capabilities) {
        self.backend = BackendFacts { name: name.to_owned(), can };
    }

    /// Refuses a command that the backend of its task cannot carry out.
    pub(super) fn check_capability(&self, command: &Command) -> Result<(), Fault> {
        let can = &self.backend.can;
        let (possible, what, instead) = match command {
            Command::Interrupt { .. } => {
                (can.interrupt, "be interrupted in the middle of a turn", "stop the task instead")
            }
            Command::Compact { .. } => (can.compact, "be told to summarise its conversation", "it does so by itself"),
            Command::Background { .. } | Command::Kill { .. } => {
                (can.our_tools, "have its processes reached from here", "stop the task: that ends all of them")
            }
            Command::Rewind { extent: Extent::Conversation | Extent::Both, .. }
            | Command::Redo { .. }
            | Command::Resend { .. } => (can.resume, "go back in its conversation", "rewind the files alone"),
            Command::Fork { .. } | Command::ForkContext { .. } => {
                (can.fork, "go on from a copy of a conversation", "create a task and describe what it needs to know")
            }
            Command::Rewind { extent: Extent::Files, .. }
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
            | Command::Quit => return Ok(()),
        };
        if possible {
            return Ok(());
        }
        Err(Fault::user(format!("{} cannot {what}", self.backend.name)).hint(instead))
    }

    /// Returns how a message of the user reaches a task that is at work: as wanted, or as soon as its backend can take it. Then
    /// the user is told.
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
                format!("{name} cannot be interrupted in the middle of a turn: it gets your message at its next step")
            }
            Delivery::Next => {
                format!("{name} takes no messages in the middle of a turn: yours waits until the turn ends")
            }
        };
        self.out.push(Effect::Notify(Notice { level: Level::Info, text, task: Some(task) }));
        possible
    }
}
