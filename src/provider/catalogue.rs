//! What is known about models: how much they read, how much they write, what they cost.
//!
//! Every fact is looked for in the person's settings, then in the endpoint's own list, then in the table that ships
//! with the program; each fact by itself, because lists tell some and not others. A missing window is an error with a
//! way out. A missing price is unknown, which is not the same as free.

mod listing;
mod prices;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::config::KeyPath;
pub use listing::{Listed, read_list};
pub use prices::{Prices, cost};

const TABLE: &str = include_str!("../../assets/models.json");
/// The version of the table's format that this program reads.
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
    // A test keeps the shipped table readable; without one, models must be described in the config.
    Ok(_) | Err(_) => Vec::new(),
});

/// What the person's config says about a model, under `models.<id>`. Every key is optional and wins over all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Override {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// What is known about one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// How many tokens the model reads and writes in one request at most.
    pub window: u64,
    pub max_output: u64,
    pub prices: Option<Prices>,
}

/// A model of which not enough is known to use it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownFacts {
    #[error(
        "the context window of model \"{model}\" is not known: neither the endpoint nor the built-in table tells. \
         Say it with `{}`{}", set_window(.model), suggestion(.similar.as_deref())
    )]
    Window { model: String, similar: Option<String> },
}

/// Returns the command that makes the window of a model known.
pub fn set_window(model: &str) -> String {
    let key = key_argument(&KeyPath::top("models").child(model).child("window"));
    format!("mxd config set --global {key} TOKENS")
}

/// Returns a key as a shell takes it for one word.
pub(super) fn key_argument(key: &KeyPath) -> String {
    let key = key.to_string();
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | ':' | '@'));
    if plain { key } else { format!("'{}'", key.replace('\'', "'\\''")) }
}

fn suggestion(similar: Option<&str>) -> String {
    similar.map(|id| format!(", or use \"{id}\" if that was meant")).unwrap_or_default()
}

/// Looks up facts.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    overrides: BTreeMap<String, Override>,
    listed: Vec<Listed>,
}

impl Catalogue {
    pub fn new(overrides: BTreeMap<String, Override>) -> Self {
        Self { overrides, listed: Vec::new() }
    }

    /// Returns the models of the built-in table.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|entry| entry.id.as_str())
    }

    /// Takes over what an endpoint tells about its models.
    pub fn with_listed(mut self, listed: Vec<Listed>) -> Self {
        self.listed = listed;
        self
    }

    /// Returns what is known about `model`, or how to make it known.
    pub fn facts(&self, model: &str) -> Result<Facts, UnknownFacts> {
        let set = self.overrides.get(model).copied().unwrap_or_default();
        let listed = self.listed.iter().find(|listed| listed.id == model);
        let entry = entry(model);
        let window = set
            .window
            .or_else(|| listed.and_then(|listed| listed.window))
            .or_else(|| entry.map(|entry| entry.window))
            .filter(|window| *window > 0);
        let Some(window) = window else {
            return Err(UnknownFacts::Window { model: model.to_owned(), similar: self.similar(model) });
        };
        let max_output = set
            .max_output
            .or_else(|| listed.and_then(|listed| listed.max_output))
            .or_else(|| entry.map(|entry| entry.max_output))
            .filter(|max_output| *max_output > 0)
            .unwrap_or_else(|| default_output(window));
        let prices =
            set.prices.or_else(|| listed.and_then(|listed| listed.prices)).or_else(|| entry.and_then(|e| e.prices));
        Ok(Facts { window, max_output: max_output.min(window), prices })
    }

    fn similar(&self, model: &str) -> Option<String> {
        let known = self.listed.iter().map(|listed| listed.id.as_str()).chain(SHIPPED.iter().map(|e| e.id.as_str()));
        let scored =
            known.map(|id| (strsim::jaro_winkler(model, id), id)).filter(|(score, id)| *score > 0.9 && *id != model);
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id.to_owned())
    }
}

/// What a model may write if nobody says: a quarter of its window, and not more than servers commonly allow.
fn default_output(window: u64) -> u64 {
    (window / 4).clamp(1, 16_384)
}

/// Returns the table's entry: for this very name, else for the longest name of which it is a dated edition.
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

/// Tells whether `model` is `name` with a date, `latest`, or a local server's tag behind it. Any other ending is
/// another model: `gpt-4o-mini` is no edition of `gpt-4o`.
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
