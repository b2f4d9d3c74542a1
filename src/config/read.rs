//! Reads one settings file into valid values and problems.
//!
//! A key that the layer may not set is dropped here, before merging, so that no later step has to check it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::base::Fault;
use crate::config::document::{self, Document, shape};
use crate::config::key_path::KeyPath;
use crate::config::layer::{Layer, Origin};
use crate::config::problem::{self, FileLocation, Position, Problem, ProblemKind};
use crate::config::table::{self, Allowed, KEYS, Key};
use crate::config::trust;
use crate::config::validate::{Expected, Validator, is};
use crate::model::hook::HookEvent;
use crate::permit::List;

/// The file format of this version.
const FORMAT: u64 = 1;

/// The values and problems of one file.
#[derive(Clone, Debug)]
pub struct LayerFile {
    pub layer: Layer,
    file: String,
    values: Map<String, Value>,
    positions: BTreeMap<KeyPath, Position>,
    /// The hash of each server entry.
    server_hashes: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

impl LayerFile {
    /// Reads `bytes`, the content of `file`. Never fails: problems are part of the result.
    pub fn read(layer: Layer, file: &Path, bytes: &[u8]) -> Self {
        let file = file.display().to_string();
        match document::decode(bytes) {
            Ok(decoded) => {
                let mut read = Self::read_document(layer, &file, &decoded.document(file.as_str()));
                if decoded.had_mark {
                    let place = FileLocation { file, at: None };
                    read.problems.insert(0, Problem { place, kind: ProblemKind::ByteOrderMark });
                }
                read
            }
            Err(trouble) => {
                let problem = Problem { place: FileLocation { file: file.clone(), at: None }, kind: trouble };
                Self { problems: vec![problem], ..Self::empty(layer, file) }
            }
        }
    }

    /// Returns a file without values, with the reason why it was not read.
    pub fn unreadable(layer: Layer, file: &Path, why: String) -> Self {
        let file = file.display().to_string();
        let problem =
            Problem { place: FileLocation { file: file.clone(), at: None }, kind: ProblemKind::Unreadable(why) };
        Self { problems: vec![problem], ..Self::empty(layer, file) }
    }

    fn empty(layer: Layer, file: String) -> Self {
        let (values, positions, server_hashes) = (Map::new(), BTreeMap::new(), BTreeMap::new());
        Self { layer, file, values, positions, server_hashes, problems: Vec::new() }
    }

    fn read_document(layer: Layer, file: &str, document: &Document<'_>) -> Self {
        let mut validator = Validator::new(document);
        let mut read = Self::empty(layer, file.to_owned());
        match document.root() {
            Ok(None) => {}
            Ok(Some(root)) if is(root, b'{') => read.read_keys(&mut validator, root),
            Ok(Some(root)) => validator.report(root.get(), ProblemKind::NotAnObject(shape(root))),
            Err(failure) => validator.reject(failure),
        }
        read.positions = validator.positions;
        read.problems = validator.problems;
        read.problems.sort_by_key(|problem| problem.place.at);
        read
    }

    fn read_keys<'a>(&mut self, validator: &mut Validator<'a, '_>, root: &'a RawValue) {
        let members = validator.members(root, None).unwrap_or_default();
        self.read_members(validator, members);
    }

