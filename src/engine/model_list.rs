//! Lists the models that the user can choose for a project.

use std::sync::Arc;
use std::time::Duration;

use crate::base::{Clock, SystemClock};
use crate::config::Settings;
use crate::config::settings::{AuthGroup, Provider};
use crate::engine::models::{CommandLineChoice, Models};
use crate::engine::query::{ModelOffer, ModelSource};
use crate::provider::Catalogue;
use crate::provider::http::Timeouts;

/// How long an endpoint may take to start its response.
const FIRST_BYTE_LIMIT: Duration = Duration::from_secs(20);

pub async fn models(settings: &Settings, from: ModelSource, clock: Arc<dyn Clock>) -> Vec<ModelOffer> {
    match from {
        ModelSource::Known => known(settings),
        ModelSource::Endpoint => listed(settings.clone(), clock).await,
    }
}

/// Returns the models from the settings, then those of the built-in table that the root's endpoint may have.
fn known(settings: &Settings) -> Vec<ModelOffer> {
    let group = settings.root_auth().ok().map(|(_, group)| group);
    let fits = |model: &&str| !settings.models.contains_key(*model) && may_have(group, model);
    let described = settings.models.keys().cloned();
    let models = described.chain(Catalogue::shipped().filter(fits).map(str::to_owned));
    let facts = Models::new(settings.clone(), CommandLineChoice::default(), Arc::new(SystemClock));
    models.map(|model| ModelOffer::new(&model, facts.facts(&model, Vec::new()).ok())).collect()
}

/// Requests the models of the root's endpoint. Empty if the request fails.
async fn listed(settings: Settings, clock: Arc<dyn Clock>) -> Vec<ModelOffer> {
    let name = match settings.root_auth() {
        Ok((name, group)) if group.provider != Provider::Scripted => name.to_owned(),
        Ok(_) | Err(_) => return Vec::new(),
    };
    let timeouts = Timeouts { first_byte: FIRST_BYTE_LIMIT, ..Timeouts::default() };
    let models = Models::new(settings, CommandLineChoice::default(), clock).with_timeouts(timeouts);
    match models.list(&name).await {
        Ok(listed) => {
            let offer = |model: &str| ModelOffer::new(model, models.facts(model, listed.clone()).ok());
            listed.iter().map(|listed| offer(&listed.id)).collect()
        }
        Err(error) => {
            tracing::info!(%error, "the endpoint does not list its models");
            Vec::new()
        }
    }
}

/// Returns true if an endpoint may have a model of the built-in table, judging by its name.
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
#[path = "model_list_tests.rs"]
mod tests;
