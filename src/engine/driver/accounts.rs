//! The limits that runs pay from: one account for each, shared by everybody whom it limits, for as long as the project is
//! open. A limit that changes is changed for those who are at work, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::{MicroUsd, TaskId};
use crate::engine::machine::AccountOrder;
use crate::provider::purse::{Account, Purse};

/// What stands for a limit that was lifted.
const NO_LIMIT: MicroUsd = MicroUsd(u64::MAX);

/// Every account, by whose limit it is. Nobody's is the project's.
#[derive(Default)]
pub(super) struct Accounts(BTreeMap<Option<TaskId>, Arc<Account>>);

impl Accounts {
    /// Returns what a run pays from.
    pub(super) fn purse(&mut self, orders: &[AccountOrder]) -> Purse {
        Purse::new(orders.iter().map(|order| (order.scope, self.account(order))).collect())
    }

    fn account(&mut self, order: &AccountOrder) -> Arc<Account> {
        let Some(account) = self.0.get(&order.owner) else {
            let account = Account::new(order.limit, order.spent);
            self.0.insert(order.owner, Arc::clone(&account));
            return account;
        };
        account.set_limit(order.limit);
        // What nobody else holds nobody pays from.
        account.reconcile(order.spent, Arc::strong_count(account) > 1);
        Arc::clone(account)
    }

    /// Takes note of what a task may cost from now on. Nothing: as much as it likes.
    pub(super) fn limit(&self, owner: TaskId, limit: Option<MicroUsd>) {
        if let Some(account) = self.0.get(&Some(owner)) {
            account.set_limit(limit.unwrap_or(NO_LIMIT));
        }
    }
}

#[cfg(test)]
#[path = "accounts_tests.rs"]
mod tests;
