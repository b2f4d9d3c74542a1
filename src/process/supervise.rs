//! One task per child: waits for it, terminates it on request, waits for what it left behind, reaps it, removes its
//! record.
//!
//! The task outlives the handle: cancelling a caller in the middle of a kill leaves nothing running.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::child::{ProcessExit, ProcessPhase};
use super::child_handle::{self, ChildHandle};
use super::record::RecordFile;
use super::table::{self, ProcessInfo};
use super::terminate::{GRACE, ProcessTree, Targets, terminate_blocking};

/// How long output that was already written may take to arrive after the child has exited.
const DRAIN: Duration = Duration::from_millis(100);
/// The same if no process is left that could write more: only a busy machine or a slow disk can delay it.
const LATE_DRAIN: Duration = Duration::from_secs(5);
/// How long a killed child may take to be reaped before it counts as stuck in the kernel.
const REAP: Duration = Duration::from_secs(5);
/// Delay between the exit of a process and the next scan for others.
const SCAN_DELAY: Duration = Duration::from_millis(20);
/// The longest delay between scans on systems without process handles.
const MAX_SCAN_DELAY: Duration = Duration::from_secs(1);

pub(super) struct Supervisor {
    /// The child and what it started. Updated by every scan, because members that were seen once stay members.
    pub(super) tree: ProcessTree,
    pub(super) child: ChildHandle,
    pub(super) phase: watch::Sender<ProcessPhase>,
    pub(super) drains: Vec<oneshot::Receiver<()>>,
    pub(super) record: Option<RecordFile>,
}

/// Follows a child to its end. A closed `kill` channel counts as a kill request.
pub(super) async fn supervise(mut this: Supervisor, mut kill: mpsc::UnboundedReceiver<()>) {
    let ended = tokio::select! {
        status = this.child.wait() => Some(status),
        _ = kill.recv() => None,
    };
    let exit = match ended {
        None => this.terminate().await,
        Some(status) => {
            let exit = ProcessExit::from_status(&status, false);
            let mut is_drained = timeout(DRAIN, this.wait_drained()).await.is_ok();
            let is_alone = this.survivor().await.is_none();
            if is_alone && !is_drained {
                is_drained = timeout(LATE_DRAIN, this.wait_drained()).await.is_ok();
            }
            if is_alone && is_drained {
                exit
            } else {
                this.phase.send_replace(ProcessPhase::Exited(exit));
                tokio::select! {
                    () = this.wait_all_gone() => {}
                    _ = kill.recv() => terminate_tree(this.tree.clone()).await,
                }
                exit
            }
        }
    };
    // Collect what is still in the pipes, but do not wait for an escaped process that holds them open.
    let _ = timeout(DRAIN, this.wait_drained()).await;
    if let Some(record) = this.record.take() {
        record.remove();
    }
    this.phase.send_replace(ProcessPhase::Gone(exit));
}

impl Supervisor {
    async fn wait_drained(&mut self) {
        while let Some(drain) = self.drains.last_mut() {
            // The sender is dropped, never used: an error means closed.
            let _ = drain.await;
            self.drains.pop();
        }
    }

    /// Waits until no process of the child is left and its output is closed.
    async fn wait_all_gone(&mut self) {
        self.wait_drained().await;
        let mut pause = SCAN_DELAY;
        while let Some(member) = self.survivor().await {
            // While this one lives no scan is needed, so a daemon costs nothing.
            if wait_exit(&member).await {
                pause = SCAN_DELAY;
            }
            sleep(pause).await;
            pause = (pause * 2).min(MAX_SCAN_DELAY);
        }
    }

    /// Returns a process of the child that still runs. Finds daemons, too: they left the group and the session and
    /// closed the output, and only their environment still has the marker.
    async fn survivor(&mut self) -> Option<ProcessInfo> {
        let mut tree = self.tree.clone();
        let scan = tokio::task::spawn_blocking(move || {
            let survivor = tree.members(&table::all()).into_iter().next();
            (tree, survivor)
        });
        let (tree, survivor) = scan.await.ok()?;
        self.tree = tree;
        survivor
    }

    async fn terminate(&mut self) -> ProcessExit {
        let termination = tokio::spawn(terminate_tree(self.tree.clone()));
        let status = timeout(GRACE + REAP, self.child.wait()).await;
        let _ = termination.await;
        let status: io::Result<ExitStatus> = status.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        ProcessExit::from_status(&status, true)
    }
}

/// Waits until a process has exited, without polling. Returns false if the system cannot wait for it.
async fn wait_exit(process: &ProcessInfo) -> bool {
    let Some(handle) = table::handle(process).and_then(child_handle::register) else { return false };
    handle.readable().await.is_ok()
}

/// Terminates every process of the tree. Reading the process table blocks, so it runs on a blocking thread.
async fn terminate_tree(mut tree: ProcessTree) {
    let find = move || {
        let members = tree.members(&table::all());
        Targets { members, group: tree.group() }
    };
    let _ = tokio::task::spawn_blocking(move || terminate_blocking(find, GRACE)).await;
}