    fn read_members<'a>(&mut self, validator: &mut Validator<'a, '_>, members: Vec<(KeyPath, &'a RawValue)>) {
        for (path, raw) in members {
            let Some(key) = table::find(path.key()) else {
                let nearest = table::nearest(path.key(), KEYS, None);
                validator.report(raw.get(), ProblemKind::Unknown { key: path, nearest });
                continue;
            };
            if let Some(trouble) = wrong_layer(key, &path, self.layer) {
                validator.report(raw.get(), trouble);
                continue;
            }
            let resettable = !matches!(key.kind, table::Kind::Map { .. } | table::Kind::Object { .. });
            let value = if resettable && is(raw, b'n') {
                Some(Value::Null)
            } else {
                validator.value(Expected { kind: &key.kind, key }, raw, &path)
            };
            let Some(value) = value else { continue };
            match key.name {
                "version" => {
                    if let Some(newer) = value.as_u64().filter(|format| *format > FORMAT) {
                        validator.report(raw.get(), ProblemKind::Newer(newer));
                    }
                }
                "$schema" => {}
                "hooks" => {
                    Self::report_unknown_events(validator, &path, raw);
                    self.values.insert(key.name.to_owned(), value);
                }
                "mcpServers" => {
                    self.server_hashes = trust::hashes(raw);
                    self.values.insert(key.name.to_owned(), value);
                }
                _ => {
                    self.values.insert(key.name.to_owned(), value);
                }
            }
        }
    }

    /// Reads only the hooks of a file that may contain settings of another program.
    pub fn read_hooks(layer: Layer, file: &Path, bytes: &[u8]) -> Self {
        let name = file.display().to_string();
        let decoded = match document::decode(bytes) {
            Ok(decoded) => decoded,
            Err(kind) => {
                let problem = Problem { place: FileLocation { file: name.clone(), at: None }, kind };
                return Self { problems: vec![problem], ..Self::empty(layer, name) };
            }
        };
        let document = decoded.document(name.as_str());
        let mut validator = Validator::new(&document);
        let mut read = Self::empty(layer, name.clone());
        match document.root() {
            Ok(Some(root)) if is(root, b'{') => {
                let members = validator.members(root, None).unwrap_or_default();
                let hooks = members.into_iter().filter(|(path, _)| path.key() == "hooks").collect();
                read.read_members(&mut validator, hooks);
            }
            Ok(_) => {}
            Err(failure) => validator.reject(failure),
        }
        read.positions = validator.positions;
        read.problems = validator.problems;
        read
    }

    /// Reports the names under `hooks` that are no event.
    fn report_unknown_events<'a>(validator: &mut Validator<'a, '_>, path: &KeyPath, raw: &'a RawValue) {
        let events: Map<String, Value> = serde_json::from_str(raw.get()).unwrap_or_default();
        for event in events.keys().filter(|name| name.parse::<HookEvent>().is_err()) {
            let nearest = HookEvent::nearest(event).map(|event| event.name().to_owned());
            let kind = ProblemKind::UnknownHookEvent { key: path.child(event), event: event.clone(), nearest };
            validator.report(raw.get(), kind);
        }
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the errors of this file as one fault, or `None` if there are none.
    pub fn fault(&self) -> Option<Fault> {
        problem::fault(&self.problems)
    }

    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// Returns the texts of the file's permission rules.
    pub fn rule_texts(&self, list: List) -> impl Iterator<Item = &str> {
        let items = self.value("permissions").and_then(|value| value.get(list.word())?.as_array());
        items.into_iter().flatten().filter_map(Value::as_str)
    }

    pub(super) fn server_hash(&self, name: &str) -> Option<&str> {
        self.server_hashes.get(name).map(String::as_str)
    }

    /// Returns the location of a key in this file.
    pub fn place(&self, path: &KeyPath) -> FileLocation {
        FileLocation { file: self.file.clone(), at: self.positions.get(path).copied() }
    }

    pub(super) fn origin(&self, path: &KeyPath) -> Origin {
        Origin::File { layer: self.layer, place: self.place(path) }
    }
}

/// Returns the problem if `layer` may not set `key`, or `None` if it may.
pub(super) fn wrong_layer(key: &Key, path: &KeyPath, layer: Layer) -> Option<ProblemKind> {
    let why = key.allowed.refusal(layer)?;
    let instead = match key.allowed {
        Allowed::Everywhere | Allowed::User(_) => {
            format!("set it in your own settings with `mxd config set --global {path} …` or --local")
        }
        Allowed::Project(_) => format!("set it with `mxd config set --local {path} …`"),
    };
    Some(ProblemKind::WrongLayer { key: path.clone(), layer, why, instead })
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
