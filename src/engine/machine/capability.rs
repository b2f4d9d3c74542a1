//! Capabilities of the backend: refuses commands that it cannot carry out, and adapts the delivery of messages.

use crate::base::{Fault, TaskId};
use crate::engine::backend::registry::{BackendFacts, BackendTable};
use crate::engine::command::Command;
use crate::engine::machine::{Effect, Machine};
use crate::engine::review::RewindScope;
use crate::engine::update::{Level, Notice};
use crate::model::message::Delivery;

impl Machine {
    /// Sets what the backends can do.
    pub fn set_backends(&mut self, backends: BackendTable) {
        self.backends = backends;
    }

    /// Returns the backend of a task, which its profile chooses.
    pub(super) fn backend_of(&self, task: TaskId) -> BackendFacts {
        let profile = self.tree.get(task).and_then(|node| self.profiles.by_full_name(node.profile.as_deref()?).ok());
        self.backends.of_profile(profile.map(|usable| &usable.profile))
    }

    /// Refuses a command that the backend of its task cannot carry out.
    pub(super) fn check_capability(&self, command: &Command) -> Result<(), Fault> {
        let Some(task) = limited_task(command) else { return Ok(()) };
        let BackendFacts { label, can } = self.backend_of(task);
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
            | Command::ReviewPlan { .. }
            | Command::Create { .. }
            | Command::Update { .. }
            | Command::Close { .. }
            | Command::HandOverTask { .. }
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
        Err(Fault::user(format!("{label} cannot {what}")).hint(instead))
    }

    /// Returns how to deliver a user message to a running task: as wanted, or as early as the backend can take it. The
    /// user is notified of a difference.
    pub(super) fn possible_delivery(&mut self, task: TaskId, wanted: Delivery) -> Delivery {
        let BackendFacts { label: name, can } = self.backend_of(task);
        let possible = match wanted {
            Delivery::Interrupt if can.interrupt => Delivery::Interrupt,
            Delivery::Interrupt | Delivery::Steer if can.steer => Delivery::Steer,
            Delivery::Interrupt | Delivery::Steer | Delivery::Next => Delivery::Next,
        };
        if possible == wanted || !self.has_run(task) {
            return wanted;
        }
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

/// Returns the task of a command that not every backend can carry out.
fn limited_task(command: &Command) -> Option<TaskId> {
    match command {
        Command::Interrupt { task }
        | Command::Compact { task, .. }
        | Command::Background { task, .. }
        | Command::Kill { task, .. }
        | Command::Rewind { task, .. }
        | Command::Redo { task }
        | Command::Resend { task, .. }
        | Command::Fork { task, .. }
        | Command::ForkContext { source: task, .. } => Some(*task),
        _ => None,
    }
}
