//! What a command came to, in the words of the command line.

use crate::cli::console::{Console, Failure};
use crate::engine::command::{Outcome, WayBack, words};

/// Says what a command came to: `done`, unless there is more to know.
pub fn say(console: &mut Console, outcome: &Outcome, done: &str) -> Result<(), Failure> {
    match outcome {
        Outcome::Created { task, .. } => console.line(&task.to_string())?,
        outcome => console.line(&sentence(outcome).unwrap_or_else(|| done.to_owned()))?,
    }
    console.finish()
}

/// Returns what should be known of an outcome. `None` if it is only done.
pub fn sentence(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Created { task, .. } => Some(format!("made task {task}")),
        Outcome::AgentAsked(_) => Some("its agent was asked to".to_owned()),
        outcome => words::sentence(outcome, &command),
    }
}

/// Returns the command that takes an outcome back.
fn command(way: WayBack) -> String {
    match way {
        WayBack::UndoMerge(task) => format!("`mxd merge {} --undo`", task.short()),
        WayBack::CancelMerge(task) => format!("`mxd merge {} --cancel`", task.short()),
        WayBack::Redo(task) => format!("`mxd rewind {} --redo`", task.short()),
        WayBack::Restore(task) => format!("`mxd restore {task}`"),
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
