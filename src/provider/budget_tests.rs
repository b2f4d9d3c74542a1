use super::*;

fn account(limit: u64, spent: u64) -> Arc<BudgetAccount> {
    BudgetAccount::new(MicroUsd(limit), MicroUsd(spent))
}

fn budget<const N: usize>(accounts: [Arc<BudgetAccount>; N]) -> Budget {
    Budget::new(accounts.map(|account| (BudgetScope::Task, account)).into())
}

#[test]
fn a_budget_warns_when_low_and_refuses_when_spent() {
    let account = account(100, 0);
    let mut budget = budget([account.clone()]);
    assert_eq!(budget.reserve(MicroUsd(10), &[]), BudgetVerdict::Granted);
    budget.spend(MicroUsd(85));
    assert!(matches!(budget.reserve(MicroUsd(10), &[]), BudgetVerdict::Low { .. }));
    budget.spend(MicroUsd(20));
    assert!(matches!(budget.reserve(MicroUsd(10), &[]), BudgetVerdict::Refused { spent: MicroUsd(105), .. }));
    assert_eq!(account.spent(), MicroUsd(105));
}

#[test]
fn agents_that_share_a_budget_cannot_overspend_it_together() {
    let shared = account(100, 0);
    let mut budgets: Vec<_> = (0..10).map(|_| budget([shared.clone()])).collect();
    let granted = budgets.iter_mut().map(|budget| budget.reserve_refused(40)).filter(|refused| !refused).count();
    assert_eq!(granted, 3, "40 + 40 < 100, so a third may still start, and no fourth");
}

fn refused(verdict: &BudgetVerdict) -> bool {
    matches!(verdict, BudgetVerdict::Refused { .. } | BudgetVerdict::Held)
}

impl Budget {
    fn reserve_refused(&mut self, amount: u64) -> bool {
        refused(&self.reserve(MicroUsd(amount), &[]))
    }
}

#[test]
fn a_refusal_of_one_account_leaves_the_others_as_they_were() {
    let (rich, poor) = (account(1_000, 0), account(10, 10));
    let mut both = budget([rich.clone(), poor]);
    assert!(both.reserve_refused(990));
    let mut alone = budget([rich]);
    assert_eq!(alone.reserve(MicroUsd(990), &[]), BudgetVerdict::Granted, "no reservation may remain");
}

#[test]
fn an_ended_run_releases_its_reservation() {
    let account = account(100, 0);
    let mut first = budget([account.clone()]);
    first.reserve(MicroUsd(100), &[]);
    let mut second = budget([account]);
    assert!(second.reserve_refused(1));
    drop(first);
    assert!(!second.reserve_refused(1));
}

#[test]
fn reservations_of_others_are_waited_for_and_spent_money_is_not() {
    let shared = account(100, 10);
    let (mut first, mut second) = (budget([shared.clone()]), budget([shared]));
    first.reserve(MicroUsd(90), &[]);
    assert_eq!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Held);
    first.spend(MicroUsd(90));
    assert!(matches!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Refused { spent: MicroUsd(100), .. }));
}

#[tokio::test]
async fn waiting_ends_when_money_is_released_or_spent() {
    let endings: [fn(Budget); 4] = [
        drop,
        |mut budget| budget.release(),
        |mut budget| budget.spend(MicroUsd(20)),
        |mut budget| budget.spend(MicroUsd(100)),
    ];
    for (number, end) in endings.into_iter().enumerate() {
        let shared = account(100, 0);
        let mut first = budget([shared.clone()]);
        let mut second = budget([account(1_000, 0), shared]);
        first.reserve(MicroUsd(100), &[]);
        assert_eq!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Held);
        let mut freed = std::pin::pin!(second.wait_until_free());
        assert!(futures::poll!(&mut freed).is_pending(), "{number}");
        end(first);
        freed.await;
        assert_ne!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Held, "{number}");
    }
}

#[tokio::test]
async fn there_is_no_wait_without_reservations() {
    Budget::default().wait_until_free().await;
    budget([account(100, 0)]).wait_until_free().await;
    budget([account(100, 100)]).wait_until_free().await;
}

#[tokio::test]
async fn a_new_limit_applies_to_running_budgets() {
    let shared = account(100, 0);
    let (mut first, mut second) = (budget([shared.clone()]), budget([shared.clone()]));
    first.reserve(MicroUsd(100), &[]);
    assert_eq!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Held);
    let mut freed = std::pin::pin!(second.wait_until_free());
    assert!(futures::poll!(&mut freed).is_pending());
    shared.set_limit(MicroUsd(1_000));
    freed.await;
    assert_eq!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Granted);
    shared.set_limit(MicroUsd(50));
    first.spend(MicroUsd(60));
    assert!(matches!(second.reserve(MicroUsd(1), &[]), BudgetVerdict::Refused { limit: MicroUsd(50), .. }));
}

#[test]
fn an_allowance_raises_one_limit_for_one_run() {
    let (small, large) = (account(100, 100), account(1_000, 100));
    let allowance = Allowance { scope: BudgetScope::Task, limit: MicroUsd(100), up_to: MicroUsd(120) };
    let mut allowed = budget([small.clone(), large.clone()]);
    assert!(matches!(allowed.reserve(MicroUsd(40), &[allowance]), BudgetVerdict::Low { limit: MicroUsd(120), .. }));
    allowed.spend(MicroUsd(20));
    assert!(refused(&allowed.reserve(MicroUsd(1), &[allowance])), "up to the amount");
    assert!(budget([small.clone()]).reserve_refused(1), "others have none");
    large.reconcile(MicroUsd(1_000), false);
    small.reconcile(MicroUsd(100), false);
    assert!(refused(&allowed.reserve(MicroUsd(1), &[allowance])), "the other limit holds");
    small.set_limit(MicroUsd(90));
    large.reconcile(MicroUsd(0), false);
    assert!(refused(&allowed.reserve(MicroUsd(1), &[allowance])), "a changed limit ends it");
}
