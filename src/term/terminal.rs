//! The open terminal: input, signals, frames and modes behind one event loop.
//!
//! [`Terminal::next`] returns what happened and when to draw; [`Terminal::draw`] draws. Handing the terminal to an
//! editor and suspending both stop reading and restore every mode; on return they enter the screen again and redraw
//! everything. Dropping the terminal restores it.

#[cfg(test)]
mod fake;
mod osc_output;
mod suspend;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::Frame;
use thiserror::Error;
use tokio::sync::mpsc;

use super::capabilities::Capabilities;
use super::device::Tty;
use super::env::TerminalEnv;
use super::frames::{FrameLimiter, FrameRate, Reason};
use super::guard::{Guard, Origin};
use super::input::{Reader, ReaderEvent};
use super::modes::Mode;
use super::query::{self, QueryReply};
use super::screen::Screen;
use super::signals::{JobControl, Stop, StopListener, StopSender};
use super::writer::TerminalWriter;
use crate::base::Fault;
use crate::base::keys::Input;

#[cfg(test)]
pub use self::fake::FakeUser;
pub use self::suspend::HandOff;

/// How long a start waits for the terminal's replies.
pub const REPLY_TIMEOUT: Duration = Duration::from_millis(50);
/// Events handled in a row before a frame that is due gets its turn.
const EVENTS_PER_FRAME: u32 = 256;

/// User options for the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Capture clicks and the wheel; the terminal's own selection then needs shift.
    pub mouse: bool,
    /// Query the terminal for its capabilities.
    pub query: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { mouse: false, query: true }
    }
}

/// A terminal event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Input(Input),
    /// A frame is due: draw.
    Frame,
    /// The terminal reported a new capability.
    Capabilities,
    /// SIGTSTP, as sent by Ctrl-Z: suspend.
    Suspend,
    /// The program has to end.
    Stop(Stop),
}

