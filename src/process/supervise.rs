//! One task per child: waits for it, ends it when asked, sees what it left behind, reaps it, removes its record.
//!
//! It outlives the handle: a caller that is cancelled in the middle of a kill does not leave the rest running.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::child::{Exit, Phase};
use super::end::{Family, Found, GRACE, end_blocking};
use super::leader::{self, Leader};
use super::record::Note;
use super::table::{self, Entry};

/// How long output that was already written may take to arrive once the child has ended.
const DRAIN: Duration = Duration::from_millis(100);
/// The same where nobody is left who could write more: only a busy machine or a slow disk is in the way.
const LATE_DRAIN: Duration = Duration::from_secs(5);
/// How long a killed child may take to be reaped before it is given up as stuck in the kernel.
const REAP: Duration = Duration::from_secs(5);
/// How long after the end of somebody it is looked who else is left.
const LOOK: Duration = Duration::from_millis(20);
/// How often it is looked where the system does not tell of ends.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

pub(super) struct Supervisor {
    /// The child and what it started. Kept from look to look: what was seen once is not to be believed anew.
    pub(super) family: Family,
    pub(super) child: Leader,
    pub(super) phase: watch::Sender<Phase>,
    pub(super) drains: Vec<oneshot::Receiver<()>>,
    pub(super) note: Option<Note>,
}

/// Follows a child to its end. A closed `kill` channel is a kill: nobody is left who could want the child.
pub(super) async fn supervise(mut this: Supervisor, mut kill: mpsc::UnboundedReceiver<()>) {
    let ended = tokio::select! {
        status = this.child.wait() => Some(status),
        _ = kill.recv() => None,
    };
    let exit = match ended {
        None => this.end().await,
        Some(status) => {
            let exit = Exit::from_status(&status, false);
            let mut quiet = timeout(DRAIN, this.drained()).await.is_ok();
            let alone = this.survivor().await.is_none();
            if alone && !quiet {
                quiet = timeout(LATE_DRAIN, this.drained()).await.is_ok();
            }
            if alone && quiet {
                exit
            } else {
                this.phase.send_replace(Phase::Left(exit));
                tokio::select! {
                    () = this.deserted() => {}
                    _ = kill.recv() => end_family(this.family.clone()).await,
                }
                exit
            }
        }
    };
    // What is still in the pipes is ours to show; what an escaped process holds open is not worth waiting for.
    let _ = timeout(DRAIN, this.drained()).await;
    if let Some(note) = this.note.take() {
        note.remove();
    }
    this.phase.send_replace(Phase::Gone(exit));
}

impl Supervisor {
    async fn drained(&mut self) {
        while let Some(drain) = self.drains.last_mut() {
            // The sender is dropped, never used: an error is the message.
            let _ = drain.await;
            self.drains.pop();
        }
    }

    /// Waits until nobody whom the child started is left and nobody holds its output.
    async fn deserted(&mut self) {
        self.drained().await;
        let mut pause = LOOK;
        while let Some(member) = self.survivor().await {
            // As long as this one lives, nothing else has to be known: a daemon costs nobody a look.
            if end_of(&member).await {
                pause = LOOK;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_LOOK);
        }
    }

    /// Returns somebody of the family who runs, also one that made itself a daemon: it left the group and the session
    /// and closed the output, and only its environment still says whose it is.
    async fn survivor(&mut self) -> Option<Entry> {
        let mut family = self.family.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let survivor = family.members(&table::all()).into_iter().next();
            (family, survivor)
        });
        let (family, survivor) = looked.await.ok()?;
        self.family = family;
        survivor
    }

    async fn end(&mut self) -> Exit {
        let ending = tokio::spawn(end_family(self.family.clone()));
        let status = timeout(GRACE + REAP, self.child.wait()).await;
        let _ = ending.await;
        let status: io::Result<ExitStatus> = status.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        Exit::from_status(&status, true)
    }
}

/// Waits until a process has ended, without looking again and again. Tells whether that could be waited for.
async fn end_of(process: &Entry) -> bool {
    let Some(handle) = table::handle(process).and_then(leader::watched) else { return false };
    handle.readable().await.is_ok()
}

/// Ends everyone. Reading the process table blocks, so it happens aside.
async fn end_family(mut family: Family) {
    let find = move || {
        let members = family.members(&table::all());
        Found { members, group: family.group() }
    };
    let _ = tokio::task::spawn_blocking(move || end_blocking(find, GRACE)).await;
}
