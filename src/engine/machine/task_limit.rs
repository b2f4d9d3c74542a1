//! Limits on how many tasks agents create: open tasks in the project, and tasks per turn of an agent. At a limit the
//! user is asked once, and not again after a refusal.

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::CommandId;
use crate::engine::machine::authority::Permission;
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::scheduler::QueuePosition;
use crate::engine::machine::{AppendContinuation, Effect, Machine};
use crate::model::ask::{ChoiceId, Subject};
use crate::model::event::{AskAnswered, AskWithdrawn, Grant, Granted};
use crate::model::message::MessageSource;
use crate::model::task::Status;
use crate::model::{Answer, Ask, AskKind};

/// The limit that an agent has reached.
#[derive(Clone, Copy, Debug)]
pub(super) enum TaskLimit {
    /// Open tasks in the project.
    Open(usize),
    /// Tasks that the agent created in this turn.
    Turn(u32),
}

impl TaskLimit {
    /// Returns the refusal that an agent gets while the user is being asked.
    fn fault(self) -> Fault {
        Fault::user(format!(
            "Not created: {}, and that is the limit. The user has been asked whether to allow more. Do not try again: call \
             yield and wait for the answer, or do the work without another task.",
            self.describe()
        ))
    }

    fn describe(self) -> String {
        match self {
            Self::Open(limit) => format!("{} are open in this project", text::count(limit, "task", "tasks")),
            Self::Turn(limit) => {
                format!("you created {} in this turn", text::count(limit as usize, "task", "tasks"))
            }
        }
    }
}

impl Machine {
    fn open_tasks(&self) -> usize {
        self.tree.walk(self.tree.root_id()).skip(1).filter(|node| node.status != Status::Closed).count()
    }

    /// Returns how many tasks may be open: the setting, or more if the user granted more.
    fn task_allowance(&self) -> usize {
        let granted = self.runtimes.values().filter_map(|runtime| runtime.state.grants.tasks).max().unwrap_or(0);
        granted.max(self.limits.max_tasks) as usize
    }

    fn reached_limit(&self, own: TaskId) -> Option<TaskLimit> {
        let limit = self.task_allowance();
        if self.open_tasks() >= limit {
            return Some(TaskLimit::Open(limit));
        }
        let created = self.runtimes.get(&own).map_or(0, |runtime| runtime.created);
        let limit = self.limits.max_tasks_per_turn;
        (created >= limit).then_some(TaskLimit::Turn(limit))
    }

    /// Decides whether the agent of `own` may create one more task, or has to ask the user.
    pub(super) fn check_task_limit(&self, own: TaskId) -> Result<Permission, Fault> {
        let Some(limit) = self.reached_limit(own) else { return Ok(Permission::Granted) };
        let Some(runtime) = self.runtimes.get(&own) else { return Ok(Permission::AskUser { own, limit }) };
        if runtime.state.grants.no_more_tasks {
            return Err(Fault::user(format!(
                "Not created: {}, and the user refused more. Do not try again: work with the tasks there are, close those \
                 that are done, or do the work yourself.",
                limit.describe()
            )));
        }
        let is_asked =
            runtime.is_asking_for_tasks || runtime.state.asks.iter().any(|ask| ask.kind() == AskKind::TaskLimit);
        if is_asked { Err(limit.fault()) } else { Ok(Permission::AskUser { own, limit }) }
    }

    /// Asks the user whether an agent may create more tasks.
    pub(super) fn ask_for_tasks(&mut self, id: CommandId, own: TaskId, limit: TaskLimit) {
        self.runtime(own).is_asking_for_tasks = true;
        let ask = self.task_limit_ask(own, limit);
        self.append(own, vec![ask.into()], AppendContinuation::TaskLimit(own, id, limit.fault()));
    }

    fn task_limit_ask(&self, own: TaskId, limit: TaskLimit) -> Ask {
        let title = self.tree.get(own).map(|node| node.title.clone()).unwrap_or_default();
        let (question, setting) = match limit {
            TaskLimit::Open(limit) => {
                (format!("\"{title}\" wants to create a task, and {limit} are open. Allow more?"), "maxTasks")
            }
            TaskLimit::Turn(limit) => {
                let created = text::count(limit as usize, "task", "tasks");
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

    /// Replies to the agent once the Ask is written or failed to be.
    pub(super) fn on_task_limit_asked(&mut self, task: TaskId, id: CommandId, fault: Fault) {
        self.runtime(task).is_asking_for_tasks = false;
        self.out.push(Effect::Reply { id, result: Err(fault) });
    }

    /// Records the user's answer and sends it to the agent.
    pub(super) fn answer_task_limit(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        ask: &Ask,
        answer: Answer,
    ) {
        let more = self.limits.max_tasks_per_turn;
        let (grant, words) = if ask.choice_of(&answer) == Some(&ChoiceId::Approve) {
            self.runtime(task).created = 0;
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
        let from = MessageSource::ClarifyResponse { ask: ask.id, question: ask.question.clone(), defaulted: false };
        let message = self.message(now, from, words);
        let id = ask.id;
        let bodies = vec![
            AskAnswered { id, answer }.into(),
            Granted { ask: id, grant }.into(),
            AskWithdrawn { id, reason: "the answer was sent to the agent".to_owned() }.into(),
        ];
        let plan = DeliveryPlan { position: QueuePosition::First, ..DeliveryPlan::default() };
        let then = AppendContinuation::Answer { task, ask: id, command: Some(command) };
        self.deliver_with(task, bodies, message, plan, then);
    }
}
