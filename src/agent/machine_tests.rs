use crate::agent::machine::{Delivery, Effect, Input, Limits, Purpose};
use crate::agent::testing::*;
use crate::base::MicroUsd;
use crate::model::conversation::Block;
use crate::model::event::{Allowance, Body, BudgetScope, Exit, InterruptReason, StopReason, Verdict};
use crate::model::message::MessageSource;
use crate::model::{AskKind, SessionState};
use crate::provider::budget::BudgetVerdict;
use crate::provider::{ApiError, ErrorClass, ResponseBlock};
use crate::tools;

#[path = "machine_tests/asks.rs"]
mod asks;
#[path = "machine_tests/budget.rs"]
mod budget;
#[path = "machine_tests/cut_short.rs"]
mod cut_short;
#[path = "machine_tests/held_calls.rs"]
mod held_calls;
#[path = "machine_tests/loops.rs"]
mod loops;
#[path = "machine_tests/messages.rs"]
mod messages;
#[path = "machine_tests/overfull.rs"]
mod overfull;
#[path = "machine_tests/wrap_up.rs"]
mod wrap_up;

fn limits() -> Limits {
    Limits { profile: "engineer".to_owned(), model: "m".to_owned(), ..Limits::default() }
}

fn begin() -> Bench {
    Bench::calling(limits())
}

fn exit(bench: &Bench) -> Option<Exit> {
    bench.effects.iter().find_map(|effect| match effect {
        Effect::Exit(exit) => Some(exit.clone()),
        _ => None,
    })
}

#[test]
fn every_stop_reason_has_a_consequence() {
    let table = [
        (StopReason::EndTurn, "Done so far.", "message", ""),
        (StopReason::EndTurn, "", "model", "Your response was empty"),
        (StopReason::ToolUse, "But no call.", "message", ""),
        (StopReason::ToolUse, " ", "model", "Your response was empty"),
        (StopReason::MaxTokens, "Half a sen", "model", "reached the output limit"),
        (StopReason::MaxTokens, "", "model", "reached the output limit"),
        (StopReason::Pause, "Wait.", "model", "Go on."),
        (StopReason::Interrupted, "Half", "message", ""),
        (StopReason::ContextOverflow, "Half", "model", ""),
        (StopReason::Refusal, "I will not.", "user", ""),
        (StopReason::Other("tired".to_owned()), "Hm.", "user", ""),
    ];
    for (stop, text, waits_for, notice) in table {
        let mut bench = begin();
        bench.respond(response(stop.clone(), vec![ResponseBlock::Text(text.to_owned())]));
        assert_eq!(bench.machine.waits_for(), waits_for, "{stop:?} {text:?}");
        let notices = bench.messages(&MessageSource::Notice).concat();
        assert!(notices.contains(notice) && notices.is_empty() == notice.is_empty(), "{stop:?} {text:?}: {notices}");
        assert!(bench.kinds().contains(&"turn_ended"), "{stop:?}");
        let summarises = matches!(bench.purpose(), Purpose::Summarise { .. });
        assert_eq!(summarises, stop == StopReason::ContextOverflow, "{stop:?}");
    }
}

#[test]
fn an_unknown_stop_reason_is_shown_to_the_user() {
    let mut bench = begin();
    bench.respond(response(StopReason::Other("tired".to_owned()), Vec::new()));
    let ask = bench.open_ask().unwrap();
    assert_eq!(ask.kind(), AskKind::ModelStopped);
    assert!(ask.detail.contains("tired"));
}

#[test]
fn after_three_unfinished_responses_the_user_is_asked() {
    let mut bench = begin();
    for attempt in 1..=3 {
        bench.respond(response(StopReason::MaxTokens, Vec::new()));
        assert_eq!(bench.machine.waits_for(), "model", "{attempt}");
    }
    bench.respond(response(StopReason::MaxTokens, Vec::new()));
    assert_eq!(bench.open_ask().unwrap().kind(), AskKind::ModelStopped);
    assert!(bench.open_ask().unwrap().question.contains("output limit"));
}

