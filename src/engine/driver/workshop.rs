//! What an agent works with: its tools, its fence, its shell, in one worktree.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{Incoming, Parts, verifying};
use crate::agent::blobs::StoredBlobs;
use crate::base::TaskId;
use crate::engine::door::Door;
use crate::engine::machine::LaunchOrder;
use crate::engine::profiles::Toolset;
use crate::engine::tools::{self as orchestration, Access, Clean, Finish};
use crate::git::status;
use crate::model::Live;
use crate::process::Environment;
use crate::process::environment::TASK_MARKER;
use crate::tools::{
    BlobSink, Completion, Context, Cwd, Fence, Folders, Foreground, Jobs, Limits, Open, ReadTracker, Registry, Tokens,
};

/// How many uncommitted files are named when `done` is refused for them.
const NAMED_FILES: usize = 20;

/// The tools of one run.
pub(super) struct Bench {
    pub(super) context: Context,
    pub(super) completions: mpsc::UnboundedReceiver<Completion>,
    /// What the agent should know about its tools.
    pub(super) notes: Vec<String>,
}

pub(super) async fn bench(
    parts: &Arc<Parts>,
    order: &LaunchOrder,
    tools: &Toolset,
    root: &Path,
) -> Result<Bench, String> {
    let task = order.node.id;
    let (registry, notes) = registry(parts, order, tools, root).await?;
    let (completed, completions) = mpsc::unbounded_channel();
    let blobs: Arc<dyn BlobSink> = Arc::new(StoredBlobs(parts.store.blobs().clone()));
    let limits = Limits::default();
    let shown = parts.incoming.clone();
    let live = move |live: Live| {
        let _ = shown.send(Incoming::Live { task, live });
    };
    let environment = Environment::new().with(TASK_MARKER, task.to_string());
    let context = Context {
        registry: Arc::new(registry),
        gate: Arc::new(Open),
        fence: Arc::new(fence(parts, root).map_err(|error| format!("the worktree cannot be used: {error}"))?),
        cwd: Arc::new(Cwd::new(root.to_owned())),
        reads: Arc::new(ReadTracker::default()),
        jobs: Jobs::new(completed, Arc::clone(&blobs), limits.output_bytes),
        foreground: Arc::new(Foreground::default()),
        tokens: Tokens::default(),
        live: Arc::new(live),
        blobs,
        environment: parts.agent_git.environment(environment, std::env::vars_os()),
        folders: Folders { spill: parts.spill.clone(), records: parts.records.clone() },
        ids: parts.ids.clone(),
        limits,
    };
    Ok(Bench { context, completions, notes })
}

async fn registry(
    parts: &Arc<Parts>,
    order: &LaunchOrder,
    tools: &Toolset,
    root: &Path,
) -> Result<(Registry, Vec<String>), String> {
    let mut registry = Registry::builtin();
    let is_root = order.place.is_none();
    let door = Door::new(order.node.id, parts.knocks.clone());
    // The root works in the person's own checkout: what is uncommitted there may be theirs.
    let clean: Option<Arc<dyn Clean>> =
        (!is_root).then(|| Arc::new(Worktree::new(parts, order, root)) as Arc<dyn Clean>);
    let access = Access {
        finish: Arc::new(Finish::new(door.clone(), clean)),
        door,
        is_root,
        may_delegate: order.may_delegate,
        projects: is_root.then(|| Arc::new(parts.post.clone()) as Arc<dyn orchestration::Projects>),
    };
    orchestration::add(&mut registry, access).map_err(|error| error.to_string())?;
    if !tools.allows_external() {
        registry.retain(|wire| tools.allows(wire));
        return Ok((registry, Vec::new()));
    }
    let (external, missing) = parts.pool.tools().await;
    let mut notes: Vec<String> = missing
        .iter()
        .map(|missing| format!("[tools of {} are missing: {}]", missing.server, missing.reason))
        .collect();
    for tool in external {
        if let Err(error) = registry.add(tool) {
            notes.push(format!("[{error}]"));
        }
    }
    registry.retain(|wire| tools.allows(wire));
    Ok((registry, notes))
}

/// Returns the fence around a worktree: what runs code outside of it cannot be written, what holds keys cannot be read.
fn fence(parts: &Parts, root: &Path) -> std::io::Result<Fence> {
    let mut fence = Fence::new(root)?;
    for secret in parts.secrets.iter().filter(|path| path.exists()) {
        fence = fence.hide(secret)?;
    }
    Ok(fence)
}

/// A worktree, as `done` looks at it.
struct Worktree {
    parts: Arc<Parts>,
    task: TaskId,
    path: std::path::PathBuf,
    /// What checks the work in it.
    verify: Option<String>,
}

impl Worktree {
    fn new(parts: &Arc<Parts>, order: &LaunchOrder, root: &Path) -> Self {
        let verify = order.node.verify.clone().or_else(|| parts.settings.verify.clone());
        Self { parts: Arc::clone(parts), task: order.node.id, path: root.to_owned(), verify }
    }
}

impl Clean for Worktree {
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>> {
        Box::pin(async move {
            let said = |error: crate::git::Error| error.to_string();
            let checkout = self.parts.worktrees.checkout(&self.path).await.map_err(said)?;
            let dirty = status::dirty(&checkout, NAMED_FILES).await.map_err(said)?;
            let mut files: Vec<String> =
                dirty.changes.iter().map(|change| change.path.to_string_lossy().into_owned()).collect();
            if dirty.count() > files.len() {
                files.push(format!("and {} more", dirty.count() - files.len()));
            }
            Ok(files)
        })
    }

    fn verify(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let command = self.verify.as_deref()?;
            let path = &self.path;
            match verifying::checked(&self.parts, self.task, path, command).await {
                Ok(receipt) if receipt.passed() => None,
                Ok(receipt) => {
                    let how = receipt.exit.map_or_else(
                        || "did not come to its end".to_owned(),
                        |code| format!("failed with exit code {code}"),
                    );
                    Some(format!("the project's check `{command}` {how}. What it said:\n{}", receipt.output))
                }
                Err(fault) => Some(format!("the project's check `{command}` could not be run: {fault}")),
            }
        })
    }
}
