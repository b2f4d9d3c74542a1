//! Launches a run and waits for its end.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::done_check::{DoneHooks, WorktreeState};
use super::effects::report_launch_failure;
use super::{EngineContext, TurnSnapshotter};
use super::{lifecycle, setup};
use crate::base::{Fault, MessageId, RunId, TaskId, text};
use crate::config::Profile;
use crate::engine::agent_port::AgentPort;
use crate::engine::backend::{Assignment, Backends, PreparedRun, RunRequest, RunSession};
use crate::engine::driver::models::ModelRequest;
use crate::engine::include;
use crate::engine::machine::{Input, LaunchFailure, LaunchOrder, modes};
use crate::engine::profiles::Profiles;
use crate::engine::skills::{self, Skill};
use crate::engine::tools::{EngineDoneCheck, WorktreeInspector};
use crate::model::message::{Message, MessageSource};
use crate::model::run::{Ending, RunCommand};
use crate::model::{Live, render};
use crate::permit::Mode;
use crate::process;
use crate::provider::budget::Budget;
use crate::store::StoreError;

/// How many characters of a profile's description are shown.
const OFFER_CHARS: usize = 240;

/// Prepares a run and waits for its end. Returns `None` if the run never started.
pub(super) async fn launch(
    ctx: Arc<EngineContext>,
    backends: Arc<Backends>,
    order: LaunchOrder,
    inbox: mpsc::UnboundedReceiver<RunCommand>,
    budget: Budget,
    cancel: CancellationToken,
) -> Option<Result<Ending, Fault>> {
    let task = order.node.id;
    let (path, place) = (worktree_path(&ctx, &order), order.place.clone());
    let started = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(LaunchFailure::Cancelled),
        started = start(&ctx, backends, order, inbox, budget) => started,
    };
    let PreparedRun { model, run } = match started {
        Ok(started) => started,
        Err(failure) => {
            report_launch_failure(&ctx, task, failure);
            return None;
        }
    };
    ctx.send(Input::Launched { task, model });
    let ending = run.await;
    ctx.worktrees.unwatch(&path);
    // A run kills its own processes. The marker finds any that escaped.
    process::terminate_marked(process::environment::TASK_MARKER, task.to_string(), process::GRACE).await;
    if let Some(place) = place {
        setup::unlock(&ctx, task, &place.worktree).await;
    }
    Some(ending)
}

async fn start(
    ctx: &Arc<EngineContext>,
    backends: Arc<Backends>,
    order: LaunchOrder,
    inbox: mpsc::UnboundedReceiver<RunCommand>,
    budget: Budget,
) -> Result<PreparedRun, LaunchFailure> {
    let profiles = {
        let ctx = Arc::clone(ctx);
        tokio::task::spawn_blocking(move || ctx.profiles()).await
    };
    let profiles = profiles.map_err(|error| LaunchFailure::Refused(Fault::internal(error.to_string())))?;
    let bound = order.node.profile.as_deref();
    let bound = bound.ok_or_else(|| Fault::internal("a task without a profile was started"));
    let profile = bound.and_then(|name| profiles.by_full_name(name)).map_err(LaunchFailure::Profile)?;
    let profile = profile.with_overrides(&order.node.overrides);
    let briefing = Briefing::read(ctx, &profile.profile).await?;
    let chosen = profile.profile.clone();
    let backend = tokio::task::spawn_blocking(move || backends.of(&chosen)).await;
    let backend = backend.map_err(|error| LaunchFailure::Refused(Fault::internal(error.to_string())))?;
    let backend = backend.map_err(LaunchFailure::Refused)?;
    if budget.is_limited() && !backend.capabilities().cost {
        return Err(LaunchFailure::Refused(cost_unknown(backend.name())));
    }
    let assignment = Arc::new(Assignment { order, profile });
    let preflight = match backend.preflight(Arc::clone(&assignment)).await {
        Ok(preflight) => preflight,
        Err(fault) => {
            let models = backend.replacements(Arc::clone(&assignment)).await;
            return Err(if models.is_empty() {
                LaunchFailure::Refused(fault)
            } else {
                LaunchFailure::UnknownModel { fault, models }
            });
        }
    };
    let (order, task) = (&assignment.order, assignment.task());
    let ready = setup::prepare_worktree(ctx, order).await?;
    let hook_notes = lifecycle::begin_session(ctx, order, None).await;
    let run = RunId::fresh(&ctx.ids);
    let port = AgentPort::new(task, ctx.agents.clone());
    // The root works in the user's checkout, where uncommitted changes may be the user's.
    let is_root = order.place.is_none();
    let state = (!is_root).then(|| Arc::new(WorktreeState::new(ctx, order, &ready.path)) as Arc<dyn WorktreeInspector>);
    let done_hooks = Arc::new(DoneHooks::new(ctx, order));
    let live_ctx = Arc::clone(ctx);
    let mut startup_notes = briefing.notes;
    startup_notes.extend(notes_for_start(&assignment, &profiles));
    let request = RunRequest {
        run,
        startup_notes: startup_notes.into_iter().chain(hook_notes).collect(),
        groups: auth_groups(ctx, &profiles),
        skills: briefing.skills,
        worktree: ready.path,
        worktree_notes: ready.notes,
        budget,
        inbox,
        session: RunSession::new(ctx.store.clone(), task, run),
        live: Arc::new(move |live: Live| live_ctx.show(task, live)),
        done_check: Arc::new(EngineDoneCheck::new(port.clone(), state, done_hooks)),
        port,
        snapshots: Arc::new(TurnSnapshotter::new(ctx, order, run, worktree_path(ctx, order))),
        ids: ctx.ids.clone(),
        clock: Arc::clone(&ctx.clock),
        assignment,
    };
    preflight.start(request).await
}

