use std::fs::File;
use std::io::Read;
use std::sync::Barrier;

use portable_pty::{MasterPty, PtySize};
use rustix::termios::LocalModes;

use super::*;

/// A real line, and what was written to it.
struct Line {
    tty: Arc<Tty>,
    master: Box<dyn MasterPty + Send>,
    /// Held open: the system forgets the settings of a line that nobody has open.
    slave: Box<dyn portable_pty::SlavePty + Send>,
}

impl Line {
    fn open() -> Self {
        let pair = portable_pty::native_pty_system().openpty(PtySize::default()).unwrap();
        let file = File::options().read(true).write(true).open(pair.master.tty_name().unwrap()).unwrap();
        Self { tty: Arc::new(Tty::over(file.into())), master: pair.master, slave: pair.slave }
    }

    fn is_raw(&self) -> bool {
        !self.tty.settings().unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// Returns what was written, up to an end that the test writes itself.
    fn written(&self) -> String {
        self.tty.write_now(b"<end>", PATIENCE).unwrap();
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
fn whatever_is_entered_is_left_once_however_often_it_is_asked_for() {
    let line = Line::open();
    let guard = Guard::new(Arc::clone(&line.tty));
    guard.enter(&Mode::SCREEN, Origin::Now).unwrap();
    assert!(line.is_raw());
    guard.switch_on(Mode::Mouse).unwrap();
    assert_eq!(guard.switch_on(Mode::Mouse), None, "it is on already");
    guard.leave();
    guard.leave();
    drop(guard);
    assert!(!line.is_raw());
    let written = line.written();
    for mode in Mode::SCREEN.into_iter().chain([Mode::Mouse]) {
        assert_eq!(written.matches(&mode.unset()).count(), 1, "{mode:?} in {written:?}");
    }
}

#[test]
fn many_who_leave_at_once_leave_once_and_all_see_it_done() {
    let line = Line::open();
    let guard = Arc::new(Guard::new(Arc::clone(&line.tty)));
    guard.enter(&Mode::SCREEN, Origin::Now).unwrap();
    let start = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (guard, start, tty) = (Arc::clone(&guard), Arc::clone(&start), Arc::clone(&line.tty));
            std::thread::spawn(move || {
                start.wait();
                guard.leave();
                tty.settings().unwrap().local_modes.contains(LocalModes::ICANON)
            })
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap(), "somebody went on before the terminal was restored");
    }
    assert_eq!(line.written().matches(&Mode::AlternateScreen.unset()).count(), 1);
}

#[test]
fn a_broken_screen_is_not_entered_again() {
    let line = Line::open();
    let guard = Guard::new(Arc::clone(&line.tty));
    guard.enter(&Mode::SCREEN, Origin::Now).unwrap();
    guard.leave_for_good();
    assert!(guard.enter(&Mode::SCREEN, Origin::Now).is_err());
    assert!(!line.is_raw());
    assert_eq!(line.tty.entry(), None, "no frame gets through");
}

#[test]
fn what_an_editor_left_is_not_gone_back_to() {
    let line = Line::open();
    let guard = Guard::new(Arc::clone(&line.tty));
    guard.enter(&Mode::SCREEN, Origin::Now).unwrap();
    guard.leave();
    line.tty.apply(&raw(&line.tty.settings().unwrap())).unwrap();
    guard.enter(&Mode::SCREEN, Origin::Before).unwrap();
    guard.leave();
    assert!(!line.is_raw());
}

#[test]
fn a_mode_that_was_switched_off_is_not_switched_off_again() {
    let line = Line::open();
    let guard = Guard::new(Arc::clone(&line.tty));
    assert_eq!(guard.switch_on(Mode::Mouse), None, "nothing can be switched outside of the screen");
    guard.enter(&Mode::SCREEN, Origin::Now).unwrap();
    guard.switch_on(Mode::Mouse).unwrap();
    assert_eq!(guard.switch_off(Mode::Mouse), Some(Mode::Mouse.unset()));
    assert_eq!(guard.switch_off(Mode::Mouse), None);
    guard.leave();
    assert!(!line.written().contains(&Mode::Mouse.unset()));
}

#[test]
fn a_terminal_that_is_gone_is_left_without_a_word() {
    let line = Line::open();
    let guard = Guard::new(Arc::clone(&line.tty));
    guard.enter(&Mode::SCREEN, Origin::Now).unwrap();
    let Line { tty, master, slave } = line;
    drop((master, slave));
    guard.leave();
    assert!(guard.enter(&Mode::SCREEN, Origin::Now).is_err());
    drop(tty);
}

/// A terminal whose other end nobody reads, filled to the brim after the screen was entered.
fn stuck() -> (Arc<Tty>, Arc<Guard>, portable_pty::PtyPair) {
    let pair = portable_pty::native_pty_system().openpty(PtySize::default()).unwrap();
    let path = pair.master.tty_name().unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::NONBLOCK;
    let tty = Arc::new(Tty::over(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap()));
    let guard = Arc::new(Guard::new(Arc::clone(&tty)));
    guard.enter(&Mode::SCREEN, Origin::Now).unwrap();
    let entry = tty.entry().unwrap();
    for piece in [4096, 1] {
        while tty.write_frame(entry, &vec![b'x'; piece]) != crate::term::device::Wrote::Full {}
    }
    (tty, guard, pair)
}

fn is_cooked(tty: &Tty) -> bool {
    tty.settings().unwrap().local_modes.contains(LocalModes::ICANON)
}

#[test]
fn a_terminal_that_takes_nothing_is_given_up_and_its_settings_restored() {
    let (tty, guard, _pair) = stuck();
    guard.leave();
    assert!(is_cooked(&tty));
}

#[test]
fn whoever_comes_while_another_restores_waits_until_it_is_done() {
    let (tty, guard, _pair) = stuck();
    let slow = Arc::clone(&guard);
    let first = std::thread::spawn(move || slow.leave());
    while !guard.modes().is_empty() {
        std::thread::yield_now();
    }
    // The first one is still at it, unless this machine is so slow that it has given up already.
    guard.leave();
    assert!(is_cooked(&tty));
    first.join().unwrap();
}
