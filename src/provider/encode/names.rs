//! Names that an API accepts, from names that it may not.
//!
//! The mapping looks at one name alone, so that an old speech is spelled the same whatever tools are offered later.
//! Going back needs the tools of the request: [`Names`] is that table.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::tool::ToolSpec;

/// How many characters of the hash keep two mapped names apart.
const HASH_LEN: usize = 10;

/// Returns `name` if it consists of letters, digits, `_` and `-` and has at most `limit` of them; else the nearest
/// such name, made unique by a hash of the original.
pub fn legal(name: &str, limit: usize) -> Cow<'_, str> {
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

/// The names of a request's tools, from the wire back to ours.
#[derive(Clone, Debug, Default)]
pub struct Names {
    ours: HashMap<String, String>,
}

impl Names {
    pub fn new(tools: &[ToolSpec], limit: usize) -> Self {
        let mapped = tools.iter().filter_map(|tool| match legal(&tool.name, limit) {
            Cow::Borrowed(_) => None,
            Cow::Owned(wire) => Some((wire, tool.name.clone())),
        });
        Self { ours: mapped.collect() }
    }

    /// Returns our name for what the model called. A name we never offered stays as the model wrote it.
    pub fn ours<'a>(&'a self, wire: &'a str) -> &'a str {
        self.ours.get(wire).map_or(wire, String::as_str)
    }
}
