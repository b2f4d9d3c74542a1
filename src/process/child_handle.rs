//! A direct child until it is reaped: only the parent learns its exit status.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use super::table;

/// A direct child process. Killed if dropped before it has exited.
#[derive(Debug)]
pub(super) struct ChildHandle {
    pid: Pid,
    /// Readable once it has exited. `None` if the system has no such handles; a thread waits instead.
    handle: Option<AsyncFd<OwnedFd>>,
    status: Option<ExitStatus>,
}

impl ChildHandle {
    /// Takes over a child that is not reaped elsewhere. Must be called in a runtime.
    pub(super) fn new(pid: Pid) -> Self {
        Self { pid, handle: table::handle_of_child(pid).and_then(register), status: None }
    }

    /// Waits for the exit and reaps the child. Cancel safe.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.reap()? {
                return Ok(status);
            }
            match &self.handle {
                // Readiness is checked above; clear it, so that only the next change wakes us.
                Some(handle) => handle.readable().await?.clear_ready(),
                None => wait_exit(self.pid).await?,
            }
        }
    }

    fn reap(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = reap(self.pid)?;
        }
        Ok(self.status)
    }
}

/// Reaps a child if it has exited.
fn reap(pid: Pid) -> io::Result<Option<ExitStatus>> {
    let ended = retry_on_intr(|| waitpid(Some(pid), WaitOptions::NOHANG))?;
    Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
}

impl Drop for ChildHandle {
    fn drop(&mut self) {
        if matches!(self.reap(), Ok(None)) {
            let pid = self.pid;
            let _ = kill_process(pid, Signal::KILL);
            // It takes a moment to die, and only the parent can reap it. If no thread can be started, it stays a
            // zombie.
            let _ = named_thread().spawn(move || {
                let _ = wait_exit_blocking(pid);
                let _ = reap(pid);
            });
        }
    }
}

/// Registers a process handle with the runtime: it is readable once the process has exited.
#[allow(unsafe_code, reason = "registering a raw descriptor is unsafe")]
pub(super) fn register(handle: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    // SAFETY: the handle is owned, always names the same descriptor, and is closed only with what is returned.
    unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }.ok()
}

/// Waits until a child has exited, without reaping it. Uses a thread that sleeps in the kernel, because a blocking task
/// would keep the runtime from shutting down.
async fn wait_exit(pid: Pid) -> io::Result<()> {
    let (sender, exited) = oneshot::channel();
    named_thread().spawn(move || {
        let _ = sender.send(wait_exit_blocking(pid));
    })?;
    exited.await.unwrap_or(Err(Errno::CHILD))?;
    Ok(())
}

/// Blocks until a child has exited, without reaping it.
fn wait_exit_blocking(pid: Pid) -> Result<(), Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(pid), options)).map(drop)
}

fn named_thread() -> std::thread::Builder {
    std::thread::Builder::new().name("end of child".to_owned()).stack_size(64 << 10)
}

#[cfg(test)]
#[path = "child_handle_tests.rs"]
mod tests;
