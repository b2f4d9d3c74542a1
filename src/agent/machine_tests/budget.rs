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
fn money_for_a_request_that_is_not_made_is_given_back() {
    let released = |bench: &Bench| bench.effects.iter().filter(|effect| matches!(effect, Effect::Release)).count();
    // It was granted with a warning, and the person came in between.
    let mut bench = budgeted();
    bench.slow_disk = true;
    bench.feed(Input::Reserved(LOW));
    bench.feed(Input::Interrupt);
    bench.slow_disk = false;
    bench.save();
    assert_eq!((bench.requests(), released(&bench)), (0, 1));
    assert_eq!(bench.machine.waits_for(), "budget", "for the warning it is set aside anew");
    // It was granted to somebody who no longer wanted it.
    let mut bench = budgeted();
    bench.feed(Input::Interrupt);
    bench.feed(Input::Reserved(BudgetVerdict::Granted));
    assert_eq!((bench.machine.waits_for(), released(&bench)), ("message", 1));
}

#[test]
fn a_budget_without_a_price_is_asked_about_once() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    let ask = bench.asked().unwrap();
    assert_eq!((ask.kind(), bench.requests()), (AskKind::Budget, 0));
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
fn a_model_without_a_price_that_was_allowed_once_is_allowed_in_the_next_run() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    bench.answer("Go on without a limit");
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    let limits = Limits { budgeted: true, ..limits() };
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    resumed.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!((resumed.asked(), resumed.machine.waits_for()), (None, "model"));
}

#[test]
fn speaking_to_an_agent_without_a_price_is_heard_and_lifts_no_limit() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    bench.hear(Source::User, "Go on, please.");
    assert_eq!((bench.asked(), bench.machine.waits_for(), bench.requests()), (None, "model", 1));
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!(bench.asked().map(|ask| ask.kind()), Some(AskKind::Budget), "only an answer lifts it");
}

#[test]
fn one_more_request_that_was_allowed_and_not_made_is_made_by_the_next_run() {
    let refused = BudgetVerdict::Refused { scope: BudgetScope::Task, spent: MicroUsd(100), limit: MicroUsd(100) };
    let mut bench = budgeted();
    bench.feed(Input::Reserved(refused));
    bench.answer("Go on");
    assert_eq!(bench.requests(), 1);
    let limits = Limits { budgeted: true, ..limits() };
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    assert_eq!((resumed.asked(), resumed.requests()), (None, 1));
    resumed.respond(calling(&[call("a", "bash")]));
    resumed.finish("a", "ok");
    resumed.feed(Input::Reserved(refused));
    assert_eq!(resumed.asked().map(|ask| ask.kind()), Some(AskKind::Budget), "it was one");
}

#[test]
fn a_run_does_not_repeat_the_warning_of_the_one_before_unless_the_limit_is_another() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(LOW));
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    let limits = Limits { budgeted: true, ..limits() };
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    resumed.feed(Input::Reserved(LOW));
    let warnings = |bench: &Bench| bench.kinds().iter().filter(|kind| **kind == "budget_warning").count();
    assert_eq!((warnings(&resumed), resumed.machine.waits_for()), (1, "model"));
    resumed.respond(calling(&[call("b", "bash")]));
    resumed.finish("b", "ok");
    let raised = BudgetVerdict::Low { scope: BudgetScope::Task, spent: MicroUsd(170), limit: MicroUsd(200) };
    resumed.feed(Input::Reserved(raised));
    assert_eq!(warnings(&resumed), 2);
}

#[test]
fn a_verdict_that_nobody_asked_for_is_ignored() {
    let mut bench = begin();
    bench.feed(Input::Reserved(LOW));
    bench.feed(Input::Counted { number: 1, tokens: Some(1) });
    assert_eq!(bench.machine.waits_for(), "model");
    assert!(!bench.kinds().contains(&"budget_warning"));
}
