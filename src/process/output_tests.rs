use proptest::prelude::*;

use super::*;

/// A source that returns one chunk per read.
struct Chunks(std::vec::IntoIter<Vec<u8>>);

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(chunk) = self.0.find(|chunk| !chunk.is_empty()) else { return Ok(0) };
        buffer[..chunk.len()].copy_from_slice(&chunk);
        Ok(chunk.len())
    }
}

fn captured(chunks: Vec<Vec<u8>>, head: usize, overflow: Option<PathBuf>) -> Arc<Capture> {
    let capture = Capture::new(head);
    capture.pump(Chunks(chunks.into_iter()), overflow.map(OutputFile::new));
    capture.close();
    capture
}

proptest! {
    #[test]
    fn a_capture_agrees_with_the_whole_stream(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..40),
        head in 0_usize..2000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let whole = chunks.concat();
        let snapshot = captured(chunks, head, Some(path.clone())).snapshot();
        prop_assert_eq!(snapshot.total, whole.len() as u64);
        prop_assert_eq!(&snapshot.head[..], &whole[..whole.len().min(head)]);
        prop_assert!(whole.ends_with(&snapshot.tail));
        prop_assert_eq!(snapshot.tail.len(), whole.len().min(TAIL));
        prop_assert_eq!(snapshot.lines, line_breaks(&whole));
        prop_assert_eq!(snapshot.file.is_some(), whole.len() > head);
        if snapshot.file.is_some() {
            prop_assert_eq!(std::fs::read(path).unwrap(), whole);
        }
    }
}

#[test]
fn a_flood_keeps_its_end_and_counts_the_skipped_bytes() {
    let chunks: Vec<_> = (0..200_u8).map(|n| vec![n; 4096]).collect();
    let capture = captured(chunks, HEAD, None);
    let pending = capture.take_pending();
    assert_eq!(pending.bytes.len(), PENDING);
    assert_eq!(pending.skipped, 200 * 4096 - PENDING as u64);
    assert_eq!(pending.bytes.last(), Some(&199));
    let snapshot = capture.snapshot();
    assert_eq!((snapshot.head.len(), snapshot.tail.len()), (HEAD, TAIL));
}

#[tokio::test]
async fn waiting_for_output_ends_when_the_stream_does() {
    let capture = Capture::new(HEAD);
    let closed = capture.drain(std::io::Cursor::new(b"hello".to_vec()), None).unwrap();
    let _ = closed.await;
    capture.wait_for_output().await;
    assert_eq!(capture.take_pending().bytes, b"hello");
    capture.wait_for_output().await;
    assert!(capture.take_pending().bytes.is_empty());
}

#[test]
fn a_write_error_does_not_stop_the_drain() {
    let folder = tempfile::tempdir().unwrap();
    // A file where the folder should be, so that the overflow file cannot be created.
    std::fs::write(folder.path().join("blocked"), "").unwrap();
    let capture = captured(vec![vec![b'x'; 100], vec![b'y'; 100]], 50, Some(folder.path().join("blocked/out")));
    let snapshot = capture.snapshot();
    assert_eq!((snapshot.total, snapshot.file), (200, None));
}
