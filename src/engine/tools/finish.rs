//! Whether a task may be declared done: what the engine says, and that nothing is left uncommitted.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use crate::agent::control::tools::{DoneCheck, Refusal};
use crate::base::text;
use crate::engine::door::Door;
use crate::engine::request::Request;
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
    door: Door,
    worktree: Option<Arc<dyn Clean>>,
}

impl Finish {
    /// The root has no worktree of its own: it works where the person does, and what lies there is not its to judge.
    pub fn new(door: Door, worktree: Option<Arc<dyn Clean>>) -> Self {
        Self { door, worktree }
    }

    async fn check(&self, verdict: Verdict) -> Option<Refusal> {
        if let Err(reason) = self.door.ask(Request::MayFinish { verdict }).await {
            return Some(reason.into());
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
