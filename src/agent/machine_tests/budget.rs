//! Budget checks before requests: low, spent, reserved by others, or without a price.

use super::*;

const LOW: BudgetVerdict = BudgetVerdict::Low { scope: BudgetScope::Task, spent: MicroUsd(80), limit: MicroUsd(100) };

#[test]
fn money_is_reserved_before_every_request() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Granted));
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("budget", 1));
}

#[test]
fn an_agent_is_warned_once_that_the_budget_is_low() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(LOW));
    assert_eq!(bench.machine.waits_for(), "model");
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    bench.feed(Input::Reserved(LOW));
    let warnings = bench.kinds().iter().filter(|kind| **kind == "budget_warning").count();
    assert_eq!((warnings, bench.messages(&MessageSource::Notice).len(), bench.requests()), (1, 1, 2));
}

#[test]
fn a_run_waits_for_reservations_of_others_without_an_ask() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Held));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("money", 0));
    assert!(bench.open_ask().is_none());
    let awaited = |bench: &Bench| {
        let mut timers = bench.effects.iter().rev();
        timers.find_map(|effect| if let Effect::AwaitBudget { timer } = effect { Some(*timer) } else { None })
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
fn waiting_for_budget_can_be_interrupted() {
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
fn the_reservation_of_a_cancelled_request_is_released() {
    let released = |bench: &Bench| bench.effects.iter().filter(|effect| matches!(effect, Effect::Release)).count();
    // It was granted with a warning, and then the user interrupted.
    let mut bench = budgeted();
    bench.slow_disk = true;
    bench.feed(Input::Reserved(LOW));
    bench.feed(Input::Interrupt);
    bench.slow_disk = false;
    bench.save();
    assert_eq!((bench.requests(), released(&bench)), (0, 1));
    assert_eq!(bench.machine.waits_for(), "budget", "for the warning it is set aside anew");
    // It was granted after the user had interrupted.
    let mut bench = budgeted();
    bench.feed(Input::Interrupt);
    bench.feed(Input::Reserved(BudgetVerdict::Granted));
    assert_eq!((bench.machine.waits_for(), released(&bench)), ("message", 1));
}

#[test]
fn a_budget_without_a_price_is_asked_about_once() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    let ask = bench.open_ask().unwrap();
    assert_eq!((ask.kind(), bench.requests()), (AskKind::Budget, 0));
    assert!(ask.detail.contains("prices.input"), "{}", ask.detail);
    bench.answer("Continue without a limit");
    assert_eq!(bench.machine.waits_for(), "budget");
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 1));
    bench.respond(call_response(&[call("a", "bash")]));
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
    assert_eq!(resumed.machine.waits_for(), "user");
    resumed.answer("Continue without a limit");
    resumed.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!(resumed.machine.waits_for(), "model");
}

#[test]
fn a_model_without_a_price_that_was_allowed_once_is_allowed_in_the_next_run() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    bench.answer("Continue without a limit");
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    let limits = Limits { budgeted: true, ..limits() };
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    resumed.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!((resumed.open_ask(), resumed.machine.waits_for()), (None, "model"));
}

#[test]
fn a_message_allows_one_request_without_a_price() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    bench.send(MessageSource::User, "Go on, please.");
    assert_eq!((bench.open_ask(), bench.machine.waits_for(), bench.requests()), (None, "model", 1));
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    bench.feed(Input::Reserved(BudgetVerdict::Unpriced));
    assert_eq!(bench.open_ask().map(|ask| ask.kind()), Some(AskKind::Budget), "only an answer lifts it");
}

#[test]
fn an_allowed_request_survives_a_restart() {
    let refused = BudgetVerdict::Refused { scope: BudgetScope::Task, spent: MicroUsd(100), limit: MicroUsd(100) };
    let mut bench = budgeted();
    bench.feed(Input::Reserved(refused));
    bench.answer("Allow one more request");
    assert_eq!(bench.requests(), 1);
    let limits = Limits { budgeted: true, ..limits() };
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    assert_eq!((resumed.open_ask(), resumed.requests()), (None, 1));
    resumed.respond(call_response(&[call("a", "bash")]));
    resumed.finish("a", "ok");
    resumed.feed(Input::Reserved(refused));
    assert_eq!(resumed.open_ask().map(|ask| ask.kind()), Some(AskKind::Budget), "it was one");
}

#[test]
fn a_chosen_amount_raises_the_budget_of_this_agent_and_is_kept() {
    let refused =
        BudgetVerdict::Refused { scope: BudgetScope::Subtree, spent: MicroUsd(120_000), limit: MicroUsd(100_000) };
    let mut bench = budgeted();
    bench.feed(Input::Reserved(refused));
    bench.answer("Allow $0.50 more");
    let allowance = Allowance { scope: BudgetScope::Subtree, limit: MicroUsd(100_000), up_to: MicroUsd(620_000) };
    let reserves = |bench: &Bench| {
        let last = bench.effects.iter().rev().find_map(|effect| match effect {
            Effect::Reserve { allowances, .. } => Some(allowances.clone()),
            _ => None,
        });
        last.unwrap()
    };
    assert_eq!((reserves(&bench), bench.requests()), (vec![allowance], 0), "the budget is asked again");
    let limits = Limits { budgeted: true, ..limits() };
    let resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    assert_eq!(reserves(&resumed), [allowance]);
}

#[test]
fn a_run_does_not_repeat_the_warning_of_the_one_before_unless_the_limit_is_another() {
    let mut bench = budgeted();
    bench.feed(Input::Reserved(LOW));
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    let limits = Limits { budgeted: true, ..limits() };
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits);
    resumed.feed(Input::Reserved(LOW));
    let warnings = |bench: &Bench| bench.kinds().iter().filter(|kind| **kind == "budget_warning").count();
    assert_eq!((warnings(&resumed), resumed.machine.waits_for()), (1, "model"));
    resumed.respond(call_response(&[call("b", "bash")]));
    resumed.finish("b", "ok");
    let raised = BudgetVerdict::Low { scope: BudgetScope::Task, spent: MicroUsd(170), limit: MicroUsd(200) };
    resumed.feed(Input::Reserved(raised));
    assert_eq!(warnings(&resumed), 2);
}

#[test]
fn an_unexpected_verdict_is_ignored() {
    let mut bench = begin();
    bench.feed(Input::Reserved(LOW));
    bench.feed(Input::Counted { number: 1, tokens: Some(1) });
    assert_eq!(bench.machine.waits_for(), "model");
    assert!(!bench.kinds().contains(&"budget_warning"));
}
