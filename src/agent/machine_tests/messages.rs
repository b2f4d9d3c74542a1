//! Messages that arrive during an operation.

use std::sync::Arc;

use super::*;
use crate::model::event::Event;

#[test]
fn a_message_during_a_response_is_read_with_the_next_request() {
    let mut bench = begin();
    bench.send(MessageSource::User, "One more thing.");
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    assert_eq!(bench.requests(), 2);
    assert!(bench.last_message().contains("One more thing."));
}

#[test]
fn a_message_during_a_last_response_keeps_the_agent_awake() {
    let mut bench = begin();
    bench.send(MessageSource::User, "One more thing.");
    bench.respond(text_response("Finished."));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 2));
}

#[test]
fn a_message_during_tools_comes_after_all_results() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash"), call("b", "bash")]));
    bench.finish("b", "two");
    bench.send(MessageSource::User, "One more thing.");
    bench.finish("a", "one");
    let blocks = &bench.machine.conversation().role_messages().last().unwrap().blocks;
    assert!(matches!(blocks.as_slice(), [Block::ToolResult(_), Block::ToolResult(_), Block::Text(_)]), "{blocks:?}");
}

#[test]
fn a_message_during_a_summary_is_read_after_it() {
    let mut bench = begin();
    bench.fail(ErrorClass::ContextOverflow);
    bench.send(MessageSource::User, "One more thing.");
    bench.respond(summary());
    assert_eq!(bench.requests(), 3);
    let words = bench.last_message();
    assert!(words.contains("has been summarised") && words.contains("One more thing."), "{words}");
}

#[test]
fn a_message_during_done_waits_for_the_next_run_and_reopens_the_task() {
    let mut bench = begin();
    bench.respond(call_response(&[call("d", "done")]));
    bench.send(MessageSource::User, "One more thing.");
    let control = tools::ControlRequest::Done { verdict: Verdict::Passed, result: "All of it.".to_owned() };
    bench.finish_with(result("d", ""), Some(control));
    assert_eq!(exit(&bench), Some(Exit::DonePassed));
    let next = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert_eq!(next.machine.waits_for(), "model");
    let words = next.last_message();
    assert!(words.contains("spoken to again") && words.contains("One more thing."), "{words}");
}

#[test]
fn the_end_of_a_process_during_done_leaves_the_task_done() {
    let mut bench = begin();
    bench.respond(call_response(&[call("d", "done")]));
    let ended = MessageSource::BackgroundComplete {
        process: "bg".to_owned(),
        command: "make".to_owned(),
        exit: None,
        duration_ms: 1,
    };
    bench.send(ended, "It ended.");
    let control = tools::ControlRequest::Done { verdict: Verdict::Passed, result: "All of it.".to_owned() };
    bench.finish_with(result("d", ""), Some(control));
    let state = SessionState::replay(&bench.log);
    assert!(!crate::model::resume::of(&state).has_work(&state), "nothing starts a run");
    let mut next = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert_eq!((next.machine.waits_for(), next.requests()), ("message", 0));
    next.send(MessageSource::User, "One more thing.");
    let words = next.last_message();
    assert!(words.contains("It ended.") && words.contains("One more thing."), "{words}");
}

