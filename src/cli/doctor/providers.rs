//! Checks of the providers: whether each is reachable, accepts its key, and knows the configured model.

use std::sync::Arc;
use std::time::Duration;

use super::{Finding, Level, Remedy};
use crate::base::{Fault, SystemClock};
use crate::cli::locate::shell_word;
use crate::config::environment::is_implicit;
use crate::config::settings::{AuthGroup, Provider};
use crate::config::{KeyPath, Settings};
use crate::engine::models::{CommandLineChoice, ListingError, ModelRequest, Models};
use crate::provider::catalogue::{UnknownModelInfo, set_window};
use crate::provider::http::Timeouts;
use crate::provider::{ApiError, ErrorClass, ListedModel};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for listing the models of a provider.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn check_all(settings: &Settings, offline: bool) -> Vec<Finding> {
    let timeouts =
        Timeouts { connect: CONNECT_TIMEOUT, first_byte: LIST_TIMEOUT, idle: LIST_TIMEOUT, ..Timeouts::default() };
    let models =
        Models::new(settings.clone(), CommandLineChoice::default(), Arc::new(SystemClock)).with_timeouts(timeouts);
    let default = ModelRequest::default();
    let wanted: Vec<_> = [true, false].map(|is_root| models.resolve(is_root, &default)).into_iter().collect();
    let mut findings = Vec::new();
    if let Some(Err(fault)) = wanted.first() {
        findings.push(setup_finding(fault));
    }
    for (name, group) in &settings.auth_groups {
        let mut used: Vec<&str> =
            wanted.iter().flatten().filter(|(group, _, _)| group == name).map(|(_, _, model)| *model).collect();
        used.dedup();
        if offline {
            findings.push(Finding::ok("provider", format!("{name}: {}, not checked", address(group))));
            continue;
        }
        let answer = models.list(name).await;
        let reached = judge(name, group, &answer, !used.is_empty());
        let checks_models = reached.level == Level::Ok && group.provider != Provider::Scripted;
        findings.push(reached);
        if let Ok(listed) = answer.as_ref().map(Vec::as_slice)
            && checks_models
        {
            findings.extend(used.iter().map(|model| judge_model(&models, name, model, listed)));
        }
    }
    findings
}

/// Returns the finding for settings without a usable provider.
fn setup_finding(fault: &Fault) -> Finding {
    let finding = Finding::from_fault("provider", fault);
    let is_variable = |remedy: &Remedy| matches!(remedy, Remedy::Do(what) if what.contains("ANTHROPIC_API_KEY"));
    let remedies = finding.remedies.into_iter().map(|remedy| {
        if is_variable(&remedy) { Remedy::Run("export ANTHROPIC_API_KEY=KEY".to_owned()) } else { remedy }
    });
    Finding { remedies: remedies.collect(), ..finding }
}

fn address(group: &AuthGroup) -> String {
    match (&group.base_url, group.provider) {
        (Some(url), _) => url.to_string(),
        (None, Provider::Anthropic) => "Anthropic".to_owned(),
        (None, Provider::Openai) => "OpenAI".to_owned(),
        (None, Provider::Scripted) => "scripted".to_owned(),
    }
}

/// Judges an auth group by the provider's answer. Problems of an unused group are only warnings.
fn judge(name: &str, group: &AuthGroup, answer: &Result<Vec<ListedModel>, ListingError>, is_used: bool) -> Finding {
    let place = address(group);
    let finding = match answer {
        Ok(_) if group.provider == Provider::Scripted => return Finding::ok("provider", format!("{name}: {place}")),
        Ok(listed) => {
            return Finding::ok("provider", format!("{name}: {place} is reachable, {} models", listed.len()));
        }
        Err(ListingError::Setup(fault)) => Finding::from_fault("provider", fault),
        Err(ListingError::Api(error)) => api_error_finding(name, group, &place, error),
    };
    let level = if is_used { finding.level } else { finding.level.min(Level::Warning) };
    Finding { level, ..finding }
}

fn api_error_finding(name: &str, group: &AuthGroup, place: &str, error: &ApiError) -> Finding {
    let text = format!("{name}: {place}: {}", error.message);
    match error.class {
        ErrorClass::Auth => {
            let finding = Finding::error("provider", format!("{name}: {place} rejected the key: {}", error.message));
            set_key(finding, name, group)
        }
        ErrorClass::Network | ErrorClass::Timeout | ErrorClass::Truncated => {
            let finding = Finding::error("provider", format!("{name}: cannot reach {place}: {}", error.message));
            let finding = if is_implicit(name) || group.base_url.is_none() {
                finding
            } else {
                let key = KeyPath::top("authGroups").child(name).child("baseUrl").to_string();
                finding.run(format!("mxd config set --global {} ADDRESS", shell_word(&key)))
            };
            finding.advise("check the network, the proxy variables, and that the server is running")
        }
        ErrorClass::Credit => Finding::error("provider", text).advise(error.class.sentence()),
        ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::Server
        | ErrorClass::Refused
        | ErrorClass::Runaway => Finding::warning("provider", text).advise(error.class.sentence()),
        // The server is reachable, and a model can be used without being listed.
        ErrorClass::InvalidRequest | ErrorClass::UnknownModel | ErrorClass::ContextOverflow => Finding::warning(
            "provider",
            format!("{name}: {place} is reachable, but lists no models: {}", error.message),
        )
        .advise("if requests fail too, check its address"),
        ErrorClass::Cancelled => Finding::warning("provider", text),
    }
}

fn set_key(finding: Finding, name: &str, group: &AuthGroup) -> Finding {
    match (is_implicit(name), group.provider) {
        (true, Provider::Openai) => finding.run("export OPENAI_API_KEY=KEY"),
        (true, Provider::Anthropic | Provider::Scripted) => finding.run("export ANTHROPIC_API_KEY=KEY"),
        (false, _) => {
            let key = KeyPath::top("authGroups").child(name).child("apiKey").to_string();
            finding.run(format!("mxd config set --global {} KEY", shell_word(&key)))
        }
    }
}

fn judge_model(models: &Models, group: &str, model: &str, listed: &[ListedModel]) -> Finding {
    let is_listed = listed.iter().any(|one| one.id == model);
    match models.facts(model, listed.to_vec()) {
        Err(UnknownModelInfo::Window { similar, .. }) => {
            let finding =
                Finding::error("model", format!("{model} at {group}: unknown context window")).run(set_window(model));
            match similar {
                Some(similar) => finding.run(format!("mxd config set model {}", shell_word(&similar))),
                None => finding,
            }
        }
        Ok(facts) => {
            let prices = if facts.prices.is_some() { "" } else { ", prices unknown: its cost is not counted" };
            let text = format!("{model} at {group}: context window of {} tokens{prices}", facts.window);
            if is_listed || listed.is_empty() {
                return Finding::ok("model", text);
            }
            // Providers list dated versions and omit aliases that work.
            let edition = listed.iter().find(|one| one.id.starts_with(model));
            match (edition, listed.first()) {
                (Some(_), _) | (None, None) => Finding::ok("model", text),
                (None, Some(other)) => Finding::warning("model", format!("{group} does not list the model {model}"))
                    .run(format!("mxd config set model {}", shell_word(&other.id))),
            }
        }
    }
}

#[cfg(test)]
#[path = "providers_tests.rs"]
mod tests;
