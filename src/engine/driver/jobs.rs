//! Jobs on a task's work: verify, merge, rewind, fork. Each runs in its own task and reports back as an input.

use std::path::Path;
use std::sync::Arc;

use super::effects::drop_drafts;
use super::{EngineContext, lifecycle, verify};
use crate::base::{Fault, MessageId, TaskId, TurnId};
use crate::engine::command::OnConflict;
use crate::engine::handover;
use crate::engine::hooks::HookedTask;
use crate::engine::machine::{
    CatchUpPreview, Job, JobOutcome, MergePreparation, MergeResult, RewindJob, RewindOutcome, SessionNote, UndoneMerge,
    WorktreeLocation,
};
use crate::engine::review::{CheckResult, MergeRecord, MergeTarget};
use crate::engine::work_queries::{History, RewindPoint, TaskLocation, WorkReader};
use crate::git::crash_points::crash_point;
use crate::git::merge::{self, CheckoutFate, MergeOutcome, TargetMergeOutcome};
use crate::git::snapshot::{FILE_CAP, Snapshot};
use crate::git::status;
use crate::git::{BranchStart, WorktreeSpec};
use crate::model::event::{self, Event, HandoverFacts};
use crate::model::fork::Target;
use crate::model::message::{Message, MessageSource};
use crate::model::work::{RewindIntent, RewindTarget, Work};

/// How many commits of a branch a hand-over names.
const MAX_COMMITS: usize = 20;

pub(super) async fn run_job(ctx: &Arc<EngineContext>, task: TaskId, hooked: &HookedTask, job: Job) -> JobOutcome {
    match job {
        Job::Verify { location, then } => JobOutcome::Verified { result: verify(ctx, task, &location).await, then },
        Job::PrepareMerge { location, target, conflicts, then } => {
            JobOutcome::MergePrepared { result: prepare_merge(ctx, hooked, &location, &target, conflicts).await, then }
        }
        Job::Merge { location, target, how, message, commit, then } => {
            let result = match location.own_branch().map(str::to_owned) {
                Ok(branch) => {
                    merge_branch(
                        ctx,
                        merge::MergeRequest { task, branch, target, strategy: how, message, expected: Some(commit) },
                    )
                    .await
                }
                Err(fault) => Err(fault),
            };
            JobOutcome::Merged { result, then }
        }
        Job::UndoMerge { undo, then } => JobOutcome::MergeUndone { result: undo_merge(ctx, task, undo).await, then },
        Job::PreviewCatchUp { branch, target, then } => {
            let found = ctx.worktrees.preview(&branch, &target).await;
            let result = found.map(|found| CatchUpPreview { behind: found.behind, conflicts: found.conflicts });
            JobOutcome::CatchUpPreviewed { result: result.map_err(Fault::from), then }
        }
        Job::Rewind { rewind: job, then } => {
            JobOutcome::Rewound { result: rewind(ctx, task, job).await, then: Box::new(then) }
        }
        Job::Fork { from, at, place, title, description, then } => {
            JobOutcome::Forked { result: fork(ctx, task, &from, at, place, title, description).await, then }
        }
        Job::Handover { location, then } => {
            JobOutcome::HandoverNoted { result: session_note(ctx, &location).await, then }
        }
        Job::Measure { worktree, base } => {
            JobOutcome::Measured { task, diff: super::worktree_monitor::measure(ctx, &worktree, &base).await }
        }
    }
}

/// Reads what the next profile should know: from the session, from git and from the last check.
async fn session_note(ctx: &EngineContext, location: &TaskLocation) -> Result<SessionNote, Fault> {
    let (sessions, task) = (ctx.store.sessions().clone(), location.task);
    let read = tokio::task::spawn_blocking(move || sessions.active(task));
    let events = read.await.map_err(|error| Fault::internal(error.to_string()))??.events;
    let mut facts = HandoverFacts { branch: location.branch.clone(), ..HandoverFacts::default() };
    facts.check = location.receipt.as_ref().map(|receipt| (receipt.command.clone(), receipt.passed()));
    // What git cannot tell is left out: a task without a worktree can be handed over, too.
    if let Some(branch) = location.branch.as_deref().filter(|_| !location.is_root)
        && let Ok(drift) = status::drift(ctx.worktrees.main(), branch, &location.parent_branch).await
    {
        (facts.ahead, facts.behind) = (drift.ahead, drift.behind);
    }
    if let Ok(path) = worktree(location)
        && let Ok(checkout) = ctx.worktrees.checkout(path).await
    {
        if let Ok(dirty) = status::dirty(&checkout, 1).await {
            facts.uncommitted = dirty.count();
        }
        if facts.ahead > 0
            && let Ok(commits) = ctx.worktrees.commits_since(&checkout, None, facts.ahead.min(MAX_COMMITS)).await
        {
            facts.commits = commits.into_iter().map(|(_, subject)| subject).collect();
        }
    }
    Ok(SessionNote { text: handover::note(&events), facts })
}

