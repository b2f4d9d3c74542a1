//! From the layers to what is in force, with the origin of every value.
//!
//! Single values: the nearest layer wins, and `null` there means "as if nobody had set it"; of the limits that protect
//! the person, a repository may only make a stricter one. Maps are united, the
//! nearest layer wins per name, and `null` removes what a farther layer named. A server that a repository asks for
//! and nobody approved is as if it were not there: it does not even hide another of the same name.

use serde_json::{Map, Value};

use crate::base::Fault;
use crate::config::environment::Environment;
use crate::config::key_path::KeyPath;
use crate::config::layer::{Layer, Origin};
use crate::config::problem::{self, Place, Problem, Trouble};
use crate::config::read::LayerFile;
use crate::config::settings::{McpServer, Settings};
use crate::config::table::{self, KEYS, Key, Kind, Need};
use crate::config::trust::{Server, ServerState};

/// A value in force and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// A key, or an entry or field directly below one.
    pub path: KeyPath,
    /// As it was written. Not for showing: it may be a secret.
    pub(super) value: Value,
    pub origin: Origin,
}

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Merged {
    pub settings: Settings,
    /// Every tool server that any layer asks for, and whether it may start.
    pub servers: Vec<Server>,
    /// What is wrong with the layers, in their order.
    pub problems: Vec<Problem>,
    /// What is in force, in the order of the table.
    pub(super) effective: Vec<Effective>,
}

impl Merged {
    /// Returns the fault that all errors make together. Nothing: the settings are what their authors meant.
    pub fn fault(&self) -> Option<Fault> {
        problem::fault(&self.problems)
    }

    /// Returns where the value at `path` came from.
    pub fn origin(&self, path: &KeyPath) -> Option<&Origin> {
        self.effective.iter().find(|effective| effective.path.contains(path)).map(|effective| &effective.origin)
    }
}

/// Returns what is in force. Fails only if the table and [`Settings`] disagree, which is a defect.
pub fn merge(environment: &Environment, files: &[LayerFile]) -> Result<Merged, Fault> {
    let mut files: Vec<&LayerFile> = files.iter().collect();
    files.sort_by_key(|file| file.layer);
    let (groups, mut problems) = environment.groups();
    problems.extend(files.iter().flat_map(|file| file.problems().iter().cloned()));

    let mut effective = Vec::new();
    let mut servers = Vec::new();
    for key in KEYS {
        let path = KeyPath::top(key.name);
        match &key.kind {
            Kind::Map { of, .. } => {
                let mut entries = Vec::new();
                if key.name == "authGroups" {
                    entries.extend(groups.iter().map(|group| Effective {
                        path: path.child(group.name),
                        value: group.entry.clone(),
                        origin: group.origin.clone(),
                    }));
                }
                for file in &files {
                    for (name, value) in file.value(key.name).and_then(Value::as_object).into_iter().flatten() {
                        if key.name == "mcpServers" && file.layer == Layer::Repo {
                            if value.is_null() {
                                continue;
                            }
                            if let Some(state) = withheld(&files, file, name, value) {
                                let origin = file.origin(&path.child(name));
                                servers.push(server(name, state, origin, of, value)?);
                                continue;
                            }
                        }
                        put(&mut entries, path.child(name), value, file);
                    }
                }
                effective.extend(entries);
            }
            Kind::Object { fields, .. } => {
                for field in *fields {
                    let field_path = path.child(field.name);
                    effective.extend(nearest(&files, field, &field_path, |file| file.value(key.name)?.get(field.name)));
                }
            }
            _ => effective.extend(nearest(&files, key, &path, |file| file.value(key.name))),
        }
    }
    problems.extend(missing_groups(&effective));

    for entry in effective.iter().filter(|entry| entry.path.key() == "mcpServers") {
        let disabled = entry.value.get("disabled") == Some(&Value::Bool(true));
        let state = if disabled { ServerState::Disabled } else { ServerState::Active };
        if let Ok(resolved) = table::resolve(&entry.path) {
            servers.push(server(entry.path.last(), state, entry.origin.clone(), resolved.kind, &entry.value)?);
        }
    }
    servers.sort_by(|a, b| a.name.cmp(&b.name));
    let settings = typed(&effective, &servers)?;
    Ok(Merged { settings, servers, problems, effective })
}

/// Returns the state in which the repository's entry `name` is kept out of force, or nothing if it was approved.
fn withheld(files: &[&LayerFile], repo: &LayerFile, name: &str, value: &Value) -> Option<ServerState> {
    let hash = repo.server_hash(name).unwrap_or_default();
    let approvals = files.iter().filter(|file| file.layer == Layer::Local);
    let mut approvals = approvals.filter_map(|file| file.value("approvedMcpServers")?.as_array()).flatten();
    if approvals.any(|approved| approved.as_str() == Some(hash)) {
        None
    } else if value.get("disabled") == Some(&Value::Bool(true)) {
        Some(ServerState::Disabled)
    } else {
        Some(ServerState::NeedsApproval { hash: hash.to_owned() })
    }
}

/// Lets a nearer layer's entry replace or remove a farther one's.
fn put(entries: &mut Vec<Effective>, path: KeyPath, value: &Value, file: &LayerFile) {
    let origin = file.origin(&path);
    let known = entries.iter().position(|entry| entry.path == path);
    match (known, value.is_null()) {
        (Some(index), true) => {
            entries.remove(index);
        }
        (Some(index), false) => entries[index] = Effective { path, value: value.clone(), origin },
        (None, true) => {}
        (None, false) => entries.push(Effective { path, value: value.clone(), origin }),
    }
}

