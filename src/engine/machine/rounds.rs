//! Recurring tasks: a round is a normal start of a normal task, and nothing else knows about rounds.
//!
//! Invariant: a task that is pending and has a `round` was begun in the tree, and its first message follows. A crash
//! between the two is made good at the next start.

use std::collections::BTreeSet;

use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::{Edit, Facts, PlanChange, Schedule};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::editing::checked_title;
use crate::engine::machine::saving::Then;
use crate::engine::machine::{Effect, Life, Machine, Origin, Pending, WritingDown};
use crate::engine::update::{Level, Notice};
use crate::model::ask::Approval;
use crate::model::fold::SessionState;
use crate::model::message::{Source, TreeAction};
use crate::model::task::{EditedBy, Recurring, Status, TaskNode};

impl Machine {
    /// A task comes round: its file says that it is time, or the file is new here.
    pub(super) fn round(&mut self, now: Timestamp, task: TaskId, facts: &Facts, session: SessionState) {
        if self.quitting || self.limits.hold {
            return;
        }
        let Some(status) = self.status(task) else { return self.adopt(now, task, facts, session) };
        if task == self.tree.root_id() {
            return self.say(Level::Warning, task, "the root does not come round; its file is ignored");
        }
        match status {
            // Not to be started, or put away: both by a person's word.
            Status::Draft | Status::Closed => return,
            Status::Pending | Status::InProgress | Status::Passed | Status::Failed => {}
        }
        let at_work = |node: &TaskNode| node.status == Status::InProgress || self.is_busy(node.id);
        if self.tree.walk(task).any(at_work) {
            return self.say(Level::Info, task, "it is still at work, so this round is left out");
        }
        if facts.mode == Recurring::Continue && self.blocking_ask(task).is_some() {
            return self.say(Level::Info, task, "it waits for your answer, so this round is left out");
        }
        if !self.may_come_round(task, facts) {
            return;
        }
        self.bring_up_to_date(now, task, facts);
        match facts.mode {
            Recurring::Reset => {
                if let Err(fault) = self.reset(now, Origin::ENGINE, task) {
                    self.refuse(Origin::ENGINE, fault);
                }
            }
            Recurring::Continue | Recurring::None => {
                let begun = self.tree.edit(task, |node| {
                    node.status = Status::Pending;
                    node.round = Some(now);
                    node.updated_at = now;
                });
                debug_assert!(begun.is_ok(), "its status was looked at a moment ago");
                self.begin_round(task);
            }
        }
    }

    /// Takes note of which tasks come round at times of their own.
    pub fn set_timed(&mut self, timed: BTreeSet<TaskId>) {
        self.timed = timed;
    }

    /// Tells whether what was said to a task begins a round of it, with an empty conversation: it is recurring, comes
    /// round only when it is sent a message, and its last round is over.
    pub(super) fn begins_round(&self, task: TaskId) -> bool {
        let (Some(node), Some(life)) = (self.tree.get(task), self.lives.get(&task)) else { return false };
        let resets = node.recurring == Recurring::Reset && !self.timed.contains(&task);
        let is_over = matches!(node.status, Status::Passed | Status::Failed) && life.state.is_ended();
        let asked = life.state.messages.iter().any(|said| said.from == Source::User || said.from.is_of_task());
        resets && is_over && asked && !self.works_below(task)
    }

    /// Saves that a round has begun, then says so to the task.
    pub(super) fn begin_round(&mut self, task: TaskId) {
        self.commit([task], Then::Begin { origin: Origin::ENGINE, task });
    }

