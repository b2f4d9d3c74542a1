//! Operating system commands: control strings that speak to the terminal program and not to its screen.
//!
//! Every text in one has passed the sanitiser, so that nothing can end the string early or begin another.

use super::surroundings::Multiplexer;
use crate::base::sanitize;

/// Returns a command. The body must hold no control character.
pub(super) fn command(body: &str) -> String {
    debug_assert!(!body.contains(char::is_control), "{body:?} would end the command");
    format!("\x1b]{body}\x1b\\")
}

/// Wraps a command so that tmux or screen hands it on to the terminal behind them.
pub(super) fn pass_through(command: &str, multiplexer: Option<Multiplexer>) -> String {
    match multiplexer {
        Some(Multiplexer::Tmux) => format!("\x1bPtmux;{}\x1b\\", command.replace('\x1b', "\x1b\x1b")),
        // A string inside a string: its own end would end the outer one, so it ends with a bell.
        Some(Multiplexer::Screen) => {
            let inner = command.strip_suffix("\x1b\\").map_or_else(|| command.to_owned(), |body| format!("{body}\x07"));
            format!("\x1bP{inner}\x1b\\")
        }
        Some(Multiplexer::Zellij) | None => command.to_owned(),
    }
}

/// Returns `text` as one safe line of at most `limit` characters.
pub(super) fn words(text: &str, limit: usize) -> String {
    let line = sanitize::line(text);
    let mut chars = line.trim().chars();
    let mut out: String = chars.by_ref().take(limit).collect();
    if chars.next().is_some() {
        out.pop();
        out.push('…');
    }
    out
}
