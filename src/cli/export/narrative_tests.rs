use super::*;
use crate::base::{EventId, Json};
use crate::model::content::BlobRef;
use crate::model::conversation::ToolUse;
use crate::model::event::{AssistantText, TurnEnded};

fn event(number: u64, body: impl Into<Body>) -> Event {
    let id = EventId::from_ulid(ulid::Ulid::from_parts(number, 0));
    Event {
        v: crate::model::event::VERSION,
        id,
        parent: None,
        ts: Timestamp::from_millis(1_000),
        run: None,
        batch: None,
        body: body.into(),
    }
}

fn call(id: &str, input: &str) -> ToolUse {
    ToolUse { call: id.to_owned(), name: "bash".to_owned(), input: Json::parse(input).unwrap(), malformed: None }
}

fn result(id: &str, content: Content) -> ToolResult {
    ToolResult {
        call: id.to_owned(),
        name: "bash".to_owned(),
        content,
        is_error: true,
        images: Vec::new(),
        full: None,
        background: None,
        ended: None,
        cwd: None,
        permission: None,
        duration_ms: 7,
    }
}

fn parts_of(events: Vec<Event>, blobs: &Blobs<'_>) -> Vec<Part> {
    let mut transcript = TranscriptBuilder::new(blobs);
    events.into_iter().for_each(|event| transcript.push(event));
    transcript.into_rest().collect()
}

fn blob(hash: u8, bytes: u64) -> BlobRef {
    BlobRef { blob: BlobId::of_hash(&[hash; 32]), bytes }
}

#[test]
fn a_call_and_its_result_are_one_part_and_bookkeeping_is_skipped() {
    let ended = TurnEnded {
        turn: crate::base::TurnId::from_ulid(ulid::Ulid::from_parts(9, 9)),
        stop: crate::model::event::StopReason::ToolUse,
    };
    let parts = parts_of(
        vec![
            event(1, AssistantText { text: "I look.\u{1b}[31m".to_owned() }),
            event(2, Body::ToolCall(call("a", r#"{"command":"ls\npwd","timeout":5}"#))),
            event(3, Body::TurnEnded(ended)),
            event(4, Body::ToolResult(result("a", Content::text("no\u{7}thing")))),
            event(5, Body::ToolResult(result("lost", Content::text("of a call that is gone")))),
            event(6, Body::ToolCall(call("open", "[1]"))),
        ],
        &|_| None,
    );
    assert_eq!(parts.len(), 4, "{parts:?}");
    assert!(matches!(&parts[0].kind, PartKind::Message { text, is_user: false, .. } if text == "I look."));
    let PartKind::Tool { input, outcome: Some(outcome), .. } = &parts[1].kind else { panic!("{parts:?}") };
    assert_eq!((input.as_str(), outcome.text.as_str()), ("command:\nls\npwd\ntimeout: 5", "nothing"));
    assert!(outcome.failed && outcome.millis == 7);
    assert!(matches!(&parts[2].kind, PartKind::Tool { input, outcome: Some(_), .. } if input.is_empty()));
    assert!(matches!(&parts[3].kind, PartKind::Tool { input, outcome: None, .. } if input == "[1]"));
}

#[test]
fn parts_are_ready_as_soon_as_no_earlier_call_is_open() {
    let mut transcript = TranscriptBuilder::new(&|_| None);
    let said = |number, text: &str| event(number, AssistantText { text: text.to_owned() });
    let mut taken = Vec::new();
    for event in [
        said(1, "one"),
        event(2, Body::ToolCall(call("a", "{}"))),
        event(3, Body::ToolCall(call("b", "{}"))),
        event(4, Body::ToolResult(result("b", Content::text("second")))),
        said(5, "while a runs"),
        event(6, Body::ToolResult(result("a", Content::text("first")))),
        said(7, "two"),
    ] {
        transcript.push(event);
        taken.push(transcript.take_ready().count());
        assert_eq!(transcript.taken, taken.iter().sum::<usize>());
    }
    assert_eq!(taken, [1, 0, 0, 0, 0, 3, 1]);
    assert_eq!(transcript.into_rest().count(), 0);
}

#[test]
fn large_outputs_come_from_their_blobs_are_cut_and_may_be_missing() {
    let (stored, missing) = (blob(1, 0), blob(2, 8));
    let output = "x".repeat(MAX_TEXT + 1_000).into_bytes();
    let output_of = |content| {
        let parts = parts_of(vec![event(1, Body::ToolResult(result("a", content)))], &|id| {
            (*id == stored.blob).then(|| output.clone())
        });
        let PartKind::Tool { outcome: Some(outcome), .. } = &parts[0].kind else { panic!("{parts:?}") };
        outcome.text.clone()
    };
    let text = output_of(Content::Blob(stored.clone()));
    assert!(text.ends_with("\n… 1.0 KB more") && text.len() < MAX_TEXT + 100, "{}", text.len());
    assert_eq!(output_of(Content::Blob(missing)), "[8 B no longer available]");
}

#[test]
fn only_pictures_are_shown_as_pictures() {
    let blobs = |_: &BlobId| Some(b"\x89PNG".to_vec());
    let image = |media_type: &str| Image { data: blob(1, 4), media_type: media_type.to_owned(), name: None };
    assert_eq!(picture(&image("image/png"), &blobs).data.as_deref(), Some("data:image/png;base64,iVBORw=="));
    assert_eq!(picture(&image("text/html"), &blobs).data, None);
    assert_eq!(picture(&image("image/svg+xml\"><script>"), &blobs).data, None);
}
