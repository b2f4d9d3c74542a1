//! Runs the verify command of a task in its worktree and records the result in the session.

use std::path::Path;
use std::time::{Duration, Instant};

use super::EngineContext;
use crate::base::{Fault, RunId, TaskId};
use crate::engine::blobs::StoredBlobs;
use crate::engine::review::CheckResult;
use crate::git::status;
use crate::model::fold::SessionState;
use crate::model::work::Work;
use crate::process::{self, ChildSpec, Process};
use crate::tools::{self, OutputReport};

const LIMIT: Duration = Duration::from_mins(30);
/// How much of the output is stored in the result.
const OUTPUT_BYTES: usize = 8_000;

/// Runs the verify command, unless the last result passed and covers exactly this state.
pub(super) async fn verify_unless_fresh(
    ctx: &EngineContext,
    task: TaskId,
    path: &Path,
    command: &str,
) -> Result<CheckResult, Fault> {
    let (commit, dirty) = head_and_dirty(ctx, path).await?;
    if !dirty && let Some(receipt) = last_receipt(ctx, task).await {
        let same = receipt.command == command && receipt.passed() && receipt.covers(&commit);
        if same {
            return Ok(receipt);
        }
    }
    verify(ctx, task, path, command).await
}

/// Runs the verify command and records the result in the session.
pub(super) async fn verify(
    ctx: &EngineContext,
    task: TaskId,
    path: &Path,
    command: &str,
) -> Result<CheckResult, Fault> {
    let (commit, dirty) = head_and_dirty(ctx, path).await?;
    let started = Instant::now();
    let environment = ctx.environment(task);
    let spec = ChildSpec {
        environment: ctx.agent_git.environment(environment, std::env::vars_os()),
        label: command.to_owned(),
        head: OUTPUT_BYTES,
        overflow_dir: Some(ctx.spill.clone()),
        records: Some(ctx.records.clone()),
        ..ChildSpec::new(format!("verify-{}", RunId::fresh(&ctx.ids)), "bash", path)
    };
    let (exit, output, full) = match process::start(spec.arguments(["-c", command])) {
        Ok(process) => {
            let exit = process.finish(LIMIT).await.and_then(|exit| exit.code);
            let OutputReport { text, full } = output_report(ctx, &process).await;
            (exit, text, full)
        }
        Err(error) => (None, error.to_string(), None),
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let at = ctx.clock.now();
    let receipt = CheckResult { command: command.to_owned(), commit, dirty, exit, at, duration_ms, output, full };
    ctx.store.submit(task, None, vec![Work::Verified { receipt: receipt.clone() }.into()]).await?;
    Ok(receipt)
}

/// Returns the HEAD commit of a worktree, and whether it has uncommitted changes.
async fn head_and_dirty(ctx: &EngineContext, path: &Path) -> Result<(String, bool), Fault> {
    let checkout = ctx.worktrees.checkout(path).await?;
    let commit = ctx.worktrees.head(&checkout).await?;
    let dirty = !status::dirty(&checkout, 1).await?.is_clean();
    Ok((commit, dirty))
}

async fn last_receipt(ctx: &EngineContext, task: TaskId) -> Option<CheckResult> {
    state(ctx, task).await?.work.receipt
}

/// Returns how many checks in a row have failed in the same way.
pub(super) async fn consecutive_failures(ctx: &EngineContext, task: TaskId) -> u32 {
    state(ctx, task).await.map_or(1, |state| state.work.failures.max(1))
}

/// Returns true if the user accepts the work although its check fails.
pub(super) async fn is_check_waived(ctx: &EngineContext, task: TaskId) -> bool {
    state(ctx, task).await.is_some_and(|state| state.grants.unchecked)
}

async fn state(ctx: &EngineContext, task: TaskId) -> Option<SessionState> {
    let sessions = ctx.store.sessions().clone();
    let read = tokio::task::spawn_blocking(move || sessions.active(task).map(|active| active.state()));
    read.await.ok()?.ok()
}

/// Returns the start and the end of a check's output, and a blob with all of it if it was cut.
async fn output_report(ctx: &EngineContext, process: &Process) -> OutputReport {
    if process.output().snapshot().total == 0 {
        return OutputReport { text: String::new(), full: None };
    }
    let OutputReport { text, full } =
        tools::report(process, OUTPUT_BYTES, &StoredBlobs(ctx.store.blobs().clone())).await;
    OutputReport { text: text.trim_end().to_owned(), full }
}
