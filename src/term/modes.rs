//! The terminal modes, each with the sequences that switch it on and off.
//!
//! A table; the guard decides when and in which order. Every mode restores the previous state; where the terminal can
//! save its own state, that is used.

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen};

use super::ansi::ansi;

/// A terminal mode that must be undone on exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// The window title is saved on the terminal's stack.
    Title,
    AlternateScreen,
    BracketedPaste,
    FocusEvents,
    /// Keys that old terminals confuse are reported distinctly (kitty protocol, first level).
    KittyKeys,
    /// The terminal reports when it turns light or dark.
    SchemeReports,
    /// Clicks, wheel and drags are reported; the terminal's own selection needs shift.
    Mouse,
    /// The wheel sends arrow keys while nothing captures the mouse.
    WheelAsArrows,
}

impl Mode {
    /// The modes that every screen needs, in the order in which they are switched on.
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
            // On by default in some terminals, so its old state is saved and restored.
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

    /// Returns true if setting it twice has no further effect, so that it may be repeated after an unannounced stop.
    const fn is_idempotent(self) -> bool {
        match self {
            Self::BracketedPaste | Self::FocusEvents | Self::SchemeReports | Self::Mouse => true,
            Self::AlternateScreen | Self::Title | Self::KittyKeys | Self::WheelAsArrows => false,
        }
    }
}

const END_STRING: &str = "\x1b\\";
const END_LINK: &str = "\x1b]8;;\x1b\\";

/// Ends what a cut-off frame may have left open: a string, a synchronized update, a style, a link.
fn reset_sequence() -> String {
    [END_STRING, &ansi(EndSynchronizedUpdate), &ansi(SetAttribute(Attribute::Reset)), END_LINK].concat()
}

/// Returns the bytes that switch the modes on, in order.
pub(super) fn enter_sequence(modes: &[Mode]) -> Vec<u8> {
    modes.iter().flat_map(|mode| mode.set().into_bytes()).collect()
}

/// Returns the bytes that switch the modes off, in reverse order.
pub(super) fn leave_sequence(modes: &[Mode]) -> Vec<u8> {
    let unset = modes.iter().rev().map(|mode| mode.unset());
    [reset_sequence(), ansi(Show)].into_iter().chain(unset).flat_map(String::into_bytes).collect()
}

/// Returns the bytes that restore modes that another program may have switched off while this one was stopped.
pub(super) fn reapply_sequence(modes: &[Mode]) -> Vec<u8> {
    let set = modes.iter().filter(|mode| mode.is_idempotent()).map(|mode| mode.set());
    [reset_sequence()].into_iter().chain(set).flat_map(String::into_bytes).collect()
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
