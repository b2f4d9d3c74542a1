//! What an endpoint's model list tells, in whichever of the many spellings.

use serde_json::Value;

use crate::provider::catalogue::Prices;
use crate::provider::decode::json::{list, number, text};

/// Where lists keep the window, the most telling first.
const WINDOW: [&str; 6] =
    ["max_input_tokens", "context_length", "context_window", "max_context_length", "max_model_len", "n_ctx"];
const MAX_OUTPUT: [&str; 4] = ["max_output_tokens", "max_output", "max_completion_tokens", "max_tokens"];

/// A model that an endpoint offers, with what it tells about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub name: Option<String>,
    pub window: Option<u64>,
    pub max_output: Option<u64>,
    pub prices: Option<Prices>,
}

/// Returns the models that the answer of a model list names. Entries without an id are passed over.
pub fn read_list(answer: &Value) -> Vec<Listed> {
    let lists = [list(answer, "data"), list(answer, "models"), answer.as_array().map_or(&[][..], Vec::as_slice)];
    lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default().iter().filter_map(read).collect()
}

fn read(entry: &Value) -> Option<Listed> {
    let id = ["id", "slug", "name"].iter().find_map(|key| text(entry, key)).or_else(|| entry.as_str())?;
    // Some put limits one level down.
    let places: Vec<&Value> = [Some(entry), entry.get("top_provider"), entry.get("meta"), entry.get("limits")]
        .into_iter()
        .flatten()
        .collect();
    let find = |keys: &[&str]| {
        keys.iter().find_map(|key| places.iter().find_map(|place| number(place, key))).filter(|found| *found > 0)
    };
    Some(Listed {
        id: id.to_owned(),
        name: text(entry, "display_name").map(str::to_owned),
        window: find(&WINDOW),
        max_output: find(&MAX_OUTPUT),
        prices: entry.get("pricing").and_then(prices),
    })
}

/// Reads prices written in dollars per token, as text.
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
    // Micro-dollars, for a million: twelve digits up. Negative prices mean "it depends".
    crate::provider::decode::json::whole((dollars * 1e12).round())
}
