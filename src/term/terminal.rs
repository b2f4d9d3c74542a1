//! One terminal, opened: the parts of this room joined for a loop that waits for one thing at a time.
//!
//! [`Terminal::next`] says what happened and when to draw; [`Terminal::draw`] draws. Both ways out that come back, the
//! editor and the suspension, stop the reading, restore every mode, and on return enter again and draw everything.
//! Dropping it restores the terminal.

mod aside;
mod detour;
#[cfg(test)]
mod staged;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::Frame;
use thiserror::Error;
use tokio::sync::mpsc;

use super::capabilities::Capabilities;
use super::device::Tty;
use super::frames::{FrameLimiter, Pace, Reason};
use super::guard::{Guard, Origin};
use super::input::{Heard, Reader};
use super::modes::Mode;
use super::outlet::Outlet;
use super::query::{self, Answer};
use super::screen::Screen;
use super::signals::{Ending, JobControl, Stop, Stops};
use super::surroundings::Surroundings;
use crate::base::Fault;
use crate::base::keys::Input;

pub use self::detour::Lent;
#[cfg(test)]
pub use self::staged::Staged;

/// How long a start may wait for what the terminal says about itself.
pub const ANSWER_PATIENCE: Duration = Duration::from_millis(50);
/// How many things are heard in a row before a frame that is due gets its turn.
const TURN: u32 = 256;

/// What a person may choose about their terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Clicks and the wheel are reported, and the terminal's own selection needs shift.
    pub mouse: bool,
    /// The terminal is asked what it can do.
    pub ask: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { mouse: false, ask: true }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Input(Input),
    /// A frame is due: draw.
    Frame,
    /// The terminal has told something new about itself.
    Capabilities,
    /// Somebody asks the program to stop, as Ctrl-Z does: suspend.
    Suspend,
    /// The program has to end.
    Stop(Stop),
}

