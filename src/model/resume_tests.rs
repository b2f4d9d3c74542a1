use super::*;
use crate::agent::testing::*;
use crate::base::IdSource;
use crate::model::event::{Body, RunEnded, StopReason};

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
