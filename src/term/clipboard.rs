//! How text gets to the person's clipboard: which programs to try, and the sequence for the terminal itself.
//!
//! A plan and no more: programs are started by those who may, and the bytes go the way of all bytes. On another machine
//! the programs would fill the wrong clipboard, so only the terminal is asked there.

use crossterm::clipboard::CopyToClipboard;
use thiserror::Error;

use super::ansi::ansi;
use super::osc;
use super::surroundings::{Display, Multiplexer, Surroundings};
use crate::base::text;

/// How long a sequence terminals are known to accept, in bytes after encoding.
pub const SEQUENCE_LIMIT: usize = 100_000;

/// One way to the clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start a program with the text on its standard input. It has worked when it ends with success.
    Program { program: &'static str, arguments: &'static [&'static str] },
    /// Write these bytes to the terminal. Whether it obeys, nobody learns.
    Terminal(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClipboardError {
    #[error("there is nothing to copy")]
    Empty,
    #[error(
        "{} are too much to copy through the terminal, which takes {}: copy a smaller part, or open it in the pager",
        text::size(*.bytes), text::size(*.limit)
    )]
    TooLarge { bytes: u64, limit: u64 },
}

/// Returns the ways to the clipboard in the order in which to try them; the first that works ends the search.
/// `is_installed` tells whether a program can be found.
pub fn plan(
    text: &str,
    surroundings: &Surroundings,
    is_installed: impl Fn(&str) -> bool,
) -> Result<Vec<Step>, ClipboardError> {
    if text.is_empty() {
        return Err(ClipboardError::Empty);
    }
    let mut steps: Vec<Step> = programs(surroundings)
        .into_iter()
        .filter(|(program, _)| is_installed(program))
        .map(|(program, arguments)| Step::Program { program, arguments })
        .collect();
    match sequence(text, surroundings.multiplexer) {
        Ok(bytes) => steps.push(Step::Terminal(bytes)),
        Err(error) if steps.is_empty() => return Err(error),
        Err(_) => {}
    }
    Ok(steps)
}

type Program = (&'static str, &'static [&'static str]);

fn programs(surroundings: &Surroundings) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::new();
    if !surroundings.is_remote {
        programs.extend::<&[Program]>(match surroundings.display {
            Display::Mac => &[("pbcopy", &[])],
            Display::Wayland => &[("wl-copy", &[])],
            Display::X11 => &[("xclip", &["-selection", "clipboard"]), ("xsel", &["--clipboard", "--input"])],
            Display::None => &[],
        });
    }
    // It knows the way to the terminal in front of it whatever its settings say about sequences.
    if surroundings.multiplexer == Some(Multiplexer::Tmux) {
        programs.push(("tmux", &["load-buffer", "-w", "-"]));
    }
    programs
}

fn sequence(text: &str, multiplexer: Option<Multiplexer>) -> Result<Vec<u8>, ClipboardError> {
    let encoded = text.len().div_ceil(3) * 4;
    if encoded > SEQUENCE_LIMIT {
        let limit = (SEQUENCE_LIMIT / 4 * 3) as u64;
        return Err(ClipboardError::TooLarge { bytes: text.len() as u64, limit });
    }
    let command = ansi(CopyToClipboard::to_clipboard_from(text));
    Ok(osc::pass_through(&command, multiplexer).into_bytes())
}

#[cfg(test)]
#[path = "clipboard_tests.rs"]
mod tests;