#[derive(Debug, Error)]
pub enum TermError {
    #[error("standard {stream} is not a terminal")]
    NotATerminal { stream: &'static str },
    #[error("this terminal says that it understands no control sequences (TERM is empty or `dumb`)")]
    Dumb,
    #[error("the terminal could not be switched to a full screen")]
    Enter(#[source] io::Error),
    #[error("the program could not stop itself")]
    Suspend(#[source] io::Error),
    #[error("the terminal is no longer there")]
    Gone(#[source] io::Error),
}

impl From<TermError> for Fault {
    fn from(error: TermError) -> Self {
        use std::error::Error;
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let fault = Self::environment(format!("{error}{cause}"));
        match error {
            TermError::NotATerminal { .. } | TermError::Dumb => fault.hint("use the plain front end: `mxd --plain`"),
            TermError::Enter(_) => fault.hint("if the terminal looks wrong now, type: reset"),
            TermError::Suspend(_) | TermError::Gone(_) => fault,
        }
    }
}

/// The terminal of this process.
pub struct Terminal {
    tty: Arc<Tty>,
    guard: Arc<Guard>,
    outlet: Outlet,
    reader: Option<Reader>,
    screen: Screen,
    frames: FrameLimiter,
    job: JobControl,
    ending: Ending,
    stops: mpsc::UnboundedReceiver<Stop>,
    heard: VecDeque<Heard>,
    since_frame: u32,
    capabilities: Capabilities,
    /// Questions were asked whose answers have not all come.
    is_answering: bool,
    has_focus: bool,
    size: (u16, u16),
    title: Option<String>,
}

impl Terminal {
    /// Tells whether there is a terminal to take over.
    pub fn check(surroundings: &Surroundings) -> Result<(), TermError> {
        if !rustix::termios::isatty(rustix::stdio::stdin()) {
            return Err(TermError::NotATerminal { stream: "input" });
        }
        if !rustix::termios::isatty(rustix::stdio::stdout()) {
            return Err(TermError::NotATerminal { stream: "output" });
        }
        if surroundings.is_dumb {
            return Err(TermError::Dumb);
        }
        Ok(())
    }

    /// Takes the terminal over. Must be called inside a runtime.
    pub fn open(surroundings: Surroundings, options: Options) -> Result<Self, TermError> {
        Self::check(&surroundings)?;
        Self::over(Tty::open().map_err(TermError::Enter)?, surroundings, options).map_err(TermError::Enter)
    }

    fn over(tty: Tty, surroundings: Surroundings, options: Options) -> io::Result<Self> {
        let tty = Arc::new(tty);
        let guard = Arc::new(Guard::new(Arc::clone(&tty)));
        let (stops, stopped) = Stops::channel();
        // Everything that can restore is in place before there is anything to restore.
        super::panic::restore_on_panic(&guard, stops.clone());
        let ending = Ending::listen(&guard, stops)?;
        let job = JobControl::listen()?;
        let outlet = Outlet::start(Arc::clone(&tty))?;
        let size = tty.size()?;
        let mut modes = Mode::SCREEN.to_vec();
        modes.push(Mode::SchemeReports);
        if options.mouse {
            modes.push(Mode::Mouse);
        }
        guard.enter(&modes, Origin::Now)?;
        let mut terminal = Self {
            reader: Some(Reader::start(Arc::clone(&tty))?),
            screen: Screen::new(size.0, size.1),
            frames: FrameLimiter::default(),
            capabilities: Capabilities::new(surroundings),
            heard: VecDeque::new(),
            since_frame: 0,
            is_answering: false,
            has_focus: true,
            title: None,
            stops: stopped,
            tty,
            guard,
            outlet,
            job,
            ending,
            size,
        };
        if options.ask {
            terminal.ask();
        }
        terminal.set_pace();
        terminal.request_frame(Reason::Input);
        Ok(terminal)
    }

    fn ask(&mut self) {
        if let Some(questions) = query::questions(&self.capabilities.surroundings) {
            self.is_answering = true;
            self.send(&questions);
        }
    }

    /// Waits for what the terminal says about itself, for a short time. What comes later comes as an event.
    pub async fn learn(&mut self) -> &Capabilities {
        self.hear_answers(ANSWER_PATIENCE).await;
        &self.capabilities
    }

    async fn hear_answers(&mut self, patience: Duration) {
        let deadline = tokio::time::Instant::now() + patience;
        while self.is_answering
            && let Some(reader) = &mut self.reader
            && let Ok(Some(heard)) = tokio::time::timeout_at(deadline, reader.next()).await
        {
            for heard in heard {
                match heard {
                    Heard::Answer(answer) => {
                        self.take_in(answer);
                    }
                    Heard::Input(_) => self.heard.push_back(heard),
                }
            }
        }
    }

    /// Takes an answer in. Tells whether anything is known now that was not known before.
    fn take_in(&mut self, answer: Answer) -> bool {
        match answer {
            Answer::KittyKeys => self.switch(Mode::KittyKeys, true),
            Answer::End => self.is_answering = false,
            Answer::Foreground(_) | Answer::Background(_) | Answer::SynchronizedOutput | Answer::Dark(_) => {}
        }
        self.capabilities.learn(answer)
    }

    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Waits for the next thing that happens. May be dropped at any moment without a loss.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.waiting() {
                return event;
            }
            let deadline = self.frames.deadline().map(tokio::time::Instant::from_std);
            tokio::select! {
                biased;
                Some(stop) = self.stops.recv() => return Event::Stop(stop),
                Some(()) = self.job.stop.recv() => return Event::Suspend,
                Some(()) = self.job.continued.recv() => self.go_on(),
                Some(()) = self.job.resized.recv() => self.measure(),
                heard = next_of(&mut self.reader) => match heard {
                    Some(heard) => self.heard.extend(heard),
                    // The reader has said that the terminal is gone and has ended.
                    None => self.reader = None,
                },
                () = self.outlet.landed() => self.frames.landed(),
                () = sleep_until(deadline) => return self.frame_due(),
            }
        }
    }

    /// Returns what has happened already.
    fn waiting(&mut self) -> Option<Event> {
        if let Ok(stop) = self.stops.try_recv() {
            return Some(Event::Stop(stop));
        }
        if self.since_frame >= TURN && self.frames.is_due(now()) {
            return Some(self.frame_due());
        }
        while let Some(heard) = self.heard.pop_front() {
            match heard {
                Heard::Answer(answer) => {
                    if self.take_in(answer) {
                        return Some(Event::Capabilities);
                    }
                }
                Heard::Input(input) => {
                    self.since_frame += 1;
                    if let Input::Focus(focus) = input {
                        self.has_focus = focus;
                        self.set_pace();
                    }
                    return Some(Event::Input(input));
                }
            }
        }
        None
    }

    fn frame_due(&mut self) -> Event {
        self.since_frame = 0;
        Event::Frame
    }

    fn set_pace(&mut self) {
        let watched = self.has_focus && !self.capabilities.surroundings.is_remote;
        self.frames.set_pace(if watched { Pace::Normal } else { Pace::Relaxed });
    }

    /// Looks how large the window is; says so when that is new. Everything is drawn anew in any case: a window that
    /// became small and large again has lost what was on it.
    fn measure(&mut self) {
        if let Ok(size) = self.tty.size()
            && size != self.size
        {
            self.size = size;
            self.screen.resize(size.0, size.1);
            self.heard.push_back(Heard::Input(Input::Resize(size.0, size.1)));
        }
        self.screen.invalidate();
        self.request_frame(Reason::Resize);
    }

    /// Makes the screen whole again after a stop that nobody announced.
    fn go_on(&mut self) {
        // Where this fails the terminal is gone, and reading says so.
        let _ = self.guard.assert_again();
        self.redraw();
    }

    fn redraw(&mut self) {
        self.measure();
        self.request_frame(Reason::Input);
    }

    /// Asks for a frame, which [`Terminal::next`] will announce.
    pub fn request_frame(&mut self, reason: Reason) {
        self.frames.request(now(), reason);
    }

    /// Draws a frame. While the last one is still on its way nothing is drawn; the frame stays due.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) {
        if self.outlet.is_busy() {
            self.frames.held_up();
            return;
        }
        let bytes = self.screen.compose(view);
        self.frames.drawn(now());
        if bytes.is_empty() {
            self.frames.landed();
        } else {
            self.outlet.frame(bytes);
        }
    }

    /// Draws everything anew in the next frame.
    pub fn invalidate(&mut self) {
        self.screen.invalidate();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.reader.take();
        self.guard.leave();
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn next_of(reader: &mut Option<Reader>) -> Option<Vec<Heard>> {
    match reader {
        Some(reader) => reader.next().await,
        None => std::future::pending().await,
    }
}
