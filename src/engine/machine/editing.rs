//! Changes to the tree: one function each, for agent and person alike. Who made a change is the only difference.

mod deferring;
mod removing;
mod restoring;
mod steps;

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::{Changes, Draft, Outcome, Start};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::saving::Then;
use crate::engine::machine::{Actor, Asker, Machine, Pending};
use crate::model::message::{self, Source, TreeAction};
use crate::model::task::{EditedBy, Recurring, Status, TaskNode};
use crate::model::tree::TreeError;

pub(super) use deferring::Deferred;
pub(super) use steps::Continuation;

/// What a title may have.
const TITLE_CHARS: usize = 200;

impl From<TreeError> for Fault {
    fn from(error: TreeError) -> Self {
        Self::user(error.to_string())
    }
}

impl Actor {
    fn editor(self) -> EditedBy {
        match self {
            Self::Person => EditedBy::User,
            Self::Agent(_) => EditedBy::Agent,
        }
    }
}

impl Machine {
    /// An agent changes only what is below its own task.
    pub(super) fn may_change(&self, actor: Actor, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        match actor {
            Actor::Person => Ok(()),
            Actor::Agent(own) if self.tree.ancestors(task).any(|above| above.id == own) => Ok(()),
            Actor::Agent(_) => Err(Fault::user(format!(
                "task {task} is not below yours: you may change only your own sub tasks and what is below them"
            ))
            .hint("send a message to the task above it instead")),
        }
    }

    /// Refuses to hang anything below a task that is being put away.
    fn not_in_between(&self, task: TaskId) -> Result<(), Fault> {
        if self.lives.get(&task).is_some_and(|life| life.edited) {
            return Err(
                Fault::user(format!("task {task} is being put away or brought back")).hint("try again in a moment")
            );
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "they are the parts of the command")]
    pub(super) fn create(
        &mut self,
        now: Timestamp,
        asker: Asker,
        actor: Actor,
        parent: TaskId,
        before: Option<TaskId>,
        draft: &Draft,
        start: Start,
    ) -> Result<TaskId, Fault> {
        let id = self.add_task(now, actor, parent, before, draft, start)?;
        let title = self.tree.get(id).map(|node| node.title.clone()).unwrap_or_default();
        let then = match start {
            Start::Now => Then::Begin { asker, task: id, above: parent, by: actor },
            Start::Later | Start::Draft => {
                let hint = self.rounds_hint(id);
                Then::Settle(asker, Outcome::Created(id), format!("Created task {id} \"{title}\".{hint}"))
            }
        };
        let plan = self.plan_change(id, Recurring::None, None, draft.schedule.clone());
        self.commit([id, parent], then.after_writing(plan));
        Ok(id)
    }

    /// Hangs a new task into the tree. The caller saves it.
    pub(super) fn add_task(
        &mut self,
        now: Timestamp,
        actor: Actor,
        parent: TaskId,
        before: Option<TaskId>,
        draft: &Draft,
        start: Start,
    ) -> Result<TaskId, Fault> {
        let above = self.node(parent)?;
        if above.status == Status::Closed {
            return Err(Fault::user(format!("\"{}\" is closed: nothing can be made below it", above.title)));
        }
        self.not_in_between(parent)?;
        let deepest = self.limits.max_depth as usize;
        if self.tree.depth(parent) >= deepest {
            let fault = Fault::user(format!(
                "\"{}\" is {} below the root, and tasks may not go deeper",
                above.title,
                text::count(deepest, "level", "levels")
            ));
            return Err(match actor {
                Actor::Person => {
                    fault.hint("make it a sibling instead").hint("or allow more: `mxd config set maxDepth N`")
                }
                Actor::Agent(_) => {
                    fault.hint("do the work yourself, or tell the task above that it needs a task of its own")
                }
            });
        }
        if draft.recurring != Recurring::None && actor != Actor::Person && actor != Actor::Agent(self.tree.root_id()) {
            return Err(Fault::user("only the root may make recurring tasks"));
        }
        draft.schedule.check()?;
        if draft.recurring == Recurring::None && !draft.schedule.is_empty() {
            return Err(Fault::user("only a recurring task has times at which it comes round").hint(
                "say how it does: with an empty conversation each time (reset), or with the one before (continue)",
            ));
        }
        let title = checked_title(&draft.title)?;
        let chosen = self.profiles.choose(draft.profile.as_deref())?;
        let profile = chosen.full_name();
        if let (Actor::Agent(_), Some(budget)) = (actor, draft.budget) {
            self.check_agent_budget(budget, &profile, parent)?;
        }
        let id = TaskId::fresh(&self.ids);
        let node = TaskNode {
            description: draft.description.trim().to_owned(),
            status: if start == Start::Draft { Status::Draft } else { Status::Pending },
            budget: draft.budget,
            budget_by: draft.budget.map(|_| actor.editor()),
            edited_by: actor.editor(),
            recurring: draft.recurring,
            round: (draft.recurring != Recurring::None && start == Start::Now).then_some(now),
            colour: draft.colour,
            // A recurring task has its round to say so.
            starting: draft.recurring == Recurring::None && start == Start::Now,
            ..TaskNode::new(id, title.clone(), profile, now)
        };
        self.tree.insert(node, parent)?;
        if let Some(before) = before {
            self.place_before(parent, id, before);
        }
        if actor == Actor::Person {
            self.note_edit(now, id, &title, TreeAction::Created, &draft.description);
        }
        Ok(id)
    }

