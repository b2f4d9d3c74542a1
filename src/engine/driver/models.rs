//! Which model an agent gets and how it is reached, from the settings. Endpoints are shared by all runs of a project,
//! and so are the gates in front of them.

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
use crate::provider::catalogue::{Override, UnknownFacts};
use crate::provider::http::{HttpProvider, Timeouts};
use crate::provider::scripted::ScriptedProvider;
use crate::provider::{ApiError, Catalogue, Credential, Facts, Gate, Gates, Listed, Prices, Provider};

/// The models that are taken where the person has not chosen one.
const DEFAULT_ANTHROPIC: &str = "claude-sonnet-4-6";
const DEFAULT_OPENAI: &str = "gpt-5.2";
const SCRIPTED: &str = "scripted";
/// What is assumed of a scripted model: nothing about it costs anything.
const SCRIPTED_FACTS: Facts = Facts { window: 200_000, max_output: 32_000, prices: None };

/// What the person said on the command line, for this time only.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub auth: Option<String>,
    pub model: Option<String>,
}

/// What a profile asks for, with the places where it does.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    pub auth: Option<(String, String)>,
    pub model: Option<(String, String)>,
}

impl Wish {
    pub fn of(profile: &Profile) -> Self {
        let with_place = |value: &Option<String>, field| value.clone().map(|value| (value, profile.place(field)));
        Self { auth: with_place(&profile.auth, "auth"), model: with_place(&profile.model, "model") }
    }
}

/// The short names that agent files use for models, and what they mean.
const SHORT_NAMES: [(&str, &str); 3] =
    [("opus", "claude-opus-4-7"), ("sonnet", "claude-sonnet-4-6"), ("haiku", "claude-haiku-4-5")];

/// A model and the way to it.
pub struct Chosen {
    pub provider: Arc<dyn Provider>,
    pub gate: Arc<Gate>,
    pub wire: Wire,
    pub model: String,
    /// The group whose credential is used. `None` for a demo's script.
    pub auth_group: Option<String>,
    pub facts: Facts,
    pub catalogue: Catalogue,
    /// The catalogue with the endpoint's own list, if that has not come yet.
    pub late_catalogue: Option<LateCatalogue>,
}

