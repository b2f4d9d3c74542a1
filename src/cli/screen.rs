//! `mxd` without a command: opens the UI on the current project.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::app::{self, End, Options};
use crate::base::{Fault, IdSource, SystemClock};
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::{ProjectLocator, home, registry};
use crate::cli::onboarding::{self, NextStep};
use crate::cli::open_engine::runtime;
use crate::config::key_path::KeyPath;
use crate::config::paths::Home;
use crate::config::{Merged, Settings};
use crate::engine::models::CommandLineChoice;
use crate::engine::update::Level;
use crate::engine::{self, EngineOptions, Handle};
use crate::process;
use crate::store::EngineLock;

/// The suggested first message after the set-up.
const SUGGESTION: &str = "What is this repository about, and how is it built and tested?";

pub fn run(console: &mut Console, here: &ProjectLocator) -> Outcome {
    let home = home()?;
    // Check the terminal before registering anything or starting an agent.
    if let Err(error) = app::check_terminal() {
        here.repository()?;
        return Err(error.into());
    }
    let runtime = runtime()?;
    process::hide_own_memory();
    let mut at = here.clone();
    let mut always = false;
    let code = loop {
        let merged = settings(console, &at, &home)?;
        let (merged, decided) =
            match runtime.block_on(onboarding::guide(&at, &home, &merged.settings, std::mem::take(&mut always)))? {
                NextStep::Open { decided: false } => (merged, false),
                NextStep::Open { decided: true } => (settings(console, &at, &home)?, true),
                NextStep::Exit(code) => break code,
            };
        let end = runtime.block_on(open(&at, &home, merged, decided));
        match end? {
            End::Quit => break 0,
            End::Stopped(stop) => break stop,
            End::SetUp => always = true,
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

/// Opens a project in the UI, and stops everything when the UI closes. `decided` is true right after the set-up.
async fn open(here: &ProjectLocator, home: &Home, merged: Merged, decided: bool) -> Result<End, Failure> {
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
    let clock = Arc::new(SystemClock);
    let ids = IdSource::new(clock.clone());
    let lock = located.folder.lock();
    // Without the hints, which name commands for the shell.
    let read_only = EngineLock::holder(&lock)?.map(|_| format!("read-only: {}", engine::refusal(&lock).message));
    let greeting = match &read_only {
        Some(_) => vec![(Level::Info, "Read-only: another process runs this project.".to_owned())],
        None => greeting(&settings, known, decided),
    };
    let is_read_only = read_only.is_some();
    let mut screen = app::open(Options {
        home: home.clone(),
        project: located.project.clone(),
        keys: settings.keys.iter().map(|(name, keys)| (name.clone(), keys.0.clone())).collect(),
        key_places,
        settings: app::Settings {
            theme: settings.theme.clone(),
            mouse: settings.mouse,
            notify_desktop: settings.notify.desktop,
            notify_bell: settings.notify.bell,
            read_only,
            ..app::Settings::default()
        },
        notify: settings.notify.clone(),
        clock: clock.clone(),
        zone: TimeZone::system(),
        ids: ids.clone(),
        greeting,
        suggestion: decided.then_some(SUGGESTION),
    })?;
    let opening = async {
        if is_read_only {
            let handle = engine::read_only(home, located.project.clone(), &settings);
            handle.subscribe().await?;
            return Ok(handle);
        }
        engine::open(EngineOptions {
            home: home.clone(),
            project: located.project.clone(),
            merged,
            choice: CommandLineChoice::default(),
            budget: None,
            hold: false,
            scripted: None,
            backend: None,
            ids,
            clock,
        })
        .await
    };
    let words = format!("Opening {} …", located.project.name);
    let handle: Handle = match screen.until(&words, Box::pin(opening)).await {
        Ok(handle) => handle,
        Err(fault) => {
            screen.close().await;
            return Err(fault.into());
        }
    };
    let end = screen.run(handle.clone()).await;
    handle.quit().await;
    Ok(end?)
}

/// Returns the notices to show when the UI opens: on the first start in a repository, the provider and the next step.
fn greeting(settings: &Settings, known: bool, decided: bool) -> Vec<(Level, String)> {
    if !onboarding::is_set_up(settings) {
        let text = "No model provider is configured. /set_up configures one; `mxd demo` needs none.";
        return vec![(Level::Warning, text.to_owned())];
    }
    if known && !decided {
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