#[test]
fn a_finished_response_resets_the_count_of_unfinished_ones() {
    let mut bench = begin();
    for _ in 0..3 {
        bench.respond(response(StopReason::Pause, Vec::new()));
    }
    bench.respond(call_response(&[call("a", "bash")]));
    bench.finish("a", "ok");
    bench.respond(response(StopReason::Pause, Vec::new()));
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn calls_run_in_parallel_and_results_are_in_call_order() {
    let calls = ["a", "b", "c"].map(|id| call(id, "bash"));
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        let mut bench = begin();
        bench.respond(call_response(&calls));
        let run = bench.effects.iter().find_map(|effect| match effect {
            Effect::RunTools { calls, .. } => Some(calls.len()),
            _ => None,
        });
        assert_eq!(run, Some(3));
        for id in order {
            assert_eq!(bench.machine.waits_for(), "tools");
            bench.finish(id, id);
        }
        assert_eq!(bench.machine.waits_for(), "model");
        let role_messages = bench.machine.conversation().role_messages();
        let answered: Vec<&str> = role_messages
            .last()
            .unwrap()
            .blocks
            .iter()
            .map(|block| match block {
                Block::ToolResult(outcome) => outcome.call.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(answered, ["a", "b", "c"]);
    }
}

#[test]
fn duplicate_and_unknown_results_are_ignored() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash"), call("b", "bash")]));
    bench.finish("a", "one");
    bench.finish("a", "two");
    bench.finish("z", "three");
    assert_eq!(bench.results(), [("a", "one", false)]);
    bench.finish("b", "four");
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn the_next_request_waits_until_the_last_result_is_on_the_disk() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash"), call("b", "bash")]));
    bench.slow_disk = true;
    bench.finish("a", "one");
    bench.finish("b", "two");
    assert_eq!(bench.requests(), 1);
    bench.slow_disk = false;
    bench.save();
    assert_eq!(bench.requests(), 2);
}

#[test]
fn a_truncated_call_is_answered_and_not_run() {
    let mut bench = begin();
    let mut cut = call_response(&[call("a", "bash"), call("b", "bash")]);
    cut.stop = StopReason::MaxTokens;
    cut.cut_call = Some("b".to_owned());
    bench.respond(cut);
    bench.finish("a", "ok");
    let results = bench.results();
    assert_eq!(results.len(), 2);
    assert!(results.iter().any(|(call, text, error)| *call == "b" && *error && text.contains("cut this call off")));
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn a_call_with_a_used_id_gets_a_new_one() {
    let mut bench = begin();
    for turn in 0..3 {
        bench.respond(call_response(&[call("call_0", "bash"), call("call_1", "bash")]));
        let ids: Vec<String> = bench.machine.state().turns.open.iter().map(|open| open.call.clone()).collect();
        assert_eq!(ids.contains(&"call_0".to_owned()), turn == 0, "{ids:?}");
        ids.iter().for_each(|id| bench.finish(id, &format!("{id} {turn}")));
        assert_eq!(bench.machine.waits_for(), "model");
    }
    let results = bench.results();
    let ids: std::collections::BTreeSet<&str> = results.iter().map(|(id, ..)| *id).collect();
    assert_eq!((results.len(), ids.len()), (6, 6));

    let mut cut = response(StopReason::MaxTokens, vec![ResponseBlock::ToolUse(call("call_0", "bash"))]);
    cut.cut_call = Some("call_0".to_owned());
    bench.respond(cut);
    assert!(bench.results()[6].1.contains("cut this call off"), "{:?}", bench.results()[6]);
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn done_ends_the_run_and_leaves_its_call_open() {
    for (verdict, wanted) in [(Verdict::Passed, Exit::DonePassed), (Verdict::Failed, Exit::DoneFailed)] {
        let mut bench = begin();
        bench.respond(call_response(&[call("d", "done")]));
        let control = tools::ControlRequest::Done { verdict, result: "All of it.".to_owned() };
        bench.finish_with(result("d", ""), Some(control));
        assert_eq!(exit(&bench), Some(wanted));
        assert!(bench.machine.is_over());
        assert_eq!(bench.machine.state().turns.open.len(), 1);
        assert_eq!(bench.log.last().unwrap().body.kind(), "run_ended");
    }
}

#[test]
fn a_rejected_done_is_an_ordinary_result() {
    let mut bench = begin();
    bench.respond(call_response(&[call("d", "done")]));
    bench.finish("d", "Not done: uncommitted changes.");
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn a_disk_that_fails_ends_the_run_at_once() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash")]));
    bench.feed(Input::SaveFailed { reason: "the disk is full".to_owned() });
    assert!(bench.effects.contains(&Effect::CancelTools));
    assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Storage("the disk is full".to_owned()))));
    let before = bench.log.len();
    bench.finish("a", "late");
    assert_eq!(bench.log.len(), before);
}

