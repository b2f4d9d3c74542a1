//! What an agent works with: its tools, its fence, its shell, in one worktree.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use crate::agent::prepare::{Toolbox, Tools};
use crate::base::Fault;
use crate::engine::backend::{Assignment, RunRequest};
use crate::engine::blobs::StoredBlobs;
use crate::engine::driver::Parts;
use crate::engine::profiles::Toolset;
use crate::engine::tools::{self as orchestration, Access};
use crate::git::{Checkout, hooks};
use crate::model::ToolSpec;
use crate::tools::fence::Hooks;
use crate::tools::mcp::Missing;
use crate::tools::{
    BlobSink, Completion, Context, Cwd, DuplicateTool, Fence, Folders, Foreground, Jobs, Limits, Open, ReadTracker,
    Registry, Tokens, Tool,
};

/// The tools of one run.
pub(super) struct Bench {
    pub(super) context: Context,
    pub(super) completions: mpsc::UnboundedReceiver<Completion>,
    /// Where the tools of its next segment come from.
    pub(super) toolbox: Arc<dyn Toolbox>,
}

pub(super) async fn bench(
    parts: &Arc<Parts>,
    request: &RunRequest,
    promised: Option<&[ToolSpec]>,
) -> Result<Bench, Fault> {
    let Assignment { order, profile } = request.assignment.as_ref();
    let (task, root) = (order.node.id, request.worktree.as_path());
    let own = own_tools(parts, request).map_err(|error| Fault::internal(error.to_string()))?;
    let shelf = Shelf { parts: Arc::clone(parts), own, allowed: profile.tools.clone(), first: Mutex::default() };
    let registry = match promised {
        Some(specs) => shelf.promised(specs),
        None => shelf.fill_for_the_first().await,
    };
    let (completed, completions) = mpsc::unbounded_channel();
    let blobs: Arc<dyn BlobSink> = Arc::new(StoredBlobs(parts.store.blobs().clone()));
    let limits = Limits::default();
    let checkout = match &order.place {
        Some(place) => parts.worktrees.checkout(&place.worktree).await?,
        None => parts.worktrees.main().clone(),
    };
    let fence = fence(parts, root, checkout)
        .map_err(|error| Fault::environment(format!("the worktree cannot be used: {error}")))?;
    let context = Context {
        registry,
        gate: Arc::new(Open),
        cwd: Arc::new(Cwd::at(fence.root().to_owned(), order.cwd.as_deref())),
        fence: Arc::new(fence),
        reads: Arc::new(ReadTracker::default()),
        jobs: Jobs::new(completed, Arc::clone(&blobs), limits.output_bytes),
        foreground: Arc::new(Foreground::default()),
        tokens: Tokens::default(),
        live: Arc::clone(&request.live),
        blobs,
        environment: parts.agent_git.environment(parts.environment(task), std::env::vars_os()),
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

fn own_tools(parts: &Arc<Parts>, request: &RunRequest) -> Result<Registry, DuplicateTool> {
    let mut registry = Registry::builtin();
    let is_root = request.assignment.order.place.is_none();
    let access = Access {
        port: request.port.clone(),
        finish: Arc::clone(&request.done_check),
        is_root,
        may_delegate: request.assignment.order.may_delegate,
        projects: is_root.then(|| Arc::new(parts.post.clone()) as Arc<dyn orchestration::Projects>),
    };
    orchestration::add(&mut registry, access)?;
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
