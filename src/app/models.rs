//! The models that can be chosen for a project: what its endpoint lists, and until that is known what is known anyway.
//! Chooses nothing.

use std::sync::Arc;
use std::time::Duration;

use super::setup::{Offered, offered};
use crate::base::Clock;
use crate::config::Settings;
use crate::config::settings::{AuthGroup, Provider};
use crate::engine::models::{Choice, Models};
use crate::provider::Catalogue;
use crate::provider::http::Timeouts;

/// How long an endpoint may take to begin with its list.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the models that are known without asking: those of the settings, and those of the built-in table that the
/// endpoint of the root may have.
pub fn known(settings: &Settings) -> Vec<Offered> {
    let group = settings.root_auth().ok().map(|(_, group)| group);
    let fitting = |model: &&str| !settings.models.contains_key(*model) && may_have(group, model);
    let described = settings.models.keys().cloned();
    let models = described.chain(Catalogue::shipped().filter(fitting).map(str::to_owned));
    let facts = Models::new(settings.clone(), Choice::default(), Arc::new(crate::base::SystemClock));
    models.map(|model| offered(&model, facts.facts(&model, Vec::new()).ok())).collect()
}

/// Asks the endpoint of the root which models it has. None: it did not tell.
pub async fn ask(settings: Settings, clock: Arc<dyn Clock>) -> Vec<Offered> {
    let name = match settings.root_auth() {
        Ok((name, group)) if group.provider != Provider::Scripted => name.to_owned(),
        Ok(_) | Err(_) => return Vec::new(),
    };
    let timeouts = Timeouts { first_byte: PATIENCE, ..Timeouts::default() };
    let models = Models::new(settings, Choice::default(), clock).patience(timeouts);
    match models.ask(&name).await {
        Ok(listed) => {
            let of = |model: &str| offered(model, models.facts(model, listed.clone()).ok());
            listed.iter().map(|listed| of(&listed.id)).collect()
        }
        Err(error) => {
            tracing::info!(%error, "the endpoint does not list its models");
            Vec::new()
        }
    }
}

/// Tells whether an endpoint may have a model of the built-in table, as far as its name tells.
fn may_have(group: Option<&AuthGroup>, model: &str) -> bool {
    let anthropic = model.starts_with("claude");
    let numbered = model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let openai = numbered || (model.starts_with("gpt-") && !model.starts_with("gpt-oss"));
    match group.map(|group| (group.provider, group.base_url.is_some())) {
        None => model != "scripted",
        Some((Provider::Anthropic, _)) => anthropic,
        Some((Provider::Openai, false)) => openai,
        Some((Provider::Openai, true)) => !anthropic && model != "scripted",
        Some((Provider::Scripted, _)) => model == "scripted",
    }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
