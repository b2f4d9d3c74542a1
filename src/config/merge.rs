//! Merges the layers into the effective settings, with the origin of every value.
//!
//! Single values: the nearest layer wins, and `null` means the default. A repository can only tighten limits that
//! protect the user. Maps are merged by name: the nearest layer wins, and `null` removes an entry. A repository's
//! server that is not approved counts as absent: it does not hide another server of the same name.

use serde_json::{Map, Value};

use crate::base::Fault;
use crate::config::environment::Environment;
use crate::config::hooks::without_nulls;
use crate::config::key_path::KeyPath;
use crate::config::layer::{Layer, Origin};
use crate::config::problem::{self, FileLocation, Problem, ProblemKind};
use crate::config::read::LayerFile;
use crate::config::settings::{McpServer, Settings};
use crate::config::table::{self, KEYS, Key, Kind, Need};
use crate::config::trust::{Server, ServerState};
use crate::permit::{List, Mode, Rule, Rules, Source};

/// An effective value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// A key, or an entry or field directly below one.
    pub path: KeyPath,
    /// As written. May be a secret, so it must not be printed.
    pub(super) value: Value,
    pub origin: Origin,
}

/// The effective settings.
#[derive(Clone, Debug)]
pub struct Merged {
    pub settings: Settings,
    /// Every MCP server of any layer, and whether it may start.
    pub servers: Vec<Server>,
    /// The problems of all layers, in layer order.
    pub problems: Vec<Problem>,
    /// The permission rules that apply.
    pub rules: Rules,
    /// The repository's allow rules that the user has not added to their own settings. They do nothing.
    pub proposed_rules: Vec<Rule>,
    /// The effective values, in table order.
    pub(super) effective: Vec<Effective>,
}

impl Merged {
    /// Returns all errors as one fault, or `None` if there are none.
    pub fn fault(&self) -> Option<Fault> {
        problem::fault(&self.problems)
    }

    /// Returns the origin of the value at `path`.
    pub fn origin(&self, path: &KeyPath) -> Option<&Origin> {
        self.effective.iter().find(|effective| effective.path.contains(path)).map(|effective| &effective.origin)
    }
}

