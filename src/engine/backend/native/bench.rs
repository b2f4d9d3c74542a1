//! What an agent works with: its tools, its fence, its shell, in one worktree.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::setup::left_by_hook;
use super::{Incoming, Parts, verifying};
use crate::agent::blobs::StoredBlobs;
use crate::agent::prepare::{Toolbox, Tools};
use crate::base::{TaskId, known_secrets};
use crate::engine::agent_port::AgentPort;
use crate::engine::machine::LaunchOrder;
use crate::engine::profiles::Toolset;
use crate::engine::tools::{self as orchestration, Access, Clean, FailedCheck, Finish};
use crate::git::status::{self, ChangeKind, Changed};
use crate::git::{Checkout, hooks};
use crate::model::{Live, ToolSpec};
use crate::tools::fence::Hooks;
use crate::tools::mcp::Missing;
use crate::tools::{
    BlobSink, Completion, Context, Cwd, Fence, Folders, Foreground, Jobs, Limits, Open, ReadTracker, Registry, Tokens,
    Tool,
};

/// How many uncommitted files are named when `done` is refused for them.
const NAMED_FILES: usize = 20;

/// The tools of one run.
pub(super) struct Bench {
    pub(super) context: Context,
    pub(super) completions: mpsc::UnboundedReceiver<Completion>,
    /// Where the tools of its next segment come from.
    pub(super) toolbox: Arc<dyn Toolbox>,
}

pub(super) async fn bench(
    parts: &Arc<Parts>,
    order: &LaunchOrder,
    tools: &Toolset,
    promised: Option<&[ToolSpec]>,
    root: &Path,
) -> Result<Bench, String> {
    let task = order.node.id;
    let own = own_tools(parts, order, root)?;
    let shelf = Shelf { parts: Arc::clone(parts), own, allowed: tools.clone(), first: Mutex::default() };
    let registry = match promised {
        Some(specs) => shelf.promised(specs),
        None => shelf.fill_for_the_first().await,
    };
    let (completed, completions) = mpsc::unbounded_channel();
    let blobs: Arc<dyn BlobSink> = Arc::new(StoredBlobs(parts.store.blobs().clone()));
    let limits = Limits::default();
    let shown = parts.incoming.clone();
    let live = move |mut live: Live| {
        if let Live::OutputChunk { text, .. } = &mut live {
            *text = known_secrets::mask(text).into_owned();
        }
        let _ = shown.send(Incoming::Live { task, live });
    };
    let environment = parts.environment(task);
    let checkout = match &order.place {
        Some(place) => parts.worktrees.checkout(&place.worktree).await.map_err(|error| error.to_string())?,
        None => parts.worktrees.main().clone(),
    };
    let fence = fence(parts, root, checkout).map_err(|error| format!("the worktree cannot be used: {error}"))?;
    let context = Context {
        registry,
        gate: Arc::new(Open),
        cwd: Arc::new(Cwd::at(fence.root().to_owned(), order.cwd.as_deref())),
        fence: Arc::new(fence),
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
    Ok(Bench { context, completions, toolbox: Arc::new(shelf) })
}

/// The tools of one run: its own, and those of servers that its profile allows.
struct Shelf {
    parts: Arc<Parts>,
    own: Registry,
    allowed: Toolset,
    /// What was put out for the first segment, until that takes it.
    first: Mutex<Option<Tools>>,
}

impl Shelf {
    /// Returns the tools as they are now. Servers that do not run are started.
    async fn fill(&self) -> Tools {
        if !self.allowed.allows_external() {
            return self.with(Vec::new(), Vec::new());
        }
        let (external, missing) = self.parts.pool.tools().await;
        let of = |missing: &Missing| format!("[tools of {} are missing: {}]", missing.server, missing.reason);
        self.with(external, missing.iter().map(of).collect())
    }

    async fn fill_for_the_first(&self) -> Arc<Registry> {
        let tools = self.fill().await;
        let registry = Arc::clone(&tools.registry);
        *self.first.lock().unwrap_or_else(PoisonError::into_inner) = Some(tools);
        registry
    }

    /// Returns the tools that a segment was promised when it began. A server starts with the first call.
    fn promised(&self, specs: &[ToolSpec]) -> Arc<Registry> {
        self.with(self.parts.pool.promised(specs), Vec::new()).registry
    }

    fn with(&self, external: Vec<Arc<dyn Tool>>, mut notes: Vec<String>) -> Tools {
        let mut registry = self.own.clone();
        for tool in external {
            if let Err(error) = registry.add(tool) {
                notes.push(format!("[{error}]"));
            }
        }
        registry.retain(|wire| self.allowed.allows(wire));
        Tools { registry: Arc::new(registry), notes }
    }
}

impl Toolbox for Shelf {
    fn open(&self) -> BoxFuture<'_, Tools> {
        Box::pin(async move {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            match first {
                Some(tools) => tools,
                None => self.fill().await,
            }
        })
    }
}

