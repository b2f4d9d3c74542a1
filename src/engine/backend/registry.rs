//! The backends of a project, and the choice for a task.
//!
//! A profile names its backend; without a name, the setting `backend` decides. The settings are read again at every
//! launch, so that "Try again" finds what the user has changed meanwhile. Nothing ever stands in for what was chosen.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::outside::{Outside, Program};
use super::{Backend, Capabilities, Native};
use crate::base::Fault;
use crate::config::Settings;
use crate::config::profile::{NATIVE, Profile};
use crate::engine::driver::EngineContext;
use crate::outside::programs::{self, KNOWN};

/// The backends that tasks can have.
pub(in crate::engine) enum Backends {
    /// One for everything: in tests, and where a front end brings its own.
    One(Arc<dyn Backend>),
    Chosen(Arc<EngineContext>),
}

/// What the machine must know of the backends: names for messages, and what they can do.
#[derive(Clone, Debug)]
pub struct BackendTable {
    default: String,
    facts: BTreeMap<String, BackendFacts>,
    /// All tasks have the default, whatever their profiles say.
    is_single: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendFacts {
    /// The name in messages.
    pub label: String,
    pub can: Capabilities,
}

impl BackendTable {
    /// Returns a table with one backend for all tasks.
    pub fn single(label: &str, can: Capabilities) -> Self {
        let facts = BTreeMap::from([(NATIVE.to_owned(), BackendFacts { label: label.to_owned(), can })]);
        Self { default: NATIVE.to_owned(), facts, is_single: true }
    }

    /// Returns the table of the settings.
    pub fn of(settings: &Settings) -> Self {
        let native = BackendFacts { label: "mxd".to_owned(), can: Capabilities::ALL };
        let mut facts = BTreeMap::from([(NATIVE.to_owned(), native)]);
        for program in programs(settings) {
            let can = program.capabilities();
            facts.insert(program.name, BackendFacts { label: program.label, can });
        }
        Self { default: plain_name(&settings.backend).to_owned(), facts, is_single: false }
    }

    /// Returns the facts of the backend of a profile. A backend that does not exist can do nothing: its tasks do not
    /// start.
    pub fn of_profile(&self, profile: Option<&Profile>) -> BackendFacts {
        let named = profile.and_then(|profile| profile.backend.as_deref()).filter(|_| !self.is_single);
        let name = named.map_or(self.default.as_str(), plain_name);
        self.facts
            .get(name)
            .cloned()
            .unwrap_or_else(|| BackendFacts { label: name.to_owned(), can: Program::unknown().capabilities() })
    }
}

/// Returns a backend's name without the prefix that says how it is spoken to.
pub fn plain_name(name: &str) -> &str {
    name.strip_prefix("acp:").unwrap_or(name).trim()
}

/// Returns every program that the settings and the table know, by name.
pub fn programs(settings: &Settings) -> Vec<Program> {
    let names = KNOWN.iter().map(|known| known.name.to_owned());
    let own = settings.backends.keys().filter(|name| programs::find(name).is_none()).cloned();
    names.chain(own).filter_map(|name| Program::of(&name, settings)).collect()
}

impl Backends {
    /// Returns the backend of a profile.
    pub(in crate::engine) fn of(&self, profile: &Profile) -> Result<Arc<dyn Backend>, Fault> {
        let ctx = match self {
            Self::One(backend) => return Ok(Arc::clone(backend)),
            Self::Chosen(ctx) => ctx,
        };
        let settings = match ctx.settings_files.merged() {
            Ok(merged) if merged.fault().is_none() => merged.settings,
            Ok(_) | Err(_) => ctx.settings.clone(),
        };
        let (name, place) = match &profile.backend {
            Some(name) => (plain_name(name), profile.place("backend")),
            None => (plain_name(&settings.backend), "the setting backend".to_owned()),
        };
        if name == NATIVE {
            return Ok(Arc::new(Native(Arc::clone(ctx))));
        }
        let program = choose(name, &place, &settings)?;
        Ok(Arc::new(Outside { ctx: Arc::clone(ctx), program: Arc::new(program) }))
    }
}

/// Returns the program with a name, if it may be used.
pub fn choose(name: &str, place: &str, settings: &Settings) -> Result<Program, Fault> {
    let Some(program) = Program::of(name, settings) else {
        let known: Vec<String> = programs(settings).into_iter().map(|program| program.name).collect();
        let known = known.join(", ");
        return Err(Fault::config(format!("{place}: there is no backend \"{name}\"; there are {NATIVE}, {known}"))
            .hint(format!("add it: `mxd config set --global backends.{name}.command PROGRAM`")));
    };
    if !settings.outside_agents {
        return Err(Fault::config(format!(
            "{place}: outside agent programs are switched off, so {} cannot be used",
            program.label
        ))
        .hint("switch them on: `mxd config set --global outsideAgents true`")
        .hint(format!("or let the task be done by {NATIVE}")));
    }
    if program.disabled {
        return Err(Fault::config(format!("{place}: the backend \"{name}\" is disabled"))
            .hint(format!("enable it: `mxd config set --global backends.{name}.disabled false`")));
    }
    Ok(program)
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
