//! The process that we started ourselves, until it is reaped: only its parent can learn how it ended.

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

/// A child of ours. Dropped before its end, it is killed.
#[derive(Debug)]
pub(super) struct Leader {
    pid: Pid,
    /// Readable once it has ended. Nothing: the system has no such handles, and a thread waits.
    handle: Option<AsyncFd<OwnedFd>>,
    status: Option<ExitStatus>,
}

impl Leader {
    /// Looks after a child that nobody else reaps. Must be called in a runtime.
    pub(super) fn new(pid: Pid) -> Self {
        Self { pid, handle: table::handle_of_child(pid).and_then(watched), status: None }
    }

    /// Waits for its end and reaps it. May be given up and called again.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.reap()? {
                return Ok(status);
            }
            match &self.handle {
                // Whatever made it readable is looked at above; only the next news wakes it again.
                Some(handle) => handle.readable().await?.clear_ready(),
                None => end_of(self.pid).await?,
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

/// Reaps a child if it has ended.
fn reap(pid: Pid) -> io::Result<Option<ExitStatus>> {
    let ended = retry_on_intr(|| waitpid(Some(pid), WaitOptions::NOHANG))?;
    Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
}

impl Drop for Leader {
    fn drop(&mut self) {
        if matches!(self.reap(), Ok(None)) {
            let pid = self.pid;
            let _ = kill_process(pid, Signal::KILL);
            // It takes a moment to die, and then only we can put it away. Where no thread can be had, it stays a zombie.
            let _ = thread().spawn(move || {
                let _ = await_end(pid);
                let _ = reap(pid);
            });
        }
    }
}

/// Lets the runtime watch a handle of a process: it is readable once the process has ended.
#[allow(unsafe_code, reason = "the runtime takes any descriptor, and wants a promise")]
pub(super) fn watched(handle: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    // SAFETY: the handle is owned, always names the same descriptor, and is closed only with what is returned.
    unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }.ok()
}

/// Waits until a child has ended and leaves it to be reaped: on a thread that sleeps in the kernel, because a blocking task
/// would keep the runtime from ending.
async fn end_of(pid: Pid) -> io::Result<()> {
    let (ended, end) = oneshot::channel();
    thread().spawn(move || {
        let _ = ended.send(await_end(pid));
    })?;
    end.await.unwrap_or(Err(Errno::CHILD))?;
    Ok(())
}

/// Sleeps until a child has ended, and leaves it to be reaped.
fn await_end(pid: Pid) -> Result<(), Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    retry_on_intr(|| waitid(WaitId::Pid(pid), options)).map(drop)
}

fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("end of child".to_owned()).stack_size(64 << 10)
}

#[cfg(test)]
#[path = "leader_tests.rs"]
mod tests;
