use proptest::prelude::*;

use super::{EVENT_LIMIT, Splitter, SseEvent, TooLarge};

fn split(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let (mut splitter, mut events) = (Splitter::default(), Vec::new());
    for piece in pieces {
        splitter.push(piece, &mut events).unwrap();
    }
    events.extend(splitter.finish());
    events
}

fn event(name: &str, data: &str) -> SseEvent {
    SseEvent { name: name.to_owned(), data: data.to_owned() }
}

const STREAM: &str = "\u{feff}: hello\n\nevent: a\ndata: {\"x\":\"é👩\"}\n\n:keep-alive\n\ndata:one\ndata: two\n\
                      id: 7\nretry: 10\n\nevent: nothing\n\ndata\n\nunknown: x\ndata:  padded\n\n";

fn expected() -> Vec<SseEvent> {
    vec![event("a", "{\"x\":\"é👩\"}"), event("", "one\ntwo"), event("", ""), event("", " padded")]
}

#[test]
fn every_line_end_gives_the_same_events_at_every_split() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = STREAM.replace('\n', end);
        assert_eq!(split(&[stream.as_bytes()]), expected(), "{end:?} whole");
        for at in 0..=stream.len() {
            let (head, tail) = stream.as_bytes().split_at(at);
            assert_eq!(split(&[head, tail]), expected(), "{end:?} split at {at}");
        }
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(split(&bytes), expected(), "{end:?} byte by byte");
    }
}

#[test]
fn an_unterminated_event_is_returned_at_the_end() {
    assert_eq!(split(&[b"data: 1\n\ndata: [DONE]"]), [event("", "1"), event("", "[DONE]")]);
    assert_eq!(split(&[b"data: 1\n\nevent: x\n"]), [event("", "1")]);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    assert_eq!(split(&[b"data: 1\n\n\xEF\xBB\xBFdata: 2\n\n"]), [event("", "1")]);
}

#[test]
fn an_event_without_end_is_refused_and_many_large_ones_are_not() {
    let chunk = vec![b'x'; EVENT_LIMIT / 4];
    let (mut endless, mut events) = (Splitter::default(), Vec::new());
    endless.push(b"data: ", &mut events).unwrap();
    let pushed: Vec<_> = (0..5).map(|_| endless.push(&chunk, &mut events)).collect();
    assert_eq!(pushed[..3], [Ok(()), Ok(()), Ok(())]);
    assert_eq!(pushed[4], Err(TooLarge));

    let mut many_lines = Splitter::default();
    let line = [b"data: ".as_slice(), &chunk, b"\n"].concat();
    assert!((0..5).any(|_| many_lines.push(&line, &mut events).is_err()));

    let mut fine = Splitter::default();
    let event = [line.as_slice(), b"\n"].concat();
    assert!((0..5).all(|_| fine.push(&event, &mut events).is_ok()));
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_the_same_events(
        bytes in prop::collection::vec(prop::sample::select(b"\r\n:d at event\xEF\xBB\xBF\xff1".to_vec()), 0..60),
        cuts in prop::collection::vec(0usize..60, 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(split(&pieces), split(&[&bytes]));
    }
}
