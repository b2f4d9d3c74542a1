use std::sync::Arc;

use super::*;
use crate::base::{IdSource, Json, SystemClock, Timestamp};
use crate::model::Content;
use crate::model::conversation::ToolUse;
use crate::model::event::{AssistantText, MessagesConsumed, Snapshot, StopReason, ToolResult, TurnEnded, VERSION};
use crate::model::work::{RewindScope, Rewound};

struct Chain {
    ids: IdSource,
    history: History,
    last: Option<EventId>,
}

impl Chain {
    fn new() -> Self {
        Self { ids: IdSource::seeded(Arc::new(SystemClock), 7), history: History::default(), last: None }
    }

    fn add(&mut self, body: impl Into<Body>) -> EventId {
        let id = EventId::fresh(&self.ids);
        let ts = Timestamp::from_millis(1_800_000_000_000);
        self.history.apply(&Event { v: VERSION, id, parent: self.last, ts, run: None, batch: None, body: body.into() });
        self.last = Some(id);
        id
    }

    fn message(&mut self, from: MessageSource, body: &str) -> MessageId {
        let id = MessageId::fresh(&self.ids);
        let at = Timestamp::from_millis(1_800_000_000_000);
        self.add(Message::new(id, at, from, body));
        id
    }

    fn consume(&mut self, ids: &[MessageId]) -> EventId {
        self.add(MessagesConsumed { ids: ids.to_vec() })
    }

    /// Adds a turn that calls one tool. Returns the turn and the event of the tool's result.
    fn turn(&mut self, text: &str) -> (TurnId, EventId) {
        let turn = TurnId::fresh(&self.ids);
        self.add(AssistantText { text: text.to_owned() });
        self.add(ToolUse { call: turn.to_string(), name: "bash".to_owned(), input: Json::object(), malformed: None });
        self.add(TurnEnded { turn, stop: StopReason::ToolUse });
        let result = self.add(ToolResult {
            call: turn.to_string(),
            name: "bash".to_owned(),
            content: Content::text("ok"),
            is_error: false,
            images: Vec::new(),
            full: None,
            background: None,
            ended: None,
            cwd: None,
            permission: None,
            duration_ms: 1,
        });
        (turn, result)
    }

    fn snapshot(&mut self, turn: TurnId, tree: &str) -> EventId {
        self.add(Snapshot { turn, tree: tree.to_owned() })
    }
}

#[test]
fn a_turn_ends_with_its_results_and_has_the_snapshot_of_that_time() {
    let mut chain = Chain::new();
    let start = TurnId::fresh(&chain.ids);
    chain.snapshot(start, "start");
    let asked = chain.message(MessageSource::User, "please do it");
    chain.consume(&[asked]);
    let (first, ran) = chain.turn("doing");
    chain.snapshot(first, "one");
    let (second, result) = chain.turn("looking");

    let turns = &chain.history.turns;
    assert_eq!((turns[0].number, turns[0].prompt.as_str(), turns[0].message), (1, "please do it", Some(asked)));
    assert_eq!((turns[0].text.as_str(), turns[0].calls.as_slice()), ("doing", ["bash".to_owned()].as_slice()));
    assert_eq!((turns[0].changed, turns[0].state.as_deref(), turns[0].event), (true, Some("one"), ran));
    assert_eq!((turns[1].changed, turns[1].state.as_deref(), turns[1].event), (false, Some("one"), result));
    assert_eq!((turns[1].prompt.as_str(), turns[1].message), ("", None));

    assert_eq!(chain.history.states_around(first).unwrap(), ("start".to_owned(), "one".to_owned()));
    assert_eq!(chain.history.states_around(second).unwrap(), ("one".to_owned(), "one".to_owned()));
    assert_eq!(chain.history.after(Some(second)).unwrap(), RewindPoint { event: Some(result), turn: Some(second) });
    assert!(chain.history.after(Some(start)).is_err(), "a state is not a turn");
}

#[test]
fn a_conversation_can_be_rewound_to_a_message_and_those_read_with_it() {
    let mut chain = Chain::new();
    let one = chain.message(MessageSource::User, "one");
    chain.consume(&[one]);
    let (first, result) = chain.turn("first");
    let two = chain.message(MessageSource::User, "two");
    let notice = chain.message(MessageSource::Notice, "a notice");
    let before = chain.last;
    chain.consume(&[two, notice]);
    chain.turn("second");

    let (point, others) = chain.history.before(two).unwrap();
    assert_eq!(point, RewindPoint { event: before, turn: Some(first) });
    assert!(before > Some(result));
    assert_eq!(others.iter().map(|other| other.body.as_str()).collect::<Vec<_>>(), ["a notice"]);
    assert!(chain.history.before(MessageId::fresh(&chain.ids)).is_none());
}

#[test]
fn a_late_snapshot_belongs_to_its_turn_and_later_ones() {
    let mut chain = Chain::new();
    let (first, _) = chain.turn("first");
    let (second, _) = chain.turn("second");
    chain.snapshot(first, "one");
    let changed: Vec<bool> = chain.history.turns.iter().map(|view| view.changed).collect();
    assert_eq!(changed, [true, false]);
    assert_eq!(chain.history.states_around(second).unwrap(), ("one".to_owned(), "one".to_owned()));
}

#[test]
fn after_a_rewind_of_files_the_next_turn_starts_from_the_restored_state() {
    let mut chain = Chain::new();
    let (first, _) = chain.turn("first");
    chain.snapshot(first, "one");
    let (second, _) = chain.turn("second");
    chain.snapshot(second, "two");
    let at = Timestamp::from_millis(1_800_000_000_000);
    let rewound =
        Rewound { extent: RewindScope::Files, to: Some(first), head: None, files: Some(second), branch: None, at };
    chain.add(Work::Rewound { rewound });
    let (third, _) = chain.turn("third");
    assert_eq!(chain.history.state_after(Some(third)).unwrap(), "one");
    assert_eq!(chain.history.last.as_deref(), Some("one"));
    assert!(chain.history.state_after(None).is_err(), "there is no snapshot before the first turn");
}
