//! Operations on a task's work: check, merge, undo, catch up. The machine decides and words messages; the driver runs
//! the jobs. Merges are in [`merging`], merges that wait for an agent in [`merge_queue`].

mod conflicts;
mod merge_queue;
mod merging;

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, Outcome};
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::handover::PendingHandover;
use crate::engine::machine::rewind::PendingRewind;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{AppendContinuation, CatchUpPreview, Effect, Job, JobOutcome, Machine, UndoneMerge};
use crate::engine::review::CheckResult;
use crate::model::event::Body;
use crate::model::message::MessageSource;
use crate::model::work::Work;
pub(in crate::engine::machine) use merging::MergeOptions;
pub use merging::PendingMerge;

/// A running check.
#[derive(Clone, Debug)]
pub struct PendingVerify {
    command: CommandId,
    task: TaskId,
}

/// A merge that is being undone.
#[derive(Clone, Debug)]
pub struct PendingUndo {
    command: CommandId,
    task: TaskId,
    /// The task in whose checkout files are written.
    host: Option<TaskId>,
}

/// A running preview of the merge that an agent is asked to make.
#[derive(Clone, Debug)]
pub struct PendingCatchUp {
    command: CommandId,
    task: TaskId,
    target: String,
}

/// A continuation that runs once the record of an operation is in the session.
#[derive(Debug)]
pub(in crate::engine::machine) enum WorkContinuation {
    /// Reply and release the task.
    Outcome {
        command: Option<CommandId>,
        task: TaskId,
        outcome: Outcome,
    },
    Rewind(PendingRewind),
    Handover(PendingHandover),
}

impl WorkContinuation {
    pub(in crate::engine::machine) fn task(&self) -> TaskId {
        match self {
            Self::Outcome { task, .. } => *task,
            Self::Rewind(pending) => pending.task,
            Self::Handover(PendingHandover(request)) => request.task,
        }
    }
}

impl Machine {
    /// Refuses an operation while an agent works in the task's worktree.
    pub(super) fn check_idle(&self, task: TaskId, verb: &str) -> Result<(), Fault> {
        self.node(task)?;
        if self.is_busy(task) {
            return Err(Fault::user(format!("{} cannot be {verb}: it is at work", self.task_label(task)))
                .hint("wait until it is idle, or stop it: `mxd stop TASK`"));
        }
        Ok(())
    }

    /// Starts a job and holds the task until it is done.
    pub(super) fn start_job(&mut self, task: TaskId, job: Job) {
        self.runtime(task).holds.add(Hold::Change);
        self.start_read_only_job(task, job);
    }

    /// Starts a job that changes nothing, without a hold.
    pub(super) fn start_read_only_job(&mut self, task: TaskId, job: Job) {
        self.out.push(Effect::RunJob { task, job: Box::new(job) });
    }

    pub(super) fn verify(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.check_idle(task, "checked")?;
        let location = self.location_of(task)?;
        if location.verify.is_none() {
            return Err(Fault::user("no verify command is set")
                .hint("set it for the project: `mxd config set verify 'COMMAND'`")
                .hint("or for this task: `mxd task edit TASK --verify 'COMMAND'`"));
        }
        self.start_job(task, Job::Verify { location, then: PendingVerify { command, task } });
        Ok(())
    }

    pub(super) fn catch_up(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        let location = self.location_of(task)?;
        let branch = location.own_branch()?.to_owned();
        let then = PendingCatchUp { command, task, target: location.parent_branch.clone() };
        self.start_read_only_job(task, Job::PreviewCatchUp { branch, target: location.parent_branch, then });
        Ok(())
    }

    /// Handles the result of a job.
    pub(super) fn on_job_done(&mut self, now: Timestamp, outcome: JobOutcome) {
        match outcome {
            JobOutcome::Verified { then, result } => self.on_verified(now, &then, result),
            JobOutcome::MergePrepared { then, result } => self.on_merge_prepared(now, then, result),
            JobOutcome::Merged { then, result } => self.on_merged(now, then, result),
            JobOutcome::MergeUndone { then, result } => self.on_merge_undone(now, &then, result),
            JobOutcome::CatchUpPreviewed { then, result } => self.on_catch_up_previewed(now, then, result),
            JobOutcome::Rewound { then, result: Ok(outcome) } => self.on_files_rewound(now, *then, outcome),
            JobOutcome::Rewound { then, result: Err(fault) } => self.on_rewind_failed(now, &then, fault),
            JobOutcome::Forked { then, result: Ok(()) } => self.on_fork_copied(then),
            JobOutcome::Forked { then, result: Err(fault) } => self.on_fork_failed(now, &then, fault),
            JobOutcome::HandoverNoted { then, result } => self.on_handover_note(now, then, result),
            JobOutcome::Measured { task, diff } => self.on_measured(task, diff),
        }
    }

