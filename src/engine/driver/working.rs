//! Jobs with a task's work: checks, landings, ways back, forks. Each runs by itself and comes back as an input.

use std::path::Path;
use std::sync::Arc;

use super::effects::drop_drafts;
use super::{Parts, verifying};
use crate::base::{Fault, MessageId, TaskId, TurnId};
use crate::engine::command::OnConflict;
use crate::engine::machine::{Foreseen, GoBack, Job, LandResult, Place, Preparation, UndoneLanding, Went, Worked};
use crate::engine::reading::{History, Moment, Reader, Spot};
use crate::engine::review::{Goal, Landing, Receipt};
use crate::git::merge::{self, CheckoutFate, Landed, TookIn};
use crate::git::snapshot::{FILE_CAP, Snapshot};
use crate::git::step::step;
use crate::git::{Start, Wanted};
use crate::model::event::{self, Event};
use crate::model::fork::Target;
use crate::model::message::{Message, Source};
use crate::model::work::{Aim, Moving, Work};

pub(super) async fn carry_out(parts: &Arc<Parts>, task: TaskId, job: Job) -> Worked {
    match job {
        Job::Verify { spot, then } => Worked::Verified { result: verify(parts, task, &spot).await, then },
        Job::Prepare { spot, target, conflicts, then } => {
            Worked::Prepared { result: prepare(parts, &spot, &target, conflicts).await, then }
        }
        Job::Land { spot, target, how, message, commit, then } => {
            let result = match spot.own_branch().map(str::to_owned) {
                Ok(branch) => {
                    land(parts, merge::Landing { task, branch, target, how, message, seen: Some(commit) }).await
                }
                Err(fault) => Err(fault),
            };
            Worked::Landed { result, then }
        }
        Job::UndoLanding { undo, then } => Worked::Undone { result: undo_landing(parts, task, undo).await, then },
        Job::Foresee { branch, target, then } => {
            let found = parts.worktrees.preview(&branch, &target).await;
            let result = found.map(|found| Foreseen { behind: found.behind, conflicts: found.conflicts });
            Worked::Foreseen { result: result.map_err(Fault::from), then }
        }
        Job::GoBack { back, then } => Worked::WentBack { result: go_back(parts, task, back).await, then },
        Job::Fork { from, at, place, title, description, then } => {
            Worked::Forked { result: fork(parts, task, &from, at, place, title, description).await, then }
        }
        Job::Measure { worktree, base } => {
            Worked::Measured { task, diff: super::watching::measure(parts, &worktree, &base).await }
        }
    }
}

async fn verify(parts: &Parts, task: TaskId, spot: &Spot) -> Result<Receipt, Fault> {
    let command = spot.verify.clone().unwrap_or_default();
    verifying::verify(parts, task, worktree(spot)?, &command).await
}

fn reader(parts: &Parts) -> Reader {
    Reader::new(parts.worktrees.clone(), parts.store.sessions().clone())
}

fn worktree(spot: &Spot) -> Result<&Path, Fault> {
    let path = spot.worktree.as_deref().filter(|path| path.is_dir());
    path.ok_or_else(|| Fault::user("the task has no worktree now").hint("bring it back: `mxd restore TASK`"))
}

/// Finds out whether a merge can be, takes in what the person solved, and runs the check.
async fn prepare(parts: &Arc<Parts>, spot: &Spot, target: &str, conflicts: OnConflict) -> Result<Preparation, Fault> {
    let goal = if target == spot.above { Goal::Above } else { Goal::Base };
    // What would be refused anyway need not be checked first: a check may take minutes.
    let mut preview = reader(parts).merge_preview(spot, goal).await?;
    if let Some(side) = preview.dirty.first() {
        return Err(Fault::user(format!("nothing was merged: {}", side.reason)));
    }
    if preview.ahead == 0 {
        return Ok(Preparation::NothingToLand);
    }
    if conflicts == OnConflict::Solved && !preview.conflicts.is_empty() {
        take_in(parts, spot, target).await?;
        preview = reader(parts).merge_preview(spot, goal).await?;
    }
    if !preview.conflicts.is_empty() {
        return Ok(Preparation::Conflicts(preview.conflicts));
    }
    let mut commit = preview.commit;
    if let Some(command) = &spot.verify {
        let receipt = verifying::checked(parts, spot.task, worktree(spot)?, command).await?;
        if !receipt.passed() {
            return Ok(Preparation::CheckFailed(receipt));
        }
        commit = receipt.commit;
    }
    Ok(Preparation::Ready { commit })
}

