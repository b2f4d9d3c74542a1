//! Merging a task's work and undoing merges. Files are written only while no agent works where the target is checked
//! out. Until then a merge waits in [`super::merge_queue`].

use std::path::PathBuf;

use super::conflicts::{self, SHOWN};
use super::{PendingUndo, check_failed};
use crate::base::{AskId, Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, OnConflict, Outcome};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{AppendContinuation, Job, Machine, MergePreparation, MergeResult};
use crate::engine::review::{Conflict, MergeRecord, MergeStrategy, MergeTarget};
use crate::model::Answer;
use crate::model::event::{AskAnswered, AskWithdrawn, Body};
use crate::model::message::MessageSource;
use crate::model::work::{DequeueReason, Work};

/// The options of a merge command.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::machine) struct MergeOptions {
    pub(in crate::engine::machine) into: MergeTarget,
    pub(in crate::engine::machine) how: MergeStrategy,
    pub(in crate::engine::machine) conflicts: OnConflict,
}

/// A merge that is under way.
#[derive(Clone, Debug)]
pub struct PendingMerge {
    /// `None` for a queued merge, whose command was already answered.
    pub(super) command: Option<CommandId>,
    pub(super) task: TaskId,
    pub(super) target: String,
    pub(super) how: MergeStrategy,
    pub(super) conflicts: OnConflict,
    /// The Ask that the merge answers.
    pub(super) ask: Option<(AskId, Answer)>,
    /// The task that is held while files are written in its checkout.
    pub(super) host: Option<TaskId>,
}

impl Machine {
    pub(in crate::engine::machine) fn merge(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        options: MergeOptions,
        ask: Option<(AskId, Answer)>,
    ) -> Result<(), Fault> {
        let MergeOptions { into, how, conflicts } = options;
        self.check_idle(task, "merged")?;
        let location = self.location_of(task)?;
        location.own_branch()?;
        let target = location.target(into).to_owned();
        if (conflicts, how) == (OnConflict::Solved, MergeStrategy::Rebase) {
            return Err(Fault::user("cannot rebase with solved conflicts: they do not say how each commit changes")
                .hint("merge or squash instead"));
        }
        let host = self.host_of(task, &target);
        let merge =
            PendingMerge { command: Some(command), task, target: target.clone(), how, conflicts, ask, host: None };
        if self.is_working(host) {
            // Without launches the queue does not move, so the merge is refused.
            if self.limits.hold {
                return Err(self.host_at_work(host, &target));
            }
            self.queue_merge(now, merge, host);
            return Ok(());
        }
        self.start_job(task, Job::PrepareMerge { location, target, conflicts, then: merge });
        Ok(())
    }

    /// Returns the task that works where a target is checked out.
    pub(super) fn host_of(&self, task: TaskId, target: &str) -> TaskId {
        let host = self.tree.ancestors(task).find(|above| above.branch.as_deref() == Some(target));
        host.map_or(self.tree.root_id(), |above| above.id)
    }

    fn host_at_work(&self, host: TaskId, target: &str) -> Fault {
        Fault::user(format!(
            "{} is at work in the checkout of {target}; merging now would change files under it",
            self.task_label(host)
        ))
        .hint("try again when it is idle, or stop it first: `mxd stop TASK`")
    }

    /// Starts a prepared merge, or reports why it cannot be made. A queued merge holds its host from the check to the
    /// end of the merge.
    pub(super) fn on_merge_prepared(
        &mut self,
        now: Timestamp,
        merge: PendingMerge,
        result: Result<MergePreparation, Fault>,
    ) {
        if let Ok(MergePreparation::Ready { commit }) = result {
            return self.start_merge(now, merge, commit);
        }
        self.release_host(now, merge.host);
        match result {
            Ok(MergePreparation::CheckFailed(receipt)) => {
                let fault = Fault::user(format!("nothing was merged: {}", check_failed(&receipt)));
                self.on_merge_failed(now, &merge, fault);
            }
            Ok(MergePreparation::Conflicts(conflicts)) => self.on_merge_conflicts(now, &merge, &conflicts),
            Ok(MergePreparation::NothingToMerge | MergePreparation::Ready { .. }) => self.nothing_to_merge(now, merge),
            Err(fault) => self.on_merge_failed(now, &merge, fault),
        }
    }

