//! Everything a tool may use besides its input. Cheap to clone; the parts are shared by all calls of one run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::base::IdSource;
use crate::process::Environment;
use crate::tools::blobs::BlobSink;
use crate::tools::fence::{Fence, FenceError, Writable};
use crate::tools::foreground::Foreground;
use crate::tools::gate::Gate;
use crate::tools::jobs::Jobs;
use crate::tools::live::LiveSink;
use crate::tools::place::Cwd;
use crate::tools::read_tracker::ReadTracker;
use crate::tools::registry::Registry;

/// The surroundings of a call.
#[derive(Clone)]
pub struct Context {
    pub registry: Arc<Registry>,
    pub gate: Arc<dyn Gate>,
    /// The worktree, and what around it may be written or must not be seen.
    pub fence: Arc<Fence>,
    /// Where the agent's shell stands.
    pub cwd: Arc<Cwd>,
    pub reads: Arc<ReadTracker>,
    pub jobs: Arc<Jobs>,
    pub foreground: Arc<Foreground>,
    pub tokens: Tokens,
    pub live: Arc<dyn LiveSink>,
    pub blobs: Arc<dyn BlobSink>,
    /// What commands see, with the task's own additions.
    pub environment: Environment,
    pub folders: Folders,
    pub ids: IdSource,
    pub limits: Limits,
}

impl Context {
    /// Asks the fence about a path that is to be written, from where the agent's shell stands. That reads the disk.
    pub(super) async fn for_writing(&self, path: &str) -> Result<Writable, FenceError> {
        let (fence, cwd, wanted) = (Arc::clone(&self.fence), self.cwd.get(), path.to_owned());
        let asked = tokio::task::spawn_blocking(move || fence.for_writing(&wanted, &cwd));
        asked.await.unwrap_or_else(|cut_off| {
            Err(FenceError::Unresolvable { path: path.into(), source: std::io::Error::other(cut_off) })
        })
    }
}

/// The two ways in which a call can be cut short.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    /// The person cut in: what runs in the foreground ends, the agent goes on.
    pub interrupt: CancellationToken,
    /// The run is over: everything ends.
    pub teardown: CancellationToken,
}

impl Tokens {
    pub fn is_cancelled(&self) -> bool {
        self.interrupt.is_cancelled() || self.teardown.is_cancelled()
    }

    /// Waits until either is cancelled.
    pub async fn cancelled(&self) {
        tokio::select! {
            () = self.interrupt.cancelled() => {}
            () = self.teardown.cancelled() => {}
        }
    }
}

/// Where tools keep what they need to keep.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Output of commands while it grows. Not in the worktree: an agent that searches must not find its own output. Its
    /// owner empties it while no run uses it: a background process may leave a few bytes.
    pub spill: PathBuf,
    /// The records of running processes.
    pub records: PathBuf,
}

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When a command that still runs moves to the background.
    pub foreground: Duration,
    /// What a command's output may take of the conversation.
    pub output_bytes: usize,
    /// What any reply may take of the conversation.
    pub reply_bytes: usize,
    /// What one call of `read_file` may take of the conversation.
    pub read_bytes: usize,
    /// The longest side of a picture, in pixels.
    pub image_edge: u32,
    /// The size of a picture's file.
    pub image_bytes: usize,
}

impl Default for Limits {
    /// The picture limits are the narrowest of the vendors': 2000 pixels when a request holds many pictures, and
    /// 5 MB in base64.
    fn default() -> Self {
        Self {
            foreground: Duration::from_mins(2),
            output_bytes: 10_000,
            reply_bytes: 64_000,
            read_bytes: 48_000,
            image_edge: 2000,
            image_bytes: 3_700_000,
        }
    }
}
