//! Sessions that earlier versions wrote, byte for byte but for the folder: what they say is understood as it was meant.

use std::path::Path;
use std::sync::Arc;

use mxd::base::TaskId;
use mxd::model::ask::{ChoiceId, Subject};
use mxd::model::fold::Decision;
use mxd::model::message::Delivery;
use mxd::model::{Body, MessageSource};
use mxd::store::RealDisk;
use mxd::store::session::{ActiveSession, Sessions};

/// The version that stored choices as labels, answers as positions and a start as words of the user.
fn session(task: &str) -> ActiveSession {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sessions");
    let task: TaskId = task.parse().unwrap();
    Sessions::new(Arc::new(RealDisk), folder).active(task).unwrap()
}

fn only_decision(active: &ActiveSession) -> Decision {
    let state = active.state();
    let [decision] = state.decisions.iter().cloned().collect::<Vec<_>>().try_into().unwrap();
    decision
}

fn sources(active: &ActiveSession) -> Vec<MessageSource> {
    let messages = active.events.iter().filter_map(|event| match &event.body {
        Body::Message(message) => Some(message),
        _ => None,
    });
    messages
        .inspect(|message| assert_eq!(message.delivery, Delivery::Steer))
        .map(|message| message.from.clone())
        .collect()
}

#[test]
fn an_answer_about_a_setup_hook_that_nobody_has_acted_on_still_stands() {
    let active = session("01M7NXP9C5HPCDD3NM74J1QS6P");
    let decision = only_decision(&active);
    assert_eq!(decision.ask.subject, Subject::SetupHook);
    assert_eq!(decision.ask.choice_of(&decision.answer), Some(&ChoiceId::SkipHook));
    assert_eq!(sources(&active), [MessageSource::Begin], "the user pressed a key and wrote nothing");
}

#[test]
fn an_answer_about_a_check_is_the_choice_that_it_was() {
    let decision = only_decision(&session("01M7NXPSKXCJW7914N73ZHZEVN"));
    assert_eq!(decision.ask.subject, Subject::CheckFailed);
    assert_eq!(decision.ask.choice_of(&decision.answer), Some(&ChoiceId::Accept));
}

#[test]
fn a_question_of_an_agent_keeps_its_options_and_its_default() {
    let active = session("01M7NXNR5FX37WA49EPBDJRQGZ");
    let raised = active.events.iter().find_map(|event| match &event.body {
        Body::AskRaised(ask) => Some(ask),
        _ => None,
    });
    let ask = raised.unwrap();
    assert_eq!(ask.subject, Subject::Clarify);
    assert_eq!(ask.default_text(), Some("Ten"));
    let ids: Vec<_> = ask.choices.iter().map(|choice| choice.id.clone()).collect();
    assert_eq!(ids, [ChoiceId::Option(0), ChoiceId::Option(1)]);
    assert!(active.state().asks.is_empty() && active.state().decisions.is_empty(), "its answer was sent to the agent");
    assert!(sources(&active).contains(&MessageSource::User), "what the user wrote is theirs");
}
