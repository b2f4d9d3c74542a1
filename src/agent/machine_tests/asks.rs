//! Every Ask of a run's own, and what each of its answers does.

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
                bench.respond(calling(&[call(&id, "bash")]));
                bench.finish(&id, "the same");
            }
        }
        AskKind::TurnLimit => {
            bench.respond(calling(&[call("a", "bash")]));
            bench.finish("a", "ok");
        }
        AskKind::CompactionFailed => {
            bench.fail(ErrorClass::ContextOverflow);
            for _ in 0..3 {
                bench.respond(saying("No."));
            }
        }
        other => panic!("{other:?} is not the run's own"),
    }
    assert_eq!(bench.asked().map(|ask| ask.kind()), Some(kind));
    assert_eq!(bench.machine.waits_for(), "person");
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
fn every_choice_of_every_ask_leads_somewhere() {
    for kind in OWN {
        let choices = asking(kind).asked().unwrap().choices;
        assert_eq!(choices.last().map(|choice| &choice.id), Some(&ChoiceId::Stop), "{kind:?}");
        for choice in choices {
            let mut bench = asking(kind);
            let before = bench.requests();
            bench.answer(&choice.label);
            assert!(bench.asked().is_none(), "{kind:?} {choice}");
            if choice.id == ChoiceId::Stop {
                assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Stopped)), "{kind:?}");
                let result = ended(&bench).result;
                assert!(
                    result.ends_with("and the person left it at that."),
                    "the task above is told: {kind:?} {result}"
                );
                continue;
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
fn stop_is_understood_however_it_is_written() {
    let mut bench = asking(AskKind::Loop);
    bench.answer(" stop ");
    assert!(bench.machine.is_over());
}

#[test]
fn a_model_is_chosen_by_a_name_that_is_known_or_said_to_be_one() {
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
fn other_words_are_never_taken_for_a_model() {
    for answer in ["yes", "retry", "ok", "big-model", "model:", "model: two words", "a: b"] {
        for kind in [AskKind::RetriesExhausted, AskKind::CompactionFailed] {
            let mut bench = asking(kind);
            bench.answer(answer);
            let chosen = bench.effects.iter().any(|effect| matches!(effect, Effect::UseModel { .. }));
            assert!(!chosen, "{answer} {kind:?}");
            assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", Purpose::Respond), "{answer} {kind:?}");
            assert!(bench.last_words().contains(answer), "{answer} {kind:?}: {}", bench.last_words());
        }
    }
}

#[test]
fn other_words_go_to_the_agent() {
    let spoken_to =
        [AskKind::ModelStopped, AskKind::Budget, AskKind::Loop, AskKind::TurnLimit, AskKind::CompactionFailed];
    for kind in spoken_to {
        let mut bench = asking(kind);
        bench.answer("Only the tests, please.");
        assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", Purpose::Respond), "{kind:?}");
        assert!(bench.last_words().contains("Only the tests, please."), "{kind:?}: {}", bench.last_words());
    }
}

#[test]
fn speaking_to_the_agent_answers_every_ask() {
    for kind in OWN {
        let mut bench = asking(kind);
        bench.hear(Source::User, "Never mind, go on.");
        assert!(bench.asked().is_none(), "{kind:?}");
        assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", Purpose::Respond), "{kind:?}");
        assert!(bench.last_words().contains("Never mind"), "{kind:?}");
        assert!(bench.kinds().contains(&"ask_withdrawn"), "{kind:?}");
    }
}

#[test]
fn what_others_say_does_not_answer_an_ask() {
    for kind in OWN {
        let mut bench = asking(kind);
        bench.hear(Source::Notice, "By the way.");
        assert_eq!(bench.machine.waits_for(), "person", "{kind:?}");
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
        assert_eq!(resumed.machine.waits_for(), "person", "{kind:?}");
        assert_eq!(resumed.requests(), 0, "{kind:?}");
        let choice = resumed.asked().unwrap().choices[0].clone();
        resumed.answer(&choice.label);
        assert_eq!(resumed.machine.waits_for(), "model", "{kind:?}");
    }
}

#[test]
fn an_ask_that_was_answered_while_it_was_written_is_not_waited_for() {
    let mut bench = begin();
    bench.slow_disk = true;
    bench.fail(ErrorClass::Auth);
    bench.hear(Source::User, "Try it again.");
    bench.slow_disk = false;
    bench.save();
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn the_turn_limit_may_be_lifted_again_and_again() {
    let mut bench = asking(AskKind::TurnLimit);
    bench.answer("Go on");
    bench.respond(calling(&[call("b", "bash")]));
    bench.finish("b", "ok");
    assert_eq!(bench.asked().map(|ask| ask.kind()), Some(AskKind::TurnLimit));
}

/// The model calls a tool, which answers.
fn turn(bench: &mut Bench, id: &str) {
    bench.respond(calling(&[call(id, "bash")]));
    bench.finish(id, id);
}

#[test]
fn turns_that_were_granted_outlive_the_run_and_are_as_many_as_before() {
    let limits = || Limits { max_turns: Some(2), ..limits() };
    for word in ["Go on", "Yes, but only the tests."] {
        let mut bench = Bench::calling(limits());
        turn(&mut bench, "a");
        turn(&mut bench, "b");
        assert_eq!(bench.asked().map(|ask| ask.kind()), Some(AskKind::TurnLimit));
        if word == "Go on" {
            bench.answer(word);
        } else {
            bench.hear(Source::User, word);
        }
        turn(&mut bench, "c");
        let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
        assert_eq!((resumed.asked(), resumed.machine.waits_for()), (None, "model"), "{word}");
        turn(&mut resumed, "d");
        assert_eq!(resumed.asked().map(|ask| ask.kind()), Some(AskKind::TurnLimit), "{word}");
    }
}

#[test]
fn a_grant_and_the_words_that_came_with_it_are_kept_together() {
    let mut bench = asking(AskKind::TurnLimit);
    bench.answer("Only the tests, please.");
    let kinds = bench.kinds();
    let at = kinds.iter().position(|kind| *kind == "granted").unwrap();
    assert_eq!(kinds[at + 1], "message");
    assert!(bench.machine.state().decisions.is_empty(), "the answer was acted on");
}

#[test]
fn each_class_of_failure_gives_up_after_its_own_number_of_tries() {
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
        let ask = bench.asked().unwrap();
        // What came of a response without end is kept, so there is nothing to try again.
        let kind = if class == ErrorClass::Runaway { AskKind::ModelStopped } else { AskKind::RetriesExhausted };
        assert_eq!(ask.kind(), kind, "{class}");
        assert!(ask.detail.contains("it went wrong"), "{class}");
        let notes = bench.kinds().iter().filter(|kind| **kind == "error").count();
        assert_eq!(notes, retries as usize + 1, "{class}");
    }
}

#[test]
fn a_limit_that_asks_for_more_than_an_hour_is_the_persons_to_decide() {
    let mut bench = begin();
    let mut error = ApiError::new(ErrorClass::RateLimit, "come back tomorrow");
    error.retry_after = Some(std::time::Duration::from_secs(7_200));
    bench.fail_with(error);
    assert_eq!(bench.machine.waits_for(), "person");
}

/// Returns a run whose check has just failed, for so many times in a row in the same way.
fn check_failed(in_a_row: u32) -> Bench {
    let mut bench = begin();
    bench.respond(calling(&[call("d", "done")]));
    let refused = ToolResult { is_error: true, ..result("d", "Not done: 1 test failed.") };
    bench.finish_with(refused, Some(tools::Control::CheckFailed { in_a_row }));
    bench
}

#[test]
fn a_check_that_fails_three_times_in_the_same_way_is_asked_about() {
    for (in_a_row, asks) in [(1, false), (2, false), (3, true), (4, false), (6, true)] {
        let bench = check_failed(in_a_row);
        let kind = bench.asked().map(|ask| ask.kind());
        assert_eq!(kind, asks.then_some(AskKind::CheckFailed), "{in_a_row}");
        assert_eq!(bench.machine.waits_for(), if asks { "person" } else { "model" }, "{in_a_row}");
        assert_eq!(bench.results(), [("d", "Not done: 1 test failed.", true)], "{in_a_row}: the call is answered");
    }
}

#[test]
fn every_answer_about_a_check_leads_somewhere() {
    let choices = check_failed(3).asked().unwrap().choices;
    let [go_on, accept, fail] = choices.as_slice() else { panic!("{choices:?}") };
    for (answer, unchecked) in [(go_on.label.as_str(), false), (&accept.label, true), ("Look at the log.", false)] {
        let mut bench = check_failed(3);
        bench.answer(answer);
        assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 2), "{answer}");
        assert_eq!(bench.machine.state().grants.unchecked, unchecked, "{answer}");
        assert!(bench.machine.state().decisions.is_empty(), "{answer}");
        if unchecked {
            bench.respond(calling(&[call("e", "done")]));
            let control = tools::Control::Done { verdict: Verdict::Passed, result: "As it is.".to_owned() };
            bench.finish_with(result("e", ""), Some(control));
            assert!(!SessionState::replay(&bench.log).grants.unchecked, "for one end only");
        }
    }
    let mut bench = check_failed(3);
    bench.answer(&fail.label);
    assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Stopped)));
    assert!(!ended(&bench).result.is_empty(), "the task above is told");
    let mut bench = check_failed(3);
    bench.hear(Source::User, "Leave the check to me.");
    assert!(bench.asked().is_none() && bench.last_words().contains("Leave the check to me."));
}
