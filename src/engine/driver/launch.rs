//! A launch, from the order to the end of the run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::effects::failed;
use super::keeping::TurnKeeper;
use super::setup::{self, Ready};
use super::workshop::{self, Bench};
use super::{Controls, Parts};
use crate::agent::conversation::Conversation;
use crate::agent::driver::{Ear, Ending, Rest, Setup, drive};
use crate::agent::machine::Limits;
use crate::agent::prepare::WorktreePreparer;
use crate::agent::prompt::{self, Card};
use crate::agent::purse::Purse;
use crate::base::{Fault, MessageId, RunId, TaskId, text};
use crate::engine::driver::models::{Chosen, Wish};
use crate::engine::machine::{Input, LaunchFailure, LaunchOrder};
use crate::engine::profiles::{Profiles, Usable};
use crate::model::conversation::Wire;
use crate::model::event::{Body, CachePolicy, SessionConfig};
use crate::model::message::{Message, Source};
use crate::model::render;
use crate::process;
use crate::store::StoreError;

/// How much is said of one profile.
const OFFER_CHARS: usize = 240;

/// How the notice begins and goes on that tells an agent its new folder.
const MOVED: &str = "Your working directory was moved and is now ";
const MOVED_END: &str = ". Your files are as they were.";

/// Everything that a run needs and that can fail to be there.
struct Prepared {
    chosen: Chosen,
    ready: Ready,
    bench: Bench,
    profile: Usable,
}

/// Makes everything ready and runs the agent to its end. Nothing is returned if there never was a run.
pub(super) async fn launch(
    parts: Arc<Parts>,
    order: LaunchOrder,
    ear: Ear,
    purse: Purse,
    cancel: CancellationToken,
    controls: Arc<OnceLock<Controls>>,
) -> Option<Result<Ending, String>> {
    let task = order.node.id;
    let prepared = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(LaunchFailure::Cancelled),
        prepared = prepare(&parts, &order) => prepared,
    };
    let Prepared { chosen, ready, bench, profile } = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            failed(&parts, task, failure);
            return None;
        }
    };
    let _ = controls
        .set(Controls { jobs: Arc::clone(&bench.context.jobs), foreground: Arc::clone(&bench.context.foreground) });
    parts.send(Input::Launched { task, model: chosen.model.clone() });
    let setup = setup(&parts, &order, &profile, chosen, ready, bench, purse);
    let worked_in = place_of(&parts, &order);
    let place = order.place;
    let ending = drive(setup, ear).await.map_err(|error| error.to_string());
    parts.worktrees.unwatch(&worked_in);
    // A run ends its own processes; whatever hid from it is found by its mark.
    process::end_marked(process::environment::TASK_MARKER, task.to_string(), process::GRACE).await;
    if let Some(place) = place {
        setup::unlock(&parts, task, &place.worktree).await;
    }
    Some(ending)
}

async fn prepare(parts: &Arc<Parts>, order: &LaunchOrder) -> Result<Prepared, LaunchFailure> {
    let profiles = {
        let parts = Arc::clone(parts);
        tokio::task::spawn_blocking(move || parts.profiles()).await
    };
    let profiles = profiles.map_err(|error| LaunchFailure::Refused(Fault::internal(error.to_string())))?;
    let profile = profiles.bound(&order.node.profile).map_err(LaunchFailure::Refused)?.clone();
    let chosen = parts
        .models
        .choose(order.place.is_none(), &Wish::of(&profile.profile))
        .await
        .map_err(LaunchFailure::Refused)?;
    let mut ready = setup::worktree(parts, order).await?;
    let serves = profile.tools.allows_external() && !parts.pool.is_empty();
    let may_have_moved = !parts.project.former.is_empty();
    let begun = if serves || may_have_moved || !ready.notes.is_empty() {
        begun(parts, order.node.id, &ready.path).await?
    } else {
        Begun::default()
    };
    if begun.has_card && !begun.knows_folder {
        ready.notes.insert(0, moved_notice(&ready.path));
    }
    if begun.has_card && !ready.notes.is_empty() {
        notify(parts, order.node.id, std::mem::take(&mut ready.notes)).await?;
    }
    let promised = begun.config.as_ref().map(|config| config.tools.as_slice());
    let bench = workshop::bench(parts, order, &profile.tools, promised, &ready.path).await;
    let bench = bench.map_err(|reason| LaunchFailure::Refused(Fault::environment(reason)))?;
    if may_delegate(order, &profile) {
        ready.notes.push(offer(&profiles));
    }
    Ok(Prepared { chosen, ready, bench, profile })
}

/// What a session has that a launch goes by.
#[derive(Default)]
struct Begun {
    /// The agent has its card already: what it should know has to be said to it.
    has_card: bool,
    /// The agent was told the folder that it works in.
    knows_folder: bool,
    /// What the present segment began with. It keeps to that, whatever there is by now.
    config: Option<Arc<SessionConfig>>,
}

