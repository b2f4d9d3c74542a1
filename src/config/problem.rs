//! What is wrong with a file of settings, where, and what to do about it. Problems are collected, never the first only.
//!
//! A sentence about a problem names keys and shows values that cannot be secret; of anything else it says only what
//! kind of thing was found. It is safe to print.

use std::fmt;

use crate::base::{Fault, sanitize, text};
use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;

/// A position in a file: line and column count characters, from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    /// Nothing: the file as a whole.
    pub at: Option<Spot>,
}

/// A line and a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&sanitize::line(&self.file))?;
        match self.at {
            Some(Spot { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Whether the rest of the settings can be used as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is ignored; what remains means what it says.
    Warning,
    /// A value that somebody meant is missing.
    Error,
}

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    pub trouble: Trouble,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// A file of a repository that was refused: the rest of the settings is used without it.
    #[error("this file is ignored: {0}")]
    Unreadable(String),
    #[error("this is not JSON: {0}")]
    Syntax(String),
    #[error("this file is not UTF-8 text (byte {0} is the first that cannot be read); save it as UTF-8")]
    NotUtf8(usize),
    #[error("this file starts with a byte order mark, which is ignored; save it as UTF-8 without one")]
    ByteOrderMark,
    #[error("settings are one JSON object, {{\"key\": value}}, but this file holds {0}")]
    NotAnObject(&'static str),
    #[error("this file has format {0} and this version of mxd knows only format 1; use a newer mxd")]
    Newer(u64),
    #[error("there is no setting {key}; it is ignored{}", meant(.nearest.as_ref()))]
    Unknown { key: KeyPath, nearest: Option<String> },
    #[error("{key} is written more than once; only the last one counts")]
    Duplicate { key: KeyPath },
    #[error("{key} must be {expected}, but here is {found}; for example: {example}")]
    Wrong { key: KeyPath, expected: String, found: String, example: String },
    #[error("{key} has no \"{field}\"; for example: {example}")]
    Missing { key: KeyPath, field: &'static str, example: String },
    #[error("{key} {why}; for example: {example}")]
    Clash { key: KeyPath, why: &'static str, example: String },
    #[error("{key} is ignored in the {layer} settings: {why}; {instead}")]
    NotHere { key: KeyPath, layer: Layer, why: &'static str, instead: String },
    /// A variable is not a file: it was often set for other programs, so it stops nothing.
    #[error("it is ignored, and with it the auth group {group}: it must be {expected}")]
    Variable { group: &'static str, expected: String },
    #[error("{key} names the auth group \"{name}\", which does not exist; {}", choose(.groups))]
    NoSuchGroup { key: KeyPath, name: String, groups: Vec<String> },
}

fn meant(nearest: Option<&String>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

fn choose(groups: &[String]) -> String {
    match groups {
        [] => "none is defined: add one under authGroups, or set ANTHROPIC_API_KEY or OPENAI_API_KEY".to_owned(),
        groups => format!("choose one of {}", groups.join(", ")),
    }
}

impl Trouble {
    pub fn severity(&self) -> Severity {
        match self {
            Self::Unreadable(_)
            | Self::ByteOrderMark
            | Self::Unknown { .. }
            | Self::Duplicate { .. }
            | Self::NotHere { .. }
            | Self::Variable { .. } => Severity::Warning,
            Self::Syntax(_)
            | Self::NotUtf8(_)
            | Self::NotAnObject(_)
            | Self::Newer(_)
            | Self::Wrong { .. }
            | Self::Missing { .. }
            | Self::Clash { .. }
            | Self::NoSuchGroup { .. } => Severity::Error,
        }
    }

    /// Returns the setting that is wrong. Nothing: the file is.
    pub fn key(&self) -> Option<&KeyPath> {
        match self {
            Self::Unreadable(_)
            | Self::Syntax(_)
            | Self::NotUtf8(_)
            | Self::ByteOrderMark
            | Self::NotAnObject(_)
            | Self::Newer(_)
            | Self::Variable { .. } => None,
            Self::Unknown { key, .. }
            | Self::Duplicate { key }
            | Self::Wrong { key, .. }
            | Self::Missing { key, .. }
            | Self::Clash { key, .. }
            | Self::NotHere { key, .. }
            | Self::NoSuchGroup { key, .. } => Some(key),
        }
    }

    /// Tells whether the file cannot be read as settings at all, so that no part of it may be rewritten.
    pub fn spoils_the_file(&self) -> bool {
        self.severity() == Severity::Error && self.key().is_none()
    }
}

impl Problem {
    pub fn severity(&self) -> Severity {
        self.trouble.severity()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = self.trouble.to_string();
        write!(f, "{}: {}", self.place, sanitize::line(&sentence))
    }
}

/// Returns the errors among `problems` as one fault with a sentence each, or nothing if there are only warnings.
pub fn fault(problems: &[Problem]) -> Option<Fault> {
    let errors: Vec<String> =
        problems.iter().filter(|p| p.severity() == Severity::Error).map(ToString::to_string).collect();
    let message = match errors.as_slice() {
        [] => return None,
        [only] => only.clone(),
        many => format!("{} in the settings:\n{}", text::count(many.len(), "problem", "problems"), many.join("\n")),
    };
    let fault = Fault::config(message);
    let broken = problems.iter().any(|problem| problem.trouble.spoils_the_file());
    Some(fault.hint(if broken {
        "correct the file in an editor; nothing in it has been changed"
    } else {
        "correct the file, or use `mxd config set` and `mxd config unset`; `mxd config list` shows what is in force"
    }))
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        fault(std::slice::from_ref(&problem)).unwrap_or_else(|| Self::config(problem.to_string()))
    }
}