    /// Gives a new task its first message, once the tree knows it.
    pub(super) fn begin_work(&mut self, now: Timestamp, asker: Asker, task: TaskId, above: TaskId, by: Actor) {
        let recurs = self.tree.get(task).is_some_and(|node| node.recurring != Recurring::None);
        let is_fork = self.state(task).is_some_and(|state| state.turns.voice.is_some());
        let words = match asker {
            Asker::Round if recurs => self.round_words(task),
            _ if is_fork => message::BEGIN_FORK,
            Asker::Command(_) | Asker::Request(_) | Asker::Round => message::BEGIN,
        };
        let from = match (by, asker) {
            (_, Asker::Round) if recurs => Source::Notice,
            (Actor::Person, _) if is_fork => Source::BeginFork,
            (Actor::Person, _) => Source::Begin,
            (Actor::Agent(own), _) => {
                let title = self.tree.get(own).map(|node| node.title.clone()).unwrap_or_default();
                Source::TaskMessage { task: own, title, request_reply: false }
            }
        };
        let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        let message = self.message(now, from, words);
        let then = match asker {
            Asker::Command(ticket) => Pending::Reply(ticket, Outcome::Created(task)),
            Asker::Request(ticket) => {
                let place = if by == Actor::Agent(above) { String::new() } else { format!(" below {above}") };
                let hint = self.rounds_hint(task);
                Pending::Respond(ticket, format!("Created task {task} \"{title}\"{place} and started it.{hint}"))
            }
            Asker::Round => Pending::Nothing,
        };
        let plan = if by == Actor::Person { Plan::of_user() } else { Plan::default() };
        self.deliver_first(task, message, plan, then);
    }

    fn place_before(&mut self, parent: TaskId, task: TaskId, before: TaskId) {
        let Some(node) = self.tree.get(parent) else { return };
        let mut order: Vec<TaskId> = node.children.iter().copied().filter(|child| *child != task).collect();
        let at = order.iter().position(|child| *child == before).unwrap_or(order.len());
        order.insert(at, task);
        // The same children in another order: it cannot be refused.
        let _ = self.tree.reorder(parent, order);
    }

    /// Everything is checked before anything is changed.
    pub(super) fn update(
        &mut self,
        now: Timestamp,
        asker: Asker,
        actor: Actor,
        task: TaskId,
        changes: &Changes,
    ) -> Result<(), Fault> {
        self.may_change(actor, task)?;
        let node = self.node(task)?;
        if changes.is_empty() {
            return Err(Fault::user("nothing is to be changed: say what"));
        }
        let (was, is) = (node.recurring, changes.recurring.unwrap_or(node.recurring));
        if let Some(schedule) = &changes.schedule {
            schedule.check()?;
            if is == Recurring::None {
                return Err(Fault::user("only a recurring task has times at which it comes round")
                    .hint("say how it does: --recurring reset, or --recurring continue"));
            }
        }
        if let Actor::Agent(_) = actor
            && let Some(budget) = changes.budget
        {
            self.may_change_budget(node, budget)?;
        }
        let title = changes.title.as_deref().map(checked_title).transpose()?;
        if let Some(draft) = changes.draft
            && !matches!(node.status, Status::Draft | Status::Pending)
        {
            let word = if draft { "made a draft" } else { "made ready" };
            return Err(Fault::user(format!("a task that is {} cannot be {word}", node.status)));
        }
        if changes.recurring.is_some_and(|recurring| recurring != Recurring::None)
            && !matches!(actor, Actor::Person)
            && actor != Actor::Agent(self.tree.root_id())
        {
            return Err(Fault::user("only the root may make a task recurring"));
        }
        let node = self.tree.edit(task, |node| {
            if let Some(title) = title {
                node.title = title;
            }
            if let Some(description) = &changes.description {
                description.trim().clone_into(&mut node.description);
            }
            if let Some(budget) = changes.budget {
                node.budget = budget;
                node.budget_by = Some(actor.editor());
                // The file of a recurring task is about to say the same.
                node.round_budget = budget.filter(|_| node.recurring != Recurring::None);
            }
            node.colour = changes.colour.unwrap_or(node.colour);
            node.recurring = changes.recurring.unwrap_or(node.recurring);
            if let Some(verify) = &changes.verify {
                node.verify =
                    verify.as_ref().map(|command| command.trim().to_owned()).filter(|command| !command.is_empty());
            }
            match changes.draft {
                Some(true) => (node.status, node.starting) = (Status::Draft, false),
                Some(false) => node.status = Status::Pending,
                None => {}
            }
            node.edited_by = actor.editor();
            node.updated_at = now;
        })?;
        let title = node.title.clone();
        if actor == Actor::Person {
            let detail = describe(changes);
            self.note_edit(now, task, &title, TreeAction::Updated, &detail);
            self.tell_agent(now, task, &title, &detail);
        }
        let then = Then::Settle(asker, Outcome::Done, format!("Updated task {task} \"{title}\"."));
        let plan = self.plan_change(task, was, changes.budget, changes.schedule.clone().unwrap_or_default());
        self.commit([task], then.after_writing(plan));
        Ok(())
    }

