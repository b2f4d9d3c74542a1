use super::*;
use crate::base::{EventId, IdSource, MicroUsd, SystemClock, Timestamp, TurnId};
use crate::engine::command::Outgoing;
use crate::model::event::{BudgetScope, BudgetWarning, StopReason, TurnEnded, VERSION};
use crate::model::message::Delivery;

fn ids() -> IdSource {
    IdSource::seeded(Arc::new(SystemClock), 3)
}

fn event(body: impl Into<Body>) -> Event {
    let ts = Timestamp::from_millis(1);
    Event { v: VERSION, id: EventId::fresh(&ids()), parent: None, ts, run: None, batch: None, body: body.into() }
}

fn names(event: &Event) -> Vec<HookEvent> {
    firings_after(event).iter().map(|firing| firing.event).collect()
}

#[test]
fn events_of_a_session_call_their_hooks() {
    let turn = event(TurnEnded { turn: TurnId::fresh(&ids()), stop: StopReason::EndTurn });
    assert_eq!(names(&turn), [HookEvent::TurnEnd]);
    let (spent, limit) = (MicroUsd::ZERO, MicroUsd::ZERO);
    let warned = event(BudgetWarning { scope: BudgetScope::Task, spent, limit });
    assert_eq!(names(&warned), [HookEvent::BudgetWarned, HookEvent::Notification]);
    assert_eq!(firings_after(&warned)[1].names, ["budget"]);
    let done = event(DoneNotified { verdict: Verdict::Passed, result: "All green".to_owned() });
    assert_eq!(firings_after(&done)[0].names, ["agent_completed"]);
    assert_eq!(
        names(&event(Message::new(MessageId::fresh(&ids()), Timestamp::from_millis(1), MessageSource::User, "x"))),
        []
    );
}

#[test]
fn only_messages_of_the_user_and_new_tasks_are_judged() {
    let task = TaskId::fresh(&ids());
    let send = Command::Send {
        task,
        message: Outgoing { text: "hello".to_owned(), ..Outgoing::default() },
        mode: Delivery::Steer,
    };
    let (at, firing) = firing_for(Actor::User, &send).unwrap();
    assert_eq!((at, firing.event, &firing.fields["prompt"]), (task, HookEvent::UserPromptSubmit, &json!("hello")));
    assert!(firing_for(Actor::Engine, &send).is_none());
    assert!(firing_for(Actor::User, &Command::Close { task }).is_none());
}

#[test]
fn a_session_begins_and_ends_once() {
    let (begun, task) = (BegunSessions::default(), TaskId::fresh(&ids()));
    assert!(begun.begin(task) && !begun.begin(task) && begun.has(task));
    assert!(begun.end(task) && !begun.end(task));
    assert!(begun.begin(task));
}
