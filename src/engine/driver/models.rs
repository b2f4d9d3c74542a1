//! Chooses the model of an agent and its endpoint from the settings. All runs of a project share endpoints and their
//! rate gates.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::base::{Clock, Fault};
use crate::config::settings::{AuthGroup, ModelFacts, OpenAiApi, Provider as Vendor};
use crate::config::{Profile, Settings};
use crate::model::conversation::Wire;
use crate::provider::catalogue::{ModelOverride, UnknownModelInfo};
use crate::provider::http::{HttpProvider, Timeouts};
use crate::provider::scripted::ScriptedProvider;
use crate::provider::{ApiError, Catalogue, Credential, ListedModel, ModelInfo, Prices, Provider, RateGate, RateGates};

/// The models that are used unless the user has chosen one.
const DEFAULT_ANTHROPIC: &str = "claude-sonnet-4-6";
const DEFAULT_OPENAI: &str = "gpt-5.2";
const SCRIPTED: &str = "scripted";
/// How many known models an error about an unknown one lists.
const SUGGESTED_MODELS: usize = 5;
/// The properties of a scripted model. It costs nothing.
const SCRIPTED_FACTS: ModelInfo = ModelInfo { window: 200_000, max_output: 32_000, prices: None };

/// Options from the command line. They apply to this invocation only.
#[derive(Clone, Debug, Default)]
pub struct CommandLineChoice {
    pub auth: Option<String>,
    pub model: Option<String>,
}

/// The model that a profile asks for. Each value comes with its place in the profile file.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    pub auth: Option<(String, String)>,
    pub model: Option<(String, String)>,
}

impl ModelRequest {
    pub fn of(profile: &Profile) -> Self {
        let with_place = |value: &Option<String>, field| value.clone().map(|value| (value, profile.place(field)));
        Self { auth: with_place(&profile.auth, "auth"), model: with_place(&profile.model, "model") }
    }
}

/// The short model names that profiles use, with the full names.
const SHORT_NAMES: [(&str, &str); 3] =
    [("opus", "claude-opus-4-7"), ("sonnet", "claude-sonnet-4-6"), ("haiku", "claude-haiku-4-5")];

/// A model and its endpoint.
pub struct ChosenModel {
    pub provider: Arc<dyn Provider>,
    pub gate: Arc<RateGate>,
    pub wire: Wire,
    pub model: String,
    /// The auth group that provides the credential. `None` for a demo script.
    pub auth_group: Option<String>,
    pub facts: ModelInfo,
    pub catalogue: Catalogue,
    /// Resolves to the catalogue with the endpoint's own list, if that was not available in time.
    pub late_catalogue: Option<LateCatalogue>,
}

