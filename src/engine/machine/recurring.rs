//! Recurring tasks. A recurring run is a normal start of a normal task; no other module knows about recurrence.
//!
//! Invariant: a pending task with `last_recurring_run` set has been started in the tree, and its first message follows.
//! After a crash between the two, the next start sends the message.

use std::collections::BTreeSet;

use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::{Edit, PlanChange, PlanFacts, Schedule};
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::edits::checked_title;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::{AppendContinuation, Effect, Machine, Origin, PlanWriteContinuation, TaskRuntime};
use crate::engine::update::{Level, Notice};
use crate::model::ask::Approval;
use crate::model::fold::SessionState;
use crate::model::message::{MessageSource, TreeAction};
use crate::model::task::{EditedBy, Recurring, Status, TaskNode};

impl Machine {
    /// Starts a recurring run that is due, or adds the task of a new file.
    pub(super) fn on_recurring_due(&mut self, now: Timestamp, task: TaskId, facts: &PlanFacts, session: SessionState) {
        if self.leaving.is_some() || self.limits.hold {
            return;
        }
        let Some(status) = self.status(task) else { return self.adopt(now, task, facts, session) };
        if task == self.tree.root_id() {
            return self.notify(Level::Warning, task, "the root cannot be recurring; its file is ignored");
        }
        match status {
            // Drafts and closed tasks do not recur.
            Status::Draft | Status::Closed => return,
            Status::Pending | Status::InProgress | Status::Passed | Status::Failed => {}
        }
        let at_work = |node: &TaskNode| node.status == Status::InProgress || self.is_busy(node.id);
        if self.tree.walk(task).any(at_work) {
            return self.notify(Level::Info, task, "this run is skipped: the last one is still at work");
        }
        if facts.mode == Recurring::Continue && self.blocking_ask(task).is_some() {
            return self.notify(Level::Info, task, "this run is skipped: the task waits for your answer");
        }
        if !self.may_recur(task, facts) {
            return;
        }
        self.apply_plan(now, task, facts);
        match facts.mode {
            Recurring::Reset => {
                if let Err(fault) = self.reset(now, Origin::ENGINE, task) {
                    self.refuse(Origin::ENGINE, fault);
                }
            }
            Recurring::Continue | Recurring::None => {
                let begun = self.tree.edit(task, |node| {
                    node.status = Status::Pending;
                    node.last_recurring_run = Some(now);
                    node.updated_at = now;
                });
                debug_assert!(begun.is_ok(), "its status was looked at a moment ago");
                self.begin_recurrence(task);
            }
        }
    }

    /// Sets which recurring tasks have a schedule.
    pub fn set_timed(&mut self, timed: BTreeSet<TaskId>) {
        self.timed = timed;
    }

    /// Returns true if a message to a task starts a recurring run with an empty conversation: it resets, has no
    /// schedule, and its last run is over.
    pub(super) fn starts_recurrence(&self, task: TaskId) -> bool {
        let (Some(node), Some(runtime)) = (self.tree.get(task), self.runtimes.get(&task)) else { return false };
        let resets = node.recurring == Recurring::Reset && !self.timed.contains(&task);
        let is_over = matches!(node.status, Status::Passed | Status::Failed) && runtime.state.is_ended();
        let asked =
            runtime.state.messages.iter().any(|said| said.from == MessageSource::User || said.from.is_from_task());
        resets && is_over && asked && !self.has_work_below(task)
    }

    /// Saves the start of a recurring run, then sends the first message.
    pub(super) fn begin_recurrence(&mut self, task: TaskId) {
        self.commit([task], SaveContinuation::Begin { origin: Origin::ENGINE, task });
    }

