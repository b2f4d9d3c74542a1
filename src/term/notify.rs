//! Title, notification and bell sequences.
//!
//! Builds bytes; callers decide when to notify. Each terminal gets the form that it is known to understand; all others
//! get the bell.

use super::env::{Emulator, TerminalEnv};
use super::osc;

const TITLE_LIMIT: usize = 120;
const TEXT_LIMIT: usize = 240;

/// Returns the bytes that set the window title.
pub(super) fn title(text: &str) -> String {
    // Not crossterm's command: it also sets the icon name, which is not restored on exit.
    osc::command(&format!("2;{}", osc::safe_line(text, TITLE_LIMIT)))
}

/// Returns the bytes of a desktop notification.
pub(super) fn notification(title: &str, body: &str, env: &TerminalEnv) -> String {
    let (title, body) = (osc::safe_line(title, TITLE_LIMIT), osc::safe_line(body, TEXT_LIMIT));
    let command = match env.emulator {
        Emulator::Kitty => {
            let header = osc::command(&format!("99;i=mxd:d=0;{title}"));
            format!("{header}{}", osc::command(&format!("99;i=mxd:p=body;{body}")))
        }
        Emulator::Ghostty | Emulator::WezTerm | Emulator::ITerm => osc::command(&format!("9;{}", join(&title, &body))),
        // A semicolon in the title would begin the body.
        Emulator::Foot | Emulator::Vte | Emulator::Urxvt => {
            osc::command(&format!("777;notify;{};{body}", title.replace(';', ",")))
        }
        Emulator::Alacritty
        | Emulator::VsCode
        | Emulator::WindowsTerminal
        | Emulator::AppleTerminal
        | Emulator::LinuxConsole
        | Emulator::Other => return BELL.to_owned(),
    };
    osc::pass_through(&command, env.multiplexer)
}

pub(super) const BELL: &str = "\x07";

fn join(title: &str, body: &str) -> String {
    let text = match (title.is_empty(), body.is_empty()) {
        (true, _) => body.to_owned(),
        (false, true) => title.to_owned(),
        (false, false) => format!("{title}: {body}"),
    };
    // `9;4;…` is progress and other numbers are other commands: a text must not begin with a digit.
    if text.starts_with(|c: char| c.is_ascii_digit()) { format!("· {text}") } else { text }
}

#[cfg(test)]
#[path = "notify_tests.rs"]
mod tests;
