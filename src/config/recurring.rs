//! Recurring tasks as a repository writes them down: `.mxd/tasks/<task-id>.json`, read, checked and changed as text.
//!
//! A plan says what a task is and when it comes round. It decides nothing: others look at the clock and at the task.
//! Pure, apart from the names of time zones, which the system knows.

use std::path::Path;
use std::time::Duration;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::base::{Fault, MicroUsd, TaskId, Timestamp, sanitize};
use crate::config::document::{Document, Rejected, shape};
use crate::config::problem::Spot;
use crate::config::trust;
use crate::model::task::Recurring;

/// The format that this version reads and writes.
const VERSION: u64 = 1;
/// How often a task may come round at most.
const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);
const FIELDS: &str = "version, title, description, mode, every, cron, timeZone, profile, budgetUsd";

/// A recurring task, as its file has it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub task: TaskId,
    pub facts: Facts,
    /// Nothing: it comes round when somebody says so.
    pub when: Option<When>,
    /// The same, as it is written.
    pub schedule: Schedule,
}

/// What the task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub title: String,
    pub description: String,
    pub mode: Recurring,
    pub profile: Option<String>,
    /// What one round may cost.
    pub budget: Option<MicroUsd>,
    /// When it comes round, in words. Empty: when somebody says so.
    pub when: String,
    /// The hash of the task's id and of the file's content. What is approved is exactly this.
    pub hash: String,
}

/// When a task comes round.
#[derive(Clone, Debug)]
pub enum When {
    /// So long after the last round began.
    Every(Duration),
    /// At the times of a cron line, as the clocks of a place show them.
    Cron { line: Box<Cron>, zone: TimeZone },
}

/// When a task is to come round, as a person says it. Nothing in it: when somebody says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Schedule {
    pub every: Option<String>,
    pub cron: Option<String>,
    pub time_zone: Option<String>,
}

/// What becomes of files when the tree has changed.
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
    /// Nothing: it stays as it is.
    pub budget: Option<Option<MicroUsd>>,
    /// What it does not say stays as it is.
    pub schedule: Schedule,
}

/// The fields of a file while they are read.
#[derive(Default)]
struct Fields {
    versioned: bool,
    title: Option<String>,
    description: String,
    mode: Option<Recurring>,
    when: Option<When>,
    zone: Option<TimeZone>,
    schedule: Schedule,
    profile: Option<String>,
    budget: Option<MicroUsd>,
}

impl Plan {
    /// Returns the plan that `text`, the content of the file at `path`, is for `task`, or one sentence that says where
    /// it is wrong and how.
    pub fn read(task: TaskId, path: &Path, text: &str) -> Result<Self, String> {
        let document = Document::new(path.display().to_string(), text.strip_prefix('\u{feff}').unwrap_or(text));
        let said = |at: Option<Spot>, words: &str| {
            let spot = at.unwrap_or(Spot { line: 1, column: 1 });
            format!("{}: {}", document.place(Some(spot)), sanitize::line(words))
        };
        let not_json = |rejected: Rejected| said(rejected.at, &format!("this is not JSON: {}", rejected.words));
        let root = document.root().map_err(not_json)?;
        let root = root.filter(|root| root.get().starts_with('{'));
        let root = root.ok_or_else(|| said(None, "a recurring task is one JSON object, {\"version\": 1, …}"))?;
        let mut fields = Fields::default();
        let mut seen = Vec::new();
        for member in document.members(root).map_err(not_json)? {
            if seen.contains(&member.name) {
                return Err(said(document.spot_of(member.key), &format!("\"{}\" is written twice", member.name)));
            }
            fields.set(&member.name, member.value).map_err(|wrong| match wrong {
                Wrong::Field(words) => said(document.spot_of(member.key), &words),
                Wrong::Value(words) => said(document.spot_of(member.value.get()), &words),
            })?;
            seen.push(member.name);
        }
        let hash = content_hash(task, root);
        fields.plan(task, hash).map_err(|words| said(None, words))
    }

    /// Tells whether it comes round by itself, and not only when it is sent a message.
    pub fn is_timed(&self) -> bool {
        self.when.is_some()
    }

    /// Returns when the round after `last` begins. In the past: it was missed, and happens once, now.
    pub fn next(&self, last: Timestamp) -> Option<Timestamp> {
        self.when.as_ref().and_then(|when| when.next(last))
    }
}

/// What is wrong with a member of the object: its name, or its value.
enum Wrong {
    Field(String),
    Value(String),
}

