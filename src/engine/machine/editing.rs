//! Changes to the tree: one function each, whoever makes them. What an actor may change is decided in `authority`.

mod deferring;
mod removing;
mod restoring;
mod steps;

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::{Actor, Begun, Changes, Draft, Outcome, Start};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::saving::Then;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Machine, Origin, Pending};
use crate::model::message::{self, Source, TreeAction};
use crate::model::task::{Recurring, Status, TaskNode};
use crate::model::tree::TreeError;

pub(super) use deferring::Deferred;
pub(super) use steps::Keeping;
pub use steps::{Clearing, Copying, Recalling, Restoring};

/// What a title may have.
const TITLE_CHARS: usize = 200;

impl From<TreeError> for Fault {
    fn from(error: TreeError) -> Self {
        Self::user(error.to_string())
    }
}

impl Machine {
    /// Refuses to hang anything below a task that is being put away.
    fn not_in_between(&self, task: TaskId) -> Result<(), Fault> {
        if self.lives.get(&task).is_some_and(|life| life.holds.has(Hold::Change)) {
            return Err(
                Fault::user(format!("task {task} is being put away or brought back")).hint("try again in a moment")
            );
        }
        Ok(())
    }

    pub(super) fn create(
        &mut self,
        now: Timestamp,
        origin: Origin,
        parent: TaskId,
        before: Option<TaskId>,
        draft: &Draft,
        start: Start,
    ) -> Result<(), Fault> {
        let id = self.add_task(now, origin.actor, parent, before, draft, start)?;
        if let Actor::Agent(own) = origin.actor {
            self.life(own).created += 1;
        }
        let then = match start {
            Start::Now => Then::Begin { origin, task: id },
            Start::Later | Start::Draft => Then::Settle(origin, self.created(id, Begun::No)),
        };
        let plan = self.plan_change(id, Recurring::None, None, draft.schedule.clone());
        self.commit([id, parent], then.after_writing(plan));
        Ok(())
    }

    /// Returns that a task was created.
    pub(super) fn created(&self, task: TaskId, start: Begun) -> Outcome {
        let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        Outcome::Created { task, title, start }
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
            let user = ["make it a sibling instead", "or allow more: `mxd config set maxDepth N`"];
            let agent = "do the work yourself, or tell the task above that it needs a task of its own";
            return Err(actor.advise(fault, &user, agent));
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
        self.note_edit(now, actor, id, &title, TreeAction::Created, &draft.description);
        Ok(id)
    }

    /// Gives a new task its first message, once the tree knows it.
    pub(super) fn begin_work(&mut self, now: Timestamp, origin: Origin, task: TaskId) {
        let is_fork = self.state(task).is_some_and(|state| state.turns.voice.is_some());
        let words = match origin.actor {
            Actor::Engine => self.round_words(task),
            Actor::User | Actor::Agent(_) if is_fork => message::BEGIN_FORK,
            Actor::User | Actor::Agent(_) => message::BEGIN,
        };
        let from = match origin.actor {
            Actor::Engine => Source::Notice,
            Actor::User if is_fork => Source::BeginFork,
            Actor::User => Source::Begin,
            Actor::Agent(own) => {
                let title = self.tree.get(own).map(|node| node.title.clone()).unwrap_or_default();
                Source::TaskMessage { task: own, title, request_reply: false }
            }
        };
        let message = self.message(now, from, words);
        let plan = if origin.actor == Actor::User { Plan::of_user() } else { Plan::default() };
        self.deliver_first(task, message, plan, origin);
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
        origin: Origin,
        task: TaskId,
        changes: &Changes,
    ) -> Result<(), Fault> {
        let actor = origin.actor;
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
        let title = changes.title.as_deref().map(checked_title).transpose()?;
        if let Some(draft) = changes.draft
            && !matches!(node.status, Status::Draft | Status::Pending)
        {
            let word = if draft { "made a draft" } else { "made ready" };
            return Err(Fault::user(format!("a task that is {} cannot be {word}", node.status)));
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
        let detail = describe(changes);
        self.note_edit(now, actor, task, &title, TreeAction::Updated, &detail);
        if actor.is_told_above() {
            self.tell_agent(now, task, &title, &detail);
        }
        let then = Then::Settle(origin, Outcome::Done);
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
        origin: Origin,
        task: TaskId,
        parent: TaskId,
        before: Option<TaskId>,
    ) -> Result<(), Fault> {
        self.node(parent)?;
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
        self.note_edit(now, origin.actor, task, &title, TreeAction::Moved, "");
        self.once_saved(Then::Moved(task));
        let changed = [Some(task), Some(parent), old].into_iter().flatten();
        self.commit(changed, Then::Settle(origin, Outcome::Done));
        Ok(())
    }

    pub(super) fn reorder(
        &mut self,
        now: Timestamp,
        origin: Origin,
        parent: TaskId,
        order: Vec<TaskId>,
    ) -> Result<(), Fault> {
        let title = self.node(parent)?.title.clone();
        self.tree.reorder(parent, order)?;
        self.note_edit(now, origin.actor, parent, &title, TreeAction::Reordered, "");
        self.commit([parent], Then::Settle(origin, Outcome::Done));
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
