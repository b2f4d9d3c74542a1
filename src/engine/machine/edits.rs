//! Changes to the tree: one function per command, for every actor. `authority` decides what an actor may change.

mod deferring;
mod removing;
mod restoring;
mod steps;

use crate::base::{Fault, TaskId, Timestamp, text};
use crate::engine::command::{Actor, Outcome, StartOutcome, TaskChanges, TaskDraft, TaskStart};
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::{AppendContinuation, Machine, Origin};
use crate::model::message::{self, MessageSource, TreeAction};
use crate::model::task::{Overrides, Recurring, Status, TaskNode};
use crate::model::tree::TreeError;

pub(super) use deferring::{Deferred, DeferredChange};
pub(super) use steps::EditContinuation;
pub use steps::{CopyContinuation, DeletedTaskContinuation, RemovalContinuation, RestoreContinuation};

/// Maximum length of a title.
const TITLE_CHARS: usize = 200;

impl From<TreeError> for Fault {
    fn from(error: TreeError) -> Self {
        Self::user(error.to_string())
    }
}

impl Machine {
    /// Refuses a change to a task that another change holds.
    fn check_not_held(&self, task: TaskId) -> Result<(), Fault> {
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.holds.has(Hold::Change)) {
            return Err(
                Fault::user(format!("another change to task {task} is in progress")).hint("try again in a moment")
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
        draft: &TaskDraft,
        start: TaskStart,
    ) -> Result<(), Fault> {
        let id = self.add_task(now, origin.actor, parent, before, draft, start)?;
        if let Actor::Agent(own) = origin.actor {
            self.runtime(own).created += 1;
        }
        let then = match start {
            TaskStart::Now => SaveContinuation::Begin { origin, task: id },
            TaskStart::Later | TaskStart::Draft => {
                SaveContinuation::Reply(origin, self.created_outcome(id, StartOutcome::No))
            }
        };
        let plan = self.plan_change(id, Recurring::None, None, draft.schedule.clone());
        self.commit([id, parent], then.after_writing(plan));
        Ok(())
    }

    pub(super) fn created_outcome(&self, task: TaskId, start: StartOutcome) -> Outcome {
        let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        Outcome::Created { task, title, start }
    }

    /// Inserts a new task into the tree. The caller saves it.
    pub(super) fn add_task(
        &mut self,
        now: Timestamp,
        actor: Actor,
        parent: TaskId,
        before: Option<TaskId>,
        draft: &TaskDraft,
        start: TaskStart,
    ) -> Result<TaskId, Fault> {
        let above = self.node(parent)?;
        if above.status == Status::Closed {
            return Err(Fault::user(format!("cannot create a task under \"{}\": it is closed", above.title)));
        }
        self.check_not_held(parent)?;
        let deepest = self.deepest_below(parent);
        if self.tree.depth(parent) >= deepest {
            let fault = Fault::user(format!(
                "cannot create a task under \"{}\": it is {} below the root, which is the maximum",
                above.title,
                text::count(deepest, "level", "levels")
            ));
            let user = ["create a sibling instead", "or raise the limit: `mxd config set maxDepth N`"];
            let agent = "do the work yourself, or tell the parent task that it needs a task of its own";
            return Err(actor.advise(fault, &user, agent));
        }
        self.check_mode(draft.mode)?;
        draft.schedule.check()?;
        if draft.recurring == Recurring::None && !draft.schedule.is_empty() {
            return Err(Fault::user("a schedule needs a recurring task")
                .hint("set recurring: reset starts each run with an empty conversation, continue keeps the last one"));
        }
        let title = checked_title(&draft.title)?;
        let profile = self.profile_of_new_task(parent, draft)?;
        let id = TaskId::fresh(&self.ids);
        let node = TaskNode {
            description: draft.description.trim().to_owned(),
            status: if start == TaskStart::Draft { Status::Draft } else { Status::Pending },
            budget: draft.budget,
            budget_by: draft.budget.map(|_| actor.editor()),
            edited_by: actor.editor(),
            recurring: draft.recurring,
            last_recurring_run: (draft.recurring != Recurring::None && start == TaskStart::Now).then_some(now),
            colour: draft.colour,
            mode: draft.mode,
            // For a recurring task, `last_recurring_run` says this.
            starting: draft.recurring == Recurring::None && start == TaskStart::Now,
            overrides: Overrides::default().with(&draft.overrides),
            profile,
            ..TaskNode::new(id, title.clone(), "", now)
        };
        self.tree.insert(node, parent)?;
        if let Some(before) = before {
            self.place_before(parent, id, before);
        }
        self.notify_of_edit(now, actor, id, &title, TreeAction::Created, &draft.description);
        Ok(id)
    }

    /// Sends the first message to a new task. The tree must have it already.
    pub(super) fn begin_work(&mut self, now: Timestamp, origin: Origin, task: TaskId) {
        let is_fork = self.state(task).is_some_and(|state| state.turns.last_role.is_some());
        let words = match origin.actor {
            Actor::Engine => self.recurrence_prompt(task),
            Actor::User | Actor::Agent(_) if is_fork => message::BEGIN_FORK,
            Actor::User | Actor::Agent(_) => message::BEGIN,
        };
        let from = match origin.actor {
            Actor::Engine => MessageSource::Notice,
            Actor::User if is_fork => MessageSource::BeginFork,
            Actor::User => MessageSource::Begin,
            Actor::Agent(own) => {
                let title = self.tree.get(own).map(|node| node.title.clone()).unwrap_or_default();
                MessageSource::TaskMessage { task: own, title, request_reply: false }
            }
        };
        let message = self.message(now, from, words);
        let plan = if origin.actor == Actor::User { DeliveryPlan::from_user() } else { DeliveryPlan::default() };
        self.deliver_first(task, message, plan, origin);
    }

    fn place_before(&mut self, parent: TaskId, task: TaskId, before: TaskId) {
        let Some(node) = self.tree.get(parent) else { return };
        let mut order: Vec<TaskId> = node.children.iter().copied().filter(|child| *child != task).collect();
        let at = order.iter().position(|child| *child == before).unwrap_or(order.len());
        order.insert(at, task);
        // A permutation of the same children cannot be refused.
        let _ = self.tree.reorder(parent, order);
    }

    /// Applies changes to a task. Checks all of them first.
    pub(super) fn update(
        &mut self,
        now: Timestamp,
        origin: Origin,
        task: TaskId,
        changes: &TaskChanges,
    ) -> Result<(), Fault> {
        let actor = origin.actor;
        let node = self.node(task)?;
        if changes.is_empty() {
            return Err(Fault::user("nothing to change: set at least one field"));
        }
        let (was, is) = (node.recurring, changes.recurring.unwrap_or(node.recurring));
        if let Some(schedule) = &changes.schedule {
            schedule.check()?;
            if is == Recurring::None {
                return Err(Fault::user("a schedule needs a recurring task")
                    .hint("add --recurring reset or --recurring continue"));
            }
        }
        self.check_mode(changes.mode.flatten())?;
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
                // The file of a recurring task is about to get the same budget.
                node.recurring_run_budget = budget.filter(|_| node.recurring != Recurring::None);
            }
            if let Some(overrides) = &changes.overrides {
                node.overrides = node.overrides.with(overrides);
            }
            node.colour = changes.colour.unwrap_or(node.colour);
            node.mode = changes.mode.unwrap_or(node.mode);
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
        let mut detail = describe(changes);
        if changes.mode.is_some() {
            detail = self.describe_mode(task, detail);
        }
        self.notify_of_edit(now, actor, task, &title, TreeAction::Updated, &detail);
        if actor.notifies_ancestors() {
            self.notify_agent(now, task, &title, &detail);
        }
        let then = SaveContinuation::Reply(origin, Outcome::Done);
        let plan = self.plan_change(task, was, changes.budget, changes.schedule.clone().unwrap_or_default());
        self.commit([task], then.after_writing(plan));
        Ok(())
    }

