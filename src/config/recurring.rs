//! Recurring tasks in the repository: reads, validates and edits `.mxd/tasks/<task-id>.json` as text.
//!
//! A plan defines the task and its schedule. It does not run anything. Pure, apart from the time zone database of the
//! system.

use std::path::Path;
use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::base::{Fault, MicroUsd, TaskId, Timestamp, sanitize};
use crate::config::document::{Document, ParseFailure, shape};
use crate::config::problem::Position;
use crate::config::trust;
use crate::model::task::Recurring;

/// The file format of this version.
const VERSION: u64 = 1;
const MIN_INTERVAL: Duration = Duration::from_secs(60);
const MAX_INTERVAL: Duration = Duration::from_secs(366 * 24 * 60 * 60);
const FIELDS: &str = "version, title, description, mode, every, cron, timeZone, profile, budgetUsd";

/// A recurring task as defined by its file.
#[derive(Clone, Debug)]
pub struct RecurringPlan {
    pub task: TaskId,
    pub facts: PlanFacts,
    /// `None` if it runs only on demand.
    pub when: Option<Recurrence>,
    /// The same, as written.
    pub schedule: Schedule,
}

/// The task without its schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFacts {
    pub title: String,
    pub description: String,
    pub mode: Recurring,
    pub profile: Option<String>,
    /// The budget of one run.
    pub budget: Option<MicroUsd>,
    /// The schedule as text. Empty if it runs only on demand.
    pub when: String,
    /// The hash of the task's id and the file's content. Approvals refer to it.
    pub hash: String,
}

/// A parsed schedule.
#[derive(Clone, Debug)]
pub enum Recurrence {
    /// This long after the last run started.
    Every(Duration),
    /// At the times of a cron line, in a time zone.
    Cron { line: Box<Cron>, zone: TimeZone },
}

/// A schedule as the user writes it. Empty if the task runs only on demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Schedule {
    pub every: Option<String>,
    pub cron: Option<String>,
    pub time_zone: Option<String>,
}

/// A change to the files after a change of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    Keep(Box<Edit>),
    Remove(Vec<TaskId>),
}

/// A change to the file of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub task: TaskId,
    pub title: String,
    pub description: String,
    pub mode: Recurring,
    pub profile: String,
    /// `None` to keep the budget, `Some(None)` to remove it.
    pub budget: Option<Option<MicroUsd>>,
    /// Fields that are `None` stay unchanged.
    pub schedule: Schedule,
}

/// The fields of a file during parsing.
#[derive(Default)]
struct Fields {
    has_version: bool,
    title: Option<String>,
    description: String,
    mode: Option<Recurring>,
    when: Option<Recurrence>,
    zone: Option<TimeZone>,
    schedule: Schedule,
    profile: Option<String>,
    budget: Option<MicroUsd>,
}

impl RecurringPlan {
    /// Parses `text`, the content of the file at `path`. The error is a message with the location.
    pub fn read(task: TaskId, path: &Path, text: &str) -> Result<Self, String> {
        let document = Document::new(path.display().to_string(), text.strip_prefix('\u{feff}').unwrap_or(text));
        let message = |at: Option<Position>, text: &str| {
            let position = at.unwrap_or(Position { line: 1, column: 1 });
            format!("{}: {}", document.location(Some(position)), sanitize::line(text))
        };
        let not_json = |failure: ParseFailure| message(failure.at, &format!("invalid JSON: {}", failure.message));
        let root = document.root().map_err(not_json)?;
        let root = root.filter(|root| root.get().starts_with('{'));
        let root =
            root.ok_or_else(|| message(None, "a recurring task must be one JSON object, {\"version\": 1, …}"))?;
        let mut fields = Fields::default();
        let mut seen = Vec::new();
        for member in document.members(root).map_err(not_json)? {
            if seen.contains(&member.name) {
                return Err(message(document.position_of(member.key), &format!("\"{}\" is set twice", member.name)));
            }
            fields.set(&member.name, member.value).map_err(|error| match error {
                FieldError::Field(text) => message(document.position_of(member.key), &text),
                FieldError::Value(text) => message(document.position_of(member.value.get()), &text),
            })?;
            seen.push(member.name);
        }
        let hash = content_hash(task, root);
        fields.into_plan(task, hash).map_err(|text| message(None, text))
    }

    /// Returns true if it has a schedule, and does not run only on demand.
    pub fn is_timed(&self) -> bool {
        self.when.is_some()
    }

    /// Returns the time of the next run after `last`. A time in the past is a missed run, which happens once, now.
    pub fn next(&self, last: Timestamp) -> Option<Timestamp> {
        self.when.as_ref().and_then(|when| when.next(last))
    }
}

