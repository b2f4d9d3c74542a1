//! Context windows, output limits and prices of models.
//!
//! Each value is looked up separately, because lists are incomplete: first in the user's settings, then in the
//! endpoint's own list, then in the built-in table. A missing window is an error that names the fix. A missing price
//! means unknown, not free.

mod listing;
mod prices;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::config::KeyPath;
pub use listing::{ListedModel, read_list};
pub use prices::{Prices, cost};

const TABLE: &str = include_str!("../../assets/models.json");
/// The supported version of the table's format.
pub const TABLE_VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
struct Table {
    version: u32,
    models: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    window: u64,
    max_output: u64,
    #[serde(default)]
    prices: Option<Prices>,
}

static SHIPPED: LazyLock<Vec<Entry>> = LazyLock::new(|| match serde_json::from_str::<Table>(TABLE) {
    Ok(table) if table.version == TABLE_VERSION => table.models,
    // A test checks that the built-in table is valid.
    Ok(_) | Err(_) => Vec::new(),
});

/// The user's settings for a model, under `models.<id>`. They override all other sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelOverride {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// The limits and prices of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// Maximum number of tokens of one request, input and output together.
    pub window: u64,
    pub max_output: u64,
    pub prices: Option<Prices>,
}

/// A model that cannot be used because a required value is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownModelInfo {
    #[error(
        "unknown model \"{model}\": neither the endpoint nor the built-in table has it.{} If it exists, set its context \
         window with `{}`", suggestion(.similar.as_deref()), set_window(.model)
    )]
    Window { model: String, similar: Option<String> },
}

/// Returns the command that sets the window of a model.
pub fn set_window(model: &str) -> String {
    let key = key_argument(&KeyPath::top("models").child(model).child("window"));
    format!("mxd config set --global {key} TOKENS")
}

/// Returns a key quoted as one shell word.
pub(super) fn key_argument(key: &KeyPath) -> String {
    let key = key.to_string();
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | ':' | '@'));
    if plain { key } else { format!("'{}'", key.replace('\'', "'\\''")) }
}

fn suggestion(similar: Option<&str>) -> String {
    similar.map(|id| format!(" Did you mean \"{id}\"?")).unwrap_or_default()
}

/// Looks up models.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    overrides: BTreeMap<String, ModelOverride>,
    listed: Vec<ListedModel>,
}

impl Catalogue {
    pub fn new(overrides: BTreeMap<String, ModelOverride>) -> Self {
        Self { overrides, listed: Vec::new() }
    }

    /// Returns the ids of the built-in table.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|entry| entry.id.as_str())
    }

    /// Sets the endpoint's own list.
    pub fn with_listed(mut self, listed: Vec<ListedModel>) -> Self {
        self.listed = listed;
        self
    }

    /// Returns the limits and prices of `model`. Fails if its window is unknown.
    pub fn facts(&self, model: &str) -> Result<ModelInfo, UnknownModelInfo> {
        let set = self.overrides.get(model).copied().unwrap_or_default();
        let listed = self.listed.iter().find(|listed| listed.id == model);
        let entry = entry(model);
        let window = set
            .window
            .or_else(|| listed.and_then(|listed| listed.window))
            .or_else(|| entry.map(|entry| entry.window))
            .filter(|window| *window > 0);
        let Some(window) = window else {
            return Err(UnknownModelInfo::Window { model: model.to_owned(), similar: self.similar(model) });
        };
        let max_output = set
            .max_output
            .or_else(|| listed.and_then(|listed| listed.max_output))
            .or_else(|| entry.map(|entry| entry.max_output))
            .filter(|max_output| *max_output > 0)
            .unwrap_or_else(|| default_output(window));
        let prices =
            set.prices.or_else(|| listed.and_then(|listed| listed.prices)).or_else(|| entry.and_then(|e| e.prices));
        Ok(ModelInfo { window, max_output: max_output.min(window), prices })
    }

    /// Returns up to `count` models, the most similar names first: of the endpoint's own list, or without one those of
    /// the built-in table that resemble `model`. Others of the table may belong to another provider.
    pub fn most_similar(&self, model: &str, count: usize) -> Vec<String> {
        const RESEMBLES: f64 = 0.7;
        let listed: Vec<&str> = self.listed.iter().map(|listed| listed.id.as_str()).collect();
        let mut known = if listed.is_empty() {
            Self::shipped().filter(|id| strsim::jaro_winkler(model, id) >= RESEMBLES).collect()
        } else {
            listed
        };
        known.retain(|id| *id != model);
        known.sort_by(|a, b| strsim::jaro_winkler(model, b).total_cmp(&strsim::jaro_winkler(model, a)));
        known.into_iter().take(count).map(str::to_owned).collect()
    }

    fn similar(&self, model: &str) -> Option<String> {
        let known = self.listed.iter().map(|listed| listed.id.as_str()).chain(SHIPPED.iter().map(|e| e.id.as_str()));
        let scored =
            known.map(|id| (strsim::jaro_winkler(model, id), id)).filter(|(score, id)| *score > 0.9 && *id != model);
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id.to_owned())
    }
}

/// Returns the output limit of a model without a known one: a quarter of its window, within what servers commonly
/// allow.
fn default_output(window: u64) -> u64 {
    (window / 4).clamp(1, 16_384)
}

/// Returns the built-in entry with exactly this name, or else with the longest name of which it is a dated edition.
fn entry(model: &str) -> Option<&'static Entry> {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let names = |entry: &'static Entry| std::iter::once(&entry.id).chain(&entry.aliases).map(move |name| (name, entry));
    let exact = |wanted: &str| SHIPPED.iter().flat_map(names).find(|(name, _)| *name == wanted);
    let dated = || {
        let editions = SHIPPED.iter().flat_map(names).filter(|(name, _)| is_edition(bare, name));
        editions.max_by_key(|(name, _)| name.len())
    };
    exact(model).or_else(|| exact(bare)).or_else(dated).map(|(_, entry)| entry)
}

/// Returns true if `model` is `name` plus a date, `latest` or a local server's tag. Any other suffix names another
/// model: `gpt-4o-mini` is no edition of `gpt-4o`.
fn is_edition(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let Some(ending) = rest.strip_prefix(['-', '@', ':']) else { return false };
    let digits = ending.bytes().filter(u8::is_ascii_digit).count();
    let is_date = ending.bytes().all(|b| b.is_ascii_digit() || b == b'-') && matches!(digits, 4 | 6 | 8);
    is_date || ending == "latest" || rest.starts_with(':')
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
