//! `mxd` without a command: opens the UI on the current project.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::app::{self, End, Options};
use crate::base::{AskId, Clock as _, Fault, IdSource, SystemClock, TaskId};
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{ProjectLocator, home, registry};
use crate::cli::onboarding::{self, NextStep, SetupReason};
use crate::cli::open_engine::{AgentStart, Overrides, engine_options, runtime};
use crate::cli::serve;
use crate::cli::shared_engine::{SharedEngine, Sharing, client_name, join_or_start, open_or_join};
use crate::cli::signals::{SignalRequest, Signals};
use crate::config::key_path::KeyPath;
use crate::config::paths::Home;
use crate::config::settings::{AuthGroup, OnHangup, Provider};
use crate::config::{Merged, Settings};
use crate::engine::Handle;
use crate::engine::command::Command;
use crate::engine::snapshot::ProjectView;
use crate::engine::update::Level;
use crate::model::Project;
use crate::model::ask::{AskReply, ChoiceId};
use crate::process;
use crate::serve::Remote;
use crate::serve::connector::Connector;
use crate::serve::protocol::ClientKind;
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
}

pub fn run(console: &mut Console, here: &ProjectLocator) -> Outcome {
    run_with(console, here, Opening::OpenOrJoin)
}

/// Runs a screen on the engine of another process.
pub fn run_joined(console: &mut Console, here: &ProjectLocator) -> Outcome {
    run_with(console, here, Opening::Join)
}

fn run_with(console: &mut Console, here: &ProjectLocator, opening: Opening) -> Outcome {
    let home = home()?;
    // Check the terminal before registering anything or starting an agent.
    if let Err(error) = app::check_terminal() {
        here.repository()?;
        return Err(error.into());
    }
    let runtime = runtime()?;
    process::hide_own_memory();
    let mut at = here.clone();
    let mut reason = SetupReason::Missing;
    let mut retry = None;
    let code = loop {
        let merged = settings(console, &at, &home)?;
        let (merged, decided) =
            match runtime.block_on(onboarding::guide(&at, &home, &merged.settings, std::mem::take(&mut reason)))? {
                NextStep::Open { decided: false } => {
                    retry = None;
                    (merged, false)
                }
                NextStep::Open { decided: true } => (settings(console, &at, &home)?, true),
                NextStep::Exit(code) => break code,
            };
        let end = runtime.block_on(open(&at, &home, merged, decided, retry.take(), opening));
        match end? {
            End::Quit => break 0,
            End::Stopped(stop) | End::HungUp(stop) => break stop,
            End::SetUp { retry: rejected } => {
                reason = if rejected.is_some() { SetupReason::RejectedKey } else { SetupReason::Requested };
                retry = rejected;
            }
            End::Switch(project) => {
                let project = registry(&home).find(project)?;
                let project = project.ok_or_else(|| Fault::user("this project is no longer registered"))?;
                at = ProjectLocator::new(Some(project.path));
            }
        }
    };
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    Ok(code)
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
) -> Result<End, Failure> {
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
            Opening::Join => join_or_start(&folder, &project).await,
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
    if engine.is_joined() {
        // The screen that opened the project stores its drafts.
        screen.without_state_files();
    }
    let handle = engine.handle().clone();
    if let Some((task, ask)) = retry {
        // The key is another one now. If the question is gone meanwhile, there is nothing to retry.
        let reply = AskReply::Choice(ChoiceId::Retry);
        let _ = handle.command(Command::Answer { task, ask, reply }).await;
    }
    let end = screen.run(handle).await;
    if let (Ok(End::HungUp(_)), OnHangup::Continue) = (&end, settings.on_hangup) {
        go_on_without_screen(&engine).await;
    }
    engine.leave().await;
    Ok(end?)
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
        () = handle.ended() => {}
        () = serve::until_unused(handle, server.connected()) => {}
    }
}

/// Runs a screen on an engine that is reached in another way. It has the settings of this machine.
pub fn run_over(console: &mut Console, here: &ProjectLocator, connector: impl Connector) -> Outcome {
    let home = home()?;
    app::check_terminal()?;
    let settings = settings(console, here, &home)?.settings;
    let runtime = runtime()?;
    let end = runtime.block_on(async {
        // Before the screen, so that ssh can ask for a password.
        let handle = Handle::new(Remote::connect(connector, ClientKind::Screen, client_name()).await?);
        let (snapshot, _) = handle.subscribe().await?;
        let ProjectView { id, name, path, base_branch, .. } = snapshot.project;
        let (former, extra, created_at) = (Vec::new(), serde_json::Map::new(), SystemClock.now());
        let project = Project { id, name, path, base_branch, created_at, former, extra };
        let mut screen = app::open(screen_options(&home, project, &settings))?;
        screen.without_state_files();
        let end = screen.run(handle.clone()).await;
        handle.quit().await;
        Ok::<End, Failure>(end?)
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    match end? {
        End::Quit => Ok(0),
        End::Stopped(code) | End::HungUp(code) => Ok(code),
        End::SetUp { .. } | End::Switch(_) => Err(Fault::user("this works only on the machine of the project").into()),
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
