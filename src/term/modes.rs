//! The modes that a terminal can be switched into, each with the bytes that switch it on and off.
//!
//! A table and nothing else: who switches, when, and in which order is decided by the guard. Every mode leaves the
//! terminal as it was before; where a terminal can remember its old state, it is asked to.

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
    CursorShape,
    /// A progress bar in the tab or the task bar.
    Progress,
}

impl Mode {
    /// What every screen needs, in the order in which it is switched on.
    pub const SCREEN: [Self; 4] = [Self::Title, Self::AlternateScreen, Self::BracketedPaste, Self::FocusEvents];

    pub(super) const fn set(self) -> &'static str {
        match self {
            Self::Title => "\x1b[22;2t",
            Self::AlternateScreen => "\x1b[?1049h",
            Self::BracketedPaste => "\x1b[?2004h",
            Self::FocusEvents => "\x1b[?1004h",
            Self::KittyKeys => "\x1b[>1u",
            Self::SchemeReports => "\x1b[?2031h",
            Self::Mouse => "\x1b[?1000h\x1b[?1002h\x1b[?1006h",
            // Some terminals have this on from the start: it is put back, not switched off.
            Self::WheelAsArrows => "\x1b[?1007s\x1b[?1007h",
            // The value itself follows; only the way back is a constant.
            Self::CursorShape | Self::Progress => "",
        }
    }

    pub(super) const fn unset(self) -> &'static str {
        match self {
            Self::Title => "\x1b[23;2t",
            Self::AlternateScreen => "\x1b[?1049l",
            Self::BracketedPaste => "\x1b[?2004l",
            Self::FocusEvents => "\x1b[?1004l",
            Self::KittyKeys => "\x1b[<1u",
            Self::SchemeReports => "\x1b[?2031l",
            Self::Mouse => "\x1b[?1006l\x1b[?1002l\x1b[?1000l",
            Self::WheelAsArrows => "\x1b[?1007r",
            Self::CursorShape => "\x1b[0 q",
            Self::Progress => "\x1b]9;4;0;\x1b\\",
        }
    }

    /// Tells whether setting it a second time has no second effect, so that it may be asserted again after a stop that
    /// nobody announced.
    const fn is_idempotent(self) -> bool {
        match self {
            Self::BracketedPaste | Self::FocusEvents | Self::SchemeReports | Self::Mouse => true,
            Self::AlternateScreen | Self::Title | Self::KittyKeys | Self::WheelAsArrows => false,
            Self::CursorShape | Self::Progress => false,
        }
    }
}

/// Ends whatever a cut frame may have left open: a string, a synchronized update, a style, a link.
const SETTLE: &str = "\x1b\\\x1b[?2026l\x1b[0m\x1b]8;;\x1b\\";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// Returns the bytes that switch the modes on, in their order.
pub(super) fn entering(modes: &[Mode]) -> Vec<u8> {
    modes.iter().flat_map(|mode| mode.set().bytes()).collect()
}

/// Returns the bytes that switch the modes off, the last one first.
pub(super) fn leaving(modes: &[Mode]) -> Vec<u8> {
    let unset = modes.iter().rev().map(|mode| mode.unset());
    [SETTLE, SHOW_CURSOR].into_iter().chain(unset).flat_map(str::bytes).collect()
}

/// Returns the bytes that repeat what another program may have switched off while this one was stopped.
pub(super) fn repeating(modes: &[Mode]) -> Vec<u8> {
    let set = modes.iter().filter(|mode| mode.is_idempotent()).map(|mode| mode.set());
    [SETTLE].into_iter().chain(set).flat_map(str::bytes).collect()
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
