//! `mxd` without a command: opens the UI on the current project.

use std::sync::Arc;

use jiff::tz::TimeZone;
use tokio::runtime::Runtime;

use crate::app::{self, End, EngineHost, Options};
use crate::base::{AskId, Clock as _, Fault, IdSource, ProjectId, SystemClock, TaskId};
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{ProjectLocator, home, registry};
use crate::cli::onboarding::{self, NextStep, SetupReason};
use crate::cli::open_engine::{AgentStart, Overrides, engine_options, runtime};
use crate::cli::serve;
use crate::cli::shared_engine::{SharedEngine, Sharing, client_name, join_or_start, open_or_join, rejoin};
use crate::cli::signals::{SignalRequest, Signals};
use crate::config::key_path::KeyPath;
use crate::config::paths::Home;
use crate::config::settings::{AuthGroup, OnHangup, Provider};
use crate::config::{Merged, Settings};
use crate::engine::Handle;
use crate::engine::command::Command;
use crate::engine::snapshot::ProjectView;
use crate::engine::update::{EngineEnd, Level};
use crate::model::Project;
use crate::model::ask::{AskReply, ChoiceId};
use crate::process;
use crate::serve::place::is_older;
use crate::serve::protocol::ClientKind;
use crate::serve::ssh::SshAddress;
use crate::serve::{Remote, background};
use crate::store::EngineLock;

/// Exit code after SIGHUP.
const HANGUP: u8 = 129;

/// The suggested first message after the set-up.
const SUGGESTION: &str = "What is this repository about, and how is it built and tested?";

/// How a screen gets its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// It opens the project, unless another process has it open.
    OpenOrJoin,
    /// Another process has the project open, or is started in the background.
    Join,
    /// Another process has just taken the project over.
    Rejoin,
}

/// How a screen was closed.
struct Closed {
    end: End,
    /// What to tell the user in the shell.
    note: Option<String>,
}

/// What a screen shows.
enum Target {
    Here(ProjectLocator, Opening),
    Host(SshAddress),
}

/// What follows a screen.
enum Next {
    Exit(u8),
    Show(Target),
}

pub fn run(console: &mut Console, here: &ProjectLocator) -> Outcome {
    run_targets(console, here, Target::Here(here.clone(), Opening::OpenOrJoin))
}

/// Runs a screen on the engine of another process.
pub fn run_joined(console: &mut Console, here: &ProjectLocator) -> Outcome {
    run_targets(console, here, Target::Here(here.clone(), Opening::Join))
}

/// Runs a screen on an engine of another machine.
pub fn run_on_host(console: &mut Console, here: &ProjectLocator, address: SshAddress) -> Outcome {
    run_targets(console, here, Target::Host(address))
}

/// Runs one screen after another, as the user switches between projects.
fn run_targets(console: &mut Console, here: &ProjectLocator, first: Target) -> Outcome {
    let runtime = runtime()?;
    process::hide_own_memory();
    let mut target = first;
    let code = loop {
        let next = match target {
            Target::Here(at, opening) => run_here(console, &runtime, &at, opening)?,
            Target::Host(address) => run_over(console, &runtime, here, &address)?,
        };
        match next {
            Next::Exit(code) => break code,
            Next::Show(next) => target = next,
        }
    };
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    Ok(code)
}

/// Returns the screen of a project on another machine.
fn on_host(host: &str, path: &str) -> Result<Target, Fault> {
    Ok(Target::Host(SshAddress::parse(host)?.with_folder(path)))
}

/// Returns the screen of another project of this machine.
fn of_project(home: &Home, project: ProjectId) -> Result<Target, Failure> {
    let project = registry(home).find(project)?;
    let project = project.ok_or_else(|| Fault::user("this project is no longer registered"))?;
    Ok(Target::Here(ProjectLocator::new(Some(project.path)), Opening::OpenOrJoin))
}

fn run_here(
    console: &mut Console,
    runtime: &Runtime,
    at: &ProjectLocator,
    mut opening: Opening,
) -> Result<Next, Failure> {
    let home = home()?;
    // Check the terminal before registering anything or starting an agent.
    if let Err(error) = app::check_terminal() {
        at.repository()?;
        return Err(error.into());
    }
    let mut reason = SetupReason::Missing;
    let mut retry = None;
    loop {
        let merged = settings(console, at, &home)?;
        let (merged, decided) =
            match runtime.block_on(onboarding::guide(at, &home, &merged.settings, std::mem::take(&mut reason)))? {
                NextStep::Open { decided: false } => {
                    retry = None;
                    (merged, false)
                }
                NextStep::Open { decided: true } => (settings(console, at, &home)?, true),
                NextStep::Exit(code) => return Ok(Next::Exit(code)),
            };
        let closed = runtime.block_on(open(at, &home, merged, decided, retry.take(), opening))?;
        if let Some(note) = closed.note {
            console.line(&note)?;
            console.finish()?;
        }
        opening = Opening::OpenOrJoin;
        match closed.end {
            End::Quit => return Ok(Next::Exit(0)),
            End::Stopped(stop) | End::HungUp(stop) => return Ok(Next::Exit(stop)),
            End::Moved => opening = Opening::Rejoin,
            End::SetUp { retry: rejected } => {
                reason = if rejected.is_some() { SetupReason::RejectedKey } else { SetupReason::Requested };
                retry = rejected;
            }
            End::Switch(project) => return of_project(&home, project).map(Next::Show),
            End::SwitchHost { host, path } => return Ok(Next::Show(on_host(&host, &path)?)),
        }
    }
}

