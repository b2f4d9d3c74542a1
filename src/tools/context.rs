//! Everything a tool may use besides its input. Cheap to clone; all calls of a run share its parts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::base::IdSource;
use crate::hooks::TaskHooks;
use crate::model::event::PermissionNote;
use crate::process::Environment;
use crate::tools::blobs::BlobSink;
use crate::tools::cwd::Cwd;
use crate::tools::fence::{PathPolicy, PathPolicyError, Writable};
use crate::tools::foreground::Foreground;
use crate::tools::gate::Gate;
use crate::tools::jobs::BackgroundJobs;
use crate::tools::live::LiveSink;
use crate::tools::read_tracker::ReadTracker;
use crate::tools::registry::Registry;

/// The context of a call.
#[derive(Clone)]
pub struct ToolContext {
    pub registry: Arc<Registry>,
    pub gate: Arc<dyn Gate>,
    /// The user's consent to the call that this context is for, if it was held. Deny rules hold nevertheless.
    pub consent: Option<PermissionNote>,
    /// The user's lifecycle hooks.
    pub hooks: TaskHooks,
    /// The worktree, and which paths around it may be written or must not be read.
    pub path_policy: Arc<PathPolicy>,
    /// The current folder of the agent's shell.
    pub cwd: Arc<Cwd>,
    pub reads: Arc<ReadTracker>,
    pub jobs: Arc<BackgroundJobs>,
    pub foreground: Arc<Foreground>,
    pub tokens: CancelTokens,
    pub live: Arc<dyn LiveSink>,
    pub blobs: Arc<dyn BlobSink>,
    /// The environment of commands, with the task's own additions.
    pub environment: Environment,
    pub folders: Folders,
    pub ids: IdSource,
    pub limits: Limits,
}

impl ToolContext {
    /// Checks a path for writing, relative to the shell's current folder. Blocks on the disk, so it runs on another
    /// thread.
    pub(super) async fn for_writing(&self, path: &str) -> Result<Writable, PathPolicyError> {
        let (fence, cwd, wanted) = (Arc::clone(&self.path_policy), self.cwd.get(), path.to_owned());
        let check = tokio::task::spawn_blocking(move || fence.for_writing(&wanted, &cwd));
        check.await.unwrap_or_else(|error| {
            Err(PathPolicyError::Unresolvable { path: path.into(), source: std::io::Error::other(error) })
        })
    }
}

/// The two ways to cancel a call.
#[derive(Clone, Debug, Default)]
pub struct CancelTokens {
    /// The user interrupted: foreground work ends, the agent continues.
    pub interrupt: CancellationToken,
    /// The run is over: everything ends.
    pub teardown: CancellationToken,
}

impl CancelTokens {
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

/// The folders in which tools store data.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Output of running commands. Not in the worktree: an agent's search must not find its own output. Its owner
    /// empties it while no run uses it: a background process may leave a few bytes.
    pub spill: PathBuf,
    /// The records of running processes.
    pub records: PathBuf,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When a running command moves to the background.
    pub foreground: Duration,
    /// The most bytes of a command's output in the conversation.
    pub output_bytes: usize,
    /// The most bytes of any reply in the conversation.
    pub reply_bytes: usize,
    /// The most bytes of one `read_file` call in the conversation.
    pub read_bytes: usize,
    /// The longest side of a picture, in pixels.
    pub image_edge: u32,
    /// The largest file of a picture.
    pub image_bytes: usize,
}

impl Default for Limits {
    /// The picture limits are the smallest of all vendors': 2000 pixels for requests with many pictures, and 5 MB in
    /// base64.
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
