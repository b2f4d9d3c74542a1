//! Calls that wait for permission: what goes on meanwhile, and what each answer does.

use std::collections::BTreeMap;

use super::*;
use crate::model::ask::{HeldRequest, PermissionRequest, PlanRequest, RequestedAction};
use crate::model::event::{PermissionCause, PermissionNote};

fn request() -> PermissionRequest {
    PermissionRequest {
        tool: "bash".to_owned(),
        action: RequestedAction::Command { command: "cargo add serde".to_owned() },
        exact: vec!["bash(cargo add serde)".to_owned()],
        rules: vec!["bash(cargo add *)".to_owned()],
        ..PermissionRequest::default()
    }
}

fn hold(bench: &mut Bench, call: &str) {
    bench
        .finish_with(result(call, ""), Some(tools::ControlRequest::Hold(Box::new(HeldRequest::Permission(request())))));
}

fn two_calls() -> Bench {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash"), call("b", "bash")]));
    bench
}

/// Returns the calls that were released to run, with what the user consented to.
fn runs(bench: &Bench) -> Vec<(Vec<String>, BTreeMap<String, PermissionNote>)> {
    let runs = bench.effects.iter().filter_map(|effect| match effect {
        Effect::RunTools { calls, consents } => {
            Some((calls.iter().map(|call| call.call.clone()).collect(), consents.clone()))
        }
        _ => None,
    });
    runs.collect()
}

#[test]
fn a_held_call_holds_neither_the_others_nor_the_slot() {
    let mut bench = two_calls();
    hold(&mut bench, "a");
    assert_eq!(bench.machine.waits_for(), "tools", "the other call goes on");
    let ask = bench.open_ask().unwrap();
    assert_eq!((ask.kind(), ask.tool_call.as_deref(), ask.deadline), (AskKind::Permission, Some("a"), None));
    let labels: Vec<&str> = ask.choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "Allow once",
            "Allow in this task: bash(cargo add serde)",
            "Allow in the project: bash(cargo add *)",
            "Refuse",
            "Refuse from now on: bash(cargo add serde)"
        ]
    );
    bench.finish("b", "done");
    assert_eq!(bench.results(), [("b", "done", false)]);
    assert_eq!((bench.machine.waits_for(), bench.machine.is_idle()), ("user", true));
    assert_eq!(bench.requests(), 1, "the model gets all results at once");
    bench.answer("Allow once");
    let user = PermissionNote { granted: true, by: PermissionCause::User };
    let consents = BTreeMap::from([("a".to_owned(), user)]);
    assert_eq!(runs(&bench).last(), Some(&(vec!["a".to_owned()], consents)));
    let released = bench.kinds().iter().position(|kind| *kind == "call_released");
    assert!(released.is_some(), "the start is on disk before the call runs");
    bench.finish("a", "added");
    assert_eq!(bench.results(), [("b", "done", false), ("a", "added", false)]);
    assert_eq!(bench.requests(), 2);
}

#[test]
fn a_refusal_is_a_result_with_the_words_of_the_user() {
    for (answer, words) in [
        ("Refuse", "Not permitted: the user refused this call."),
        ("Refuse from now on: bash(cargo add serde)", "refuse it in this project from now on"),
        ("Use miniserde.", "The user says: Use miniserde."),
    ] {
        let mut bench = begin();
        bench.respond(call_response(&[call("a", "bash")]));
        hold(&mut bench, "a");
        bench.answer(answer);
        let results = bench.results();
        assert!(matches!(results[..], [("a", text, true)] if text.contains(words)), "{results:?}");
        assert_eq!((runs(&bench).len(), bench.machine.waits_for()), (1, "model"), "{answer}");
    }
}

#[test]
fn each_of_several_held_calls_has_its_own_answer() {
    let mut bench = two_calls();
    hold(&mut bench, "a");
    hold(&mut bench, "b");
    bench.answer("Refuse");
    assert_eq!(bench.machine.waits_for(), "user", "the other one still waits");
    assert_eq!(bench.open_ask().unwrap().tool_call.as_deref(), Some("b"));
    bench.answer("Allow once");
    assert_eq!(runs(&bench).last().unwrap().0, ["b"]);
    bench.finish("b", "ok");
    assert_eq!(bench.machine.waits_for(), "model");
}

#[test]
fn an_answer_during_other_calls_runs_the_call_after_them() {
    let mut bench = two_calls();
    hold(&mut bench, "a");
    bench.answer("Allow once");
    assert_eq!((runs(&bench).len(), bench.machine.waits_for()), (1, "tools"));
    bench.finish("b", "ok");
    assert_eq!(runs(&bench).last().unwrap().0, ["a"]);
}

