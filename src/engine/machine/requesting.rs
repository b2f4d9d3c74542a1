//! What agents ask for. Names are resolved to tasks here, once; from then on it is the same as a person's command.

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::{Changes, Draft, Start};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::{Actor, Asker, Effect, Machine, Pending, Ticket};
use crate::engine::request::{self, Request};
use crate::engine::tree_text;
use crate::model::event::Verdict;
use crate::model::message::Source;
use crate::model::task::{Status, TaskNode};
use crate::model::{Ask, AskKind};

impl Machine {
    pub(super) fn request(&mut self, now: Timestamp, ticket: Ticket, own: TaskId, request: Request) {
        let (asker, actor) = (Asker::Request(ticket), Actor::Agent(own));
        let result = match request {
            Request::CreateTask {
                parent,
                title,
                description,
                profile,
                budget,
                colour,
                recurring,
                schedule,
                start,
                draft,
            } => {
                let start = match (draft, start) {
                    (true, _) => Start::Draft,
                    (false, true) => Start::Now,
                    (false, false) => Start::Later,
                };
                let draft = Draft { title, description, profile, budget, colour, recurring, schedule };
                let parent = parent.map_or(Ok(own), |parent| self.resolve(&parent));
                let parent = parent.and_then(|parent| self.is_inside(own, parent).map(|()| parent));
                match parent {
                    Ok(_) if !self.may_create(ticket, own) => Ok(()),
                    Ok(parent) => {
                        let created = self.create(now, asker, actor, parent, None, &draft, start);
                        created.map(|_| self.life(own).created += 1)
                    }
                    Err(fault) => Err(fault),
                }
            }
            Request::UpdateTask { task, title, description, budget, colour, draft } => {
                let (budget, colour) = (budget.map(Some), colour.map(Some));
                let changes = Changes { title, description, budget, colour, draft, ..Changes::default() };
                self.resolve(&task).and_then(|task| self.update(now, asker, actor, task, &changes))
            }
            Request::StopTask { task } => self.resolve(&task).and_then(|task| self.stop_below(ticket, actor, task)),
            Request::CloseTask { task } => self.resolve(&task).and_then(|task| self.close(now, asker, actor, task)),
            Request::DeleteTask { task } => self.resolve(&task).and_then(|task| self.delete(now, asker, actor, task)),
            Request::ResetTask { task } => self.resolve(&task).and_then(|task| self.reset(now, asker, actor, task)),
            Request::ReorderTasks { parent, order } => self.resolve(&parent).and_then(|parent| {
                let order = order.iter().map(|task| self.resolve(task)).collect::<Result<Vec<_>, _>>()?;
                self.reorder(now, asker, actor, parent, order)
            }),
            Request::SendMessage { task, message, request_reply } => {
                self.resolve(&task).and_then(|to| self.send_message(now, ticket, own, to, message, request_reply))
            }
            Request::Clarify { question, detail, choices, default, mode } => {
                self.clarify(now, ticket, own, question, detail, choices, default, mode).map_err(Fault::user)
            }
            Request::GetTree { below, include_closed } => {
                below.map_or(Ok(self.tree.root_id()), |below| self.resolve(&below)).map(|top| {
                    let text = tree_text::render(&self.tree, top, own, include_closed, |task| self.facts(task));
                    self.out.push(Effect::Respond { ticket, result: Ok(text) });
                })
            }
            Request::GetTask { task } => self.resolve(&task).map(|task| {
                let node = self.tree.get(task).map(|node| TaskNode { budget: self.budget_of(node), ..node.clone() });
                let text = node.map(|node| tree_text::card(&self.tree, &node, self.facts(task)));
                self.out.push(Effect::Respond { ticket, result: Ok(text.unwrap_or_default()) });
            }),
            Request::SearchTasks { query, limit } => {
                let text = tree_text::search(&self.tree, &query, limit);
                self.out.push(Effect::Respond { ticket, result: Ok(text) });
                Ok(())
            }
            Request::Fork { source, target } => {
                let source = source.map_or(Ok(own), |source| self.resolve(&source));
                source.and_then(|source| self.fork(asker, actor, source, self.resolve(&target)?))
            }
            Request::MayFinish { verdict } => {
                let result = self.may_finish(own, verdict).map_or(Ok(String::new()), Err);
                self.out.push(Effect::Respond { ticket, result });
                Ok(())
            }
        };
        if let Err(fault) = result {
            self.out.push(Effect::Respond { ticket, result: Err(fault.to_string()) });
        }
    }

