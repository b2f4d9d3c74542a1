//! Every kind of repeated failure ends in an Ask after a bounded number of requests.

use super::*;
use crate::model::conversation::ToolUse;
use crate::model::usage::{Tokens, Usage};

/// Maximum number of requests without an Ask.
const MOST_REQUESTS: usize = 40;

/// The behaviour of the model or its API on each request.
type Behaviour = fn(&mut Bench, usize);

fn stop(reason: StopReason, text: &str) -> crate::provider::Response {
    response(reason, vec![ResponseBlock::Text(text.to_owned())])
}

fn malformed(id: &str) -> ToolUse {
    // Different each time, so that no two results are equal.
    ToolUse { malformed: Some(format!("{{\"command\": \"{id}")), ..call(id, "bash") }
}

fn is_summary(bench: &Bench) -> bool {
    matches!(bench.purpose(), Purpose::Summarise { .. })
}

/// Answers requests for a summary with a valid one, and all others with `rest`.
fn but_summaries_work(bench: &mut Bench, rest: impl FnOnce(&mut Bench)) {
    if is_summary(bench) { bench.respond(summary()) } else { rest(bench) }
}

/// Responds with a call that has a new outcome, with `tokens` of input.
fn progress(bench: &mut Bench, number: usize, tokens: u64) {
    let id = format!("c{number}");
    let usage = Usage { tokens: Tokens { input: tokens, output: 5, ..Tokens::default() }, ..usage() };
    let request = bench.request().0;
    let response = Box::new(call_response(&[call(&id, "bash")]));
    bench.feed(Input::Response { number: request, response, usage: Box::new(usage) });
    bench.finish(&id, &format!("result {number}"));
}

const BEHAVIOURS: [(&str, Behaviour); 25] = [
    ("says nothing", |bench, _| bench.respond(stop(StopReason::EndTurn, ""))),
    ("announces a call and makes none", |bench, _| bench.respond(stop(StopReason::ToolUse, " "))),
    ("breaks off without a word", |bench, _| bench.respond(stop(StopReason::Interrupted, ""))),
    ("reaches its output limit", |bench, _| bench.respond(stop(StopReason::MaxTokens, "Half a sen"))),
    ("reaches its output limit in thought", |bench, _| bench.respond(stop(StopReason::MaxTokens, ""))),
    ("pauses", |bench, _| bench.respond(stop(StopReason::Pause, "Wait."))),
    ("refuses", |bench, _| bench.respond(stop(StopReason::Refusal, ""))),
    ("stops for an unknown reason", |bench, _| bench.respond(stop(StopReason::Other("tired".to_owned()), ""))),
    ("fills its window, summaries included", |bench, _| bench.respond(stop(StopReason::ContextOverflow, ""))),
    ("fills its window, but for summaries", |bench, _| {
        but_summaries_work(bench, |bench| bench.respond(stop(StopReason::ContextOverflow, "Half")));
    }),
    ("fills its window at every second request", |bench, number| {
        but_summaries_work(bench, |bench| {
            if number % 2 == 0 {
                progress(bench, number, 10);
            } else {
                bench.respond(stop(StopReason::ContextOverflow, ""));
            }
        });
    }),
    ("fills its threshold with every result", |bench, number| {
        but_summaries_work(bench, |bench| progress(bench, number, if number % 2 == 0 { 100 } else { 90_000 }));
    }),
    ("is refused as too long, but for summaries", |bench, _| {
        but_summaries_work(bench, |bench| bench.fail(ErrorClass::ContextOverflow));
    }),
    ("is refused as too long, summaries included", |bench, _| bench.fail(ErrorClass::ContextOverflow)),
    ("gives useless summaries", |bench, _| {
        if is_summary(bench) { bench.respond(text_response("No.")) } else { bench.fail(ErrorClass::ContextOverflow) }
    }),
    ("makes one call for ever", |bench, number| {
        let id = format!("c{number}");
        bench.respond(call_response(&[call(&id, "bash")]));
        bench.finish(&id, "the same");
    }),
    ("makes calls that are no JSON", |bench, number| {
        let id = format!("c{number}");
        bench.respond(call_response(&[malformed(&id)]));
        if bench.machine.waits_for() == "tools" {
            bench.finish(&id, &format!("The input was not valid JSON. It began: {id}"));
        }
    }),
    ("makes calls that its output limit cuts", |bench, number| {
        let id = format!("c{number}");
        let cut_call = Some(id.clone());
        let calls = call_response(&[malformed(&id)]);
        bench.respond(crate::provider::Response { stop: StopReason::MaxTokens, cut_call, ..calls });
    }),
    ("is done and forks at once", |bench, number| {
        let calls = [call(&format!("d{number}"), "done"), call(&format!("f{number}"), "fork_task_context")];
        bench.respond(call_response(&calls));
    }),
    ("never ends its response", |bench, _| bench.fail(ErrorClass::Runaway)),
    ("never ends its summary", |bench, _| {
        let class = if is_summary(bench) { ErrorClass::Runaway } else { ErrorClass::ContextOverflow };
        bench.fail(class);
    }),
    ("is limited", |bench, _| bench.fail(ErrorClass::RateLimit)),
    ("breaks off", |bench, _| bench.fail(ErrorClass::Truncated)),
    ("fails in every way in turn", |bench, number| {
        let retried = [ErrorClass::Network, ErrorClass::Timeout, ErrorClass::Overloaded, ErrorClass::Server];
        bench.fail(retried[number % retried.len()]);
    }),
    ("is empty and broken in turn", |bench, number| {
        if number % 2 == 0 {
            bench.respond(text_response(""));
        } else {
            bench.respond(call_response(&[malformed("a")]));
        }
        if bench.machine.waits_for() == "tools" {
            bench.finish("a", &format!("Not valid JSON, the {number}th time."));
        }
    }),
];

