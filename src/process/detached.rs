//! Starts a program that outlives this process.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::spawn::{SpawnRequest, spawn};

/// Starts a program in its own session, without a terminal, with our environment. Its output is appended to `log`.
pub fn start_detached(program: &OsStr, arguments: &[OsString], cwd: &Path, log: &Path) -> io::Result<()> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    let nothing = File::open("/dev/null")?;
    let environment = std::env::vars_os().collect();
    let streams = [nothing.as_fd(), log.as_fd(), log.as_fd()];
    let pid = spawn(&SpawnRequest { program, arguments, cwd, cwd_dir: None, environment: &environment, streams })?;
    // If it ends before us, somebody has to reap it.
    std::thread::spawn(move || rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()));
    Ok(())
}

#[cfg(test)]
#[path = "detached_tests.rs"]
mod tests;
