//! Profiles: who does the work of a task, written as Markdown with front matter.
//!
//! Parses text and does not read files. A field is accepted, or refused with its line; there is no fallback. Agent
//! files of other programs are accepted, with a warning for each field that has no meaning here. A repository's profile
//! can restrict what an agent may do, and cannot choose credentials.

pub mod fields;
mod problem;
mod reader;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::base::MicroUsd;
use crate::config::front_matter;
use crate::config::problem::{FileLocation, Position, Severity};
use crate::config::yaml::{Entry, YamlError};
use crate::permit::{Mode, ProfileMode};
pub use problem::ProfileProblemKind;
use reader::Reader;

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
    /// What people see instead of the name.
    pub label: Option<String>,
    /// A sentence that says when to choose it.
    pub description: String,
    /// Who carries out the work: `native`, or an outside program. `None` for the default of the settings.
    pub backend: Option<String>,
    /// `None` for the configured model.
    pub model: Option<String>,
    pub auth: Option<String>,
    pub effort: Option<String>,
    /// The allowed tools, as written. `None` for all.
    pub tools: Option<Vec<ListedName>>,
    pub disallowed_tools: Vec<ListedName>,
    pub max_turns: Option<u64>,
    pub budget: Option<MicroUsd>,
    /// Whether the user reviews the work before the task passes. `None` for the default of the settings.
    pub review: Option<bool>,
    /// The permission mode. `None` for that of the settings.
    pub permissions: Option<Mode>,
    /// The mode after the approval of a plan. `None` for that of the settings.
    pub mode_after: Option<Mode>,
    /// Who reviews a plan first.
    pub plan_review: PlanReview,
    /// How many levels of tasks may be below a task with this profile. `None` for the limit of the settings.
    pub max_depth: Option<u32>,
    /// The skills that the agent is told of. `None` for all.
    pub skills: Option<Vec<ListedName>>,
    /// The skills whose text is in the opening message.
    pub preload: Vec<ListedName>,
    /// Files of the repository whose content is in the opening message.
    pub include: Vec<ListedName>,
    /// What the prompt is added to.
    pub system: SystemPrompt,
    /// Instructions for the agent.
    pub prompt: String,
    /// Problems that do not make the profile unusable.
    pub warnings: Vec<ProfileProblem>,
    file: String,
    lines: BTreeMap<&'static str, usize>,
}

/// How a profile's prompt becomes the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemPrompt {
    /// Behind the usual prompt.
    #[default]
    Add,
    /// Instead of the way of working, with what an agent must know of its place in the tree.
    Replace,
    /// With nothing but the rules for calling tools.
    Minimal,
}

/// Who reviews the plan of a task in the mode `plan` first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanReview {
    #[default]
    User,
    /// The task above.
    Above,
}

/// A name in a list, of a tool, a skill or a file, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedName {
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

    pub fn at(file: &str, at: Position, kind: ProfileProblemKind) -> Self {
        Self { place: FileLocation { file: file.to_owned(), at: Some(at) }, kind }
    }

    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }
}

impl fmt::Display for ProfileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = crate::base::sanitize::line(&self.place.file).into_owned();
        let line = match self.place.at {
            Some(Position { line, column: 1 }) => format!(":{line}"),
            Some(Position { line, column }) => format!(":{line}:{column}"),
            None => String::new(),
        };
        write!(f, "{file}{line}: {}", crate::base::sanitize::line(&self.kind.to_string()))
    }
}

/// The backend that is part of the program.
pub const NATIVE: &str = "native";

