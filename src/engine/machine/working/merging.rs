//! Merges of a task's work and the way back, from what is asked to what is said of it. Files are only written while nobody is
//! at work where the target is checked out.

use std::path::PathBuf;

use super::Waiting;
use super::conflicts::{self, SHOWN};
use crate::base::{AskId, Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, OnConflict, Outcome};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Job, Machine};
use crate::engine::review::{Conflict, Goal, How, Landing};
use crate::model::Answer;
use crate::model::event::{AskAnswered, AskWithdrawn, Body};
use crate::model::message::Source;
use crate::model::work::Work;

/// A merge that was asked for.
#[derive(Clone, Debug)]
pub(in crate::engine::machine) struct Merging {
    pub(super) command: CommandId,
    pub(super) task: TaskId,
    pub(super) target: String,
    how: How,
    conflicts: OnConflict,
    /// The question that is answered by it.
    pub(super) ask: Option<(AskId, Answer)>,
    /// Who works where the target is checked out, while files are written there.
    host: Option<TaskId>,
}

impl Machine {
    pub(in crate::engine::machine) fn merge(
        &mut self,
        command: CommandId,
        task: TaskId,
        into: Goal,
        how: How,
        conflicts: OnConflict,
        ask: Option<(AskId, Answer)>,
    ) -> Result<(), Fault> {
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
        self.host_at_rest(task, &target)?;
        let merging = Merging { command, task, target: target.clone(), how, conflicts, ask, host: None };
        self.start_job(task, Job::Prepare { spot, target, conflicts }, Waiting::Merge(merging));
        Ok(())
    }

    /// Returns who works where a target is checked out. Refused while they are at work.
    fn host_at_rest(&self, task: TaskId, target: &str) -> Result<TaskId, Fault> {
        let host = self.tree.ancestors(task).find(|above| above.branch.as_deref() == Some(target));
        let host = host.map_or(self.tree.root_id(), |above| above.id);
        if self.is_working(host) {
            return Err(Fault::user(format!(
                "{} is at work where {target} is checked out: its files would change under its hands",
                self.named(host)
            ))
            .hint("wait until it rests, or stop it: `mxd stop TASK`"));
        }
        Ok(host)
    }

    /// Everything is checked, which may have taken long: files are written next, while nobody works there.
    pub(super) fn prepared(&mut self, now: Timestamp, merging: Merging, commit: String) {
        let Merging { command, task, how, .. } = merging;
        let target = merging.target.clone();
        let ready = self.host_at_rest(task, &target).and_then(|host| Ok((host, self.spot_of(task)?)));
        match ready {
            Ok((host, spot)) => {
                self.visit(host);
                let message = self.merge_message(task);
                let job = Job::Land { spot, target, how, message, commit };
                self.start_job(task, job, Waiting::Merge(Merging { host: Some(host), ..merging }));
            }
            Err(fault) => {
                let fault = Fault { message: format!("nothing was merged: {}", fault.message), ..fault };
                self.settle_work(now, Some(command), task, Err(fault));
            }
        }
    }

    /// Lets nobody begin where files are being written.
    fn visit(&mut self, host: TaskId) {
        self.life(host).holds.add(Hold::Merge);
    }

    /// Nothing is written any more where the target is checked out.
    pub(super) fn leave_host(&mut self, now: Timestamp, waiting: &Waiting) {
        let (Waiting::Merge(Merging { host: Some(host), .. }) | Waiting::Undo { host: Some(host), .. }) = waiting
        else {
            return;
        };
        if let Some(life) = self.lives.get_mut(host) {
            life.holds.remove(Hold::Merge);
        }
        self.reconsider(now, *host);
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
        let host = landing.as_ref().map(|landing| self.host_at_rest(task, &landing.target)).transpose()?;
        if let Some(host) = host {
            self.visit(host);
        }
        let undo = landing.map(|landing| landing.undo);
        self.start_job(task, Job::UndoLanding { undo }, Waiting::Undo { command, task, host });
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
            None => self.keep_work(task, bodies, Some(merging.command), outcome),
        }
    }

    /// Says in the session that the person approved the work, together with what else happened.
    pub(in crate::engine::machine) fn approve_with(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        (ask, answer): (AskId, Answer),
        mut bodies: Vec<Body>,
        outcome: Outcome,
    ) {
        bodies.push(AskAnswered { id: ask, answer }.into());
        bodies.push(AskWithdrawn { id: ask, reason: "the work was approved".to_owned() }.into());
        bodies.extend(self.approval(now, task));
        self.keep_work(task, bodies, Some(command), outcome);
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
                self.settle_work(now, Some(command), task, Err(fault));
            }
            OnConflict::AskAgent => {
                self.release(task);
                let words = format!(
                    "Your branch is to be merged into {target}, and the two conflict. Run `git merge {target}` in your \
                     worktree, resolve the conflicts so that both sides' intentions hold, check that everything still \
                     works, commit, and call done again.{}",
                    conflicts::about(conflicts)
                );
                self.ask_agent(now, command, task, words);
            }
        }
    }

    /// Lets a task go without looking whether it has something to do: something is about to be said to it.
    fn release(&mut self, task: TaskId) {
        self.life(task).holds.remove(Hold::Change);
    }
}