#[derive(Debug, Error)]
pub enum TermError {
    #[error("standard {stream} is not a terminal")]
    NotATerminal { stream: &'static str },
    #[error("this terminal does not support control sequences (TERM is empty or `dumb`)")]
    Dumb,
    #[error("cannot switch the terminal to full screen")]
    Enter(#[source] io::Error),
    #[error("cannot suspend")]
    Suspend(#[source] io::Error),
    #[error("the terminal is gone")]
    Gone(#[source] io::Error),
}

impl From<TermError> for Fault {
    fn from(error: TermError) -> Self {
        use std::error::Error;
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let fault = Self::environment(format!("{error}{cause}"));
        match error {
            TermError::NotATerminal { .. } | TermError::Dumb => fault.hint("use the plain front end: `mxd --plain`"),
            TermError::Enter(_) => fault.hint("if the terminal looks wrong, type: reset"),
            TermError::Suspend(_) | TermError::Gone(_) => fault,
        }
    }
}

/// The terminal of this process.
pub struct Terminal {
    tty: Arc<Tty>,
    guard: Arc<Guard>,
    writer: TerminalWriter,
    reader: Option<Reader>,
    screen: Screen,
    frames: FrameLimiter,
    job: JobControl,
    stop_listener: StopListener,
    stops: mpsc::UnboundedReceiver<Stop>,
    pending: VecDeque<ReaderEvent>,
    events_since_frame: u32,
    capabilities: Capabilities,
    /// Queries were sent and not all replies have arrived.
    is_awaiting_replies: bool,
    has_focus: bool,
    size: (u16, u16),
    title: Option<String>,
}

impl Terminal {
    /// Returns an error if there is no usable terminal.
    pub fn check(env: &TerminalEnv) -> Result<(), TermError> {
        if !rustix::termios::isatty(rustix::stdio::stdin()) {
            return Err(TermError::NotATerminal { stream: "input" });
        }
        if !rustix::termios::isatty(rustix::stdio::stdout()) {
            return Err(TermError::NotATerminal { stream: "output" });
        }
        if env.is_dumb {
            return Err(TermError::Dumb);
        }
        Ok(())
    }

    /// Opens the terminal and enters the screen. Must be called inside a runtime.
    pub fn open(env: TerminalEnv, options: Options) -> Result<Self, TermError> {
        Self::check(&env)?;
        Self::with_tty(Tty::open().map_err(TermError::Enter)?, env, options).map_err(TermError::Enter)
    }

    fn with_tty(tty: Tty, env: TerminalEnv, options: Options) -> io::Result<Self> {
        let tty = Arc::new(tty);
        let guard = Arc::new(Guard::new(Arc::clone(&tty)));
        let (stops, stopped) = StopSender::channel();
        // Set up everything that can restore before there is anything to restore.
        super::panic::restore_on_panic(&guard, stops.clone());
        let stop_listener = StopListener::listen(&guard, stops)?;
        let job = JobControl::listen()?;
        let writer = TerminalWriter::start(Arc::clone(&tty))?;
        let size = tty.size()?;
        let mut modes = Mode::SCREEN.to_vec();
        modes.push(Mode::SchemeReports);
        if options.mouse {
            modes.push(Mode::Mouse);
        }
        guard.enter(&modes, Origin::Current)?;
        let mut terminal = Self {
            reader: Some(Reader::start(Arc::clone(&tty))?),
            screen: Screen::new(size.0, size.1),
            frames: FrameLimiter::default(),
            capabilities: Capabilities::new(env),
            pending: VecDeque::new(),
            events_since_frame: 0,
            is_awaiting_replies: false,
            has_focus: true,
            title: None,
            stops: stopped,
            tty,
            guard,
            writer,
            job,
            stop_listener,
            size,
        };
        if options.query {
            terminal.send_queries();
        }
        terminal.set_rate();
        terminal.request_frame(Reason::Input);
        Ok(terminal)
    }

    fn send_queries(&mut self) {
        if let Some(queries) = query::queries(&self.capabilities.env) {
            self.is_awaiting_replies = true;
            self.send(&queries);
        }
    }

    /// Waits briefly for the terminal's replies. Later ones arrive as events.
    pub async fn wait_for_replies(&mut self) -> &Capabilities {
        self.read_replies(REPLY_TIMEOUT).await;
        &self.capabilities
    }

    async fn read_replies(&mut self, timeout: Duration) {
        let deadline = tokio::time::Instant::now() + timeout;
        while self.is_awaiting_replies
            && let Some(reader) = &mut self.reader
            && let Ok(Some(events)) = tokio::time::timeout_at(deadline, reader.next()).await
        {
            for event in events {
                match event {
                    ReaderEvent::Reply(reply) => {
                        self.on_reply(reply);
                    }
                    ReaderEvent::Input(_) => self.pending.push_back(event),
                }
            }
        }
    }

    /// Handles a reply. Returns true if the capabilities changed.
    fn on_reply(&mut self, reply: QueryReply) -> bool {
        match reply {
            QueryReply::KittyKeys => self.switch(Mode::KittyKeys, true),
            QueryReply::End => self.is_awaiting_replies = false,
            QueryReply::Foreground(_)
            | QueryReply::Background(_)
            | QueryReply::SynchronizedOutput
            | QueryReply::Dark(_) => {}
        }
        self.capabilities.apply(reply)
    }

    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Waits for the next event. Cancel safe.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.next_ready() {
                return event;
            }
            let deadline = self.frames.deadline().map(tokio::time::Instant::from_std);
            tokio::select! {
                biased;
                Some(stop) = self.stops.recv() => return Event::Stop(stop),
                Some(()) = self.job.stop.recv() => return Event::Suspend,
                Some(()) = self.job.continued.recv() => self.on_continued(),
                Some(()) = self.job.resized.recv() => self.update_size(),
                events = next_of(&mut self.reader) => match events {
                    Some(events) => self.pending.extend(events),
                    // The reader has sent `Closed` and has ended.
                    None => self.reader = None,
                },
                () = self.writer.ready() => self.frames.on_written(),
                () = sleep_until(deadline) => return self.on_frame_due(),
            }
        }
    }

    /// Returns the next event that is already available.
    fn next_ready(&mut self) -> Option<Event> {
        if let Ok(stop) = self.stops.try_recv() {
            return Some(Event::Stop(stop));
        }
        if self.events_since_frame >= EVENTS_PER_FRAME && self.frames.is_due(now()) {
            return Some(self.on_frame_due());
        }
        while let Some(event) = self.pending.pop_front() {
            match event {
                ReaderEvent::Reply(reply) => {
                    if self.on_reply(reply) {
                        return Some(Event::Capabilities);
                    }
                }
                ReaderEvent::Input(input) => {
                    self.events_since_frame += 1;
                    if let Input::Focus(focus) = input {
                        self.has_focus = focus;
                        self.set_rate();
                    }
                    return Some(Event::Input(input));
                }
            }
        }
        None
    }

    fn on_frame_due(&mut self) -> Event {
        self.events_since_frame = 0;
        Event::Frame
    }

    fn set_rate(&mut self) {
        let watched = self.has_focus && !self.capabilities.env.is_remote;
        self.frames.set_rate(if watched { FrameRate::Normal } else { FrameRate::Relaxed });
    }

    /// Updates the window size and queues a resize event if it changed. Redraws everything in any case: a window that
    /// shrank and grew again has lost its content.
    fn update_size(&mut self) {
        if let Ok(size) = self.tty.size()
            && size != self.size
        {
            self.size = size;
            self.screen.resize(size.0, size.1);
            self.pending.push_back(ReaderEvent::Input(Input::Resize(size.0, size.1)));
        }
        self.screen.invalidate();
        self.request_frame(Reason::Resize);
    }

    /// Restores the screen after an unannounced stop.
    fn on_continued(&mut self) {
        // If this fails the terminal is gone, and the reader reports it.
        let _ = self.guard.reapply();
        self.redraw();
    }

    fn redraw(&mut self) {
        self.update_size();
        self.request_frame(Reason::Input);
    }

    /// Requests a frame, which [`Terminal::next`] will announce.
    pub fn request_frame(&mut self, reason: Reason) {
        self.frames.request(now(), reason);
    }

    /// Draws a frame. While the previous one is still being written nothing is drawn, and the frame stays due.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) {
        if self.writer.is_busy() {
            self.frames.on_writer_busy();
            return;
        }
        let bytes = self.screen.compose(view);
        self.frames.on_drawn(now());
        if bytes.is_empty() {
            self.frames.on_written();
        } else {
            self.writer.send_frame(bytes);
        }
    }

    /// Redraws everything in the next frame.
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

async fn next_of(reader: &mut Option<Reader>) -> Option<Vec<ReaderEvent>> {
    match reader {
        Some(reader) => reader.next().await,
        None => std::future::pending().await,
    }
}
