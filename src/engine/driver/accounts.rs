//! The budget accounts of a project. All runs that share a limit share its account, for as long as the project is
//! open. A changed limit applies to running agents at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::{MicroUsd, TaskId};
use crate::engine::machine::BudgetLimit;
use crate::provider::budget::{Budget, BudgetAccount};

/// Replaces a limit that was removed.
const NO_LIMIT: MicroUsd = MicroUsd(u64::MAX);

/// The accounts by the task that owns the limit. `None` is the project's own account.
#[derive(Default)]
pub(super) struct Accounts(BTreeMap<Option<TaskId>, Arc<BudgetAccount>>);

impl Accounts {
    /// Returns the budget of a run.
    pub(super) fn budget(&mut self, orders: &[BudgetLimit]) -> Budget {
        Budget::new(orders.iter().map(|order| (order.scope, self.account(order))).collect())
    }

    fn account(&mut self, order: &BudgetLimit) -> Arc<BudgetAccount> {
        let Some(account) = self.0.get(&order.owner) else {
            let account = BudgetAccount::new(order.limit, order.spent);
            self.0.insert(order.owner, Arc::clone(&account));
            return account;
        };
        account.set_limit(order.limit);
        // Without another holder, no run is spending from the account.
        account.reconcile(order.spent, Arc::strong_count(account) > 1);
        Arc::clone(account)
    }

    /// Sets the limit of a task. `None` removes it.
    pub(super) fn set_limit(&self, owner: TaskId, limit: Option<MicroUsd>) {
        if let Some(account) = self.0.get(&Some(owner)) {
            account.set_limit(limit.unwrap_or(NO_LIMIT));
        }
    }
}

#[cfg(test)]
#[path = "accounts_tests.rs"]
mod tests;
