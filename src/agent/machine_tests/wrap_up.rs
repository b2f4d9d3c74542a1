//! The end of a run after the turn in progress, for an engine that is handed over.

use super::*;

const QUIT: Option<Exit> = Some(Exit::Interrupted(InterruptReason::Quit));

fn resumed(bench: &Bench) -> Bench {
    Bench::resumed(bench.log.clone(), bench.ids.clone(), limits())
}

#[test]
fn a_response_in_progress_and_its_calls_finish_and_no_other_request_is_made() {
    let mut bench = begin();
    bench.feed(Input::WrapUp);
    assert_eq!(bench.machine.waits_for(), "model", "the request goes on");
    bench.respond(call_response(&[call("a", "bash"), call("b", "bash")]));
    bench.finish("a", "one");
    assert_eq!(exit(&bench), None, "a call still runs");
    bench.finish("b", "two");
    assert_eq!((exit(&bench), bench.requests()), (QUIT, 1));
    // The next run goes on with the results, and repairs nothing.
    let next = resumed(&bench);
    assert_eq!((next.machine.waits_for(), next.requests()), ("model", 1));
    assert!(!next.kinds().contains(&"repaired"), "{:?}", next.kinds());
}

#[test]
fn the_next_run_sends_what_this_one_would_have_sent() {
    let turn = |bench: &mut Bench| {
        bench.respond(call_response(&[call("a", "bash")]));
        bench.finish("a", "one");
    };
    let mut undisturbed = begin();
    turn(&mut undisturbed);
    let mut bench = begin();
    bench.feed(Input::WrapUp);
    turn(&mut bench);
    let next = resumed(&bench);
    let texts = |bench: &Bench| format!("{:?}", bench.machine.conversation().role_messages());
    assert_eq!(texts(&next), texts(&undisturbed));
}

#[test]
fn a_final_answer_ends_the_run_and_leaves_no_work() {
    let mut bench = begin();
    bench.feed(Input::WrapUp);
    bench.respond(text_response("Finished."));
    assert_eq!(exit(&bench), QUIT);
    let state = SessionState::replay(&bench.log);
    assert!(!crate::model::resume::of(&state).has_work(&state));
}

#[test]
fn a_message_that_arrives_meanwhile_waits_for_the_next_run() {
    let mut bench = begin();
    bench.feed(Input::WrapUp);
    bench.send(MessageSource::User, "One more thing.");
    bench.respond(text_response("Finished."));
    assert_eq!((exit(&bench), bench.requests()), (QUIT, 1));
    let next = resumed(&bench);
    assert_eq!(next.machine.waits_for(), "model");
    assert!(next.last_message().contains("One more thing."));
}

#[test]
fn a_retry_is_left_to_the_next_run() {
    let mut bench = begin();
    bench.fail(ErrorClass::Overloaded);
    assert_eq!(bench.machine.waits_for(), "retry");
    bench.feed(Input::WrapUp);
    assert_eq!((exit(&bench), bench.requests()), (QUIT, 1));
    assert_eq!(resumed(&bench).machine.waits_for(), "model");
}

#[test]
fn a_request_that_fails_meanwhile_is_not_retried_here() {
    let mut bench = begin();
    bench.feed(Input::WrapUp);
    bench.fail(ErrorClass::Overloaded);
    assert_eq!((exit(&bench), bench.requests()), (QUIT, 1));
}

#[test]
fn an_agent_that_waits_ends_at_once() {
    let mut bench = begin();
    bench.respond(text_response("Finished."));
    assert_eq!(bench.machine.waits_for(), "message");
    bench.feed(Input::WrapUp);
    assert_eq!(exit(&bench), QUIT);
}

#[test]
fn an_open_question_stays_open() {
    let mut bench = begin();
    bench.respond(response(StopReason::Refusal, vec![ResponseBlock::Text("I will not.".to_owned())]));
    assert_eq!(bench.machine.waits_for(), "user");
    bench.feed(Input::WrapUp);
    assert_eq!(exit(&bench), QUIT);
    let next = resumed(&bench);
    assert_eq!(next.machine.waits_for(), "user");
    assert!(next.open_ask().is_some());
}

#[test]
fn a_background_process_is_waited_for() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash")]));
    let started = crate::model::event::BackgroundRef { id: "bg".to_owned(), command: "make".to_owned() };
    let running = crate::model::event::ToolResult { background: Some(started), ..result("a", "running") };
    bench.finish_with(running, None);
    bench.feed(Input::WrapUp);
    bench.respond(text_response("It builds."));
    assert_eq!((exit(&bench), bench.machine.waits_for()), (None, "message"));
    let ended = MessageSource::BackgroundComplete {
        process: "bg".to_owned(),
        command: "make".to_owned(),
        exit: Some(0),
        duration_ms: 1,
    };
    bench.send(ended, "It ended.");
    assert_eq!((exit(&bench), bench.requests()), (QUIT, 2));
    // Its end wakes the agent in the next run.
    assert_eq!(resumed(&bench).machine.waits_for(), "model");
}

#[test]
fn what_takes_too_long_can_still_be_stopped() {
    let mut bench = begin();
    bench.feed(Input::WrapUp);
    bench.feed(Input::Teardown(InterruptReason::Quit));
    bench.respond(text_response("Half a sen"));
    assert_eq!(exit(&bench), QUIT);
}
