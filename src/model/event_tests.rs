use std::collections::BTreeSet;

use super::*;

const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// One stored body of every type: the documentation of the format. `ID` is any id.
const GOLDEN: &[(&str, &str)] = &[
    (
        "message",
        r#"{"id":"ID","from":{"source":"user"},"body":"Hi","delivery":"next","at":"2026-01-01T00:00:00.000Z"}"#,
    ),
    ("messages_consumed", r#"{"ids":["ID"]}"#),
    ("messages_withdrawn", r#"{"ids":[]}"#),
    (
        "session_config",
        r#"{"model":"m-1","wire":"anthropic","tools":[{"name":"mcp__a__b","description":"d","schema":{"type": "object"}}],"system":{"stable":"s","variable":"v"},"cache":{"prefix":"1h","messages":"5m"},"max_output":8000,"effort":"high"}"#,
    ),
    ("assistant_text", r#"{"text":"line one\nline two"}"#),
    ("thinking", r#"{"text":"hm","signature":"c2ln","wire":"anthropic"}"#),
    ("tool_call", r#"{"call":"c1","name":"mcp__a__b","input":{"n": 1.50,"s":"\u00e9"}}"#),
    (
        "tool_result",
        r#"{"call":"c1","name":"mcp__a__b","content":{"text":"ok"},"is_error":true,"images":[{"blob":"BLOB","bytes":9,"media_type":"image/png","name":"a.png"}],"full":{"blob":"BLOB","bytes":70000},"background":{"id":"p1","command":"make"},"cwd":"sub/deep","duration_ms":12}"#,
    ),
    (
        "usage",
        r#"{"input":1,"output":2,"cache_read":3,"cache_write_5m":4,"cache_write_1h":5,"model":"m-1","cost":678,"context_window":200000}"#,
    ),
    ("turn_ended", r#"{"turn":"ID","stop":"end_turn"}"#),
    ("compact_started", r#"{"trigger":"threshold"}"#),
    (
        "compact_marker",
        r#"{"summary":"So far","tokens_before":9,"tokens_after":2,"carry":{"usage":{"by_model":{}},"messages":[],"asks":[],"turns":{"ended":0},"background":[],"activity":{}}}"#,
    ),
    ("fork_marker", r#"{"source":"ID","source_event":"ID","title":"t","description":"d"}"#),
    (
        "handed_over",
        r#"{"from":"engineer","to":"user:scout","by":"user","author":"session","facts":{"ahead":1,"behind":0,"uncommitted":0,"open_asks":0,"unread":0,"cost":0},"carry":{"usage":{"by_model":{}},"messages":[],"asks":[],"turns":{"ended":0},"background":[],"activity":{}}}"#,
    ),
    ("run_started", r#"{"shape":"pending_yield","profile":"engineer","model":"m-1"}"#),
    ("run_ended", r#"{"exit":{"interrupted":{"provider":"overloaded"}}}"#),
    ("done_notified", r#"{"verdict":"passed","result":"All green"}"#),
    (
        "ask_raised",
        r#"{"id":"ID","kind":"clarify","question":"Which?","detail":"d","choices":[{"id":"option-1","label":"a"},{"id":"option-2","label":"b"}],"default":{"choice":"option-1"},"mode":"blocks","deadline":"2026-01-01T00:00:00.000Z","tool_call":"c1"}"#,
    ),
    ("ask_answered", r#"{"id":"ID","answer":{"text":"a","choice":"option-1","by":"person"}}"#),
    ("ask_withdrawn", r#"{"id":"ID","reason":"the run ended"}"#),
    ("call_released", r#"{"call":"call_1","ask":"ID"}"#),
    ("granted", r#"{"ask":"ID","grant":"turns","up_to":40}"#),
    ("budget_warning", r#"{"scope":"task","spent":1,"limit":2}"#),
    ("budget_exceeded", r#"{"scope":"subtree","spent":3,"limit":2}"#),
    ("error", r#"{"class":"network","message":"m","attempt":{"number":1,"of":8,"wait_ms":500}}"#),
    ("repaired", r#"{"steps":["answered c1"]}"#),
    (
        "head_moved",
        r#"{"to":null,"from":"ID","reason":"rewind","carry":{"usage":{"by_model":{"m-1":{"responses":1,"tokens":{"input":1,"output":2,"cache_read":3,"cache_write_5m":4,"cache_write_1h":5},"cost":678}},"context":{"tokens":15,"window":200000}},"messages":[],"asks":[],"turns":{"ended":1,"last":{"turn":"ID","stop":{"other":"novel"}},"open":[{"call":"c","name":"n"}]},"background":[{"id":"p1","command":"make","since":"2026-01-01T00:00:00.000Z"}],"activity":{"at":"2026-01-01T00:00:00.000Z","kind":"usage"}}}"#,
    ),
    ("snapshot", r#"{"turn":"ID","tree":"4b825dc642cb6eb9a060e54bf8d69288fbee4904"}"#),
    (
        "work",
        r#"{"what":"verified","receipt":{"command":"make test","commit":"c","dirty":true,"exit":1,"at":"2026-01-01T00:00:00.000Z","duration_ms":5,"output":"o"}}"#,
    ),
    (
        "backend",
        r#"{"what":"session","session":{"backend":"claude","id":"s","program":"p","version":"1","protocol":"acp 1","origin":{"replaced":{"reason":"r"}},"model":"m","mode":"default","ignored":["effort high"]}}"#,
    ),
    (
        "task_changed",
        r#"{"change":"set","node":{"id":"ID","title":"t","status":"in_progress","parent":"ID","children":["ID"],"branch":"b","worktree":"/w","budget":5,"edited_by":"user","recurring":"reset","colour":"red","profile":"engineer","results":[{"verdict":"failed","result":"r","at":"2026-01-01T00:00:00.000Z"}],"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","novel":{"a":1}}}"#,
    ),
    (
        "hook_ran",
        r#"{"event":"PreToolUse","hook":"./guard.sh","ms":12,"end":"answered","exit":2,"decision":"deny","call":"c1","line":"not here"}"#,
    ),
];

/// Further forms of the same types.
const ALSO: &[(&str, &str)] = &[
    ("task_changed", r#"{"change":"removed"}"#),
    ("backend", r#"{"what":"session","session":{"backend":"b","id":"s","origin":"new"}}"#),
    ("backend", r#"{"what":"prompted","turn":"ID"}"#),
    ("backend", r#"{"what":"plan","entries":[{"content":"a","status":"completed"},{"content":"b"}]}"#),
    ("backend", r#"{"what":"tools_missing"}"#),
    ("backend", r#"{"what":"update","kind":"k","raw":"{\"x\":[1,2]}"}"#),
    ("backend", r#"{"what":"notice","text":"t"}"#),
    ("run_ended", r#"{"exit":{"interrupted":{"program":"p"}}}"#),
    (
        "work",
        r#"{"what":"landed","landing":{"target":"main","how":"squash","from":"a","to":"b","undo":"refs/mxd/undo/x/1","at":"2026-01-01T00:00:00.000Z"}}"#,
    ),
    ("work", r#"{"what":"landing_undone","undo":"refs/mxd/undo/x/1","at":"2026-01-01T00:00:00.000Z"}"#),
    (
        "work",
        r#"{"what":"reviewed","round":{"comments":[{"file":"a.rs","side":"new","lines":[3,4],"quote":"let x;","text":"why?"}],"words":"good","state":"t","message":"ID"}}"#,
    ),
    (
        "work",
        r#"{"what":"rewound","rewound":{"extent":"both","to":"ID","head":"ID","files":"ID","branch":"c","at":"2026-01-01T00:00:00.000Z"}}"#,
    ),
    ("work", r#"{"what":"redone","at":"2026-01-01T00:00:00.000Z"}"#),
    ("work", r#"{"what":"moving","moving":{"aim":{"after":"ID"},"extent":"files","files":"ID","words":"w"}}"#),
    ("work", r#"{"what":"moving","moving":{"aim":"redo","extent":"both","files":"ID"}}"#),
    ("work", r#"{"what":"stayed","reason":"r"}"#),
    ("work", r#"{"what":"approved","exit":"ID","at":"2026-01-01T00:00:00.000Z"}"#),
    ("granted", r#"{"ask":"ID","grant":"unpriced","model":"m-1"}"#),
    ("granted", r#"{"ask":"ID","grant":"overfull"}"#),
    ("run_ended", r#"{"exit":"done_passed"}"#),
    ("run_ended", r#"{"exit":{"interrupted":"quit"}}"#),
    ("thinking", r#"{"redacted":"b3BhcXVl","wire":"anthropic"}"#),
    ("tool_call", r#"{"call":"c","name":"n","input":{},"malformed":"{\"a\":"}"#),
    ("tool_result", r#"{"call":"c","name":"n","content":{"blob":"BLOB","bytes":7},"duration_ms":0}"#),
    ("turn_ended", r#"{"turn":"ID","stop":{"other":"novel"}}"#),
    (
        "usage",
        r#"{"input":0,"output":0,"cache_read":0,"cache_write_5m":0,"cache_write_1h":0,"model":"m","context_window":1,"estimated":true}"#,
    ),
    (
        "message",
        r#"{"id":"ID","from":{"source":"task_message","task":"ID","title":"t","request_reply":true},"delivery":"steer","at":"2026-01-01T00:00:00.000Z"}"#,
    ),
    (
        "message",
        r#"{"id":"ID","from":{"source":"background_complete","process":"p","command":"c","exit":-1,"duration_ms":3},"body":"b","images":[{"blob":"BLOB","bytes":1,"media_type":"image/gif"}],"delivery":"steer","at":"2026-01-01T00:00:00.000Z"}"#,
    ),
];

fn line(envelope: &str, kind: &str, body: &str) -> String {
    let blob = "af13".repeat(16);
    format!("{{\"v\":1,\"id\":\"ID\",{envelope},\"type\":\"{kind}\",\"body\":{body}}}")
        .replace("ID", ID)
        .replace("BLOB", &blob)
}

const ENVELOPES: [&str; 3] = [
    r#""parent":null,"ts":"2026-01-01T00:00:00.000Z""#,
    r#""parent":"ID","ts":"2026-11-16T06:11:53.123Z","run":"ID""#,
    r#""parent":"ID","ts":"2026-11-16T06:11:53.123Z","run":"ID","batch":[2,3]"#,
];

#[test]
fn every_type_is_serialized_as_in_the_table() {
    for (kind, body) in GOLDEN.iter().chain(ALSO) {
        for envelope in ENVELOPES {
            let line = line(envelope, kind, body);
            let event = Event::parse(&line).unwrap();
            assert!(!matches!(event.body, Body::Unknown(_)), "{kind}: {:?}", event.body);
            assert_eq!(event.body.kind(), *kind);
            assert_eq!(serde_json::to_string(&event).unwrap(), line, "{kind}");
            let read: Event = serde_json::from_str(&line).unwrap();
            assert_eq!(read, event, "{kind}");
        }
    }
}

#[test]
fn the_table_is_complete() {
    let documented: Vec<_> = GOLDEN.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(documented, Body::KINDS);
    assert_eq!(documented.iter().collect::<BTreeSet<_>>().len(), documented.len());
}

#[test]
fn an_unreadable_body_is_preserved_with_the_reason() {
    for (kind, _) in GOLDEN {
        let line = line(ENVELOPES[2], kind, "17");
        let event = Event::parse(&line).unwrap();
        let Body::Unknown(unknown) = &event.body else { panic!("{kind} was read from a number: {:?}", event.body) };
        assert!(unknown.problem.is_some() && unknown.kind == *kind);
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }
    let future = line(ENVELOPES[0], "from_the_future", r#"{ "a":[1.0 ] }"#);
    let event = Event::parse(&future).unwrap();
    let Body::Unknown(unknown) = &event.body else { panic!("{:?}", event.body) };
    assert_eq!((unknown.problem.as_ref(), unknown.body.as_str()), (None, r#"{ "a":[1.0 ] }"#));
    assert_eq!(serde_json::to_string(&event).unwrap(), future);
}

#[test]
fn the_envelope_is_parsed_in_any_order_with_unknown_fields() {
    let text = format!(
        r#" {{"body":{{"text":"x"}}, "novel":{{"id":1}},"type":"assistant_\u0074ext","ts":"2026-01-01T00:00:00Z","id":"{ID}","v":9}} "#
    );
    let event = Event::parse(&text).unwrap();
    assert_eq!((event.v, event.parent, event.run, event.batch), (9, None, None, None));
    assert_eq!(event.body, AssistantText { text: "x".to_owned() }.into());
}

#[test]
fn a_line_without_an_envelope_is_no_event() {
    let good = line(ENVELOPES[0], "assistant_text", r#"{"text":"x"}"#);
    for (part, instead) in [
        ("\"v\":1,", ""),
        ("\"type\":\"assistant_text\",", ""),
        (ID, "short"),
        ("\"v\":1", "\"v\":-1"),
        ("2026-01-01T00:00:00.000Z", "yesterday"),
        ("\"v\":1,", "\"v\":1,\"v\":1,"),
    ] {
        assert!(Event::parse(&good.replace(part, instead)).is_err(), "{part}");
    }
    assert!(Event::parse(&good).is_ok());
}

#[test]
fn the_last_of_a_batch_is_recognised() {
    assert!(Batch(3, 3).is_last() && Batch(1, 1).is_last() && !Batch(2, 3).is_last());
}
