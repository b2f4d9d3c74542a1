//! Events about a run that an outside program carries out: its session, its turns, its plan, and what it said that has
//! no event of its own.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::TurnId;

/// An event about an outside program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum BackendEvent {
    /// The program opened a session. Saved as soon as its id is known.
    Session { session: ForeignSession },
    /// A prompt is about to be sent. Until the turn ends, the program owes a response.
    Prompted { turn: TurnId },
    /// The program's plan. Replaces the one before.
    Plan { entries: Vec<PlanEntry> },
    /// The program did not list our tools, so its agent cannot call them.
    ToolsMissing,
    /// A message of the program that this version does not understand: its JSON as it came.
    Update { kind: String, raw: String },
    /// A notice of the program for the user.
    Notice { text: String },
}

/// A session of an outside program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ForeignSession {
    /// The backend that runs the program.
    pub backend: String,
    /// The program's id of the session.
    pub id: String,
    /// The name and version that the program states.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The protocol and its version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    pub origin: SessionOrigin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What was asked of the program and is not in effect, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// How a session of an outside program began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionOrigin {
    /// It is the task's first.
    New,
    /// The program continued the session of an earlier run.
    Continued,
    /// It replaces an earlier one, which could not be continued. The agent got a digest of the task's session.
    Replaced { reason: String },
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    pub content: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
}

impl BackendEvent {
    /// Returns the details beyond the one line.
    pub fn detail(&self) -> String {
        match self {
            Self::Session { session } => {
                let mut lines: Vec<String> = Vec::new();
                if let SessionOrigin::Replaced { reason } = &session.origin {
                    lines.push(format!("the earlier session could not be continued: {reason}"));
                }
                lines.extend(session.ignored.iter().map(|option| format!("not in effect: {option}")));
                lines.join("\n")
            }
            Self::Plan { entries } => {
                let line = |entry: &PlanEntry| match entry.status.as_str() {
                    "completed" => format!("[x] {}", entry.content),
                    "in_progress" => format!("[>] {}", entry.content),
                    _ => format!("[ ] {}", entry.content),
                };
                entries.iter().map(line).collect::<Vec<_>>().join("\n")
            }
            Self::Update { raw, .. } => raw.clone(),
            Self::Prompted { .. } | Self::ToolsMissing | Self::Notice { .. } => String::new(),
        }
    }
}

impl fmt::Display for BackendEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session { session } => {
                let name = if session.program.is_empty() { &session.backend } else { &session.program };
                write!(f, "{name}")?;
                if !session.version.is_empty() {
                    write!(f, " {}", session.version)?;
                }
                f.write_str(match session.origin {
                    SessionOrigin::New => " started a session",
                    SessionOrigin::Continued => " continued its session",
                    SessionOrigin::Replaced { .. } => " started a new session with a digest of the earlier one",
                })
            }
            Self::Prompted { .. } => f.write_str("prompt sent"),
            Self::Plan { entries } => {
                let done = entries.iter().filter(|entry| entry.status == "completed").count();
                write!(f, "plan: {done} of {} done", entries.len())
            }
            Self::ToolsMissing => f.write_str("the program did not connect to the tools of Matrix"),
            Self::Update { kind, .. } => write!(f, "message of the program: {kind}"),
            Self::Notice { text } => f.write_str(text),
        }
    }
}