/// An error in the name or the value of a member.
enum FieldError {
    Field(String),
    Value(String),
}

impl Fields {
    fn set(&mut self, name: &str, value: &RawValue) -> Result<(), FieldError> {
        match name {
            "version" => {
                let version: u64 = parse_field(name, value, "a number")?;
                if version != VERSION {
                    return Err(FieldError::Value(format!(
                        "this version of mxd supports version {VERSION}, not {version}"
                    )));
                }
                self.has_version = true;
            }
            "title" => self.title = Some(parse_field::<String>(name, value, "a string")?.trim().to_owned()),
            "description" => parse_field::<String>(name, value, "a string")?.trim().clone_into(&mut self.description),
            "mode" => {
                self.mode = Some(match parse_field::<String>(name, value, "a string")?.as_str() {
                    "reset" => Recurring::Reset,
                    "continue" => Recurring::Continue,
                    other => {
                        return Err(FieldError::Value(format!(
                            "\"mode\" must be \"reset\" or \"continue\", not \"{other}\""
                        )));
                    }
                });
            }
            "every" => {
                let every: String = parse_field(name, value, "a string")?;
                self.when = Some(Recurrence::Every(interval(&every).map_err(FieldError::Value)?));
                self.schedule.every = Some(every);
            }
            "cron" => {
                let line: String = parse_field(name, value, "a string")?;
                let cron = Box::new(cron(&line).map_err(FieldError::Value)?);
                self.when = Some(Recurrence::Cron { line: cron, zone: TimeZone::UTC });
                self.schedule.cron = Some(line);
            }
            "timeZone" => {
                let place: String = parse_field(name, value, "a string")?;
                self.zone = Some(zone(&place).map_err(FieldError::Value)?);
                self.schedule.time_zone = Some(place);
            }
            "profile" => {
                let profile = parse_field::<String>(name, value, "a string")?.trim().to_owned();
                self.profile = Some(profile).filter(|profile| !profile.is_empty());
            }
            "budgetUsd" => {
                let amount: f64 = parse_field(name, value, "a number")?;
                let budget = MicroUsd::from_dollars(amount).filter(|budget| *budget > MicroUsd::ZERO);
                let wrong = || FieldError::Value(format!("{amount} is not an amount in USD"));
                self.budget = Some(budget.ok_or_else(wrong)?);
            }
            _ => {
                return Err(FieldError::Field(format!(
                    "\"{name}\" is not a field of a recurring task; the fields are: {FIELDS}"
                )));
            }
        }
        if self.schedule.every.is_some() && self.schedule.cron.is_some() {
            return Err(FieldError::Field("set either \"every\" or \"cron\", not both".to_owned()));
        }
        Ok(())
    }

    fn into_plan(self, task: TaskId, hash: String) -> Result<RecurringPlan, &'static str> {
        if !self.has_version {
            return Err("\"version\" is missing; the current version is 1");
        }
        let title = self.title.filter(|title| !title.is_empty());
        let title = title.ok_or("\"title\" is missing or empty: write one line")?;
        let mode = self.mode.ok_or("\"mode\" is missing: \"reset\" or \"continue\"")?;
        let facts = PlanFacts {
            title,
            description: self.description,
            mode,
            profile: self.profile,
            budget: self.budget,
            when: self.schedule.describe(),
            hash,
        };
        // The zone may come after the cron line in the file.
        let when = self.when.map(|when| match when {
            Recurrence::Cron { line, .. } => {
                Recurrence::Cron { line, zone: self.zone.unwrap_or_else(TimeZone::system) }
            }
            every @ Recurrence::Every(_) => every,
        });
        Ok(RecurringPlan { task, facts, when, schedule: self.schedule })
    }
}

fn parse_field<'de, T: Deserialize<'de>>(name: &str, value: &'de RawValue, expected: &str) -> Result<T, FieldError> {
    serde_json::from_str(value.get())
        .map_err(|_| FieldError::Value(format!("\"{name}\" must be {expected}, not {}", shape(value))))
}

impl Recurrence {
    fn next(&self, last: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(every) => Some(last.later(*every)),
            Self::Cron { line, zone } => {
                let last = jiff::Timestamp::from_millisecond(last.as_millis()).ok()?.to_zoned(zone.clone());
                let next = line.find_next_occurrence(&last, false).ok()?;
                Some(Timestamp::from_millis(next.timestamp().as_millisecond()))
            }
        }
    }
}

