//! Builds the tool context of a run: tools, path policy and shell environment of one worktree.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use crate::agent::segment::{SegmentTools, ToolSource};
use crate::base::Fault;
use crate::engine::backend::{Assignment, RunRequest};
use crate::engine::blobs::StoredBlobs;
use crate::engine::driver::EngineContext;
use crate::engine::hooks::HookedTask;
use crate::engine::permissions::TaskPermissions;
use crate::engine::profiles::Toolset;
use crate::engine::tools::{self as orchestration, Access};
use crate::git::{Checkout, hooks};
use crate::model::ToolSpec;
use crate::tools::fence::HookLocator;
use crate::tools::mcp::MissingTools;
use crate::tools::{
    BackgroundJobs, BlobSink, CancelTokens, Completion, Cwd, DuplicateTool, Folders, Foreground, Limits, PathPolicy,
    PolicySource, ReadTracker, Registry, RuleGate, Tool, ToolContext,
};

/// The tools of one run.
pub(super) struct RunTools {
    pub(super) context: ToolContext,
    pub(super) completions: mpsc::UnboundedReceiver<Completion>,
    /// Provides the tools of later segments.
    pub(super) source: Arc<dyn ToolSource>,
}

pub(super) async fn run_tools(
    ctx: &Arc<EngineContext>,
    request: &RunRequest,
    promised: Option<&[ToolSpec]>,
) -> Result<RunTools, Fault> {
    let Assignment { profile, .. } = request.assignment.as_ref();
    let own = own_tools(ctx, request).map_err(|error| Fault::internal(error.to_string()))?;
    let source = RunToolSource { ctx: Arc::clone(ctx), own, allowed: profile.tools.clone(), first: Mutex::default() };
    let registry = match promised {
        Some(specs) => source.promised(specs),
        None => source.collect_first().await,
    };
    let (context, completions) = tool_context(ctx, request, registry).await?;
    Ok(RunTools { context, completions, source: Arc::new(source) })
}

/// Returns the context in which the tools of a run work, and the reports of its background processes.
pub(in crate::engine::backend) async fn tool_context(
    ctx: &Arc<EngineContext>,
    request: &RunRequest,
    registry: Arc<Registry>,
) -> Result<(ToolContext, mpsc::UnboundedReceiver<Completion>), Fault> {
    let order = &request.assignment.order;
    let (task, root) = (order.node.id, request.worktree.as_path());
    let (completed, completions) = mpsc::unbounded_channel();
    let blobs: Arc<dyn BlobSink> = Arc::new(StoredBlobs(ctx.store.blobs().clone()));
    let limits = Limits::default();
    let checkout = match &order.place {
        Some(place) => ctx.worktrees.checkout(&place.worktree).await?,
        None => ctx.worktrees.main().clone(),
    };
    let fence = fence(ctx, root, checkout)
        .map_err(|error| Fault::environment(format!("the worktree cannot be used: {error}")))?;
    let cwd = Arc::new(Cwd::at(fence.root().to_owned(), order.cwd.as_deref()));
    let user_home = std::env::var_os("HOME").map(PathBuf::from);
    let policies: Arc<dyn PolicySource> = Arc::new(TaskPermissions { project: Arc::clone(&ctx.permissions), task });
    let hooks = ctx.task_hooks(&HookedTask::from(&order.node), Some(Arc::clone(&policies)));
    let gate = RuleGate::new(policies, Arc::clone(&cwd), fence.root().to_owned(), user_home);
    let context = ToolContext {
        registry,
        gate: Arc::new(gate),
        consent: None,
        hooks,
        cwd,
        path_policy: Arc::new(fence),
        reads: Arc::new(ReadTracker::default()),
        jobs: BackgroundJobs::new(completed, Arc::clone(&blobs), limits.output_bytes),
        foreground: Arc::new(Foreground::default()),
        tokens: CancelTokens::default(),
        live: Arc::clone(&request.live),
        blobs,
        environment: ctx.agent_git.environment(ctx.environment(task), std::env::vars_os()),
        folders: Folders { spill: ctx.spill.clone(), records: ctx.records.clone() },
        ids: ctx.ids.clone(),
        limits,
    };
    Ok((context, completions))
}

