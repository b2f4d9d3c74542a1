//! Copying text to the user's clipboard: the programs to try, and the OSC 52 sequence for the terminal.
//!
//! Only plans; callers start the programs and write the bytes. On a remote machine the programs would fill the wrong
//! clipboard, so only the terminal is used there.

use crossterm::clipboard::CopyToClipboard;
use thiserror::Error;

use super::ansi::ansi;
use super::env::{Display, Multiplexer, TerminalEnv};
use super::osc;
use crate::base::text;

/// The longest sequence that terminals are known to accept, in bytes after encoding.
pub const SEQUENCE_LIMIT: usize = 100_000;

/// One way to reach the clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start a program with the text on its standard input. It worked if it exits with success.
    Program { program: &'static str, arguments: &'static [&'static str] },
    /// Write these bytes to the terminal. There is no reply, so success is unknown.
    Terminal(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClipboardError {
    #[error("nothing to copy")]
    Empty,
    #[error(
        "cannot copy {} through the terminal (limit {}): copy a smaller part, or open it in the pager",
        text::size(*.bytes), text::size(*.limit)
    )]
    TooLarge { bytes: u64, limit: u64 },
}

/// Returns the steps to try in order, until one works. `is_installed` returns true if a program can be found.
pub fn plan(text: &str, env: &TerminalEnv, is_installed: impl Fn(&str) -> bool) -> Result<Vec<Step>, ClipboardError> {
    if text.is_empty() {
        return Err(ClipboardError::Empty);
    }
    let mut steps: Vec<Step> = programs(env)
        .into_iter()
        .filter(|(program, _)| is_installed(program))
        .map(|(program, arguments)| Step::Program { program, arguments })
        .collect();
    match sequence(text, env.multiplexer) {
        Ok(bytes) => steps.push(Step::Terminal(bytes)),
        Err(error) if steps.is_empty() => return Err(error),
        Err(_) => {}
    }
    Ok(steps)
}

type Program = (&'static str, &'static [&'static str]);

fn programs(env: &TerminalEnv) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::new();
    if !env.is_remote {
        programs.extend::<&[Program]>(match env.display {
            Display::Mac => &[("pbcopy", &[])],
            Display::Wayland => &[("wl-copy", &[])],
            Display::X11 => &[("xclip", &["-selection", "clipboard"]), ("xsel", &["--clipboard", "--input"])],
            Display::None => &[],
        });
    }
    // tmux reaches the outer terminal whatever its settings say about sequences.
    if env.multiplexer == Some(Multiplexer::Tmux) {
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