async fn verify(ctx: &EngineContext, task: TaskId, location: &TaskLocation) -> Result<CheckResult, Fault> {
    let command = location.verify.clone().unwrap_or_default();
    verify::verify(ctx, task, worktree(location)?, &command).await
}

fn reader(ctx: &EngineContext) -> WorkReader {
    WorkReader::new(ctx.worktrees.clone(), ctx.store.sessions().clone())
}

fn worktree(location: &TaskLocation) -> Result<&Path, Fault> {
    let path = location.worktree.as_deref().filter(|path| path.is_dir());
    path.ok_or_else(|| Fault::user("the task has no worktree").hint("restore it: `mxd restore TASK`"))
}

/// Checks whether a merge is possible, applies the user's conflict resolutions and runs the verify command.
async fn prepare_merge(
    ctx: &Arc<EngineContext>,
    hooked: &HookedTask,
    location: &TaskLocation,
    target: &str,
    conflicts: OnConflict,
) -> Result<MergePreparation, Fault> {
    let goal = if target == location.parent_branch { MergeTarget::Parent } else { MergeTarget::Base };
    // The cheap checks come first: the verify command may take minutes.
    let mut preview = reader(ctx).merge_preview(location, goal).await?;
    if let Some(side) = preview.dirty.first() {
        return Err(Fault::user(format!("nothing was merged: {}", side.reason)));
    }
    if preview.ahead == 0 {
        return Ok(MergePreparation::NothingToMerge);
    }
    if conflicts == OnConflict::Solved && !preview.conflicts.is_empty() {
        merge_solved_conflicts(ctx, location, target).await?;
        preview = reader(ctx).merge_preview(location, goal).await?;
    }
    if !preview.conflicts.is_empty() {
        return Ok(MergePreparation::Conflicts(preview.conflicts));
    }
    let mut commit = preview.commit;
    if let Some(command) = &location.verify {
        let receipt = verify::verify_unless_fresh(ctx, location.task, worktree(location)?, command).await?;
        if !receipt.passed() {
            return Ok(MergePreparation::CheckFailed(receipt));
        }
        commit = receipt.commit;
    }
    if let Some(why) = lifecycle::before_merge(ctx, hooked, location.own_branch()?, target, &commit).await {
        return Err(Fault::user(format!("nothing was merged: a MergeBefore hook refused it: {why}")));
    }
    Ok(MergePreparation::Ready { commit })
}

/// Merges the target into the task's branch with the user's conflict resolutions, and tells the agent.
async fn merge_solved_conflicts(ctx: &Arc<EngineContext>, location: &TaskLocation, target: &str) -> Result<(), Fault> {
    let files = match ctx.worktrees.merge_target(location.task, location.own_branch()?, target).await {
        Ok(TargetMergeOutcome::Done { files }) => files,
        Ok(TargetMergeOutcome::Nothing) => return Ok(()),
        Err(error) => {
            let fault = Fault::from(error);
            return Err(Fault { message: format!("nothing was merged: {}", fault.message), ..fault });
        }
    };
    let names: Vec<String> = files.iter().map(|file| format!("- {}", file.display())).collect();
    let body = format!(
        "The user merged {target} into your branch and resolved the conflicts by hand. These files may have changed. Read \
         them again before you edit them:\n{}",
        names.join("\n")
    );
    let id = MessageId::fresh(&ctx.ids);
    let message = Message::new(id, ctx.clock.now(), MessageSource::WorkContext, body);
    ctx.store.submit(location.task, None, vec![message.into()]).await?;
    Ok(())
}