impl Profile {
    /// Parses the file `file`, whose name without extension is `stem`. Returns all errors, not only the first.
    pub fn read(source: Source, file: &str, stem: &str, bytes: &[u8]) -> Result<Self, Vec<ProfileProblem>> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(vec![ProfileProblem::new(file, None, ProfileProblemKind::NotUtf8)]);
        };
        let parsed = front_matter::parse(text).map_err(|YamlError { at, message }| {
            vec![ProfileProblem::at(file, at, ProfileProblemKind::FrontMatter(message))]
        })?;
        let mut reader = Reader::new(file);
        if let Some(YamlError { at, message }) = parsed.repaired {
            reader.warn(at.line, ProfileProblemKind::NotYaml(message));
        }
        let mut profile = Self::empty(source, file, stem, parsed.body.trim());
        for entry in &parsed.entries {
            profile.set_field(&mut reader, entry);
        }
        if !is_name(&profile.name) {
            reader.fail(profile.lines.get("name").copied(), ProfileProblemKind::Name(profile.name.clone()));
        }
        if let (Some(auth), true) = (profile.lines.get("auth"), profile.is_outside()) {
            reader.fail(Some(*auth), ProfileProblemKind::AuthBesideBackend);
        }
        if profile.description.is_empty() && !profile.lines.contains_key("description") {
            reader.fail(Some(1), ProfileProblemKind::NoDescription);
        }
        if profile.prompt.is_empty() && profile.system != SystemPrompt::Add {
            let line = profile.lines.get("system").copied();
            reader.fail(line, ProfileProblemKind::NoPrompt);
        }
        if reader.errors.is_empty() {
            profile.warnings = reader.warnings;
            Ok(profile)
        } else {
            Err(reader.errors)
        }
    }

    fn empty(source: Source, file: &str, stem: &str, prompt: &str) -> Self {
        Self {
            name: stem.to_owned(),
            source,
            label: None,
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
            mode_after: None,
            plan_review: PlanReview::default(),
            max_depth: None,
            skills: None,
            preload: Vec::new(),
            include: Vec::new(),
            system: SystemPrompt::default(),
            prompt: prompt.to_owned(),
            warnings: Vec::new(),
            file: file.to_owned(),
            lines: BTreeMap::new(),
        }
    }

    /// Returns the name that people see.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
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
        let line = entry.at.line;
        if self.lines.insert(field, line).is_some() {
            return reader.fail(Some(line), ProfileProblemKind::Twice(field));
        }
        match field {
            "name" => self.name = reader.text(field, entry).unwrap_or_default(),
            "label" => self.label = reader.text(field, entry),
            "description" => self.description = reader.text(field, entry).unwrap_or_default(),
            "model" => {
                let model = reader.text(field, entry);
                self.model = model.filter(|model| !model.eq_ignore_ascii_case("inherit"));
            }
            "backend" if self.source == Source::Project => {
                reader.fail(Some(line), ProfileProblemKind::BackendInRepository);
            }
            "backend" => self.backend = reader.text(field, entry),
            "auth" if self.source == Source::Project => {
                reader.fail(Some(line), ProfileProblemKind::AuthInRepository);
            }
            "auth" => self.auth = reader.text(field, entry),
            "effort" => self.effort = reader.text(field, entry),
            "tools" => {
                let (allowed, denied) = reader.tools(field, entry);
                self.tools = allowed.filter(|names| !names.iter().any(|it| is_all(&it.name)));
                self.disallowed_tools.extend(denied);
            }
            "disallowed_tools" => self.disallowed_tools.extend(reader.names(field, entry).unwrap_or_default()),
            "readonly" if reader.flag(field, entry) == Some(true) => {
                let denied = fields::WRITING_TOOLS.map(|name| ListedName { name: name.to_owned(), line });
                self.disallowed_tools.extend(denied);
            }
            "max_turns" => self.max_turns = reader.number(field, entry),
            "max_depth" => self.max_depth = reader.depth(field, entry),
            "budget" => self.budget = reader.dollars(field, entry),
            "review" => self.review = reader.flag(field, entry),
            "permissions" => self.permissions = reader.mode(field, entry),
            "mode_after" => self.mode_after = reader.mode(field, entry),
            "plan_review" => {
                let choices = [("user", PlanReview::User), ("above", PlanReview::Above)];
                self.plan_review = reader.choice(field, entry, "user or above", &choices).unwrap_or_default();
            }
            "skills" => {
                self.skills = reader.names(field, entry).filter(|names| !names.iter().any(|it| is_all(&it.name)));
            }
            "preload" => self.preload = reader.names(field, entry).unwrap_or_default(),
            "include" => self.include = reader.names(field, entry).unwrap_or_default(),
            "system" => {
                let choices = [
                    ("add", SystemPrompt::Add),
                    ("replace", SystemPrompt::Replace),
                    ("minimal", SystemPrompt::Minimal),
                ];
                self.system = reader.choice(field, entry, "add, replace or minimal", &choices).unwrap_or_default();
            }
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
    // These two are values of the setting `profile`.
    !["ask", "inherit"].contains(&name)
        && !name.is_empty()
        && name.len() <= 64
        && name.chars().all(ok)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
