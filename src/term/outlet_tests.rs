use std::fs::File;
use std::io::Read;

use super::*;

/// A device that takes nothing once its buffer is full, and the other end of it.
fn slow_device() -> (Arc<Tty>, File) {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    let tty = Arc::new(Tty::over(write));
    tty.open_door(Entry::default());
    (tty, File::from(read))
}

/// Reads until `bytes` have come.
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
async fn a_frame_lands_and_is_told() {
    let (tty, end) = slow_device();
    let outlet = Outlet::start(tty).unwrap();
    outlet.frame(b"frame".to_vec());
    outlet.landed().await;
    assert!(!outlet.is_busy());
    assert_eq!(read_exactly(&end, 5), b"frame");
}

#[tokio::test]
async fn a_terminal_that_takes_nothing_makes_nobody_wait() {
    let (tty, end) = slow_device();
    let outlet = Outlet::start(tty).unwrap();
    let frame = vec![b'x'; 1 << 20];
    outlet.frame(frame.clone());
    let begun = read_exactly(&end, 1).len();
    assert!(outlet.is_busy(), "larger than any buffer: it cannot have landed");
    outlet.control(b"title").unwrap();
    let reading = std::thread::spawn(move || read_exactly(&end, (1 << 20) + 5 - begun));
    outlet.landed().await;
    let got = reading.join().unwrap();
    assert!(got.ends_with(b"xtitle"), "the title goes after the frame, not into it");
    assert_eq!(begun + got.len(), frame.len() + 5);
}

#[tokio::test]
async fn a_frame_of_an_earlier_stay_is_cut_off() {
    let (tty, end) = slow_device();
    let outlet = Outlet::start(Arc::clone(&tty)).unwrap();
    outlet.frame(vec![b'o'; 1 << 20]);
    let begun = read_exactly(&end, 1).len();
    tty.shut_door();
    tty.open_door(Entry::default().next());
    let reading = std::thread::spawn(move || {
        let mut all = Vec::new();
        while !all.ends_with(b"new") {
            all.extend(read_exactly(&end, 1));
        }
        all
    });
    outlet.landed().await;
    outlet.frame(b"new".to_vec());
    let got = reading.join().unwrap();
    assert!(begun + got.len() < 1 << 20, "{begun} and {}: the rest of the old frame was not dropped", got.len());
}

#[tokio::test]
async fn a_stuck_terminal_does_not_keep_the_program_from_ending() {
    let (tty, _end) = slow_device();
    let outlet = Outlet::start(tty).unwrap();
    outlet.frame(vec![b'x'; 1 << 20]);
    drop(outlet);
}

#[tokio::test]
async fn a_terminal_that_is_gone_is_not_waited_for() {
    let (tty, end) = slow_device();
    drop(end);
    let outlet = Outlet::start(tty).unwrap();
    outlet.frame(b"frame".to_vec());
    outlet.landed().await;
    assert!(!outlet.is_busy());
}

#[test]
fn controls_for_a_stuck_terminal_are_bounded() {
    let (tty, _end) = slow_device();
    let outlet = Outlet::start(tty).unwrap();
    let mut sent = 0;
    while outlet.control(&[b'x'; 4096]).is_ok() {
        sent += 4096;
        assert!(sent < 8 * CONTROL_LIMIT);
    }
}
