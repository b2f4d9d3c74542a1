//! What the environment says about reaching a model. Auth groups of the lowest rank.

use std::ffi::OsString;

use serde_json::{Map, Value};

use crate::base::Secret;
use crate::config::key_path::KeyPath;
use crate::config::layer::Origin;
use crate::config::problem::{Place, Problem, Trouble};
use crate::config::validate;

/// A provider whose variables are looked at.
struct Known {
    group: &'static str,
    provider: &'static str,
    key: &'static str,
    url: &'static str,
}

const KNOWN: [Known; 2] = [
    Known { group: "env-anthropic", provider: "anthropic", key: "ANTHROPIC_API_KEY", url: "ANTHROPIC_BASE_URL" },
    Known { group: "env-openai", provider: "openai", key: "OPENAI_API_KEY", url: "OPENAI_BASE_URL" },
];

/// Tells whether the auth group `name` is one that the environment forms.
pub fn is_implicit(name: &str) -> bool {
    KNOWN.iter().any(|known| known.group == name)
}

/// The variables that matter here, as they were when it was made.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    found: Vec<(&'static str, Secret)>,
}

/// An auth group that the environment forms.
pub(super) struct ImplicitGroup {
    pub(super) name: &'static str,
    pub(super) entry: Value,
    pub(super) origin: Origin,
}

impl Environment {
    /// Returns what `lookup` knows. An empty or unreadable value counts as unset; spaces around it do not count.
    pub fn new(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let names = KNOWN.iter().flat_map(|known| [known.key, known.url]);
        let value = |name| lookup(name).and_then(|value| value.into_string().ok());
        let found = names.filter_map(|name| Some((name, Secret::new(value(name)?.trim()))));
        Self { found: found.filter(|(_, value)| !value.is_empty()).collect() }
    }

    /// Returns what this process was started with.
    pub fn from_env() -> Self {
        Self::new(|name| std::env::var_os(name))
    }

    fn get(&self, name: &str) -> Option<&Secret> {
        self.found.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Returns the groups that the variables form, the preferred one first, and what is wrong with the others.
    pub(super) fn groups(&self) -> (Vec<ImplicitGroup>, Vec<Problem>) {
        let mut groups = Vec::new();
        let mut problems = Vec::new();
        for known in &KNOWN {
            let mut entry = Map::from_iter([("provider".to_owned(), Value::from(known.provider))]);
            let mut names = Vec::new();
            let mut readable = true;
            for (field, variable) in [("apiKey", known.key), ("baseUrl", known.url)] {
                let Some(value) = self.get(variable) else { continue };
                let value = Value::from(value.expose());
                match validate::refusal(&KeyPath::top("authGroups").child(known.group).child(field), &value) {
                    None => {
                        entry.insert(field.to_owned(), value);
                        names.push(variable);
                    }
                    Some(expected) => {
                        readable = false;
                        let place = Place { file: format!("the variable {variable}"), at: None };
                        problems.push(Problem { place, trouble: Trouble::Variable { group: known.group, expected } });
                    }
                }
            }
            // A key must not go to the public address because the address meant for it could not be read.
            if !names.is_empty() && readable {
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
