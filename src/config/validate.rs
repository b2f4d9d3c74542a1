//! Validates values by their kind: returns the valid ones and reports the others.
//!
//! An entry with an invalid field is dropped as a whole, because half an auth group or server is not usable. Other
//! entries stay.

use std::collections::{BTreeMap, HashSet};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::base::{MicroUsd, text};
use crate::config::document::{Document, ParseFailure, shape};
use crate::config::hooks::Matcher;
use crate::config::key_path::KeyPath;
use crate::config::mask;
use crate::config::problem::{Position, Problem, ProblemKind};
use crate::config::table::{self, Key, Kind, Names, Need};
use crate::permit::{Rule, Source};

/// Maximum length of an invalid value in a message.
const SHOWN_CHARS: usize = 40;
/// The start of a masked secret. Such a value was copied from output.
const MASK: &str = "****";

/// Validates one document.
pub(super) struct Validator<'a, 'd> {
    pub(super) document: &'d Document<'a>,
    pub(super) problems: Vec<Problem>,
    /// The position of each accepted key.
    pub(super) positions: BTreeMap<KeyPath, Position>,
}

/// The expected kind, and the declared key for its example.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) kind: &'static Kind,
    pub(super) key: &'static Key,
}

impl<'a, 'd> Validator<'a, 'd> {
    pub(super) fn new(document: &'d Document<'a>) -> Self {
        Self { document, problems: Vec::new(), positions: BTreeMap::new() }
    }

    pub(super) fn report(&mut self, part: &str, trouble: ProblemKind) {
        self.problems.push(Problem { place: self.document.location(self.document.position_of(part)), kind: trouble });
    }

    pub(super) fn reject(&mut self, ParseFailure { message, at }: ParseFailure) {
        self.problems.push(Problem { place: self.document.location(at), kind: ProblemKind::Syntax(message) });
    }

    /// Returns the last member of each name, in text order. Reports duplicates.
    pub(super) fn members(
        &mut self,
        raw: &'a RawValue,
        path: Option<&KeyPath>,
    ) -> Option<Vec<(KeyPath, &'a RawValue)>> {
        let members = self.document.members(raw).map_err(|failure| self.reject(failure)).ok()?;
        let mut seen = HashSet::new();
        let mut unique = Vec::with_capacity(members.len());
        for member in members.into_iter().rev() {
            let path = path.map_or_else(|| KeyPath::top(&member.name), |above| above.child(&member.name));
            if seen.insert(member.name) {
                if let Some(position) = self.document.position_of(member.key) {
                    self.positions.insert(path.clone(), position);
                }
                unique.push((path, member.value));
            } else {
                self.report(member.key, ProblemKind::Duplicate { key: path });
            }
        }
        unique.reverse();
        Some(unique)
    }

    /// Returns `raw` as a value of the expected kind, or `None` after reporting the problem.
    pub(super) fn value(&mut self, expected: Expected, raw: &'a RawValue, path: &KeyPath) -> Option<Value> {
        match expected.kind {
            Kind::Map { names, of, .. } => self.map(expected, *names, of, raw, path),
            Kind::Object { fields, rule } => self.object(expected, fields, *rule, raw, path),
            Kind::List(of) => self.list(expected, of, raw, path),
            Kind::OneOrMany if is(raw, b'[') => self.list(expected, &Kind::Text, raw, path),
            Kind::OneOrMany => self.scalar(expected, &Kind::Text, raw, path),
            scalar => self.scalar(expected, scalar, raw, path),
        }
    }

    fn wrong(&mut self, expected: Expected, raw: &RawValue, path: &KeyPath) {
        let trouble = ProblemKind::Wrong {
            key: path.clone(),
            expected: expected.kind.describe(),
            found: found(expected.kind, raw),
            example: expected.key.sample(),
        };
        self.report(raw.get(), trouble);
    }

    fn scalar(&mut self, expected: Expected, kind: &Kind, raw: &'a RawValue, path: &KeyPath) -> Option<Value> {
        let value = if is(raw, b'{') || is(raw, b'[') { None } else { serde_json::from_str(raw.get()).ok() };
        let value = value.filter(|value| fits(kind, value));
        if value.is_none() {
            self.wrong(expected, raw, path);
        }
        value
    }