#[test]
fn a_temporary_failure_is_logged_and_retried_after_a_wait() {
    let mut bench = begin();
    for attempt in 1..=3 {
        bench.fail(ErrorClass::Overloaded);
        assert_eq!(bench.machine.waits_for(), "retry");
        let Some(Body::Error(note)) = bench.log.last().map(|event| &event.body) else { panic!("no note") };
        assert_eq!((note.class.as_str(), note.attempt.unwrap().number), ("overloaded", attempt));
        assert!(matches!(bench.effects.iter().rev().nth(1), Some(Effect::Retrying { .. })));
        bench.wake();
        assert_eq!(bench.attempt(), attempt + 1);
    }
    bench.respond(text_response("At last."));
    assert_eq!(bench.machine.waits_for(), "message");
}

#[test]
fn a_stale_timer_is_ignored() {
    let mut bench = begin();
    bench.fail(ErrorClass::Overloaded);
    bench.feed(Input::Timer { timer: 0 });
    assert_eq!(bench.machine.waits_for(), "retry");
}

#[test]
fn a_response_to_an_earlier_request_is_ignored() {
    let mut bench = begin();
    let before = bench.log.len();
    bench.feed(Input::Response { number: 0, response: Box::new(text_response("Late.")), usage: Box::new(usage()) });
    assert_eq!((bench.log.len(), bench.machine.waits_for()), (before, "model"));
}

#[test]
fn a_full_context_is_summarised_and_a_new_segment_starts() {
    let mut bench = begin();
    bench.fail(ErrorClass::ContextOverflow);
    assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
    bench.respond(summary());
    assert_eq!(bench.purpose(), Purpose::Respond);
    let role_messages = bench.machine.conversation().role_messages();
    assert_eq!(role_messages.len(), 1);
    let text = bench.last_message();
    assert!(text.contains("You are here.") && text.contains("has been summarised") && !text.contains("Hello"));
}

#[test]
fn a_summary_that_overflows_is_trimmed_more_and_more_and_then_the_user_is_asked() {
    let mut bench = begin();
    for _ in 0..3 {
        bench.fail(ErrorClass::ContextOverflow);
        assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
    }
    bench.fail(ErrorClass::ContextOverflow);
    assert_eq!(bench.open_ask().unwrap().kind(), AskKind::CompactionFailed);
}

#[test]
fn an_unusable_summary_is_requested_twice_more_and_then_the_user_is_asked() {
    let mut bench = begin();
    bench.fail(ErrorClass::ContextOverflow);
    for _ in 0..2 {
        bench.respond(text_response("I would rather not."));
        assert_eq!(bench.machine.waits_for(), "model");
    }
    bench.respond(text_response("<summary>ok</summary>"));
    assert_eq!(bench.open_ask().unwrap().kind(), AskKind::CompactionFailed);
    assert!(bench.last_message().contains("Hello"));
}

#[test]
fn the_context_is_counted_only_near_the_threshold_and_summarised_only_above_it() {
    let near = Limits { window: Some(1_000), can_count: true, ..limits() };
    for (tokens, purpose) in [(Some(829), Purpose::Respond), (None, Purpose::Respond)] {
        let mut bench = Bench::silent(near.clone());
        bench.send(MessageSource::User, "Hello");
        assert_eq!(bench.machine.waits_for(), "count");
        bench.count(tokens);
        assert_eq!((bench.machine.waits_for(), bench.purpose()), ("model", purpose), "{tokens:?}");
    }
    let mut bench = Bench::silent(near);
    bench.send(MessageSource::User, "Hello");
    bench.count(Some(830));
    assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
    let far = Bench::calling(Limits { window: Some(1_000_000), can_count: true, ..limits() });
    assert!(!far.effects.iter().any(|effect| matches!(effect, Effect::Count { .. })));
}

fn budgeted() -> Bench {
    let mut bench = Bench::silent(Limits { budgeted: true, ..limits() });
    bench.send(MessageSource::User, "Hello");
    assert_eq!(bench.machine.waits_for(), "budget");
    bench
}

