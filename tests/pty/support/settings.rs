//! The line settings of a terminal, to be compared before and after.

use std::fmt::Write;
use std::fs::File;

use rustix::termios::{LocalModes, tcgetattr};

/// The settings, in a form whose difference can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(String);

impl Settings {
    pub fn of(terminal: &File) -> Self {
        let termios = tcgetattr(terminal).unwrap();
        let mut text = String::new();
        writeln!(text, "input {:?}", termios.input_modes).unwrap();
        writeln!(text, "output {:?}", termios.output_modes).unwrap();
        writeln!(text, "control {:?}", termios.control_modes).unwrap();
        writeln!(text, "local {:?}", termios.local_modes).unwrap();
        writeln!(text, "codes {:?}", termios.special_codes).unwrap();
        Self(text)
    }
}

/// Tells whether keys reach the program one by one and unseen.
pub fn is_raw(terminal: &File) -> bool {
    let local = tcgetattr(terminal).unwrap().local_modes;
    !local.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
}