/// Merges the layers. Fails only if the table and [`Settings`] disagree, which is a bug.
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
            Kind::Map { .. } if key.name == "hooks" => effective.extend(own_hooks(&files, &path)),
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
                            if let Some(state) = inactive_state(&files, file, name, value) {
                                let origin = file.origin(&path.child(name));
                                servers.push(server(name, state, origin, of, value)?);
                                continue;
                            }
                        }
                        apply_entry(&mut entries, path.child(name), value, file);
                    }
                }
                effective.extend(entries);
            }
            Kind::Object { fields, .. } => {
                for field in *fields {
                    let field_path = path.child(field.name);
                    if let Kind::List(Kind::PermissionRule(list)) = field.kind {
                        effective.push(permission_list(&files, *list, field_path));
                        continue;
                    }
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
    let (rules, proposed_rules) = permission_rules(&files);
    Ok(Merged { settings, servers, problems, rules, proposed_rules, effective })
}

/// Returns the state of the repository's server `name` if it is not active, or `None` if it is approved.
fn inactive_state(files: &[&LayerFile], repo: &LayerFile, name: &str, value: &Value) -> Option<ServerState> {
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

/// Replaces or removes an entry of a farther layer.
fn apply_entry(entries: &mut Vec<Effective>, path: KeyPath, value: &Value, file: &LayerFile) {
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

/// Returns the value of the nearest layer, or the default.
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

/// Returns true if the rules of a layer apply. A repository cannot allow anything.
fn is_trusted(layer: Layer, list: List) -> bool {
    layer != Layer::Repo || list != List::Allow
}

/// Returns the rules of all layers as one list.
fn permission_list(files: &[&LayerFile], list: List, path: KeyPath) -> Effective {
    let mut texts: Vec<&str> = Vec::new();
    let mut origin = Origin::Default;
    for file in files.iter().filter(|file| is_trusted(file.layer, list)) {
        let mut stated = file.rule_texts(list).peekable();
        if stated.peek().is_some() {
            origin = if origin == Origin::Default { file.origin(&path) } else { Origin::Several };
        }
        texts.extend(stated);
    }
    Effective { path, value: texts.into(), origin }
}

/// Returns the user's own hooks by event. Those of the global and of the local file add up.
fn own_hooks(files: &[&LayerFile], path: &KeyPath) -> Vec<Effective> {
    let mut found: Vec<Effective> = Vec::new();
    for file in files.iter().filter(|file| file.layer != Layer::Repo) {
        for (event, groups) in file.value("hooks").and_then(Value::as_object).into_iter().flatten() {
            let (path, Some(groups)) = (path.child(event), groups.as_array()) else { continue };
            match found.iter_mut().find(|known| known.path == path) {
                Some(known) => {
                    if let Value::Array(all) = &mut known.value {
                        all.extend(groups.iter().map(without_nulls));
                    }
                    known.origin = Origin::Several;
                }
                None => {
                    let value = groups.iter().map(without_nulls).collect();
                    found.push(Effective { origin: file.origin(&path), path, value });
                }
            }
        }
    }
    found
}

/// Returns the rules that apply, and the repository's proposals.
fn permission_rules(files: &[&LayerFile]) -> (Rules, Vec<Rule>) {
    let (mut rules, mut proposed) = (Vec::new(), Vec::new());
    for file in files {
        let source = match file.layer {
            Layer::Global => Source::Global,
            Layer::Repo => Source::Repo,
            Layer::Local => Source::Local,
        };
        for list in List::ALL {
            // Invalid rules were reported when the file was read.
            let parsed = file.rule_texts(list).filter_map(|text| Rule::parse(text, list, source).ok());
            if is_trusted(file.layer, list) { rules.extend(parsed) } else { proposed.extend(parsed) }
        }
    }
    proposed.retain(|proposal| !rules.iter().any(|rule| rule.list == proposal.list && rule.text == proposal.text));
    (Rules(rules), proposed)
}

/// Returns true if a repository's value protects the user more than their own value.
type IsStricter = fn(&Value, Option<&Value>) -> bool;

/// Returns the comparison for a limit that a repository may only tighten, or `None` for other keys.
fn stricter(key: &str) -> Option<IsStricter> {
    match key {
        // A missing limit is the loosest.
        "budgetUsd" | "maxRunning" | "maxDepth" | "maxTasks" | "maxTasksPerTurn" => {
            Some(|proposed, own| match (proposed.as_f64(), own.and_then(Value::as_f64)) {
                (Some(proposed), Some(own)) => proposed < own,
                (Some(_), None) => true,
                (None, _) => false,
            })
        }
        // After the timeout the default answer is used without the user: later is stricter, never is strictest.
        "clarifyTimeoutMs" => Some(|proposed, own| match (proposed.as_f64(), own.and_then(Value::as_f64)) {
            (Some(proposed), Some(own)) => proposed > own,
            (Some(_) | None, _) => false,
        }),
        "mode" => Some(|proposed, own| {
            let mode = |value: &Value| value.as_str()?.parse::<Mode>().ok();
            let own = own.and_then(mode).unwrap_or(Mode::Open);
            mode(proposed).is_some_and(|proposed| own.is_looser_than(proposed))
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

/// Returns a problem for each setting that names an auth group that does not exist.
fn missing_groups(effective: &[Effective]) -> Vec<Problem> {
    let groups: Vec<String> = effective
        .iter()
        .filter(|entry| entry.path.key() == "authGroups")
        .map(|entry| entry.path.last().to_owned())
        .collect();
    let naming = effective.iter().filter(|entry| matches!(entry.path.key(), "defaultAuth" | "childAuth"));
    let missing = naming.filter_map(|entry| {
        let name = entry.value.as_str().filter(|name| !groups.iter().any(|group| group == name))?;
        let place = entry.origin.place().cloned().unwrap_or(FileLocation { file: entry.origin.to_string(), at: None });
        let (key, name) = (entry.path.clone(), name.to_owned());
        Some(Problem { place, kind: ProblemKind::NoSuchGroup { key, name, groups: groups.clone() } })
    });
    missing.collect()
}

fn server(name: &str, state: ServerState, origin: Origin, kind: &Kind, value: &Value) -> Result<Server, Fault> {
    let server: McpServer = serde_json::from_value(with_defaults(kind, value)).map_err(|error| mismatch(&error))?;
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
        let value = with_defaults(resolved.kind, value);
        match (path.parts(), top.get_mut(path.key())) {
            ([_, name], Some(Value::Object(entries))) => entries.insert(name.clone(), value),
            _ => top.insert(path.key().to_owned(), value),
        };
    }
    serde_json::from_value(Value::Object(top)).map_err(|error| mismatch(&error))
}

fn mismatch(error: &serde_json::Error) -> Fault {
    Fault::internal(format!("a setting was accepted but cannot be used: {error}"))
}

/// Returns `value` with the defaults of absent fields, and without its nulls.
fn with_defaults(kind: &Kind, value: &Value) -> Value {
    match (kind, value) {
        (Kind::Object { fields, .. }, Value::Object(entries)) => {
            let complete = fields.iter().filter_map(|field| {
                let written = entries.get(field.name).filter(|value| !value.is_null());
                let value = written.map(|value| with_defaults(&field.kind, value)).or_else(|| default(field))?;
                Some((field.name.to_owned(), value))
            });
            Value::Object(complete.collect())
        }
        (Kind::Map { of, .. }, Value::Object(entries)) => {
            let present = entries.iter().filter(|(_, value)| !value.is_null());
            Value::Object(present.map(|(name, value)| (name.clone(), with_defaults(of, value))).collect())
        }
        (_, value) => value.clone(),
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
