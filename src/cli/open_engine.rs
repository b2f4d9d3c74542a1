//! Opens a project's engine, with a runtime, for commands that change something.

use std::sync::Arc;

use crate::base::{Fault, IdSource, MicroUsd, SystemClock, TaskId};
use crate::cli::agents;
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure};
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::shared_engine::{Sharing, open_or_join};
use crate::config::paths::Home;
use crate::config::profile::NATIVE;
use crate::config::{Merged, Settings};
use crate::engine::backend::registry::plain_name;
use crate::engine::command::{Command, Outcome};
use crate::engine::models::{CommandLineChoice, ModelRequest, Models};
use crate::engine::profiles::Profiles;
use crate::engine::update::EngineEnd;
use crate::engine::{self, EngineOptions, Handle};
use crate::model::Project;
use crate::permit::Mode;
use crate::process;
use crate::serve::background;
use crate::serve::protocol::ClientKind;
use crate::store::EngineLock;

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
    pub mode: Option<Mode>,
}

impl Overrides {
    /// Returns why they cannot apply to an engine that is open already, or `None` if there are none.
    fn refusal(&self) -> Option<Fault> {
        let Self { choice: CommandLineChoice { auth, model }, budget, mode } = self;
        let given = [
            ("--auth", auth.is_some()),
            ("--model", model.is_some()),
            ("--budget", budget.is_some()),
            ("--mode", mode.is_some()),
        ];
        let (option, _) = given.into_iter().find(|(_, given)| *given)?;
        let fault = Fault::user(format!("{option} cannot change an engine that is already running"));
        Some(fault.hint("omit it, or quit the mxd that has this project open first"))
    }
}

/// Whose engine carried out a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineHost {
    /// This process, which has opened the project.
    Own,
    /// The process that has the project open. Its agents are at work.
    Joined,
}

/// Like [`with_shared_engine`], for work that is the same in both cases.
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
    with_shared_engine(console, here, agents, overrides, |handle, _| work(handle))
}

/// Opens the engine of the current project, runs `work`, then saves and stops everything. If another process has the
/// project open, `work` uses its engine instead, which goes on afterwards.
pub fn with_shared_engine<T, F>(
    console: &mut Console,
    here: &ProjectLocator,
    agents: AgentStart,
    overrides: Overrides,
    work: impl FnOnce(Handle, EngineHost) -> F,
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
        // An engine that is open already has its own access.
        if EngineLock::holder(&located.folder.lock())?.is_none() {
            check_model_access(&merged.settings, &overrides.choice)?;
            // Nothing is sent to anybody while it is not clear who does new tasks.
            let profiles = Profiles::load(&agents::folders(here, &home), &merged.settings.profile);
            let other = "choose another: `mxd agents use NAME`";
            profiles.check_selection().map_err(|fault| fault.hint(other))?;
        }
    }
    process::hide_own_memory();
    let refusal = overrides.refusal();
    let model = overrides
        .choice
        .model
        .is_some()
        .then(|| Models::new(merged.settings.clone(), overrides.choice.clone(), Arc::new(SystemClock)));
    let (folder, project) = (located.folder, located.project.clone());
    let options = engine_options(home, located.project, merged, overrides, agents);
    let sharing = match agents {
        AgentStart::Start => Sharing::Listen,
        AgentStart::Hold => Sharing::Alone,
    };
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        // Check the model before a task could fail because of it.
        if let Some(models) = model.filter(|_| agents == AgentStart::Start) {
            models.choose(true, &ModelRequest::default()).await?;
        }
        let engine = open_or_join(options, sharing, ClientKind::Command).await?;
        let host = if engine.is_joined() { EngineHost::Joined } else { EngineHost::Own };
        let done = match refusal.filter(|_| engine.is_joined()) {
            Some(fault) => Err(fault.into()),
            None => work(engine.handle().clone(), host).await,
        };
        // Others go on with the engine in the background.
        if engine.connected() > 0 && engine.handle().command(Command::HandOver { now: true }).await.is_ok() {
            engine.handle().ended().await;
        }
        if engine.leave().await == EngineEnd::Moved {
            background::take_over(&folder, &project, std::process::id(), &[]).await?;
        }
        done
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    done
}

/// Returns what makes the options of an engine. They are made again if the first attempt to open it fails.
pub fn engine_options(
    home: Home,
    project: Project,
    merged: Merged,
    overrides: Overrides,
    agents: AgentStart,
) -> impl Fn() -> EngineOptions {
    let clock = Arc::new(SystemClock);
    let ids = IdSource::new(clock.clone());
    move || EngineOptions {
        home: home.clone(),
        project: project.clone(),
        merged: merged.clone(),
        choice: overrides.choice.clone(),
        budget: overrides.budget,
        mode: overrides.mode,
        hold: agents == AgentStart::Hold,
        scripted: None,
        backend: None,
        ids: ids.clone(),
        clock: clock.clone(),
    }
}

/// Fails if no provider is configured, before a task could fail because of it. An outside program needs none.
pub fn check_model_access(settings: &Settings, choice: &CommandLineChoice) -> Result<(), Fault> {
    if plain_name(&settings.backend) != NATIVE {
        return Ok(());
    }
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

/// Runs one command without starting agents.
pub fn one_command(
    console: &mut Console,
    here: &ProjectLocator,
    command: impl FnOnce(&engine::snapshot::Snapshot) -> Result<Command, Fault>,
) -> Result<Outcome, Failure> {
    one_command_on(console, here, command).map(|(outcome, _)| outcome)
}

/// Like [`one_command`]. Also returns whose engine carried it out.
pub fn one_command_on(
    console: &mut Console,
    here: &ProjectLocator,
    command: impl FnOnce(&engine::snapshot::Snapshot) -> Result<Command, Fault>,
) -> Result<(Outcome, EngineHost), Failure> {
    with_shared_engine(console, here, AgentStart::Hold, Overrides::default(), |handle, host| async move {
        let (snapshot, _) = handle.subscribe().await?;
        Ok((handle.command(command(&snapshot)?).await?, host))
    })
}

/// Finds a task by number, id prefix or part of its title.
pub fn find(snapshot: &engine::snapshot::Snapshot, name: &str) -> Result<TaskId, Fault> {
    let nodes = snapshot.tasks.iter().map(|task| task.node.clone());
    let tree = crate::model::Tree::from_nodes(Some(snapshot.root), nodes)
        .ok_or_else(|| Fault::internal("the tree is empty"))?
        .tree;
    let found = tree.find(name).map(|node| node.id);
    found.map_err(|error| Fault::user(error.to_string()).hint("`mxd tree` lists the tasks"))
}
