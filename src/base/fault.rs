//! The one form in which a failure reaches a person: whose it is, one sentence, and what to do next.
//!
//! Rooms keep their own typed errors; they become a `Fault` once, at the edge where a person will read it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose failure it is. Decides the exit code and whether a bug report makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The person asked for something that cannot be done as asked.
    User,
    /// A setting, a file or an environment is not as it must be.
    Config,
    /// The machine let us down: disk, network, another process.
    Environment,
    /// Matrix broke a rule of its own.
    Internal,
}

/// A failure with a next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    pub fn user(message: impl Into<String>) -> Self {
        Self::new(FaultKind::User, message)
    }

    pub fn config(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Config, message)
    }

    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Environment, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Internal, message)
    }

    /// Adds a next step, in the order in which it should be tried.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\n  hint: {hint}"))
    }
}

impl std::error::Error for Fault {}
