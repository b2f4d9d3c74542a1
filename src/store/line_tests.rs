use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::base::{Json, Timestamp};
use crate::model::event::{AssistantText, Body, VERSION};

const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn event(text: &str) -> Event {
    Event {
        v: VERSION,
        id: ID.parse().unwrap(),
        parent: None,
        ts: Timestamp::from_millis(1_800_000_000_123),
        run: None,
        batch: None,
        body: AssistantText { text: text.to_owned() }.into(),
    }
}

fn line_of(event: &Event) -> Vec<u8> {
    let mut line = Vec::new();
    encode(event, &mut line).unwrap();
    line
}

fn whole(bytes: &[u8]) -> Option<Event> {
    match parse(bytes) {
        Parsed::Whole(header) => Some(header.into_event()),
        Parsed::Behind { .. } | Parsed::Blank | Parsed::Bad => None,
    }
}

#[test]
fn a_line_is_one_line() {
    let mut event = event("two\nlines\r\u{2028}\0");
    let line = line_of(&event);
    assert_eq!(line.split_inclusive(|byte| *byte == b'\n').count(), 1);
    assert_eq!(whole(&line[..line.len() - 1]), Some(event.clone()));

    event.body = crate::model::conversation::ToolUse {
        call: "c".to_owned(),
        name: "n".to_owned(),
        input: Json::parse("{\n  \"a\": 1\r\n}").unwrap(),
        malformed: Some("{\n".to_owned()),
    }
    .into();
    let line = line_of(&event);
    assert_eq!(line.split_inclusive(|byte| *byte == b'\n').count(), 1, "also with what a model spread over several");
    assert_eq!(whole(&line[..line.len() - 1]), Some(event));
}

#[test]
fn a_line_that_is_too_long_is_removed() {
    let mut out = b"kept\n".to_vec();
    let refused = encode(&event(&"x".repeat(MAX_LINE)), &mut out);
    assert!(matches!(refused, Err(StoreError::TooLong { limit: MAX_LINE, .. })));
    assert_eq!(out, b"kept\n");
    let room = MAX_LINE - line_of(&event("")).len();
    assert_eq!(line_of(&event(&"x".repeat(room))).len(), MAX_LINE);
}

#[test]
fn a_line_cut_anywhere_is_no_event() {
    let line = line_of(&event("ä € 🙂 \"}{\\"));
    for cut in 1..line.len() - 1 {
        assert!(matches!(parse(&line[..cut]), Parsed::Bad), "{}", String::from_utf8_lossy(&line[..cut]));
    }
}

#[test]
fn crlf_and_blank_lines_are_no_damage() {
    let mut line = line_of(&event("a"));
    line.pop();
    line.push(b'\r');
    assert_eq!(whole(&line), Some(event("a")));
    for blank in ["", "\r", "  \t"] {
        assert!(matches!(parse(blank.as_bytes()), Parsed::Blank), "{blank:?}");
    }
    for bad in [&b"\0\0\0"[..], b"null", b"{}", b"[1]", b"\xff\xfe", b"{\"v\":1}", b"\xef\xbb\xbf"] {
        assert!(matches!(parse(bad), Parsed::Bad), "{bad:?}");
    }
}

#[test]
fn an_event_after_a_torn_one_is_found() {
    let torn = line_of(&event("{\"v\":1,\"id\":\"x\"} ä"));
    let glued = line_of(&event("second"));
    for cut in 1..torn.len() - 1 {
        let mut bytes = torn[..cut].to_vec();
        bytes.extend_from_slice(&glued[..glued.len() - 1]);
        match parse(&bytes) {
            Parsed::Behind { garbage, header } => {
                assert_eq!(garbage, cut);
                assert_eq!(header.into_event(), event("second"));
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn many_false_openings_do_not_hide_it() {
    let mut bytes = b"{\"v\":1,\"id\":\"torn\",\"input\":[".to_vec();
    bytes.extend_from_slice(&b"{\"v\":1},".repeat(100));
    bytes.extend_from_slice(&line_of(&event("second")));
    bytes.pop();
    assert_eq!(parse(&bytes).header().map(Header::into_event), Some(event("second")));
}

fn relinked(line: &str, parent: Option<EventId>) -> String {
    let mut out = Vec::new();
    relink(line, parent, Batch(2, 3), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.strip_suffix('\n').unwrap().to_owned()
}

#[test]
fn relinking_changes_nothing_else() {
    let line = format!(
        "{{\"v\":7,\"id\":\"{ID}\",\"parent\":null,\"ts\":\"2026-01-01T00:00:00Z\",\"run\":\"{ID}\",\"new\": [1.0,  2e5],\
         \"type\":\"from_the_future\",\"body\":{{ \"n\":1.50 ,\"x\":\"\\u00e9\"}},\"after\":{{}}}}"
    );
    assert_eq!(
        relinked(&line, Some(ID.parse().unwrap())),
        format!(
            "{{\"v\":7,\"id\":\"{ID}\",\"parent\":\"{ID}\",\"ts\":\"2026-01-01T00:00:00Z\",\"new\":[1.0,  2e5],\
             \"batch\":[2,3],\"type\":\"from_the_future\",\"body\":{{ \"n\":1.50 ,\"x\":\"\\u00e9\"}},\"after\":{{}}}}"
        )
    );
    let event = Event::parse(&relinked(&line, None)).unwrap();
    assert_eq!((event.parent, event.batch, event.run), (None, Some(Batch(2, 3)), None));
    assert!(matches!(event.body, Body::Unknown(_)));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn unknown_types_and_fields_survive_byte_for_byte(
        kind in "[a-z_]{1,12}x", body in json(), field in "[a-z]{9,12}", value in json(), front in any::<bool>(),
    ) {
        let extra = format!("{}:{}", Value::from(field.as_str()), value);
        let envelope = format!("\"v\":1,\"id\":\"{ID}\",\"parent\":null,\"ts\":\"2026-01-01T00:00:00.000Z\",\"batch\":[2,3]");
        let rest = format!("\"type\":\"{kind}\",\"body\":{body}");
        let line = if front { format!("{{{extra},{envelope},{rest}}}") } else { format!("{{{envelope},{rest},{extra}}}") };
        prop_assert_eq!(relinked(&line, None), line.clone());
        let event = Event::parse(&line).unwrap();
        prop_assert_eq!(event.body.kind(), kind);
        let Body::Unknown(unknown) = &event.body else { panic!("{:?}", event.body) };
        let body = body.to_string();
        prop_assert_eq!(unknown.body.as_str(), body.as_str());
        // Encoded again by this version, the body is the same.
        let again = line_of(&event);
        prop_assert_eq!(whole(&again[..again.len() - 1]), Some(event));
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut glued = bytes.clone();
        glued.extend_from_slice(b"{\"v\":1,\"id\":\"");
        glued.extend_from_slice(&bytes);
        let _ = parse(&bytes);
        let _ = parse(&glued);
    }
}
