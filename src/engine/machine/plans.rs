//! The plan gate: plans that agents hand in, and what an answer does to their task.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Actor, CommandId, Outcome};
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::{AppendContinuation, Machine, Origin};
use crate::model::ask::{AnsweredBy, AskReply, ChoiceId, PlanRequest, Subject};
use crate::model::message::MessageSource;
use crate::model::task::{EditedBy, Status};
use crate::model::{Answer, Ask, AskKind};
use crate::permit::Mode;

/// How much of a plan the task above gets.
const PLAN_CHARS: usize = 12_000;

impl Machine {
    /// Tells the task above of a plan, if its agent created the task.
    pub(super) fn on_plan_submitted(&mut self, now: Timestamp, task: TaskId, plan: &PlanRequest) {
        let Some(node) = self.tree.get(task).filter(|node| node.edited_by == EditedBy::Agent) else { return };
        let (title, number) = (node.title.clone(), node.handle());
        let Some(above) = node.parent.filter(|above| self.status(*above) == Some(Status::InProgress)) else { return };
        let document: String = plan.document().chars().take(PLAN_CHARS).collect();
        let body = format!(
            "The sub task \"{title}\" ({number}) has handed in a plan and waits. Approve it or send it back with review_plan; the \
             user may do so, too.\n\n{document}"
        );
        let message = self.message(now, MessageSource::Notice, body);
        self.deliver(above, message, DeliveryPlan::default(), AppendContinuation::Nothing);
    }

    /// Answers the open plan of a task, for its reviewer.
    pub(super) fn review_plan(
        &mut self,
        now: Timestamp,
        command: CommandId,
        actor: Actor,
        task: TaskId,
        approve: bool,
        words: &str,
    ) -> Result<(), Fault> {
        let title = self.node(task)?.title.clone();
        let open = self.state(task).and_then(|state| state.asks.iter().find(|ask| ask.kind() == AskKind::Plan));
        let Some(ask) = open.filter(|ask| !self.answering.contains(&ask.id)).cloned() else {
            return Err(Fault::user(format!("\"{title}\" has no plan that waits for a decision")));
        };
        let words = words.trim();
        let reply = match (approve, words.is_empty()) {
            (true, _) => AskReply::Choice(ChoiceId::Approve),
            (false, false) => AskReply::Text(words.to_owned()),
            (false, true) => AskReply::Choice(ChoiceId::Decline),
        };
        let by = if actor == Actor::User { AnsweredBy::User } else { AnsweredBy::Task };
        let Some(answer) = ask.answer(reply, by) else { return Err(Fault::internal("a plan without these choices")) };
        if approve && !words.is_empty() {
            let source = match actor {
                Actor::Agent(own) => {
                    let title = self.tree.get(own).map(|node| node.title.clone()).unwrap_or_default();
                    MessageSource::TaskMessage { task: own, title, request_reply: false }
                }
                Actor::User | Actor::Engine => MessageSource::User,
            };
            let message = self.message(now, source, words);
            self.deliver(task, message, DeliveryPlan::passive(), AppendContinuation::Nothing);
        }
        self.answer_plan(now, command, task, &ask, answer);
        Ok(())
    }

    /// Records the answer about a plan. An approved one ends the mode `plan` of its task first, so that the agent never
    /// reads the approval before it may work.
    pub(super) fn answer_plan(&mut self, now: Timestamp, command: CommandId, task: TaskId, ask: &Ask, answer: Answer) {
        let is_approved = matches!(ask.choice_of(&answer), Some(ChoiceId::Approve | ChoiceId::ApproveEdited));
        if is_approved {
            self.end_plan_mode(now, task);
        }
        self.record_answer(now, task, ask, answer, Some(command));
    }

    /// Gives a task its working mode: that of its profile and the settings, unless that is `plan`, too.
    fn end_plan_mode(&mut self, now: Timestamp, task: TaskId) {
        let Some(node) = self.tree.get(task).filter(|node| self.mode_of(node) == Mode::Plan).cloned() else { return };
        let mut working = node;
        working.mode = None;
        if self.mode_of(&working) == Mode::Plan {
            working.mode = Some(Mode::Edits);
        }
        let changed = self.tree.edit(task, |node| {
            node.mode = working.mode;
            node.updated_at = now;
        });
        debug_assert!(changed.is_ok(), "the task was there a moment ago");
        self.commit([task], SaveContinuation::Reply(Origin::ENGINE, Outcome::Done));
    }

    /// Returns the plan of an Ask that was raised.
    pub(super) fn plan_of(ask: &Ask) -> Option<&PlanRequest> {
        match &ask.subject {
            Subject::Plan(plan) => Some(plan),
            _ => None,
        }
    }
}
