//! What is done with a task's work: checked, merged, taken back, caught up. The machine decides whether and what to say of
//! it; the driver and git do it. Merges are in [`merging`], those that wait for an agent in [`merge_queue`].

mod conflicts;
mod merge_queue;
mod merging;

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, Outcome};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::rewinding::{Forking, Return};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Effect, EffectId, Job, Machine, Pending, Worked};
use crate::engine::review::Receipt;
use crate::model::event::Body;
use crate::model::message::Source;
use crate::model::work::Work;
pub(in crate::engine::machine) use merging::MergeOptions;
use merging::Merging;

/// What waits for a job with a task's work, or for the event that says how it ended.
#[derive(Debug)]
pub(in crate::engine::machine) enum Waiting {
    Verify {
        command: CommandId,
        task: TaskId,
    },
    Merge(Merging),
    Undo {
        command: CommandId,
        task: TaskId,
        /// Who works where files are written meanwhile.
        host: Option<TaskId>,
    },
    CatchUp {
        command: CommandId,
        task: TaskId,
        target: String,
    },
    Return(Return),
    Fork(Forking),
    Measure {
        task: TaskId,
    },
    /// Its event is on the way to the disk: then whoever asked is answered, and the task let go.
    Kept {
        command: Option<CommandId>,
        task: TaskId,
        outcome: Outcome,
    },
}

impl Waiting {
    fn task(&self) -> TaskId {
        match self {
            Self::Verify { task, .. }
            | Self::Undo { task, .. }
            | Self::CatchUp { task, .. }
            | Self::Measure { task }
            | Self::Kept { task, .. } => *task,
            Self::Merge(merging) => merging.task,
            Self::Return(back) => back.task,
            Self::Fork(forking) => forking.to,
        }
    }

    fn command(&self) -> Option<CommandId> {
        match self {
            Self::Verify { command, .. } | Self::Undo { command, .. } | Self::CatchUp { command, .. } => Some(*command),
            Self::Merge(merging) => merging.command,
            Self::Return(back) => back.command,
            Self::Fork(forking) => Some(forking.command),
            Self::Measure { .. } => None,
            Self::Kept { command, .. } => *command,
        }
    }
}

impl Machine {
    /// Refuses what must not happen while an agent is at work in a task's worktree.
    pub(super) fn at_rest(&self, task: TaskId, verb: &str) -> Result<(), Fault> {
        self.node(task)?;
        if self.is_busy(task) {
            return Err(Fault::user(format!("{} cannot be {verb}: it is at work", self.named(task)))
                .hint("wait until it rests, or stop it: `mxd stop TASK`"));
        }
        Ok(())
    }