#[test]
fn a_restart_keeps_the_hold_and_the_answer_runs_the_call_once() {
    let mut bench = two_calls();
    hold(&mut bench, "a");
    bench.finish("b", "ok");
    let mut bench = Bench::resumed(bench.log, bench.ids, limits());
    assert!(!bench.kinds().contains(&"repaired"));
    assert_eq!((bench.machine.waits_for(), runs(&bench).len()), ("user", 0));
    bench.answer("Allow once");
    assert_eq!(runs(&bench).last().unwrap().0, ["a"]);
    // It started, so its outcome is unknown from here on, and it does not run again.
    let mut bench = Bench::resumed(bench.log, bench.ids, limits());
    assert_eq!(runs(&bench).len(), 0);
    assert!(matches!(bench.results()[..], [_, ("a", text, true)] if text.contains("not known whether")));
    bench.respond(text_response("So it goes."));
}

#[test]
fn an_answer_before_a_restart_runs_the_call_after_it() {
    let mut bench = two_calls();
    hold(&mut bench, "a");
    bench.slow_disk = true;
    bench.answer("Allow once");
    let bench = Bench::resumed(bench.log, bench.ids, limits());
    // The other call ran when the process died; the held one did not.
    assert!(matches!(bench.results()[..], [("b", text, true)] if text.contains("not known whether")));
    assert_eq!(runs(&bench).last().unwrap().0, ["a"]);
}

#[test]
fn an_interrupt_withdraws_the_question_and_the_call() {
    for others_done in [false, true] {
        let mut bench = two_calls();
        hold(&mut bench, "a");
        if others_done {
            bench.finish("b", "ok");
        }
        bench.feed(Input::Interrupt);
        if !others_done {
            bench.finish("b", "cut");
        }
        assert!(bench.open_ask().is_none());
        let held = bench.results().into_iter().find(|(call, ..)| *call == "a").unwrap();
        assert!(held.2 && held.1.contains("interrupted you while it waited"), "{held:?}");
        assert_eq!(bench.machine.waits_for(), "message");
        assert_eq!(runs(&bench).len(), 1);
    }
}

#[test]
fn a_message_of_the_user_instead_of_an_answer_refuses_the_call() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash")]));
    hold(&mut bench, "a");
    bench.send_as(MessageSource::User, "Later.", Delivery::Next);
    assert_eq!(bench.machine.waits_for(), "user", "it can wait");
    bench.send(MessageSource::User, "Do something else.");
    assert!(bench.open_ask().is_none());
    assert!(matches!(bench.results()[..], [("a", text, true)] if text.contains("sent you a message instead")));
    assert_eq!(bench.machine.waits_for(), "model");
    assert!(bench.last_message().contains("Do something else."));
}

#[test]
fn a_read_that_is_held_is_saved_with_its_response() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "read_file"), call("b", "read_file")]));
    hold(&mut bench, "a");
    bench.finish("b", "text");
    assert_eq!(bench.machine.waits_for(), "user");
    assert_eq!(bench.open_ask().unwrap().tool_call.as_deref(), Some("a"));
    assert_eq!(bench.results(), [("b", "text", false)]);
}

#[test]
fn a_stop_while_it_waits_leaves_the_question_open_and_the_answer_resumes() {
    let mut bench = begin();
    bench.respond(call_response(&[call("a", "bash")]));
    hold(&mut bench, "a");
    bench.feed(Input::Teardown(InterruptReason::Stopped));
    assert!(bench.machine.is_over() && bench.open_ask().is_some());
    let mut bench = Bench::resumed(bench.log, bench.ids, limits());
    bench.answer("Allow once");
    assert_eq!(runs(&bench).last().unwrap().0, ["a"]);
    bench.finish("a", "ok");
    assert_eq!(bench.machine.waits_for(), "model");
}

fn planning() -> Bench {
    let mut bench = begin();
    bench.respond(call_response(&[call("p", "submit_plan")]));
    let plan = PlanRequest { plan: "# Limit logins\n\n1. Count.".to_owned(), ..PlanRequest::default() };
    bench.finish_with(result("p", ""), Some(tools::ControlRequest::Hold(Box::new(HeldRequest::Plan(plan)))));
    bench
}

#[test]
fn a_plan_is_answered_in_the_same_conversation() {
    for (answer, words) in [
        ("Approve, and start the work", "Your plan is approved by the user"),
        ("Send it back", "Your plan is not approved by the user"),
        ("Use a table.", "The user says: Use a table."),
    ] {
        let mut bench = planning();
        let ask = bench.open_ask().unwrap();
        assert_eq!((ask.kind(), ask.question.as_str()), (AskKind::Plan, "Plan: Limit logins"));
        bench.answer(answer);
        let results = bench.results();
        assert!(matches!(results[..], [("p", text, false)] if text.contains(words)), "{results:?}");
        assert_eq!((bench.machine.waits_for(), runs(&bench).len()), ("model", 1), "{answer}");
    }
}

#[test]
fn a_plan_can_end_the_task() {
    let mut bench = planning();
    bench.answer("Stop the task");
    assert_eq!(exit(&bench), Some(Exit::Interrupted(InterruptReason::Stopped)));
}
