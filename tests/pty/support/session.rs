//! A program in a terminal of its own: typed at, looked at, resized, signalled, hung up on.
//!
//! Every wait is for something the program does, wakes with its output, and has a bound that is only ever reached by
//! a failure, which then shows the screen and the last bytes.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::bytes::Traffic;
use super::settings::{Settings, is_raw};
use super::world::World;
use super::{keys, picture};

/// How long a program may take for what is expected of it. Only a failure waits so long.
const BOUND: Duration = Duration::from_secs(60);

pub struct Session {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keyboard: Option<Box<dyn Write + Send>>,
    /// Held open: the system forgets the settings of a terminal that nobody has open.
    slave: Option<Box<dyn SlavePty + Send>>,
    line: Option<File>,
    shown: Arc<Shown>,
    watching: Option<JoinHandle<()>>,
    before: Settings,
}

/// What has been seen of the program.
struct Shown {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    terminal: vt100::Parser,
    traffic: Vec<u8>,
    /// The text of every whole frame: some words are there for a moment only, and a slow machine looks up too late.
    frames: Vec<String>,
    closing: bool,
}

/// What ends a frame.
const FRAME_END: &[u8] = b"\x1b[?2026l";

impl State {
    fn take_in(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let end = memchr::memmem::find(bytes, FRAME_END).map(|at| at + FRAME_END.len());
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.terminal.process(piece);
            self.traffic.extend_from_slice(piece);
            if self.traffic.ends_with(FRAME_END) {
                self.frames.push(picture::text(self.terminal.screen()));
            }
            bytes = rest;
        }
    }

    /// Tells whether no frame is being drawn.
    fn is_whole(&self) -> bool {
        let last = |mark: &[u8]| memchr::memmem::rfind(&self.traffic, mark);
        last(b"\x1b[?2026h") <= last(FRAME_END)
    }
}

/// How a program ended, and what it left behind.
pub struct Ended {
    pub code: u32,
    pub traffic: Traffic,
    pub text: String,
    before: Settings,
    after: Settings,
}

impl Ended {
    /// Asserts that the line has the settings that it had.
    #[track_caller]
    pub fn assert_same_line(&self) {
        assert_eq!(self.before, self.after, "the line settings");
    }

    /// Asserts that the terminal is as it was: settings, modes, cursor.
    #[track_caller]
    pub fn assert_restored(&self, stays: usize) {
        self.assert_same_line();
        self.traffic.assert_restored(stays);
    }
}

impl Session {
    /// Starts a program in a terminal of so many columns and rows.
    pub fn start(world: &World, program: &Path, arguments: &[&str], columns: u16, rows: u16) -> Self {
        let size = PtySize { cols: columns, rows, pixel_width: 0, pixel_height: 0 };
        let pair = portable_pty::native_pty_system().openpty(size).unwrap();
        let line = File::options().read(true).write(true).open(pair.master.tty_name().unwrap()).unwrap();
        let before = Settings::of(&line);
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(world.cwd());
        command.env_clear();
        for (name, value) in world.variables() {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let state = State { terminal: parser(columns, rows), traffic: Vec::new(), frames: Vec::new(), closing: false };
        let shown = Arc::new(Shown { state: Mutex::new(state), changed: Condvar::new() });
        let output = pair.master.try_clone_reader().unwrap();
        let watched = Arc::clone(&shown);
        Self {
            child,
            keyboard: Some(pair.master.take_writer().unwrap()),
            master: Some(pair.master),
            slave: Some(pair.slave),
            line: Some(line),
            shown,
            watching: Some(std::thread::spawn(move || watch(output, &watched))),
            before,
        }
    }

    /// Types keys by their names: `session.press("ctrl-x enter")`.
    pub fn press(&mut self, chord: &str) {
        self.send(&keys::bytes(chord));
    }

    /// Sends bytes as the terminal would: typed text, a paste, an answer.
    pub fn send(&mut self, bytes: &[u8]) {
        let keyboard = self.keyboard.as_mut().unwrap();
        keyboard.write_all(bytes).unwrap();
        keyboard.flush().unwrap();
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.shown.state.lock().unwrap().terminal.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
        let size = PtySize { cols: columns, rows, pixel_width: 0, pixel_height: 0 };
        self.master.as_ref().unwrap().resize(size).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.process_id().unwrap()).unwrap()).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the screen is as `is_so` says, and returns its text. A frame that is only half there is not looked at.
    #[track_caller]
    pub fn wait_for(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) -> String {
        let state = self.wait(what, |state| state.is_whole() && is_so(state.terminal.screen()));
        picture::text(state.terminal.screen())
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) -> String {
        self.wait_for(&format!("the text {text:?}"), |screen| picture::text(screen).contains(text))
    }

    /// Waits until the screen has shown a text, though it may be gone again.
    #[track_caller]
    pub fn wait_for_glimpse(&self, text: &str) {
        let seen = |state: &State| state.frames.iter().any(|frame| frame.contains(text));
        drop(self.wait(&format!("a glimpse of {text:?}"), seen));
    }

    /// Waits until the program has written bytes that `is_so` is content with.
    #[track_caller]
    pub fn wait_for_bytes(&self, what: &str, is_so: impl Fn(&[u8]) -> bool) {
        drop(self.wait(what, |state| is_so(&state.traffic)));
    }

