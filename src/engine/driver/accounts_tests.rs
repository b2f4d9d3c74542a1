use super::*;
use crate::base::{IdSource, SystemClock};
use crate::model::event::BudgetScope;
use crate::provider::purse::BudgetVerdict;

fn order(owner: TaskId, limit: u64, spent: u64) -> AccountOrder {
    AccountOrder { owner: Some(owner), scope: BudgetScope::Subtree, limit: MicroUsd(limit), spent: MicroUsd(spent) }
}

fn task() -> TaskId {
    TaskId::fresh(&IdSource::new(Arc::new(SystemClock)))
}

#[test]
fn runs_before_and_after_a_change_of_the_limit_spend_the_same_money() {
    let (mut accounts, task) = (Accounts::default(), task());
    let mut before = accounts.purse(&[order(task, 100, 0)]);
    let mut after = accounts.purse(&[order(task, 200, 0)]);
    before.spend(MicroUsd(150));
    after.spend(MicroUsd(50));
    for purse in [&mut before, &mut after] {
        let verdict = purse.reserve(MicroUsd(1));
        assert_eq!(
            verdict,
            BudgetVerdict::Refused { scope: BudgetScope::Subtree, spent: MicroUsd(200), limit: MicroUsd(200) }
        );
    }
}

#[test]
fn a_limit_that_is_changed_or_lifted_counts_at_once() {
    let (mut accounts, task) = (Accounts::default(), task());
    let mut purse = accounts.purse(&[order(task, 100, 100)]);
    assert!(matches!(purse.reserve(MicroUsd(1)), BudgetVerdict::Refused { .. }));
    accounts.limit(task, Some(MicroUsd(1_000)));
    assert_eq!(purse.reserve(MicroUsd(1)), BudgetVerdict::Granted);
    accounts.limit(task, Some(MicroUsd(50)));
    assert!(matches!(purse.reserve(MicroUsd(1)), BudgetVerdict::Refused { .. }));
    accounts.limit(task, None);
    assert_eq!(purse.reserve(MicroUsd(1)), BudgetVerdict::Granted);
}

#[test]
fn what_the_sessions_say_was_spent_counts_unless_somebody_is_spending() {
    let (mut accounts, task) = (Accounts::default(), task());
    let mut first = accounts.purse(&[order(task, 100, 0)]);
    first.spend(MicroUsd(90));
    // Another task has come below with what it cost; of what the first one spent the engine has not heard yet.
    let mut second = accounts.purse(&[order(task, 100, 95)]);
    assert!(matches!(second.reserve(MicroUsd(1)), BudgetVerdict::Low { spent: MicroUsd(95), .. }));
    drop(accounts.purse(&[order(task, 100, 10)]));
    assert!(matches!(second.reserve(MicroUsd(1)), BudgetVerdict::Low { spent: MicroUsd(95), .. }));
    drop((first, second));
    let mut alone = accounts.purse(&[order(task, 100, 10)]);
    assert_eq!(alone.reserve(MicroUsd(1)), BudgetVerdict::Granted, "it was moved elsewhere, with what it cost");
}
