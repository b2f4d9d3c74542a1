//! The Asks of a run, and the effect of each answer.

use super::*;
use crate::model::ask::ChoiceId;
use crate::model::event::{RunEnded, ToolResult};

/// Returns a run that waits for the answer to an Ask of this kind.
fn asking(kind: AskKind) -> Bench {
    let mut bench = match kind {
        AskKind::Budget => budgeted(),
        AskKind::TurnLimit => Bench::calling(Limits { max_turns: Some(1), ..limits() }),
        _ => begin(),
    };
    match kind {
        AskKind::RetriesExhausted => bench.fail(ErrorClass::Auth),
        AskKind::ModelStopped => bench.respond(response(StopReason::Refusal, Vec::new())),
        AskKind::Budget => bench.feed(Input::Reserved(BudgetVerdict::Refused {
            scope: BudgetScope::Subtree,
            spent: MicroUsd(100),
            limit: MicroUsd(100),
        })),
        AskKind::Loop => {
            for turn in 0..9 {
                let id = format!("c{turn}");
                bench.respond(call_response(&[call(&id, "bash")]));
                bench.finish(&id, "the same");
            }
        }
        AskKind::TurnLimit => {
            bench.respond(call_response(&[call("a", "bash")]));
            bench.finish("a", "ok");
        }
        AskKind::CompactionFailed => {
            bench.fail(ErrorClass::ContextOverflow);
            for _ in 0..3 {
                bench.respond(text_response("No."));
            }
        }
        other => panic!("{other:?} is not the run's own"),
    }
    assert_eq!(bench.open_ask().map(|ask| ask.kind()), Some(kind));
    assert_eq!(bench.machine.waits_for(), "user");
    bench
}

fn ended(bench: &Bench) -> RunEnded {
    let ended = bench.log.iter().rev().find_map(|event| match &event.body {
        Body::RunEnded(ended) => Some(ended.clone()),
        _ => None,
    });
    ended.expect("the run ended")
}

const OWN: [AskKind; 6] = [
    AskKind::RetriesExhausted,
    AskKind::ModelStopped,
    AskKind::Budget,
    AskKind::Loop,
    AskKind::TurnLimit,
    AskKind::CompactionFailed,
];

#[test]
fn every_choice_of_every_ask_has_an_effect() {
    for kind in OWN {
        let choices = asking(kind).open_ask().unwrap().choices;
        assert_eq!(choices.last().map(|choice| &choice.id), Some(&ChoiceId::Stop), "{kind:?}");
        for choice in choices {
            let mut bench = asking(kind);
            let before = bench.requests();
            bench.answer(&choice.label);
            assert!(bench.open_ask().is_none(), "{kind:?} {choice}");
            if choice.id == ChoiceId::Stop {
                assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Stopped)), "{kind:?}");
                let result = ended(&bench).result;
                assert!(
                    result.ends_with("and the user left it at that."),
                    "the parent task is told: {kind:?} {result}"
                );
                continue;
            }
            if matches!(choice.id, ChoiceId::Spend(_)) {
                bench.feed(Input::Reserved(BudgetVerdict::Granted));
            }
            assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", before + 1), "{kind:?} {choice}");
            let summarises = matches!(bench.purpose(), Purpose::Summarise { .. });
            assert_eq!(
                summarises,
                kind == AskKind::CompactionFailed && choice.id == ChoiceId::Retry,
                "{kind:?} {choice}"
            );
        }
    }
}

#[test]
fn stop_is_recognised_in_any_case() {
    let mut bench = asking(AskKind::Loop);
    bench.answer(" stop ");
    assert!(bench.machine.is_over());
}

#[test]
fn a_model_is_chosen_by_a_known_name_or_after_a_prefix() {
    for (answer, model) in
        [(" claude-sonnet-4-6 ", "claude-sonnet-4-6"), ("model: big-model", "big-model"), ("Model:own:7b", "own:7b")]
    {
        for kind in [AskKind::RetriesExhausted, AskKind::CompactionFailed] {
            let mut bench = asking(kind);
            bench.answer(answer);
            assert!(bench.effects.contains(&Effect::UseModel { model: model.to_owned() }), "{answer} {kind:?}");
            assert_eq!(bench.kinds().iter().filter(|kind| **kind == "session_config").count(), 2, "{answer} {kind:?}");
            assert_eq!(bench.machine.waits_for(), "model", "{answer} {kind:?}");
        }
    }
}

