use super::*;

fn account(limit: u64, spent: u64) -> Arc<Account> {
    Account::new(MicroUsd(limit), MicroUsd(spent))
}

fn purse<const N: usize>(accounts: [Arc<Account>; N]) -> Purse {
    Purse::new(accounts.map(|account| (BudgetScope::Task, account)).into())
}

#[test]
fn a_budget_warns_when_it_gets_low_and_refuses_when_it_is_gone() {
    let account = account(100, 0);
    let mut purse = purse([account.clone()]);
    assert_eq!(purse.reserve(MicroUsd(10)), BudgetVerdict::Granted);
    purse.spend(MicroUsd(85));
    assert!(matches!(purse.reserve(MicroUsd(10)), BudgetVerdict::Low { .. }));
    purse.spend(MicroUsd(20));
    assert!(matches!(purse.reserve(MicroUsd(10)), BudgetVerdict::Refused { spent: MicroUsd(105), .. }));
    assert_eq!(account.spent(), MicroUsd(105));
}

#[test]
fn agents_that_share_a_budget_cannot_overspend_it_together() {
    let shared = account(100, 0);
    let mut purses: Vec<_> = (0..10).map(|_| purse([shared.clone()])).collect();
    let granted = purses.iter_mut().map(|purse| purse.reserve_refused(40)).filter(|refused| !refused).count();
    assert_eq!(granted, 3, "40 + 40 < 100, so a third may still start, and no fourth");
}

fn refused(verdict: &BudgetVerdict) -> bool {
    matches!(verdict, BudgetVerdict::Refused { .. } | BudgetVerdict::Held)
}

impl Purse {
    fn reserve_refused(&mut self, amount: u64) -> bool {
        refused(&self.reserve(MicroUsd(amount)))
    }
}

#[test]
fn a_refusal_of_one_account_leaves_the_others_as_they_were() {
    let (rich, poor) = (account(1_000, 0), account(10, 10));
    let mut both = purse([rich.clone(), poor]);
    assert!(both.reserve_refused(990));
    let mut alone = purse([rich]);
    assert_eq!(alone.reserve(MicroUsd(990)), BudgetVerdict::Granted, "nothing may be left set aside");
}

#[test]
fn a_run_that_ends_gives_back_what_it_had_set_aside() {
    let account = account(100, 0);
    let mut first = purse([account.clone()]);
    first.reserve(MicroUsd(100));
    let mut second = purse([account]);
    assert!(second.reserve_refused(1));
    drop(first);
    assert!(!second.reserve_refused(1));
}

#[test]
fn what_others_have_set_aside_is_waited_for_and_what_is_spent_is_not() {
    let shared = account(100, 10);
    let (mut first, mut second) = (purse([shared.clone()]), purse([shared]));
    first.reserve(MicroUsd(90));
    assert_eq!(second.reserve(MicroUsd(1)), BudgetVerdict::Held);
    first.spend(MicroUsd(90));
    assert!(matches!(second.reserve(MicroUsd(1)), BudgetVerdict::Refused { spent: MicroUsd(100), .. }));
}

#[tokio::test]
async fn whoever_waits_is_woken_when_money_comes_back_or_is_gone() {
    let endings: [fn(Purse); 4] = [
        drop,
        |mut purse| purse.release(),
        |mut purse| purse.spend(MicroUsd(20)),
        |mut purse| purse.spend(MicroUsd(100)),
    ];
    for (number, end) in endings.into_iter().enumerate() {
        let shared = account(100, 0);
        let mut first = purse([shared.clone()]);
        let mut second = purse([account(1_000, 0), shared]);
        first.reserve(MicroUsd(100));
        assert_eq!(second.reserve(MicroUsd(1)), BudgetVerdict::Held);
        let mut freed = std::pin::pin!(second.freed());
        assert!(futures::poll!(&mut freed).is_pending(), "{number}");
        end(first);
        freed.await;
        assert_ne!(second.reserve(MicroUsd(1)), BudgetVerdict::Held, "{number}");
    }
}

#[tokio::test]
async fn nobody_waits_for_what_is_not_held() {
    Purse::default().freed().await;
    purse([account(100, 0)]).freed().await;
    purse([account(100, 100)]).freed().await;
}

#[tokio::test]
async fn a_new_limit_counts_for_those_who_already_pay_from_it() {
    let shared = account(100, 0);
    let (mut first, mut second) = (purse([shared.clone()]), purse([shared.clone()]));
    first.reserve(MicroUsd(100));
    assert_eq!(second.reserve(MicroUsd(1)), BudgetVerdict::Held);
    let mut freed = std::pin::pin!(second.freed());
    assert!(futures::poll!(&mut freed).is_pending());
    shared.set_limit(MicroUsd(1_000));
    freed.await;
    assert_eq!(second.reserve(MicroUsd(1)), BudgetVerdict::Granted);
    shared.set_limit(MicroUsd(50));
    first.spend(MicroUsd(60));
    assert!(matches!(second.reserve(MicroUsd(1)), BudgetVerdict::Refused { limit: MicroUsd(50), .. }));
}
