//! An Ask: something only the person can answer. One type for questions, failures, budgets and reviews.

use serde::{Deserialize, Serialize};

use crate::base::{AskId, ProjectId, Timestamp};

/// Why the person is asked. Decides glyph and order, never how the answer travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// An agent has a question.
    Clarify,
    /// A tool call waits for permission.
    Permission,
    /// A task could not be launched.
    LaunchFailed,
    /// The model API kept failing.
    RetriesExhausted,
    /// A budget is spent.
    Budget,
    /// An agent repeats itself.
    Loop,
    /// An agent has had as many turns as its profile allows.
    TurnLimit,
    /// The model stopped for a reason that only a person can judge: it refused, or used a word nobody knows.
    ModelStopped,
    /// A summary could not be made.
    CompactionFailed,
    /// A worktree's setup hook failed.
    SetupHook,
    /// A repository wants to start a program.
    McpApproval,
    /// A branch is ready to be looked at.
    Review,
    /// The check of a task's work keeps failing in the same way.
    CheckFailed,
    /// An agent wants to make more tasks than the settings allow.
    TaskLimit,
    /// The repository, or another project, wants something that the user has not allowed: [`Ask::approval`] says what.
    Approval,
}

/// Something that only the user can allow. The local settings of the project keep the decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Approval {
    /// Starts the tool server whose entry has this hash.
    McpServer { hash: String },
    /// Runs a recurring task whose id and file together have this hash.
    RecurringTask { hash: String },
    /// Runs the setup hook with this hash in new worktrees.
    SetupHook { hash: String },
    /// Gives messages from this project to the root.
    Project { project: ProjectId },
}

/// Whether the agent waits for the answer or goes on meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskMode {
    #[default]
    Blocks,
    Continues,
}

/// A question to the person, with everything needed to answer it after any restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    pub kind: AskKind,
    /// One line: what is asked.
    pub question: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// What a timeout answers. Absent: it waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default)]
    pub mode: AskMode,
    /// When the default answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The tool call that is held by this Ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<String>,
    /// What an answer allows or declines, for an Ask of kind [`AskKind::Approval`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// Who gave an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    Person,
    /// The deadline passed and the default was taken.
    Timeout,
}

/// The answer to an Ask: always a text; a choice is said by its label and position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub text: String,
    /// Which of the choices it was, counted from zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<usize>,
    pub by: AnsweredBy,
}
