use std::fs::File;
use std::io::Read;
use std::sync::Barrier;

use portable_pty::{MasterPty, PtySize};
use rustix::termios::LocalModes;

use super::*;

/// A real pty, and what was written to it.
struct TestPty {
    tty: Arc<Tty>,
    master: Box<dyn MasterPty + Send>,
    /// Held open: the system forgets the settings of a tty that no process has open.
    slave: Box<dyn portable_pty::SlavePty + Send>,
}

impl TestPty {
    fn open() -> Self {
        let pair = portable_pty::native_pty_system().openpty(PtySize::default()).unwrap();
        let file = File::options().read(true).write(true).open(pair.master.tty_name().unwrap()).unwrap();
        Self { tty: Arc::new(Tty::from_fd(file.into())), master: pair.master, slave: pair.slave }
    }

    fn is_raw(&self) -> bool {
        !self.tty.settings().unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// Returns what was written, up to an end marker.
    fn written(&self) -> String {
        self.tty.write_now(b"<end>", WRITE_TIMEOUT).unwrap();
        let mut reader = self.master.try_clone_reader().unwrap();
        let mut all = String::new();
        let mut buffer = [0; 4096];
        while !all.ends_with("<end>") {
            let count = reader.read(&mut buffer).unwrap();
            all.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        all
    }
}

#[test]
fn modes_are_undone_once_however_often_leave_is_called() {
    let pty = TestPty::open();
    let guard = Guard::new(Arc::clone(&pty.tty));
    guard.enter(&Mode::SCREEN, Origin::Current).unwrap();
    assert!(pty.is_raw());
    guard.switch_on(Mode::Mouse).unwrap();
    assert_eq!(guard.switch_on(Mode::Mouse), None, "it is on already");
    guard.leave();
    guard.leave();
    drop(guard);
    assert!(!pty.is_raw());
    let written = pty.written();
    for mode in Mode::SCREEN.into_iter().chain([Mode::Mouse]) {
        assert_eq!(written.matches(&mode.unset()).count(), 1, "{mode:?} in {written:?}");
    }
}

#[test]
fn concurrent_leaves_restore_once_and_all_wait_for_it() {
    let pty = TestPty::open();
    let guard = Arc::new(Guard::new(Arc::clone(&pty.tty)));
    guard.enter(&Mode::SCREEN, Origin::Current).unwrap();
    let start = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (guard, start, tty) = (Arc::clone(&guard), Arc::clone(&start), Arc::clone(&pty.tty));
            std::thread::spawn(move || {
                start.wait();
                guard.leave();
                tty.settings().unwrap().local_modes.contains(LocalModes::ICANON)
            })
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap(), "leave returned before the terminal was restored");
    }
    assert_eq!(pty.written().matches(&Mode::AlternateScreen.unset()).count(), 1);
}

#[test]
fn a_broken_screen_is_not_entered_again() {
    let pty = TestPty::open();
    let guard = Guard::new(Arc::clone(&pty.tty));
    guard.enter(&Mode::SCREEN, Origin::Current).unwrap();
    guard.leave_permanently();
    assert!(guard.enter(&Mode::SCREEN, Origin::Current).is_err());
    assert!(!pty.is_raw());
    assert_eq!(pty.tty.epoch(), None, "no frame gets through");
}

#[test]
fn settings_left_by_an_editor_are_not_restored() {
    let pty = TestPty::open();
    let guard = Guard::new(Arc::clone(&pty.tty));
    guard.enter(&Mode::SCREEN, Origin::Current).unwrap();
    guard.leave();
    pty.tty.apply(&raw(&pty.tty.settings().unwrap())).unwrap();
    guard.enter(&Mode::SCREEN, Origin::Previous).unwrap();
    guard.leave();
    assert!(!pty.is_raw());
}

#[test]
fn a_mode_that_was_switched_off_is_not_switched_off_again() {
    let pty = TestPty::open();
    let guard = Guard::new(Arc::clone(&pty.tty));
    assert_eq!(guard.switch_on(Mode::Mouse), None, "nothing can be switched outside of the screen");
    guard.enter(&Mode::SCREEN, Origin::Current).unwrap();
    guard.switch_on(Mode::Mouse).unwrap();
    assert_eq!(guard.switch_off(Mode::Mouse), Some(Mode::Mouse.unset()));
    assert_eq!(guard.switch_off(Mode::Mouse), None);
    guard.leave();
    assert!(!pty.written().contains(&Mode::Mouse.unset()));
}

#[test]
fn leaving_a_terminal_that_is_gone_does_not_fail() {
    let pty = TestPty::open();
    let guard = Guard::new(Arc::clone(&pty.tty));
    guard.enter(&Mode::SCREEN, Origin::Current).unwrap();
    let TestPty { tty, master, slave } = pty;
    drop((master, slave));
    guard.leave();
    assert!(guard.enter(&Mode::SCREEN, Origin::Current).is_err());
    drop(tty);
}

/// A terminal whose other end is never read, with a full buffer after the screen was entered.
fn stuck() -> (Arc<Tty>, Arc<Guard>, portable_pty::PtyPair) {
    let pair = portable_pty::native_pty_system().openpty(PtySize::default()).unwrap();
    let path = pair.master.tty_name().unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK;
    let tty = Arc::new(Tty::from_fd(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap()));
    let guard = Arc::new(Guard::new(Arc::clone(&tty)));
    guard.enter(&Mode::SCREEN, Origin::Current).unwrap();
    let epoch = tty.epoch().unwrap();
    for piece in [4096, 1] {
        while tty.write_frame(epoch, &vec![b'x'; piece]) != crate::term::device::WriteOutcome::Full {}
    }
    (tty, guard, pair)
}

fn is_cooked(tty: &Tty) -> bool {
    tty.settings().unwrap().local_modes.contains(LocalModes::ICANON)
}

#[test]
fn settings_are_restored_even_if_the_terminal_takes_no_bytes() {
    let (tty, guard, _pair) = stuck();
    guard.leave();
    assert!(is_cooked(&tty));
}

#[test]
fn a_second_leave_waits_until_the_first_is_done() {
    let (tty, guard, _pair) = stuck();
    let slow = Arc::clone(&guard);
    let first = std::thread::spawn(move || slow.leave());
    while !guard.modes().is_empty() {
        std::thread::yield_now();
    }
    // The first one is still restoring, unless this machine is so slow that it timed out already.
    guard.leave();
    assert!(is_cooked(&tty));
    first.join().unwrap();
}