    fn list(&mut self, expected: Expected, of: &'static Kind, raw: &'a RawValue, path: &KeyPath) -> Option<Value> {
        if !is(raw, b'[') {
            self.wrong(expected, raw, path);
            return None;
        }
        let items = self.document.items(raw).map_err(|failure| self.reject(failure)).ok()?;
        let checked: Vec<Option<Value>> = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| self.value(Expected { kind: of, ..expected }, item, &path.child(index.to_string())))
            .collect();
        checked.into_iter().collect::<Option<Vec<_>>>().map(Value::Array)
    }

    fn map(
        &mut self,
        expected: Expected,
        names: Names,
        of: &'static Kind,
        raw: &'a RawValue,
        path: &KeyPath,
    ) -> Option<Value> {
        if !is(raw, b'{') {
            self.wrong(expected, raw, path);
            return None;
        }
        let mut map = Map::new();
        for (entry, value) in self.members(raw, Some(path))? {
            if !names.accepts(entry.last()) {
                let trouble = ProblemKind::Clash { key: entry, why: names.complaint(), example: expected.key.sample() };
                self.report(value.get(), trouble);
            } else if is(value, b'n') {
                map.insert(entry.last().to_owned(), Value::Null);
            } else if let Some(value) = self.value(Expected { kind: of, ..expected }, value, &entry) {
                map.insert(entry.last().to_owned(), value);
            }
        }
        Some(Value::Object(map))
    }

    fn object(
        &mut self,
        expected: Expected,
        fields: &'static [Key],
        rule: table::Rule,
        raw: &'a RawValue,
        path: &KeyPath,
    ) -> Option<Value> {
        if !is(raw, b'{') {
            self.wrong(expected, raw, path);
            return None;
        }
        let mut object = Map::new();
        let mut is_valid = true;
        for (entry, value) in self.members(raw, Some(path))? {
            let Some(key) = table::field(fields, entry.last()) else {
                let nearest = table::nearest(entry.last(), fields, Some(path));
                self.report(value.get(), ProblemKind::Unknown { key: entry, nearest });
                continue;
            };
            if is(value, b'n') {
                object.insert(key.name.to_owned(), Value::Null);
                continue;
            }
            match self.value(Expected { kind: &key.kind, key }, value, &entry) {
                Some(value) => {
                    object.insert(key.name.to_owned(), value);
                }
                None => is_valid = false,
            }
        }
        if !is_valid {
            return None;
        }
        self.is_complete(expected, fields, rule, &object, raw, path).then_some(Value::Object(object))
    }

    /// Returns true if all required fields are present and the rule holds. Reports the problem otherwise.
    fn is_complete(
        &mut self,
        expected: Expected,
        fields: &'static [Key],
        rule: table::Rule,
        object: &Map<String, Value>,
        raw: &RawValue,
        path: &KeyPath,
    ) -> bool {
        let has = |name: &str| object.get(name).is_some_and(|value| !value.is_null());
        let missing = fields.iter().find(|key| key.need == Need::Required && !has(key.name));
        let trouble = if let Some(key) = missing {
            Some(ProblemKind::Missing { key: path.clone(), field: key.name, example: key.sample() })
        } else {
            let why = match rule {
                table::Rule::None => None,
                table::Rule::AuthGroup => auth_group_clash(object.get("provider").and_then(Value::as_str), has),
                table::Rule::McpServer => server_clash(has),
                table::Rule::HookHandler => hook_clash(object.get("type").and_then(Value::as_str), has),
            };
            why.map(|why| ProblemKind::Clash { key: path.clone(), why, example: expected.key.sample() })
        };
        let complete = trouble.is_none();
        if let Some(trouble) = trouble {
            self.report(raw.get(), trouble);
        }
        complete
    }
}

