//! A line that is typed without being seen, on a terminal that is otherwise left alone.

use std::os::fd::AsFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Nothing typed is shown while this lives, except the end of the line. Where there is no terminal it does nothing.
#[derive(Debug)]
pub struct Hush {
    before: Option<Termios>,
}

impl Hush {
    pub fn begin() -> Self {
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

impl Drop for Hush {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin().as_fd(), OptionalActions::Now, before);
        }
    }
}