    /// Records the result of a merge.
    pub(super) fn on_merged(&mut self, now: Timestamp, merge: PendingMerge, result: Result<MergeResult, Fault>) {
        self.release_host(now, merge.host);
        match result {
            Ok(MergeResult::Merged { merge: record, checkout }) => self.record_merge(now, &merge, record, checkout),
            Ok(MergeResult::Conflicts(conflicts)) => self.on_merge_conflicts(now, &merge, &conflicts),
            Ok(MergeResult::NothingToMerge) => self.nothing_to_merge(now, merge),
            Err(fault) => self.on_merge_failed(now, &merge, fault),
        }
    }

    /// Starts the merge itself, or queues it if the host started to work during the check.
    fn start_merge(&mut self, now: Timestamp, merge: PendingMerge, commit: String) {
        let PendingMerge { task, how, .. } = merge;
        let target = merge.target.clone();
        let host = match merge.host {
            Some(host) => host,
            None => {
                let host = self.host_of(task, &target);
                if self.is_working(host) {
                    return self.queue_merge(now, merge, host);
                }
                self.hold_host(host);
                host
            }
        };
        let then = PendingMerge { host: Some(host), ..merge };
        match self.location_of(task) {
            Ok(location) => {
                let message = self.merge_message(task);
                self.start_job(task, Job::Merge { location, target, how, message, commit, then });
            }
            Err(fault) => {
                self.release_host(now, then.host);
                self.on_merge_failed(now, &then, fault);
            }
        }
    }

    /// Keeps runs from starting where files are written.
    pub(super) fn hold_host(&mut self, host: TaskId) {
        self.runtime(host).holds.add(Hold::Merge);
    }

    /// Releases the host after files were written.
    pub(super) fn release_host(&mut self, now: Timestamp, host: Option<TaskId>) {
        let Some(host) = host else { return };
        if let Some(runtime) = self.runtimes.get_mut(&host) {
            runtime.holds.remove(Hold::Merge);
        }
        self.reconsider(now, host);
    }

    /// Returns the commit message of a merge: the task's title and its agent's result.
    fn merge_message(&self, task: TaskId) -> String {
        let Some(node) = self.tree.get(task) else { return String::new() };
        let result = node.results.last().map(|result| result.result.trim()).unwrap_or_default();
        let title = text::headline(&node.title, 72);
        if result.is_empty() { title } else { format!("{title}\n\n{result}") }
    }

    pub(in crate::engine::machine) fn undo_merge(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.check_idle(task, "changed")?;
        let merge = self.state(task).and_then(|state| state.work.last_merge.clone());
        let host = merge.as_ref().map(|merge| self.host_of(task, &merge.target));
        if let (Some(host), Some(merge)) = (host, &merge) {
            if self.is_working(host) {
                return Err(self.host_at_work(host, &merge.target));
            }
            self.hold_host(host);
        }
        let undo = merge.map(|merge| merge.undo);
        self.start_job(task, Job::UndoMerge { undo, then: PendingUndo { command, task, host } });
        Ok(())
    }

