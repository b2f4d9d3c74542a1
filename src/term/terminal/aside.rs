//! What the terminal is told beside the screen: title, notification, clipboard, and modes that come and go.

use super::Terminal;
use crate::term::clipboard::Step;
use crate::term::modes::Mode;
use crate::term::notify;

impl Terminal {
    /// Captures the mouse or lets it go. A captured wheel sends no arrows.
    pub fn set_mouse(&mut self, on: bool) {
        if on {
            self.switch(Mode::WheelAsArrows, false);
        }
        self.switch(Mode::Mouse, on);
    }

    /// Makes the wheel send arrow keys, where the terminal can do that.
    pub fn set_wheel_as_arrows(&mut self, on: bool) {
        self.switch(Mode::WheelAsArrows, on);
    }

    /// Sets the window title, which goes back to what it was at the end.
    pub fn set_title(&mut self, title: &str) {
        if self.title.as_deref() != Some(title) {
            self.title = Some(title.to_owned());
            self.send(&notify::title(title));
        }
    }

    /// Tells whether a notification is nothing but the bell here.
    pub fn notifies_with_bell(&self) -> bool {
        notify::notification("", "", &self.capabilities.surroundings) == notify::BELL
    }

    /// Asks for the person's attention, in the form this terminal understands.
    pub fn notify(&mut self, title: &str, body: &str) {
        self.send(&notify::notification(title, body, &self.capabilities.surroundings));
    }

    pub fn bell(&mut self) {
        self.send(notify::BELL);
    }

    /// Takes the step of a clipboard plan that is the terminal's. Tells whether it was one and could be sent.
    pub fn copy(&mut self, step: &Step) -> bool {
        match step {
            Step::Terminal(bytes) => self.outlet.control(bytes).is_ok(),
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
        // A line so slow that this is full has worse to show than a title.
        let _ = self.outlet.control(bytes.as_bytes());
    }
}
