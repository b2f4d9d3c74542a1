//! Reviews: a round of comments on its way to an agent, and work that waits to be looked at before it counts as done.

use crate::base::{AskId, EventId, Fault, TaskId, Timestamp, text};
use crate::engine::command::{CommandId, OnConflict, Outcome};
use crate::engine::machine::Life;
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::slot::Completion;
use crate::engine::machine::working::MergeOptions;
use crate::engine::machine::{Job, Machine, Pending};
use crate::engine::review::{Comment, Goal, How, Round};
use crate::engine::snapshot::DiffStat;
use crate::model::ask::{ChoiceId, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Body, Exit};
use crate::model::message::Source;
use crate::model::work::Work;
use crate::model::{Answer, Ask, AskKind};

impl Machine {
    pub(super) fn review(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        comments: Vec<Comment>,
        words: String,
        state: Option<String>,
    ) -> Result<(), Fault> {
        self.node(task)?;
        let with = self.withdraw_review(task, "the person had comments");
        self.send_round(now, command, task, comments, words, state, with)
    }

    #[expect(clippy::too_many_arguments, reason = "they are the parts of a round")]
    fn send_round(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        comments: Vec<Comment>,
        words: String,
        state: Option<String>,
        mut with: Vec<Body>,
    ) -> Result<(), Fault> {
        let empty = |comment: &Comment| comment.text.trim().is_empty();
        if comments.iter().any(empty) || (comments.is_empty() && words.trim().is_empty()) {
            return Err(Fault::user("there is nothing to send: a comment is empty"));
        }
        let mut message = self.message(now, Source::User, "");
        let round = Round { comments, words, state, message: message.id };
        message.body = format!("I have looked at your work.\n\n{round}");
        let outcome = self.sent(task, message.id);
        with.push(Work::Reviewed { round }.into());
        self.deliver_with(task, with, message, Plan::of_user(), Pending::Reply(command, outcome));
        Ok(())
    }

    /// Returns what takes back the question whether a task's work is good, if it is open.
    pub(super) fn withdraw_review(&self, task: TaskId, reason: &str) -> Vec<Body> {
        let Some(life) = self.lives.get(&task) else { return Vec::new() };
        let open = life.state.asks.iter().filter(|ask| ask.kind() == AskKind::Review);
        open.map(|ask| AskWithdrawn { id: ask.id, reason: reason.to_owned() }.into()).collect()
    }

    /// Tells whether the end of a run has to wait for the person, who is asked if that has not been done.
    pub(super) fn awaits_review(&mut self, task: TaskId, exit: EventId) -> bool {
        if !self.is_under_review(task) {
            return false;
        }
        let Some(life) = self.lives.get(&task) else { return false };
        // Whoever spoke to it since wants something else of it first.
        if life.state.messages.iter().any(|message| life.state.is_called_by(message)) {
            return true;
        }
        let is_measuring = |life: &Life| matches!(life.completion, Completion::Measuring);
        let asked = is_measuring(life) || life.state.asks.get(AskId::from_ulid(exit.ulid())).is_some();
        if !asked && let Some((worktree, base)) = self.worktree_of(task) {
            self.life(task).completion = Completion::Measuring;
            self.start_job_aside(task, Job::Measure { worktree, base });
        }
        asked || self.lives.get(&task).is_some_and(is_measuring)
    }

    /// How much the task changed is known: the person is asked to look at it.
    pub(super) fn measured(&mut self, task: TaskId, diff: Option<DiffStat>) {
        let life = self.life(task);
        if matches!(life.completion, Completion::Measuring) {
            life.completion = Completion::Idle;
        }
        life.diff = diff.or(life.diff);
        let Some(last) = life.state.turns.last_exit.as_ref().filter(|last| last.exit == Exit::DonePassed) else {
            return;
        };
        let (exit, result) = (last.event, last.result.clone());
        let changed = life.diff.map_or_else(
            || "how much it changed is not known".to_owned(),
            |diff| format!("{}, +{} -{}", text::count(diff.files, "file", "files"), diff.added, diff.removed),
        );
        let checked = match &life.state.work.receipt {
            Some(receipt) if receipt.passed() => {
                let (commit, seconds) = (receipt.commit.get(..10).unwrap_or_default(), receipt.duration_ms / 1000);
                format!("`{}` succeeded after {seconds} s on {commit}", receipt.command)
            }
            Some(receipt) => format!("`{}` failed", receipt.command),
            None => "not checked: no `verify` is set".to_owned(),
        };
        let question = format!("{} is ready for review", self.named(task));
        let detail = format!("{changed}; {checked}\n\n{result}\n\nOr say what should be different.");
        let ask = Ask {
            id: AskId::from_ulid(exit.ulid()),
            ..self.new_ask(
                Subject::Review,
                question,
                detail,
                &[(ChoiceId::Approve, "Approve"), (ChoiceId::Merge, "Merge")],
            )
        };
        self.append(task, vec![ask.into()], Pending::Question(task));
    }

    /// Returns the event that says that the person approved how the last run ended.
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
        match ask.chosen(&answer) {
            Some(ChoiceId::Merge) => {
                let options = MergeOptions { into: Goal::Above, how: How::Merge, conflicts: OnConflict::Refuse };
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
