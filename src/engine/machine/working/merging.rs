//! Merges of a task's work and the way back, from what is asked to what is said of it. Files are only written while nobody is
//! at work where the target is checked out: until then a merge waits in the queue of [`super::merge_queue`].

use std::path::PathBuf;

use super::conflicts::{self, SHOWN};
use super::{Undoing, check_failed};
use crate::base::{AskId, Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, OnConflict, Outcome};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Job, LandResult, Machine, Pending, Preparation};
use crate::engine::review::{Conflict, Goal, How, Landing};
use crate::model::Answer;
use crate::model::event::{AskAnswered, AskWithdrawn, Body};
use crate::model::message::Source;
use crate::model::work::{DequeueReason, Work};

/// What the user wants of a merge.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::machine) struct MergeOptions {
    pub(in crate::engine::machine) into: Goal,
    pub(in crate::engine::machine) how: How,
    pub(in crate::engine::machine) conflicts: OnConflict,
}

/// A merge that was asked for.
#[derive(Clone, Debug)]
pub struct Merging {
    /// `None` if it was queued: whoever asked was answered then.
    pub(super) command: Option<CommandId>,
    pub(super) task: TaskId,
    pub(super) target: String,
    pub(super) how: How,
    pub(super) conflicts: OnConflict,
    /// The question that is answered by it.
    pub(super) ask: Option<(AskId, Answer)>,
    /// Who works where the target is checked out, while nobody may begin there.
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
        self.at_rest(task, "merged")?;
        let spot = self.spot_of(task)?;
        spot.own_branch()?;
        let target = spot.target(into).to_owned();
        if (conflicts, how) == (OnConflict::Solved, How::Rebase) {
            return Err(Fault::user(
                "what was solved for both branches does not say what each commit becomes in a rebase",
            )
            .hint("merge or squash instead"));
        }
        let host = self.host_of(task, &target);
        let merging = Merging { command: Some(command), task, target: target.clone(), how, conflicts, ask, host: None };
        if self.is_working(host) {
            // Where no agents are started the queue stands still: whoever asks again in a moment is better off.
            if self.limits.hold {
                return Err(self.host_at_work(host, &target));
            }
            self.queue_merge(now, merging, host);
            return Ok(());
        }
        self.start_job(task, Job::Prepare { spot, target, conflicts, then: merging });
        Ok(())
    }

    /// Returns who works where a target is checked out.
    pub(super) fn host_of(&self, task: TaskId, target: &str) -> TaskId {
        let host = self.tree.ancestors(task).find(|above| above.branch.as_deref() == Some(target));
        host.map_or(self.tree.root_id(), |above| above.id)
    }

    fn host_at_work(&self, host: TaskId, target: &str) -> Fault {
        Fault::user(format!(
            "{} is at work where {target} is checked out: its files would change under its hands",
            self.named(host)
        ))
        .hint("try again when it rests, or stop it first: `mxd stop TASK`")
    }

    /// It is known whether a branch can be brought into another. A queued merge holds its host until it is over: nobody
    /// begins there between the check and the merge.
    pub(super) fn merge_prepared(&mut self, now: Timestamp, merging: Merging, result: Result<Preparation, Fault>) {
        if let Ok(Preparation::Ready { commit }) = result {
            return self.prepared(now, merging, commit);
        }
        self.leave_host(now, merging.host);
        match result {
            Ok(Preparation::CheckFailed(receipt)) => {
                let fault = Fault::user(format!("nothing was merged: {}", check_failed(&receipt)));
                self.merge_failed(now, &merging, fault);
            }
            Ok(Preparation::Conflicts(conflicts)) => self.conflicted(now, &merging, &conflicts),
            Ok(Preparation::NothingToLand | Preparation::Ready { .. }) => self.nothing_to_merge(now, merging),
            Err(fault) => self.merge_failed(now, &merging, fault),
        }
    }

    /// Files were written, or not.
    pub(super) fn merge_landed(&mut self, now: Timestamp, merging: Merging, result: Result<LandResult, Fault>) {
        self.leave_host(now, merging.host);
        match result {
            Ok(LandResult::Landed { landing, checkout }) => self.landed(now, &merging, landing, checkout),
            Ok(LandResult::Conflicts(conflicts)) => self.conflicted(now, &merging, &conflicts),
            Ok(LandResult::NothingToLand) => self.nothing_to_merge(now, merging),
            Err(fault) => self.merge_failed(now, &merging, fault),
        }
    }

    /// Everything is checked, which may have taken long: files are written next, while nobody works there.
    fn prepared(&mut self, now: Timestamp, merging: Merging, commit: String) {
        let Merging { task, how, .. } = merging;
        let target = merging.target.clone();
        let host = match merging.host {
            Some(host) => host,
            None => {
                let host = self.host_of(task, &target);
                if self.is_working(host) {
                    return self.queue_merge(now, merging, host);
                }
                self.visit(host);
                host
            }
        };
        let then = Merging { host: Some(host), ..merging };
        match self.spot_of(task) {
            Ok(spot) => {
                let message = self.merge_message(task);
                self.start_job(task, Job::Land { spot, target, how, message, commit, then });
            }
            Err(fault) => {
                self.leave_host(now, then.host);
                self.merge_failed(now, &then, fault);
            }
        }
    }

    /// Lets nobody begin where files are being written.
    pub(super) fn visit(&mut self, host: TaskId) {
        self.life(host).holds.add(Hold::Merge);
    }

    /// Nothing is written any more where the target is checked out.
    pub(super) fn leave_host(&mut self, now: Timestamp, host: Option<TaskId>) {
        let Some(host) = host else { return };
        if let Some(life) = self.lives.get_mut(&host) {
            life.holds.remove(Hold::Merge);
        }
        self.reconsider(now, host);
    }

    /// Returns what the commit of a merge says: the task, and what its agent reported.
    fn merge_message(&self, task: TaskId) -> String {
        let Some(node) = self.tree.get(task) else { return String::new() };
        let result = node.results.last().map(|round| round.result.trim()).unwrap_or_default();
        let title = text::headline(&node.title, 72);
        if result.is_empty() { title } else { format!("{title}\n\n{result}") }
    }

    pub(in crate::engine::machine) fn undo_merge(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.at_rest(task, "changed")?;
        let landing = self.state(task).and_then(|state| state.work.landing.clone());
        let host = landing.as_ref().map(|landing| self.host_of(task, &landing.target));
        if let (Some(host), Some(landing)) = (host, &landing) {
            if self.is_working(host) {
                return Err(self.host_at_work(host, &landing.target));
            }
            self.visit(host);
        }
        let undo = landing.map(|landing| landing.undo);
        self.start_job(task, Job::UndoLanding { undo, then: Undoing { command, task, host } });
        Ok(())
    }

    pub(super) fn landed(&mut self, now: Timestamp, merging: &Merging, landing: Landing, checkout: Option<PathBuf>) {
        let verb = match merging.how {
            How::Merge => "merged",
            How::Squash => "squashed",
            How::Rebase => "rebased",
        };
        let task = merging.task;
        let outcome = Outcome::Merged { task, how: merging.how, target: merging.target.clone(), checkout };
        let words = format!(
            "The person {verb} the work of \"{}\" ({task}) into {}.",
            self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default(),
            merging.target
        );
        self.tell_above(now, task, &Source::WorkContext, &words);
        let bodies = vec![Work::Landed { landing }.into()];
        match merging.ask.clone() {
            Some(ask) => self.approve_with(now, merging.command, task, ask, bodies, outcome),
            None => self.keep_work(task, bodies, merging.command, outcome),
        }
    }

    /// Says in the session that the person approved the work, together with what else happened.
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
        self.keep_work(task, bodies, command, outcome);
    }

    pub(super) fn conflicted(&mut self, now: Timestamp, merging: &Merging, conflicts: &[Conflict]) {
        let (command, task, target) = (merging.command, merging.task, &merging.target);
        match merging.conflicts {
            // What was solved is in the branch by now: the target has gained something else.
            OnConflict::Refuse | OnConflict::Solved => {
                let names: Vec<String> =
                    conflicts.iter().take(SHOWN).map(|conflict| conflict.path.display().to_string()).collect();
                let files = text::count(conflicts.len(), "file", "files");
                let fault = Fault::user(format!(
                    "nothing was merged: it conflicts with {target} in {files}, such as {}",
                    names.join(", ")
                ))
                .hint("let its agent resolve it: `mxd merge TASK --resolve`")
                .hint("or solve it yourself, in your editor: `mxd merge TASK --edit`");
                self.merge_failed(now, merging, fault);
            }
            OnConflict::AskAgent => {
                self.release(task);
                let queued: Vec<Body> = self.take_queued_merge(task, DequeueReason::AgentAsked).into_iter().collect();
                let words = format!(
                    "Your branch is to be merged into {target}, and the two conflict. Run `git merge {target}` in your \
                     worktree, resolve the conflicts so that both sides' intentions hold, check that everything still \
                     works, commit, and call done again.{}",
                    conflicts::about(conflicts)
                );
                self.ask_agent(now, command, task, queued, words);
            }
        }
    }

    /// The target has everything: an approval that asked for the merge counts all the same.
    pub(super) fn nothing_to_merge(&mut self, now: Timestamp, merging: Merging) {
        let Merging { command, task, ask, target, .. } = merging;
        self.drop_queued_merge(task, DequeueReason::NothingToMerge);
        let outcome = Outcome::NothingToMerge { target };
        match ask {
            Some(ask) => self.approve_with(now, command, task, ask, Vec::new(), outcome),
            None => self.settle_work(now, command, task, Ok(outcome)),
        }
    }

    /// Nothing was merged. Whoever waits is told; if nobody does, the user is.
    pub(super) fn merge_failed(&mut self, now: Timestamp, merging: &Merging, fault: Fault) {
        let Merging { command, task, .. } = *merging;
        let dequeued = self.take_queued_merge(task, DequeueReason::Failed(fault.message.clone()));
        if let Some(dequeued) = dequeued {
            self.append(task, vec![dequeued], Pending::Nothing);
        }
        if command.is_none() {
            self.say_merge_failed(task, &fault);
        }
        self.settle_work(now, command, task, Err(fault));
    }

    /// Lets a task go without looking whether it has something to do: something is about to be said to it.
    fn release(&mut self, task: TaskId) {
        self.life(task).holds.remove(Hold::Change);
    }
}
