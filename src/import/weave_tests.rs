use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::base::Clock as _;
use crate::base::SystemClock;
use crate::model::content::BlobId;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_770_000_000_000 + second * 1000)
}

fn foreign(whats: Vec<What>) -> Foreign {
    let items = whats.into_iter().zip(0..).map(|(what, second)| Item { at: at(second), what }).collect();
    Foreign {
        origin: Origin::Claude,
        session: "s".to_owned(),
        title: "t".to_owned(),
        description: String::new(),
        cwd: None,
        started: at(0),
        above: None,
        path: "/x.jsonl".into(),
        bytes: 1,
        items,
        left_out: 0,
    }
}

fn woven(foreign: &Foreign) -> Vec<Event> {
    let node =
        TaskNode::new(task_of(foreign.origin, &foreign.session, foreign.started), "t", "engineer", foreign.started);
    let mut keep =
        |bytes: &[u8]| Ok(BlobRef { blob: BlobId::of_hash(blake3::hash(bytes).as_bytes()), bytes: bytes.len() as u64 });
    weave(foreign, &node, SystemClock.now(), &mut keep).unwrap()
}

fn call(call: &str) -> What {
    What::Call { call: call.to_owned(), name: "bash".to_owned(), input: Json::object() }
}

fn result(call: &str, text: &str) -> What {
    What::Result { call: call.to_owned(), text: text.to_owned(), is_error: false, pictures: Vec::new() }
}

fn heard(text: &str) -> What {
    What::Heard { text: text.to_owned(), pictures: Vec::new() }
}

/// Returns the results in their order, as call and text.
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
fn every_call_is_answered_right_behind_it() {
    let events = woven(&foreign(vec![
        heard("go"),
        call("a"),
        call("b"),
        heard("meanwhile"),
        result("b", "two"),
        result("a", "one"),
        call("c"),
        result("nobody's", "x"),
        What::Said("end".to_owned()),
    ]));
    let pairs = |call: &str, text: &str| (call.to_owned(), text.to_owned());
    assert_eq!(results(&events), [pairs("a", "one"), pairs("b", "two"), pairs("c", UNANSWERED)]);
    assert!(SessionState::replay(&events).turns.open.is_empty());
}

#[test]
fn the_same_source_gives_the_same_events_and_a_longer_one_begins_with_them() {
    let short = foreign(vec![heard("one"), What::Said("two".to_owned())]);
    let long = foreign(vec![heard("one"), What::Said("two".to_owned()), heard("three")]);
    let (short, long) = (woven(&short), woven(&long));
    assert_eq!(short, woven(&foreign(vec![heard("one"), What::Said("two".to_owned())])));
    assert_eq!(short, long[..short.len()]);
}

#[test]
fn what_is_large_is_put_aside_or_cut_and_says_so() {
    let events =
        woven(&foreign(vec![call("a"), result("a", &"x".repeat(INLINE + 1)), What::Said("ü".repeat(LONGEST))]));
    assert_eq!(results(&events)[0].1, format!("blob of {}", INLINE + 1));
    let said = events.iter().find_map(|event| match &event.body {
        Body::AssistantText(said) => Some(&said.text),
        _ => None,
    });
    assert!(said.unwrap().ends_with("more were left out]"));
}

#[test]
fn a_moment_that_has_not_come_yet_is_now() {
    let mut odd = foreign(vec![heard("from the future")]);
    odd.items[0].at = "9999-01-01T00:00:00Z".parse().unwrap();
    assert!(woven(&odd).iter().all(|event| event.ts <= SystemClock.now()));
}

#[test]
fn after_a_compaction_the_summary_is_what_one_goes_on_from() {
    let summary = What::Compacted { summary: "So far so good.".to_owned(), tokens: 9 };
    let events = woven(&foreign(vec![heard("one"), call("a"), summary, heard("two")]));
    let kinds: Vec<_> = events.iter().map(|event| event.body.kind().to_owned()).collect();
    let from = kinds.iter().position(|kind| kind == "compact_started").unwrap();
    assert_eq!(
        kinds[from..],
        ["compact_started", "compact_marker", "message", "messages_consumed", "message", "messages_consumed"]
    );
}

fn anything() -> impl Strategy<Value = What> {
    let name = "[a-c]";
    prop_oneof![
        "\\PC{0,8}".prop_map(|text| What::Heard { text, pictures: Vec::new() }),
        "\\PC{0,8}".prop_map(What::Said),
        "\\PC{0,8}".prop_map(What::Thought),
        name.prop_map(|name| call(&name)),
        name.prop_map(|name| result(&name, "r")),
        "\\PC{0,8}".prop_map(|summary| What::Compacted { summary, tokens: 1 }),
        "\\PC{0,8}".prop_map(What::Failed),
    ]
}

proptest! {
    #[test]
    fn whatever_went_in_what_comes_out_is_one_chain_with_no_call_left_open(
        whats in prop::collection::vec(anything(), 0..40), jumps in prop::collection::vec(-90_i64..90, 40)
    ) {
        let mut foreign = foreign(whats);
        for (item, jump) in foreign.items.iter_mut().zip(jumps) {
            item.at = at(jump);
        }
        let events = woven(&foreign);
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