/// Opens a project in the UI, and stops everything when the UI closes. `decided` is true right after the set-up; `retry`
/// is the question about a rejected key that led to it.
async fn open(
    here: &ProjectLocator,
    home: &Home,
    merged: Merged,
    decided: bool,
    retry: Option<(TaskId, AskId)>,
    opening: Opening,
) -> Result<Closed, Failure> {
    let found = here.try_locate(home)?;
    let known = found.is_some();
    let located = match found {
        Some(located) => located,
        None => here.locate_or_register(home)?,
    };
    here.repository()?.branch()?;
    let settings = merged.settings.clone();
    let key_places = settings.keys.keys().filter_map(|name| {
        let place = merged.origin(&KeyPath::top("keys").child(name))?.place()?;
        Some((name.clone(), place.to_string()))
    });
    let key_places = key_places.collect();
    let greeting = match EngineLock::holder(&located.folder.lock())? {
        Some(_) => vec![(Level::Info, "Joined the mxd that has this project open.".to_owned())],
        None => greeting(&settings, known, decided),
    };
    let options = screen_options(home, located.project.clone(), &settings);
    let suggestion = Some(SUGGESTION).filter(|_| (decided || !known) && is_model_real(&settings));
    let mut screen = app::open(Options { key_places, greeting, suggestion, ..options })?;
    let (folder, project) = (located.folder, located.project.clone());
    let engine_options =
        engine_options(home.clone(), located.project.clone(), merged, Overrides::default(), AgentStart::Start);
    let opening = async {
        match opening {
            Opening::OpenOrJoin => open_or_join(engine_options, Sharing::Listen, ClientKind::Screen).await,
            Opening::Join => join_or_start(&folder, &project, ClientKind::Screen).await,
            Opening::Rejoin => rejoin(&folder, &project).await,
        }
    };
    let words = format!("Opening {} …", located.project.name);
    let engine = match screen.until(&words, Box::pin(opening)).await {
        Ok(engine) => engine,
        Err(fault) => {
            screen.close().await;
            return Err(fault.into());
        }
    };
    let host = engine_host(&engine);
    if let EngineHost::Joined { outdated: Some(program) } = &host {
        let own = crate::cli::VERSION;
        let text = format!(
            "This project is open in mxd {program}, and this is mxd {own}. /restart_engine moves its agents to this \
             version when their turns are over; nothing is lost."
        );
        screen.greet(Level::Info, text);
    }
    screen.set_engine_host(host);
    let handle = engine.handle().clone();
    if let Some((task, ask)) = retry {
        // The key is another one now. If the question is gone meanwhile, there is nothing to retry.
        let reply = AskReply::Choice(ChoiceId::Retry);
        let _ = handle.command(Command::Answer { task, ask, reply, by: None }).await;
    }
    let attached = match &engine {
        SharedEngine::Own { server: Some(server), .. } => {
            server.stream().presence().attach(ClientKind::Screen, &client_name())
        }
        SharedEngine::Own { .. } | SharedEngine::Joined { .. } => None,
    };
    let end = screen.run(handle).await;
    drop(attached);
    if let (Ok(End::HungUp(_)), OnHangup::Continue) = (&end, settings.on_hangup) {
        go_on_without_screen(&engine).await;
    }
    let has_moved = engine.leave().await == EngineEnd::Moved;
    let end = end?;
    // The user left and the agents keep working. Otherwise somebody else takes over.
    let note = if has_moved && end != End::Moved {
        let pid = background::take_over(&folder, &project, std::process::id(), &[]).await?;
        Some(format!(
            "{}: the agents keep working in the background (process {pid}). `mxd` shows them, `mxd serve stop` stops them.",
            project.name
        ))
    } else {
        None
    };
    Ok(Closed { end, note })
}

/// Returns where the engine of a screen runs.
fn engine_host(engine: &SharedEngine) -> EngineHost {
    match engine {
        SharedEngine::Own { server: Some(_), .. } => EngineHost::Own,
        SharedEngine::Own { server: None, .. } => EngineHost::Private,
        SharedEngine::Joined { program, .. } => {
            let outdated = is_older(program, crate::cli::VERSION).then(|| program.clone());
            EngineHost::Joined { outdated }
        }
    }
}