/// Returns what an agent is told when its conversation starts.
fn notes_for_start(assignment: &Assignment, profiles: &Profiles) -> Vec<String> {
    let offer = assignment.may_delegate().then(|| profile_offer(profiles));
    let mode = assignment.order.mode;
    // In the other modes a call that may not run says so itself.
    let mode = (mode == Mode::Plan).then(|| format!("Permission mode {mode}: {}.", modes::for_agent(mode)));
    offer.into_iter().chain(mode).collect()
}

/// Returns the usable profiles, each with the auth group that a task with it would use.
fn auth_groups(ctx: &EngineContext, profiles: &Profiles) -> Vec<(String, Option<String>)> {
    let group = |name: &str| {
        let request = ModelRequest::of(profiles.choose(name).ok()?);
        ctx.models.resolve(false, &request).ok().map(|(group, ..)| group.to_owned())
    };
    let names = profiles.views().into_iter().map(|view| view.name);
    names.filter_map(|name| group(&name).map(|group| (name.clone(), Some(group)))).collect()
}

/// What an agent is told at the start because of its profile.
struct Briefing {
    skills: Arc<[Skill]>,
    notes: Vec<String>,
}

impl Briefing {
    async fn read(ctx: &Arc<EngineContext>, profile: &Profile) -> Result<Self, LaunchFailure> {
        let (folders, profile) = (ctx.skills.clone(), profile.clone());
        let read = tokio::task::spawn_blocking(move || {
            let skills = skills::of_profile(skills::load(&folders), &profile);
            let mut notes = include::read(folders.project.as_deref(), &profile.include);
            notes.extend(skills::opening(&skills, &profile));
            Self { skills: skills.into(), notes }
        });
        read.await.map_err(|error| LaunchFailure::Refused(Fault::internal(error.to_string())))
    }
}

fn cost_unknown(backend: &str) -> Fault {
    Fault::config(format!("{backend} does not report costs, so the task's budget cannot be enforced"))
        .hint("remove the budget (`mxd task edit TASK --budget 0`), or use another profile")
}

/// Sends notes about the worktree to the agent.
pub(in crate::engine) async fn notify(
    ctx: &EngineContext,
    task: TaskId,
    notes: Vec<String>,
) -> Result<(), LaunchFailure> {
    let message = Message::new(MessageId::fresh(&ctx.ids), ctx.clock.now(), MessageSource::Notice, notes.join("\n"));
    let sent = ctx.store.submit(task, None, vec![message.into()]).await;
    sent.map(|_| ()).map_err(|error| refused_by_store(&error))
}

pub(in crate::engine) fn refused_by_store(error: &StoreError) -> LaunchFailure {
    match error {
        StoreError::Io { .. } => LaunchFailure::Disk(Fault::environment(error.to_string())),
        _ => LaunchFailure::Refused(Fault::environment(error.to_string())),
    }
}

/// Returns the path of a task's worktree, or of the main checkout for the root.
fn worktree_path(ctx: &EngineContext, order: &LaunchOrder) -> PathBuf {
    order.place.as_ref().map_or_else(|| ctx.worktrees.main().path.clone(), |place| place.worktree.clone())
}

/// Returns the list of profiles that an agent can choose for its sub tasks.
fn profile_offer(profiles: &Profiles) -> String {
    let mut out = "Profiles for your sub tasks (create_task's `profile`):".to_owned();
    for view in profiles.views() {
        let line = text::headline(&format!("{}: {}", view.name, view.description), OFFER_CHARS);
        out.push_str("\n- ");
        out.push_str(&render::escape_tags(&line));
    }
    out
}

/// Returns the path of the file that marks a worktree as set up.
pub(in crate::engine) fn ready_mark(worktree: &std::path::Path) -> PathBuf {
    let mut name = worktree.as_os_str().to_owned();
    name.push(".ready");
    PathBuf::from(name)
}
