//! Opens a project's engine, with a runtime, for commands that change something.

use std::sync::Arc;

use crate::base::{Fault, IdSource, MicroUsd, SystemClock, TaskId};
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure};
use crate::cli::locate::{ProjectLocator, home};
use crate::config::Settings;
use crate::engine::command::{Command, Outcome};
use crate::engine::models::{CommandLineChoice, ModelRequest, Models};
use crate::engine::{self, EngineOptions, Handle};
use crate::process;

/// Whether agents may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStart {
    Start,
    /// Messages and changes are saved for the next `mxd` or `mxd run`.
    Hold,
}

/// Settings from the command line, for this process only.
#[derive(Default)]
pub struct Overrides {
    pub choice: CommandLineChoice,
    pub budget: Option<MicroUsd>,
}

/// Opens the engine of the current project, runs `work`, then saves and stops everything.
pub fn with_engine<T, F>(
    console: &mut Console,
    here: &ProjectLocator,
    agents: AgentStart,
    overrides: Overrides,
    work: impl FnOnce(Handle) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let home = home()?;
    let located = here.locate_or_register(&home)?;
    let merged = settings(console, here, &home)?;
    if agents == AgentStart::Start {
        // The root works in the user's checkout. On a detached HEAD its commits would belong to no branch.
        here.repository()?.branch()?;
        check_model_access(&merged.settings, &overrides.choice)?;
    }
    process::hide_own_memory();
    let clock = Arc::new(SystemClock);
    let options = EngineOptions {
        home,
        project: located.project,
        merged,
        choice: overrides.choice,
        budget: overrides.budget,
        hold: agents == AgentStart::Hold,
        scripted: None,
        backend: None,
        ids: IdSource::new(clock.clone()),
        clock,
    };
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        // Check the model before a task could fail because of it.
        if options.choice.model.is_some() && !options.hold {
            let models = Models::new(options.merged.settings.clone(), options.choice.clone(), options.clock.clone());
            models.choose(true, &ModelRequest::default()).await?;
        }
        let handle = engine::open(options).await?;
        let done = work(handle.clone()).await;
        handle.quit().await;
        done
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    done
}

/// Fails if no provider is configured, before a task could fail because of it.
pub fn check_model_access(settings: &Settings, choice: &CommandLineChoice) -> Result<(), Fault> {
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
        .map_err(|error| Fault::environment(format!("cannot start the async runtime: {error}")))
}

/// Opens the engine without starting agents, and runs one command.
pub fn one_command(
    console: &mut Console,
    here: &ProjectLocator,
    command: impl FnOnce(&engine::snapshot::Snapshot) -> Result<Command, Fault>,
) -> Result<Outcome, Failure> {
    with_engine(console, here, AgentStart::Hold, Overrides::default(), |handle| async move {
        let (snapshot, _) = handle.subscribe().await?;
        Ok(handle.command(command(&snapshot)?).await?)
    })
}

/// Finds a task by id or prefix.
pub fn find(snapshot: &engine::snapshot::Snapshot, name: &str) -> Result<TaskId, Fault> {
    let nodes = snapshot.tasks.iter().map(|task| task.node.clone());
    let tree = crate::model::Tree::from_nodes(Some(snapshot.root), nodes)
        .ok_or_else(|| Fault::internal("the tree is empty"))?
        .tree;
    let found = tree.find(name).map(|node| node.id);
    found.map_err(|error| Fault::user(error.to_string()).hint("`mxd tree` lists the tasks"))
}