/// Returns true if a model is set up that is not scripted.
fn is_model_real(settings: &Settings) -> bool {
    let is_real = |group: &AuthGroup| group.provider != Provider::Scripted;
    onboarding::is_set_up(settings) && settings.root_auth().is_ok_and(|(_, group)| is_real(group))
}

/// Serves an engine that lost its screen, as long as it has work or clients and no signal ends it.
async fn go_on_without_screen(engine: &SharedEngine) {
    let SharedEngine::Own { handle, server: Some(server) } = engine else { return };
    let Ok(mut signals) = Signals::listen() else { return };
    let is_quiet = handle.subscribe().await.is_ok_and(|(snapshot, _)| snapshot.quiet);
    if is_quiet && *server.connected().borrow() == 0 {
        return;
    }
    let stopped = async {
        // The terminal may hang up more than once.
        while signals.next().await == SignalRequest::Exit(HANGUP) {}
    };
    tokio::select! {
        () = stopped => {}
        _ = handle.ended() => {}
        () = serve::until_unused(handle, server.connected()) => {}
    }
}

/// Runs a screen on an engine of another machine. It has the settings of this machine.
fn run_over(
    console: &mut Console,
    runtime: &Runtime,
    here: &ProjectLocator,
    address: &SshAddress,
) -> Result<Next, Failure> {
    let home = home()?;
    app::check_terminal()?;
    let settings = settings(console, here, &home)?.settings;
    let end = runtime.block_on(async {
        // Before the screen, so that ssh can ask for a password.
        let remote = Remote::connect(address.connector(), ClientKind::Screen, client_name()).await?;
        let program = remote.welcome().program.clone();
        let handle = Handle::new(remote);
        let (snapshot, _) = handle.subscribe().await?;
        let ProjectView { id, name, path, base_branch, .. } = snapshot.project;
        let (former, extra, created_at) = (Vec::new(), serde_json::Map::new(), SystemClock.now());
        let project = Project { id, name, path, base_branch, created_at, former, extra };
        let options = Options { host: Some(address.host()), ..screen_options(&home, project, &settings) };
        let mut screen = app::open(options)?;
        screen.without_state_files();
        // The engine there runs the program that is installed there.
        tracing::info!(program, "joined the engine of another machine");
        screen.set_engine_host(EngineHost::Joined { outdated: None });
        let end = screen.run(handle.clone()).await;
        handle.quit().await;
        Ok::<End, Failure>(end?)
    });
    match end? {
        End::Quit | End::Moved => Ok(Next::Exit(0)),
        End::Stopped(code) | End::HungUp(code) => Ok(Next::Exit(code)),
        End::Switch(project) => of_project(&home, project).map(Next::Show),
        End::SwitchHost { host, path } => Ok(Next::Show(on_host(&host, &path)?)),
        End::SetUp { .. } => Err(Fault::user("the set-up works only on the machine of the project").into()),
    }
}

/// Returns the options of a screen, without what belongs to a first start.
fn screen_options(home: &Home, project: Project, settings: &Settings) -> Options {
    let clock = Arc::new(SystemClock);
    Options {
        home: home.clone(),
        project,
        keys: settings.keys.iter().map(|(name, keys)| (name.clone(), keys.0.clone())).collect(),
        key_places: std::collections::BTreeMap::new(),
        settings: app::Settings {
            theme: settings.theme.clone(),
            mouse: settings.mouse,
            notify_desktop: settings.notify.desktop,
            notify_bell: settings.notify.bell,
            ..app::Settings::default()
        },
        client_name: client_name(),
        hosts: settings.hosts.clone(),
        host: None,
        notify: settings.notify.clone(),
        ids: IdSource::new(clock.clone()),
        clock,
        zone: TimeZone::system(),
        greeting: Vec::new(),
        suggestion: None,
    }
}

/// Returns the notices to show when the UI opens: on the first start in a repository, the provider and the next step.
fn greeting(settings: &Settings, known: bool, decided: bool) -> Vec<(Level, String)> {
    if !onboarding::is_set_up(settings) {
        let text = "No model provider is configured. /login configures one; `mxd demo` needs none.";
        return vec![(Level::Warning, text.to_owned())];
    }
    if decided {
        return vec![(Level::Info, "You're set up. Describe what you want and press Enter.".to_owned())];
    }
    if known {
        return Vec::new();
    }
    let Ok((group, _)) = settings.root_auth() else { return Vec::new() };
    let provider = match group {
        "env-anthropic" => "ANTHROPIC_API_KEY from the environment".to_owned(),
        "env-openai" => "OPENAI_API_KEY from the environment".to_owned(),
        group => format!("auth group {group} from the settings"),
    };
    vec![(Level::Info, format!("Using {provider}. Describe what you want and press Enter."))]
}
