//! Terminal output beside the frames: title, notification, bell, clipboard, and modes that change at run time.

use super::Terminal;
use crate::term::clipboard::Step;
use crate::term::modes::Mode;
use crate::term::notify;

impl Terminal {
    /// Captures or releases the mouse. A captured wheel sends no arrow keys.
    pub fn set_mouse(&mut self, on: bool) {
        if on {
            self.switch(Mode::WheelAsArrows, false);
        }
        self.switch(Mode::Mouse, on);
    }

    /// Makes the wheel send arrow keys, if the terminal supports it.
    pub fn set_wheel_as_arrows(&mut self, on: bool) {
        self.switch(Mode::WheelAsArrows, on);
    }

    /// Sets the window title. The old one is restored on exit.
    pub fn set_title(&mut self, title: &str) {
        if self.title.as_deref() != Some(title) {
            self.title = Some(title.to_owned());
            self.send(&notify::title(title));
        }
    }

    /// Returns true if a notification is only a bell on this terminal.
    pub fn notifies_with_bell(&self) -> bool {
        notify::notification("", "", &self.capabilities.env) == notify::BELL
    }

    /// Sends a desktop notification in the form that this terminal understands.
    pub fn notify(&mut self, title: &str, body: &str) {
        self.send(&notify::notification(title, body, &self.capabilities.env));
    }

    pub fn bell(&mut self) {
        self.send(notify::BELL);
    }

    /// Sends a terminal step of a clipboard plan. Returns false for a program step, or if the writer is full.
    pub fn copy(&mut self, step: &Step) -> bool {
        match step {
            Step::Terminal(bytes) => self.writer.send_control(bytes).is_ok(),
            Step::Program { .. } => false,
        }
    }

    pub(super) fn switch(&mut self, mode: Mode, on: bool) {
        let bytes = if on { self.guard.switch_on(mode) } else { self.guard.switch_off(mode) };
        if let Some(bytes) = bytes {
            self.send(&bytes);
        }
    }

    pub(super) fn send(&self, bytes: &str) {
        // A terminal too slow for this has more urgent output than a title.
        let _ = self.writer.send_control(bytes.as_bytes());
    }
}
