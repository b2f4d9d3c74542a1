use super::*;
use crate::agent::testing::*;
use crate::base::{AskId, IdSource};
use crate::model::ask::PermissionRequest;
use crate::model::ask::{AnsweredBy, AskReply, ChoiceId};
use crate::model::event::{AskAnswered, Body, RunEnded, StopReason};
use crate::model::message::MessageSource;

fn log(ids: &IdSource, bodies: Vec<Body>) -> Vec<Event> {
    bodies.into_iter().map(|body| event(ids, body)).collect()
}

fn spoken(ids: &IdSource, mut more: Vec<Body>) -> Vec<Event> {
    let hello = message(ids, MessageSource::User, "Hello");
    let taken = consumed(&hello);
    let mut bodies = vec![hello.into(), taken];
    bodies.append(&mut more);
    log(ids, bodies)
}

fn held(call: &str) -> Body {
    PermissionRequest::default().into_ask(AskId::from_ulid(ulid::Ulid::from_parts(1, 1)), call).into()
}

/// The tails that a log can have, with their classification.
fn tails(ids: &IdSource) -> Vec<(&'static str, Vec<Event>, ResumeShape)> {
    let calls = |names: &[&str]| -> Vec<Body> { names.iter().map(|name| call(name, name).into()).collect() };
    let passed: Body = RunEnded::from(Exit::DonePassed).into();
    let with = |mut bodies: Vec<Body>, body: Body| {
        bodies.push(body);
        bodies
    };
    vec![
        ("nothing", Vec::new(), ResumeShape::Fresh),
        ("sent, not read", log(ids, vec![message(ids, MessageSource::User, "Hello").into()]), ResumeShape::Fresh),
        ("read", spoken(ids, Vec::new()), ResumeShape::Interrupted),
        ("answered", spoken(ids, vec![assistant_text("Hi."), ended(ids, StopReason::EndTurn)]), ResumeShape::Parked),
        ("a call", spoken(ids, calls(&["bash"])), ResumeShape::NeedsRepair),
        (
            "calls, one answered",
            spoken(ids, with(calls(&["bash", "search"]), result("bash", "x").into())),
            ResumeShape::NeedsRepair,
        ),
        ("a call, answered", spoken(ids, with(calls(&["bash"]), result("bash", "x").into())), ResumeShape::Interrupted),
        ("yield", spoken(ids, calls(&["yield"])), ResumeShape::PendingYield),
        ("done", spoken(ids, calls(&["done"])), ResumeShape::NeedsRepair),
        ("done, accepted", spoken(ids, with(calls(&["done"]), passed)), ResumeShape::PendingDone),
        ("fork", spoken(ids, calls(&["fork_task_context"])), ResumeShape::NeedsRepair),
        ("yield beside a call", spoken(ids, calls(&["yield", "bash"])), ResumeShape::NeedsRepair),
        ("a held call", spoken(ids, with(calls(&["bash"]), held("bash"))), ResumeShape::Held),
        (
            "a held call beside one that ran",
            spoken(ids, with(calls(&["bash", "search"]), held("bash"))),
            ResumeShape::NeedsRepair,
        ),
        (
            "yield, answered",
            spoken(ids, with(calls(&["yield"]), result("yield", "x").into())),
            ResumeShape::Interrupted,
        ),
    ]
}

#[test]
fn every_tail_is_classified() {
    let ids = ids();
    for (what, events, shape) in tails(&ids) {
        assert_eq!(classify(&events).shape(), shape, "{what}");
    }
}

#[test]
fn interrupted_sessions_and_those_with_messages_have_work() {
    let ids = ids();
    let pending = |sources: &[MessageSource]| {
        let mut state = SessionState::default();
        sources.iter().for_each(|from| state.apply(&event(&ids, message(&ids, from.clone(), "x"))));
        state
    };
    let (quiet, spoken, cut) = (pending(&[]), pending(&[MessageSource::User]), pending(&[MessageSource::Interrupt]));
    let both = pending(&[MessageSource::Interrupt, MessageSource::User]);
    for (what, events, shape) in tails(&ids) {
        let resume = classify(&events);
        let broke_off = matches!(shape, ResumeShape::Interrupted | ResumeShape::NeedsRepair);
        assert_eq!(resume.has_work(&quiet), broke_off, "{what}");
        assert!(resume.has_work(&spoken), "{what}");
        assert!(!resume.has_work(&cut), "{what}: an interrupted agent stays quiet");
        assert!(resume.has_work(&both), "{what}");
        assert!(!resume.has_work(&pending(&[MessageSource::WorkContext])) || broke_off, "{what}");
    }
}

#[test]
fn a_held_call_has_work_when_it_is_answered_or_the_user_says_something_else() {
    let ids = ids();
    let events = spoken(&ids, vec![call("bash", "bash").into(), held("bash")]);
    let mut state = SessionState::replay(&events);
    assert!(!of(&state).has_work(&state));
    let mut told = state.clone();
    told.apply(&event(&ids, message(&ids, MessageSource::Compact, "")));
    let report = MessageSource::BackgroundComplete {
        process: String::new(),
        command: String::new(),
        exit: None,
        duration_ms: 0,
    };
    told.apply(&event(&ids, message(&ids, report, "")));
    assert!(!of(&told).has_work(&told), "the model can read nothing");
    told.apply(&event(&ids, message(&ids, MessageSource::User, "Stop that.")));
    assert!(of(&told).has_work(&told));
    let ask = state.asks.iter().next().unwrap().clone();
    let answer = ask.answer(AskReply::Choice(ChoiceId::Once), AnsweredBy::User).unwrap();
    state.apply(&event(&ids, AskAnswered { id: ask.id, answer }));
    assert!(of(&state).has_work(&state));
    // A question of another kind says nothing about the call.
    state.apply(&event(&ids, held("other")));
    assert!(state.held_calls.has_released());
}
