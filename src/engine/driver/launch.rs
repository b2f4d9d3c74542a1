//! A launch, from the order to the end of the run.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::done_check::WorktreeState;
use super::effects::failed;
use super::setup;
use super::{Parts, Snapshots};
use crate::base::{Fault, MessageId, RunId, TaskId, text};
use crate::engine::agent_port::AgentPort;
use crate::engine::backend::{Assignment, Backend, RunRequest, RunSession, Started};
use crate::engine::machine::{Input, LaunchFailure, LaunchOrder};
use crate::engine::profiles::Profiles;
use crate::engine::tools::{Clean, Finish};
use crate::model::message::{Message, Source};
use crate::model::run::{Ending, RunCommand};
use crate::model::{Live, render};
use crate::process;
use crate::provider::purse::Purse;
use crate::store::StoreError;

/// How much is said of one profile.
const OFFER_CHARS: usize = 240;

/// Makes everything ready and lets the backend run to its end. Nothing is returned if there never was a run.
pub(super) async fn launch(
    parts: Arc<Parts>,
    backend: Arc<dyn Backend>,
    order: LaunchOrder,
    inbox: mpsc::UnboundedReceiver<RunCommand>,
    purse: Purse,
    cancel: CancellationToken,
) -> Option<Result<Ending, Fault>> {
    let task = order.node.id;
    let (worked_in, place) = (place_of(&parts, &order), order.place.clone());
    let started = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(LaunchFailure::Cancelled),
        started = start(&parts, backend.as_ref(), order, inbox, purse) => started,
    };
    let Started { model, run } = match started {
        Ok(started) => started,
        Err(failure) => {
            failed(&parts, task, failure);
            return None;
        }
    };
    parts.send(Input::Launched { task, model });
    let ending = run.await;
    parts.worktrees.unwatch(&worked_in);
    // A run ends its own processes; whatever hid from it is found by its mark.
    process::end_marked(process::environment::TASK_MARKER, task.to_string(), process::GRACE).await;
    if let Some(place) = place {
        setup::unlock(&parts, task, &place.worktree).await;
    }
    Some(ending)
}

async fn start(
    parts: &Arc<Parts>,
    backend: &dyn Backend,
    order: LaunchOrder,
    inbox: mpsc::UnboundedReceiver<RunCommand>,
    purse: Purse,
) -> Result<Started, LaunchFailure> {
    let profiles = {
        let parts = Arc::clone(parts);
        tokio::task::spawn_blocking(move || parts.profiles()).await
    };
    let profiles = profiles.map_err(|error| LaunchFailure::Refused(Fault::internal(error.to_string())))?;
    let profile = profiles.bound(&order.node.profile).map_err(LaunchFailure::Refused)?.clone();
    if purse.is_limited() && !backend.capabilities().cost {
        return Err(LaunchFailure::Refused(unknown_cost(backend.name())));
    }
    let assignment = Arc::new(Assignment { order, profile });
    let checked = backend.preflight(Arc::clone(&assignment)).await.map_err(LaunchFailure::Refused)?;
    let (order, task) = (&assignment.order, assignment.task());
    let ready = setup::worktree(parts, order).await?;
    let run = RunId::fresh(&parts.ids);
    let port = AgentPort::new(task, parts.agents.clone());
    // The root works in the user's own checkout: what is uncommitted there may be theirs.
    let is_root = order.place.is_none();
    let state = (!is_root).then(|| Arc::new(WorktreeState::new(parts, order, &ready.path)) as Arc<dyn Clean>);
    let shown = Arc::clone(parts);
    let request = RunRequest {
        run,
        notes: if assignment.may_delegate() { vec![offer(&profiles)] } else { Vec::new() },
        worktree: ready.path,
        news: ready.notes,
        purse,
        inbox,
        session: RunSession::new(parts.store.clone(), task, run),
        live: Arc::new(move |live: Live| shown.show(task, live)),
        done_check: Arc::new(Finish::new(port.clone(), state)),
        port,
        snapshots: Arc::new(Snapshots::new(parts, order, run, place_of(parts, order))),
        ids: parts.ids.clone(),
        clock: Arc::clone(&parts.clock),
        assignment,
    };
    checked.start(request).await
}

fn unknown_cost(backend: &str) -> Fault {
    Fault::config(format!("{backend} does not say what its requests cost, so the budget of this task cannot be held"))
        .hint("take the budget away (`mxd task edit TASK --budget 0`), or give the task to another profile")
}

/// Puts what an agent should know about its folder into its session.
pub(in crate::engine) async fn notify(parts: &Parts, task: TaskId, notes: Vec<String>) -> Result<(), LaunchFailure> {
    let message = Message::new(MessageId::fresh(&parts.ids), parts.clock.now(), Source::Notice, notes.join("\n"));
    let kept = parts.store.submit(task, None, vec![message.into()]).await;
    kept.map(|_| ()).map_err(|error| refused_by_store(&error))
}

pub(in crate::engine) fn refused_by_store(error: &StoreError) -> LaunchFailure {
    match error {
        StoreError::Io { .. } => LaunchFailure::Disk(Fault::environment(error.to_string())),
        _ => LaunchFailure::Refused(Fault::environment(error.to_string())),
    }
}

/// Returns where a task works, as git has it.
fn place_of(parts: &Parts, order: &LaunchOrder) -> PathBuf {
    order.place.as_ref().map_or_else(|| parts.worktrees.main().path.clone(), |place| place.worktree.clone())
}

/// Returns who can be given a sub task, for those who hand work down.
fn offer(profiles: &Profiles) -> String {
    let mut out = "Profiles for your sub tasks (create_task's `profile`):".to_owned();
    for view in profiles.views() {
        let line = text::headline(&format!("{}: {}", view.name, view.description), OFFER_CHARS);
        out.push_str("\n- ");
        out.push_str(&render::neutral(&line));
    }
    out
}

/// Where the worktree's readiness is noted, beside it.
pub(in crate::engine) fn ready_mark(worktree: &std::path::Path) -> PathBuf {
    let mut name = worktree.as_os_str().to_owned();
    name.push(".ready");
    PathBuf::from(name)
}
