//! What is said to an agent while it does something else.

use std::sync::Arc;

use super::*;
use crate::model::event::Event;

#[test]
fn a_message_during_a_response_is_read_with_the_next_request() {
    let mut bench = begin();
    bench.hear(Source::User, "One more thing.");
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    assert_eq!(bench.requests(), 2);
    assert!(bench.last_words().contains("One more thing."));
}

#[test]
fn a_message_during_a_last_response_keeps_the_agent_awake() {
    let mut bench = begin();
    bench.hear(Source::User, "One more thing.");
    bench.respond(saying("Finished."));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 2));
}

#[test]
fn a_message_during_tools_stands_after_all_results() {
    let mut bench = begin();
    bench.respond(calling(&[call("a", "bash"), call("b", "bash")]));
    bench.finish("b", "two");
    bench.hear(Source::User, "One more thing.");
    bench.finish("a", "one");
    let blocks = &bench.machine.conversation().speeches().last().unwrap().blocks;
    assert!(matches!(blocks.as_slice(), [Block::ToolResult(_), Block::ToolResult(_), Block::Text(_)]), "{blocks:?}");
}

#[test]
fn a_message_during_a_summary_is_read_after_it() {
    let mut bench = begin();
    bench.fail(ErrorClass::ContextOverflow);
    bench.hear(Source::User, "One more thing.");
    bench.respond(summary());
    assert_eq!(bench.requests(), 3);
    let words = bench.last_words();
    assert!(words.contains("has been summarised") && words.contains("One more thing."), "{words}");
}

#[test]
fn a_message_during_done_waits_for_the_next_run_and_reopens_the_task() {
    let mut bench = begin();
    bench.respond(calling(&[call("d", "done")]));
    bench.hear(Source::User, "One more thing.");
    let control = tools::Control::Done { verdict: Verdict::Passed, result: "All of it.".to_owned() };
    bench.finish_with(result("d", ""), Some(control));
    assert_eq!(exit(&bench), Some(Exit::DonePassed));
    let next = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert_eq!(next.machine.waits_for(), "model");
    let words = next.last_words();
    assert!(words.contains("spoken to again") && words.contains("One more thing."), "{words}");
}

#[test]
fn the_end_of_a_process_during_done_leaves_the_task_done() {
    let mut bench = begin();
    bench.respond(calling(&[call("d", "done")]));
    let ended =
        Source::BackgroundComplete { process: "bg".to_owned(), command: "make".to_owned(), exit: None, duration_ms: 1 };
    bench.hear(ended, "It ended.");
    let control = tools::Control::Done { verdict: Verdict::Passed, result: "All of it.".to_owned() };
    bench.finish_with(result("d", ""), Some(control));
    let state = SessionState::replay(&bench.log);
    assert!(!crate::model::resume::of(&state).owes_work(&state), "nothing starts a run");
    let mut next = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert_eq!((next.machine.waits_for(), next.requests()), ("message", 0));
    next.hear(Source::User, "One more thing.");
    let words = next.last_words();
    assert!(words.contains("It ended.") && words.contains("One more thing."), "{words}");
}

