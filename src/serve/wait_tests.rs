use serde_json::{Value, json};

use super::*;
use crate::base::EventId;

fn id(number: u128) -> String {
    ulid::Ulid::from(number).to_string()
}

fn task() -> TaskId {
    id(1).parse().unwrap()
}

fn message() -> MessageId {
    id(2).parse().unwrap()
}

fn event(kind: &str, body: Value) -> Event {
    let mut line = json!({"v": 1, "id": id(9), "parent": null, "ts": "2026-01-01T00:00:00.000Z", "type": kind});
    line["body"] = body;
    Event::parse(&line.to_string()).unwrap()
}

fn said(text: &str) -> Event {
    event("assistant_text", json!({"text": text}))
}

fn consumed(message: &str) -> Event {
    event("messages_consumed", json!({"ids": [message]}))
}

fn turn(number: u128, stop: &str) -> Event {
    event("turn_ended", json!({"turn": id(number), "stop": stop}))
}

fn run(events: &[Event]) -> Option<End> {
    let mut watch = TurnWatch::new(task(), message());
    events.iter().find_map(|event| watch.on_event(event))
}

#[test]
fn the_reply_is_the_text_of_the_last_request_of_the_turn_that_read_the_message() {
    let events = [
        said("about something else"),
        turn(3, "end_turn"),
        consumed(&id(2)),
        said("I look."),
        turn(4, "tool_use"),
        said("It is "),
        said("blue."),
        turn(5, "end_turn"),
    ];
    let Some(End::Reply(reply)) = run(&events) else { panic!() };
    assert_eq!((reply.text.as_str(), reply.turn, reply.stop), ("It is blue.", id(5).parse().ok(), Stop::EndTurn));
}

#[test]
fn a_task_that_ends_replies_with_its_result() {
    let end = event("run_ended", json!({"exit": "done_passed", "result": "painted"}));
    let Some(End::Reply(reply)) = run(&[consumed(&id(2)), turn(4, "tool_use"), end]) else { panic!() };
    assert_eq!((reply.text.as_str(), reply.stop), ("painted", Stop::Passed));
}

#[test]
fn a_question_and_a_withdrawal_end_the_wait() {
    let ask = json!({"id": id(7), "kind": "clarify", "question": "Red?", "mode": "blocks"});
    assert!(matches!(run(&[event("ask_raised", ask.clone())]), Some(End::Asks(_))));
    let mut other = ask;
    other["mode"] = json!("continues");
    assert_eq!(run(&[event("ask_raised", other)]), None);
    assert_eq!(run(&[event("messages_withdrawn", json!({"ids": [id(2)]}))]), Some(End::Withdrawn));
    assert_eq!(run(&[event("messages_withdrawn", json!({"ids": [id(3)]}))]), None);
}

#[test]
fn updates_of_other_tasks_do_not_matter() {
    let mut watch = TurnWatch::new(task(), message());
    let other = id(8).parse().unwrap();
    assert_eq!(watch.on_update(&Update::Removed { task: other }), None);
    assert_eq!(watch.on_update(&Update::Quiet), None);
    assert_eq!(watch.on_update(&Update::Removed { task: task() }), Some(End::Gone));
    assert_eq!(watch.on_update(&Update::Resync), Some(End::Lost));
    let event = std::sync::Arc::new(Event { id: EventId::from_ulid(ulid::Ulid::from(4_u128)), ..consumed(&id(2)) });
    assert_eq!(watch.on_update(&Update::Event { task: other, event }), None);
    assert!(matches!(watch.phase, Phase::Unread));
}