    /// Returns the first message of a recurring run.
    pub(super) fn recurrence_prompt(&self, task: TaskId) -> &'static str {
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.state.turns.last_role.is_some()) {
            "A new run of this recurring task begins. Look at the current state, and do your task again."
        } else {
            "A run of this recurring task begins. Begin with your task."
        }
    }

    /// Sends first messages that a crash prevented: the tree has the run, the session does not.
    pub(super) fn resume_recurrences(&mut self, now: Timestamp) {
        if self.limits.hold {
            return;
        }
        let begun = |node: &&TaskNode| {
            let is_told = |runtime: &TaskRuntime| runtime.state.messages.iter().any(|message| message.from.wakes());
            node.recurring != Recurring::None
                && node.last_recurring_run.is_some()
                && node.status == Status::Pending
                && !self.runtimes.get(&node.id).is_some_and(is_told)
        };
        let begun: Vec<TaskId> = self.tree.all().filter(begun).map(|node| node.id).collect();
        for task in begun {
            self.begin_work(now, Origin::ENGINE, task);
        }
    }

    /// Adds a task for a file that is new here. It is a draft until the user readies it.
    fn adopt(&mut self, now: Timestamp, task: TaskId, facts: &PlanFacts, session: SessionState) {
        let root = self.tree.root_id();
        let title = match checked_title(&facts.title) {
            Ok(title) => title,
            Err(fault) => return self.refuse(Origin::ENGINE, fault),
        };
        let above = self.tree.root().profile.clone();
        let profile = match self.profiles.of_new_task(facts.profile.as_deref(), above.as_deref()) {
            Ok(profile) => profile,
            Err(fault) => return self.refuse(Origin::ENGINE, fault),
        };
        let node = TaskNode {
            description: facts.description.clone(),
            status: Status::Draft,
            recurring_run_budget: facts.budget,
            edited_by: EditedBy::User,
            recurring: facts.mode,
            profile,
            ..TaskNode::new(task, title.clone(), "", now)
        };
        if let Err(error) = self.tree.insert(node, root) {
            return self.refuse(Origin::ENGINE, error.into());
        }
        // The id may have a session: the task was deleted in this clone and its file is back.
        self.runtimes.insert(task, TaskRuntime { state: session, ..TaskRuntime::default() });
        let text = format!(
            "the repository has a new recurring task, \"{title}\". It is a draft until you ready it: \
             `mxd task edit {} --draft false`",
            task.short()
        );
        self.commit([task, root], SaveContinuation::Notify(Notice { level: Level::Info, text, task: None }));
    }

    /// Applies the file to the task. Its budget covers one run, so earlier costs do not count against it.
    fn apply_plan(&mut self, now: Timestamp, task: TaskId, facts: &PlanFacts) {
        let Ok(title) = checked_title(&facts.title) else { return };
        let spent = self.spent_below(task);
        let described = self.tree.get(task).is_some_and(|node| node.description == facts.description);
        // A continued conversation keeps its profile. A new one uses the profile in the file.
        let named = facts.profile.as_deref().filter(|_| facts.mode == Recurring::Reset);
        let profile = named.and_then(|name| Some(self.profiles.choose(name).ok()?.full_name()));
        let edited = self.tree.edit(task, |node| {
            node.title.clone_from(&title);
            node.description.clone_from(&facts.description);
            node.recurring = facts.mode;
            forget_total_budget(node, facts);
            node.recurring_run_budget = facts.budget;
            node.cost_before_run = spent;
            if let Some(profile) = profile {
                node.profile = Some(profile);
            }
            node.updated_at = now;
        });
        debug_assert!(edited.is_ok(), "the task was there a moment ago");
        let has_conversation = self.runtimes.get(&task).is_some_and(|runtime| runtime.state.turns.last_role.is_some());
        if facts.mode == Recurring::Continue && has_conversation && !described {
            let from = MessageSource::TreeChange { task, title, action: TreeAction::Updated };
            let body = format!("its description, which is now:\n{}", facts.description);
            let message = self.message(now, from, body);
            self.deliver(task, message, DeliveryPlan::passive(), AppendContinuation::Nothing);
        }
    }

    pub(super) fn notify(&mut self, level: Level, task: TaskId, words: &str) {
        let title = self.tree.get(task).map(|node| node.title.as_str()).unwrap_or_default();
        let text = format!("\"{title}\": {words}");
        self.out.push(Effect::Notify(Notice { level, text, task: Some(task) }));
    }

    /// Returns the change to the file that a change to a task requires.
    #[expect(clippy::option_option, reason = "not said, taken away, or set: as in a change to a task")]
    pub(super) fn plan_change(
        &self,
        task: TaskId,
        was: Recurring,
        budget: Option<Option<crate::base::MicroUsd>>,
        schedule: Schedule,
    ) -> Option<PlanChange> {
        let node = self.tree.get(task)?;
        if node.recurring == Recurring::None {
            return (was != Recurring::None).then(|| PlanChange::Remove(vec![task]));
        }
        Some(PlanChange::Keep(Box::new(Edit {
            task,
            title: node.title.clone(),
            description: node.description.clone(),
            mode: node.recurring,
            profile: node.profile.clone().unwrap_or_default(),
            budget: if was == Recurring::None { Some(node.budget) } else { budget },
            schedule,
        })))
    }

    /// Continues a change after the file of a recurring task was written.
    pub(super) fn on_plan_written(
        &mut self,
        now: Timestamp,
        PlanWriteContinuation(then): PlanWriteContinuation,
        result: Result<Option<String>, Fault>,
    ) {
        match result {
            // A file that mxd wrote for the user or the root is approved.
            Ok(Some(hash)) => self.approvals.decide(Approval::RecurringTask { hash }, true),
            Ok(None) => {}
            Err(fault) => {
                let text = format!("cannot write the file of a recurring task: {}", fault.message);
                self.out.push(Effect::Notify(Notice { level: Level::Warning, text, task: None }));
            }
        }
        self.resume_saved(now, *then);
    }
}

/// Removes a budget of an earlier version, which was the limit of a run plus the cost of all runs before it. Keeps the
/// budget in the file if the user set it.
fn forget_total_budget(node: &mut TaskNode, facts: &PlanFacts) {
    if node.budget_by.is_none() && node.budget.is_some() {
        let by_user = node.edited_by == EditedBy::User && facts.budget.is_some();
        node.budget = facts.budget.filter(|_| by_user);
        node.budget_by = by_user.then_some(EditedBy::User);
    }
}