impl Schedule {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Describes the schedule. Empty if there is none.
    pub fn describe(&self) -> String {
        let zone = self.time_zone.as_ref().map(|zone| format!(" ({zone})")).unwrap_or_default();
        match (&self.every, &self.cron) {
            (Some(every), _) => format!("every {every}"),
            (None, Some(line)) => format!("at {line}{zone}"),
            (None, None) => String::new(),
        }
    }

    /// Validates the schedule.
    pub fn check(&self) -> Result<(), Fault> {
        if self.every.is_some() && self.cron.is_some() {
            return Err(Fault::user("a schedule is either an interval or a cron line, not both"));
        }
        if self.time_zone.is_some() && self.cron.is_none() {
            return Err(Fault::user("a time zone needs a cron line"));
        }
        if let Some(every) = &self.every {
            interval(every).map_err(Fault::user)?;
        }
        if let Some(line) = &self.cron {
            cron(line).map_err(Fault::user)?;
        }
        if let Some(name) = &self.time_zone {
            zone(name).map_err(Fault::user)?;
        }
        Ok(())
    }
}

impl Edit {
    /// Returns the new content of a file whose content is `text`, or `None` if it is new. Other fields stay unchanged.
    /// Fails with a message if the file is invalid.
    pub fn apply(&self, path: &Path, text: Option<&str>) -> Result<String, String> {
        let mut fields = match text {
            None => Map::new(),
            Some(text) => {
                RecurringPlan::read(self.task, path, text)?;
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                serde_json::from_str(text).map_err(|error| format!("{}: {error}", path.display()))?
            }
        };
        let mut set = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        set("version", VERSION.into());
        set("title", self.title.as_str().into());
        set("description", self.description.as_str().into());
        set("mode", if self.mode == Recurring::Continue { "continue" } else { "reset" }.into());
        set("profile", self.profile.as_str().into());
        let Schedule { every, cron, time_zone } = &self.schedule;
        if let Some(every) = every {
            fields.shift_remove("cron");
            fields.insert("every".to_owned(), every.as_str().into());
        }
        if let Some(cron) = cron {
            fields.shift_remove("every");
            fields.insert("cron".to_owned(), cron.as_str().into());
        }
        if let Some(zone) = time_zone {
            fields.insert("timeZone".to_owned(), zone.as_str().into());
        }
        match self.budget {
            Some(Some(budget)) => drop(fields.insert("budgetUsd".to_owned(), dollars(budget))),
            Some(None) => drop(fields.shift_remove("budgetUsd")),
            None => {}
        }
        let text = serde_json::to_string_pretty(&fields).map_err(|error| error.to_string())?;
        Ok(text + "\n")
    }
}

/// Returns the hash of a task's id and the content of its file. Whitespace and the order of fields do not matter.
fn content_hash(task: TaskId, content: &RawValue) -> String {
    let content: Value = serde_json::from_str(content.get()).unwrap_or_default();
    trust::hash(&json!({ "task": task, "file": content }))
}

/// Returns an amount in USD, as an integer if possible.
fn dollars(amount: MicroUsd) -> Value {
    let whole = amount.0 / 1_000_000;
    if amount.0.is_multiple_of(1_000_000) { whole.into() } else { (amount.0 as f64 / 1e6).into() }
}

/// Parses an interval such as `30m`, `6h` or `1d12h`.
fn interval(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("\"{}\" is not an interval; write it like \"30m\", \"6h\" or \"1d12h\"", sanitize::line(text));
    let mut rest = text.trim();
    let mut seconds = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        let mut chars = rest[digits..].chars();
        let unit = match chars.next() {
            Some('m') => 60,
            Some('h') => 60 * 60,
            Some('d') => 24 * 60 * 60,
            _ => return Err(wrong()),
        };
        seconds = number.checked_mul(unit).and_then(|more| seconds.checked_add(more)).ok_or_else(wrong)?;
        rest = chars.as_str().trim_start();
    }
    let every = Duration::from_secs(seconds);
    if every < MIN_INTERVAL {
        return Err(wrong());
    }
    if every > MAX_INTERVAL {
        return Err(format!("\"{}\" is more than a year", sanitize::line(text)));
    }
    Ok(every)
}

fn cron(text: &str) -> Result<Cron, String> {
    let shown = sanitize::line(text);
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let line = parser.parse(text).map_err(|error| {
        format!("\"{shown}\" is not a cron line of five fields (minute, hour, day, month, weekday): {error}")
    })?;
    let start = jiff::Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    line.find_next_occurrence(&start, false).map_err(|_| format!("\"{shown}\" never occurs"))?;
    Ok(line)
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
        .map_err(|_| format!("\"{}\" is not a known time zone; write it like \"Europe/Zurich\"", sanitize::line(name)))
}

#[cfg(test)]
#[path = "recurring_tests.rs"]
mod tests;
