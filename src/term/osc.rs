//! Operating system commands (OSC): control strings for the terminal program rather than its screen.
//!
//! All text in them is sanitised, so that it cannot end the string early or begin another.

use super::env::Multiplexer;
use crate::base::sanitize;

/// Returns an OSC command. The body must not contain control characters.
pub(super) fn command(body: &str) -> String {
    debug_assert!(!body.contains(char::is_control), "{body:?} would end the command");
    format!("\x1b]{body}\x1b\\")
}

/// Wraps a command so that tmux or screen passes it on to the outer terminal.
pub(super) fn pass_through(command: &str, multiplexer: Option<Multiplexer>) -> String {
    match multiplexer {
        Some(Multiplexer::Tmux) => format!("\x1bPtmux;{}\x1b\\", command.replace('\x1b', "\x1b\x1b")),
        // The inner terminator would end the outer string, so the inner one ends with a bell.
        Some(Multiplexer::Screen) => {
            let inner = command.strip_suffix("\x1b\\").map_or_else(|| command.to_owned(), |body| format!("{body}\x07"));
            format!("\x1bP{inner}\x1b\\")
        }
        Some(Multiplexer::Zellij) | None => command.to_owned(),
    }
}

/// Returns `text` as one safe line of at most `limit` characters.
pub(super) fn safe_line(text: &str, limit: usize) -> String {
    let line = sanitize::line(text);
    let mut chars = line.trim().chars();
    let mut out: String = chars.by_ref().take(limit).collect();
    if chars.next().is_some() {
        out.pop();
        out.push('…');
    }
    out
}
