//! Whether a task may be declared done: what the engine says, and that nothing is left uncommitted.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use crate::base::text;
use crate::engine::agent_port::AgentPort;
use crate::engine::query::Unfinished;
use crate::engine::tools::control::{DoneCheck, Refusal};
use crate::model::event::Verdict;

/// How many files a refusal names.
const NAMED: usize = 20;
/// How much of a file's name.
const NAME_CHARS: usize = 120;

/// Looks at a worktree.
pub trait Clean: Send + Sync + 'static {
    /// Returns the files that differ from the last commit, new ones included.
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>>;

    /// Runs the project's check, if there is one. Returns what is wrong with the work.
    fn verify(&self) -> BoxFuture<'_, Option<FailedCheck>> {
        std::future::ready(None).boxed()
    }
}

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCheck {
    pub wrong: String,
    /// How many times in a row it has failed in the same way.
    pub in_a_row: u32,
}

/// The check behind `done`.
pub struct Finish {
    port: AgentPort,
    worktree: Option<Arc<dyn Clean>>,
}

impl Finish {
    /// The root has no worktree of its own: it works where the person does, and what lies there is not its to judge.
    pub fn new(port: AgentPort, worktree: Option<Arc<dyn Clean>>) -> Self {
        Self { port, worktree }
    }

    async fn check(&self, verdict: Verdict) -> Option<Refusal> {
        match self.port.unfinished(verdict).await {
            Ok(None) => {}
            Ok(Some(unfinished)) => return Some(first(&unfinished).into()),
            Err(fault) => return Some(fault.to_string().into()),
        }
        let worktree = self.worktree.as_ref()?;
        match worktree.uncommitted().await {
            // What failed need not pass a check.
            Ok(files) if files.is_empty() && verdict == Verdict::Failed => None,
            Ok(files) if files.is_empty() => worktree.verify().await.map(|FailedCheck { wrong, in_a_row }| Refusal {
                reason: format!(
                    "{wrong}\n\nMend it, commit, and call done again. If it cannot be mended, the task has failed: say so."
                ),
                failed_checks: Some(in_a_row),
            }),
            Ok(files) => Some(left_over(&files).into()),
            // An agent whose worktree is broken must be able to say that it failed.
            Err(_) if verdict == Verdict::Failed => None,
            Err(reason) => Some(Refusal::from(format!(
                "whether everything is committed could not be found out: {reason}. Look with git status; if the \
                 worktree is beyond repair, the task has failed."
            ))),
        }
    }
}

impl DoneCheck for Finish {
    fn refuse(&self, verdict: Verdict) -> BoxFuture<'_, Option<Refusal>> {
        self.check(verdict).boxed()
    }
}

/// Says what has to happen before the task can be declared done.
fn first(unfinished: &Unfinished) -> String {
    match unfinished {
        Unfinished::SubTasks(running) => {
            let named: Vec<String> =
                running.iter().map(|task| format!("\"{}\" ({})", text::headline(&task.title, 60), task.id)).collect();
            format!(
                "sub tasks are still in progress: {}. Wait for them (yield), or end what is no longer needed: stop_task, then \
                 close_task.",
                named.join(", ")
            )
        }
        Unfinished::Questions(asks) => format!(
            "{asks} of your questions to the person {} not answered yet. Call yield and wait for the answer.",
            if *asks == 1 { "is" } else { "are" }
        ),
    }
}

fn left_over(files: &[String]) -> String {
    let named: Vec<String> = files.iter().take(NAMED).map(|file| text::headline(file, NAME_CHARS)).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "the worktree has uncommitted changes: {}{more}. Commit what belongs to the task, undo or ignore what does \
         not, then call done again.",
        named.join(", ")
    )
}

#[cfg(test)]
#[path = "finish_tests.rs"]
mod tests;
