//! Queries to the terminal about itself, and its replies as values.
//!
//! Queries are sent once, all together, and end with one that every terminal answers, so that "no reply" is known
//! without a timeout. The input reader parses replies; they never become keys, however late they arrive.

use super::env::{Multiplexer, TerminalEnv};

/// A reply of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryReply {
    Foreground(Rgb),
    Background(Rgb),
    /// It supports the kitty keyboard protocol.
    KittyKeys,
    /// It supports synchronized updates.
    SynchronizedOutput,
    /// Its colour scheme is dark (`true`) or light.
    Dark(bool),
    /// The last reply.
    End,
}

/// A colour as the terminal shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb {
    pub red: u8,
    pub green: u8,
    pub blue: u8,
}

impl Rgb {
    /// Returns true if text on this background should be light.
    pub fn is_dark(self) -> bool {
        // Perceived brightness, weights of Rec. 709 in thousandths.
        let brightness = u32::from(self.red) * 213 + u32::from(self.green) * 715 + u32::from(self.blue) * 72;
        brightness < 1000 * 128
    }

    /// Parses `rgb:ff/ff/ff`, `rgb:ffff/ffff/ffff`, `rgba:…` and `#rrggbb`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(digits) = text.strip_prefix('#') {
            let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
            return (digits.len() == 6).then_some(Self { red: part(0)?, green: part(2)?, blue: part(4)? });
        }
        let (_, channels) = text.split_once(':').filter(|(kind, _)| matches!(*kind, "rgb" | "rgba"))?;
        let mut channels = channels.split('/').map(channel);
        Some(Self { red: channels.next()??, green: channels.next()??, blue: channels.next()?? })
    }
}

/// Scales a channel of one to four hexadecimal digits to eight bits.
fn channel(digits: &str) -> Option<u8> {
    let value = u32::from_str_radix(digits, 16).ok()?;
    let full = match digits.len() {
        1..=4 => 16_u32.pow(u32::try_from(digits.len()).ok()?) - 1,
        _ => return None,
    };
    u8::try_from((value * 255 + full / 2) / full).ok()
}

const COLOURS: &str = "\x1b]10;?\x1b\\\x1b]11;?\x1b\\";
const KITTY_KEYS: &str = "\x1b[?u";
const SYNCHRONIZED_OUTPUT: &str = "\x1b[?2026$p";
/// Primary device attributes, which every terminal answers.
const END: &str = "\x1b[c";

/// Returns the queries for a terminal, or `None` if it would show them as text.
pub(super) fn queries(env: &TerminalEnv) -> Option<String> {
    if env.is_dumb {
        return None;
    }
    let parts: &[&str] = match env.multiplexer {
        // It may pass them on to a terminal that replies when another window has the input.
        Some(Multiplexer::Screen) => return None,
        // It answers for itself and does not support kitty keys.
        Some(Multiplexer::Tmux) => &[COLOURS, SYNCHRONIZED_OUTPUT, END],
        Some(Multiplexer::Zellij) | None => &[COLOURS, KITTY_KEYS, SYNCHRONIZED_OUTPUT, END],
    };
    Some(parts.concat())
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
