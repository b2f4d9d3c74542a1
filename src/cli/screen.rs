//! `mxd` without a command: the screen on this project's engine.

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::app::{self, End, Options};
use crate::base::{Fault, IdSource, SystemClock};
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::first::{self, Then};
use crate::cli::place::{Here, home, registry};
use crate::cli::work::runtime;
use crate::config::key_path::KeyPath;
use crate::config::paths::Home;
use crate::config::{Merged, Settings};
use crate::engine::models::Choice;
use crate::engine::update::Level;
use crate::engine::{self, Handle, Options as EngineOptions};
use crate::process;
use crate::store::EngineLock;

/// The first thing one might say, after the set-up.
const SUGGESTION: &str = "What is this repository about, and how is it built and tested?";

pub fn run(console: &mut Console, here: &Here) -> Outcome {
    let home = home()?;
    // Who is told that nothing can be shown here has nothing registered and no agent started.
    if let Err(error) = app::check_terminal() {
        here.repository()?;
        return Err(error.into());
    }
    let runtime = runtime()?;
    process::hide_own_memory();
    let mut at = here.clone();
    let mut asks = false;
    let code = loop {
        let merged = settings(console, &at, &home)?;
        let (merged, decided) =
            match runtime.block_on(first::guide(&at, &home, &merged.settings, std::mem::take(&mut asks)))? {
                Then::Open { decided: false } => (merged, false),
                Then::Open { decided: true } => (settings(console, &at, &home)?, true),
                Then::Leave(code) => break code,
            };
        let end = runtime.block_on(open(&at, &home, merged, decided));
        match end? {
            End::Quit => break 0,
            End::Stopped(stop) => break stop,
            End::SetUp => asks = true,
            End::Switch(project) => {
                let project = registry(&home).find(project)?;
                let project = project.ok_or_else(|| Fault::user("this project is not registered any more"))?;
                at = Here::new(Some(project.path));
            }
        }
    };
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    Ok(code)
}

/// Opens a project and its screen, and stops everything when the screen is left. `decided`: it was set up just now.
async fn open(here: &Here, home: &Home, merged: Merged, decided: bool) -> Result<End, Failure> {
    let found = here.try_located(home)?;
    let known = found.is_some();
    let located = match found {
        Some(located) => located,
        None => here.located_or_registered(home)?,
    };
    here.repository()?.branch()?;
    let wanted = merged.settings.clone();
    let key_places = wanted.keys.keys().filter_map(|name| {
        let place = merged.origin(&KeyPath::top("keys").child(name))?.place()?;
        Some((name.clone(), place.to_string()))
    });
    let key_places = key_places.collect();
    let clock = Arc::new(SystemClock);
    let ids = IdSource::new(clock.clone());
    let lock = located.folder.lock();
    // What the command line could do instead is no help to who looks at the screen.
    let read_only =
        EngineLock::holder(&lock)?.map(|_| format!("{}: from here it is only watched", engine::refusal(&lock).message));
    let greeting = match &read_only {
        Some(_) => vec![(Level::Info, "another process works on this project: this is what it does".to_owned())],
        None => greeting(&wanted, known, decided),
    };
    let looks_on = read_only.is_some();
    let mut screen = app::open(Options {
        home: home.clone(),
        project: located.project.clone(),
        keys: wanted.keys.iter().map(|(name, keys)| (name.clone(), keys.0.clone())).collect(),
        key_places,
        settings: app::Settings {
            theme: wanted.theme.clone(),
            mouse: wanted.mouse,
            notify_desktop: wanted.notify.desktop,
            notify_bell: wanted.notify.bell,
            read_only,
            ..app::Settings::default()
        },
        notify: wanted.notify.clone(),
        clock: clock.clone(),
        zone: TimeZone::system(),
        ids: ids.clone(),
        greeting,
        suggestion: decided.then_some(SUGGESTION),
    })?;
    let opening = async {
        if looks_on {
            let handle = engine::read_only(home, located.project.clone(), &wanted);
            handle.look().await?;
            return Ok(handle);
        }
        engine::open(EngineOptions {
            home: home.clone(),
            project: located.project.clone(),
            merged,
            choice: Choice::default(),
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

/// Returns what is said when the screen opens: at the first start in a repository, what was found and the next step.
fn greeting(settings: &Settings, known: bool, decided: bool) -> Vec<(Level, String)> {
    if !first::is_set_up(settings) {
        let words = "no model is set up yet: /set_up asks for what is missing; `mxd demo` needs none";
        return vec![(Level::Warning, words.to_owned())];
    }
    if known && !decided {
        return Vec::new();
    }
    let Ok((way, _)) = settings.root_auth() else { return Vec::new() };
    let found = match way {
        "env-anthropic" => "ANTHROPIC_API_KEY is in the environment".to_owned(),
        "env-openai" => "OPENAI_API_KEY is in the environment".to_owned(),
        group => format!("auth group {group} is in the settings"),
    };
    vec![(Level::Info, format!("{found}: write what you want done, and Enter sends it"))]
}
