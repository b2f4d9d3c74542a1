//! Profiles: who does the work of a task, written as Markdown with front matter.
//!
//! Text in, values out: reading folders is done by others. What a file says is taken or refused with its line, never
//! replaced by something else; agent files of other programs are read as they are, and what has no meaning here is
//! said to have none. A repository's profile can narrow what an agent may do, and can reach no credential.

pub mod front_matter;
mod trouble;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::base::MicroUsd;
use crate::config::problem::{Place, Severity, Spot};
use front_matter::{Entry, Value};
pub use trouble::Trouble;

/// Where a profile comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Part of the program.
    BuiltIn,
    /// The person's own, in the data folder.
    User,
    /// The repository's, under git: proposals of whoever wrote it.
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

/// Returns the name under which a task keeps its profile. It says where the profile comes from, so that another one of
/// the same name never takes its place. A built-in one goes by its bare name.
pub fn full_name(source: Source, name: &str) -> String {
    match source {
        Source::BuiltIn => name.to_owned(),
        Source::User | Source::Project => format!("{source}:{name}"),
    }
}

/// Returns the source and the name that a person or a task means. Nothing before the colon: not said.
pub fn split_name(full: &str) -> (Option<Source>, &str) {
    let known = [Source::BuiltIn, Source::User, Source::Project];
    let split = full.split_once(':').and_then(|(source, name)| {
        let source = known.into_iter().find(|known| known.word() == source.trim())?;
        Some((Some(source), name.trim()))
    });
    split.unwrap_or((None, full.trim()))
}

/// Who does the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub source: Source,
    /// When to choose it, in a sentence.
    pub description: String,
    /// Nothing: the model that is configured.
    pub model: Option<String>,
    pub auth: Option<String>,
    pub effort: Option<String>,
    /// The tools it has, as they were written. Nothing: all.
    pub tools: Option<Vec<Named>>,
    pub disallowed_tools: Vec<Named>,
    pub max_turns: Option<u64>,
    pub budget: Option<MicroUsd>,
    /// Whether the person looks at the work before it counts as done. Nothing: as the settings say.
    pub review: Option<bool>,
    /// What its agent is told.
    pub prompt: String,
    /// What was not taken as it was written, and does no harm.
    pub warnings: Vec<Flaw>,
    file: String,
    lines: BTreeMap<&'static str, usize>,
}

/// The name of a tool, and the line it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub line: usize,
}

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    pub place: Place,
    pub trouble: Trouble,
}

impl Flaw {
    pub fn new(file: &str, line: Option<usize>, trouble: Trouble) -> Self {
        let at = line.map(|line| Spot { line, column: 1 });
        Self { place: Place { file: file.to_owned(), at }, trouble }
    }

    pub fn severity(&self) -> Severity {
        self.trouble.severity()
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = crate::base::sanitize::line(&self.place.file).into_owned();
        let line = self.place.at.map(|spot| format!(":{}", spot.line)).unwrap_or_default();
        write!(f, "{file}{line}: {}", crate::base::sanitize::line(&self.trouble.to_string()))
    }
}

/// The fields, by the spelling that is ours.
const FIELDS: [&str; 11] = [
    "name",
    "description",
    "model",
    "auth",
    "effort",
    "tools",
    "disallowed_tools",
    "max_turns",
    "budget",
    "review",
    "prompt",
];