async fn begun(parts: &Arc<Parts>, task: TaskId, folder: &Path) -> Result<Begun, LaunchFailure> {
    let (sessions, folder) = (parts.store.sessions().clone(), folder.display().to_string());
    let read = tokio::task::spawn_blocking(move || {
        let active = sessions.active(task)?;
        let told = active.events.iter().rev().find_map(|event| match &event.body {
            Body::Message(message) => told_folder(message),
            _ => None,
        });
        let knows_folder = told == Some(&folder);
        let conversation = Conversation::replay(&active.events);
        Ok::<_, StoreError>(Begun {
            has_card: conversation.last_role().is_some(),
            knows_folder,
            config: conversation.config().cloned(),
        })
    });
    match read.await {
        Ok(Ok(begun)) => Ok(begun),
        Ok(Err(error)) => Err(refused_by_store(&error)),
        Err(error) => Err(LaunchFailure::Refused(Fault::internal(error.to_string()))),
    }
}

/// Returns what an agent is told whose folder was moved with the repository or the data folder.
fn moved_notice(folder: &Path) -> String {
    format!(
        "{MOVED}{}{MOVED_END} Absolute paths from before lead nowhere: use paths below the new one.",
        folder.display()
    )
}

/// Returns the folder that a message tells an agent to work in.
fn told_folder(message: &Message) -> Option<&str> {
    let mut lines = message.body.lines();
    match message.from {
        Source::WorkContext => lines.next()?.strip_prefix(prompt::WORKING_DIRECTORY),
        Source::Notice => lines.find_map(|line| Some(line.strip_prefix(MOVED)?.split_once(MOVED_END)?.0)),
        _ => None,
    }
}

/// Puts what an agent should know about its folder into its session.
pub(super) async fn notify(parts: &Parts, task: TaskId, notes: Vec<String>) -> Result<(), LaunchFailure> {
    let message = Message::new(MessageId::fresh(&parts.ids), parts.clock.now(), Source::Notice, notes.join("\n"));
    let kept = parts.store.submit(task, None, vec![message.into()]).await;
    kept.map(|_| ()).map_err(|error| refused_by_store(&error))
}

fn refused_by_store(error: &StoreError) -> LaunchFailure {
    match error {
        StoreError::Io { .. } => LaunchFailure::Disk(Fault::environment(error.to_string())),
        _ => LaunchFailure::Refused(Fault::environment(error.to_string())),
    }
}

fn setup(
    parts: &Arc<Parts>,
    order: &LaunchOrder,
    profile: &Usable,
    chosen: Chosen,
    ready: Ready,
    bench: Bench,
    purse: Purse,
) -> Setup {
    let node = &order.node;
    // Events reach the engine from the store, in the order of the disk.
    let (events, _) = mpsc::unbounded_channel();
    let card = Card {
        task: node.id,
        title: node.title.clone(),
        description: node.description.clone(),
        above: order.above.clone(),
        branch: order.place.as_ref().map(|place| place.branch.clone()),
        folder: ready.path.clone(),
        budget: node.budget,
    };
    let life = if order.place.is_none() { parts.settings.cache.root } else { parts.settings.cache.child };
    let config = SessionConfig {
        model: chosen.model.clone(),
        wire: chosen.wire,
        tools: Vec::new(),
        system: prompt::system(&own_words(order, profile)),
        cache: CachePolicy { prefix: life, messages: life },
        max_output: chosen.facts.max_output,
        effort: profile.profile.effort.clone().or_else(|| parts.settings.effort.clone()),
    };
    let run = RunId::fresh(&parts.ids);
    let keeper = TurnKeeper {
        parts: Arc::clone(parts),
        order: Arc::new(order.clone()),
        model: chosen.model.clone(),
        run,
        path: place_of(parts, order),
    };
    let preparer = WorktreePreparer {
        card,
        worktree: ready.path,
        config,
        toolbox: bench.toolbox,
        notes: ready.notes,
        cwd: Arc::clone(&bench.context.cwd),
        tools: Mutex::default(),
        ids: parts.ids.clone(),
        clock: Arc::clone(&parts.clock),
    };
    Setup {
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
        keeper: Some(Arc::new(keeper)),
        purse,
        ids: parts.ids.clone(),
        clock: Arc::clone(&parts.clock),
        events,
        completions: bench.completions,
        rest: Rest::Leave,
    }
}

/// Returns where a task works, as git has it.
fn place_of(parts: &Parts, order: &LaunchOrder) -> PathBuf {
    order.place.as_ref().map_or_else(|| parts.worktrees.main().path.clone(), |place| place.worktree.clone())
}

fn may_delegate(order: &LaunchOrder, profile: &Usable) -> bool {
    order.may_delegate && profile.tools.allows_delegation()
}

/// Returns what only this agent is told: its place in the tree, and its profile's words.
fn own_words(order: &LaunchOrder, profile: &Usable) -> String {
    let place = match (&order.place, may_delegate(order, profile)) {
        (None, _) => include_str!("../../../assets/prompts/root.md"),
        (Some(_), true) => include_str!("../../../assets/prompts/task.md"),
        (Some(_), false) => include_str!("../../../assets/prompts/leaf.md"),
    };
    format!("{}\n\n{}", place.trim(), profile.profile.prompt)
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
