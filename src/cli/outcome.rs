//! Prints the outcome of engine commands.

use crate::cli::console::{Console, Failure};
use crate::engine::command::{Outcome, UndoAction, sentence};

/// Prints the sentence for an outcome, or `done` if it has none.
pub fn print(console: &mut Console, outcome: &Outcome, done: &str) -> Result<(), Failure> {
    match outcome {
        Outcome::Created { task, .. } => console.line(&task.to_string())?,
        outcome => console.line(&sentence(outcome).unwrap_or_else(|| done.to_owned()))?,
    }
    console.finish()
}

/// Returns a sentence about an outcome, or `None` if there is nothing to add.
pub fn sentence(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Created { task, .. } => Some(format!("created task {task}")),
        Outcome::AgentAsked(_) => Some("asked the agent to do it".to_owned()),
        outcome => sentence::sentence(outcome, &command),
    }
}

/// Returns the command that undoes an outcome.
fn command(undo: UndoAction) -> String {
    match undo {
        UndoAction::UndoMerge(task) => format!("`mxd merge {} --undo`", task.short()),
        UndoAction::CancelMerge(task) => format!("`mxd merge {} --cancel`", task.short()),
        UndoAction::Redo(task) => format!("`mxd rewind {} --redo`", task.short()),
        UndoAction::Restore(task) => format!("`mxd restore {task}`"),
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
