//! How many tasks agents may create: inside their own sub tree only, so many open ones in a project, and so many in one
//! turn of an agent. Whoever wants more waits for the user, who is asked once and not again after a refusal.

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::running::Place;
use crate::engine::machine::{Effect, Machine, Pending, Ticket};
use crate::model::ask::{ChoiceId, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Grant, Granted};
use crate::model::message::Source;
use crate::model::task::Status;
use crate::model::{Answer, Ask, AskKind};

/// Why an agent cannot create a task now.
enum Reached {
    Open { limit: usize },
    Turn { limit: u32 },
}

impl Machine {
    /// Refuses to create a task below one that is neither the agent's own nor below it.
    pub(super) fn is_inside(&self, own: TaskId, parent: TaskId) -> Result<(), Fault> {
        self.node(parent)?;
        if parent == own || self.tree.ancestors(parent).any(|above| above.id == own) {
            return Ok(());
        }
        Err(Fault::user(format!(
            "task {parent} is not yours and not below yours: you create tasks in your own sub tree"
        ))
        .hint("tell the task above what is needed: send_message"))
    }

    fn open_tasks(&self) -> usize {
        self.tree.walk(self.tree.root_id()).skip(1).filter(|node| node.status != Status::Closed).count()
    }

    /// Returns how many tasks may be open, with what the user allowed beyond the setting.
    fn task_allowance(&self) -> usize {
        let granted = self.lives.values().filter_map(|life| life.state.grants.tasks).max().unwrap_or(0);
        granted.max(self.limits.max_tasks) as usize
    }

    fn reached(&self, own: TaskId) -> Option<Reached> {
        let limit = self.task_allowance();
        if self.open_tasks() >= limit {
            return Some(Reached::Open { limit });
        }
        let created = self.lives.get(&own).map_or(0, |life| life.created);
        let limit = self.limits.max_tasks_per_turn;
        (created >= limit).then_some(Reached::Turn { limit })
    }

    /// Tells whether the agent of `own` may create a task. If it has to wait for the user, it is told so here.
    pub(super) fn may_create(&mut self, ticket: Ticket, own: TaskId) -> bool {
        let Some(reached) = self.reached(own) else { return true };
        let said = match &reached {
            Reached::Open { limit } => format!("{} are open in this project", text::count(*limit, "task", "tasks")),
            Reached::Turn { limit } => {
                format!("you created {} in this turn", text::count(*limit as usize, "task", "tasks"))
            }
        };
        let state = self.lives.get(&own).map(|life| &life.state);
        let is_refused = state.is_some_and(|state| state.grants.no_more_tasks);
        let is_asked = state.is_some_and(|state| state.asks.iter().any(|ask| ask.kind() == AskKind::TaskLimit));
        let waits = format!(
            "Not created: {said}, and that is the limit. The user has been asked whether to allow more. Do not try again: call \
             yield and wait for the answer, or do the work without another task."
        );
        if is_refused {
            let words = format!(
                "Not created: {said}, and the user refused more. Do not try again: work with the tasks there are, close those \
                 that are done, or do the work yourself."
            );
            self.out.push(Effect::Respond { ticket, result: Err(words) });
        } else if is_asked || std::mem::replace(&mut self.life(own).asks_for_tasks, true) {
            self.out.push(Effect::Respond { ticket, result: Err(waits) });
        } else {
            let ask = self.task_limit_ask(own, &reached);
            self.append(own, vec![ask.into()], Pending::TaskLimit(own, ticket, waits));
        }
        false
    }

    fn task_limit_ask(&self, own: TaskId, reached: &Reached) -> Ask {
        let title = self.tree.get(own).map(|node| node.title.clone()).unwrap_or_default();
        let (question, setting) = match reached {
            Reached::Open { limit } => {
                (format!("\"{title}\" wants to create a task, and {limit} are open. Allow more?"), "maxTasks")
            }
            Reached::Turn { limit } => {
                let created = text::count(*limit as usize, "task", "tasks");
                (format!("\"{title}\" created {created} in one turn and wants more. Allow it?"), "maxTasksPerTurn")
            }
        };
        let detail = format!("The limit is the setting {setting}.");
        let allow = format!("Allow {} more", self.limits.max_tasks_per_turn);
        self.new_ask(
            Subject::TaskLimit,
            question,
            detail,
            &[(ChoiceId::Approve, &allow), (ChoiceId::Decline, "Refuse")],
        )
    }

    /// The question is on the disk, or could not be put there: the agent is told.
    pub(super) fn task_limit_asked(&mut self, task: TaskId, ticket: Ticket, words: String) {
        self.life(task).asks_for_tasks = false;
        self.out.push(Effect::Respond { ticket, result: Err(words) });
    }

    /// Takes the user's answer in and tells the agent.
    pub(super) fn answer_task_limit(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
    ) {
        let more = self.limits.max_tasks_per_turn;
        let (grant, words) = if ask.chosen(&answer) == Some(&ChoiceId::Approve) {
            self.life(task).created = 0;
            let open = u32::try_from(self.open_tasks()).unwrap_or(u32::MAX);
            (
                Grant::Tasks { up_to: open.saturating_add(more) },
                format!("The user allows {more} more tasks. Create the ones that you still need."),
            )
        } else {
            let words =
                "The user refuses more tasks. Work with the tasks there are, or do the work yourself.".to_owned();
            (Grant::NoMoreTasks, words)
        };
        self.answering.insert(ask.id);
        let from = Source::ClarifyResponse { ask: ask.id, question: ask.question.clone(), defaulted: false };
        let message = self.message(now, from, words);
        let id = ask.id;
        let bodies = vec![
            AskAnswered { id, answer }.into(),
            Granted { ask: id, grant }.into(),
            AskWithdrawn { id, reason: "the answer was sent to the agent".to_owned() }.into(),
        ];
        let plan = Plan { line: Place::First, ..Plan::default() };
        let then = Pending::Answer { task, ask: id, ticket: Some(ticket) };
        self.deliver_with(task, bodies, message, plan, then);
    }
}
