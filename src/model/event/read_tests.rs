use super::Plain;
use crate::model::event::{Body, Event, Header};

const TEXT: &str = r#"{"v":1,"id":"01KA5M0000000000000000000A","parent":"01KA5M00000000000000000009","ts":"2026-11-16T06:11:53.123Z","run":"01KA5M00000000000000000008","batch":[1,2],"type":"assistant_text","body":{"text":"a \"quoted\" word"}}"#;

fn plain(line: &str) -> Option<Event> {
    serde_json::from_str(line).ok().map(|Plain(event)| event)
}

fn in_two_steps(line: &str) -> Option<Event> {
    Header::parse(line).ok().map(Header::into_event)
}

#[test]
fn one_pass_and_two_pass_parsing_agree() {
    let calls = TEXT
        .replace("assistant_text", "tool_call")
        .replace(r#"{"text":"a \"quoted\" word"}"#, r#"{"call":"c","name":"n","input":{"spelled": 1.0e2}}"#);
    let bare = r#"{"v":1,"id":"01KA5M0000000000000000000A","parent":null,"ts":"2026-11-16T06:11:53.123Z","type":"repaired","body":{"steps":[]}}"#;
    for line in [TEXT, &calls, bare] {
        assert!(plain(line).is_some(), "{line}");
        assert_eq!(plain(line), in_two_steps(line));
        assert_eq!(serde_json::to_string(&plain(line)).unwrap(), line);
    }
}

#[test]
fn an_unknown_envelope_field_is_skipped() {
    let line = TEXT.replace(r#""type""#, r#""mood":{"x":[1]},"type""#);
    assert!(plain(&line).is_some());
    assert_eq!(plain(&line), in_two_steps(&line));
}

#[test]
fn other_spellings_need_two_passes() {
    let body_first = r#"{"v":1,"id":"01KA5M0000000000000000000A","ts":"2026-11-16T06:11:53.123Z","body":{"text":"x"},"type":"assistant_text"}"#;
    let newer = TEXT.replace("assistant_text", "assistant_song");
    let misshapen = TEXT.replace("\"text\"", "\"words\"");
    for line in [body_first, &newer, &misshapen] {
        assert_eq!(plain(line), None, "{line}");
        assert_eq!(Event::parse(line).ok(), in_two_steps(line));
        assert!(Event::parse(line).is_ok(), "{line}");
    }
    assert!(matches!(Event::parse(&newer).unwrap().body, Body::Unknown(_)));
    assert!(matches!(Event::parse(&misshapen).unwrap().body, Body::Unknown(_)));
}

#[test]
fn a_line_with_a_duplicate_or_missing_field_is_no_event() {
    let twice = TEXT.replace(r#""v":1"#, r#""v":1,"v":1"#);
    let two_bodies = TEXT.replace(r#""body""#, r#""body":{"text":"first"},"body""#);
    let without = TEXT.replace(r#""ts":"2026-11-16T06:11:53.123Z","#, "");
    for line in [&twice, &two_bodies, &without] {
        assert_eq!(plain(line), None, "{line}");
        assert!(Event::parse(line).is_err(), "{line}");
    }
}

#[test]
fn the_start_of_a_line_identifies_its_event() {
    let event = plain(TEXT).unwrap();
    let written = serde_json::to_vec(&event).unwrap();
    assert!(Event::opens(&written, event.id));
    assert!(!Event::opens(&written, event.parent.unwrap()));
    assert!(!Event::opens(&written[..20], event.id));
}
