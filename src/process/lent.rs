//! A program that gets the terminal for a while: an editor, a pager. It shares our process group and standard streams.

use std::ffi::OsStr;
use std::io;
use std::process::ExitStatus;

use tokio::process::Command;

/// Runs a program on the person's own terminal and waits for it. It sees the person's whole environment: it is theirs.
pub async fn on_terminal<A: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = A>,
) -> io::Result<ExitStatus> {
    Command::new(program).args(arguments).status().await
}