fn own_tools(parts: &Arc<Parts>, order: &LaunchOrder, root: &Path) -> Result<Registry, String> {
    let mut registry = Registry::builtin();
    let is_root = order.place.is_none();
    let port = AgentPort::new(order.node.id, parts.agents.clone());
    // The root works in the person's own checkout: what is uncommitted there may be theirs.
    let clean: Option<Arc<dyn Clean>> =
        (!is_root).then(|| Arc::new(Worktree::new(parts, order, root)) as Arc<dyn Clean>);
    let access = Access {
        finish: Arc::new(Finish::new(port.clone(), clean)),
        port,
        is_root,
        may_delegate: order.may_delegate,
        projects: is_root.then(|| Arc::new(parts.post.clone()) as Arc<dyn orchestration::Projects>),
    };
    orchestration::add(&mut registry, access).map_err(|error| error.to_string())?;
    Ok(registry)
}

/// Returns the fence around a worktree: nothing outside of it can be written, nor what git would run, and what holds keys
/// cannot even be read.
fn fence(parts: &Parts, root: &Path, checkout: Checkout) -> std::io::Result<Fence> {
    let fence = Fence::new(root)?.with_git_data(&checkout.git_dir)?.with_git_data(&checkout.common)?;
    let fence = fence.with_secrets(parts.secrets.clone()).with_staging(&checkout.git_dir);
    Ok(fence.with_hooks(Arc::new(HookFolders { main: parts.worktrees.main().clone(), here: checkout })))
}

/// Where hooks lie that a write in `here` could change.
#[derive(Debug)]
struct HookFolders {
    main: Checkout,
    here: Checkout,
}

impl Hooks for HookFolders {
    fn folders(&self) -> Result<Vec<PathBuf>, String> {
        hooks::folders(&self.main, &self.here).map_err(|error| error.to_string())
    }
}

/// A worktree, as `done` looks at it.
struct Worktree {
    parts: Arc<Parts>,
    task: TaskId,
    path: PathBuf,
    /// The same as the tree has it: what the setup hook left is noted beside it.
    place: Option<PathBuf>,
    /// What checks the work in it.
    verify: Option<String>,
}

impl Worktree {
    fn new(parts: &Arc<Parts>, order: &LaunchOrder, root: &Path) -> Self {
        let verify = order.node.verify.clone().or_else(|| parts.settings.verify.clone());
        let place = order.place.as_ref().map(|place| place.worktree.clone());
        Self { parts: Arc::clone(parts), task: order.node.id, path: root.to_owned(), place, verify }
    }
}

impl Clean for Worktree {
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>> {
        Box::pin(async move {
            let said = |error: crate::git::Error| error.to_string();
            let checkout = self.parts.worktrees.checkout(&self.path).await.map_err(said)?;
            let left = self.place.as_deref().map(left_by_hook).unwrap_or_default();
            let dirty = status::dirty(&checkout, NAMED_FILES + left.len()).await.map_err(said)?;
            let is_left = |change: &&Changed| {
                change.kind == ChangeKind::Untracked && left.iter().any(|left| change.path.starts_with(left))
            };
            let count = dirty.count() - dirty.changes.iter().filter(is_left).count();
            let own = dirty.changes.iter().filter(|change| !is_left(change)).take(NAMED_FILES);
            let mut files: Vec<String> = own.map(|change| change.path.to_string_lossy().into_owned()).collect();
            if count > files.len() {
                files.push(format!("and {} more", count - files.len()));
            }
            Ok(files)
        })
    }

    fn verify(&self) -> BoxFuture<'_, Option<FailedCheck>> {
        Box::pin(async move {
            let command = self.verify.as_deref()?;
            let path = &self.path;
            if verifying::may_be_unchecked(&self.parts, self.task).await {
                return None;
            }
            match verifying::checked(&self.parts, self.task, path, command).await {
                Ok(receipt) if receipt.passed() => None,
                Ok(receipt) => {
                    let how = receipt.exit.map_or_else(
                        || "did not come to its end".to_owned(),
                        |code| format!("failed with exit code {code}"),
                    );
                    let wrong = format!("the project's check `{command}` {how}. What it said:\n{}", receipt.output);
                    Some(FailedCheck { wrong, in_a_row: verifying::failures(&self.parts, self.task).await })
                }
                Err(fault) => {
                    let wrong = format!("the project's check `{command}` could not be run: {fault}");
                    Some(FailedCheck { wrong, in_a_row: 1 })
                }
            }
        })
    }
}
