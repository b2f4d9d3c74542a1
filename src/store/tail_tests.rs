use super::*;
use crate::base::{IdSource, SystemClock, Timestamp};
use crate::model::event::{AssistantText, Event, VERSION};
use crate::store::scan::tests::Bytes;

/// Builds lines, each with its event id.
struct Lines(IdSource);

impl Lines {
    fn new() -> Self {
        Self(IdSource::seeded(std::sync::Arc::new(SystemClock), 1))
    }

    fn line(&self, batch: Option<Batch>) -> (EventId, Vec<u8>) {
        let id = EventId::fresh(&self.0);
        let body = AssistantText { text: "x".to_owned() }.into();
        let event = Event { v: VERSION, id, parent: None, ts: Timestamp::EPOCH, run: None, batch, body };
        let mut out = Vec::new();
        line::encode(&event, &mut out).unwrap();
        (id, out)
    }

    fn batch(&self, of: u32) -> Vec<(EventId, Vec<u8>)> {
        (1..=of).map(|number| self.line(Some(Batch(number, of)))).collect()
    }
}

fn tail_of(pieces: &[&[u8]]) -> Tail {
    inspect(&Bytes(pieces.concat())).unwrap()
}

fn len_of(pieces: &[&[u8]]) -> u64 {
    pieces.concat().len() as u64
}

#[test]
fn an_empty_file_is_valid() {
    let tail = tail_of(&[]);
    assert_eq!(tail, Tail::default());
    assert!(!tail.needs_repair());
}

#[test]
fn complete_lines_are_valid_and_the_last_is_the_head() {
    let lines = Lines::new();
    let ((_, a), (b_id, b)) = (lines.line(None), lines.line(None));
    let tail = tail_of(&[&a, &b]);
    assert_eq!((tail.head, tail.good, tail.needs_repair()), (Some(b_id), tail.len, false));
    let tail = tail_of(&[&a, &b, b"\n\r\n", b"garbage\n"]);
    assert_eq!((tail.head, tail.needs_repair()), (Some(b_id), false), "bad lines stay, and hide nothing");
}

#[test]
fn a_missing_newline_is_reported() {
    let lines = Lines::new();
    let ((_, a), (b_id, b)) = (lines.line(None), lines.line(None));
    let tail = tail_of(&[&a, &b[..b.len() - 1]]);
    assert!(tail.unterminated && !tail.is_torn());
    assert_eq!(tail.head, Some(b_id));
}

#[test]
fn a_torn_line_ends_the_valid_part() {
    let lines = Lines::new();
    let ((a_id, a), (_, b)) = (lines.line(None), lines.line(None));
    for torn in [&b[..5], b"\0\0\0\0", b"\xe2\x82", b"   ", b"{\"v\":1,\"id\":\"", b"text"] {
        let tail = tail_of(&[&a, torn]);
        assert_eq!((tail.head, tail.good, tail.unterminated), (Some(a_id), a.len() as u64, false), "{torn:?}");
        assert!(tail.is_torn());
    }
    let tail = tail_of(&[b"nothing but this"]);
    assert_eq!((tail.head, tail.good), (None, 0));
}

#[test]
fn a_value_inside_a_torn_line_is_no_event() {
    let lines = Lines::new();
    let ((a_id, a), (_, b)) = (lines.line(None), lines.line(None));
    let tail = tail_of(&[&a, b"{\"v\":1,\"type\":\"tool_call\",\"body\":{\"input\":", &b[..b.len() - 1]]);
    assert_eq!((tail.head, tail.good), (Some(a_id), a.len() as u64));
}

#[test]
fn a_whole_line_stays_when_a_torn_one_is_glued_to_it() {
    let lines = Lines::new();
    let ((a_id, a), (b_id, b)) = (lines.line(None), lines.line(None));
    let bare = &a[..a.len() - 1];
    let tail = tail_of(&[bare, &b[..30]]);
    assert_eq!((tail.head, tail.good), (Some(a_id), bare.len() as u64));
    assert!(tail.unterminated, "the first gets its newline back");
    let tail = tail_of(&[bare, &b[..b.len() - 1]]);
    assert_eq!((tail.head, tail.good, tail.unterminated), (Some(b_id), tail.len, true));
    let tail = tail_of(&[bare, &b]);
    assert_eq!((tail.head, tail.needs_repair()), (Some(b_id), false));
}

#[test]
fn a_batch_counts_as_a_whole_or_not_at_all() {
    let lines = Lines::new();
    let (before, start) = lines.line(None);
    let batch = lines.batch(4);
    let bytes: Vec<&[u8]> = batch.iter().map(|(_, line)| line.as_slice()).collect();
    for count in 0..4 {
        let tail = tail_of(&[&start, &bytes[..count].concat()]);
        assert_eq!((tail.head, tail.good), (Some(before), start.len() as u64), "{count} of 4");
    }
    let tail = tail_of(&[&start, &bytes.concat()]);
    assert_eq!((tail.head, tail.needs_repair()), (Some(batch[3].0), false));
    let tail = tail_of(&[&start, bytes[0], bytes[1], b"garbage\nmore garbage"]);
    assert_eq!((tail.head, tail.good), (Some(before), start.len() as u64));
    let tail = tail_of(&[&start[..start.len() - 1], bytes[0], bytes[1], b"gar"]);
    assert_eq!((tail.head, tail.good), (Some(before), start.len() as u64 - 1));
    assert!(tail.unterminated, "what stands before the batch gets its newline back");
}

#[test]
fn a_hole_invalidates_the_whole_batch() {
    let lines = Lines::new();
    let (before, start) = lines.line(None);
    let batch = lines.batch(4);
    let bytes: Vec<&[u8]> = batch.iter().map(|(_, line)| line.as_slice()).collect();
    let body = bytes.concat();
    // Every hole inside the batch, also one that ends exactly where a line starts.
    for from in 0..body.len() {
        for to in from + 1..=body.len() {
            let at_an_edge = body[..to].ends_with(b"\n") || to == from + 1;
            if from % 9 != 0 || to % 11 != 0 && !at_an_edge {
                continue;
            }
            let mut holed = body.clone();
            holed[from..to].fill(0);
            let tail = tail_of(&[&start, &holed]);
            assert_eq!(tail.head, Some(before), "hole {from}..{to}");
        }
    }
}

#[test]
fn later_damage_does_not_invalidate_a_batch() {
    let lines = Lines::new();
    let (_, start) = lines.line(None);
    let batch = lines.batch(3);
    let tail = tail_of(&[&start, &batch[0].1, b"overwritten by something\n", &batch[2].1]);
    assert_eq!((tail.head, tail.needs_repair()), (Some(batch[2].0), false));
}

#[test]
fn several_broken_batches_are_all_cut() {
    let lines = Lines::new();
    let (before, start) = lines.line(None);
    let (first, second) = (lines.batch(2), lines.batch(3));
    let pieces = [&start[..], &first[0].1, &second[0].1, &second[1].1];
    let tail = tail_of(&pieces);
    assert_eq!((tail.head, tail.good, tail.len), (Some(before), start.len() as u64, len_of(&pieces)));
}