    #[track_caller]
    fn wait(&self, what: &str, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.shown.state.lock().unwrap();
        let (state, waited) = self.shown.changed.wait_timeout_while(state, BOUND, |state| !is_so(state)).unwrap();
        if waited.timed_out() {
            let tail = state.traffic[state.traffic.len().saturating_sub(400)..].escape_ascii().to_string();
            let screen = picture::text(state.terminal.screen());
            drop(state);
            panic!("{what} did not come. The screen:\n{screen}\nThe last bytes: {tail}");
        }
        state
    }

    /// Waits for something that the program does elsewhere.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + BOUND;
        while !is_so() {
            assert!(Instant::now() < end, "{what} did not come. The screen:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the program is stopped, as by Ctrl-Z.
    #[track_caller]
    pub fn wait_until_stopped(&self) {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        self.wait_until("the stop", || waitid(WaitId::Pid(self.pid()), options).unwrap().is_some());
    }

    /// Tells whether the program has ended; it can still be waited for.
    pub fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options).unwrap().is_some()
    }

    /// Tells whether the program has the terminal for itself: keys come one by one and unseen.
    pub fn is_raw(&self) -> bool {
        is_raw(self.line.as_ref().unwrap())
    }

    /// Asserts that the line settings are those from before the program.
    #[track_caller]
    pub fn assert_settings_restored(&self) {
        assert_eq!(self.before, Settings::of(self.line.as_ref().unwrap()));
    }

    pub fn text(&self) -> String {
        picture::text(self.shown.state.lock().unwrap().terminal.screen())
    }

    /// Returns the screen with its styles; see [`picture::styled`].
    pub fn picture(&self, name: impl Fn(vt100::Color) -> Option<String>) -> String {
        picture::styled(self.shown.state.lock().unwrap().terminal.screen(), name)
    }

    /// Returns the screen as of the last whole frame.
    #[track_caller]
    pub fn screen(&self) -> vt100::Screen {
        self.wait("the end of the frame", State::is_whole).terminal.screen().clone()
    }

    pub fn traffic(&self) -> Traffic {
        Traffic(self.shown.state.lock().unwrap().traffic.clone())
    }

    /// Quits, and stops the agents where one is still at work: whether one is may depend on the moment.
    #[track_caller]
    pub fn quit(self) -> Ended {
        self.end_with("s")
    }

    /// Quits, and lets agents that are at work go on.
    #[track_caller]
    pub fn leave(self) -> Ended {
        self.end_with("k")
    }

    #[track_caller]
    fn end_with(mut self, choice: &'static str) -> Ended {
        self.press("ctrl-q");
        let mut key = None;
        self.wait_until("the end", || {
            let text = self.text();
            let keys = [(" y yes  n no", "y"), ("s stop them", choice)];
            key = keys.iter().find(|(hint, _)| text.contains(hint)).map(|(_, key)| *key);
            key.is_some() || self.has_exited()
        });
        if let Some(key) = key.filter(|_| !self.has_exited()) {
            self.press(key);
        }
        self.wait_for_end()
    }

    /// Waits until the program has ended, and until all it wrote has been seen.
    #[track_caller]
    pub fn wait_for_end(mut self) -> Ended {
        let code = self.wait_for_exit();
        let after = Settings::of(self.line.as_ref().unwrap());
        self.close_line();
        let state = self.shown.state.lock().unwrap();
        Ended {
            code,
            traffic: Traffic(state.traffic.clone()),
            text: picture::text(state.terminal.screen()),
            before: self.before.clone(),
            after,
        }
    }

    #[track_caller]
    pub fn wait_for_exit(&mut self) -> u32 {
        let mut status = None;
        let end = Instant::now() + BOUND;
        while status.is_none() {
            assert!(Instant::now() < end, "the program does not end. The screen:\n{}", self.text());
            status = self.child.try_wait().unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        status.unwrap().exit_code()
    }

    /// Closes our ends of the line, so that the watcher sees the end of what was written.
    fn close_line(&mut self) {
        self.slave = None;
        self.line = None;
        if let Some(watching) = self.watching.take() {
            watching.join().unwrap();
        }
    }

    /// Puts the line into the settings from before, as a shell does when a program stops.
    pub fn cook_line(&self) {
        let line = self.line.as_ref().unwrap();
        let mut settings = tcgetattr(line).unwrap();
        settings.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcsetattr(line, OptionalActions::Now, &settings).unwrap();
    }

    /// Writes to the screen as another program would.
    pub fn scribble(&self, text: &str) {
        self.line.as_ref().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Takes the terminal away, as closing its window does.
    pub fn hang_up(&mut self) {
        self.shown.state.lock().unwrap().closing = true;
        // Something to read, so that the watcher looks up and lets go.
        self.line.as_ref().unwrap().write_all(b"\0").unwrap();
        self.watching.take().unwrap().join().unwrap();
        self.keyboard = None;
        self.master = None;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A failed test leaves nothing behind. One that ended has been waited for.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn at_least_one(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN)
}

fn parser(columns: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0)
}

fn watch(mut output: Box<dyn Read + Send>, shown: &Shown) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = output.read(&mut buffer).unwrap_or(0);
        let mut state = shown.state.lock().unwrap();
        if count == 0 || state.closing {
            break;
        }
        state.take_in(&buffer[..count]);
        drop(state);
        shown.changed.notify_all();
    }
}
