//! Reviews: sends the user's comments to an agent, and holds finished work until the user approves it.

use crate::base::{AskId, EventId, Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, OnConflict, Outcome};
use crate::engine::machine::TaskRuntime;
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::slot::CompletionState;
use crate::engine::machine::work::MergeOptions;
use crate::engine::machine::{AppendContinuation, Job, Machine};
use crate::engine::review::{MergeStrategy, MergeTarget, ReviewComment, ReviewRound};
use crate::engine::snapshot::DiffStat;
use crate::model::ask::{AnsweredBy, AskReply, ChoiceId, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body, Exit};
use crate::model::message::MessageSource;
use crate::model::work::Work;
use crate::model::{Answer, Ask, AskKind};

impl Machine {
    pub(super) fn review(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        comments: Vec<ReviewComment>,
        words: String,
        state: Option<String>,
    ) -> Result<(), Fault> {
        self.node(task)?;
        let with = self.withdraw_review(task, "the user sent comments");
        self.send_round(now, command, task, comments, words, state, with)
    }

    #[expect(clippy::too_many_arguments, reason = "they are the parts of a review")]
    fn send_round(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        comments: Vec<ReviewComment>,
        words: String,
        state: Option<String>,
        mut with: Vec<Body>,
    ) -> Result<(), Fault> {
        let empty = |comment: &ReviewComment| comment.text.trim().is_empty();
        if comments.iter().any(empty) || (comments.is_empty() && words.trim().is_empty()) {
            return Err(Fault::user("nothing to send: a comment is empty"));
        }
        let mut message = self.message(now, MessageSource::User, "");
        let round = ReviewRound { comments, words, state, message: message.id };
        message.body = format!("I have looked at your work.\n\n{round}");
        let outcome = self.sent_outcome(task, message.id);
        with.push(Work::Reviewed { round }.into());
        self.deliver_with(task, with, message, DeliveryPlan::from_user(), AppendContinuation::Reply(command, outcome));
        Ok(())
    }

    /// Returns the events that withdraw an open review of a task's work.
    pub(super) fn withdraw_review(&self, task: TaskId, reason: &str) -> Vec<Body> {
        let Some(runtime) = self.runtimes.get(&task) else { return Vec::new() };
        let open = runtime.state.asks.iter().filter(|ask| ask.kind() == AskKind::Review);
        open.map(|ask| AskWithdrawn { id: ask.id, reason: reason.to_owned() }.into()).collect()
    }

    /// Returns true if the end of a run waits for the user's review. Requests the review if that has not been done.
    pub(super) fn awaits_review(&mut self, task: TaskId, exit: EventId) -> bool {
        if !self.is_under_review(task) {
            return false;
        }
        let Some(runtime) = self.runtimes.get(&task) else { return false };
        // A message that arrived since comes first.
        if runtime.state.messages.iter().any(|message| runtime.state.is_woken_by(message)) {
            return true;
        }
        let is_measuring = |runtime: &TaskRuntime| matches!(runtime.completion, CompletionState::Measuring);
        let is_asked = is_measuring(runtime) || runtime.state.asks.get(AskId::from_ulid(exit.ulid())).is_some();
        if !is_asked && let Some((worktree, base)) = self.worktree_of(task) {
            self.runtime(task).completion = CompletionState::Measuring;
            self.start_read_only_job(task, Job::Measure { worktree, base });
        }
        is_asked || self.runtimes.get(&task).is_some_and(is_measuring)
    }

    /// Asks the user for a review, with the measured size of the changes.
    pub(super) fn on_measured(&mut self, task: TaskId, diff: Option<DiffStat>) {
        let runtime = self.runtime(task);
        if matches!(runtime.completion, CompletionState::Measuring) {
            runtime.completion = CompletionState::Idle;
        }
        runtime.diff = diff.or(runtime.diff);
        let Some(last) = runtime.state.turns.last_exit.as_ref().filter(|last| last.exit == Exit::DonePassed) else {
            return;
        };
        let (exit, result) = (last.event, last.result.clone());
        let changed = runtime.diff.map_or_else(
            || "size of the changes unknown".to_owned(),
            |diff| format!("{}, +{} -{}", text::count(diff.files, "file", "files"), diff.added, diff.removed),
        );
        let checked = match &runtime.state.work.receipt {
            Some(receipt) if receipt.passed() => {
                let (commit, seconds) = (receipt.commit.get(..10).unwrap_or_default(), receipt.duration_ms / 1000);
                format!("`{}` succeeded after {seconds} s on {commit}", receipt.command)
            }
            Some(receipt) => format!("`{}` failed", receipt.command),
            None => "not checked: no `verify` is set".to_owned(),
        };
        let question = format!("{} is ready for review", self.task_label(task));
        let detail = format!("{changed}; {checked}\n\n{result}\n\nOr write what to change.");
        let ask = Ask {
            id: AskId::from_ulid(exit.ulid()),
            ..self.new_ask(
                Subject::Review,
                question,
                detail,
                &[(ChoiceId::Approve, "Approve"), (ChoiceId::Merge, "Merge")],
            )
        };
        self.append(task, vec![ask.into()], AppendContinuation::Question(task));
    }

    /// Returns the open review of a task, with the answer that a merge gives it: who merges work approves of it.
    pub(super) fn approval_by_merge(&self, task: TaskId) -> Option<(AskId, Answer)> {
        let ask = self.state(task)?.asks.iter().find(|ask| ask.kind() == AskKind::Review)?;
        Some((ask.id, ask.answer(AskReply::Choice(ChoiceId::Merge), AnsweredBy::User)?))
    }

    /// Returns the event that approves the end of the last run.
    pub(super) fn approval(&self, now: Timestamp, task: TaskId) -> Option<Body> {
        let last = self.state(task)?.turns.last_exit.as_ref().filter(|last| last.exit == Exit::DonePassed)?;
        Some(Work::Approved { exit: last.event, at: now }.into())
    }

    pub(super) fn answer_review(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
    ) -> Result<(), Fault> {
        match ask.choice_of(&answer) {
            Some(ChoiceId::Merge) => {
                let options = MergeOptions {
                    into: MergeTarget::Parent,
                    how: MergeStrategy::Merge,
                    conflicts: OnConflict::Refuse,
                };
                self.merge(now, command, task, options, Some((ask.id, answer)))
            }
            Some(_) => {
                self.approve_with(now, Some(command), task, (ask.id, answer), Vec::new(), Outcome::Done);
                Ok(())
            }
            None => {
                let id = ask.id;
                let words = answer.text.clone();
                let answered = AskAnswered { id, answer }.into();
                let acted_on = AskWithdrawn { id, reason: "the comments were sent to the agent".to_owned() }.into();
                self.send_round(now, command, task, Vec::new(), words, None, vec![answered, acted_on])
            }
        }
    }
}
