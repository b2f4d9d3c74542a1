//! Programs of the person's own. One that gets the terminal for a while (an editor, a pager) shares our process group
//! and standard streams; one that gets a text (a clipboard) may leave somebody behind who serves it, and that is theirs.

use std::ffi::OsStr;
use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Runs a program on the person's own terminal and waits for it. It sees the person's whole environment: it is theirs.
pub async fn on_terminal<A: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = A>,
) -> io::Result<ExitStatus> {
    Command::new(program).args(arguments).status().await
}

/// Gives a text to a program on its standard input and waits for it. It sees the person's whole environment, and what it
/// leaves running stays: a clipboard is served by a process for as long as nothing else is copied.
pub async fn hand_text(program: &str, arguments: &[&str], text: &str) -> io::Result<ExitStatus> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Not in our group: a Ctrl-C that reaches us must not empty the clipboard.
    let mut child = command.process_group(0).kill_on_drop(true).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).await?;
    }
    child.wait().await
}

#[cfg(test)]
#[path = "lent_tests.rs"]
mod tests;
