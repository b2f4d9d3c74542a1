//! The ways to reach a model: whether each is there, accepts its key, and knows the model that is asked for.

use std::sync::Arc;
use std::time::Duration;

use super::{Finding, Level, Remedy};
use crate::base::{Fault, SystemClock};
use crate::cli::place::shell_word;
use crate::config::environment::is_implicit;
use crate::config::settings::{AuthGroup, Provider};
use crate::config::{KeyPath, Settings};
use crate::engine::models::{Choice, Models, Unanswered, Wish};
use crate::provider::catalogue::{UnknownFacts, set_window};
use crate::provider::http::Timeouts;
use crate::provider::{ApiError, ErrorClass, Listed};

/// How long an endpoint may take to connect and to list its models.
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(10);

pub(super) async fn all(settings: &Settings, offline: bool) -> Vec<Finding> {
    let timeouts = Timeouts { connect: CONNECT, first_byte: ANSWER, idle: ANSWER, ..Timeouts::default() };
    let models = Models::new(settings.clone(), Choice::default(), Arc::new(SystemClock)).patience(timeouts);
    let usual = Wish::default();
    let wanted: Vec<_> = [true, false].map(|is_root| models.wanted(is_root, &usual)).into_iter().collect();
    let mut findings = Vec::new();
    if let Some(Err(fault)) = wanted.first() {
        findings.push(of_setup(fault));
    }
    for (name, group) in &settings.auth_groups {
        let mut asked: Vec<&str> =
            wanted.iter().flatten().filter(|(used, _, _)| used == name).map(|(_, _, model)| *model).collect();
        asked.dedup();
        if offline {
            findings.push(Finding::ok("provider", format!("{name}: {}, not asked", address(group))));
            continue;
        }
        let answer = models.ask(name).await;
        let reached = judge(name, group, &answer, !asked.is_empty());
        let goes_on = reached.level == Level::Ok && group.provider != Provider::Scripted;
        findings.push(reached);
        if let Ok(listed) = answer.as_ref().map(Vec::as_slice)
            && goes_on
        {
            findings.extend(asked.iter().map(|model| judge_model(&models, name, model, listed)));
        }
    }
    findings
}

/// Returns the finding for settings that name no usable way at all.
fn of_setup(fault: &Fault) -> Finding {
    let finding = Finding::of_fault("provider", fault);
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

/// Returns what the answer of an auth group says about it. Trouble with one that nobody uses is no error.
fn judge(name: &str, group: &AuthGroup, answer: &Result<Vec<Listed>, Unanswered>, is_used: bool) -> Finding {
    let place = address(group);
    let finding = match answer {
        Ok(_) if group.provider == Provider::Scripted => return Finding::ok("provider", format!("{name}: {place}")),
        Ok(listed) => {
            return Finding::ok("provider", format!("{name}: {place} answers, with {} models", listed.len()));
        }
        Err(Unanswered::Setup(fault)) => Finding::of_fault("provider", fault),
        Err(Unanswered::Api(error)) => of_error(name, group, &place, error),
    };
    let level = if is_used { finding.level } else { finding.level.min(Level::Warning) };
    Finding { level, ..finding }
}

fn of_error(name: &str, group: &AuthGroup, place: &str, error: &ApiError) -> Finding {
    let text = format!("{name}: {place}: {}", error.message);
    match error.class {
        ErrorClass::Auth => {
            let finding =
                Finding::error("provider", format!("{name}: {place} does not accept the key: {}", error.message));
            set_key(finding, name, group)
        }
        ErrorClass::Network | ErrorClass::Timeout | ErrorClass::Truncated => {
            let finding = Finding::error("provider", format!("{name}: {place} cannot be reached: {}", error.message));
            let finding = if is_implicit(name) || group.base_url.is_none() {
                finding
            } else {
                let key = KeyPath::top("authGroups").child(name).child("baseUrl").to_string();
                finding.run(format!("mxd config set --global {} ADDRESS", shell_word(&key)))
            };
            finding.advise("check the network, the proxy variables, and whether the server runs")
        }
        ErrorClass::Credit => Finding::error("provider", text).advise(error.class.sentence()),
        ErrorClass::RateLimit
        | ErrorClass::Overloaded
        | ErrorClass::Server
        | ErrorClass::Refused
        | ErrorClass::Runaway => Finding::warning("provider", text).advise(error.class.sentence()),
        // It is there; that it lists no models stops nobody who names one.
        ErrorClass::InvalidRequest | ErrorClass::UnknownModel | ErrorClass::ContextOverflow => {
            Finding::warning("provider", format!("{name}: {place} answers, but lists no models: {}", error.message))
                .advise("if requests fail too, check its address")
        }
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

fn judge_model(models: &Models, group: &str, model: &str, listed: &[Listed]) -> Finding {
    let is_listed = listed.iter().any(|one| one.id == model);
    match models.facts(model, listed.to_vec()) {
        Err(UnknownFacts::Window { similar, .. }) => {
            let finding = Finding::error("model", format!("{model} at {group}: its context window is not known"))
                .run(set_window(model));
            match similar {
                Some(similar) => finding.run(format!("mxd config set model {}", shell_word(&similar))),
                None => finding,
            }
        }
        Ok(facts) => {
            let prices = if facts.prices.is_some() { "" } else { ", prices not known: its cost is not counted" };
            let text = format!("{model} at {group}: a window of {} tokens{prices}", facts.window);
            if is_listed || listed.is_empty() {
                return Finding::ok("model", text);
            }
            // Lists name dated editions and leave out short names that work.
            let edition = listed.iter().find(|one| one.id.starts_with(model));
            match (edition, listed.first()) {
                (Some(_), _) | (None, None) => Finding::ok("model", text),
                (None, Some(other)) => {
                    Finding::warning("model", format!("{model} is not among the models that {group} lists"))
                        .run(format!("mxd config set model {}", shell_word(&other.id)))
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "providers_tests.rs"]
mod tests;
