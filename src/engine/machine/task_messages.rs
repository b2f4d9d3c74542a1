//! Messages and questions in the name of a task: what an agent says to other tasks and to the user.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Actor, CommandId, Outcome};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::{Machine, Pending};
use crate::model::Ask;
use crate::model::ask::{AskMode, Choice, Given, Subject};
use crate::model::message::Source;

/// Returns the task in whose name an actor speaks.
fn speaker(actor: Actor) -> Result<TaskId, Fault> {
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
        let own = speaker(actor)?;
        let title = self.node(own)?.title.clone();
        let message = self.message(now, Source::TaskMessage { task: own, title, request_reply }, body);
        let outcome = self.sent(to, message.id);
        self.deliver(to, message, Plan::default(), Pending::Reply(id, outcome));
        Ok(())
    }

    /// Puts a question of an agent to the user.
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
        let own = speaker(actor)?;
        let deadline = default.as_ref().and(self.limits.clarify_timeout).map(|wait| now.later(wait));
        let choices = Choice::options(choices);
        let of_default = |text: String| match choices.iter().find(|choice| choice.label == text) {
            Some(choice) => Given::Choice(choice.id.clone()),
            None => Given::Text(text),
        };
        let default = default.map(of_default);
        let ask = self.new_ask(Subject::Clarify, question, detail, &[]);
        let ask = Ask { choices, default, mode, deadline, ..ask };
        let asked = Outcome::Asked(ask.id);
        self.append(own, vec![ask.into()], Pending::Reply(id, asked));
        Ok(())
    }
}