fn auth_group_clash(provider: Option<&str>, has: impl Fn(&str) -> bool) -> Option<&'static str> {
    if has("api") && provider != Some("openai") {
        return Some("has \"api\", which is only for the provider \"openai\"");
    }
    if has("script") && provider != Some("scripted") {
        return Some("has \"script\", which is only for the provider \"scripted\"");
    }
    None
}

fn server_clash(has: impl Fn(&str) -> bool) -> Option<&'static str> {
    match (has("command"), has("url")) {
        (false, false) => Some("needs \"command\" (a program to start) or \"url\" (a running server)"),
        (true, true) => Some("has both \"command\" and \"url\"; keep one"),
        (true, false) => has("headers").then_some("has \"headers\", which is only for a server with \"url\""),
        (false, true) => (has("args") || has("env") || has("cwd"))
            .then_some("has \"args\", \"env\" or \"cwd\", which are only for a server with \"command\""),
    }
}

fn hook_clash(kind: Option<&str>, has: impl Fn(&str) -> bool) -> Option<&'static str> {
    match kind {
        Some("command") if !has("command") => Some("needs \"command\", the command to run"),
        Some("http") if !has("url") => Some("needs \"url\", the address to call"),
        _ => None,
    }
}

pub(super) fn is(raw: &RawValue, first: u8) -> bool {
    raw.get().as_bytes().first() == Some(&first)
}

/// Returns true if `value` is of the scalar kind `kind`.
fn fits(kind: &Kind, value: &Value) -> bool {
    let text = value.as_str();
    let has = |check: &dyn Fn(&str) -> bool| text.is_some_and(check);
    match kind {
        Kind::Text | Kind::Path => has(&|text| !text.trim().is_empty() && !text.contains(char::is_control)),
        Kind::Free => has(&|text| !text.contains('\0')),
        Kind::Variable => has(&|text| !text.contains('\0') && !text.starts_with(MASK)),
        Kind::Header => has(&|text| !text.contains(char::is_control) && !text.starts_with(MASK)),
        Kind::Credential => {
            has(&|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.starts_with(MASK))
        }
        Kind::Hash => has(&|text| text.parse::<crate::model::BlobId>().is_ok()),
        Kind::Url => has(&is_http_address),
        Kind::Choice(words) => has(&|text| words.contains(&text)),
        Kind::PermissionRule(list) => {
            has(&|text| !text.contains(char::is_control) && Rule::parse(text, *list, Source::Local).is_ok())
        }
        Kind::Flag => value.is_boolean(),
        Kind::Whole { min, max } => value.as_u64().is_some_and(|number| (*min..=*max).contains(&number)),
        Kind::Dollars { min } => {
            value.as_f64().is_some_and(|dollars| dollars >= *min && MicroUsd::from_dollars(dollars).is_some())
        }
        Kind::Seconds => value.as_f64().is_some_and(|seconds| seconds > 0.0),
        Kind::Matcher => has(&|text| Matcher::parse(text).is_ok()),
        Kind::OneOrMany | Kind::List(_) | Kind::Map { .. } | Kind::Object { .. } => false,
    }
}

/// Returns a description of the expected kind if `value` is not valid at `path`.
pub(super) fn refusal(path: &KeyPath, value: &Value) -> Option<String> {
    let kind = table::resolve(path).ok()?.kind;
    (!fits(kind, value)).then(|| kind.describe())
}

fn is_http_address(text: &str) -> bool {
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    // A printed address has a mask instead of the password.
    let masked = text.contains(MASK);
    plain
        && !masked
        && reqwest::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Describes an invalid value without revealing a secret.
fn found(kind: &Kind, raw: &RawValue) -> String {
    let scalar = !is(raw, b'{') && !is(raw, b'[');
    if !kind.is_public() || !scalar || raw.get() == shape(raw) {
        return shape(raw).to_owned();
    }
    // A secret may be in the wrong field.
    let shown = mask::scrub(raw.get().trim_matches('"'));
    let quote = if is(raw, b'"') { "\"" } else { "" };
    let shown = text::headline(&shown, SHOWN_CHARS);
    format!("{} {quote}{shown}{quote}", shape(raw).replacen("a ", "the ", 1))
}