    /// Informs the agent of a task in progress of a change to the task, with its next message.
    fn notify_agent(&mut self, now: Timestamp, task: TaskId, title: &str, detail: &str) {
        let has_conversation = self.runtimes.get(&task).is_some_and(|runtime| runtime.state.turns.last_role.is_some());
        if has_conversation && self.status(task) == Some(Status::InProgress) {
            let from = MessageSource::TreeChange { task, title: title.to_owned(), action: TreeAction::Updated };
            let message = self.message(now, from, detail);
            self.deliver(task, message, DeliveryPlan::passive(), AppendContinuation::Nothing);
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
        self.check_not_held(task)?;
        self.check_not_held(parent)?;
        if self.is_completing(task) {
            return Err(Fault::user(format!("cannot move \"{title}\" now: it is reporting its result to its parent"))
                .hint("try again in a moment"));
        }
        let own = self.tree.depth(task);
        let height = self.tree.walk(task).map(|below| self.tree.depth(below.id) - own).max().unwrap_or(0);
        if self.tree.depth(parent) + 1 + height > self.limits.max_depth as usize {
            return Err(Fault::user(format!(
                "cannot move \"{title}\": its subtree would be more than {} levels below the root",
                self.limits.max_depth
            )));
        }
        self.tree.reparent(task, parent)?;
        if let Some(before) = before {
            self.place_before(parent, task, before);
        }
        self.notify_of_edit(now, origin.actor, task, &title, TreeAction::Moved, "");
        self.after_save(SaveContinuation::Moved(task));
        let changed = [Some(task), Some(parent), old].into_iter().flatten();
        self.commit(changed, SaveContinuation::Reply(origin, Outcome::Done));
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
        self.notify_of_edit(now, origin.actor, parent, &title, TreeAction::Reordered, "");
        self.commit([parent], SaveContinuation::Reply(origin, Outcome::Done));
        Ok(())
    }
}

/// Returns a normalized title: one line, not empty, of limited length.
pub(super) fn checked_title(title: &str) -> Result<String, Fault> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(Fault::user("a task needs a title: one line that says what to do"));
    }
    Ok(text::headline(&title, TITLE_CHARS))
}

/// Returns a summary of changes, for the agents that are informed.
fn describe(changes: &TaskChanges) -> String {
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
    if changes.overrides.is_some() {
        parts.push("what differs from its profile".to_owned());
    }
    match &changes.verify {
        Some(Some(command)) => parts.push(format!("its check command: `{}`", command.trim())),
        Some(None) => parts.push("its check command: the project's".to_owned()),
        None => {}
    }
    if changes.recurring.is_some() || changes.schedule.is_some() {
        parts.push("its schedule".to_owned());
    }
    if let Some(draft) = changes.draft {
        parts.push(if draft { "it is a draft again".to_owned() } else { "it is ready to start".to_owned() });
    }
    parts.join("; ")
}
