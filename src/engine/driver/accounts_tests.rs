use super::*;
use crate::base::{IdSource, SystemClock};
use crate::model::event::BudgetScope;
use crate::provider::budget::BudgetVerdict;

fn order(owner: TaskId, limit: u64, spent: u64) -> BudgetLimit {
    BudgetLimit { owner: Some(owner), scope: BudgetScope::Subtree, limit: MicroUsd(limit), spent: MicroUsd(spent) }
}

fn task() -> TaskId {
    TaskId::fresh(&IdSource::new(Arc::new(SystemClock)))
}

#[test]
fn runs_before_and_after_a_change_of_the_limit_share_an_account() {
    let (mut accounts, task) = (Accounts::default(), task());
    let mut before = accounts.budget(&[order(task, 100, 0)]);
    let mut after = accounts.budget(&[order(task, 200, 0)]);
    before.spend(MicroUsd(150));
    after.spend(MicroUsd(50));
    for budget in [&mut before, &mut after] {
        let verdict = budget.reserve(MicroUsd(1), &[]);
        assert_eq!(
            verdict,
            BudgetVerdict::Refused { scope: BudgetScope::Subtree, spent: MicroUsd(200), limit: MicroUsd(200) }
        );
    }
}

#[test]
fn a_changed_or_removed_limit_applies_at_once() {
    let (mut accounts, task) = (Accounts::default(), task());
    let mut budget = accounts.budget(&[order(task, 100, 100)]);
    assert!(matches!(budget.reserve(MicroUsd(1), &[]), BudgetVerdict::Refused { .. }));
    accounts.set_limit(task, Some(MicroUsd(1_000)));
    assert_eq!(budget.reserve(MicroUsd(1), &[]), BudgetVerdict::Granted);
    accounts.set_limit(task, Some(MicroUsd(50)));
    assert!(matches!(budget.reserve(MicroUsd(1), &[]), BudgetVerdict::Refused { .. }));
    accounts.set_limit(task, None);
    assert_eq!(budget.reserve(MicroUsd(1), &[]), BudgetVerdict::Granted);
}

#[test]
fn the_recorded_cost_replaces_the_balance_only_without_a_running_spender() {
    let (mut accounts, task) = (Accounts::default(), task());
    let mut first = accounts.budget(&[order(task, 100, 0)]);
    first.spend(MicroUsd(90));
    // A task was moved below, with its cost. The engine does not know yet what the first run spent.
    let mut second = accounts.budget(&[order(task, 100, 95)]);
    assert!(matches!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Low { spent: MicroUsd(95), .. }));
    drop(accounts.budget(&[order(task, 100, 10)]));
    assert!(matches!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Low { spent: MicroUsd(95), .. }));
    drop((first, second));
    let mut alone = accounts.budget(&[order(task, 100, 10)]);
    assert_eq!(alone.reserve(MicroUsd(1), &[]), BudgetVerdict::Granted, "the task was moved elsewhere, with its cost");
}
