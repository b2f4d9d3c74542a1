//! Approval of MCP servers. A repository's server does not start until the user approves exactly that entry: an
//! approval is a hash of the entry's content, so a changed entry needs a new one.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::config::layer::Origin;
use crate::config::settings::{McpServer, Transport};

/// Whether a server may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    Active,
    /// From a repository. An approval stores this hash in the local settings.
    NeedsApproval {
        hash: String,
    },
    Disabled,
}

/// An MCP server, and whether it may start.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    pub name: String,
    pub state: ServerState,
    pub origin: Origin,
    pub server: McpServer,
}

impl Server {
    /// Returns everything that an approval would allow. Unmasked, because a mask could hide something; the entry is the
    /// repository's, so it holds no secrets of the user. Quoted, so that no character is misleading.
    pub fn in_full(&self) -> Vec<String> {
        let quoted = |label: &str, value: &str| format!("{label}: {value:?}");
        match &self.server.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let mut lines = vec![quoted("program", command)];
                lines.extend(args.expose().iter().map(|arg| quoted("argument", arg)));
                lines.extend(env.iter().map(|(name, value)| quoted(&format!("variable {name}"), value.expose())));
                lines.extend(cwd.iter().map(|cwd| quoted("folder", &cwd.to_string_lossy())));
                lines
            }
            Transport::Http { url, headers } => {
                let mut lines = vec![quoted("address", url.expose())];
                lines.extend(headers.iter().map(|(name, value)| quoted(&format!("header {name}"), value.expose())));
                lines
            }
        }
    }
}

/// Returns the hash of each entry of the object `servers`. An entry that is nested too deep to be parsed is hashed as
/// text.
pub(super) fn hashes(servers: &RawValue) -> BTreeMap<String, String> {
    let entries: BTreeMap<String, &RawValue> = serde_json::from_str(servers.get()).unwrap_or_default();
    let hashed = entries.into_iter().map(|(name, raw)| {
        let parsed = serde_json::from_str(raw.get()).map(|entry: Value| hash(&entry));
        (name, parsed.unwrap_or_else(|_| blake3::hash(raw.get().as_bytes()).to_hex().to_string()))
    });
    hashed.collect()
}

/// Returns the BLAKE3 hash, in hex, of an entry's canonical form: compact, with sorted names. It includes fields that
/// this version ignores, because a later version may use them.
pub fn hash(entry: &Value) -> String {
    blake3::hash(canonical(entry).to_string().as_bytes()).to_hex().to_string()
}

fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<&String, Value> =
                object.iter().map(|(name, value)| (name, canonical(value))).collect();
            Value::Object(sorted.into_iter().map(|(name, value)| (name.clone(), value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