    fn on_verified(&mut self, now: Timestamp, then: &PendingVerify, result: Result<CheckResult, Fault>) {
        let result = result.and_then(|receipt| {
            if receipt.passed() {
                Ok(Outcome::Verified { command: receipt.command, duration_ms: receipt.duration_ms })
            } else {
                Err(Fault::user(check_failed(&receipt)))
            }
        });
        self.finish_work(now, Some(then.command), then.task, result);
    }

    fn on_merge_undone(&mut self, now: Timestamp, then: &PendingUndo, result: Result<UndoneMerge, Fault>) {
        let PendingUndo { command, task, host } = *then;
        self.release_host(now, host);
        match result {
            Ok(UndoneMerge { undo, target, checkout }) => {
                let bodies = vec![Work::MergeUndone { undo, at: now }.into()];
                self.append_work(task, bodies, Some(command), Outcome::MergeUndone { target, checkout });
            }
            Err(fault) => self.finish_work(now, Some(command), task, Err(fault)),
        }
    }

    fn on_catch_up_previewed(&mut self, now: Timestamp, then: PendingCatchUp, result: Result<CatchUpPreview, Fault>) {
        let PendingCatchUp { command, task, target } = then;
        let CatchUpPreview { behind, conflicts } = match result {
            Ok(preview) if preview.behind > 0 => preview,
            Ok(_) => {
                let outcome = Outcome::UpToDate { target };
                return self.out.push(Effect::Reply { id: command, result: Ok(outcome) });
            }
            Err(fault) => return self.finish_work(now, Some(command), task, Err(fault)),
        };
        let commits = text::count(behind, "commit", "commits");
        let words = format!(
            "{target} has {commits} that your branch does not have. Take them in now: run `git merge {target}` in your \
             worktree, resolve what conflicts so that both sides' intentions hold, check that everything still works, and \
             commit.{}",
            conflicts::describe(&conflicts)
        );
        self.ask_agent(now, Some(command), task, Vec::new(), words);
    }

    /// Sends a message to the agent as the user, in one append with `with`.
    fn ask_agent(
        &mut self,
        now: Timestamp,
        command: Option<CommandId>,
        task: TaskId,
        mut with: Vec<Body>,
        words: String,
    ) {
        let message = self.message(now, MessageSource::User, words);
        let then = command
            .map_or(AppendContinuation::Nothing, |id| AppendContinuation::Reply(id, Outcome::AgentAsked(message.id)));
        with.extend(self.withdraw_review(task, "the agent was asked to change the work"));
        self.deliver_with(task, with, message, DeliveryPlan::from_user(), then);
    }

    /// Records an operation in the session, then replies.
    pub(super) fn append_work(
        &mut self,
        task: TaskId,
        bodies: Vec<Body>,
        command: Option<CommandId>,
        outcome: Outcome,
    ) {
        let then = WorkContinuation::Outcome { command, task, outcome };
        self.append(task, bodies, AppendContinuation::Work(Box::new(then)));
    }

    pub(super) fn on_work_appended(&mut self, now: Timestamp, then: WorkContinuation) {
        match then {
            WorkContinuation::Outcome { command, task, outcome } => {
                if command.is_none() {
                    self.notify_merged(task, &outcome);
                }
                self.finish_work(now, command, task, Ok(outcome));
            }
            WorkContinuation::Rewind(pending) => self.finish_rewind(now, &pending),
            WorkContinuation::Handover(PendingHandover(request)) => self.finish_handover(now, request),
        }
    }

    pub(super) fn on_work_append_failed(&mut self, now: Timestamp, then: &WorkContinuation, fault: Fault) {
        match then {
            WorkContinuation::Outcome { command, task, .. } => {
                if command.is_none() {
                    self.notify_merge_unrecorded(*task, &fault);
                }
                self.finish_work(now, *command, *task, Err(fault));
            }
            WorkContinuation::Rewind(pending) => self.on_rewind_failed(now, pending, fault),
            WorkContinuation::Handover(PendingHandover(request)) => {
                self.finish_work(now, request.origin.command, request.task, Err(fault));
            }
        }
    }

    /// Replies and releases the task.
    pub(super) fn finish_work(
        &mut self,
        now: Timestamp,
        command: Option<CommandId>,
        task: TaskId,
        result: Result<Outcome, Fault>,
    ) {
        self.out.extend(command.map(|id| Effect::Reply { id, result }));
        if self.runtimes.contains_key(&task) {
            self.release_holds(now, &[task]);
        }
    }
}

fn check_failed(receipt: &CheckResult) -> String {
    let how = receipt.exit.map_or_else(|| "did not finish".to_owned(), |code| format!("failed with exit code {code}"));
    let output = text::suffix(receipt.output.trim(), 1_000);
    if output.is_empty() {
        format!("`{}` {how}", receipt.command)
    } else {
        format!("`{}` {how}:\n{output}", receipt.command)
    }
}