#[test]
fn a_message_wakes_a_sleeper_and_answers_its_yield() {
    let mut bench = begin();
    bench.respond(call_response(&[call("y", "yield")]));
    assert_eq!(bench.machine.waits_for(), "message");
    bench.send(MessageSource::User, "Wake up.");
    assert_eq!(bench.results(), [("y", "Resumed: something was said to you.", false)]);
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn messages_that_need_no_response_are_delivered_with_the_next_one() {
    let mut bench = begin();
    bench.respond(text_response("Finished."));
    bench.send(MessageSource::Interrupt, "");
    assert_eq!(bench.machine.waits_for(), "message");
    bench.send(MessageSource::User, "Go on.");
    assert_eq!(bench.requests(), 2);
    let words = bench.last_message();
    assert!(words.contains("<interrupt") && words.contains("Go on."), "{words}");
}

#[test]
fn a_queued_message_waits_until_the_agent_would_sleep() {
    let mut bench = begin();
    bench.send_as(MessageSource::User, "Later.", Delivery::Next);
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    assert!(!bench.last_message().contains("Later."));
    bench.respond(text_response("Finished."));
    assert_eq!(bench.requests(), 3);
    assert!(bench.last_message().contains("Later."));
}

#[test]
fn a_queued_message_still_waits_after_a_restart() {
    let mut bench = begin();
    bench.send_as(MessageSource::User, "Later.", Delivery::Next);
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert_eq!(resumed.machine.waits_for(), "model");
    assert!(!resumed.last_message().contains("Later."));
    resumed.respond(text_response("Finished."));
    assert!(resumed.last_message().contains("Later."));
}

#[test]
fn a_request_to_compact_is_invisible_and_does_not_wake_the_agent() {
    let mut bench = begin();
    bench.respond(call_response(&[call("y", "yield")]));
    bench.send(MessageSource::Compact, "");
    assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
    bench.respond(summary());
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", 2));
    assert!(!bench.machine.state().messages.iter().any(|message| message.from == MessageSource::Compact));
    bench.send(MessageSource::User, "Go on.");
    assert_eq!(bench.purpose(), Purpose::Respond);
    assert!(bench.last_message().contains("has been summarised"));
}

#[test]
fn a_request_to_compact_survives_a_crash() {
    let mut bench = begin();
    bench.respond(call_response(&[call("y", "yield")]));
    bench.send(MessageSource::Compact, "");
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert!(matches!(resumed.purpose(), Purpose::Summarise { .. }));
    resumed.respond(summary());
    assert_eq!((resumed.machine.waits_for(), resumed.requests()), ("message", 1));
    assert!(!resumed.machine.state().messages.iter().any(|message| message.from == MessageSource::Compact));
}

#[test]
fn a_failed_request_to_compact_is_dropped_by_the_user() {
    for answer in ["Continue without a summary", "Stop", "Never mind, go on."] {
        let mut bench = begin();
        bench.respond(call_response(&[call("y", "yield")]));
        bench.send(MessageSource::Compact, "");
        for _ in 0..3 {
            bench.respond(text_response("No."));
        }
        if answer.starts_with("Never") {
            bench.send(MessageSource::User, answer);
        } else {
            bench.answer(answer);
        }
        assert!(
            !bench.machine.state().messages.iter().any(|message| message.from == MessageSource::Compact),
            "{answer}"
        );
        // It slept when the summary was requested, and stays asleep unless it receives a message.
        let wanted = match answer {
            "Stop" => "nothing",
            "Continue without a summary" => "message",
            _ => "model",
        };
        assert_eq!(bench.machine.waits_for(), wanted, "{answer}");
        let woken = bench.results().iter().any(|(call, ..)| *call == "y");
        assert_eq!(woken, wanted == "model", "{answer}");
        let failed = |event: &Event| matches!(&event.body, Body::RunEnded(ended) if !ended.result.is_empty());
        assert!(!bench.log.iter().any(failed), "{answer}: the work itself did not fail");
    }
}

#[test]
fn a_sleeping_agent_stays_asleep_after_a_retried_summary_and_a_restart() {
    let mut bench = begin();
    bench.respond(call_response(&[call("y", "yield")]));
    bench.send(MessageSource::Compact, "");
    (0..3).for_each(|_| bench.respond(text_response("No.")));
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    for bench in [&mut bench, &mut resumed] {
        bench.answer("Try again");
        assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
        let requests = bench.requests();
        bench.respond(summary());
        assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", requests));
    }
}

#[test]
fn a_request_to_compact_leaves_a_finished_task_finished() {
    let mut bench = begin();
    bench.respond(call_response(&[call("d", "done")]));
    let control = tools::ControlRequest::Done { verdict: Verdict::Passed, result: "All of it.".to_owned() };
    bench.finish_with(result("d", ""), Some(control));
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    resumed.send(MessageSource::Compact, "");
    (0..3).for_each(|_| resumed.respond(text_response("No.")));
    resumed.answer("Continue without a summary");
    assert_eq!(resumed.machine.state().turns.exit(), Some(&Exit::DonePassed));
    resumed.send(MessageSource::Compact, "");
    resumed.respond(summary());
    assert_eq!(resumed.machine.state().turns.exit(), Some(&Exit::DonePassed));
    assert!(resumed.results().is_empty());
}

#[test]
fn an_empty_conversation_is_not_compacted() {
    let mut bench = Bench::silent(limits());
    bench.send(MessageSource::Compact, "");
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", 0));
}

#[test]
fn a_delivery_of_an_event_in_the_log_is_ignored() {
    let ids = ids();
    let hello = message(&ids, MessageSource::User, "Hello");
    let sent = event(&ids, hello);
    let mut bench = Bench::resumed(vec![sent.clone()], ids, limits());
    assert_eq!(bench.machine.waits_for(), "model");
    let before = bench.machine.conversation().clone();
    bench.feed(Input::Delivered { event: Arc::new(sent) });
    bench.respond(text_response("Hello."));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", 1));
    assert_eq!(before.role_messages().len(), 1);
}

#[test]
fn calls_that_a_crash_left_open_are_answered_before_anything_else() {
    let ids = ids();
    let hello = message(&ids, MessageSource::User, "Hello");
    let taken = consumed(&hello);
    let log = vec![
        event(&ids, crate::model::event::SessionConfig::default()),
        event(&ids, hello),
        event(&ids, taken),
        event(&ids, call("a", "bash")),
        event(&ids, call("b", "bash")),
        event(&ids, result("b", "done")),
    ];
    let bench = Bench::resumed(log, ids, limits());
    assert_eq!(bench.machine.waits_for(), "model");
    let repaired = bench.results();
    assert!(repaired.iter().any(|(call, text, error)| *call == "a" && *error && text.contains("not known")));
    assert!(!bench.effects.iter().any(|effect| matches!(effect, Effect::RunTools { .. })));
}