    pub(super) fn start_job(&mut self, task: TaskId, job: Job, waiting: Waiting) {
        self.life(task).holds.add(Hold::Change);
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Work(Box::new(waiting)));
        self.out.push(Effect::Work { ticket, task, job: Box::new(job) });
    }

    pub(super) fn verify(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.at_rest(task, "checked")?;
        let spot = self.spot_of(task)?;
        if spot.verify.is_none() {
            return Err(Fault::user("nothing says how to check this task's work")
                .hint("say it for the project: `mxd config set verify 'COMMAND'`")
                .hint("or for this task: `mxd task edit TASK --verify 'COMMAND'`"));
        }
        self.start_job(task, Job::Verify(spot), Waiting::Verify { command, task });
        Ok(())
    }

    pub(super) fn catch_up(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        let spot = self.spot_of(task)?;
        let branch = spot.own_branch()?.to_owned();
        let ticket = self.number();
        let waiting = Waiting::CatchUp { command, task, target: spot.above.clone() };
        self.pending.insert(ticket, Pending::Work(Box::new(waiting)));
        let job = Box::new(Job::Foresee { branch, target: spot.above });
        self.out.push(Effect::Work { ticket, task, job });
        Ok(())
    }

    /// A job is done, or could not be.
    pub(super) fn worked(&mut self, now: Timestamp, ticket: EffectId, result: Result<Worked, Fault>) {
        let Some(Pending::Work(waiting)) = self.pending.remove(&ticket) else { return };
        // A queued merge holds its host until it is over: nobody begins there between the check and the merge.
        if !matches!(result, Ok(Worked::Prepared { .. })) {
            self.leave_host(now, &waiting);
        }
        match result {
            Ok(worked) => self.go_on_working(now, *waiting, worked),
            Err(fault) => self.work_failed(now, &waiting, fault),
        }
    }

    fn go_on_working(&mut self, now: Timestamp, waiting: Waiting, worked: Worked) {
        match (waiting, worked) {
            (Waiting::Merge(merging), Worked::Prepared { commit }) => self.prepared(now, merging, commit),
            (Waiting::Merge(merging), Worked::Landed { landing, checkout }) => {
                self.landed(now, &merging, landing, checkout);
            }
            (Waiting::Merge(merging), Worked::Conflicts(conflicts)) => self.conflicted(now, &merging, &conflicts),
            (Waiting::Merge(merging), Worked::NothingToLand) => self.nothing_to_merge(now, merging),
            (Waiting::Merge(merging), Worked::CheckFailed(receipt)) => {
                let fault = Fault::user(format!("nothing was merged: {}", check_failed(&receipt)));
                self.merge_failed(now, &merging, fault);
            }
            (Waiting::Verify { command, task }, Worked::Verified(receipt)) => {
                let result = if receipt.passed() {
                    Ok(Outcome::Verified { command: receipt.command, duration_ms: receipt.duration_ms })
                } else {
                    Err(Fault::user(check_failed(&receipt)))
                };
                self.settle_work(now, Some(command), task, result);
            }
            (Waiting::Undo { command, task, .. }, Worked::Undone { undo, target, checkout }) => {
                let bodies = vec![Work::LandingUndone { undo, at: now }.into()];
                self.keep_work(task, bodies, Some(command), Outcome::MergeUndone { target, checkout });
            }
            (Waiting::CatchUp { command, task, target }, Worked::Foreseen { behind, conflicts }) => {
                if behind == 0 {
                    let outcome = Outcome::UpToDate { target };
                    return self.out.push(Effect::Reply { id: command, result: Ok(outcome) });
                }
                let commits = text::count(behind, "commit", "commits");
                let words = format!(
                    "{target} has {commits} that your branch does not have. Take them in now: run `git merge {target}` in \
                     your worktree, resolve what conflicts so that both sides' intentions hold, check that everything \
                     still works, and commit.{}",
                    conflicts::about(&conflicts)
                );
                self.ask_agent(now, Some(command), task, Vec::new(), words);
            }
            (Waiting::Return(back), Worked::WentBack(went)) => self.went_back(now, back, went),
            (Waiting::Fork(forking), Worked::Forked) => self.copied_whole(forking),
            (Waiting::Measure { task }, Worked::Measured(diff)) => self.measured(task, diff),
            // Every job answers in its own words.
            (waiting, worked) => {
                let fault = Fault::internal(format!("an answer that fits no question: {worked:?}"));
                self.work_failed(now, &waiting, fault);
            }
        }
    }

    /// Says something to the agent in the person's name, in one append with what it belongs to.
    fn ask_agent(
        &mut self,
        now: Timestamp,
        command: Option<CommandId>,
        task: TaskId,
        mut with: Vec<Body>,
        words: String,
    ) {
        let message = self.message(now, Source::User, words);
        let then = command.map_or(Pending::Nothing, |id| Pending::Reply(id, Outcome::AgentAsked(message.id)));
        with.extend(self.withdraw_review(task, "the agent was asked to change the work"));
        self.deliver_with(task, with, message, Plan::of_user(), then);
    }

    /// Says in the session what was done; then whoever asked is answered.
    pub(super) fn keep_work(&mut self, task: TaskId, bodies: Vec<Body>, command: Option<CommandId>, outcome: Outcome) {
        let kept = Waiting::Kept { command, task, outcome };
        self.append(task, bodies, Pending::Work(Box::new(kept)));
    }

    pub(super) fn work_kept(&mut self, now: Timestamp, waiting: Waiting) {
        match waiting {
            Waiting::Kept { command, task, outcome } => {
                if command.is_none() {
                    self.say_merged(task, &outcome);
                }
                self.settle_work(now, command, task, Ok(outcome));
            }
            Waiting::Return(back) => self.returned(now, &back),
            Waiting::Verify { .. }
            | Waiting::Merge(_)
            | Waiting::Undo { .. }
            | Waiting::CatchUp { .. }
            | Waiting::Fork(_)
            | Waiting::Measure { .. } => {}
        }
    }

    pub(super) fn work_failed(&mut self, now: Timestamp, waiting: &Waiting, fault: Fault) {
        let task = waiting.task();
        match waiting {
            Waiting::Return(back) if back.began(self) => self.stayed(task, &fault),
            Waiting::Fork(forking) => return self.not_forked(now, forking, fault),
            Waiting::Merge(merging) => return self.merge_failed(now, merging, fault),
            Waiting::Kept { command: None, .. } => self.say_not_kept(task, &fault),
            Waiting::Measure { .. } => self.measured(task, None),
            Waiting::Verify { .. }
            | Waiting::Undo { .. }
            | Waiting::CatchUp { .. }
            | Waiting::Return(_)
            | Waiting::Kept { .. } => {}
        }
        self.settle_work(now, waiting.command(), task, Err(fault));
    }

    /// Answers whoever asked, and lets the task go.
    pub(super) fn settle_work(
        &mut self,
        now: Timestamp,
        command: Option<CommandId>,
        task: TaskId,
        result: Result<Outcome, Fault>,
    ) {
        self.out.extend(command.map(|id| Effect::Reply { id, result }));
        if self.lives.contains_key(&task) {
            self.let_go(now, &[task]);
        }
    }
}

fn check_failed(receipt: &Receipt) -> String {
    let how = receipt
        .exit
        .map_or_else(|| "did not come to its end".to_owned(), |code| format!("failed with exit code {code}"));
    let said = text::suffix(receipt.output.trim(), 1_000);
    if said.is_empty() {
        format!("`{}` {how}", receipt.command)
    } else {
        format!("`{}` {how}:\n{said}", receipt.command)
    }
}
