use std::fs::File;
use std::io::Read;

use super::*;

/// A device that takes nothing once its buffer is full, and its other end.
fn slow_device() -> (Arc<Tty>, File) {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    let tty = Arc::new(Tty::from_fd(write));
    tty.open_gate(ScreenEpoch::default());
    (tty, File::from(read))
}

fn read_exactly(mut from: &File, bytes: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while all.len() < bytes {
        match from.read(&mut buffer) {
            Ok(count) => all.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
    all
}

#[tokio::test]
async fn a_written_frame_is_reported() {
    let (tty, end) = slow_device();
    let writer = TerminalWriter::start(tty).unwrap();
    writer.send_frame(b"frame".to_vec());
    writer.ready().await;
    assert!(!writer.is_busy());
    assert_eq!(read_exactly(&end, 5), b"frame");
}

#[tokio::test]
async fn a_stuck_terminal_does_not_block_the_caller() {
    let (tty, end) = slow_device();
    let writer = TerminalWriter::start(tty).unwrap();
    let frame = vec![b'x'; 1 << 20];
    writer.send_frame(frame.clone());
    let begun = read_exactly(&end, 1).len();
    assert!(writer.is_busy(), "larger than any buffer: it cannot be written yet");
    writer.send_control(b"title").unwrap();
    let reading = std::thread::spawn(move || read_exactly(&end, (1 << 20) + 5 - begun));
    writer.ready().await;
    let got = reading.join().unwrap();
    assert!(got.ends_with(b"xtitle"), "the title goes after the frame, not into it");
    assert_eq!(begun + got.len(), frame.len() + 5);
}

#[tokio::test]
async fn a_frame_of_an_earlier_epoch_is_cut_off() {
    let (tty, end) = slow_device();
    let writer = TerminalWriter::start(Arc::clone(&tty)).unwrap();
    writer.send_frame(vec![b'o'; 1 << 20]);
    let begun = read_exactly(&end, 1).len();
    tty.close_gate();
    tty.open_gate(ScreenEpoch::default().next());
    let reading = std::thread::spawn(move || {
        let mut all = Vec::new();
        while !all.ends_with(b"new") {
            all.extend(read_exactly(&end, 1));
        }
        all
    });
    writer.ready().await;
    writer.send_frame(b"new".to_vec());
    let got = reading.join().unwrap();
    assert!(begun + got.len() < 1 << 20, "{begun} and {}: the rest of the old frame was not dropped", got.len());
}

#[tokio::test]
async fn a_stuck_terminal_does_not_keep_the_program_from_ending() {
    let (tty, _end) = slow_device();
    let writer = TerminalWriter::start(tty).unwrap();
    writer.send_frame(vec![b'x'; 1 << 20]);
    drop(writer);
}

#[tokio::test]
async fn a_terminal_that_is_gone_is_not_waited_for() {
    let (tty, end) = slow_device();
    drop(end);
    let writer = TerminalWriter::start(tty).unwrap();
    writer.send_frame(b"frame".to_vec());
    writer.ready().await;
    assert!(!writer.is_busy());
}

#[test]
fn controls_for_a_stuck_terminal_are_bounded() {
    let (tty, _end) = slow_device();
    let writer = TerminalWriter::start(tty).unwrap();
    let mut sent = 0;
    while writer.send_control(&[b'x'; 4096]).is_ok() {
        sent += 4096;
        assert!(sent < 8 * CONTROL_LIMIT);
    }
}
