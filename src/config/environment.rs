//! Auth groups from environment variables. They have the lowest precedence.

use std::ffi::OsString;

use serde_json::{Map, Value};

use crate::base::Secret;
use crate::config::key_path::KeyPath;
use crate::config::layer::Origin;
use crate::config::problem::{FileLocation, Problem, ProblemKind};
use crate::config::validate;

/// The variables of a provider.
struct ProviderVariables {
    group: &'static str,
    provider: &'static str,
    key: &'static str,
    url: &'static str,
}

const PROVIDERS: [ProviderVariables; 2] = [
    ProviderVariables {
        group: "env-anthropic",
        provider: "anthropic",
        key: "ANTHROPIC_API_KEY",
        url: "ANTHROPIC_BASE_URL",
    },
    ProviderVariables { group: "env-openai", provider: "openai", key: "OPENAI_API_KEY", url: "OPENAI_BASE_URL" },
];

/// Returns true if the auth group `name` comes from the environment.
pub fn is_implicit(name: &str) -> bool {
    PROVIDERS.iter().any(|known| known.group == name)
}

/// A snapshot of the relevant variables.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    found: Vec<(&'static str, Secret)>,
}

/// An auth group from the environment.
pub(super) struct ImplicitGroup {
    pub(super) name: &'static str,
    pub(super) entry: Value,
    pub(super) origin: Origin,
}

impl Environment {
    /// Reads the variables with `lookup`. Values are trimmed; empty and non-UTF-8 values count as unset.
    pub fn new(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = PROVIDERS.iter().flat_map(|known| [known.key, known.url]);
        let value = |name| lookup(name).and_then(|value| value.into_string().ok());
        let found = names.filter_map(|name| Some((name, Secret::new(value(name)?.trim()))));
        Self { found: found.filter(|(_, value)| !value.is_empty()).collect() }
    }

    /// Reads the environment of this process.
    pub fn from_env() -> Self {
        Self::new(|name| std::env::var_os(name))
    }

    fn get(&self, name: &str) -> Option<&Secret> {
        self.found.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Returns the auth groups, the preferred one first, and the problems of invalid variables.
    pub(super) fn groups(&self) -> (Vec<ImplicitGroup>, Vec<Problem>) {
        let mut groups = Vec::new();
        let mut problems = Vec::new();
        for known in &PROVIDERS {
            let mut entry = Map::from_iter([("provider".to_owned(), Value::from(known.provider))]);
            let mut names = Vec::new();
            let mut is_valid = true;
            for (field, variable) in [("apiKey", known.key), ("baseUrl", known.url)] {
                let Some(value) = self.get(variable) else { continue };
                let value = Value::from(value.expose());
                match validate::refusal(&KeyPath::top("authGroups").child(known.group).child(field), &value) {
                    None => {
                        entry.insert(field.to_owned(), value);
                        names.push(variable);
                    }
                    Some(expected) => {
                        is_valid = false;
                        let place = FileLocation { file: format!("the variable {variable}"), at: None };
                        problems.push(Problem { place, kind: ProblemKind::Variable { group: known.group, expected } });
                    }
                }
            }
            // A key must not be sent to the public address because its own address is invalid.
            if !names.is_empty() && is_valid {
                let origin = Origin::Environment(names);
                groups.push(ImplicitGroup { name: known.group, entry: Value::Object(entry), origin });
            }
        }
        groups.sort_by_key(|group| group.entry.get("apiKey").is_none());
        (groups, problems)
    }
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
