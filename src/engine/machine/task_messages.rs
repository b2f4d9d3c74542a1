//! Messages and questions from agents to other tasks and to the user.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Actor, CommandId, Outcome};
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::{AppendContinuation, Machine};
use crate::model::Ask;
use crate::model::ask::{AskMode, AskReply, Choice, Subject};
use crate::model::message::MessageSource;

/// Returns the task of an agent.
fn own_task(actor: Actor) -> Result<TaskId, Fault> {
    match actor {
        Actor::Agent(own) => Ok(own),
        Actor::User | Actor::Engine => Err(Fault::internal("a message in the name of no task")),
    }
}

impl Machine {
    /// Sends a message from one task to another.
    pub(super) fn send_between_tasks(
        &mut self,
        now: Timestamp,
        id: CommandId,
        actor: Actor,
        to: TaskId,
        body: String,
        request_reply: bool,
    ) -> Result<(), Fault> {
        if body.trim().is_empty() {
            return Err(Fault::user("the message is empty"));
        }
        let own = own_task(actor)?;
        let title = self.node(own)?.title.clone();
        let message = self.message(now, MessageSource::TaskMessage { task: own, title, request_reply }, body);
        let outcome = self.sent_outcome(to, message.id);
        self.deliver(to, message, DeliveryPlan::default(), AppendContinuation::Reply(id, outcome));
        Ok(())
    }

    /// Asks the user a question of an agent.
    #[expect(clippy::too_many_arguments, reason = "they are the fields of the question")]
    pub(super) fn ask_user(
        &mut self,
        now: Timestamp,
        id: CommandId,
        actor: Actor,
        question: String,
        detail: String,
        choices: Vec<String>,
        default: Option<String>,
        mode: AskMode,
    ) -> Result<(), Fault> {
        if question.trim().is_empty() {
            return Err(Fault::user("The question is empty. Say in one line what you need to know."));
        }
        let own = own_task(actor)?;
        let deadline = default.as_ref().and(self.limits.clarify_timeout).map(|wait| now.later(wait));
        let choices = Choice::options(choices);
        let of_default = |text: String| match choices.iter().find(|choice| choice.label == text) {
            Some(choice) => AskReply::Choice(choice.id.clone()),
            None => AskReply::Text(text),
        };
        let default = default.map(of_default);
        let ask = self.new_ask(Subject::Clarify, question, detail, &[]);
        let ask = Ask { choices, default, mode, deadline, ..ask };
        let asked = Outcome::Asked(ask.id);
        self.append(own, vec![ask.into()], AppendContinuation::Reply(id, asked));
        Ok(())
    }
}
