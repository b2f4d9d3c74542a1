//! The form in which a failure reaches the user: its kind, one sentence, and the next steps.
//!
//! Modules have their own typed errors. They become a `Fault` once, at the edge.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of a failure. Decides the exit code and whether a bug report makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The request cannot be fulfilled as given.
    User,
    /// A setting, a file or the environment is wrong.
    Config,
    /// The machine failed: disk, network, another process.
    Environment,
    /// Matrix violated one of its own invariants.
    Internal,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

    /// Adds a next step. Hints are shown in the order in which the user should try them.
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
