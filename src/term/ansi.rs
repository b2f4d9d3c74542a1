//! The bytes of the control sequences that crossterm spells; the few that it does not know stand where they are needed.
//!
//! Text and nothing else: crossterm's own ways to a terminal, out and in, are not used.

use crossterm::Command;

/// Returns the bytes of a command.
pub(super) fn ansi(command: impl Command) -> String {
    let mut bytes = String::new();
    append(&mut bytes, command);
    bytes
}

/// Appends the bytes of a command.
pub(super) fn append(bytes: &mut String, command: impl Command) {
    // Writing to a string cannot fail.
    let _ = command.write_ansi(bytes);
}
