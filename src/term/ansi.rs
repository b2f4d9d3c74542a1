//! Control sequences from crossterm, as strings. The few it does not have are written where they are used.
//!
//! crossterm's own terminal input and output are not used.

use crossterm::Command;

pub(super) fn ansi(command: impl Command) -> String {
    let mut bytes = String::new();
    append(&mut bytes, command);
    bytes
}

pub(super) fn append(bytes: &mut String, command: impl Command) {
    // Writing to a string cannot fail.
    let _ = command.write_ansi(bytes);
}
