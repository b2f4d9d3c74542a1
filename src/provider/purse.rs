//! Budgets: money is set aside before a request is made, so that agents that share a budget cannot overspend it
//! together. What is set aside counts as spent until the real cost is known; whoever finds nothing but that in the way
//! waits until it is.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;

use crate::base::MicroUsd;
use crate::model::event::BudgetScope;

/// Part of a limit, in percent, from which an agent is told that money gets short.
const LOW_PERCENT: u64 = 80;

/// Whether the next request can be paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetVerdict {
    Granted,
    /// Granted, and most of the money is gone.
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
    /// Others have set aside what is left, for requests that are under way. Some of it may come back.
    Held,
    /// There is a limit, and no price to hold against it.
    Unpriced,
}

/// One limit, shared by everybody it limits. It may be changed while they work.
#[derive(Debug)]
pub struct Account {
    state: watch::Sender<Balance>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    limit: MicroUsd,
    spent: MicroUsd,
    set_aside: MicroUsd,
}

impl Balance {
    /// Tells whether only what others have set aside stands in the way.
    fn is_held(&self) -> bool {
        self.spent < self.limit && self.spent + self.set_aside >= self.limit
    }
}

impl Account {
    /// Returns an account that has spent what the sessions say it has.
    pub fn new(limit: MicroUsd, spent: MicroUsd) -> Arc<Self> {
        Arc::new(Self { state: watch::Sender::new(Balance { limit, spent, set_aside: MicroUsd::ZERO }) })
    }

    /// Changes the limit for everybody who pays from this, those who wait included.
    pub fn set_limit(&self, limit: MicroUsd) {
        self.state.send_if_modified(|balance| std::mem::replace(&mut balance.limit, limit) != limit);
    }

    /// Takes what the sessions say was spent. While somebody pays from this, they may not say all of it yet.
    pub fn reconcile(&self, spent: MicroUsd, is_in_use: bool) {
        self.state.send_modify(|balance| balance.spent = if is_in_use { balance.spent.max(spent) } else { spent });
    }

    pub fn spent(&self) -> MicroUsd {
        self.state.borrow().spent
    }

    /// Sets `amount` aside if there is anything left at all. A request whose estimate is over the rest is still made:
    /// estimates err, and the limit is passed by at most one of them.
    fn set_aside(&self, scope: BudgetScope, amount: MicroUsd) -> BudgetVerdict {
        let mut verdict = BudgetVerdict::Granted;
        self.state.send_if_modified(|balance| {
            let (limit, spent) = (balance.limit, balance.spent + balance.set_aside);
            if balance.spent >= limit {
                verdict = BudgetVerdict::Refused { scope, spent: balance.spent, limit };
                return false;
            }
            if balance.is_held() {
                verdict = BudgetVerdict::Held;
                return false;
            }
            balance.set_aside += amount;
            if u128::from(spent.0) * 100 >= u128::from(limit.0) * u128::from(LOW_PERCENT) {
                verdict = BudgetVerdict::Low { scope, spent, limit };
            }
            true
        });
        verdict
    }

    fn give_back(&self, amount: MicroUsd) {
        self.state.send_modify(|balance| balance.set_aside = balance.set_aside.saturating_sub(amount));
    }
}

/// What one run pays from: every account that limits it. What is set aside is given back when it goes.
#[derive(Debug, Default)]
pub struct Purse {
    /// What each of them is to this run, and the account.
    accounts: Vec<(BudgetScope, Arc<Account>)>,
    set_aside: MicroUsd,
}

impl Purse {
    pub fn new(accounts: Vec<(BudgetScope, Arc<Account>)>) -> Self {
        Self { accounts, set_aside: MicroUsd::ZERO }
    }

    pub fn is_limited(&self) -> bool {
        !self.accounts.is_empty()
    }

    /// Sets money aside for one request, in all accounts or in none.
    pub fn reserve(&mut self, amount: MicroUsd) -> BudgetVerdict {
        self.release();
        let mut verdict = BudgetVerdict::Granted;
        for (number, (scope, account)) in self.accounts.iter().enumerate() {
            match account.set_aside(*scope, amount) {
                BudgetVerdict::Granted => {}
                low @ BudgetVerdict::Low { .. } => verdict = low,
                refused @ (BudgetVerdict::Refused { .. } | BudgetVerdict::Held | BudgetVerdict::Unpriced) => {
                    self.accounts[..number].iter().for_each(|(_, account)| account.give_back(amount));
                    return refused;
                }
            }
        }
        self.set_aside = amount;
        verdict
    }

    /// Takes what a request really cost in place of what was set aside for it.
    pub fn spend(&mut self, cost: MicroUsd) {
        self.release();
        self.accounts.iter().for_each(|(_, account)| account.state.send_modify(|balance| balance.spent += cost));
    }

    /// Waits until what others have set aside no longer stands in the way: it was given back, or spent.
    pub fn freed(&self) -> impl Future<Output = ()> + Send + use<> {
        let held = self.accounts.iter().find(|(_, account)| account.state.borrow().is_held());
        let held = held.map(|(_, account)| account.state.subscribe());
        async move {
            if let Some(mut state) = held {
                // The account goes only when everybody who pays from it has gone.
                let _ = state.wait_for(|balance| !balance.is_held()).await;
            }
        }
    }

    /// Gives back what was set aside: the request was not answered.
    pub fn release(&mut self) {
        let amount = std::mem::take(&mut self.set_aside);
        if amount == MicroUsd::ZERO {
            return;
        }
        self.accounts.iter().for_each(|(_, account)| account.give_back(amount));
    }
}

impl Drop for Purse {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
#[path = "purse_tests.rs"]
mod tests;