    pub(super) fn record_merge(
        &mut self,
        now: Timestamp,
        merge: &PendingMerge,
        record: MergeRecord,
        checkout: Option<PathBuf>,
    ) {
        let verb = match merge.how {
            MergeStrategy::Merge => "merged",
            MergeStrategy::Squash => "squashed",
            MergeStrategy::Rebase => "rebased",
        };
        let task = merge.task;
        let outcome = Outcome::Merged { task, how: merge.how, target: merge.target.clone(), checkout };
        let words = format!(
            "The user {verb} the work of \"{}\" ({task}) into {}.",
            self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default(),
            merge.target
        );
        self.notify_ancestors(now, task, &MessageSource::WorkContext, &words);
        let bodies = vec![Work::Merged { merge: record }.into()];
        match merge.ask.clone() {
            Some(ask) => self.approve_with(now, merge.command, task, ask, bodies, outcome),
            None => self.append_work(task, bodies, merge.command, outcome),
        }
    }

    /// Records the user's approval, together with `bodies`.
    pub(in crate::engine::machine) fn approve_with(
        &mut self,
        now: Timestamp,
        command: Option<CommandId>,
        task: TaskId,
        (ask, answer): (AskId, Answer),
        mut bodies: Vec<Body>,
        outcome: Outcome,
    ) {
        bodies.push(AskAnswered { id: ask, answer }.into());
        bodies.push(AskWithdrawn { id: ask, reason: "the work was approved".to_owned() }.into());
        bodies.extend(self.approval(now, task));
        self.append_work(task, bodies, command, outcome);
    }

    pub(super) fn on_merge_conflicts(&mut self, now: Timestamp, merge: &PendingMerge, conflicts: &[Conflict]) {
        let (command, task, target) = (merge.command, merge.task, &merge.target);
        match merge.conflicts {
            // Solved conflicts are in the branch already, so the target has changed again.
            OnConflict::Refuse | OnConflict::Solved => {
                let names: Vec<String> =
                    conflicts.iter().take(SHOWN).map(|conflict| conflict.path.display().to_string()).collect();
                let files = text::count(conflicts.len(), "file", "files");
                let fault = Fault::user(format!(
                    "nothing was merged: it conflicts with {target} in {files}, such as {}",
                    names.join(", ")
                ))
                .hint("let its agent resolve them: `mxd merge TASK --resolve`")
                .hint("or resolve them in your editor: `mxd merge TASK --edit`");
                self.on_merge_failed(now, merge, fault);
            }
            OnConflict::AskAgent => {
                self.release(task);
                let queued: Vec<Body> = self.take_queued_merge(task, DequeueReason::AgentAsked).into_iter().collect();
                let words = format!(
                    "Your branch is to be merged into {target}, and the two conflict. Run `git merge {target}` in your \
                     worktree, resolve the conflicts so that both sides' intentions hold, check that everything still \
                     works, commit, and call done again.{}",
                    conflicts::describe(conflicts)
                );
                self.ask_agent(now, command, task, queued, words);
            }
        }
    }

    /// Handles an empty merge. An approval that requested it counts anyway.
    pub(super) fn nothing_to_merge(&mut self, now: Timestamp, merge: PendingMerge) {
        let PendingMerge { command, task, ask, target, .. } = merge;
        self.drop_queued_merge(task, DequeueReason::NothingToMerge);
        let outcome = Outcome::NothingToMerge { target };
        match ask {
            Some(ask) => self.approve_with(now, command, task, ask, Vec::new(), outcome),
            None => self.finish_work(now, command, task, Ok(outcome)),
        }
    }

    /// Drops the merge from the queue and replies, or notifies the user if it was queued.
    pub(super) fn on_merge_failed(&mut self, now: Timestamp, merge: &PendingMerge, fault: Fault) {
        let PendingMerge { command, task, .. } = *merge;
        let dequeued = self.take_queued_merge(task, DequeueReason::Failed(fault.message.clone()));
        if let Some(dequeued) = dequeued {
            self.append(task, vec![dequeued], AppendContinuation::Nothing);
        }
        if command.is_none() {
            self.notify_merge_failed(task, &fault);
        }
        self.finish_work(now, command, task, Err(fault));
    }

    /// Releases a task without checking for work: a message to it follows.
    fn release(&mut self, task: TaskId) {
        self.runtime(task).holds.remove(Hold::Change);
    }
}
