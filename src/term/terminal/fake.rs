//! A terminal without a device, for tests. Input is injected; every frame is written at once and recorded. The event
//! loop, the frame rate and the bytes are those of a real terminal.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Terminal;
use crate::base::keys::Input;
use crate::term::capabilities::Capabilities;
use crate::term::device::Tty;
use crate::term::env::{Colours, TerminalEnv};
use crate::term::frames::{FrameLimiter, Reason};
use crate::term::guard::Guard;
use crate::term::input::{Reader, ReaderEvent};
use crate::term::screen::Screen;
use crate::term::signals::{JobControl, StopListener, StopSender};
use crate::term::writer::{FrameLog, TerminalWriter};

/// The other end of a fake terminal.
pub struct FakeUser {
    events: mpsc::Sender<Vec<ReaderEvent>>,
    frame_log: FrameLog,
}

impl FakeUser {
    /// Injects an input event.
    pub async fn send_input(&self, input: Input) {
        self.events.send(vec![ReaderEvent::Input(input)]).await.unwrap();
    }

    /// Returns every frame so far, with the time it was drawn.
    pub fn frames(&self) -> Vec<(Instant, Vec<u8>)> {
        self.frame_log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn count(&self) -> usize {
        self.frame_log.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Terminal {
    /// Returns a true-colour terminal of this size and its other end.
    pub fn fake(columns: u16, rows: u16) -> (Self, FakeUser) {
        let dev_null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).unwrap();
        let tty = Arc::new(Tty::from_fd(dev_null));
        let (reader, events) = Reader::from_channel();
        let (writer, frame_log) = TerminalWriter::recording(Arc::clone(&tty));
        let (_, stops) = StopSender::channel();
        let env = TerminalEnv { colours: Colours::True, ..TerminalEnv::default() };
        let mut terminal = Self {
            guard: Arc::new(Guard::new(Arc::clone(&tty))),
            reader: Some(reader),
            screen: Screen::new(columns, rows),
            frames: FrameLimiter::default(),
            capabilities: Capabilities::new(env),
            pending: VecDeque::new(),
            events_since_frame: 0,
            is_awaiting_replies: false,
            has_focus: true,
            title: None,
            stop_listener: StopListener::disabled(),
            job: JobControl::disabled().unwrap(),
            size: (columns, rows),
            stops,
            writer,
            tty,
        };
        terminal.request_frame(Reason::Input);
        (terminal, FakeUser { events, frame_log })
    }
}