/// Takes the target into the task's branch with what the person solved, and tells the agent.
async fn take_in(parts: &Arc<Parts>, spot: &Spot, target: &str) -> Result<(), Fault> {
    let files = match parts.worktrees.take_in(spot.task, spot.own_branch()?, target).await {
        Ok(TookIn::Done { files }) => files,
        Ok(TookIn::Nothing) => return Ok(()),
        Err(error) => {
            let fault = Fault::from(error);
            return Err(Fault { message: format!("nothing was merged: {}", fault.message), ..fault });
        }
    };
    let names: Vec<String> = files.iter().map(|file| format!("- {}", file.display())).collect();
    let body = format!(
        "The person took {target} into your branch and solved the conflicts by hand. What you remember of these files may be \
         wrong, read them again before you change them:\n{}",
        names.join("\n")
    );
    let id = MessageId::fresh(&parts.ids);
    let message = Message::new(id, parts.clock.now(), Source::WorkContext, body);
    parts.store.submit(spot.task, None, vec![message.into()]).await?;
    Ok(())
}

async fn land(parts: &Arc<Parts>, wanted: merge::Landing) -> Result<LandResult, Fault> {
    let landed = parts.worktrees.land(&wanted).await?;
    step("a merge is about to be said");
    Ok(match landed {
        Landed::Done { from, to, checkout, undo } => {
            // Whoever began to solve conflicts by hand need not go on.
            drop_drafts(parts, wanted.task).await;
            let (target, how) = (wanted.target, wanted.how);
            let landing = Landing { target, how, from, to, undo, at: parts.clock.now() };
            LandResult::Landed { landing, checkout: followed(checkout) }
        }
        Landed::Nothing => LandResult::NothingToLand,
        Landed::Conflicts(conflicts) => LandResult::Conflicts(conflicts),
    })
}

fn followed(fate: CheckoutFate) -> Option<std::path::PathBuf> {
    match fate {
        CheckoutFate::Updated(path) => Some(path),
        CheckoutFate::OnlyRef => None,
    }
}

async fn undo_landing(parts: &Arc<Parts>, task: TaskId, undo: Option<String>) -> Result<UndoneLanding, Fault> {
    let known = parts.worktrees.undoable().await?.into_iter().find(|known| known.task == task);
    let Some(known) = known.filter(|known| undo.as_ref().is_none_or(|undo| *undo == known.undo)) else {
        return Err(Fault::user("there is no merge of this task that could be taken back"));
    };
    let fate = parts.worktrees.undo_landing(task, &known.undo).await?;
    Ok(UndoneLanding { undo: known.undo, target: known.target, checkout: followed(fate) })
}

/// Brings files where they belong and says where the conversation goes. What was there before is kept first, and the
/// session knows before anything changes.
async fn go_back(parts: &Arc<Parts>, task: TaskId, back: GoBack) -> Result<Went, Fault> {
    let history = reader(parts).history(task).await?;
    let sessions = parts.store.sessions().clone();
    let active = tokio::task::spawn_blocking(move || sessions.active(task));
    let head = active.await.map_err(|error| Fault::internal(error.to_string()))??.head;
    let mut went = Went { head, ..Went::default() };
    let Moment { event, turn } = moment(&history, &back, &mut went)?;
    (went.event, went.turn) = (event, turn);
    if back.extent.has_files() {
        move_files(parts, task, &back, &history, &mut went).await?;
    } else if let Some(path) = back.spot.worktree.as_deref().filter(|path| path.is_dir()) {
        // The conversation goes back, the files do not: what comes next is compared with what they are now.
        let taken = parts.worktrees.take_snapshot(task, TurnId::fresh(&parts.ids), path, FILE_CAP).await?;
        let kept = taken.snapshot();
        went.state = Some((kept.turn, kept.tree.clone()));
    }
    Ok(went)
}

fn moment(history: &History, back: &GoBack, went: &mut Went) -> Result<Moment, Fault> {
    match back.aim {
        Aim::After(turn) => history.after(turn),
        Aim::Before(message) => {
            let Some((moment, others)) = history.before(message) else {
                return Err(Fault::user("this message is not part of the conversation as it is now"));
            };
            (went.others, went.message) = (others, history.message(message).cloned());
            Ok(moment)
        }
        Aim::Redo => {
            let rewound = back.rewound.as_ref().ok_or_else(|| Fault::user("there is nothing to redo"))?;
            Ok(Moment { event: rewound.head, turn: None })
        }
    }
}

