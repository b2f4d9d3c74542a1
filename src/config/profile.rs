//! Profiles: who does the work of a task, written as Markdown with front matter.
//!
//! Parses text and does not read files. A field is accepted, or refused with its line; there is no fallback. Agent
//! files of other programs are accepted, with a warning for each field that has no meaning here. A repository's profile
//! can restrict what an agent may do, and cannot choose credentials.

pub mod front_matter;
mod problem;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::base::MicroUsd;
use crate::config::problem::{FileLocation, Position, Severity};
use crate::permit::{Mode, ProfileMode};
use front_matter::{Entry, Value};
pub use problem::ProfileProblemKind;

/// Where a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Part of the program.
    BuiltIn,
    /// The user's, in the data folder.
    User,
    /// The repository's, under git. Not trusted.
    Project,
}

impl Source {
    pub fn word(self) -> &'static str {
        match self {
            Self::BuiltIn => "builtin",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Returns the name under which a task stores its profile. It includes the source, so that another profile of the same
/// name never replaces it. Built-in profiles have no prefix.
pub fn full_name(source: Source, name: &str) -> String {
    match source {
        Source::BuiltIn => name.to_owned(),
        Source::User | Source::Project => format!("{source}:{name}"),
    }
}

/// Splits a full name into source and name. The source is `None` if the name has no known prefix.
pub fn split_name(full: &str) -> (Option<Source>, &str) {
    let known = [Source::BuiltIn, Source::User, Source::Project];
    let split = full.split_once(':').and_then(|(source, name)| {
        let source = known.into_iter().find(|known| known.word() == source.trim())?;
        Some((Some(source), name.trim()))
    });
    split.unwrap_or((None, full.trim()))
}

/// A parsed profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub source: Source,
    /// A sentence that says when to choose it.
    pub description: String,
    /// Who carries out the work: `native`, or an outside program. `None` for the default of the settings.
    pub backend: Option<String>,
    /// `None` for the configured model.
    pub model: Option<String>,
    pub auth: Option<String>,
    pub effort: Option<String>,
    /// The allowed tools, as written. `None` for all.
    pub tools: Option<Vec<NamedTool>>,
    pub disallowed_tools: Vec<NamedTool>,
    pub max_turns: Option<u64>,
    pub budget: Option<MicroUsd>,
    /// Whether the user reviews the work before the task passes. `None` for the default of the settings.
    pub review: Option<bool>,
    /// The permission mode. `None` for that of the settings.
    pub permissions: Option<Mode>,
    /// Instructions for the agent.
    pub prompt: String,
    /// Problems that do not make the profile unusable.
    pub warnings: Vec<ProfileProblem>,
    file: String,
    lines: BTreeMap<&'static str, usize>,
}

/// The name of a tool, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTool {
    pub name: String,
    pub line: usize,
}

/// A problem and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileProblem {
    pub place: FileLocation,
    pub kind: ProfileProblemKind,
}

impl ProfileProblem {
    pub fn new(file: &str, line: Option<usize>, trouble: ProfileProblemKind) -> Self {
        let at = line.map(|line| Position { line, column: 1 });
        Self { place: FileLocation { file: file.to_owned(), at }, kind: trouble }
    }

    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }
}

impl fmt::Display for ProfileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = crate::base::sanitize::line(&self.place.file).into_owned();
        let line = self.place.at.map(|spot| format!(":{}", spot.line)).unwrap_or_default();
        write!(f, "{file}{line}: {}", crate::base::sanitize::line(&self.kind.to_string()))
    }
}

/// The backend that is part of the program.
pub const NATIVE: &str = "native";

/// The fields, in canonical spelling.
const FIELDS: [&str; 13] = [
    "name",
    "description",
    "backend",
    "model",
    "auth",
    "effort",
    "tools",
    "disallowed_tools",
    "max_turns",
    "budget",
    "review",
    "permissions",
    "prompt",
];

/// Fields of other programs that have no meaning here.
const IGNORED_FIELDS: [&str; 12] = [
    "background",
    "category",
    "hooks",
    "initialprompt",
    "isolation",
    "mcpservers",
    "memory",
    "mode",
    "permissionmode",
    "skills",
    "temperature",
    "version",
];

/// Similarity from which an unknown field counts as a typo of a known one.
const TYPO_SIMILARITY: f64 = 0.88;

