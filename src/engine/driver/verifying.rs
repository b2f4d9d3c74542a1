//! Running the check of a task's work, in its worktree, with a receipt that outlives it.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Parts;
use crate::base::{Fault, RunId, TaskId};
use crate::engine::blobs::StoredBlobs;
use crate::engine::review::Receipt;
use crate::git::status;
use crate::model::fold::SessionState;
use crate::model::work::Work;
use crate::process::{self, Process, Spec};
use crate::tools::{self, Report};

/// How long a check may take.
const LIMIT: Duration = Duration::from_mins(30);
/// How much of its output the receipt has.
const SHOWN: usize = 8_000;

/// Runs a check and keeps its receipt in the session, unless one is there that speaks for exactly this state.
pub(super) async fn checked(parts: &Parts, task: TaskId, path: &Path, command: &str) -> Result<Receipt, Fault> {
    let (commit, dirty) = standing(parts, path).await?;
    if !dirty && let Some(receipt) = last_receipt(parts, task).await {
        let same = receipt.command == command && receipt.passed() && receipt.covers(&commit);
        if same {
            return Ok(receipt);
        }
    }
    verify(parts, task, path, command).await
}

/// Runs a check and keeps its receipt in the session.
pub(super) async fn verify(parts: &Parts, task: TaskId, path: &Path, command: &str) -> Result<Receipt, Fault> {
    let (commit, dirty) = standing(parts, path).await?;
    let begun = Instant::now();
    let environment = parts.environment(task);
    let spec = Spec {
        environment: parts.agent_git.environment(environment, std::env::vars_os()),
        shown: command.to_owned(),
        head: SHOWN,
        spool: Some(parts.spill.clone()),
        records: Some(parts.records.clone()),
        ..Spec::new(format!("verify-{}", RunId::fresh(&parts.ids)), "bash", path)
    };
    let (exit, output, full) = match process::start(spec.arguments(["-c", command])) {
        Ok(process) => {
            let exit = process.finish(LIMIT).await.and_then(|exit| exit.code);
            let Report { text, full } = said(parts, &process).await;
            (exit, text, full)
        }
        Err(error) => (None, error.to_string(), None),
    };
    let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let at = parts.clock.now();
    let receipt = Receipt { command: command.to_owned(), commit, dirty, exit, at, duration_ms, output, full };
    parts.store.submit(task, None, vec![Work::Verified { receipt: receipt.clone() }.into()]).await?;
    Ok(receipt)
}

/// Returns the commit that a worktree stands on, and whether anything in it is not committed.
async fn standing(parts: &Parts, path: &Path) -> Result<(String, bool), Fault> {
    let checkout = parts.worktrees.checkout(path).await?;
    let commit = parts.worktrees.head(&checkout).await?;
    let dirty = !status::dirty(&checkout, 1).await?.is_clean();
    Ok((commit, dirty))
}

async fn last_receipt(parts: &Parts, task: TaskId) -> Option<Receipt> {
    state(parts, task).await?.work.receipt
}

/// Returns how many checks of a task in a row have failed in the same way.
pub(super) async fn failures(parts: &Parts, task: TaskId) -> u32 {
    state(parts, task).await.map_or(1, |state| state.work.failures.max(1))
}

/// Tells whether the user accepts a task's work although its check fails.
pub(super) async fn may_be_unchecked(parts: &Parts, task: TaskId) -> bool {
    state(parts, task).await.is_some_and(|state| state.grants.unchecked)
}

async fn state(parts: &Parts, task: TaskId) -> Option<SessionState> {
    let sessions = parts.store.sessions().clone();
    let read = tokio::task::spawn_blocking(move || sessions.active(task).map(|active| active.state()));
    read.await.ok()?.ok()
}

/// Returns what a check said: its beginning and its end, and all of it if that is more.
async fn said(parts: &Parts, process: &Process) -> Report {
    if process.output().glimpse().total == 0 {
        return Report { text: String::new(), full: None };
    }
    let Report { text, full } = tools::report(process, SHOWN, &StoredBlobs(parts.store.blobs().clone())).await;
    Report { text: text.trim_end().to_owned(), full }
}