/// Why an auth group did not say which models it has.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// It is not set up so that it could be asked.
    #[error("{0}")]
    Setup(#[from] Fault),
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// How long an endpoint may take to list its models before a launch goes on without.
const LISTING_LIMIT: Duration = Duration::from_secs(10);
/// How long a launch waits for the list where enough is known without it. What comes later is taken up by the run.
const LISTING_PATIENCE: Duration = Duration::from_millis(300);
/// How long one that did not is not asked again: those who waited for the same answer need not wait for the next.
const FAILURE_STANDS: Duration = Duration::from_secs(5);
/// The same where enough is known without it. Many endpoints have no list at all.
const NEEDLESS_FAILURE_STANDS: Duration = Duration::from_secs(15 * 60);

/// What an endpoint says of its models, once it does. `None` if it does not.
pub type LateCatalogue = BoxFuture<'static, Option<Catalogue>>;

/// What an auth group said of its models.
#[derive(Default)]
enum Listing {
    #[default]
    Unasked,
    Known(Vec<Listed>),
    Failed(Instant),
}

/// Every way to reach a model.
pub struct Models {
    settings: Settings,
    choice: Choice,
    clock: Arc<dyn Clock>,
    timeouts: Timeouts,
    gates: Gates,
    /// A provider that stands for all of them: the demo's.
    only: Option<Arc<dyn Provider>>,
    providers: Mutex<BTreeMap<String, Arc<dyn Provider>>>,
    /// What each auth group said of its models. Whoever asks one group does not wait for another.
    listed: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Listing>>>>,
}

impl Models {
    pub fn new(settings: Settings, choice: Choice, clock: Arc<dyn Clock>) -> Self {
        Self {
            settings,
            choice,
            clock,
            timeouts: Timeouts::default(),
            gates: Gates::default(),
            only: None,
            providers: Mutex::default(),
            listed: Mutex::default(),
        }
    }

    /// Uses one scripted provider for everything.
    pub fn scripted(mut self, provider: Arc<dyn Provider>) -> Self {
        self.only = Some(provider);
        self
    }

    /// Waits so long for endpoints, instead of as long as an agent does.
    pub fn patience(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Asks the auth group `name` for its models: the cheapest way to learn that it is there and accepts its key.
    pub async fn ask(&self, name: &str) -> Result<Vec<Listed>, Unanswered> {
        let (name, group) = self.settings.auth(name).map_err(Fault::from)?;
        let provider = self.provider(name, group)?;
        Ok(provider.models(CancellationToken::new()).await?)
    }

    /// Returns what is known about a model, with what its endpoint said about it.
    pub fn facts(&self, model: &str, listed: Vec<Listed>) -> Result<Facts, UnknownFacts> {
        Catalogue::new(self.overrides()).with_listed(listed).facts(model)
    }

    /// Returns the model of the root, or of any other task, as its profile wishes.
    pub async fn choose(&self, is_root: bool, wish: &Wish) -> Result<Chosen, Fault> {
        if let Some(provider) = &self.only {
            return Ok(self.of_script(Arc::clone(provider), SCRIPTED, None));
        }
        let (name, group, model) = self.wanted(is_root, wish)?;
        let provider = self.provider(name, group)?;
        let wire = wire_of(group);
        if wire == Wire::Scripted {
            return Ok(self.of_script(provider, model, Some(name)));
        }
        let (catalogue, late_catalogue) = self.catalogue(name, model, &provider).await;
        let facts = catalogue.facts(model).map_err(|error| Fault::config(error.to_string()))?;
        Ok(Chosen {
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

    /// Returns the name of the root's model, if one is set up. Nobody is asked.
    pub fn of_root(&self) -> Option<String> {
        if self.only.is_some() {
            return Some(SCRIPTED.to_owned());
        }
        self.wanted(true, &Wish::default()).ok().map(|(_, _, model)| model.to_owned())
    }

    /// Returns which auth group and which model are asked for: by the command line, else by the profile, else by the
    /// settings.
    pub fn wanted<'a>(&'a self, is_root: bool, wish: &'a Wish) -> Result<(&'a str, &'a AuthGroup, &'a str), Fault> {
        let usual = if is_root { self.settings.root_auth() } else { self.settings.child_auth() };
        let (name, group) = match (&self.choice.auth, &wish.auth) {
            (Some(name), _) => self.settings.auth(name)?,
            (None, Some((name, place))) => self.settings.auth(name).map_err(|error| {
                let fault = Fault::from(error);
                Fault { message: format!("{place}: {}", fault.message), ..fault }
            })?,
            (None, None) => usual.clone()?,
        };
        // The usual model is one of the usual group: another one need not have it.
        let is_usual = usual.is_ok_and(|(usual, _)| usual == name) || wish.auth.is_none();
        let configured = if is_root { self.settings.model.as_deref() } else { self.settings.child_model() };
        let configured = configured.filter(|_| is_usual);
        let wished = match (&self.choice.model, &wish.model) {
            (Some(model), _) => Some(model.as_str()),
            (None, Some((model, place))) => Some(known_as(model, place, name, group)?),
            (None, None) => configured,
        };
        let model = match (wished, wire_of(group)) {
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

    fn of_script(&self, provider: Arc<dyn Provider>, model: &str, group: Option<&str>) -> Chosen {
        let catalogue = Catalogue::new(self.overrides());
        let facts = catalogue.facts(model).unwrap_or(SCRIPTED_FACTS);
        let gate = self.gates.of(SCRIPTED);
        let auth_group = group.map(str::to_owned);
        Chosen {
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
                    Fault::config(format!("the auth group \"{name}\" is scripted and names no script"))
                        .hint(format!("name one: `mxd config set authGroups.{name}.script PATH`"))
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

    /// Returns what is known of models. The endpoint's own list is asked for once. It is waited for only where nothing
    /// else knows the model; else it comes later, as the second part.
    async fn catalogue(
        &self,
        group: &str,
        model: &str,
        provider: &Arc<dyn Provider>,
    ) -> (Catalogue, Option<LateCatalogue>) {
        let own = Catalogue::new(self.overrides());
        let is_known = own.facts(model).is_ok();
        let (patience, failure_stands) =
            if is_known { (LISTING_PATIENCE, NEEDLESS_FAILURE_STANDS) } else { (Duration::MAX, FAILURE_STANDS) };
        let listing = {
            let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(listed.entry(group.to_owned()).or_default())
        };
        // On a task of its own: what it learns is for later launches too.
        let asked = tokio::spawn(list(listing, Arc::clone(provider), failure_stands));
        let with_own = own.clone();
        let mut late =
            asked.map(move |models| models.ok().flatten().map(|models| with_own.with_listed(models))).boxed();
        match tokio::time::timeout(patience, &mut late).await {
            Ok(catalogue) => (catalogue.unwrap_or(own), None),
            Err(_) => (own, Some(late)),
        }
    }

    fn overrides(&self) -> BTreeMap<String, Override> {
        self.settings.models.iter().map(|(model, facts)| (model.clone(), override_of(facts))).collect()
    }
}

/// Returns the models that an endpoint lists, asking it if it has not said so yet. `None` if it does not say, or did not
/// a moment ago.
async fn list(
    listing: Arc<tokio::sync::Mutex<Listing>>,
    provider: Arc<dyn Provider>,
    failure_stands: Duration,
) -> Option<Vec<Listed>> {
    let mut listing = listing.lock().await;
    match &*listing {
        Listing::Known(models) => return Some(models.clone()),
        Listing::Failed(when) if when.elapsed() < failure_stands => return None,
        Listing::Unasked | Listing::Failed(_) => {}
    }
    let asked = tokio::time::timeout(LISTING_LIMIT, provider.models(CancellationToken::new())).await;
    match asked {
        Ok(Ok(models)) => {
            *listing = Listing::Known(models.clone());
            Some(models)
        }
        // It is asked again for a later run; what is missing is said by whoever needs it.
        Ok(Err(_)) | Err(_) => {
            *listing = Listing::Failed(Instant::now());
            None
        }
    }
}

/// Returns the name that the group knows a profile's model by. A short name is one of a vendor: elsewhere it means
/// nothing, and nothing else is taken for it.
fn known_as<'a>(model: &'a str, place: &str, name: &str, group: &AuthGroup) -> Result<&'a str, Fault> {
    let Some((short, full)) = SHORT_NAMES.iter().find(|(short, _)| short.eq_ignore_ascii_case(model)) else {
        return Ok(model);
    };
    match wire_of(group) {
        Wire::Anthropic => Ok(full),
        Wire::Scripted => Ok(model),
        Wire::OpenaiChat | Wire::OpenaiResponses => Err(Fault::config(format!(
            "{place}: the profile wants the model \"{short}\", and the auth group \"{name}\" does not reach it"
        ))
        .hint("write the name of a model that the group has, or `model: inherit`")
        .hint("or let your own profile choose another group: auth: NAME")),
    }
}

fn wire_of(group: &AuthGroup) -> Wire {
    match (group.provider, group.api) {
        (Vendor::Anthropic, _) => Wire::Anthropic,
        (Vendor::Scripted, _) => Wire::Scripted,
        (Vendor::Openai, Some(OpenAiApi::Responses)) => Wire::OpenaiResponses,
        (Vendor::Openai, Some(OpenAiApi::Chat)) => Wire::OpenaiChat,
        // Servers that are merely compatible speak the older interface.
        (Vendor::Openai, None) if group.base_url.is_some() => Wire::OpenaiChat,
        (Vendor::Openai, None) => Wire::OpenaiResponses,
    }
}

fn override_of(facts: &ModelFacts) -> Override {
    let prices = facts.prices.and_then(|prices| {
        Some(Prices {
            input: prices.input?.0,
            output: prices.output?.0,
            cache_read: prices.cache_read.map(|price| price.0),
            cache_write_5m: prices.cache_write_5m.map(|price| price.0),
            cache_write_1h: prices.cache_write_1h.map(|price| price.0),
        })
    });
    Override { window: facts.window, max_output: facts.max_output, prices }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
