//! The modes that a terminal can be switched into, each with the bytes that switch it on and off.
//!
//! A table and nothing else: who switches, when, and in which order is decided by the guard. Every mode leaves the
//! terminal as it was before; where a terminal can remember its old state, it is asked to.

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen};

use super::ansi::ansi;

/// Something the terminal is switched into and has to be switched out of again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// The window title is kept aside by the terminal.
    Title,
    AlternateScreen,
    BracketedPaste,
    FocusEvents,
    /// Keys that old terminals confuse are reported apart (the kitty protocol, first level).
    KittyKeys,
    /// The terminal tells when it turns light or dark.
    SchemeReports,
    /// Clicks, wheel and drags are reported; the terminal's own selection needs shift.
    Mouse,
    /// The wheel sends arrow keys while nothing captures the mouse.
    WheelAsArrows,
}

impl Mode {
    /// What every screen needs, in the order in which it is switched on.
    pub const SCREEN: [Self; 4] = [Self::Title, Self::AlternateScreen, Self::BracketedPaste, Self::FocusEvents];

    pub(super) fn set(self) -> String {
        match self {
            Self::Title => "\x1b[22;2t".to_owned(),
            Self::AlternateScreen => ansi(EnterAlternateScreen),
            Self::BracketedPaste => ansi(EnableBracketedPaste),
            Self::FocusEvents => ansi(EnableFocusChange),
            Self::KittyKeys => ansi(PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES)),
            Self::SchemeReports => "\x1b[?2031h".to_owned(),
            // Not crossterm's capture: that asks for every move of the mouse, which wakes the program for nothing.
            Self::Mouse => "\x1b[?1000h\x1b[?1002h\x1b[?1006h".to_owned(),
            // Some terminals have this on from the start: it is put back, not switched off.
            Self::WheelAsArrows => "\x1b[?1007s\x1b[?1007h".to_owned(),
        }
    }

    pub(super) fn unset(self) -> String {
        match self {
            Self::Title => "\x1b[23;2t".to_owned(),
            Self::AlternateScreen => ansi(LeaveAlternateScreen),
            Self::BracketedPaste => ansi(DisableBracketedPaste),
            Self::FocusEvents => ansi(DisableFocusChange),
            Self::KittyKeys => ansi(PopKeyboardEnhancementFlags),
            Self::SchemeReports => "\x1b[?2031l".to_owned(),
            Self::Mouse => "\x1b[?1006l\x1b[?1002l\x1b[?1000l".to_owned(),
            Self::WheelAsArrows => "\x1b[?1007r".to_owned(),
        }
    }

    /// Tells whether setting it a second time has no second effect, so that it may be asserted again after a stop that
    /// nobody announced.
    const fn is_idempotent(self) -> bool {
        match self {
            Self::BracketedPaste | Self::FocusEvents | Self::SchemeReports | Self::Mouse => true,
            Self::AlternateScreen | Self::Title | Self::KittyKeys | Self::WheelAsArrows => false,
        }
    }
}

const END_STRING: &str = "\x1b\\";
const END_LINK: &str = "\x1b]8;;\x1b\\";

/// Ends whatever a cut frame may have left open: a string, a synchronized update, a style, a link.
fn settling() -> String {
    [END_STRING, &ansi(EndSynchronizedUpdate), &ansi(SetAttribute(Attribute::Reset)), END_LINK].concat()
}

/// Returns the bytes that switch the modes on, in their order.
pub(super) fn entering(modes: &[Mode]) -> Vec<u8> {
    modes.iter().flat_map(|mode| mode.set().into_bytes()).collect()
}

/// Returns the bytes that switch the modes off, the last one first.
pub(super) fn leaving(modes: &[Mode]) -> Vec<u8> {
    let unset = modes.iter().rev().map(|mode| mode.unset());
    [settling(), ansi(Show)].into_iter().chain(unset).flat_map(String::into_bytes).collect()
}

/// Returns the bytes that repeat what another program may have switched off while this one was stopped.
pub(super) fn repeating(modes: &[Mode]) -> Vec<u8> {
    let set = modes.iter().filter(|mode| mode.is_idempotent()).map(|mode| mode.set());
    [settling()].into_iter().chain(set).flat_map(String::into_bytes).collect()
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