async fn move_files(
    parts: &Arc<Parts>,
    task: TaskId,
    back: &GoBack,
    history: &History,
    went: &mut Went,
) -> Result<(), Fault> {
    let path = worktree(&back.spot)?;
    let wanted = wanted(parts, task, back, history, went.turn).await?;
    if back.begun.is_none() {
        let before = parts.worktrees.take_snapshot(task, TurnId::fresh(&parts.ids), path, u64::MAX).await?;
        let files = before.snapshot().turn;
        let moving = Moving { aim: back.aim, extent: back.extent, files, words: back.words.clone() };
        step("a rewind is about to be announced");
        parts.store.submit(task, None, vec![Work::Moving { moving }.into()]).await?;
        step("a rewind is announced");
    }
    let put = parts.worktrees.put_back(task, TurnId::fresh(&parts.ids), path, &wanted).await?;
    // After a crash, what was there before is what was kept then.
    let begun = back.begun.as_ref().map(|begun| begun.files);
    went.files = Some(begun.unwrap_or(put.before.turn));
    if let (Some(branch), Some(head), false) = (&back.spot.branch, &wanted.head, back.spot.is_root) {
        went.branch = parts.worktrees.move_branch(path, branch, head).await?;
    }
    went.state = Some((wanted.turn, wanted.tree));
    step("a rewind is about to be said");
    Ok(())
}

/// Returns the state that the files are to have.
async fn wanted(
    parts: &Arc<Parts>,
    task: TaskId,
    back: &GoBack,
    history: &History,
    turn: Option<TurnId>,
) -> Result<Snapshot, Fault> {
    let kept = parts.worktrees.snapshots(task).await?;
    let found = match &back.rewound {
        Some(rewound) => kept.into_iter().find(|kept| Some(kept.turn) == rewound.files),
        None => history.snapshot_after(turn, kept)?,
    };
    found.ok_or_else(|| {
        Fault::user("the files of that time are no longer kept")
            .hint(format!("the last {} states of a task are; choose a later turn", super::snapshots::KEPT))
    })
}

/// Copies conversation and files of a task, as they were after a turn or as they are, into a new one.
async fn fork(
    parts: &Arc<Parts>,
    to: TaskId,
    from: &Spot,
    at: Option<TurnId>,
    place: Place,
    title: String,
    description: String,
) -> Result<(), Fault> {
    step("a fork is about to be made");
    let history = reader(parts).history(from.task).await?;
    let state = match (at, from.worktree.as_deref().filter(|path| path.is_dir())) {
        (None, Some(path)) => {
            let taken = parts.worktrees.take_snapshot(from.task, TurnId::fresh(&parts.ids), path, FILE_CAP).await?;
            Some(taken.snapshot().clone())
        }
        (Some(turn), _) => {
            let kept = history.snapshot_after(Some(turn), parts.worktrees.snapshots(from.task).await?)?;
            Some(kept.ok_or_else(|| Fault::user("the files of that turn are no longer kept"))?)
        }
        (None, None) => None,
    };
    let target = Target { source: from.task, title, description };
    let plan = move |events: &[Event]| target.closing(events);
    match at {
        Some(turn) => {
            let Some(event) = history.after(Some(turn))?.event else { return Ok(()) };
            parts.store.copy_session_at(from.task, to, event, plan).await?
        }
        None => parts.store.copy_session(from.task, to, plan).await?,
    };
    step("a conversation is copied");
    let Some(state) = state else { return Ok(()) };
    let wanted = Wanted { task: to, branch: place.branch, path: place.worktree.clone() };
    let start = state.head.clone().map_or(Start::Branch(place.base), Start::Commit);
    parts.worktrees.create(&wanted, &start).await?;
    step("the worktree of a fork is made");
    parts.worktrees.put_back(to, TurnId::fresh(&parts.ids), &place.worktree, &state).await?;
    let taken = parts.worktrees.take_snapshot(to, TurnId::fresh(&parts.ids), &place.worktree, FILE_CAP).await?;
    let kept = event::Snapshot { turn: taken.snapshot().turn, tree: taken.snapshot().tree.clone() };
    parts.store.submit(to, None, vec![kept.into()]).await?;
    step("a fork is whole");
    Ok(())
}