/// Why an auth group could not list its models.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The group is not configured well enough to ask it.
    #[error("{0}")]
    Setup(#[from] Fault),
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// How long an endpoint may take to list its models.
const LISTING_LIMIT: Duration = Duration::from_secs(10);
/// How long a launch waits for the list if the model is known without it. The run uses a later list when it arrives.
const LISTING_WAIT: Duration = Duration::from_millis(300);
/// How long a failed listing is not repeated: launches that wait for the same list should not wait twice.
const FAILURE_TTL: Duration = Duration::from_secs(5);
/// The same for a model that is known without the list. Many endpoints have no list at all.
const OPTIONAL_FAILURE_TTL: Duration = Duration::from_secs(15 * 60);

/// Resolves to the catalogue with the endpoint's list. `None` if the endpoint cannot list its models.
pub type LateCatalogue = BoxFuture<'static, Option<Catalogue>>;

#[derive(Default)]
enum ListingState {
    #[default]
    Unasked,
    Known(Vec<ListedModel>),
    Failed(Instant),
}

/// The configured endpoints and models.
pub struct Models {
    settings: Settings,
    choice: CommandLineChoice,
    clock: Arc<dyn Clock>,
    timeouts: Timeouts,
    gates: RateGates,
    /// A provider that replaces all others, for the demo.
    script: Option<Arc<dyn Provider>>,
    providers: Mutex<BTreeMap<String, Arc<dyn Provider>>>,
    /// The models that the user chose in place of unknown ones.
    replaced: Mutex<BTreeMap<String, String>>,
    /// The model lists by auth group. A slow group does not delay the others.
    listed: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<ListingState>>>>,
}

impl Models {
    pub fn new(settings: Settings, choice: CommandLineChoice, clock: Arc<dyn Clock>) -> Self {
        Self {
            settings,
            choice,
            clock,
            timeouts: Timeouts::default(),
            gates: RateGates::default(),
            script: None,
            providers: Mutex::default(),
            replaced: Mutex::default(),
            listed: Mutex::default(),
        }
    }

    /// Uses one scripted provider for all models.
    pub fn with_script(mut self, provider: Arc<dyn Provider>) -> Self {
        self.script = Some(provider);
        self
    }

    /// Overrides the timeouts of requests.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Lists the models of an auth group. This is the cheapest way to check that the endpoint is reachable and accepts
    /// the key.
    pub async fn list(&self, name: &str) -> Result<Vec<ListedModel>, ListingError> {
        let (name, group) = self.settings.auth(name).map_err(Fault::from)?;
        let provider = self.provider(name, group)?;
        Ok(provider.models(CancellationToken::new()).await?)
    }

    /// Returns the properties of a model, given the endpoint's list.
    pub fn facts(&self, model: &str, listed: Vec<ListedModel>) -> Result<ModelInfo, UnknownModelInfo> {
        Catalogue::new(self.overrides()).with_listed(listed).facts(model)
    }

    /// Returns the model of the root or of another task.
    pub async fn choose(&self, is_root: bool, request: &ModelRequest) -> Result<ChosenModel, Fault> {
        if let Some(provider) = &self.script {
            return Ok(self.scripted_model(Arc::clone(provider), SCRIPTED, None));
        }
        let (name, group, configured) = self.resolve(is_root, request)?;
        let replacement = self.replacement_of(configured);
        let model = replacement.as_deref().unwrap_or(configured);
        let provider = self.provider(name, group)?;
        let wire = wire_of(group);
        if wire == Wire::Scripted {
            return Ok(self.scripted_model(provider, model, Some(name)));
        }
        let (catalogue, late_catalogue) = self.catalogue(name, model, &provider).await;
        let facts = catalogue.facts(model).map_err(|error| {
            let fault = Fault::config(error.to_string());
            match catalogue.most_similar(model, SUGGESTED_MODELS).join(", ") {
                names if names.is_empty() => fault,
                names => fault.hint(format!("models that are known: {names}")),
            }
        })?;
        Ok(ChosenModel {
            provider,
            gate: self.gates.of(name),
            wire,
            model: model.to_owned(),
            auth_group: Some(name.to_owned()),
            facts,
            catalogue,
            late_catalogue,
        })
    }

    /// Uses `model` in place of the configured one, for as long as this process runs.
    pub fn replace_unknown(&self, is_root: bool, request: &ModelRequest, model: &str) -> Result<(), Fault> {
        let (_, _, configured) = self.resolve(is_root, request)?;
        let mut replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.insert(configured.to_owned(), model.to_owned());
        Ok(())
    }

    fn replacement_of(&self, configured: &str) -> Option<String> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner).get(configured).cloned()
    }

    /// Returns the known models that are most similar to the configured one, if that is unknown.
    pub async fn similar_to_unknown(&self, is_root: bool, request: &ModelRequest) -> Vec<String> {
        let Ok((name, group, configured)) = self.resolve(is_root, request) else { return Vec::new() };
        let replacement = self.replacement_of(configured);
        let model = replacement.as_deref().unwrap_or(configured);
        let Ok(provider) = self.provider(name, group) else { return Vec::new() };
        if self.script.is_some() || wire_of(group) == Wire::Scripted {
            return Vec::new();
        }
        let (catalogue, _) = self.catalogue(name, model, &provider).await;
        if catalogue.facts(model).is_ok() { Vec::new() } else { catalogue.most_similar(model, SUGGESTED_MODELS) }
    }

    /// Returns the name of the root's model, if one is configured. Makes no request.
    pub fn root_model(&self) -> Option<String> {
        if self.script.is_some() {
            return Some(SCRIPTED.to_owned());
        }
        self.resolve(true, &ModelRequest::default()).ok().map(|(_, _, model)| model.to_owned())
    }

    /// Returns the auth group and the model to use. The command line wins over the profile, and the profile over the
    /// settings.
    pub fn resolve<'a>(
        &'a self,
        is_root: bool,
        request: &'a ModelRequest,
    ) -> Result<(&'a str, &'a AuthGroup, &'a str), Fault> {
        let configured_auth = if is_root { self.settings.root_auth() } else { self.settings.child_auth() };
        let (name, group) = match (&self.choice.auth, &request.auth) {
            (Some(name), _) => self.settings.auth(name)?,
            (None, Some((name, place))) => self.settings.auth(name).map_err(|error| {
                let fault = Fault::from(error);
                Fault { message: format!("{place}: {}", fault.message), ..fault }
            })?,
            (None, None) => configured_auth.clone()?,
        };
        // The configured model belongs to the configured group. Another group may not have it.
        let is_configured_auth =
            configured_auth.is_ok_and(|(configured_auth, _)| configured_auth == name) || request.auth.is_none();
        let configured = if is_root { self.settings.model.as_deref() } else { self.settings.child_model() };
        let configured = configured.filter(|_| is_configured_auth);
        let requested = match (&self.choice.model, &request.model) {
            (Some(model), _) => Some(model.as_str()),
            (None, Some((model, place))) => Some(model_name_for(model, place, name, group)?),
            (None, None) => configured,
        };
        let model = match (requested, wire_of(group)) {
            (Some(model), _) => model,
            (None, Wire::Anthropic) => DEFAULT_ANTHROPIC,
            (None, Wire::OpenaiResponses) => DEFAULT_OPENAI,
            (None, Wire::Scripted) => SCRIPTED,
            (None, Wire::OpenaiChat) => {
                return Err(Fault::config(format!("no model is chosen for the auth group \"{name}\""))
                    .hint("choose one: `mxd config set model NAME`"));
            }
        };
        Ok((name, group, model))
    }

    fn scripted_model(&self, provider: Arc<dyn Provider>, model: &str, group: Option<&str>) -> ChosenModel {
        let catalogue = Catalogue::new(self.overrides());
        let facts = catalogue.facts(model).unwrap_or(SCRIPTED_FACTS);
        let gate = self.gates.of(SCRIPTED);
        let auth_group = group.map(str::to_owned);
        ChosenModel {
            provider,
            gate,
            wire: Wire::Scripted,
            model: model.to_owned(),
            auth_group,
            facts,
            catalogue,
            late_catalogue: None,
        }
    }

    fn provider(&self, name: &str, group: &AuthGroup) -> Result<Arc<dyn Provider>, Fault> {
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = providers.get(name) {
            return Ok(Arc::clone(provider));
        }
        let provider: Arc<dyn Provider> = match group.provider {
            Vendor::Scripted => {
                let script = group.script.as_ref().ok_or_else(|| {
                    Fault::config(format!("the auth group \"{name}\" is scripted but has no script"))
                        .hint(format!("set one: `mxd config set authGroups.{name}.script PATH`"))
                })?;
                let scripted = ScriptedProvider::load(script, 1.0);
                Arc::new(scripted.map_err(|error| Fault::config(error.to_string()))?)
            }
            Vendor::Anthropic | Vendor::Openai => {
                let credential = Credential {
                    group: name.to_owned(),
                    wire: wire_of(group),
                    base_url: group.base_url.as_ref().map(|url| url.expose().to_owned()).unwrap_or_default(),
                    api_key: group.api_key.clone(),
                };
                Arc::new(HttpProvider::new(credential, self.timeouts, Arc::clone(&self.clock)))
            }
        };
        providers.insert(name.to_owned(), Arc::clone(&provider));
        Ok(provider)
    }

    /// Returns the model catalogue. The endpoint's list is requested once. If the model is known without it, a slow
    /// list is returned as the second part instead of being waited for.
    async fn catalogue(
        &self,
        group: &str,
        model: &str,
        provider: &Arc<dyn Provider>,
    ) -> (Catalogue, Option<LateCatalogue>) {
        let own = Catalogue::new(self.overrides());
        let is_known = own.facts(model).is_ok();
        let (wait, failure_ttl) =
            if is_known { (LISTING_WAIT, OPTIONAL_FAILURE_TTL) } else { (Duration::MAX, FAILURE_TTL) };
        let listing = {
            let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(listed.entry(group.to_owned()).or_default())
        };
        // In its own task, so that later launches can use the result too.
        let listing = tokio::spawn(list(listing, Arc::clone(provider), failure_ttl));
        let base = own.clone();
        let mut late = listing.map(move |models| models.ok().flatten().map(|models| base.with_listed(models))).boxed();
        match tokio::time::timeout(wait, &mut late).await {
            Ok(catalogue) => (catalogue.unwrap_or(own), None),
            Err(_) => (own, Some(late)),
        }
    }

    fn overrides(&self) -> BTreeMap<String, ModelOverride> {
        self.settings.models.iter().map(|(model, facts)| (model.clone(), override_of(facts))).collect()
    }
}

