use std::sync::Arc;

use super::*;
use crate::base::{IdSource, Json, SystemClock, Timestamp};
use crate::model::Content;
use crate::model::conversation::ToolUse;
use crate::model::event::{AssistantText, MessagesConsumed, Snapshot, StopReason, ToolResult, TurnEnded, VERSION};
use crate::model::work::{Extent, Rewound};

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

    fn message(&mut self, from: Source, body: &str) -> MessageId {
        let id = MessageId::fresh(&self.ids);
        let at = Timestamp::from_millis(1_800_000_000_000);
        self.add(Message::new(id, at, from, body));
        id
    }

    fn read(&mut self, ids: &[MessageId]) -> EventId {
        self.add(MessagesConsumed { ids: ids.to_vec() })
    }

    /// A turn that calls one tool. Returns it and the event of the tool's result.
    fn turn(&mut self, said: &str) -> (TurnId, EventId) {
        let turn = TurnId::fresh(&self.ids);
        self.add(AssistantText { text: said.to_owned() });
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
            duration_ms: 1,
        });
        (turn, result)
    }

    fn kept(&mut self, turn: TurnId, tree: &str) -> EventId {
        self.add(Snapshot { turn, tree: tree.to_owned() })
    }
}

#[test]
fn a_turn_ends_with_the_results_of_its_calls_and_the_state_that_was_kept_then() {
    let mut chain = Chain::new();
    let start = TurnId::fresh(&chain.ids);
    chain.kept(start, "start");
    let asked = chain.message(Source::User, "please do it");
    chain.read(&[asked]);
    let (first, ran) = chain.turn("doing");
    chain.kept(first, "one");
    let (second, result) = chain.turn("looking");

    let turns = &chain.history.turns;
    assert_eq!((turns[0].number, turns[0].prompt.as_str(), turns[0].message), (1, "please do it", Some(asked)));
    assert_eq!((turns[0].said.as_str(), turns[0].calls.as_slice()), ("doing", ["bash".to_owned()].as_slice()));
    assert_eq!((turns[0].changed, turns[0].state.as_deref(), turns[0].event), (true, Some("one"), ran));
    assert_eq!((turns[1].changed, turns[1].state.as_deref(), turns[1].event), (false, Some("one"), result));
    assert_eq!((turns[1].prompt.as_str(), turns[1].message), ("", None));

    assert_eq!(chain.history.around(first).unwrap(), ("start".to_owned(), "one".to_owned()));
    assert_eq!(chain.history.around(second).unwrap(), ("one".to_owned(), "one".to_owned()));
    assert_eq!(chain.history.after(Some(second)).unwrap(), Moment { event: Some(result), turn: Some(second) });
    assert!(chain.history.after(Some(start)).is_err(), "a state is not a turn");
}

#[test]
fn a_message_can_be_gone_back_to_with_what_was_read_beside_it() {
    let mut chain = Chain::new();
    let one = chain.message(Source::User, "one");
    chain.read(&[one]);
    let (first, result) = chain.turn("first");
    let two = chain.message(Source::User, "two");
    let notice = chain.message(Source::Notice, "a notice");
    let before = chain.last;
    chain.read(&[two, notice]);
    chain.turn("second");

    let (moment, others) = chain.history.before(two).unwrap();
    assert_eq!(moment, Moment { event: before, turn: Some(first) });
    assert!(before > Some(result));
    assert_eq!(others.iter().map(|other| other.body.as_str()).collect::<Vec<_>>(), ["a notice"]);
    assert!(chain.history.before(MessageId::fresh(&chain.ids)).is_none());
}

#[test]
fn a_state_that_is_kept_late_belongs_to_its_turn_and_to_those_after() {
    let mut chain = Chain::new();
    let (first, _) = chain.turn("first");
    let (second, _) = chain.turn("second");
    chain.kept(first, "one");
    let changed: Vec<bool> = chain.history.turns.iter().map(|view| view.changed).collect();
    assert_eq!(changed, [true, false]);
    assert_eq!(chain.history.around(second).unwrap(), ("one".to_owned(), "one".to_owned()));
}

#[test]
fn files_that_went_back_are_what_the_next_turn_is_compared_with() {
    let mut chain = Chain::new();
    let (first, _) = chain.turn("first");
    chain.kept(first, "one");
    let (second, _) = chain.turn("second");
    chain.kept(second, "two");
    let at = Timestamp::from_millis(1_800_000_000_000);
    let rewound = Rewound { extent: Extent::Files, to: Some(first), head: None, files: Some(second), branch: None, at };
    chain.add(Work::Rewound { rewound });
    let (third, _) = chain.turn("third");
    assert_eq!(chain.history.state_after(Some(third)).unwrap(), "one");
    assert_eq!(chain.history.last.as_deref(), Some("one"));
    assert!(chain.history.state_after(None).is_err(), "nothing was kept before the first turn");
}