impl Profile {
    /// Parses the file `file`, whose name without extension is `stem`. Returns all errors, not only the first.
    pub fn read(source: Source, file: &str, stem: &str, bytes: &[u8]) -> Result<Self, Vec<ProfileProblem>> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(_) => return Err(vec![ProfileProblem::new(file, None, ProfileProblemKind::NotUtf8)]),
        };
        let parsed = front_matter::parse(text).map_err(|(line, problem)| {
            vec![ProfileProblem::new(file, Some(line), ProfileProblemKind::FrontMatter(problem))]
        })?;
        let mut reader = Reader { file, errors: Vec::new(), warnings: Vec::new() };
        let mut profile = Self {
            name: stem.to_owned(),
            source,
            description: String::new(),
            backend: None,
            model: None,
            auth: None,
            effort: None,
            tools: None,
            disallowed_tools: Vec::new(),
            max_turns: None,
            budget: None,
            review: None,
            permissions: None,
            prompt: parsed.body.trim().to_owned(),
            warnings: Vec::new(),
            file: file.to_owned(),
            lines: BTreeMap::new(),
        };
        for entry in &parsed.entries {
            profile.set_field(&mut reader, entry);
        }
        if !is_name(&profile.name) {
            reader.fail(profile.lines.get("name").copied(), ProfileProblemKind::Name(profile.name.clone()));
        }
        if let (Some(auth), true) = (profile.lines.get("auth"), profile.is_outside()) {
            reader.fail(Some(*auth), ProfileProblemKind::AuthBesideBackend);
        }
        if profile.prompt.is_empty() && profile.description.is_empty() {
            reader.fail(None, ProfileProblemKind::Empty);
        }
        if reader.errors.is_empty() {
            profile.warnings = reader.warnings;
            Ok(profile)
        } else {
            Err(reader.errors)
        }
    }

    /// Returns the file and line of a field, for messages.
    pub fn place(&self, field: &str) -> String {
        match self.lines.get(field) {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the name under which a task stores it.
    pub fn full_name(&self) -> String {
        full_name(self.source, &self.name)
    }

    /// Returns true if the profile names an outside program.
    fn is_outside(&self) -> bool {
        self.backend.as_deref().is_some_and(|backend| backend != NATIVE)
    }

    /// Returns the budget of a task with this profile, where `default` is that of the settings. The user's own profile
    /// wins; a repository's can only lower the budget.
    pub fn budget_within(&self, default: Option<MicroUsd>) -> Option<MicroUsd> {
        match self.source {
            Source::BuiltIn | Source::User => self.budget.or(default),
            Source::Project => match (self.budget, default) {
                (Some(own), Some(default)) => Some(own.min(default)),
                (own, default) => own.or(default),
            },
        }
    }

    /// Returns true if the user reviews work with this profile, where `default` is that of the settings. A repository's
    /// profile can require a review, but cannot skip one.
    pub fn review_within(&self, default: bool) -> bool {
        match self.source {
            Source::BuiltIn | Source::User => self.review.unwrap_or(default),
            Source::Project => default || self.review == Some(true),
        }
    }

    /// Returns what the profile says about the permission mode.
    pub fn permission_mode(&self) -> ProfileMode {
        ProfileMode { mode: self.permissions, is_foreign: self.source == Source::Project }
    }

    fn set_field(&mut self, reader: &mut Reader<'_>, entry: &Entry) {
        let Some(field) = reader.field(entry) else { return };
        if self.lines.insert(field, entry.line).is_some() {
            return reader.fail(Some(entry.line), ProfileProblemKind::Twice(field));
        }
        match field {
            "name" => self.name = reader.text(field, entry).unwrap_or_default(),
            "description" => self.description = reader.text(field, entry).unwrap_or_default(),
            "model" => {
                let model = reader.text(field, entry);
                self.model = model.filter(|model| !model.eq_ignore_ascii_case("inherit"));
            }
            "backend" if self.source == Source::Project => {
                reader.fail(Some(entry.line), ProfileProblemKind::BackendInRepository);
            }
            "backend" => self.backend = reader.text(field, entry),
            "auth" if self.source == Source::Project => {
                reader.fail(Some(entry.line), ProfileProblemKind::AuthInRepository);
            }
            "auth" => self.auth = reader.text(field, entry),
            "effort" => self.effort = reader.text(field, entry),
            "tools" => self.tools = reader.names(field, entry).filter(|names| !names.iter().any(|it| is_all(&it.name))),
            "disallowed_tools" => self.disallowed_tools = reader.names(field, entry).unwrap_or_default(),
            "max_turns" => self.max_turns = reader.number(field, entry),
            "budget" => self.budget = reader.dollars(field, entry),
            "review" => self.review = reader.flag(field, entry),
            "permissions" => self.permissions = reader.mode(field, entry),
            "prompt" => {
                let prompt = reader.text(field, entry).unwrap_or_default();
                self.prompt = if self.prompt.is_empty() { prompt } else { format!("{prompt}\n\n{}", self.prompt) };
            }
            _ => {}
        }
    }
}

fn is_all(name: &str) -> bool {
    name == "*" || name.eq_ignore_ascii_case("all")
}

/// Returns true for a valid profile name. It becomes part of commands, files and tools.
fn is_name(name: &str) -> bool {
    let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(ok)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Reads field values and collects problems.
struct Reader<'a> {
    file: &'a str,
    errors: Vec<ProfileProblem>,
    warnings: Vec<ProfileProblem>,
}

impl Reader<'_> {
    fn fail(&mut self, line: Option<usize>, trouble: ProfileProblemKind) {
        self.errors.push(ProfileProblem::new(self.file, line, trouble));
    }

    /// Returns the canonical name of an entry's field, or `None` if it is ignored. A typo is an error: ignoring a
    /// misspelt limit would let the agent do more than intended.
    fn field(&mut self, entry: &Entry) -> Option<&'static str> {
        let fold = |name: &str| name.to_ascii_lowercase().replace(['_', '-'], "");
        let wanted = fold(&entry.key);
        if let Some(field) = FIELDS.iter().find(|field| fold(field) == wanted) {
            return Some(field);
        }
        if wanted == "budgetusd" {
            return Some("budget");
        }
        if matches!(wanted.as_str(), "color" | "colour") {
            return None;
        }
        let key = entry.key.clone();
        if !IGNORED_FIELDS.contains(&wanted.as_str()) {
            let near = FIELDS.iter().map(|field| (strsim::jaro_winkler(&fold(field), &wanted), *field));
            let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score >= TYPO_SIMILARITY);
            if let Some((_, nearest)) = nearest {
                self.fail(Some(entry.line), ProfileProblemKind::UnknownField { key, nearest });
                return None;
            }
        }
        self.warnings.push(ProfileProblem::new(self.file, Some(entry.line), ProfileProblemKind::Unused(key)));
        None
    }

    fn text(&mut self, field: &'static str, entry: &Entry) -> Option<String> {
        match &entry.value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Text(_) | Value::List(_) | Value::Nested => {
                self.fail(Some(entry.line), ProfileProblemKind::Wrong { field, expected: "a string" });
                None
            }
        }
    }

    fn names(&mut self, field: &'static str, entry: &Entry) -> Option<Vec<NamedTool>> {
        let names: Vec<NamedTool> = match &entry.value {
            Value::List(items) => {
                items.iter().map(|(name, line)| NamedTool { name: name.clone(), line: *line }).collect()
            }
            Value::Text(text) if !text.trim().is_empty() => {
                split_list(text).map(|name| NamedTool { name: name.to_owned(), line: entry.line }).collect()
            }
            Value::Text(_) | Value::Nested => {
                let expected = "names separated by commas; [] for none, or omit the line for all";
                self.fail(Some(entry.line), ProfileProblemKind::Wrong { field, expected });
                return None;
            }
        };
        Some(names.into_iter().filter(|named| !named.name.trim().is_empty()).collect())
    }

    fn number(&mut self, field: &'static str, entry: &Entry) -> Option<u64> {
        let number = match &entry.value {
            Value::Text(text) => text.trim().parse().ok().filter(|number| *number > 0),
            Value::List(_) | Value::Nested => None,
        };
        if number.is_none() {
            self.fail(Some(entry.line), ProfileProblemKind::Wrong { field, expected: "an integer, 1 or more" });
        }
        number
    }

    fn flag(&mut self, field: &'static str, entry: &Entry) -> Option<bool> {
        let flag = match &entry.value {
            Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            Value::List(_) | Value::Nested => None,
        };
        if flag.is_none() {
            self.fail(Some(entry.line), ProfileProblemKind::Wrong { field, expected: "true or false" });
        }
        flag
    }

    fn mode(&mut self, field: &'static str, entry: &Entry) -> Option<Mode> {
        let mode = match &entry.value {
            Value::Text(text) => text.trim().parse().ok(),
            Value::List(_) | Value::Nested => None,
        };
        if mode.is_none() {
            let expected = "a mode: ask, edits, sandboxed, plan, refuse, bypass or delegate";
            self.fail(Some(entry.line), ProfileProblemKind::Wrong { field, expected });
        }
        mode
    }

    fn dollars(&mut self, field: &'static str, entry: &Entry) -> Option<MicroUsd> {
        let amount = match &entry.value {
            Value::Text(text) => text.trim().trim_start_matches('$').parse::<f64>().ok(),
            Value::List(_) | Value::Nested => None,
        };
        let amount = amount.and_then(MicroUsd::from_dollars).filter(|amount| *amount > MicroUsd::ZERO);
        if amount.is_none() {
            self.fail(
                Some(entry.line),
                ProfileProblemKind::Wrong { field, expected: "an amount in USD, such as 2.50" },
            );
        }
        amount
    }
}

/// Splits a comma-separated list. A comma inside parentheses belongs to its item.
fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let items = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    items.map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
