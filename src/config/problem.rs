//! Problems of settings files, with location and next step. All problems of a file are collected.
//!
//! Messages are safe to print: they name keys, and contain only values that cannot be secret.

use std::fmt;

use crate::base::{Fault, sanitize, text};
use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;

/// A file, and a position in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    pub file: String,
    /// `None` for the file as a whole.
    pub at: Option<Position>,
}

/// A line and a column in characters, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&sanitize::line(&self.file))?;
        match self.at {
            Some(Position { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is ignored; the rest is usable.
    Warning,
    /// An intended value is missing, so the settings must not be used.
    Error,
}

/// A problem and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: FileLocation,
    pub kind: ProblemKind,
}

/// A kind of problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// A repository's file was refused. The other files are used without it.
    #[error("this file is ignored: {0}")]
    Unreadable(String),
    #[error("invalid JSON: {0}")]
    Syntax(String),
    #[error("this file is not UTF-8 text (first invalid byte at {0}); save it as UTF-8")]
    NotUtf8(usize),
    #[error("this file starts with a byte order mark, which is ignored; save it as UTF-8 without one")]
    ByteOrderMark,
    #[error("settings must be one JSON object, {{\"key\": value}}, not {0}")]
    NotAnObject(&'static str),
    #[error("this file has format {0}, but this version of mxd supports only format 1; update mxd")]
    Newer(u64),
    #[error("there is no setting {key}; it is ignored{}", did_you_mean(.nearest.as_ref()))]
    Unknown { key: KeyPath, nearest: Option<String> },
    #[error("there is no hook event {event}; its hooks never run{}", did_you_mean(.nearest.as_ref()))]
    UnknownHookEvent { key: KeyPath, event: String, nearest: Option<String> },
    #[error("{key} is set more than once; only the last one counts")]
    Duplicate { key: KeyPath },
    #[error("{key} must be {expected}, not {found}; for example: {example}")]
    Wrong { key: KeyPath, expected: String, found: String, example: String },
    #[error("{key} has no \"{field}\"; for example: {example}")]
    Missing { key: KeyPath, field: &'static str, example: String },
    #[error("{key} {why}; for example: {example}")]
    Clash { key: KeyPath, why: &'static str, example: String },
    #[error("{key} is ignored in the {layer} settings: {why}; {instead}")]
    WrongLayer { key: KeyPath, layer: Layer, why: &'static str, instead: String },
    /// Only a warning, because variables are often set for other programs.
    #[error("the auth group {group} is ignored: this must be {expected}")]
    Variable { group: &'static str, expected: String },
    #[error("{key} names the auth group \"{name}\", which does not exist; {}", choose(.groups))]
    NoSuchGroup { key: KeyPath, name: String, groups: Vec<String> },
}

fn did_you_mean(nearest: Option<&String>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

fn choose(groups: &[String]) -> String {
    match groups {
        [] => "none is defined: add one under authGroups, or set ANTHROPIC_API_KEY or OPENAI_API_KEY".to_owned(),
        groups => format!("choose one of {}", groups.join(", ")),
    }
}

impl ProblemKind {
    pub fn severity(&self) -> Severity {
        match self {
            Self::Unreadable(_)
            | Self::ByteOrderMark
            | Self::Unknown { .. }
            | Self::UnknownHookEvent { .. }
            | Self::Duplicate { .. }
            | Self::WrongLayer { .. }
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

    /// Returns the setting that has the problem, or `None` if it is the whole file.
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
            | Self::UnknownHookEvent { key, .. }
            | Self::Duplicate { key }
            | Self::Wrong { key, .. }
            | Self::Missing { key, .. }
            | Self::Clash { key, .. }
            | Self::WrongLayer { key, .. }
            | Self::NoSuchGroup { key, .. } => Some(key),
        }
    }

    /// Returns true if the file cannot be parsed, so it must not be rewritten.
    pub fn is_unparseable(&self) -> bool {
        self.severity() == Severity::Error && self.key().is_none()
    }
}

impl Problem {
    pub fn severity(&self) -> Severity {
        self.kind.severity()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = self.kind.to_string();
        write!(f, "{}: {}", self.place, sanitize::line(&sentence))
    }
}

/// Returns the errors as one fault with a line each, or `None` if there are only warnings.
pub fn fault(problems: &[Problem]) -> Option<Fault> {
    let errors: Vec<String> =
        problems.iter().filter(|p| p.severity() == Severity::Error).map(ToString::to_string).collect();
    let message = match errors.as_slice() {
        [] => return None,
        [only] => only.clone(),
        many => format!("{} in the settings:\n{}", text::count(many.len(), "problem", "problems"), many.join("\n")),
    };
    let fault = Fault::config(message);
    let broken = problems.iter().any(|problem| problem.kind.is_unparseable());
    Some(fault.hint(if broken {
        "fix the file in an editor; it was not changed"
    } else {
        "fix the file, or use `mxd config set` and `mxd config unset`; `mxd config list` shows the effective values"
    }))
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        fault(std::slice::from_ref(&problem)).unwrap_or_else(|| Self::config(problem.to_string()))
    }
}
