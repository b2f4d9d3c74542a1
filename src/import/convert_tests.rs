use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::base::Clock as _;
use crate::base::SystemClock;
use crate::model::content::BlobId;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_770_000_000_000 + second * 1000)
}

fn foreign(kinds: Vec<ItemKind>) -> ForeignSession {
    let items = kinds.into_iter().zip(0..).map(|(what, second)| SessionItem { at: at(second), kind: what }).collect();
    ForeignSession {
        origin: Origin::Claude,
        session: "s".to_owned(),
        title: "t".to_owned(),
        description: String::new(),
        cwd: None,
        started: at(0),
        parent: None,
        path: "/x.jsonl".into(),
        bytes: 1,
        items,
        left_out: 0,
    }
}

fn converted(foreign: &ForeignSession) -> Vec<Event> {
    let node =
        TaskNode::new(task_of(foreign.origin, &foreign.session, foreign.started), "t", "engineer", foreign.started);
    let mut keep =
        |bytes: &[u8]| Ok(BlobRef { blob: BlobId::of_hash(blake3::hash(bytes).as_bytes()), bytes: bytes.len() as u64 });
    convert(foreign, &node, SystemClock.now(), &mut keep).unwrap()
}

fn call(call: &str) -> ItemKind {
    ItemKind::Call { call: call.to_owned(), name: "bash".to_owned(), input: Json::object() }
}

fn result(call: &str, text: &str) -> ItemKind {
    ItemKind::Result { call: call.to_owned(), text: text.to_owned(), is_error: false, pictures: Vec::new() }
}

fn user_message(text: &str) -> ItemKind {
    ItemKind::UserMessage { text: text.to_owned(), pictures: Vec::new() }
}

/// Returns the results in order, as call and text.
fn results(events: &[Event]) -> Vec<(String, String)> {
    let results = events.iter().filter_map(|event| match &event.body {
        Body::ToolResult(result) => {
            let text = match &result.content {
                Content::Text { text } => text.clone(),
                Content::Blob(blob) => format!("blob of {}", blob.bytes),
            };
            Some((result.call.clone(), text))
        }
        _ => None,
    });
    results.collect()
}

#[test]
fn every_call_is_followed_by_its_result() {
    let events = converted(&foreign(vec![
        user_message("go"),
        call("a"),
        call("b"),
        user_message("meanwhile"),
        result("b", "two"),
        result("a", "one"),
        call("c"),
        result("nobody's", "x"),
        ItemKind::AssistantText("end".to_owned()),
    ]));
    let pairs = |call: &str, text: &str| (call.to_owned(), text.to_owned());
    assert_eq!(results(&events), [pairs("a", "one"), pairs("b", "two"), pairs("c", NO_RESULT)]);
    assert!(SessionState::replay(&events).turns.open.is_empty());
}

#[test]
fn the_same_source_gives_the_same_events_and_a_longer_one_extends_them() {
    let short = foreign(vec![user_message("one"), ItemKind::AssistantText("two".to_owned())]);
    let long = foreign(vec![user_message("one"), ItemKind::AssistantText("two".to_owned()), user_message("three")]);
    let (short, long) = (converted(&short), converted(&long));
    assert_eq!(short, converted(&foreign(vec![user_message("one"), ItemKind::AssistantText("two".to_owned())])));
    assert_eq!(short, long[..short.len()]);
}

#[test]
fn large_outputs_go_to_blobs_and_large_texts_are_truncated() {
    let events = converted(&foreign(vec![
        call("a"),
        result("a", &"x".repeat(MAX_INLINE + 1)),
        ItemKind::AssistantText("ü".repeat(MAX_TEXT)),
    ]));
    assert_eq!(results(&events)[0].1, format!("blob of {}", MAX_INLINE + 1));
    let said = events.iter().find_map(|event| match &event.body {
        Body::AssistantText(said) => Some(&said.text),
        _ => None,
    });
    assert!(said.unwrap().ends_with("more omitted]"));
}

#[test]
fn a_time_in_the_future_becomes_now() {
    let mut odd = foreign(vec![user_message("from the future")]);
    odd.items[0].at = "9999-01-01T00:00:00Z".parse().unwrap();
    assert!(converted(&odd).iter().all(|event| event.ts <= SystemClock.now()));
}

#[test]
fn a_conversation_continues_from_the_summary_of_a_compaction() {
    let summary = ItemKind::Compaction { summary: "So far so good.".to_owned(), tokens: 9 };
    let events = converted(&foreign(vec![user_message("one"), call("a"), summary, user_message("two")]));
    let kinds: Vec<_> = events.iter().map(|event| event.body.kind().to_owned()).collect();
    let from = kinds.iter().position(|kind| kind == "compact_started").unwrap();
    assert_eq!(
        kinds[from..],
        ["compact_started", "compact_marker", "message", "messages_consumed", "message", "messages_consumed"]
    );
}

fn anything() -> impl Strategy<Value = ItemKind> {
    let name = "[a-c]";
    prop_oneof![
        "\\PC{0,8}".prop_map(|text| ItemKind::UserMessage { text, pictures: Vec::new() }),
        "\\PC{0,8}".prop_map(ItemKind::AssistantText),
        "\\PC{0,8}".prop_map(ItemKind::Thinking),
        name.prop_map(|name| call(&name)),
        name.prop_map(|name| result(&name, "r")),
        "\\PC{0,8}".prop_map(|summary| ItemKind::Compaction { summary, tokens: 1 }),
        "\\PC{0,8}".prop_map(ItemKind::Error),
    ]
}

proptest! {
    #[test]
    fn any_input_gives_one_chain_without_open_calls(
        kinds in prop::collection::vec(anything(), 0..40), jumps in prop::collection::vec(-90_i64..90, 40)
    ) {
        let mut foreign = foreign(kinds);
        for (item, jump) in foreign.items.iter_mut().zip(jumps) {
            item.at = at(jump);
        }
        let events = converted(&foreign);
        prop_assert!(events.is_sorted_by_key(|event| event.id), "ids grow");
        let ids: BTreeSet<_> = events.iter().map(|event| event.id).collect();
        prop_assert_eq!(ids.len(), events.len());
        for pair in events.windows(2) {
            prop_assert_eq!(pair[1].parent, Some(pair[0].id));
        }
        let state = SessionState::replay(&events);
        prop_assert!(state.turns.open.is_empty() && state.messages.is_empty());
        for event in &events {
            let line = serde_json::to_string(event).unwrap();
            prop_assert_eq!(&Event::parse(&line).unwrap(), event);
        }
    }
}
