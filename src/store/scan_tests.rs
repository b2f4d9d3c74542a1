use proptest::prelude::*;

use super::*;

/// A file that is only read.
pub(in crate::store) struct Bytes(pub Vec<u8>);

impl DiskFile for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap().min(self.0.len());
        let count = buffer.len().min(self.0.len() - start);
        buffer[..count].copy_from_slice(&self.0[start..start + count]);
        Ok(count)
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.truncate(usize::try_from(len).unwrap());
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

type Line = (u64, Option<Vec<u8>>, bool);

fn forward(file: &Bytes, start: u64, end: u64) -> Vec<Line> {
    let mut lines = Forward::new(file, start, end);
    let mut found = Vec::new();
    while let Some(span) = lines.next_line().unwrap() {
        found.push((span.offset, span.bytes.map(<[u8]>::to_vec), span.terminated));
    }
    found
}

fn backward(file: &Bytes, end: u64) -> Vec<Line> {
    let mut lines = Backward::new(file, end).unwrap();
    let mut found = Vec::new();
    while let Some(span) = lines.next_line().unwrap() {
        found.push((span.offset, span.bytes, span.terminated));
    }
    found.reverse();
    found
}

/// A naive implementation to compare with.
fn naive(bytes: &[u8]) -> Vec<Line> {
    let mut found = Vec::new();
    let mut at = 0;
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        let terminated = piece.ends_with(b"\n");
        let line = piece.strip_suffix(b"\n").unwrap_or(piece);
        found.push((at as u64, Some(line.to_vec()), terminated));
        at += piece.len();
    }
    found
}

fn bytes_of(lines: &[Line]) -> Vec<&[u8]> {
    lines.iter().map(|(_, bytes, _)| bytes.as_deref().unwrap()).collect()
}

#[test]
fn an_empty_file_has_no_lines() {
    let file = Bytes(Vec::new());
    assert_eq!(forward(&file, 0, 0), []);
    assert_eq!(backward(&file, 0), []);
}

#[test]
fn lines_longer_than_a_chunk_are_complete() {
    for len in [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 7] {
        let mut bytes = b"short\n".to_vec();
        bytes.resize(bytes.len() + len, b'x');
        bytes.extend_from_slice(b"\n\nend");
        let file = Bytes(bytes);
        let expected = naive(&file.0);
        assert_eq!(forward(&file, 0, file.0.len() as u64), expected, "{len}");
        assert_eq!(backward(&file, file.0.len() as u64), expected, "{len}");
    }
}

#[test]
fn an_oversized_line_is_skipped_and_hides_nothing() {
    for excess in [0, 1, CHUNK + 1, MAX_LINE] {
        let mut bytes = b"before\n".to_vec();
        bytes.resize(bytes.len() + MAX_LINE + excess, b'x');
        bytes.extend_from_slice(b"\nafter\n");
        let file = Bytes(bytes);
        let end = file.0.len() as u64;
        let expected = vec![
            (0, Some(b"before".to_vec()), true),
            (7, None, true),
            ((8 + MAX_LINE + excess) as u64, Some(b"after".to_vec()), true),
        ];
        assert!(forward(&file, 0, end) == expected, "forward, {excess} too many");
        assert!(backward(&file, end) == expected, "backward, {excess} too many");
    }
}

#[test]
fn glued_lines_are_two_lines() {
    let file = Bytes(b"{\"v\":1,\"a\":{}}{\"v\":1,\"b\":\"\\\"}{\"}{\"v\":2}\n{\"v\":3}{\"v\":4".to_vec());
    let end = file.0.len() as u64;
    let found = forward(&file, 0, end);
    let expected: [&[u8]; 5] =
        [b"{\"v\":1,\"a\":{}}", b"{\"v\":1,\"b\":\"\\\"}{\"}", b"{\"v\":2}", b"{\"v\":3}", b"{\"v\":4"];
    assert_eq!(bytes_of(&found), expected);
    assert_eq!(found.iter().map(|(_, _, ended)| *ended).collect::<Vec<_>>(), [false, false, true, false, false]);
    assert_eq!(backward(&file, end), found);
    for (offset, _, _) in &found {
        let before: Vec<_> = found.iter().filter(|(other, _, _)| other < offset).cloned().collect();
        let resumed = backward(&file, *offset);
        assert_eq!(bytes_of(&resumed), bytes_of(&before), "taken up again in the middle of a line");
    }
}

#[test]
fn a_file_that_shrinks_under_the_reader_is_an_error_and_not_a_loop() {
    let file = Bytes(b"a\n".to_vec());
    assert_eq!(Backward::new(&file, 10).err().map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
    assert_eq!(forward(&file, 0, 10), naive(b"a\n"));
}

proptest! {
    #[test]
    fn both_directions_see_the_same_lines(
        pieces in prop::collection::vec((prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'}'), any::<u8>()], 0..9), 0..40_000_usize), 0..6),
    ) {
        let mut bytes = Vec::new();
        for (piece, run) in pieces {
            bytes.extend(piece);
            bytes.resize(bytes.len() + run, b'r');
        }
        let file = Bytes(bytes);
        let end = file.0.len() as u64;
        let expected = naive(&file.0);
        prop_assert_eq!(&forward(&file, 0, end), &expected);
        prop_assert_eq!(&backward(&file, end), &expected);
        // From any line's start on, and back from it.
        for (number, (offset, _, _)) in expected.iter().enumerate() {
            prop_assert_eq!(&forward(&file, *offset, end)[..], &expected[number..]);
            prop_assert_eq!(&backward(&file, *offset)[..], &expected[..number]);
        }
    }
}
