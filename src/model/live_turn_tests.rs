use ulid::Ulid;

use super::*;
use crate::base::{Timestamp, TurnId};
use crate::model::event::{AssistantText, StopReason, ToolResult, TurnEnded, VERSION};
use crate::model::live::Channel;
use crate::model::{Content, Live};

fn task() -> TaskId {
    TaskId::from_ulid(Ulid::from_parts(1, 1))
}

fn event(number: u128, body: Body) -> Event {
    let id = EventId::from_ulid(Ulid::from_parts(1, number));
    Event { v: VERSION, id, parent: None, ts: Timestamp::EPOCH, run: None, batch: None, body }
}

fn text(text: &str) -> Live {
    Live::TextDelta { text: text.to_owned() }
}

fn output(call: &str, text: &str) -> Live {
    Live::OutputChunk { call: call.to_owned(), channel: Channel::Output, text: text.to_owned() }
}

#[test]
fn a_saved_event_takes_the_place_of_what_was_streamed() {
    let mut turns = LiveTurns::default();
    for live in [Live::ThinkingDelta { text: "hm".to_owned() }, text("one "), text("two")] {
        turns.on_live(task(), &live);
    }
    let turn = turns.get(task()).unwrap();
    assert_eq!((turn.thinking.text.as_str(), turn.text.text.as_str(), turn.after), ("hm", "one two", None));
    let saved = event(5, Body::AssistantText(AssistantText { text: "one two".to_owned() }));
    turns.on_event(task(), &saved);
    let turn = turns.get(task()).unwrap();
    assert!(turn.text.is_empty() && !turn.thinking.is_empty(), "the thought is not saved yet");
    assert_eq!(turn.after, Some(saved.id));
}

#[test]
fn output_of_a_call_stays_until_its_result() {
    let mut turns = LiveTurns::default();
    turns.on_live(task(), &output("1", "Compiling\n"));
    turns.on_live(task(), &output("2", "other"));
    turns.on_live(task(), &output("1", "Finished\n"));
    let turn = TurnEnded { turn: TurnId::from_ulid(Ulid::from_parts(1, 9)), stop: StopReason::ToolUse };
    turns.on_event(task(), &event(1, Body::TurnEnded(turn)));
    assert_eq!(turns.get(task()).unwrap().outputs["1"].text, "Compiling\nFinished\n");
    let result = ToolResult {
        call: "1".to_owned(),
        name: "bash".to_owned(),
        content: Content::text("Finished"),
        is_error: false,
        images: Vec::new(),
        full: None,
        background: None,
        ended: None,
        cwd: None,
        permission: None,
        duration_ms: 1,
    };
    turns.on_event(task(), &event(2, Body::ToolResult(result)));
    assert_eq!(turns.get(task()).unwrap().outputs.keys().collect::<Vec<_>>(), ["2"]);
    turns.on_run_over(task());
    assert!(turns.get(task()).unwrap().outputs.is_empty());
}

#[test]
fn a_discarded_response_leaves_nothing() {
    let mut turns = LiveTurns::default();
    turns.on_live(task(), &text("half"));
    turns.on_live(task(), &Live::Discarded);
    assert!(turns.get(task()).unwrap().text.is_empty());
}

#[test]
fn a_flood_keeps_its_end_and_counts_the_rest() {
    let mut turns = LiveTurns::default();
    let line = format!("{}\n", "x".repeat(999));
    for _ in 0..2_000 {
        turns.on_live(task(), &text(&line));
    }
    let kept = &turns.get(task()).unwrap().text;
    assert!(kept.text.len() <= 2 * MAX_TEXT + line.len());
    assert_eq!(kept.dropped + kept.text.len() as u64, 2_000_000, "nothing is forgotten silently");
    assert!(kept.text.starts_with('x'), "it is cut at a line");
}

#[test]
fn a_client_that_connects_in_mid_turn_gets_the_same_as_one_that_was_there() {
    let mut engine = LiveTurns::default();
    engine.on_live(task(), &text("from the "));
    let wire = serde_json::to_string(&engine).unwrap();
    let mut late: LiveTurns = serde_json::from_str(&wire).unwrap();
    for turns in [&mut engine, &mut late] {
        turns.on_live(task(), &text("first character"));
    }
    assert_eq!(late, engine);
    assert_eq!(late.get(task()).unwrap().text.text, "from the first character");
}