/// Returns the models that an endpoint lists, from memory if possible. `None` if the request fails, or failed less
/// than `failure_ttl` ago.
async fn list(
    listing: Arc<tokio::sync::Mutex<ListingState>>,
    provider: Arc<dyn Provider>,
    failure_ttl: Duration,
) -> Option<Vec<ListedModel>> {
    let mut listing = listing.lock().await;
    match &*listing {
        ListingState::Known(models) => return Some(models.clone()),
        ListingState::Failed(when) if when.elapsed() < failure_ttl => return None,
        ListingState::Unasked | ListingState::Failed(_) => {}
    }
    let listed = tokio::time::timeout(LISTING_LIMIT, provider.models(CancellationToken::new())).await;
    match listed {
        Ok(Ok(models)) => {
            *listing = ListingState::Known(models.clone());
            Some(models)
        }
        // A later run tries again. Callers report what they miss.
        Ok(Err(_)) | Err(_) => {
            *listing = ListingState::Failed(Instant::now());
            None
        }
    }
}

/// Returns the name by which the group knows a profile's model. Short names belong to a vendor; elsewhere they are an
/// error.
fn model_name_for<'a>(model: &'a str, place: &str, name: &str, group: &AuthGroup) -> Result<&'a str, Fault> {
    let Some((short, full)) = SHORT_NAMES.iter().find(|(short, _)| short.eq_ignore_ascii_case(model)) else {
        return Ok(model);
    };
    match wire_of(group) {
        Wire::Anthropic => Ok(full),
        Wire::Scripted => Ok(model),
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            Err(Fault::config(format!("{place}: the auth group \"{name}\" does not have the model \"{short}\""))
                .hint("write the name of a model that the group has, or `model: inherit`")
                .hint("or let your own profile choose another group: auth: NAME"))
        }
    }
}

fn wire_of(group: &AuthGroup) -> Wire {
    match (group.provider, group.api) {
        (Vendor::Anthropic, _) => Wire::Anthropic,
        (Vendor::Scripted, _) => Wire::Scripted,
        (Vendor::Openai, Some(OpenAiApi::Responses)) => Wire::OpenaiResponses,
        (Vendor::Openai, Some(OpenAiApi::Chat)) => Wire::OpenaiChat,
        // Compatible servers usually implement the older API.
        (Vendor::Openai, None) if group.base_url.is_some() => Wire::OpenaiChat,
        (Vendor::Openai, None) => Wire::OpenaiResponses,
    }
}

fn override_of(facts: &ModelFacts) -> ModelOverride {
    let prices = facts.prices.and_then(|prices| {
        Some(Prices {
            input: prices.input?.0,
            output: prices.output?.0,
            cache_read: prices.cache_read.map(|price| price.0),
            cache_write_5m: prices.cache_write_5m.map(|price| price.0),
            cache_write_1h: prices.cache_write_1h.map(|price| price.0),
        })
    });
    ModelOverride { window: facts.window, max_output: facts.max_output, prices }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