#[test]
fn every_loop_ends_in_an_ask_after_a_bounded_number_of_requests() {
    for (name, behave) in BEHAVIOURS {
        let mut bench = Bench::calling(Limits { window: Some(100_000), ..limits() });
        let mut number = 0;
        while bench.open_ask().is_none() {
            assert!(bench.requests() <= MOST_REQUESTS, "a model that {name} is asked without end");
            match bench.machine.waits_for() {
                "model" => {
                    behave(&mut bench, number);
                    number += 1;
                }
                "retry" => bench.wake(),
                other => panic!("a model that {name} makes the run wait for {other}"),
            }
        }
        assert_eq!(bench.machine.waits_for(), "user", "a model that {name}");
        println!("a model that {name}: {} requests", bench.requests());
    }
}

#[test]
fn every_class_of_failure_ends_in_an_ask() {
    for class in ErrorClass::ALL.into_iter().filter(|class| *class != ErrorClass::Cancelled) {
        let mut bench = begin();
        while bench.open_ask().is_none() {
            assert!(bench.requests() <= MOST_REQUESTS, "{class}");
            match bench.machine.waits_for() {
                "model" => bench.fail(class),
                "retry" => bench.wake(),
                other => panic!("{class}: waits for {other}"),
            }
        }
    }
}

#[test]
fn a_full_window_is_summarised_once_and_then_asked_about() {
    let mut bench = begin();
    bench.respond(stop(StopReason::ContextOverflow, "Half"));
    assert!(is_summary(&bench));
    bench.respond(summary());
    bench.respond(stop(StopReason::ContextOverflow, "Half"));
    assert_eq!(bench.open_ask().map(|ask| ask.kind()), Some(AskKind::CompactionFailed));
    assert_eq!(bench.requests(), 3);
}

#[test]
fn the_text_of_a_response_that_did_not_end_is_kept_and_the_agent_can_go_on() {
    let mut bench = begin();
    let partial = stop(StopReason::Interrupted, &"word ".repeat(200_000));
    bench.fail_with(ApiError::new(ErrorClass::Runaway, "too long").with_partial(partial));
    assert_eq!(bench.open_ask().map(|ask| ask.kind()), Some(AskKind::ModelStopped));
    assert!(bench.kinds().contains(&"turn_ended") && bench.kinds().contains(&"error"));
    let kept = bench.log.iter().find_map(|event| match &event.body {
        Body::AssistantText(body) => Some(body.text.len()),
        _ => None,
    });
    assert!(kept.is_some_and(|bytes| bytes > 200_000 && bytes < 300_000), "{kept:?}");
    bench.answer("Continue");
    assert_eq!((bench.machine.waits_for(), bench.requests()), ("model", 2));
}