/// Returns what the nearest layer says, or the default.
fn nearest<'f>(
    files: &[&'f LayerFile],
    key: &Key,
    path: &KeyPath,
    value: impl Fn(&'f LayerFile) -> Option<&'f Value>,
) -> Option<Effective> {
    let stricter = stricter(key.name);
    let counts = |file: &&&LayerFile| stricter.is_none() || file.layer != Layer::Repo;
    let stated = files.iter().rev().filter(counts).find_map(|file| Some((*file, value(file)?)));
    let found = stated.filter(|(_, value)| !value.is_null());
    let own = match found {
        Some((file, value)) => Some((value.clone(), file.origin(path))),
        None => default(key).map(|value| (value, Origin::Default)),
    };
    let is_settled = stated.is_some_and(|(file, _)| file.layer == Layer::Local);
    let proposed = files.iter().filter(|file| file.layer == Layer::Repo && !is_settled);
    let proposed = proposed.filter_map(|file| Some((*file, value(file)?))).find(|(_, proposed)| {
        let own = own.as_ref().map(|(own, _)| own);
        stricter.is_some_and(|is_stricter| is_stricter(proposed, own))
    });
    let (value, origin) = proposed.map(|(file, value)| (value.clone(), file.origin(path))).or(own)?;
    Some(Effective { path: path.clone(), value, origin })
}

/// Tells whether what a repository proposes protects the person more than what they have themselves.
type IsStricter = fn(&Value, Option<&Value>) -> bool;

/// Returns how strictness is judged of a limit that a repository may not loosen. Nothing: it is no such limit.
fn stricter(key: &str) -> Option<IsStricter> {
    match key {
        // No limit at all is the loosest.
        "budgetUsd" | "maxRunning" | "maxDepth" | "maxTasks" | "maxTasksPerTurn" => {
            Some(|proposed, own| match (proposed.as_f64(), own.and_then(Value::as_f64)) {
                (Some(proposed), Some(own)) => proposed < own,
                (Some(_), None) => true,
                (None, _) => false,
            })
        }
        // A question that answers itself is out of the person's hands: never is the strictest, later is stricter.
        "clarifyTimeoutMs" => Some(|proposed, own| match (proposed.as_f64(), own.and_then(Value::as_f64)) {
            (Some(proposed), Some(own)) => proposed > own,
            (Some(_) | None, _) => false,
        }),
        _ => None,
    }
}

fn default(key: &Key) -> Option<Value> {
    match key.need {
        Need::Default(json) => serde_json::from_str(json).ok(),
        Need::Optional | Need::Required => None,
    }
}

/// Returns a complaint for each setting that names an auth group which is not there.
fn missing_groups(effective: &[Effective]) -> Vec<Problem> {
    let groups: Vec<String> = effective
        .iter()
        .filter(|entry| entry.path.key() == "authGroups")
        .map(|entry| entry.path.last().to_owned())
        .collect();
    let naming = effective.iter().filter(|entry| matches!(entry.path.key(), "defaultAuth" | "childAuth"));
    let missing = naming.filter_map(|entry| {
        let name = entry.value.as_str().filter(|name| !groups.iter().any(|group| group == name))?;
        let place = entry.origin.place().cloned().unwrap_or(Place { file: entry.origin.to_string(), at: None });
        let (key, name) = (entry.path.clone(), name.to_owned());
        Some(Problem { place, trouble: Trouble::NoSuchGroup { key, name, groups: groups.clone() } })
    });
    missing.collect()
}

fn server(name: &str, state: ServerState, origin: Origin, kind: &Kind, value: &Value) -> Result<Server, Fault> {
    let server: McpServer = serde_json::from_value(filled(kind, value)).map_err(|error| disagree(&error))?;
    Ok(Server { name: name.to_owned(), state, origin, server })
}

fn typed(effective: &[Effective], servers: &[Server]) -> Result<Settings, Fault> {
    let mut top = Map::new();
    for key in KEYS {
        if matches!(key.kind, Kind::Map { .. } | Kind::Object { .. }) {
            top.insert(key.name.to_owned(), Value::Object(Map::new()));
        }
    }
    let active = |name: &str| servers.iter().any(|server| server.name == name && server.state == ServerState::Active);
    for Effective { path, value, .. } in effective {
        let Ok(resolved) = table::resolve(path) else { continue };
        if path.key() == "mcpServers" && !active(path.last()) {
            continue;
        }
        let value = filled(resolved.kind, value);
        match (path.parts(), top.get_mut(path.key())) {
            ([_, name], Some(Value::Object(entries))) => entries.insert(name.clone(), value),
            _ => top.insert(path.key().to_owned(), value),
        };
    }
    serde_json::from_value(Value::Object(top)).map_err(|error| disagree(&error))
}

fn disagree(error: &serde_json::Error) -> Fault {
    Fault::internal(format!("a setting was accepted but cannot be used: {error}"))
}

/// Returns `value` with the defaults of absent fields filled in, and without its nulls.
fn filled(kind: &Kind, value: &Value) -> Value {
    match (kind, value) {
        (Kind::Object { fields, .. }, Value::Object(entries)) => {
            let complete = fields.iter().filter_map(|field| {
                let written = entries.get(field.name).filter(|value| !value.is_null());
                let value = written.map(|value| filled(&field.kind, value)).or_else(|| default(field))?;
                Some((field.name.to_owned(), value))
            });
            Value::Object(complete.collect())
        }
        (Kind::Map { of, .. }, Value::Object(entries)) => {
            let present = entries.iter().filter(|(_, value)| !value.is_null());
            Value::Object(present.map(|(name, value)| (name.clone(), filled(of, value))).collect())
        }
        (_, value) => value.clone(),
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