    /// The agent of a task that is under way learns what became of its task, with the next thing it is told.
    fn tell_agent(&mut self, now: Timestamp, task: TaskId, title: &str, detail: &str) {
        let talks = self.lives.get(&task).is_some_and(|life| life.state.turns.voice.is_some());
        if talks && self.status(task) == Some(Status::InProgress) {
            let from = Source::TreeChange { task, title: title.to_owned(), action: TreeAction::Updated };
            let message = self.message(now, from, detail);
            self.deliver(task, message, Plan::passive(), Pending::Nothing);
        }
    }

    pub(super) fn reparent(
        &mut self,
        now: Timestamp,
        asker: Asker,
        actor: Actor,
        task: TaskId,
        parent: TaskId,
        before: Option<TaskId>,
    ) -> Result<(), Fault> {
        self.may_change(actor, task)?;
        if actor != Actor::Agent(parent) {
            self.may_change(actor, parent)?;
        }
        let node = self.node(task)?;
        let (title, old) = (node.title.clone(), node.parent);
        self.not_in_between(task)?;
        self.not_in_between(parent)?;
        if self.is_completing(task) {
            return Err(Fault::user(format!("\"{title}\" is just telling the task above how it ended"))
                .hint("move it in a moment"));
        }
        let own = self.tree.depth(task);
        let height = self.tree.walk(task).map(|below| self.tree.depth(below.id) - own).max().unwrap_or(0);
        if self.tree.depth(parent) + 1 + height > self.limits.max_depth as usize {
            return Err(Fault::user(format!(
                "\"{title}\" with what is below it would be deeper than {} levels below the root",
                self.limits.max_depth
            )));
        }
        self.tree.reparent(task, parent)?;
        if let Some(before) = before {
            self.place_before(parent, task, before);
        }
        if actor == Actor::Person {
            self.note_edit(now, task, &title, TreeAction::Moved, "");
        }
        self.once_saved(Then::Moved(task));
        let changed = [Some(task), Some(parent), old].into_iter().flatten();
        self.commit(changed, Then::Settle(asker, Outcome::Done, format!("Moved task {task} \"{title}\".")));
        Ok(())
    }

    pub(super) fn reorder(
        &mut self,
        now: Timestamp,
        asker: Asker,
        actor: Actor,
        parent: TaskId,
        order: Vec<TaskId>,
    ) -> Result<(), Fault> {
        if actor != Actor::Agent(parent) {
            self.may_change(actor, parent)?;
        }
        self.tree.reorder(parent, order)?;
        if actor == Actor::Person {
            let title = self.node(parent)?.title.clone();
            self.note_edit(now, parent, &title, TreeAction::Reordered, "");
        }
        self.commit([parent], Then::Settle(asker, Outcome::Done, "The sub tasks are in the new order.".to_owned()));
        Ok(())
    }
}

/// Returns a title as it is kept: one line, not empty, not endless.
pub(super) fn checked_title(title: &str) -> Result<String, Fault> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(Fault::user("a task needs a title: one line that says what is to be done"));
    }
    Ok(text::headline(&title, TITLE_CHARS))
}

/// Says what was changed, for those who are told.
fn describe(changes: &Changes) -> String {
    let mut parts = Vec::new();
    if changes.title.is_some() {
        parts.push("its title".to_owned());
    }
    if let Some(description) = &changes.description {
        parts.push(format!("its description, which is now:\n{}", description.trim()));
    }
    if changes.budget.is_some() {
        parts.push("its budget".to_owned());
    }
    match &changes.verify {
        Some(Some(command)) => parts.push(format!("what checks its work: `{}`", command.trim())),
        Some(None) => parts.push("what checks its work: whatever checks the project's".to_owned()),
        None => {}
    }
    if changes.recurring.is_some() || changes.schedule.is_some() {
        parts.push("when it comes round".to_owned());
    }
    if let Some(draft) = changes.draft {
        parts.push(if draft { "it is a draft again".to_owned() } else { "it is ready to start".to_owned() });
    }
    parts.join("; ")
}
