//! Turns off terminal echo while a secret is typed.

use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Disables echo until dropped, except for the newline. Does nothing without a terminal.
#[derive(Debug)]
pub struct EchoOff {
    before: Option<Termios>,
}

impl Default for EchoOff {
    fn default() -> Self {
        Self::new()
    }
}

impl EchoOff {
    pub fn new() -> Self {
        let input = std::io::stdin();
        let before = tcgetattr(input.as_fd()).ok();
        if let Some(before) = &before {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            silent.local_modes.insert(LocalModes::ECHONL);
            let _ = tcsetattr(input.as_fd(), OptionalActions::Now, &silent);
        }
        Self { before }
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin().as_fd(), OptionalActions::Now, before);
        }
    }
}
