//! Interrupt and teardown in every phase. An interrupt ends the turn, a teardown ends the run.

use super::*;

/// Returns a run that waits for the preparation of its first segment.
fn preparing() -> Bench {
    let mut bench = Bench::silent(limits());
    bench.slow_preparer = true;
    bench.send(MessageSource::User, "Hello");
    bench
}

/// Returns a run in every phase.
fn phases() -> Vec<(&'static str, Bench)> {
    let mut saving = begin();
    saving.slow_disk = true;
    saving.respond(call_response(&[call("a", "bash")]));
    let mut counting = Bench::silent(Limits { window: Some(1_000), can_count: true, ..limits() });
    counting.send(MessageSource::User, "Hello");
    let mut summarising = begin();
    summarising.fail(ErrorClass::ContextOverflow);
    let mut waiting = begin();
    waiting.fail(ErrorClass::Overloaded);
    let mut tools = begin();
    tools.respond(call_response(&[call("a", "bash"), call("b", "bash")]));
    let mut asking = begin();
    asking.fail(ErrorClass::Auth);
    let mut parked = begin();
    parked.respond(text_response("Finished."));
    vec![
        ("disk", saving),
        ("count", counting),
        ("budget", budgeted()),
        ("model", begin()),
        ("model", summarising),
        ("retry", waiting),
        ("tools", tools),
        ("user", asking),
        ("message", parked),
    ]
}

/// Completes all pending operations.
fn settle(bench: &mut Bench) {
    bench.slow_disk = false;
    bench.slow_preparer = false;
    bench.save();
    bench.prepare();
    for _ in 0..8 {
        match bench.machine.waits_for() {
            "count" => bench.count(None),
            "budget" => bench.feed(Input::Reserved(BudgetVerdict::Granted)),
            "model" if bench.effects.contains(&Effect::CancelModel { number: bench.request().0 }) => {
                bench.fail_with(ApiError::cancelled());
            }
            "model" if matches!(bench.purpose(), Purpose::Summarise { .. }) => bench.respond(summary()),
            "tools" => {
                for call in ["a", "b"] {
                    bench.finish(call, "cut short");
                }
            }
            _ => break,
        }
    }
}

#[test]
fn an_interrupt_ends_the_turn_in_every_phase_and_the_agent_waits() {
    for (phase, mut bench) in phases() {
        assert_eq!(bench.machine.waits_for(), phase);
        bench.feed(Input::Interrupt);
        settle(&mut bench);
        let idle = matches!(phase, "user" | "message");
        let waits_for = if phase == "user" { "user" } else { "message" };
        assert_eq!(bench.machine.waits_for(), waits_for, "{phase}: {:?}", bench.kinds());
        assert_eq!(bench.messages(&MessageSource::Interrupt).len(), usize::from(!idle), "{phase}");
        assert!(bench.machine.conversation().open_calls().next().is_none(), "{phase}");
    }
}

#[test]
fn an_interrupt_does_not_lose_a_pending_message() {
    let mut bench = preparing();
    bench.feed(Input::Interrupt);
    settle(&mut bench);
    assert_eq!(bench.machine.waits_for(), "model");
    let words = bench.last_message();
    assert!(words.contains("Hello") && words.contains("interrupted you"), "{words}");
}

#[test]
fn an_interrupted_agent_continues_after_a_message() {
    for (phase, mut bench) in phases() {
        bench.feed(Input::Interrupt);
        settle(&mut bench);
        bench.send(MessageSource::User, "And now this.");
        settle(&mut bench);
        assert_eq!(bench.machine.waits_for(), "model", "{phase}");
        assert!(bench.last_message().contains("And now this."), "{phase}");
    }
}

#[test]
fn an_interrupted_session_stays_asleep_after_a_restart() {
    for (phase, mut bench) in phases() {
        if matches!(phase, "user" | "message") {
            continue;
        }
        bench.feed(Input::Interrupt);
        settle(&mut bench);
        let active = match bench.log.iter().rposition(|event| matches!(event.body, Body::CompactMarker(_))) {
            Some(at) => bench.log[at..].to_vec(),
            None => bench.log.clone(),
        };
        let resumed = Bench::resumed(active, bench.ids.clone(), limits());
        assert_eq!((resumed.machine.waits_for(), resumed.requests()), ("message", 0), "{phase}");
    }
}