    /// Returns what is said to a task when a round of it begins.
    pub(super) fn round_words(&self, task: TaskId) -> &'static str {
        if self.lives.get(&task).is_some_and(|life| life.state.turns.voice.is_some()) {
            "A new round of this recurring task begins. Look at how things stand now, and do your task again."
        } else {
            "A round of this recurring task begins. Begin with your task."
        }
    }

    /// Makes good what a crash cut short: the tree has the round, its task was not told.
    pub(super) fn finish_rounds(&mut self, now: Timestamp) {
        if self.limits.hold {
            return;
        }
        let begun = |node: &&TaskNode| {
            let is_told = |life: &Life| life.state.messages.iter().any(|message| message.from.wakes());
            node.recurring != Recurring::None
                && node.round.is_some()
                && node.status == Status::Pending
                && !self.lives.get(&node.id).is_some_and(is_told)
        };
        let begun: Vec<TaskId> = self.tree.all().filter(begun).map(|node| node.id).collect();
        for task in begun {
            self.begin_work(now, Origin::ENGINE, task);
        }
    }

    /// Makes a task of a file that nobody here has seen before. What a repository brings along begins only when the
    /// person has made it ready.
    fn adopt(&mut self, now: Timestamp, task: TaskId, facts: &Facts, session: SessionState) {
        let root = self.tree.root_id();
        let title = match checked_title(&facts.title) {
            Ok(title) => title,
            Err(fault) => return self.refuse(Origin::ENGINE, fault),
        };
        let profile = match self.profiles.choose(facts.profile.as_deref()) {
            Ok(profile) => profile.full_name(),
            Err(fault) => return self.refuse(Origin::ENGINE, fault),
        };
        let node = TaskNode {
            description: facts.description.clone(),
            status: Status::Draft,
            round_budget: facts.budget,
            edited_by: EditedBy::User,
            recurring: facts.mode,
            ..TaskNode::new(task, title.clone(), profile, now)
        };
        if let Err(error) = self.tree.insert(node, root) {
            return self.refuse(Origin::ENGINE, error.into());
        }
        // The id may have had a conversation before: in this clone it was deleted, and now it is back.
        self.lives.insert(task, Life { state: session, ..Life::default() });
        let text = format!(
            "the repository has a recurring task that is new here, \"{title}\": it is a draft until you make it ready: \
             `mxd task edit {} --draft false`",
            task.short()
        );
        self.commit([task, root], Then::Notify(Notice { level: Level::Info, text, task: None }));
    }

    /// The file says what the task is. Its budget is for one round: what the others cost is not counted against it.
    fn bring_up_to_date(&mut self, now: Timestamp, task: TaskId, facts: &Facts) {
        let Ok(title) = checked_title(&facts.title) else { return };
        let spent = self.spent_below(task);
        let described = self.tree.get(task).is_some_and(|node| node.description == facts.description);
        // A conversation that goes on keeps who leads it. One that begins anew is led by whom the file names.
        let named = facts.profile.as_deref().filter(|_| facts.mode == Recurring::Reset);
        let profile = named.and_then(|name| Some(self.profiles.choose(Some(name)).ok()?.full_name()));
        let edited = self.tree.edit(task, |node| {
            node.title.clone_from(&title);
            node.description.clone_from(&facts.description);
            node.recurring = facts.mode;
            forget_total_budget(node, facts);
            node.round_budget = facts.budget;
            node.round_cost = spent;
            if let Some(profile) = profile {
                node.profile = profile;
            }
            node.updated_at = now;
        });
        debug_assert!(edited.is_ok(), "the task was there a moment ago");
        let talks = self.lives.get(&task).is_some_and(|life| life.state.turns.voice.is_some());
        if facts.mode == Recurring::Continue && talks && !described {
            let from = Source::TreeChange { task, title, action: TreeAction::Updated };
            let body = format!("its description, which is now:\n{}", facts.description);
            let message = self.message(now, from, body);
            self.deliver(task, message, Plan::passive(), Pending::Nothing);
        }
    }

    pub(super) fn say(&mut self, level: Level, task: TaskId, words: &str) {
        let title = self.tree.get(task).map(|node| node.title.as_str()).unwrap_or_default();
        let text = format!("\"{title}\": {words}");
        self.out.push(Effect::Notify(Notice { level, text, task: Some(task) }));
    }

    /// Returns the change to its file that a change to a task calls for.
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
            profile: node.profile.clone(),
            budget: if was == Recurring::None { Some(node.budget) } else { budget },
            schedule,
        })))
    }

    /// Goes on once the file of a recurring task is as the tree has it.
    pub(super) fn written_down(
        &mut self,
        now: Timestamp,
        WritingDown(then): WritingDown,
        result: Result<Option<String>, Fault>,
    ) {
        match result {
            // What the user, or the root, wrote through us needs no further word.
            Ok(Some(hash)) => self.approvals.decide(Approval::RecurringTask { hash }, true),
            Ok(None) => {}
            Err(fault) => {
                let text = format!("the file of a recurring task could not be changed: {}", fault.message);
                self.out.push(Effect::Notify(Notice { level: Level::Warning, text, task: None }));
            }
        }
        self.saved(now, *then);
    }
}

/// Earlier versions kept the limit of a round, plus what the rounds before it had cost, as the task's own budget. Of such a
/// budget only one that the user gave is kept, as the file has it.
fn forget_total_budget(node: &mut TaskNode, facts: &Facts) {
    if node.budget_by.is_none() && node.budget.is_some() {
        let by_user = node.edited_by == EditedBy::User && facts.budget.is_some();
        node.budget = facts.budget.filter(|_| by_user);
        node.budget_by = by_user.then_some(EditedBy::User);
    }
}
