//! What is done with a task's work: checked, merged, taken back, caught up. The machine decides whether and what to say of
//! it; the driver and git do it. Merges are in [`merging`], those that wait for an agent in [`merge_queue`].

mod conflicts;
mod merge_queue;
mod merging;

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, Outcome};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::rewinding::Return;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Effect, Foreseen, Job, Machine, Pending, UndoneLanding, Worked};
use crate::engine::review::Receipt;
use crate::model::event::Body;
use crate::model::message::Source;
use crate::model::work::Work;
pub(in crate::engine::machine) use merging::MergeOptions;
pub use merging::Merging;

/// A check that is under way.
#[derive(Clone, Debug)]
pub struct Verifying {
    command: CommandId,
    task: TaskId,
}

/// A landing that is being taken back.
#[derive(Clone, Debug)]
pub struct Undoing {
    command: CommandId,
    task: TaskId,
    /// Who works where files are written meanwhile.
    host: Option<TaskId>,
}

/// A look at what an agent has to take in.
#[derive(Clone, Debug)]
pub struct CatchingUp {
    command: CommandId,
    task: TaskId,
    target: String,
}

/// What was done with a task's work, while its event is on the way to the disk.
#[derive(Debug)]
pub(in crate::engine::machine) enum Kept {
    /// Then whoever asked is answered, and the task let go.
    Outcome {
        command: Option<CommandId>,
        task: TaskId,
        outcome: Outcome,
    },
    Return(Return),
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

    /// Starts a job that must not be disturbed.
    pub(super) fn start_job(&mut self, task: TaskId, job: Job) {
        self.life(task).holds.add(Hold::Change);
        self.start_job_aside(task, job);
    }

    /// Starts a job that only looks.
    pub(super) fn start_job_aside(&mut self, task: TaskId, job: Job) {
        self.out.push(Effect::Work { task, job: Box::new(job) });
    }

    pub(super) fn verify(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.at_rest(task, "checked")?;
        let spot = self.spot_of(task)?;
        if spot.verify.is_none() {
            return Err(Fault::user("nothing says how to check this task's work")
                .hint("say it for the project: `mxd config set verify 'COMMAND'`")
                .hint("or for this task: `mxd task edit TASK --verify 'COMMAND'`"));
        }
        self.start_job(task, Job::Verify { spot, then: Verifying { command, task } });
        Ok(())
    }

    pub(super) fn catch_up(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        let spot = self.spot_of(task)?;
        let branch = spot.own_branch()?.to_owned();
        let then = CatchingUp { command, task, target: spot.above.clone() };
        self.start_job_aside(task, Job::Foresee { branch, target: spot.above, then });
        Ok(())
    }

    /// A job is done, or could not be.
    pub(super) fn worked(&mut self, now: Timestamp, worked: Worked) {
        match worked {
            Worked::Verified { then, result } => self.verified(now, &then, result),
            Worked::Prepared { then, result } => self.merge_prepared(now, then, result),
            Worked::Landed { then, result } => self.merge_landed(now, then, result),
            Worked::Undone { then, result } => self.landing_undone(now, &then, result),
            Worked::Foreseen { then, result } => self.foreseen(now, then, result),
            Worked::WentBack { then, result: Ok(went) } => self.went_back(now, then, went),
            Worked::WentBack { then, result: Err(fault) } => self.not_gone_back(now, &then, fault),
            Worked::Forked { then, result: Ok(()) } => self.copied_whole(then),
            Worked::Forked { then, result: Err(fault) } => self.not_forked(now, &then, fault),
            Worked::Measured { task, diff } => self.measured(task, diff),
        }
    }

    fn verified(&mut self, now: Timestamp, then: &Verifying, result: Result<Receipt, Fault>) {
        let result = result.and_then(|receipt| {
            if receipt.passed() {
                Ok(Outcome::Verified { command: receipt.command, duration_ms: receipt.duration_ms })
            } else {
                Err(Fault::user(check_failed(&receipt)))
            }
        });
        self.settle_work(now, Some(then.command), then.task, result);
    }

    fn landing_undone(&mut self, now: Timestamp, then: &Undoing, result: Result<UndoneLanding, Fault>) {
        let Undoing { command, task, host } = *then;
        self.leave_host(now, host);
        match result {
            Ok(UndoneLanding { undo, target, checkout }) => {
                let bodies = vec![Work::LandingUndone { undo, at: now }.into()];
                self.keep_work(task, bodies, Some(command), Outcome::MergeUndone { target, checkout });
            }
            Err(fault) => self.settle_work(now, Some(command), task, Err(fault)),
        }
    }

    fn foreseen(&mut self, now: Timestamp, then: CatchingUp, result: Result<Foreseen, Fault>) {
        let CatchingUp { command, task, target } = then;
        let Foreseen { behind, conflicts } = match result {
            Ok(foreseen) if foreseen.behind > 0 => foreseen,
            Ok(_) => {
                let outcome = Outcome::UpToDate { target };
                return self.out.push(Effect::Reply { id: command, result: Ok(outcome) });
            }
            Err(fault) => return self.settle_work(now, Some(command), task, Err(fault)),
        };
        let commits = text::count(behind, "commit", "commits");
        let words = format!(
            "{target} has {commits} that your branch does not have. Take them in now: run `git merge {target}` in your \
             worktree, resolve what conflicts so that both sides' intentions hold, check that everything still works, and \
             commit.{}",
            conflicts::about(&conflicts)
        );
        self.ask_agent(now, Some(command), task, Vec::new(), words);
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
        let kept = Kept::Outcome { command, task, outcome };
        self.append(task, bodies, Pending::Work(Box::new(kept)));
    }

    pub(super) fn work_kept(&mut self, now: Timestamp, kept: Kept) {
        match kept {
            Kept::Outcome { command, task, outcome } => {
                if command.is_none() {
                    self.say_merged(task, &outcome);
                }
                self.settle_work(now, command, task, Ok(outcome));
            }
            Kept::Return(back) => self.returned(now, &back),
        }
    }

    pub(super) fn work_not_kept(&mut self, now: Timestamp, kept: &Kept, fault: Fault) {
        match kept {
            Kept::Outcome { command, task, .. } => {
                if command.is_none() {
                    self.say_not_kept(*task, &fault);
                }
                self.settle_work(now, *command, *task, Err(fault));
            }
            Kept::Return(back) => self.not_gone_back(now, back, fault),
        }
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