async fn merge_branch(ctx: &Arc<EngineContext>, request: merge::MergeRequest) -> Result<MergeResult, Fault> {
    let outcome = ctx.worktrees.merge(&request).await?;
    crash_point("a merge is about to be said");
    Ok(match outcome {
        MergeOutcome::Done { from, to, checkout, undo } => {
            // The drafts of conflict resolutions are no longer needed.
            drop_drafts(ctx, request.task).await;
            let (target, how) = (request.target, request.strategy);
            let merge = MergeRecord { target, how, from, to, undo, at: ctx.clock.now() };
            MergeResult::Merged { merge, checkout: updated_checkout(checkout) }
        }
        MergeOutcome::Nothing => MergeResult::NothingToMerge,
        MergeOutcome::Conflicts(conflicts) => MergeResult::Conflicts(conflicts),
    })
}

fn updated_checkout(fate: CheckoutFate) -> Option<std::path::PathBuf> {
    match fate {
        CheckoutFate::Updated(path) => Some(path),
        CheckoutFate::OnlyRef => None,
    }
}

async fn undo_merge(ctx: &Arc<EngineContext>, task: TaskId, undo: Option<String>) -> Result<UndoneMerge, Fault> {
    let known = ctx.worktrees.undoable_merges().await?.into_iter().find(|known| known.task == task);
    let Some(known) = known.filter(|known| undo.as_ref().is_none_or(|undo| *undo == known.undo)) else {
        return Err(Fault::user("there is no merge of this task to undo"));
    };
    let fate = ctx.worktrees.undo_merge(task, &known.undo).await?;
    Ok(UndoneMerge { undo: known.undo, target: known.target, checkout: updated_checkout(fate) })
}

/// Restores files and returns where the conversation continues. The current files are saved first, and the session
/// records the rewind before anything changes.
async fn rewind(ctx: &Arc<EngineContext>, task: TaskId, back: RewindJob) -> Result<RewindOutcome, Fault> {
    let history = reader(ctx).history(task).await?;
    let sessions = ctx.store.sessions().clone();
    let active = tokio::task::spawn_blocking(move || sessions.active(task));
    let head = active.await.map_err(|error| Fault::internal(error.to_string()))??.head;
    let mut outcome = RewindOutcome { head, ..RewindOutcome::default() };
    let RewindPoint { event, turn } = rewind_point(&history, &back, &mut outcome)?;
    (outcome.event, outcome.turn) = (event, turn);
    if back.extent.has_files() {
        move_files(ctx, task, &back, &history, &mut outcome).await?;
    } else if let Some(path) = back.location.worktree.as_deref().filter(|path| path.is_dir()) {
        // The files stay as they are, so save their state: the next turn is compared with it.
        let taken = ctx.worktrees.take_snapshot(task, TurnId::fresh(&ctx.ids), path, FILE_CAP).await?;
        let snapshot = taken.snapshot();
        outcome.state = Some((snapshot.turn, snapshot.tree.clone()));
    }
    Ok(outcome)
}

fn rewind_point(history: &History, back: &RewindJob, outcome: &mut RewindOutcome) -> Result<RewindPoint, Fault> {
    match back.target {
        RewindTarget::After(turn) => history.after(turn),
        RewindTarget::Before(message) => {
            let Some((point, others)) = history.before(message) else {
                return Err(Fault::user("this message is not in the current conversation"));
            };
            (outcome.others, outcome.message) = (others, history.message(message).cloned());
            Ok(point)
        }
        RewindTarget::Redo => {
            let rewound = back.rewound.as_ref().ok_or_else(|| Fault::user("there is nothing to redo"))?;
            Ok(RewindPoint { event: rewound.head, turn: None })
        }
    }
}

