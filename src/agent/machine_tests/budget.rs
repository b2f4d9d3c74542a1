//! Money before every request: short, gone, held by others, or without a price.

use super::*;

const LOW: BudgetVerdict = BudgetVerdict::Low { scope: BudgetScope::Task, spent: MicroUsd(80), limit: MicroUsd(100) };

#[test]
fn money_is_reserved_before_every_request() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Granted));
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("budget", 1));
}

#[test]
fn an_agent_is_told_once_that_money_gets_short() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(LOW));
    assert_eq!(bench.machine.waits_for(), "model");
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    bench.feed(Input::Reserved(LOW));
    let warnings = bench.kinds().iter().filter(|kind| **kind == "budget_warning").count();
    assert_eq!((warnings, bench.messages(&Source::Notice).len(), bench.requests()), (1, 1, 2));
}

#[test]
fn money_that_others_hold_is_waited_for_and_nobody_is_asked() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Held));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("money", 0));
    assert!(bench.asked().is_none());
    let awaited = |bench: &Bench| {
        let mut timers = bench.effects.iter().rev();
        timers.find_map(|effect| if let Effect::AwaitMoney { timer } = effect { Some(*timer) } else { None })
    };
    let first = awaited(&bench).unwrap();
    bench.feed(Input::Timer { timer: first });
    assert_eq!(bench.machine.waits_for(), "budget");
    bench.feed(Input::Reserved(BudgetVerdict::Held));
    let second = awaited(&bench).unwrap();
    bench.feed(Input::Timer { timer: first });
    assert_eq!(bench.machine.waits_for(), "money", "that wait was over before");
    bench.feed(Input::Timer { timer: second });
    bench.feed(Input::Reserved(BudgetVerdict::Granted));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 1));
}

#[test]
fn waiting_for_money_can_be_cut_short() {
    for input in [Input::Interrupt, Input::Teardown(InterruptReason::Quit)] {
        let mut bench = budgeted();
        bench.feed(Input::Reserved(BudgetVerdict::Held));
        let over = matches!(input, Input::Teardown(_));
        bench.feed(input);
        assert!(bench.effects.iter().any(|effect| matches!(effect, Effect::CancelSleep { .. })));
        assert_eq!((bench.machine.is_over(), bench.requests()), (over, 0));
        assert!(over || bench.machine.waits_for() == "message");
    }
}

#[test]
fn a_budget_without_a_price_is_asked_about_once() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    let ask = bench.asked().unwrap();
    assert_eq!((ask.kind, bench.requests()), (AskKind::Budget, 0));
    assert!(ask.detail.contains("prices.input"), "{}", ask.detail);
    bench.answer("Go on without a limit");
    assert_eq!(bench.machine.waits_for(), "budget");
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 1));
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 2), "the answer holds for the whole run");
}

#[test]
fn an_answer_about_the_price_is_understood_after_a_restart() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    let limits = Limits { budgeted: true, ..limits() };
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    assert_eq!(resumed.machine.waits_for(), "person");
    resumed.answer("Go on without a limit");
    resumed.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!(resumed.machine.waits_for(), "model");
}

#[test]
fn a_verdict_that_nobody_asked_for_is_ignored() {
    let mut bench = begin();
    bench.feed(Input::Reserved(LOW));
    bench.feed(Input::Counted { tokens: Some(1) });
    assert_eq!(bench.machine.waits_for(), "model");
    assert!(!bench.kinds().contains(&"budget_warning"));
}
