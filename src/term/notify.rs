//! How the terminal program is told something beside the screen: title, notification, bell.
//!
//! Builds bytes; whether the person is looking and wants to be told is decided elsewhere. Each terminal is spoken to in
//! the form it is known to understand, and every other one gets the bell, which all of them do.

use super::osc;
use super::surroundings::{Emulator, Surroundings};

const TITLE_LIMIT: usize = 120;
const TEXT_LIMIT: usize = 240;

/// Returns the bytes that set the window title.
pub(super) fn title(text: &str) -> String {
    // Not crossterm's: that one names the icon as well, which nothing puts back at the end.
    osc::command(&format!("2;{}", osc::words(text, TITLE_LIMIT)))
}

/// Returns the bytes that ask for the person's attention.
pub(super) fn notification(title: &str, body: &str, surroundings: &Surroundings) -> String {
    let (title, body) = (osc::words(title, TITLE_LIMIT), osc::words(body, TEXT_LIMIT));
    let command = match surroundings.emulator {
        Emulator::Kitty => {
            let named = osc::command(&format!("99;i=mxd:d=0;{title}"));
            format!("{named}{}", osc::command(&format!("99;i=mxd:p=body;{body}")))
        }
        Emulator::Ghostty | Emulator::WezTerm | Emulator::ITerm => {
            osc::command(&format!("9;{}", joined(&title, &body)))
        }
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
    osc::pass_through(&command, surroundings.multiplexer)
}

pub(super) const BELL: &str = "\x07";

fn joined(title: &str, body: &str) -> String {
    let text = match (title.is_empty(), body.is_empty()) {
        (true, _) => body.to_owned(),
        (false, true) => title.to_owned(),
        (false, false) => format!("{title}: {body}"),
    };
    // `9;4;…` is progress and other numbers are other commands: a text that begins with a number must not become one.
    if text.starts_with(|c: char| c.is_ascii_digit()) { format!("· {text}") } else { text }
}

#[cfg(test)]
#[path = "notify_tests.rs"]
mod tests;
