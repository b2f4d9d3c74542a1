//! Maps tool names and ids to names that an API accepts, and back.
//!
//! The mapping depends on the name alone, so that an old message is encoded the same whatever tools are offered later.
//! The way back needs the tools of the request: see [`ToolNames`].

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::tool::ToolSpec;

/// Length of the hash that keeps mapped names distinct.
const HASH_LEN: usize = 10;

/// Returns `name` if it has only letters, digits, `_` and `-`, and at most `limit` of them. Otherwise returns a similar
/// valid name with a hash of the original.
pub fn wire_name(name: &str, limit: usize) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= limit && name.chars().all(allowed) {
        return Cow::Borrowed(name);
    }
    let mut mapped: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    mapped.truncate(limit.saturating_sub(HASH_LEN + 1));
    mapped.push('_');
    mapped.push_str(&blake3::hash(name.as_bytes()).to_hex()[..HASH_LEN]);
    Cow::Owned(mapped)
}

/// Maps the wire names of a request's tools back to the original names.
#[derive(Clone, Debug, Default)]
pub struct ToolNames {
    original: HashMap<String, String>,
}

impl ToolNames {
    pub fn new(tools: &[ToolSpec], limit: usize) -> Self {
        let mapped = tools.iter().filter_map(|tool| match wire_name(&tool.name, limit) {
            Cow::Borrowed(_) => None,
            Cow::Owned(wire) => Some((wire, tool.name.clone())),
        });
        Self { original: mapped.collect() }
    }

    /// Returns the original name of a tool. An unknown name is returned unchanged.
    pub fn original<'a>(&'a self, wire: &'a str) -> &'a str {
        self.original.get(wire).map_or(wire, String::as_str)
    }
}