/// The tools of one run: built-in ones, and those of MCP servers that the profile allows.
struct RunToolSource {
    ctx: Arc<EngineContext>,
    own: Registry,
    allowed: Toolset,
    /// The tools that were collected for the first segment, until it takes them.
    first: Mutex<Option<SegmentTools>>,
}

impl RunToolSource {
    /// Returns the current tools. Starts servers that are not running.
    async fn collect(&self) -> SegmentTools {
        if !self.allowed.allows_external() {
            return self.with(Vec::new(), Vec::new());
        }
        let (external, missing) = self.ctx.pool.tools().await;
        let of = |missing: &MissingTools| format!("[tools of {} are missing: {}]", missing.server, missing.reason);
        self.with(external, missing.iter().map(of).collect())
    }

    async fn collect_first(&self) -> Arc<Registry> {
        let tools = self.collect().await;
        let registry = Arc::clone(&tools.registry);
        *self.first.lock().unwrap_or_else(PoisonError::into_inner) = Some(tools);
        registry
    }

    /// Returns the tools that a running segment was given at its start. A server starts with the first call.
    fn promised(&self, specs: &[ToolSpec]) -> Arc<Registry> {
        self.with(self.ctx.pool.promised(specs), Vec::new()).registry
    }

    fn with(&self, external: Vec<Arc<dyn Tool>>, mut notes: Vec<String>) -> SegmentTools {
        let mut registry = self.own.clone();
        for tool in external {
            if let Err(error) = registry.add(tool) {
                notes.push(format!("[{error}]"));
            }
        }
        registry.retain(|wire| self.allowed.allows(wire));
        SegmentTools { registry: Arc::new(registry), notes }
    }
}

impl ToolSource for RunToolSource {
    fn open(&self) -> BoxFuture<'_, SegmentTools> {
        Box::pin(async move {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            match first {
                Some(tools) => tools,
                None => self.collect().await,
            }
        })
    }
}

/// Returns the tools that work on the tree and end the run.
pub(in crate::engine::backend) fn tree_tools(
    ctx: &EngineContext,
    request: &RunRequest,
) -> Result<Registry, DuplicateTool> {
    let mut registry = Registry::default();
    orchestration::add(&mut registry, access(ctx, request))?;
    Ok(registry)
}

fn own_tools(ctx: &Arc<EngineContext>, request: &RunRequest) -> Result<Registry, DuplicateTool> {
    let mut registry = Registry::builtin();
    orchestration::add(&mut registry, access(ctx, request))?;
    Ok(registry)
}

fn access(ctx: &EngineContext, request: &RunRequest) -> Access {
    let is_root = request.assignment.order.place.is_none();
    Access {
        port: request.port.clone(),
        finish: Arc::clone(&request.done_check),
        is_root,
        may_delegate: request.assignment.order.may_delegate,
        skills: Arc::clone(&request.skills),
        projects: is_root.then(|| Arc::new(ctx.project_inbox.clone()) as Arc<dyn orchestration::Projects>),
    }
}

/// Returns the path policy of a worktree. Writes are limited to the worktree, files that git would execute cannot be
/// written, and secrets cannot be read.
fn fence(ctx: &EngineContext, root: &Path, checkout: Checkout) -> std::io::Result<PathPolicy> {
    let fence = PathPolicy::new(root)?.with_git_data(&checkout.git_dir)?.with_git_data(&checkout.common)?;
    let fence = fence.with_secrets(ctx.secrets.clone()).with_staging(&checkout.git_dir);
    Ok(fence.with_hooks(Arc::new(HookFolders { main: ctx.worktrees.main().clone(), here: checkout })))
}

/// The hook folders that a write in `here` could change.
#[derive(Debug)]
struct HookFolders {
    main: Checkout,
    here: Checkout,
}

impl HookLocator for HookFolders {
    fn folders(&self) -> Result<Vec<PathBuf>, String> {
        hooks::folders(&self.main, &self.here).map_err(|error| error.to_string())
    }
}
