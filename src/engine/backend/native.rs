//! Our own agent as a backend: a model is chosen, tools are put out in the worktree, and the agent's loop runs on them.
//!
//! The only place of the engine that knows the agent room.

mod bench;
mod session;

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::mpsc;

use super::{Assignment, Backend, Capabilities, Preflight, RunRequest, Started};
use crate::agent::driver::{Keeper, Rest, Setup, drive};
use crate::agent::machine::Limits;
use crate::agent::prepare::WorktreePreparer;
use crate::agent::prompt::{self, Card};
use crate::base::{Fault, TurnId};
use crate::engine::driver::models::{Chosen, Wish};
use crate::engine::driver::{Parts, Snapshots, notify, refused_by_store};
use crate::engine::machine::LaunchFailure;
use crate::model::conversation::Wire;
use crate::model::event::{CachePolicy, SessionConfig};
use crate::model::run::RunCommand;
use crate::model::told_folder;
use bench::Bench;
use session::Begun;

/// Our own agent.
pub(in crate::engine) struct Native(pub(in crate::engine) Arc<Parts>);

impl Backend for Native {
    fn name(&self) -> &'static str {
        "mxd"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn preflight(&self, assignment: Arc<Assignment>) -> BoxFuture<'static, Result<Box<dyn Preflight>, Fault>> {
        let parts = Arc::clone(&self.0);
        async move {
            let is_root = assignment.order.place.is_none();
            let chosen = parts.models.choose(is_root, &Wish::of(&assignment.profile.profile)).await?;
            Ok(Box::new(Ready { parts, chosen }) as Box<dyn Preflight>)
        }
        .boxed()
    }
}

/// A run whose model is chosen.
struct Ready {
    parts: Arc<Parts>,
    chosen: Chosen,
}

impl Preflight for Ready {
    fn start(self: Box<Self>, request: RunRequest) -> BoxFuture<'static, Result<Started, LaunchFailure>> {
        let Self { parts, chosen } = *self;
        start(parts, chosen, request).boxed()
    }
}

async fn start(parts: Arc<Parts>, chosen: Chosen, mut request: RunRequest) -> Result<Started, LaunchFailure> {
    let begun = read_session(&parts, &request).await?;
    if begun.has_card && !begun.knows_folder {
        request.news.insert(0, told_folder::moved_notice(&request.worktree));
    }
    if begun.has_card && !request.news.is_empty() {
        notify(&parts, request.assignment.task(), std::mem::take(&mut request.news)).await?;
    }
    let promised = begun.config.as_ref().map(|config| config.tools.as_slice());
    let bench = bench::bench(&parts, &request, promised).await.map_err(LaunchFailure::Refused)?;
    let model = chosen.model.clone();
    let (setup, inbox) = setup(&parts, chosen, bench, request);
    let run = async move { drive(setup, inbox).await.map_err(Fault::from) };
    Ok(Started { model, run: run.boxed() })
}

/// Reads the session where something depends on it.
async fn read_session(parts: &Parts, request: &RunRequest) -> Result<Begun, LaunchFailure> {
    let has_servers = request.assignment.profile.tools.allows_external() && !parts.pool.is_empty();
    let may_have_moved = !parts.project.former.is_empty();
    if !has_servers && !may_have_moved && request.news.is_empty() {
        return Ok(Begun::default());
    }
    Begun::read(&request.session, &request.worktree).await.map_err(|error| refused_by_store(&error))
}

fn setup(
    parts: &Arc<Parts>,
    chosen: Chosen,
    bench: Bench,
    request: RunRequest,
) -> (Setup, mpsc::UnboundedReceiver<RunCommand>) {
    let RunRequest { run, assignment, worktree, mut news, notes, purse, inbox, snapshots, ids, clock, .. } = request;
    let Assignment { order, profile } = assignment.as_ref();
    let node = &order.node;
    // Events reach the engine from the store, in the order of the disk.
    let (events, _) = mpsc::unbounded_channel();
    let card = Card {
        task: node.id,
        title: node.title.clone(),
        description: node.description.clone(),
        above: order.above.clone(),
        branch: order.place.as_ref().map(|place| place.branch.clone()),
        folder: worktree.clone(),
        budget: node.budget,
    };
    let life = if order.place.is_none() { parts.settings.cache.root } else { parts.settings.cache.child };
    let config = SessionConfig {
        model: chosen.model.clone(),
        wire: chosen.wire,
        tools: Vec::new(),
        system: prompt::system(&own_words(&assignment)),
        cache: CachePolicy { prefix: life, messages: life },
        max_output: chosen.facts.max_output,
        effort: profile.profile.effort.clone().or_else(|| parts.settings.effort.clone()),
    };
    news.extend(notes);
    let preparer = WorktreePreparer {
        card,
        worktree,
        config,
        toolbox: bench.toolbox,
        notes: news,
        cwd: Arc::clone(&bench.context.cwd),
        tools: Mutex::default(),
        ids: ids.clone(),
        clock: Arc::clone(&clock),
    };
    let setup = Setup {
        task: node.id,
        run,
        store: parts.store.clone(),
        provider: chosen.provider,
        gate: chosen.gate,
        facts: chosen.facts,
        late_catalogue: chosen.late_catalogue,
        limits: Limits {
            profile: node.profile.clone(),
            model: chosen.model,
            auth_group: chosen.auth_group,
            catalogue: chosen.catalogue.clone(),
            window: Some(chosen.facts.window),
            can_count: chosen.wire == Wire::Anthropic,
            max_turns: profile.profile.max_turns,
            budgeted: purse.is_limited(),
            may_repeat: false,
        },
        tools: bench.context,
        preparer: Arc::new(preparer),
        keeper: Some(snapshots),
        purse,
        ids,
        clock,
        events,
        completions: bench.completions,
        rest: Rest::Leave,
    };
    (setup, inbox)
}

/// Returns what only this agent is told: its place in the tree, and its profile's words.
fn own_words(assignment: &Assignment) -> String {
    let place = match (&assignment.order.place, assignment.may_delegate()) {
        (None, _) => include_str!("../../../assets/prompts/root.md"),
        (Some(_), true) => include_str!("../../../assets/prompts/task.md"),
        (Some(_), false) => include_str!("../../../assets/prompts/leaf.md"),
    };
    format!("{}\n\n{}", place.trim(), assignment.profile.profile.prompt)
}

impl Keeper for Snapshots {
    fn begin(&self) -> BoxFuture<'static, ()> {
        self.take_first()
    }

    fn keep(&self, turn: TurnId) -> BoxFuture<'static, ()> {
        self.take(turn)
    }
}