    fn resolve(&self, name: &str) -> Result<TaskId, Fault> {
        self.tree
            .find(name)
            .map(|node| node.id)
            .map_err(|error| Fault::user(error.to_string()).hint("get_tree lists the tasks with their ids"))
    }

    /// Upwards to any task above, downwards to a direct sub task.
    fn send_message(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        own: TaskId,
        to: TaskId,
        body: String,
        request_reply: bool,
    ) -> Result<(), Fault> {
        if body.trim().is_empty() {
            return Err(Fault::user("the message is empty"));
        }
        let chars = body.chars().count();
        if chars > request::MESSAGE_CHARS {
            return Err(Fault::user(format!(
                "the message has {chars} characters; at most {} can be sent",
                request::MESSAGE_CHARS
            ))
            .hint("commit the text as a file, and send its path and what matters in it"));
        }
        let target = self.node(to)?;
        let below = target.parent == Some(own);
        let above = self.tree.ancestors(own).any(|node| node.id == to);
        if !below && !above {
            return Err(Fault::user(format!(
                "you may speak to the tasks above you and to your direct sub tasks; {to} is neither"
            ))
            .hint("speak to the task above, which can pass it on"));
        }
        if below && target.status == Status::Draft {
            return Err(
                Fault::user("this sub task is a draft").hint("make it ready first: update_task with draft false")
            );
        }
        let unread = self.unread_from_tasks(to);
        if unread >= request::UNREAD_MESSAGES {
            return Err(Fault::user(format!(
                "\"{}\" has {unread} messages of other tasks that it has not read yet; it takes no more until it has",
                target.title
            ))
            .hint("wait (yield), then send what is still needed, in one message"));
        }
        let words = if below && self.lives.get(&to).is_none_or(|life| life.run.is_none()) {
            format!("Sent, and \"{}\" is being started.", target.title)
        } else {
            format!("Sent to \"{}\".", target.title)
        };
        let title = self.node(own)?.title.clone();
        let message = self.message(now, Source::TaskMessage { task: own, title, request_reply }, body);
        self.deliver(to, message, Plan::default(), Pending::Respond(ticket, words));
        Ok(())
    }

    /// Returns how many messages of other tasks wait to be read by a task.
    fn unread_from_tasks(&self, task: TaskId) -> usize {
        let Some(life) = self.lives.get(&task) else { return 0 };
        life.state.messages.iter().filter(|message| matches!(message.from, Source::TaskMessage { .. })).count()
    }

    /// Returns why a task may not be declared done yet.
    fn may_finish(&self, task: TaskId, verdict: Verdict) -> Option<String> {
        let running: Vec<String> = self
            .tree
            .walk(task)
            .skip(1)
            .filter(|node| node.status == Status::InProgress && !self.is_known_above(node.id))
            .map(|node| format!("\"{}\" ({})", text::headline(&node.title, 60), node.id))
            .collect();
        if !running.is_empty() {
            return Some(format!(
                "sub tasks are still in progress: {}. Wait for them (yield), or end what is no longer needed: stop_task, then close_task.",
                running.join(", ")
            ));
        }
        // What the repository asks for is no question of the agent's.
        let own = |ask: &&Ask| !matches!(ask.kind(), AskKind::McpApproval | AskKind::Approval);
        let asks = self.lives.get(&task).map_or(0, |life| life.state.asks.iter().filter(own).count());
        if asks > 0 && verdict == Verdict::Passed {
            return Some(format!(
                "{asks} of your questions to the person {} not answered yet. Call yield and wait for the answer.",
                if asks == 1 { "is" } else { "are" }
            ));
        }
        None
    }
}
