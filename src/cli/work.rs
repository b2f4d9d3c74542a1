//! A project open for work, from the command line: its engine, and a runtime for it.

use std::sync::Arc;

use crate::base::{Fault, IdSource, MicroUsd, SystemClock, TaskId};
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure};
use crate::cli::place::{Here, home};
use crate::config::Settings;
use crate::engine::command::{Command, Outcome};
use crate::engine::models::{Choice, Models, Wish};
use crate::engine::{self, Handle, Options};
use crate::process;

/// Whether agents may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agents {
    Start,
    /// What is said and changed is kept; the next `mxd` or `mxd run` takes it up.
    Leave,
}

/// What was said on the command line, for this time only.
#[derive(Default)]
pub struct Wishes {
    pub choice: Choice,
    pub budget: Option<MicroUsd>,
}

/// Opens this project's engine and does `work` with it; then everything is stopped and kept.
pub fn with_engine<T, F>(
    console: &mut Console,
    here: &Here,
    agents: Agents,
    wishes: Wishes,
    work: impl FnOnce(Handle) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let home = home()?;
    let located = here.located_or_registered(&home)?;
    let merged = settings(console, here, &home)?;
    if agents == Agents::Start {
        // The root works where the person stands: without a branch its commits would be nobody's.
        here.repository()?.branch()?;
        can_reach_a_model(&merged.settings, &wishes.choice)?;
    }
    process::hide_own_memory();
    let clock = Arc::new(SystemClock);
    let options = Options {
        home,
        project: located.project,
        merged,
        choice: wishes.choice,
        budget: wishes.budget,
        hold: agents == Agents::Leave,
        scripted: None,
        backend: None,
        ids: IdSource::new(clock.clone()),
        clock,
    };
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        // Before any task could be marked as failed because of it.
        if options.choice.model.is_some() && !options.hold {
            let models = Models::new(options.merged.settings.clone(), options.choice.clone(), options.clock.clone());
            models.choose(true, &Wish::default()).await?;
        }
        let handle = engine::open(options).await?;
        let done = work(handle.clone()).await;
        handle.quit().await;
        done
    });
    // Whatever still runs has had its time.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    done
}

/// Refuses to begin where no agent could be started: that is for the person to set up, and no task of theirs failed.
pub fn can_reach_a_model(settings: &Settings, choice: &Choice) -> Result<(), Fault> {
    match &choice.auth {
        Some(name) => settings.auth(name).map(|_| ())?,
        None => settings.root_auth().and_then(|_| settings.child_auth()).map(|_| ())?,
    }
    Ok(())
}

pub fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::environment(format!("the program cannot start its threads: {error}")))
}

/// Opens the engine without starting agents, carries out one command, and says what it came to.
pub fn one_command(
    console: &mut Console,
    here: &Here,
    command: impl FnOnce(&engine::snapshot::Snapshot) -> Result<Command, Fault>,
) -> Result<Outcome, Failure> {
    with_engine(console, here, Agents::Leave, Wishes::default(), |handle| async move {
        let (snapshot, _) = handle.look().await?;
        Ok(handle.command(command(&snapshot)?).await?)
    })
}

/// Returns the task that a person calls `name`.
pub fn find(snapshot: &engine::snapshot::Snapshot, name: &str) -> Result<TaskId, Fault> {
    let nodes = snapshot.tasks.iter().map(|task| task.node.clone());
    let tree = crate::model::Tree::from_nodes(Some(snapshot.root), nodes)
        .ok_or_else(|| Fault::internal("the tree is empty"))?
        .tree;
    let found = tree.find(name).map(|node| node.id);
    found.map_err(|error| Fault::user(error.to_string()).hint("`mxd tree` lists the tasks"))
}