#[test]
fn other_words_are_not_model_names() {
    for answer in ["yes", "retry", "ok", "big-model", "model:", "model: two words", "a: b"] {
        for kind in [AskKind::RetriesExhausted, AskKind::CompactionFailed] {
            let mut bench = asking(kind);
            bench.answer(answer);
            let chosen = bench.effects.iter().any(|effect| matches!(effect, Effect::UseModel { .. }));
            assert!(!chosen, "{answer} {kind:?}");
            assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", Purpose::Respond), "{answer} {kind:?}");
            assert!(bench.last_message().contains(answer), "{answer} {kind:?}: {}", bench.last_message());
        }
    }
}

#[test]
fn other_words_go_to_the_agent() {
    let has_wake_message =
        [AskKind::ModelStopped, AskKind::Budget, AskKind::Loop, AskKind::TurnLimit, AskKind::CompactionFailed];
    for kind in has_wake_message {
        let mut bench = asking(kind);
        bench.answer("Only the tests, please.");
        assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", Purpose::Respond), "{kind:?}");
        assert!(bench.last_message().contains("Only the tests, please."), "{kind:?}: {}", bench.last_message());
    }
}

#[test]
fn a_message_from_the_user_answers_every_ask() {
    for kind in OWN {
        let mut bench = asking(kind);
        bench.send(MessageSource::User, "Never mind, go on.");
        assert!(bench.open_ask().is_none(), "{kind:?}");
        assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", Purpose::Respond), "{kind:?}");
        assert!(bench.last_message().contains("Never mind"), "{kind:?}");
        assert!(bench.kinds().contains(&"ask_withdrawn"), "{kind:?}");
    }
}

#[test]
fn messages_from_others_do_not_answer_an_ask() {
    for kind in OWN {
        let mut bench = asking(kind);
        bench.send(MessageSource::Notice, "By the way.");
        assert_eq!(bench.machine.waits_for(), "user", "{kind:?}");
    }
}

#[test]
fn an_ask_survives_a_restart_and_its_answer_still_works() {
    for kind in OWN {
        let bench = asking(kind);
        let active = match bench.log.iter().rposition(|event| matches!(event.body, Body::CompactMarker(_))) {
            Some(at) => bench.log[at..].to_vec(),
            None => bench.log.clone(),
        };
        let resumed_limits =
            if kind == AskKind::TurnLimit { Limits { max_turns: Some(1), ..limits() } } else { limits() };
        let mut resumed = Bench::resumed(active, bench.ids.clone(), resumed_limits);
        assert_eq!(resumed.machine.waits_for(), "user", "{kind:?}");
        assert_eq!(resumed.requests(), 0, "{kind:?}");
        let choice = resumed.open_ask().unwrap().choices[0].clone();
        resumed.answer(&choice.label);
        assert_eq!(resumed.machine.waits_for(), "model", "{kind:?}");
    }
}