/// Fields of other programs that mean nothing here.
const FOREIGN: [&str; 12] = [
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

/// How near a name must be to one of ours to be a slip of the pen.
const NEAR: f64 = 0.88;

impl Profile {
    /// Reads the file `file`; `stem` is its name without the ending. Every error is returned, not the first only.
    pub fn read(source: Source, file: &str, stem: &str, bytes: &[u8]) -> Result<Self, Vec<Flaw>> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(_) => return Err(vec![Flaw::new(file, None, Trouble::NotUtf8)]),
        };
        let parsed = front_matter::parse(text)
            .map_err(|(line, problem)| vec![Flaw::new(file, Some(line), Trouble::FrontMatter(problem))])?;
        let mut reader = Reader { file, flaws: Vec::new(), warnings: Vec::new() };
        let mut profile = Self {
            name: stem.to_owned(),
            source,
            description: String::new(),
            model: None,
            auth: None,
            effort: None,
            tools: None,
            disallowed_tools: Vec::new(),
            max_turns: None,
            budget: None,
            review: None,
            prompt: parsed.body.trim().to_owned(),
            warnings: Vec::new(),
            file: file.to_owned(),
            lines: BTreeMap::new(),
        };
        for entry in &parsed.entries {
            profile.take(&mut reader, entry);
        }
        if !is_name(&profile.name) {
            reader.fail(profile.lines.get("name").copied(), Trouble::Name(profile.name.clone()));
        }
        if profile.prompt.is_empty() && profile.description.is_empty() {
            reader.fail(None, Trouble::Empty);
        }
        if reader.flaws.is_empty() {
            profile.warnings = reader.warnings;
            Ok(profile)
        } else {
            Err(reader.flaws)
        }
    }

    /// Returns the place of a field, for a sentence about it.
    pub fn place(&self, field: &str) -> String {
        match self.lines.get(field) {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the name under which a task keeps it.
    pub fn full_name(&self) -> String {
        full_name(self.source, &self.name)
    }

    /// Returns what a task with this profile may cost, where `usual` is what the settings say. The person's own word
    /// counts; a repository can only ask for less.
    pub fn budget_within(&self, usual: Option<MicroUsd>) -> Option<MicroUsd> {
        match self.source {
            Source::BuiltIn | Source::User => self.budget.or(usual),
            Source::Project => match (self.budget, usual) {
                (Some(own), Some(usual)) => Some(own.min(usual)),
                (own, usual) => own.or(usual),
            },
        }
    }

    /// Tells whether work with this profile is looked at before it counts as done, where `usual` is what the settings say.
    /// A repository can ask for a review, and cannot do without one that the person wants.
    pub fn review_within(&self, usual: bool) -> bool {
        match self.source {
            Source::BuiltIn | Source::User => self.review.unwrap_or(usual),
            Source::Project => usual || self.review == Some(true),
        }
    }

    fn take(&mut self, reader: &mut Reader<'_>, entry: &Entry) {
        let Some(field) = reader.field(entry) else { return };
        if self.lines.insert(field, entry.line).is_some() {
            return reader.fail(Some(entry.line), Trouble::Twice(field));
        }
        match field {
            "name" => self.name = reader.text(field, entry).unwrap_or_default(),
            "description" => self.description = reader.text(field, entry).unwrap_or_default(),
            "model" => {
                let model = reader.text(field, entry);
                self.model = model.filter(|model| !model.eq_ignore_ascii_case("inherit"));
            }
            "auth" if self.source == Source::Project => reader.fail(Some(entry.line), Trouble::AuthInRepository),
            "auth" => self.auth = reader.text(field, entry),
            "effort" => self.effort = reader.text(field, entry),
            "tools" => self.tools = reader.names(field, entry).filter(|names| !names.iter().any(|it| is_all(&it.name))),
            "disallowed_tools" => self.disallowed_tools = reader.names(field, entry).unwrap_or_default(),
            "max_turns" => self.max_turns = reader.number(field, entry),
            "budget" => self.budget = reader.dollars(field, entry),
            "review" => self.review = reader.flag(field, entry),
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

/// Tells whether a profile can be called this: it becomes part of commands, files and tools.
fn is_name(name: &str) -> bool {
    let ok = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(ok)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Collects what is wrong while fields are read.
struct Reader<'a> {
    file: &'a str,
    flaws: Vec<Flaw>,
    warnings: Vec<Flaw>,
}

impl Reader<'_> {
    fn fail(&mut self, line: Option<usize>, trouble: Trouble) {
        self.flaws.push(Flaw::new(self.file, line, trouble));
    }

    /// Returns which of our fields an entry is. One that is nearly one of them is refused: to pass over a limit because
    /// of a slip would let the agent do more than was meant.
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
        if !FOREIGN.contains(&wanted.as_str()) {
            let near = FIELDS.iter().map(|field| (strsim::jaro_winkler(&fold(field), &wanted), *field));
            let nearest = near.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(score, _)| *score >= NEAR);
            if let Some((_, nearest)) = nearest {
                self.fail(Some(entry.line), Trouble::Slip { key, nearest });
                return None;
            }
        }
        self.warnings.push(Flaw::new(self.file, Some(entry.line), Trouble::Unused(key)));
        None
    }

    fn text(&mut self, field: &'static str, entry: &Entry) -> Option<String> {
        match &entry.value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Text(_) | Value::List(_) | Value::Nested => {
                self.fail(Some(entry.line), Trouble::Wrong { field, expected: "a text" });
                None
            }
        }
    }

    fn names(&mut self, field: &'static str, entry: &Entry) -> Option<Vec<Named>> {
        let names: Vec<Named> = match &entry.value {
            Value::List(items) => items.iter().map(|(name, line)| Named { name: name.clone(), line: *line }).collect(),
            Value::Text(text) if !text.trim().is_empty() => {
                split_list(text).map(|name| Named { name: name.to_owned(), line: entry.line }).collect()
            }
            Value::Text(_) | Value::Nested => {
                let expected = "names with commas between them; [] for none, or no such line for all";
                self.fail(Some(entry.line), Trouble::Wrong { field, expected });
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
            self.fail(Some(entry.line), Trouble::Wrong { field, expected: "a whole number, 1 or more" });
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
            self.fail(Some(entry.line), Trouble::Wrong { field, expected: "true or false" });
        }
        flag
    }

    fn dollars(&mut self, field: &'static str, entry: &Entry) -> Option<MicroUsd> {
        let amount = match &entry.value {
            Value::Text(text) => text.trim().trim_start_matches('$').parse::<f64>().ok(),
            Value::List(_) | Value::Nested => None,
        };
        let amount = amount.and_then(MicroUsd::from_dollars).filter(|amount| *amount > MicroUsd::ZERO);
        if amount.is_none() {
            self.fail(Some(entry.line), Trouble::Wrong { field, expected: "an amount of dollars, like 2.50" });
        }
        amount
    }
}

/// Returns the items of a list in one line. A comma in brackets belongs to its item.
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
