//! Decides whether a task may be declared done: asks the engine, then checks that everything is committed and
//! verified.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use crate::base::text;
use crate::engine::agent_port::AgentPort;
use crate::engine::query::Unfinished;
use crate::engine::tools::control::{DoneCheck, Refusal};
use crate::model::event::Verdict;

/// How many files a refusal lists.
const MAX_LISTED: usize = 20;
/// How many characters of a file name are shown.
const NAME_CHARS: usize = 120;

pub trait WorktreeInspector: Send + Sync + 'static {
    /// Returns the files that differ from the last commit, including new ones.
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>>;

    /// Runs the project's verify command, if there is one. Returns the failure.
    fn verify(&self) -> BoxFuture<'_, Option<FailedCheck>> {
        std::future::ready(None).boxed()
    }
}

/// What else may object to a task being done, and the user's word that overrides all of it.
pub trait DoneGate: Send + Sync + 'static {
    /// Returns true if the user accepts the work as it is.
    fn is_waived(&self) -> BoxFuture<'_, bool> {
        std::future::ready(false).boxed()
    }

    /// Returns the objection of the user's lifecycle hooks.
    fn objection(&self, _verdict: Verdict) -> BoxFuture<'_, Option<String>> {
        std::future::ready(None).boxed()
    }
}

/// Objects to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenGate;

impl DoneGate for OpenGate {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCheck {
    pub reason: String,
    /// How many times in a row it has failed in the same way.
    pub in_a_row: u32,
}

pub struct EngineDoneCheck {
    port: AgentPort,
    worktree: Option<Arc<dyn WorktreeInspector>>,
    gate: Arc<dyn DoneGate>,
}

impl EngineDoneCheck {
    /// `worktree` is `None` for the root, which works in the user's checkout: uncommitted files there may be the
    /// user's.
    pub fn new(port: AgentPort, worktree: Option<Arc<dyn WorktreeInspector>>, gate: Arc<dyn DoneGate>) -> Self {
        Self { port, worktree, gate }
    }

    async fn check(&self, verdict: Verdict) -> Option<Refusal> {
        let refusal = self.check_tree(verdict).await;
        if refusal.is_some() || self.gate.is_waived().await {
            return refusal;
        }
        if let Some(refusal) = self.check_worktree(verdict).await {
            return Some(refusal);
        }
        self.gate.objection(verdict).await.map(Refusal::from)
    }

    async fn check_tree(&self, verdict: Verdict) -> Option<Refusal> {
        match self.port.unfinished(verdict).await {
            Ok(None) => None,
            Ok(Some(unfinished)) => Some(unfinished_reason(&unfinished).into()),
            Err(fault) => Some(fault.to_string().into()),
        }
    }

    async fn check_worktree(&self, verdict: Verdict) -> Option<Refusal> {
        let worktree = self.worktree.as_ref()?;
        match worktree.uncommitted().await {
            // A failed task need not pass the check.
            Ok(files) if files.is_empty() && verdict == Verdict::Failed => None,
            Ok(files) if files.is_empty() => worktree.verify().await.map(|FailedCheck { reason, in_a_row }| Refusal {
                reason: format!(
                    "{reason}\n\nFix it, commit, and call done again. If it cannot be fixed, report the task as failed."
                ),
                failed_checks: Some(in_a_row),
            }),
            Ok(files) => Some(uncommitted_reason(&files).into()),
            // An agent with a broken worktree must be able to report failure.
            Err(_) if verdict == Verdict::Failed => None,
            Err(reason) => Some(Refusal::from(format!(
                "whether everything is committed could not be found out: {reason}. Look with git status; if the \
                 worktree is beyond repair, the task has failed."
            ))),
        }
    }
}

impl DoneCheck for EngineDoneCheck {
    fn refuse(&self, verdict: Verdict) -> BoxFuture<'_, Option<Refusal>> {
        self.check(verdict).boxed()
    }
}

/// Describes what blocks the task from being done.
fn unfinished_reason(unfinished: &Unfinished) -> String {
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
            "{asks} of your questions to the user {} not answered yet. Call yield and wait for the answer.",
            if *asks == 1 { "is" } else { "are" }
        ),
    }
}

fn uncommitted_reason(files: &[String]) -> String {
    let named: Vec<String> = files.iter().take(MAX_LISTED).map(|file| text::headline(file, NAME_CHARS)).collect();
    let more = match files.len().saturating_sub(MAX_LISTED) {
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