#[test]
fn an_ask_that_was_answered_while_it_was_written_is_not_waited_for() {
    let mut bench = begin();
    bench.slow_disk = true;
    bench.fail(ErrorClass::Auth);
    bench.send(MessageSource::User, "Try it again.");
    bench.slow_disk = false;
    bench.save();
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn the_turn_limit_may_be_lifted_again_and_again() {
    let mut bench = asking(AskKind::TurnLimit);
    bench.answer("Continue");
    bench.respond(call_response(&[call("b", "bash")]));
    bench.finish("b", "ok");
    assert_eq!(bench.open_ask().map(|ask| ask.kind()), Some(AskKind::TurnLimit));
}

/// Plays one turn with a tool call and its result.
fn turn(bench: &mut Bench, id: &str) {
    bench.respond(call_response(&[call(id, "bash")]));
    bench.finish(id, id);
}

#[test]
fn granted_turns_outlive_the_run() {
    let limits = || Limits { max_turns: Some(2), ..limits() };
    for word in ["Continue", "Yes, but only the tests."] {
        let mut bench = Bench::calling(limits());
        turn(&mut bench, "a");
        turn(&mut bench, "b");
        assert_eq!(bench.open_ask().map(|ask| ask.kind()), Some(AskKind::TurnLimit));
        if word == "Continue" {
            bench.answer(word);
        } else {
            bench.send(MessageSource::User, word);
        }
        turn(&mut bench, "c");
        let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
        assert_eq!((resumed.open_ask(), resumed.machine.waits_for()), (None, "model"), "{word}");
        turn(&mut resumed, "d");
        assert_eq!(resumed.open_ask().map(|ask| ask.kind()), Some(AskKind::TurnLimit), "{word}");
    }
}

#[test]
fn a_grant_and_its_text_are_saved_together() {
    let mut bench = asking(AskKind::TurnLimit);
    bench.answer("Only the tests, please.");
    let kinds = bench.kinds();
    let at = kinds.iter().position(|kind| *kind == "granted").unwrap();
    assert_eq!(kinds[at + 1], "message");
    assert!(bench.machine.state().decisions.is_empty(), "the answer was acted on");
}

#[test]
fn each_error_class_has_its_own_number_of_retries() {
    for class in ErrorClass::ALL {
        let retries = crate::provider::retry::policy(class).retries;
        if matches!(class, ErrorClass::Cancelled | ErrorClass::ContextOverflow) {
            continue;
        }
        let mut bench = begin();
        for _ in 0..retries {
            bench.fail(class);
            bench.wake();
        }
        bench.fail(class);
        let ask = bench.open_ask().unwrap();
        // The text of a response without end is kept, so there is nothing to retry.
        let kind = if class == ErrorClass::Runaway { AskKind::ModelStopped } else { AskKind::RetriesExhausted };
        assert_eq!(ask.kind(), kind, "{class}");
        assert!(ask.detail.contains("it went wrong"), "{class}");
        let notes = bench.kinds().iter().filter(|kind| **kind == "error").count();
        assert_eq!(notes, retries as usize + 1, "{class}");
    }
}

#[test]
fn a_wait_of_more_than_an_hour_is_left_to_the_user() {
    let mut bench = begin();
    let mut error = ApiError::new(ErrorClass::RateLimit, "come back tomorrow");
    error.retry_after = Some(std::time::Duration::from_secs(7_200));
    bench.fail_with(error);
    assert_eq!(bench.machine.waits_for(), "user");
}

/// Returns a run whose check has just failed in the same way `in_a_row` times.
fn check_failed(in_a_row: u32) -> Bench {
    let mut bench = begin();
    bench.respond(call_response(&[call("d", "done")]));
    let refused = ToolResult { is_error: true, ..result("d", "Not done: 1 test failed.") };
    bench.finish_with(refused, Some(tools::ControlRequest::CheckFailed { in_a_row }));
    bench
}

#[test]
fn a_check_that_fails_three_times_in_the_same_way_is_asked_about() {
    for (in_a_row, asks) in [(1, false), (2, false), (3, true), (4, false), (6, true)] {
        let bench = check_failed(in_a_row);
        let kind = bench.open_ask().map(|ask| ask.kind());
        assert_eq!(kind, asks.then_some(AskKind::CheckFailed), "{in_a_row}");
        assert_eq!(bench.machine.waits_for(), if asks { "user" } else { "model" }, "{in_a_row}");
        assert_eq!(bench.results(), [("d", "Not done: 1 test failed.", true)], "{in_a_row}: the call is answered");
    }
}

#[test]
fn every_answer_about_a_check_has_an_effect() {
    let choices = check_failed(3).open_ask().unwrap().choices;
    let [go_on, accept, fail] = choices.as_slice() else { panic!("{choices:?}") };
    for (answer, unchecked) in [(go_on.label.as_str(), false), (&accept.label, true), ("Look at the log.", false)] {
        let mut bench = check_failed(3);
        bench.answer(answer);
        assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 2), "{answer}");
        assert_eq!(bench.machine.state().grants.unchecked, unchecked, "{answer}");
        assert!(bench.machine.state().decisions.is_empty(), "{answer}");
        if unchecked {
            bench.respond(call_response(&[call("e", "done")]));
            let control = tools::ControlRequest::Done { verdict: Verdict::Passed, result: "As it is.".to_owned() };
            bench.finish_with(result("e", ""), Some(control));
            assert!(!SessionState::replay(&bench.log).grants.unchecked, "for one end only");
        }
    }
    let mut bench = check_failed(3);
    bench.answer(&fail.label);
    assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Stopped)));
    assert!(!ended(&bench).result.is_empty(), "the parent task is told");
    let mut bench = check_failed(3);
    bench.send(MessageSource::User, "Leave the check to me.");
    assert!(bench.open_ask().is_none() && bench.last_message().contains("Leave the check to me."));
}