#[test]
fn an_agent_in_circles_is_warned_and_then_the_user_is_asked() {
    let mut bench = begin();
    for turn in 0..9 {
        assert_eq!(bench.machine.waits_for(), "model", "turn {turn}");
        let id = format!("c{turn}");
        bench.respond(call_response(&[call(&id, "bash")]));
        bench.finish(&id, "the same");
    }
    assert_eq!(bench.messages(&MessageSource::Notice).len(), 1);
    assert_eq!(bench.open_ask().unwrap().kind(), AskKind::Loop);
    bench.answer("Continue");
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn a_resumed_run_reports_lost_background_processes() {
    let ids = ids();
    let mut started = result("a", "running");
    started.background = Some(crate::model::event::BackgroundRef { id: "p1".to_owned(), command: "serve".to_owned() });
    let log = vec![event(&ids, call("a", "bash")), event(&ids, started), event(&ids, assistant_text("It runs."))];
    let bench = Bench::resumed(log, ids, limits());
    assert_eq!(bench.machine.waits_for(), "model");
    assert!(bench.last_message().contains("p1"));
    assert!(SessionState::replay(&bench.log).background.is_empty());
}

fn saves(bench: &Bench) -> usize {
    bench.unsaved.len()
}

/// Each append is one fsync. A read-only turn has one, and the next request waits for it.
#[test]
fn read_only_calls_are_saved_with_their_response_in_one_append() {
    let mut bench = begin();
    bench.slow_disk = true;
    bench.respond(call_response(&[call("a", "read_file"), call("b", "search")]));
    assert!(bench.effects.iter().any(|effect| matches!(effect, Effect::RunTools { calls, .. } if calls.len() == 2)));
    assert_eq!((bench.machine.waits_for(), saves(&bench)), ("tools", 0));
    bench.finish("b", "two");
    assert_eq!(saves(&bench), 0);
    bench.finish("a", "one");
    assert_eq!((saves(&bench), bench.requests()), (1, 1));
    let kinds: Vec<&str> = bench.unsaved[0].1.iter().map(Body::kind).collect();
    assert_eq!(kinds, ["tool_call", "tool_call", "usage", "turn_ended", "tool_result", "tool_result"]);
    assert!(bench.effects.iter().any(|effect| matches!(effect, Effect::CancelSleep { .. })));
    bench.slow_disk = false;
    bench.save();
    assert_eq!(bench.requests(), 2);
}

#[test]
fn a_response_with_a_call_that_may_change_something_is_saved_before_any_call_runs() {
    for calls in [vec![call("a", "bash")], vec![call("a", "read_file"), call("b", "edit_file")]] {
        let mut bench = begin();
        bench.slow_disk = true;
        bench.respond(call_response(&calls));
        assert_eq!((bench.machine.waits_for(), saves(&bench)), ("disk", 1));
        assert!(!bench.effects.iter().any(|effect| matches!(effect, Effect::RunTools { .. })));
    }
}

#[test]
fn a_response_with_slow_calls_is_saved_without_their_results() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "search"), call("b", "search")]));
    bench.finish("a", "one");
    let timer = bench.effects.iter().rev().find_map(|effect| match effect {
        Effect::Sleep { timer, .. } => Some(*timer),
        _ => None,
    });
    bench.slow_disk = true;
    bench.feed(Input::Timer { timer: timer.unwrap() });
    let kinds: Vec<&str> = bench.unsaved[0].1.iter().map(Body::kind).collect();
    assert_eq!(kinds, ["tool_call", "tool_call", "usage", "turn_ended", "tool_result"]);
    bench.slow_disk = false;
    bench.save();
    assert_eq!(bench.machine.waits_for(), "tools");
    bench.finish("b", "two");
    assert_eq!((bench.requests(), bench.results().len()), (2, 2));
}

/// An interrupted response is not lost: its calls answer, and all of it is saved.
#[test]
fn an_interrupt_while_calls_only_read_keeps_the_response() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "search")]));
    bench.feed(Input::Interrupt);
    assert!(!bench.kinds().contains(&"turn_ended"));
    bench.finish("a", "cancelled");
    assert!(bench.kinds().contains(&"turn_ended") && bench.kinds().contains(&"tool_result"));
    assert_eq!(bench.machine.waits_for(), "message");
}
