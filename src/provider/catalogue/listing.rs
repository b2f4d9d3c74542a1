//! Parses the model lists of endpoints, which use many different field names.

use serde_json::Value;

use crate::provider::catalogue::Prices;
use crate::provider::decode::json::{list, number, text};

/// Field names of the context window, in order of preference.
const WINDOW: [&str; 6] =
    ["max_input_tokens", "context_length", "context_window", "max_context_length", "max_model_len", "n_ctx"];
const MAX_OUTPUT: [&str; 4] = ["max_output_tokens", "max_output", "max_completion_tokens", "max_tokens"];

/// A model in the list of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    pub name: Option<String>,
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub prices: Option<Prices>,
}

/// Parses the answer of a model list. Entries without an id are skipped.
pub fn read_list(answer: &Value) -> Vec<ListedModel> {
    let lists = [list(answer, "data"), list(answer, "models"), answer.as_array().map_or(&[][..], Vec::as_slice)];
    lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default().iter().filter_map(read).collect()
}

fn read(entry: &Value) -> Option<ListedModel> {
    let id = ["id", "slug", "name"].iter().find_map(|key| text(entry, key)).or_else(|| entry.as_str())?;
    // Some servers nest the limits one level down.
    let places: Vec<&Value> = [Some(entry), entry.get("top_provider"), entry.get("meta"), entry.get("limits")]
        .into_iter()
        .flatten()
        .collect();
    let find = |keys: &[&str]| {
        keys.iter().find_map(|key| places.iter().find_map(|place| number(place, key))).filter(|found| *found > 0)
    };
    Some(ListedModel {
        id: id.to_owned(),
        name: text(entry, "display_name").map(str::to_owned),
        window: find(&WINDOW),
        max_output: find(&MAX_OUTPUT),
        prices: entry.get("pricing").and_then(prices),
    })
}

/// Parses prices given as text, in dollars per token.
fn prices(pricing: &Value) -> Option<Prices> {
    let price = |key| text(pricing, key).and_then(per_million);
    Some(Prices {
        input: price("prompt")?,
        output: price("completion")?,
        cache_read: price("input_cache_read"),
        cache_write_5m: price("input_cache_write"),
        cache_write_1h: None,
    })
}

fn per_million(dollars_per_token: &str) -> Option<u64> {
    let dollars: f64 = dollars_per_token.parse().ok()?;
    // To micro-dollars per million tokens. Negative prices mean "it depends".
    crate::provider::decode::json::whole((dollars * 1e12).round())
}