#[test]
fn a_message_wakes_a_sleeper_and_answers_its_yield() {
    let mut bench = begin();
    bench.respond(calling(&[call("y", "yield")]));
    assert_eq!(bench.machine.waits_for(), "message");
    bench.hear(Source::User, "Wake up.");
    assert_eq!(bench.results(), [("y", "Resumed: something was said to you.", false)]);
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn what_is_not_worth_a_turn_rides_along_with_what_is() {
    let mut bench = begin();
    bench.respond(saying("Finished."));
    bench.hear(Source::Interrupt, "");
    assert_eq!(bench.machine.waits_for(), "message");
    bench.hear(Source::User, "Go on.");
    assert_eq!(bench.requests(), 2);
    let words = bench.last_words();
    assert!(words.contains("<interrupt") && words.contains("Go on."), "{words}");
}

#[test]
fn a_message_for_later_waits_until_the_agent_would_sleep() {
    let mut bench = begin();
    bench.hear_as(Source::User, "Later.", Delivery::Next);
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    assert!(!bench.last_words().contains("Later."));
    bench.respond(saying("Finished."));
    assert_eq!(bench.requests(), 3);
    assert!(bench.last_words().contains("Later."));
}

#[test]
fn a_message_for_later_waits_also_after_a_restart() {
    let mut bench = begin();
    bench.hear_as(Source::User, "Later.", Delivery::Next);
    bench.respond(calling(&[call("a", "bash")]));
    bench.finish("a", "ok");
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert_eq!(resumed.machine.waits_for(), "model");
    assert!(!resumed.last_words().contains("Later."));
    resumed.respond(saying("Finished."));
    assert!(resumed.last_words().contains("Later."));
}

#[test]
fn a_wish_to_compact_is_carried_out_and_never_seen_and_a_sleeper_sleeps_on() {
    let mut bench = begin();
    bench.respond(calling(&[call("y", "yield")]));
    bench.hear(Source::Compact, "");
    assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
    bench.respond(summary());
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", 2));
    assert!(!bench.machine.state().messages.iter().any(|message| message.from == Source::Compact));
    bench.hear(Source::User, "Go on.");
    assert_eq!(bench.purpose(), Purpose::Respond);
    assert!(bench.last_words().contains("has been summarised"));
}

#[test]
fn a_wish_to_compact_survives_a_crash_on_the_way() {
    let mut bench = begin();
    bench.respond(calling(&[call("y", "yield")]));
    bench.hear(Source::Compact, "");
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    assert!(matches!(resumed.purpose(), Purpose::Summarise { .. }));
    resumed.respond(summary());
    assert_eq!((resumed.machine.waits_for(), resumed.requests()), ("message", 1));
    assert!(!resumed.machine.state().messages.iter().any(|message| message.from == Source::Compact));
}

#[test]
fn a_wish_to_compact_that_cannot_be_met_is_dropped_when_the_person_says_so() {
    for answer in ["Go on without", "Stop", "Never mind, go on."] {
        let mut bench = begin();
        bench.respond(calling(&[call("y", "yield")]));
        bench.hear(Source::Compact, "");
        for _ in 0..3 {
            bench.respond(saying("No."));
        }
        if answer.starts_with("Never") {
            bench.hear(Source::User, answer);
        } else {
            bench.answer(answer);
        }
        assert!(!bench.machine.state().messages.iter().any(|message| message.from == Source::Compact), "{answer}");
        // It slept when the summary was wished for, and sleeps on unless it is spoken to.
        let wanted = match answer {
            "Stop" => "nothing",
            "Go on without" => "message",
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
fn a_sleeper_whose_summary_comes_at_the_second_try_sleeps_on_also_after_a_restart() {
    let mut bench = begin();
    bench.respond(calling(&[call("y", "yield")]));
    bench.hear(Source::Compact, "");
    (0..3).for_each(|_| bench.respond(saying("No.")));
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    for bench in [&mut bench, &mut resumed] {
        bench.answer("Try again");
        assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
        let asked = bench.requests();
        bench.respond(summary());
        assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", asked));
    }
}

#[test]
fn a_wish_to_compact_leaves_a_finished_task_finished() {
    let mut bench = begin();
    bench.respond(calling(&[call("d", "done")]));
    let control = tools::Control::Done { verdict: Verdict::Passed, result: "All of it.".to_owned() };
    bench.finish_with(result("d", ""), Some(control));
    let mut resumed = Bench::resumed(bench.log.clone(), bench.ids.clone(), limits());
    resumed.hear(Source::Compact, "");
    (0..3).for_each(|_| resumed.respond(saying("No.")));
    resumed.answer("Go on without");
    assert_eq!(resumed.machine.state().turns.exit(), Some(&Exit::DonePassed));
    resumed.hear(Source::Compact, "");
    resumed.respond(summary());
    assert_eq!(resumed.machine.state().turns.exit(), Some(&Exit::DonePassed));
    assert!(resumed.results().is_empty());
}

#[test]
fn there_is_nothing_to_compact_before_anything_was_said() {
    let mut bench = Bench::silent(limits());
    bench.hear(Source::Compact, "");
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", 0));
}

#[test]
fn late_news_of_what_was_in_the_log_is_no_news() {
    let ids = ids();
    let hello = message(&ids, Source::User, "Hello");
    let sent = event(&ids, hello);
    let mut bench = Bench::resumed(vec![sent.clone()], ids, limits());
    assert_eq!(bench.machine.waits_for(), "model");
    let before = bench.machine.conversation().clone();
    bench.feed(Input::Heard { event: Arc::new(sent) });
    bench.respond(saying("Hello."));
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("message", 1));
    assert_eq!(before.speeches().len(), 1);
}

#[test]
fn calls_that_a_crash_left_open_are_answered_before_anything_else() {
    let ids = ids();
    let hello = message(&ids, Source::User, "Hello");
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