async fn move_files(
    ctx: &Arc<EngineContext>,
    task: TaskId,
    back: &RewindJob,
    history: &History,
    outcome: &mut RewindOutcome,
) -> Result<(), Fault> {
    let path = worktree(&back.location)?;
    let snapshot = target_state(ctx, task, back, history, outcome.turn).await?;
    if back.begun.is_none() {
        let before = ctx.worktrees.take_snapshot(task, TurnId::fresh(&ctx.ids), path, u64::MAX).await?;
        let files = before.snapshot().turn;
        let intent = RewindIntent { target: back.target, extent: back.extent, files, words: back.words.clone() };
        crash_point("a rewind is about to be announced");
        ctx.store.submit(task, None, vec![Work::RewindStarted { intent }.into()]).await?;
        crash_point("a rewind is announced");
    }
    let restored = ctx.worktrees.restore_snapshot(task, TurnId::fresh(&ctx.ids), path, &snapshot).await?;
    // After a crash, the state before the rewind is the one that was saved then.
    let saved = back.begun.as_ref().map(|intent| intent.files);
    outcome.files = Some(saved.unwrap_or(restored.before.turn));
    if let (Some(branch), Some(head), false) = (&back.location.branch, &snapshot.head, back.location.is_root) {
        outcome.branch = ctx.worktrees.move_branch(path, branch, head).await?;
    }
    outcome.state = Some((snapshot.turn, snapshot.tree));
    crash_point("a rewind is about to be said");
    Ok(())
}

/// Returns the snapshot to restore.
async fn target_state(
    ctx: &Arc<EngineContext>,
    task: TaskId,
    back: &RewindJob,
    history: &History,
    turn: Option<TurnId>,
) -> Result<Snapshot, Fault> {
    let snapshots = ctx.worktrees.snapshots(task).await?;
    let found = match &back.rewound {
        Some(rewound) => snapshots.into_iter().find(|snapshot| Some(snapshot.turn) == rewound.files),
        None => history.snapshot_after(turn, snapshots)?,
    };
    found.ok_or_else(|| {
        Fault::user("the snapshot of that turn was pruned").hint(format!(
            "the last {} snapshots of a task are kept; choose a later turn",
            super::snapshots::MAX_SNAPSHOTS
        ))
    })
}

/// Copies the conversation and files of a task, as of a turn or as of now, into a new task.
async fn fork(
    ctx: &Arc<EngineContext>,
    to: TaskId,
    from: &TaskLocation,
    at: Option<TurnId>,
    place: WorktreeLocation,
    title: String,
    description: String,
) -> Result<(), Fault> {
    crash_point("a fork is about to be made");
    let history = reader(ctx).history(from.task).await?;
    let state = match (at, from.worktree.as_deref().filter(|path| path.is_dir())) {
        (None, Some(path)) => {
            let taken = ctx.worktrees.take_snapshot(from.task, TurnId::fresh(&ctx.ids), path, FILE_CAP).await?;
            Some(taken.snapshot().clone())
        }
        (Some(turn), _) => {
            let snapshot = history.snapshot_after(Some(turn), ctx.worktrees.snapshots(from.task).await?)?;
            Some(snapshot.ok_or_else(|| Fault::user("the snapshot of that turn was pruned"))?)
        }
        (None, None) => None,
    };
    let target = Target { source: from.task, title, description };
    let plan = move |events: &[Event]| target.closing(events);
    match at {
        Some(turn) => {
            let Some(event) = history.after(Some(turn))?.event else { return Ok(()) };
            ctx.store.copy_session_at(from.task, to, event, plan).await?
        }
        None => ctx.store.copy_session(from.task, to, plan).await?,
    };
    crash_point("a conversation is copied");
    let Some(state) = state else { return Ok(()) };
    let spec = WorktreeSpec { task: to, branch: place.branch, path: place.worktree.clone() };
    let start = state.head.clone().map_or(BranchStart::Branch(place.base), BranchStart::Commit);
    ctx.worktrees.create(&spec, &start).await?;
    crash_point("the worktree of a fork is made");
    ctx.worktrees.restore_snapshot(to, TurnId::fresh(&ctx.ids), &place.worktree, &state).await?;
    let taken = ctx.worktrees.take_snapshot(to, TurnId::fresh(&ctx.ids), &place.worktree, FILE_CAP).await?;
    let record = event::Snapshot { turn: taken.snapshot().turn, tree: taken.snapshot().tree.clone() };
    ctx.store.submit(to, None, vec![record.into()]).await?;
    crash_point("a fork is whole");
    Ok(())
}
