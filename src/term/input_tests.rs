use std::fs::File;
use std::io::Write;

use super::*;
use crate::base::keys::Key;

/// A device to read from, and its other end.
fn device() -> (Arc<Tty>, File) {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    (Arc::new(Tty::from_fd(read)), File::from(write))
}

fn key(char: char) -> ReaderEvent {
    ReaderEvent::Input(Input::Key(Key::char(char)))
}

#[tokio::test]
async fn input_is_read_in_order() {
    let (tty, mut end) = device();
    let mut reader = Reader::start(tty).unwrap();
    end.write_all(b"ab").unwrap();
    assert_eq!(reader.next().await, Some(vec![key('a'), key('b')]));
    end.write_all(b"\x1b").unwrap();
    assert_eq!(reader.next().await, Some(vec![ReaderEvent::Input(Input::Key("esc".parse().unwrap()))]));
}

#[tokio::test]
async fn a_closed_terminal_is_reported_once_and_nothing_follows() {
    let (tty, mut end) = device();
    let mut reader = Reader::start(tty).unwrap();
    end.write_all(b"x").unwrap();
    drop(end);
    let mut all = Vec::new();
    while let Some(events) = reader.next().await {
        all.extend(events);
    }
    assert_eq!(all, [key('x'), ReaderEvent::Input(Input::Closed)]);
}

#[tokio::test]
async fn a_terminal_that_cannot_be_read_counts_as_closed() {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    drop(read);
    // The writing end of a pipe: every read is an error.
    let mut reader = Reader::start(Arc::new(Tty::from_fd(write))).unwrap();
    assert_eq!(reader.next().await, Some(vec![ReaderEvent::Input(Input::Closed)]));
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn after_a_stop_every_byte_is_left_for_the_next_reader() {
    let (tty, mut end) = device();
    let reader = Reader::start(Arc::clone(&tty)).unwrap();
    assert_eq!(reader.stop(), []);
    end.write_all(b"for the next program").unwrap();
    let mut buffer = [0; 64];
    let count = tty.read(&mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"for the next program");
}

#[tokio::test]
async fn a_reader_whose_queue_is_full_can_be_stopped() {
    let (tty, mut end) = device();
    let reader = Reader::start(tty).unwrap();
    // Each write is read before the next, so that each takes a queue slot; the last ones find none.
    for _ in 0..QUEUE + 2 {
        let _ = end.write_all(b"x");
        std::thread::yield_now();
    }
    let left = reader.stop();
    assert!(left.iter().all(|event| *event == key('x')), "{left:?}");
}