impl Fields {
    fn set(&mut self, name: &str, value: &RawValue) -> Result<(), Wrong> {
        match name {
            "version" => {
                let version: u64 = typed(name, value, "a number")?;
                if version != VERSION {
                    return Err(Wrong::Value(format!("this version of mxd knows version {VERSION}, not {version}")));
                }
                self.versioned = true;
            }
            "title" => self.title = Some(typed::<String>(name, value, "a text")?.trim().to_owned()),
            "description" => typed::<String>(name, value, "a text")?.trim().clone_into(&mut self.description),
            "mode" => {
                self.mode = Some(match typed::<String>(name, value, "a text")?.as_str() {
                    "reset" => Recurring::Reset,
                    "continue" => Recurring::Continue,
                    other => {
                        return Err(Wrong::Value(format!("\"mode\" is \"reset\" or \"continue\", not \"{other}\"")));
                    }
                });
            }
            "every" => {
                let every: String = typed(name, value, "a text")?;
                self.when = Some(When::Every(interval(&every).map_err(Wrong::Value)?));
                self.schedule.every = Some(every);
            }
            "cron" => {
                let line: String = typed(name, value, "a text")?;
                let cron = Box::new(cron(&line).map_err(Wrong::Value)?);
                self.when = Some(When::Cron { line: cron, zone: TimeZone::UTC });
                self.schedule.cron = Some(line);
            }
            "timeZone" => {
                let place: String = typed(name, value, "a text")?;
                self.zone = Some(zone(&place).map_err(Wrong::Value)?);
                self.schedule.time_zone = Some(place);
            }
            "profile" => {
                let profile = typed::<String>(name, value, "a text")?.trim().to_owned();
                self.profile = Some(profile).filter(|profile| !profile.is_empty());
            }
            "budgetUsd" => {
                let amount: f64 = typed(name, value, "a number")?;
                let budget = MicroUsd::from_dollars(amount).filter(|budget| *budget > MicroUsd::ZERO);
                let wrong = || Wrong::Value(format!("{amount} is not an amount of dollars"));
                self.budget = Some(budget.ok_or_else(wrong)?);
            }
            _ => {
                return Err(Wrong::Field(format!(
                    "\"{name}\" is not a field of a recurring task; these are: {FIELDS}"
                )));
            }
        }
        if self.schedule.every.is_some() && self.schedule.cron.is_some() {
            return Err(Wrong::Field("either \"every\" or \"cron\" says when, not both".to_owned()));
        }
        Ok(())
    }

    fn plan(self, task: TaskId, hash: String) -> Result<Plan, &'static str> {
        if !self.versioned {
            return Err("\"version\" is missing; this is version 1");
        }
        let title = self.title.filter(|title| !title.is_empty());
        let title = title.ok_or("\"title\" is missing or empty: one line that says what is to be done")?;
        let mode = self.mode.ok_or("\"mode\" is missing: \"reset\" or \"continue\"")?;
        let facts = Facts {
            title,
            description: self.description,
            mode,
            profile: self.profile,
            budget: self.budget,
            when: self.schedule.words(),
            hash,
        };
        // The zone may be written after the line that it is for.
        let when = self.when.map(|when| match when {
            When::Cron { line, .. } => When::Cron { line, zone: self.zone.unwrap_or_else(TimeZone::system) },
            every @ When::Every(_) => every,
        });
        Ok(Plan { task, facts, when, schedule: self.schedule })
    }
}

fn typed<'de, T: Deserialize<'de>>(name: &str, value: &'de RawValue, expected: &str) -> Result<T, Wrong> {
    serde_json::from_str(value.get())
        .map_err(|_| Wrong::Value(format!("\"{name}\" must be {expected}, but here is {}", shape(value))))
}

impl When {
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

    /// Says it as a person would. Nothing in it: nothing is said.
    pub fn words(&self) -> String {
        let zone = self.time_zone.as_ref().map(|zone| format!(" ({zone})")).unwrap_or_default();
        match (&self.every, &self.cron) {
            (Some(every), _) => format!("every {every}"),
            (None, Some(line)) => format!("at {line}{zone}"),
            (None, None) => String::new(),
        }
    }

    /// Says what is wrong with it, if anything is.
    pub fn check(&self) -> Result<(), Fault> {
        if self.every.is_some() && self.cron.is_some() {
            return Err(Fault::user("either an interval or a cron line says when a task comes round, not both"));
        }
        if self.time_zone.is_some() && self.cron.is_none() {
            return Err(Fault::user("a time zone is for a cron line: say that as well"));
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
    /// Returns the new content of the file whose content is `text`, if it has one. What the file says besides stays; one
    /// that cannot be read is left alone, and the sentence says why.
    pub fn apply(&self, path: &Path, text: Option<&str>) -> Result<String, String> {
        let mut fields = match text {
            None => Map::new(),
            Some(text) => {
                Plan::read(self.task, path, text)?;
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

/// Returns the hash of a task's id and what its file says. Spaces and the order of fields make no difference.
fn content_hash(task: TaskId, content: &RawValue) -> String {
    let content: Value = serde_json::from_str(content.get()).unwrap_or_default();
    trust::hash(&json!({ "task": task, "file": content }))
}

/// Returns an amount as people write it: dollars, with as many digits as it has.
fn dollars(amount: MicroUsd) -> Value {
    let whole = amount.0 / 1_000_000;
    if amount.0.is_multiple_of(1_000_000) { whole.into() } else { (amount.0 as f64 / 1e6).into() }
}

/// Returns a span such as `30m`, `6h` or `1d12h`.
fn interval(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("\"{}\" is not a span of time; write it like \"30m\", \"6h\" or \"1d12h\"", sanitize::line(text));
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
    if every < SHORTEST {
        return Err(wrong());
    }
    if every > LONGEST {
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
    line.find_next_occurrence(&start, false).map_err(|_| format!("\"{shown}\" is a time that never comes"))?;
    Ok(line)
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| {
        format!(
            "\"{}\" is not a time zone that this system knows; write it like \"Europe/Zurich\"",
            sanitize::line(name)
        )
    })
}

#[cfg(test)]
#[path = "recurring_tests.rs"]
mod tests;