#[test]
fn the_partial_text_is_saved_as_an_ordinary_event() {
    let mut bench = begin();
    bench.feed(Input::Interrupt);
    let partial = response(StopReason::Interrupted, vec![ResponseBlock::Text("I was about to".to_owned())]);
    bench.fail_with(ApiError::cancelled().with_partial(partial));
    let texts: Vec<_> = bench
        .log
        .iter()
        .filter_map(|event| match &event.body {
            Body::AssistantText(body) => Some(body.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["I was about to"]);
    let Some(turn) = bench.machine.state().turns.last.clone() else { panic!("no turn") };
    assert_eq!(turn.stop, StopReason::Interrupted);
    assert_eq!(bench.machine.waits_for(), "message");
}

#[test]
fn a_complete_response_is_kept_after_an_interrupt_and_its_calls_are_not_run() {
    let mut bench = begin();
    bench.feed(Input::Interrupt);
    bench.respond(call_response(&[call("a", "bash")]));
    assert!(!bench.effects.iter().any(|effect| matches!(effect, Effect::RunTools { .. })));
    assert!(matches!(bench.results().as_slice(), [("a", text, true)] if text.contains("interrupted you before")));
    assert_eq!(bench.machine.waits_for(), "message");
}

#[test]
fn a_late_interrupt_does_not_undo_done() {
    let mut bench = begin();
    bench.feed(Input::Interrupt);
    bench.respond(call_response(&[call("d", "done")]));
    assert!(bench.effects.iter().any(|effect| matches!(effect, Effect::RunTools { .. })));
}

#[test]
fn a_teardown_ends_the_run_in_every_phase_and_answers_no_call_twice() {
    for (phase, mut bench) in phases().into_iter().chain([("context", preparing())]) {
        bench.feed(Input::Teardown(InterruptReason::Quit));
        settle(&mut bench);
        assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Quit)), "{phase}: {:?}", bench.kinds());
        assert_eq!(bench.log.last().unwrap().body.kind(), "run_ended", "{phase}");
        assert_eq!(bench.kinds().iter().filter(|kind| **kind == "run_ended").count(), 1, "{phase}");
    }
}

#[test]
fn after_a_teardown_the_partial_response_is_discarded_and_requested_again() {
    let mut bench = begin();
    bench.feed(Input::Teardown(InterruptReason::Quit));
    let partial = response(StopReason::Interrupted, vec![ResponseBlock::Text("I was about to".to_owned())]);
    bench.fail_with(ApiError::cancelled().with_partial(partial));
    assert!(!bench.kinds().contains(&"assistant_text"));
    let resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert_eq!(resumed.machine.waits_for(), "model");
}

#[test]
fn a_cancelled_count_is_not_waited_for() {
    for input in [Input::Interrupt, Input::Teardown(InterruptReason::Quit)] {
        let mut bench = Bench::silent(Limits { window: Some(1_000), can_count: true, ..limits() });
        bench.send(MessageSource::User, "Hello");
        assert_eq!(bench.machine.waits_for(), "count");
        let over = matches!(input, Input::Teardown(_));
        bench.feed(input);
        assert!(bench.effects.iter().any(|effect| matches!(effect, Effect::CancelModel { .. })));
        assert_eq!((bench.machine.is_over(), bench.machine.waits_for() == "message"), (over, !over));
        if !over {
            bench.send(MessageSource::User, "Go on");
            let last_number =
                |effect: &Effect| if let Effect::Count { number } = effect { Some(*number) } else { None };
            let first = bench.effects.iter().find_map(last_number).unwrap();
            bench.feed(Input::Counted { number: first, tokens: Some(900) });
            assert_eq!(bench.machine.waits_for(), "count", "an old count says nothing about the new request");
            bench.count(Some(10));
            assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", Purpose::Respond));
        }
    }
}

#[test]
fn an_unused_summary_is_still_charged() {
    let mut bench = begin();
    bench.fail(ErrorClass::ContextOverflow);
    bench.slow_preparer = true;
    bench.respond(summary());
    assert_eq!(bench.machine.waits_for(), "context");
    bench.feed(Input::Teardown(InterruptReason::Quit));
    assert_eq!(bench.kinds()[bench.log.len() - 2..], ["usage", "run_ended"]);
    assert!(bench.machine.is_over());
}

#[test]
fn the_first_teardown_reason_wins() {
    let mut bench = begin();
    bench.feed(Input::Teardown(InterruptReason::Stopped));
    bench.feed(Input::Teardown(InterruptReason::Quit));
    settle(&mut bench);
    assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Stopped)));
}

#[test]
fn an_ended_run_ignores_inputs() {
    let mut bench = begin();
    bench.feed(Input::Teardown(InterruptReason::Stopped));
    settle(&mut bench);
    let before = (bench.log.len(), bench.effects.len());
    bench.send(MessageSource::User, "Anyone?");
    bench.feed(Input::Interrupt);
    bench.feed(Input::Start);
    assert_eq!((bench.log.len() - 1, bench.effects.len()), before);
}

#[test]
fn a_partial_summary_is_not_part_of_the_conversation() {
    let mut bench = begin();
    bench.respond(call_response(&[call("y", "yield")]));
    bench.send(MessageSource::Compact, "");
    let before = bench.machine.conversation().role_messages().to_vec();
    bench.feed(Input::Interrupt);
    bench.fail_with(ApiError::cancelled().with_partial(text_response("<summary>Half of it")));
    assert_eq!(bench.machine.waits_for(), "message");
    assert_eq!(bench.machine.conversation().role_messages(), before);
    bench.send(MessageSource::User, "Go on.");
    assert_eq!((bench.purpose(), bench.results().len()), (Purpose::Respond, 1));
}
