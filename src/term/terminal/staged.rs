//! A terminal without a device, for tests of whatever is drawn on one: what is heard is handed in, every frame lands at
//! once and is kept. The loop, the pace and the bytes are those of any other terminal.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Terminal;
use crate::base::keys::Input;
use crate::term::capabilities::Capabilities;
use crate::term::device::Tty;
use crate::term::frames::{FrameLimiter, Reason};
use crate::term::guard::Guard;
use crate::term::input::{Heard, Reader};
use crate::term::outlet::{Kept, Outlet};
use crate::term::screen::Screen;
use crate::term::signals::{Ending, JobControl, Stops};
use crate::term::surroundings::{Colours, Surroundings};

/// The person in front of a staged terminal.
pub struct Staged {
    heard: mpsc::Sender<Vec<Heard>>,
    kept: Kept,
}

impl Staged {
    /// Does something at the terminal.
    pub async fn does(&self, input: Input) {
        self.heard.send(vec![Heard::Input(input)]).await.unwrap();
    }

    /// Returns every frame so far: when it was drawn, and its bytes.
    pub fn frames(&self) -> Vec<(Instant, Vec<u8>)> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many frames there were so far.
    pub fn count(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Terminal {
    /// Returns a terminal of this size in full colour, and who sits in front of it.
    pub fn staged(columns: u16, rows: u16) -> (Self, Staged) {
        let nowhere = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).unwrap();
        let tty = Arc::new(Tty::over(nowhere));
        let (reader, heard) = Reader::handed();
        let (outlet, kept) = Outlet::keeping(Arc::clone(&tty));
        let (_, stops) = Stops::channel();
        let surroundings = Surroundings { colours: Colours::True, ..Surroundings::default() };
        let mut terminal = Self {
            guard: Arc::new(Guard::new(Arc::clone(&tty))),
            reader: Some(reader),
            screen: Screen::new(columns, rows),
            frames: FrameLimiter::default(),
            capabilities: Capabilities::new(surroundings),
            heard: VecDeque::new(),
            since_frame: 0,
            is_answering: false,
            has_focus: true,
            title: None,
            ending: Ending::deaf(),
            job: JobControl::deaf().unwrap(),
            size: (columns, rows),
            stops,
            outlet,
            tty,
        };
        terminal.request_frame(Reason::Input);
        (terminal, Staged { heard, kept })
    }
}
