//! Contexts that no summary makes small enough.

use super::*;
use crate::agent::machine::Prepared;
use crate::model::event::SessionConfig;
use crate::model::usage::{Tokens, Usage};

const WINDOW: u64 = 1_000;

fn limits_of(window: u64) -> Limits {
    Limits { window: Some(window), ..limits() }
}

/// Answers the last request, with `read` input tokens.
fn answer(bench: &mut Bench, response: crate::provider::Response, read: u64) {
    let number = bench.request().0;
    let tokens = Tokens { input: read, output: 5, ..Tokens::default() };
    let usage = Box::new(Usage { tokens, ..usage() });
    bench.feed(Input::Response { number, response: Box::new(response), usage });
}

/// Returns a run whose first request after a summary read `read` tokens, and whose next request is due.
fn summarised(read: u64) -> Bench {
    let mut bench = Bench::calling(limits_of(WINDOW));
    answer(&mut bench, call_response(&[call("a", "bash")]), 900);
    bench.finish("a", "ok");
    assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
    answer(&mut bench, summary(), 900);
    answer(&mut bench, call_response(&[call("b", "bash")]), read);
    bench.finish("b", "ok");
    bench
}

#[test]
fn after_a_summary_that_did_not_help_the_user_is_asked() {
    let bench = summarised(830);
    let ask = bench.open_ask().unwrap();
    assert_eq!(ask.kind(), AskKind::CompactionFailed);
    assert!(ask.detail.contains("830 of 1000 tokens"), "{}", ask.detail);
    let started = bench.kinds().iter().filter(|kind| **kind == "compact_started").count();
    assert_eq!(started, 1);
}

#[test]
fn a_summary_that_helped_is_made_again_when_the_context_is_full_again() {
    let mut bench = summarised(400);
    assert_eq!((bench.open_ask(), bench.purpose()), (None, Purpose::Respond));
    answer(&mut bench, call_response(&[call("c", "bash")]), 900);
    bench.finish("c", "ok");
    assert!(matches!(bench.purpose(), Purpose::Summarise { .. }));
}

#[test]
fn continuing_without_a_summary_is_asked_once() {
    let mut bench = summarised(830);
    bench.answer("Continue without a summary");
    for id in ["c", "d"] {
        assert_eq!((bench.open_ask(), bench.purpose()), (None, Purpose::Respond));
        answer(&mut bench, call_response(&[call(id, "bash")]), 900);
        bench.finish(id, "ok");
    }
    assert_eq!((bench.open_ask(), bench.machine.waits_for()), (None, "model"));
}

#[test]
fn continuing_without_a_summary_is_not_asked_again_by_the_next_run() {
    let mut bench = summarised(830);
    bench.answer("Continue without a summary");
    answer(&mut bench, call_response(&[call("c", "bash")]), 900);
    bench.finish("c", "ok");
    let marker = bench.log.iter().rposition(|event| matches!(event.body, Body::CompactMarker(_))).unwrap();
    let resumed = Bench::resumed(bench.log[marker..].to_vec(), bench.ids.clone(), limits_of(WINDOW));
    assert_eq!((resumed.open_ask(), resumed.machine.waits_for()), (None, "model"));
}

#[test]
fn the_effect_of_a_summary_is_known_after_a_restart() {
    let bench = summarised(830);
    let marker = bench.log.iter().rposition(|event| matches!(event.body, Body::CompactMarker(_))).unwrap();
    let mut resumed = Bench::resumed(bench.log[marker..].to_vec(), bench.ids.clone(), limits_of(WINDOW));
    resumed.answer("Continue without a summary");
    assert_eq!(resumed.purpose(), Purpose::Respond);
}

#[test]
fn the_overhead_alone_may_fill_the_window() {
    for (instructions, asks) in [(4 * 830, true), (3_000, false)] {
        let mut bench = Bench::silent(limits_of(WINDOW));
        bench.slow_preparer = true;
        bench.send(MessageSource::User, "Hello");
        let mut config = SessionConfig { model: "m".to_owned(), ..SessionConfig::default() };
        config.system.stable = "x".repeat(instructions);
        let work_context = Some(message(&bench.ids, MessageSource::WorkContext, "You are here."));
        bench.feed(Input::Prepared(Box::new(Prepared { config: Some(config), work_context })));
        assert_eq!(bench.open_ask().is_some(), asks, "{instructions}");
        assert_eq!(bench.requests(), usize::from(!asks), "{instructions}");
    }
}

#[test]
fn a_context_that_is_overfull_and_refused_is_not_summarised() {
    let mut bench = summarised(830);
    bench.answer("Continue without a summary");
    answer(&mut bench, call_response(&[call("c", "bash")]), 900);
    bench.finish("c", "ok");
    bench.fail(ErrorClass::ContextOverflow);
    assert_eq!(bench.open_ask().map(|ask| ask.kind()), Some(AskKind::CompactionFailed));
}
