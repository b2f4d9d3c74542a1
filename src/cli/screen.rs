//! `mxd` without a command: the screen on this project's engine.

use std::sync::Arc;

use crate::app::{self, End, Options, ProjectChoice, Setting};
use crate::base::{Fault, IdSource, SystemClock};
use crate::cli::config::{change_quietly, settings};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::place::{Here, home, registry};
use crate::cli::work::runtime;
use crate::config::Layer;
use crate::config::key_path::KeyPath;
use crate::config::paths::Home;
use crate::engine::models::Choice;
use crate::engine::{self, Handle, Options as EngineOptions};
use crate::process;
use crate::store::EngineLock;

pub fn run(console: &mut Console, here: &Here) -> Outcome {
    let home = home()?;
    // Who is told that nothing can be shown here has nothing registered and no agent started.
    here.repository()?;
    app::check_terminal()?;
    let runtime = runtime()?;
    process::hide_own_memory();
    let mut at = here.clone();
    let code = loop {
        let end = runtime.block_on(open(console, &at, &home));
        match end? {
            End::Quit => break 0,
            End::Stopped(stop) => break stop,
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

/// Opens a project and its screen, and stops everything when the screen is left.
async fn open(console: &mut Console, here: &Here, home: &Home) -> Result<End, Failure> {
    let located = here.located_or_registered(home)?;
    here.repository()?.branch()?;
    let merged = settings(console, here, home)?;
    let wanted = merged.settings.clone();
    let key_places = wanted.keys.keys().filter_map(|name| {
        let place = merged.origin(&KeyPath::top("keys").child(name))?.place()?;
        Some((name.clone(), place.to_string()))
    });
    let key_places = key_places.collect();
    let clock = Arc::new(SystemClock);
    let ids = IdSource::new(clock.clone());
    let handle: Handle = engine::open(EngineOptions {
        home: home.clone(),
        project: located.project.clone(),
        merged,
        choice: Choice::default(),
        budget: None,
        hold: false,
        scripted: None,
        ids: ids.clone(),
        clock: clock.clone(),
    })
    .await?;
    let (chosen, place) = (home.clone(), here.clone());
    let options = Options {
        handle: handle.clone(),
        home: home.clone(),
        project: located.project,
        keys: wanted.keys.iter().map(|(name, keys)| (name.clone(), keys.0.clone())).collect(),
        key_places,
        settings: app::Settings {
            theme: wanted.theme.clone(),
            mouse: wanted.mouse,
            notify_desktop: wanted.notify.desktop,
            notify_bell: wanted.notify.bell,
            ..app::Settings::default()
        },
        notify: wanted.notify,
        save_setting: Arc::new(move |setting| save(&place, &chosen, setting)),
        projects: {
            let home = home.clone();
            Arc::new(move || projects(&home))
        },
        clock,
        ids,
        greeting: Vec::new(),
    };
    let end = app::run(options).await;
    handle.quit().await;
    Ok(end?)
}

/// Writes a setting to the layer it belongs to: taste to the person's own, money to the project's.
fn save(here: &Here, home: &Home, setting: &Setting) -> Result<(), Fault> {
    let (layer, value) = match setting {
        Setting::Theme(name) => (Layer::Global, Some(name.clone())),
        Setting::NotifyDesktop(on) | Setting::NotifyBell(on) | Setting::Mouse(on) => {
            (Layer::Global, Some(on.to_string()))
        }
        Setting::TaskModel(model) => (Layer::Local, Some(model.clone())),
        Setting::ProjectBudget(budget) => {
            (Layer::Local, budget.map(|budget| format!("{}", budget.0 as f64 / 1_000_000.0)))
        }
    };
    change_quietly(here, home, layer, |edit| match &value {
        Some(value) => edit.set(setting.key(), value),
        None => edit.unset(setting.key()),
    })
}

fn projects(home: &Home) -> Vec<ProjectChoice> {
    let listed = registry(home).list().unwrap_or_default();
    let choice = |project: crate::model::Project| {
        let open = EngineLock::holder(&home.project(project.id).lock()).is_ok_and(|holder| holder.is_some());
        ProjectChoice {
            id: project.id,
            name: project.name,
            path: project.path.display().to_string(),
            note: if open { "open".to_owned() } else { String::new() },
        }
    };
    listed.into_iter().map(choice).collect()
}
