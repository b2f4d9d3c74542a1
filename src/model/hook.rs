//! Lifecycle hooks as data: the events that call them, and the record of a hook that ran.
//!
//! The names of the events are those of Claude Code where it has one, so that its hook files can be used.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An event of an agent's life that calls hooks. Stored by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub enum HookEvent {
    /// A tool call is about to be judged.
    PreToolUse,
    /// A tool call needs the user's permission.
    PermissionRequest,
    /// A tool call succeeded.
    PostToolUse,
    /// A tool call failed.
    PostToolUseFailure,
    /// The user sends a message.
    UserPromptSubmit,
    SessionStart,
    SessionEnd,
    /// An agent is about to sleep, or calls `done`.
    Stop,
    /// The agent of a sub task starts for the first time.
    SubagentStart,
    /// The agent of a sub task calls `done`.
    SubagentStop,
    PreCompact,
    PostCompact,
    /// Something needs the user's attention.
    Notification,
    /// A task is about to be created.
    TaskCreated,
    /// A task is about to pass or fail.
    TaskCompleted,
    WorktreeCreate,
    WorktreeRemove,
    /// A task's branch is about to be merged.
    MergeBefore,
    MergeAfter,
    BudgetWarned,
    AskRaised,
    AskAnswered,
    /// A response of the model is complete, with the calls that it makes.
    TurnEnd,
}

impl HookEvent {
    pub const ALL: [Self; 23] = [
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::UserPromptSubmit,
        Self::SessionStart,
        Self::SessionEnd,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
        Self::TaskCreated,
        Self::TaskCompleted,
        Self::WorktreeCreate,
        Self::WorktreeRemove,
        Self::MergeBefore,
        Self::MergeAfter,
        Self::BudgetWarned,
        Self::AskRaised,
        Self::AskAnswered,
        Self::TurnEnd,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Notification => "Notification",
            Self::TaskCreated => "TaskCreated",
            Self::TaskCompleted => "TaskCompleted",
            Self::WorktreeCreate => "WorktreeCreate",
            Self::WorktreeRemove => "WorktreeRemove",
            Self::MergeBefore => "MergeBefore",
            Self::MergeAfter => "MergeAfter",
            Self::BudgetWarned => "BudgetWarned",
            Self::AskRaised => "AskRaised",
            Self::AskAnswered => "AskAnswered",
            Self::TurnEnd => "TurnEnd",
        }
    }

    /// Returns true if the event is about a tool call, so that matchers and conditions look at the call.
    pub fn is_about_call(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PermissionRequest | Self::PostToolUse | Self::PostToolUseFailure)
    }

    /// Returns true if a hook can stop what is about to happen, or send the agent back.
    pub fn can_block(self) -> bool {
        match self {
            Self::PreToolUse
            | Self::PermissionRequest
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::UserPromptSubmit
            | Self::Stop
            | Self::SubagentStop
            | Self::PreCompact
            | Self::TaskCreated
            | Self::TaskCompleted
            | Self::WorktreeCreate
            | Self::MergeBefore => true,
            Self::SessionStart
            | Self::SessionEnd
            | Self::SubagentStart
            | Self::PostCompact
            | Self::Notification
            | Self::WorktreeRemove
            | Self::MergeAfter
            | Self::BudgetWarned
            | Self::AskRaised
            | Self::AskAnswered
            | Self::TurnEnd => false,
        }
    }

    /// Returns the event whose name is most similar, or `None` if none is similar.
    pub fn nearest(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let scored =
            Self::ALL.into_iter().map(|event| (strsim::jaro_winkler(&name, &event.name().to_lowercase()), event));
        let (score, event) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        (score >= 0.85).then_some(event)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no hook event \"{0}\"")]
pub struct UnknownHookEvent(pub String);

impl FromStr for HookEvent {
    type Err = UnknownHookEvent;

    fn from_str(name: &str) -> Result<Self, UnknownHookEvent> {
        let found = Self::ALL.into_iter().find(|event| event.name() == name);
        found.ok_or_else(|| UnknownHookEvent(name.to_owned()))
    }
}

/// What a hook decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    Allow,
    Ask,
    /// The call is refused.
    Deny,
    /// What was about to happen does not, or the agent goes on.
    Block,
    /// The agent's turn ends.
    Stop,
}

impl HookDecision {
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Ask => "asked",
            Self::Deny => "denied",
            Self::Block => "blocked",
            Self::Stop => "stopped",
        }
    }
}

/// How a hook ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEnd {
    /// It gave a valid answer.
    Answered,
    /// It could not be started, crashed, or gave an invalid answer.
    Failed,
    TimedOut,
    /// It was started, and nothing waited for its end.
    Background,
}

/// A lifecycle hook ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRan {
    pub event: HookEvent,
    /// The command line or the address.
    pub hook: String,
    pub ms: u64,
    pub end: HookEnd,
    /// The exit code, or the status of the HTTP response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<HookDecision>,
    /// It changed the input of the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_input: bool,
    /// The tool call it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The first line of its reason, message or error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// Its text is not part of the transcript.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suppressed: bool,
}

impl HookRan {
    /// Returns true if users should see it in the transcript: it decided, failed or said something.
    pub fn is_notable(&self) -> bool {
        let says = !self.line.is_empty() && !self.suppressed;
        self.decision.is_some() || self.changed_input || says || matches!(self.end, HookEnd::Failed | HookEnd::TimedOut)
    }

    /// Describes what happened, without the hook's own words: `PreToolUse hook denied: ./guard.sh`.
    pub fn sentence(&self) -> String {
        let what = match (self.end, self.decision) {
            (_, Some(decision)) => decision.word(),
            (HookEnd::Failed, None) => "failed",
            (HookEnd::TimedOut, None) => "timed out",
            (HookEnd::Background, None) => "was started",
            (HookEnd::Answered, None) if self.changed_input => "changed the input",
            (HookEnd::Answered, None) => "ran",
        };
        format!("{} hook {what}: {}", self.event, self.hook)
    }
}

#[cfg(test)]
#[path = "hook_tests.rs"]
mod tests;
