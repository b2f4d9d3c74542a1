//! Budgets. A run reserves money before each request, so that agents that share a budget cannot overspend it together.
//!
//! A reservation counts as spent until the real cost is known. A run that is blocked only by the reservations of others
//! waits until they are released or spent.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;

use crate::base::MicroUsd;
use crate::model::event::{Allowance, BudgetScope};

/// Percentage of a limit from which the agent is warned.
const LOW_PERCENT: u64 = 80;

/// Whether the next request can be paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetVerdict {
    Granted,
    /// Granted, but most of the budget is spent.
    Low {
        scope: BudgetScope,
        spent: MicroUsd,
        limit: MicroUsd,
    },
    Refused {
        scope: BudgetScope,
        spent: MicroUsd,
        limit: MicroUsd,
    },
    /// Requests of other runs have reserved the rest. Some of it may be released.
    Held,
    /// There is a limit, but the model has no known price.
    Unpriced,
}

/// One limit, shared by all runs that it applies to. It may change while they run.
#[derive(Debug)]
pub struct BudgetAccount {
    state: watch::Sender<Balance>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    limit: MicroUsd,
    spent: MicroUsd,
    reserved: MicroUsd,
}

impl Balance {
    /// Returns true if only reservations block the account.
    fn is_held(&self) -> bool {
        self.spent < self.limit && self.spent + self.reserved >= self.limit
    }
}

impl BudgetAccount {
    /// Creates an account. `spent` is the total of the sessions.
    pub fn new(limit: MicroUsd, spent: MicroUsd) -> Arc<Self> {
        Arc::new(Self { state: watch::Sender::new(Balance { limit, spent, reserved: MicroUsd::ZERO }) })
    }

    /// Changes the limit for all runs, including those that wait.
    pub fn set_limit(&self, limit: MicroUsd) {
        self.state.send_if_modified(|balance| std::mem::replace(&mut balance.limit, limit) != limit);
    }

    /// Sets the spent amount to the total of the sessions. While runs use the account, that total may lag behind.
    pub fn reconcile(&self, spent: MicroUsd, is_in_use: bool) {
        self.state.send_modify(|balance| balance.spent = if is_in_use { balance.spent.max(spent) } else { spent });
    }

    pub fn spent(&self) -> MicroUsd {
        self.state.borrow().spent
    }

    /// Reserves `amount` if anything is left. An estimate above the rest is granted too: estimates err, and the limit
    /// is exceeded by at most one request.
    ///
    /// An allowance raises the limit for this run alone. Such a run does not wait for the reservations of others.
    fn reserve(&self, scope: BudgetScope, amount: MicroUsd, allowances: &[Allowance]) -> BudgetVerdict {
        let mut verdict = BudgetVerdict::Granted;
        self.state.send_if_modified(|balance| {
            let allowed = allowances.iter().find(|it| (it.scope, it.limit) == (scope, balance.limit));
            let limit = allowed.map_or(balance.limit, |allowance| allowance.up_to.max(balance.limit));
            let spent = balance.spent + balance.reserved;
            if balance.spent >= limit {
                verdict = BudgetVerdict::Refused { scope, spent: balance.spent, limit };
                return false;
            }
            if allowed.is_none() && balance.is_held() {
                verdict = BudgetVerdict::Held;
                return false;
            }
            balance.reserved += amount;
            if u128::from(spent.0) * 100 >= u128::from(limit.0) * u128::from(LOW_PERCENT) {
                verdict = BudgetVerdict::Low { scope, spent, limit };
            }
            true
        });
        verdict
    }

    fn release(&self, amount: MicroUsd) {
        self.state.send_modify(|balance| balance.reserved = balance.reserved.saturating_sub(amount));
    }
}

/// The accounts that limit one run. Dropping it releases its reservation.
#[derive(Debug, Default)]
pub struct Budget {
    accounts: Vec<(BudgetScope, Arc<BudgetAccount>)>,
    reserved: MicroUsd,
}

impl Budget {
    pub fn new(accounts: Vec<(BudgetScope, Arc<BudgetAccount>)>) -> Self {
        Self { accounts, reserved: MicroUsd::ZERO }
    }

    pub fn is_limited(&self) -> bool {
        !self.accounts.is_empty()
    }

    /// Reserves money for one request, in all accounts or in none.
    pub fn reserve(&mut self, amount: MicroUsd, allowances: &[Allowance]) -> BudgetVerdict {
        self.release();
        let mut verdict = BudgetVerdict::Granted;
        for (number, (scope, account)) in self.accounts.iter().enumerate() {
            match account.reserve(*scope, amount, allowances) {
                BudgetVerdict::Granted => {}
                low @ BudgetVerdict::Low { .. } => verdict = low,
                refused @ (BudgetVerdict::Refused { .. } | BudgetVerdict::Held | BudgetVerdict::Unpriced) => {
                    self.accounts[..number].iter().for_each(|(_, account)| account.release(amount));
                    return refused;
                }
            }
        }
        self.reserved = amount;
        verdict
    }

    /// Replaces the reservation by the real cost of the request.
    pub fn spend(&mut self, cost: MicroUsd) {
        self.release();
        self.accounts.iter().for_each(|(_, account)| account.state.send_modify(|balance| balance.spent += cost));
    }

    /// Waits until the reservations of others no longer block: they were released or spent.
    pub fn wait_until_free(&self) -> impl Future<Output = ()> + Send + use<> {
        let held = self.accounts.iter().find(|(_, account)| account.state.borrow().is_held());
        let held = held.map(|(_, account)| account.state.subscribe());
        async move {
            if let Some(mut state) = held {
                // Fails only if the account is gone.
                let _ = state.wait_for(|balance| !balance.is_held()).await;
            }
        }
    }

    /// Releases the reservation: the request was not answered.
    pub fn release(&mut self) {
        let amount = std::mem::take(&mut self.reserved);
        if amount == MicroUsd::ZERO {
            return;
        }
        self.accounts.iter().for_each(|(_, account)| account.release(amount));
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
