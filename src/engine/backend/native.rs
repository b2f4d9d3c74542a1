//! The built-in agent as a backend: chooses a model, prepares the tools and runs the agent loop.
//!
//! This is the only module of the engine that depends on `crate::agent`.

pub(super) mod opening;
pub mod prompts;
pub(super) mod run_tools;
mod session;

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::mpsc;

use super::{Assignment, Backend, Capabilities, Preflight, PreparedRun, RunRequest};
use crate::agent::driver::{FileSnapshotter, RunSetup, drive};
use crate::agent::machine::Limits;
use crate::agent::segment::WorktreePreparer;
use crate::base::{Fault, TurnId};
use crate::engine::driver::models::{ChosenModel, ModelRequest};
use crate::engine::driver::{EngineContext, TurnSnapshotter, notify, refused_by_store};
use crate::engine::machine::LaunchFailure;
use crate::model::conversation::Wire;
use crate::model::event::{CachePolicy, SessionConfig};
use crate::model::run::RunCommand;
use crate::model::stated_cwd;
use run_tools::RunTools;
use session::PriorSession;

/// The built-in agent.
pub(in crate::engine) struct Native(pub(in crate::engine) Arc<EngineContext>);

impl Backend for Native {
    fn name(&self) -> &'static str {
        "mxd"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn preflight(&self, assignment: Arc<Assignment>) -> BoxFuture<'static, Result<Box<dyn Preflight>, Fault>> {
        let ctx = Arc::clone(&self.0);
        async move {
            let is_root = assignment.order.place.is_none();
            let request = ModelRequest::of(&assignment.profile.profile);
            if let Some(model) = &assignment.order.model {
                ctx.models.replace_unknown(is_root, &request, model)?;
            }
            let chosen = ctx.models.choose(is_root, &request).await?;
            Ok(Box::new(ChosenRun { ctx, chosen }) as Box<dyn Preflight>)
        }
        .boxed()
    }

    fn replacements(&self, assignment: Arc<Assignment>) -> BoxFuture<'static, Vec<String>> {
        let ctx = Arc::clone(&self.0);
        async move {
            let is_root = assignment.order.place.is_none();
            ctx.models.similar_to_unknown(is_root, &ModelRequest::of(&assignment.profile.profile)).await
        }
        .boxed()
    }
}

struct ChosenRun {
    ctx: Arc<EngineContext>,
    chosen: ChosenModel,
}

impl Preflight for ChosenRun {
    fn start(self: Box<Self>, request: RunRequest) -> BoxFuture<'static, Result<PreparedRun, LaunchFailure>> {
        let Self { ctx, chosen } = *self;
        start(ctx, chosen, request).boxed()
    }
}

async fn start(
    ctx: Arc<EngineContext>,
    chosen: ChosenModel,
    mut request: RunRequest,
) -> Result<PreparedRun, LaunchFailure> {
    let prior = read_session(&ctx, &request).await?;
    if prior.has_brief && !prior.knows_folder {
        request.worktree_notes.insert(0, stated_cwd::moved_notice(&request.worktree));
    }
    if prior.has_brief && !request.worktree_notes.is_empty() {
        notify(&ctx, request.assignment.task(), std::mem::take(&mut request.worktree_notes)).await?;
    }
    let promised = prior.config.as_ref().map(|config| config.tools.as_slice());
    let tools = run_tools::run_tools(&ctx, &request, promised).await.map_err(LaunchFailure::Refused)?;
    let model = chosen.model.clone();
    let (setup, inbox) = setup(&ctx, chosen, tools, request);
    let run = async move { drive(setup, inbox).await.map_err(Fault::from) };
    Ok(PreparedRun { model, run: run.boxed() })
}

/// Reads the session, unless nothing in this launch depends on it.
async fn read_session(ctx: &EngineContext, request: &RunRequest) -> Result<PriorSession, LaunchFailure> {
    let has_servers = request.assignment.profile.tools.allows_external() && !ctx.pool.is_empty();
    let may_have_moved = !ctx.project.former.is_empty();
    if !has_servers && !may_have_moved && request.worktree_notes.is_empty() {
        return Ok(PriorSession::default());
    }
    PriorSession::read(&request.session, &request.worktree).await.map_err(|error| refused_by_store(&error))
}

fn setup(
    ctx: &Arc<EngineContext>,
    chosen: ChosenModel,
    tools: RunTools,
    request: RunRequest,
) -> (RunSetup, mpsc::UnboundedReceiver<RunCommand>) {
    let RunRequest {
        run,
        assignment,
        worktree,
        mut worktree_notes,
        startup_notes,
        budget,
        inbox,
        snapshots,
        groups,
        ids,
        clock,
        ..
    } = request;
    let Assignment { order, profile } = assignment.as_ref();
    let node = &order.node;
    let brief = opening::brief(&assignment, &worktree);
    let ttl = if order.place.is_none() { ctx.settings.cache.root } else { ctx.settings.cache.child };
    let place = prompts::place(order.place.is_none(), assignment.may_delegate());
    let config = SessionConfig {
        model: chosen.model.clone(),
        wire: chosen.wire,
        tools: Vec::new(),
        system: prompts::system(profile.profile.system, place, &profile.profile.prompt),
        cache: CachePolicy { prefix: ttl, messages: ttl },
        max_output: chosen.facts.max_output,
        effort: profile.profile.effort.clone().or_else(|| ctx.settings.effort.clone()),
    };
    worktree_notes.extend(startup_notes);
    let preparer = WorktreePreparer {
        brief,
        worktree,
        config,
        tool_source: tools.source,
        notes: worktree_notes,
        cwd: Arc::clone(&tools.context.cwd),
        tools: Mutex::default(),
        ids: ids.clone(),
        clock: Arc::clone(&clock),
    };
    let own_group = chosen.auth_group.clone();
    let other = groups.into_iter().filter(|(_, group)| *group != own_group);
    let elsewhere = other.map(|(name, _)| name).collect();
    let setup = RunSetup {
        task: node.id,
        run,
        store: ctx.store.clone(),
        provider: chosen.provider,
        gate: chosen.gate,
        facts: chosen.facts,
        late_catalogue: chosen.late_catalogue,
        limits: Limits {
            profile: node.profile.clone().unwrap_or_default(),
            model: chosen.model,
            auth_group: chosen.auth_group,
            catalogue: chosen.catalogue.clone(),
            window: Some(chosen.facts.window),
            can_count: chosen.wire == Wire::Anthropic,
            max_turns: profile.profile.max_turns,
            elsewhere,
            budgeted: budget.is_limited(),
        },
        tools: tools.context,
        preparer: Arc::new(preparer),
        snapshotter: Some(snapshots),
        budget,
        ids,
        clock,
        completions: tools.completions,
    };
    (setup, inbox)
}

impl FileSnapshotter for TurnSnapshotter {
    fn snapshot_start(&self) -> BoxFuture<'static, ()> {
        self.take_first()
    }

    fn snapshot_turn(&self, turn: TurnId) -> BoxFuture<'static, ()> {
        self.take(turn)
    }
}
