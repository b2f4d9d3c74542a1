//! Runs the user's own programs: editor, pager, clipboard.
//!
//! An editor or pager shares our process group and standard streams. A clipboard program gets a text and may leave a
//! process behind that serves it.

use std::ffi::OsStr;
use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Runs a program on the user's terminal and waits for it. It inherits the whole environment.
pub async fn run_on_terminal<A: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = A>,
) -> io::Result<ExitStatus> {
    Command::new(program).args(arguments).status().await
}

/// Runs a program with a text on its standard input and waits for it. It inherits the whole environment, and processes
/// it leaves behind keep running: a clipboard is served by a process until something else is copied.
pub async fn run_with_input(program: &str, arguments: &[&str], text: &str) -> io::Result<ExitStatus> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Not in our group: a Ctrl-C must not empty the clipboard.
    let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).await?;
    }
    child.wait().await
}

/// Whether the error stream of a program reaches the user's terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorStream {
    Terminal,
    Nowhere,
}

/// Starts a program of the user with pipes to its stdin and stdout. It inherits the whole environment, and is killed
/// when the child is dropped.
pub fn start_with_pipes(
    program: &str,
    arguments: &[String],
    errors: ErrorStream,
) -> io::Result<(Child, ChildStdin, ChildStdout)> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(match errors {
        ErrorStream::Terminal => Stdio::inherit(),
        ErrorStream::Nowhere => Stdio::null(),
    });
    let mut child = command.kill_on_drop(true).spawn()?;
    match (child.stdin.take(), child.stdout.take()) {
        (Some(stdin), Some(stdout)) => Ok((child, stdin, stdout)),
        _ => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

#[cfg(test)]
#[path = "user_program_tests.rs"]
mod tests;
