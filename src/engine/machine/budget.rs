//! Budgets: which limit applies to a task, which limits a run spends from, what agents may request.
//!
//! A setting is looked up each time and never copied into a task, so it applies to every task, including the root. Only
//! a budget that the user set for a task replaces it. An agent, a repository's profile and a recurring task's file can
//! lower a limit and never raise one. A task's budget covers its subtree.

use crate::base::{Fault, MicroUsd, TaskId};
use crate::engine::machine::{BudgetLimit, Machine};
use crate::model::event::BudgetScope;
use crate::model::task::{EditedBy, TaskNode};

impl Machine {
    /// Returns the budget of a task and its subtree, counted from its first turn. `None` for no limit.
    pub(super) fn budget_of(&self, node: &TaskNode) -> Option<MicroUsd> {
        let limit = match node.budget_set_by() {
            Some(EditedBy::User) => node.budget,
            Some(EditedBy::Agent) | None => lower(node.budget, self.usual_budget(node.profile.as_deref())),
        };
        lower(limit, node.recurring_run_budget).map(|limit| node.cost_before_run + limit)
    }

    /// Returns the default budget for a profile.
    fn usual_budget(&self, profile: Option<&str>) -> Option<MicroUsd> {
        let usual = self.limits.budget;
        let profile = profile.and_then(|profile| self.profiles.by_full_name(profile).ok());
        profile.map_or(usual, |usable| usable.profile.budget_within(usual))
    }

    /// Refuses a budget from an agent that exceeds what the user allows for a task with this profile under `parent`.
    pub(super) fn check_agent_budget(
        &self,
        wanted: MicroUsd,
        profile: Option<&str>,
        parent: TaskId,
    ) -> Result<(), Fault> {
        let above = std::iter::once(parent).chain(self.tree.ancestors(parent).map(|node| node.id));
        let above = above.filter_map(|task| self.tree.get(task)).map(|node| self.budget_of(node));
        let ceiling = above.fold(self.usual_budget(profile), lower);
        match ceiling {
            Some(ceiling) if wanted > ceiling => Err(Fault::user(format!(
                "a budget of {wanted} is more than the {ceiling} that this task may cost: only the user can allow more"
            ))
            .hint("leave budget_usd out, or ask for less")),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses an agent's change to a budget that the user set, or one that exceeds what the user allows.
    pub(super) fn may_change_budget(&self, node: &TaskNode, wanted: Option<MicroUsd>) -> Result<(), Fault> {
        if node.budget_set_by() == Some(EditedBy::User) {
            return Err(Fault::user(format!("the user set the budget of \"{}\": only they can change it", node.title))
                .hint("ask them with clarify"));
        }
        match (wanted, node.parent) {
            (Some(wanted), Some(parent)) => self.check_agent_budget(wanted, node.profile.as_deref(), parent),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Returns every budget that a task spends from: its own, its ancestors', the project's.
    pub(super) fn accounts(&self, node: &TaskNode) -> Vec<BudgetLimit> {
        let mut accounts = Vec::new();
        for limited in std::iter::once(node).chain(self.tree.ancestors(node.id)) {
            let Some(limit) = self.budget_of(limited) else { continue };
            let scope = if limited.id == node.id { BudgetScope::Task } else { BudgetScope::Subtree };
            accounts.push(BudgetLimit { owner: Some(limited.id), scope, limit, spent: self.spent_below(limited.id) });
        }
        if let Some(limit) = self.limits.project_budget {
            accounts.push(BudgetLimit { owner: None, scope: BudgetScope::Project, limit, spent: self.spent });
        }
        accounts
    }

    /// Returns the cost of a task and its subtree, including deleted tasks.
    pub(super) fn spent_below(&self, task: TaskId) -> MicroUsd {
        let cost =
            |node: &TaskNode| self.runtimes.get(&node.id).map(|runtime| runtime.state.usage.cost()).unwrap_or_default();
        self.tree.walk(task).map(|node| cost(node) + node.deleted_cost).sum()
    }
}

/// Returns the lower of two limits, where `None` is no limit.
fn lower(one: Option<MicroUsd>, other: Option<MicroUsd>) -> Option<MicroUsd> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
