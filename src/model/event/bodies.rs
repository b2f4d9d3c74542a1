//! The payloads of events that are not defined elsewhere in the model.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::{AskId, EventId, MessageId, MicroUsd, TaskId, TurnId};
use crate::model::ask::Answer;
use crate::model::content::{BlobRef, Content, Image};
use crate::model::conversation::Wire;
use crate::model::fold::{OpenCall, SessionState};
use crate::model::task::{EditedBy, TaskNode};
use crate::model::tool::ToolSpec;

/// Messages that became part of the conversation, at this point and in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagesConsumed {
    pub ids: Vec<MessageId>,
}

/// Messages that were withdrawn before the agent saw them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagesWithdrawn {
    pub ids: Vec<MessageId>,
}

/// The fixed start of every request of a segment. Frozen until the next compaction, byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionConfig {
    pub model: String,
    pub wire: Wire,
    pub tools: Vec<ToolSpec>,
    pub system: SystemPrompt,
    pub cache: CachePolicy,
    pub max_output: u64,
    /// The thinking effort, in the vendor's own words. `None` for the vendor's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

/// The system prompt: the part that all agents share, then the part of this agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPrompt {
    pub stable: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variable: String,
}

/// How long a vendor should cache a prompt prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CacheLife {
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    #[serde(rename = "1h")]
    OneHour,
}

/// Cache lifetimes, from the front of the prefix to its end. They may only get shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachePolicy {
    /// Tools and system prompt.
    pub prefix: CacheLife,
    /// The conversation.
    pub messages: CacheLife,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self { prefix: CacheLife::OneHour, messages: CacheLife::FiveMinutes }
    }
}

/// Text of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantText {
    pub text: String,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call: String,
    pub name: String,
    /// The content for the model.
    pub content: Content,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The whole output, if the content is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<BlobRef>,
    /// The process that keeps running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<BackgroundRef>,
    /// The background process whose end this result reports. No message reports it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The new folder of the agent's shell: relative to its worktree, `.` for its root, or absolute. `None` if it did
    /// not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What decided whether the call may run. `None` if no rule and no mode had a say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<PermissionNote>,
    pub duration_ms: u64,
}

/// Whether a call was permitted, and what decided that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PermissionNote {
    pub granted: bool,
    #[serde(flatten)]
    pub by: PermissionCause,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum PermissionCause {
    Hook,
    /// The user's answer to the Ask of the call.
    User,
    Rule {
        list: String,
        source: String,
        rule: String,
        /// It matches only if an expansion in the command has a certain value.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        possibly: bool,
    },
    /// A removal or a write that no mode and no rule permits.
    Stop {
        what: String,
    },
    Mode {
        mode: String,
    },
    Coordination,
    ReadOnly,
    Sandbox,
    /// Nothing decided, so it needs the user's permission.
    Undecided {
        /// Why the command is not understood.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
}

impl Default for PermissionCause {
    fn default() -> Self {
        Self::Undecided { opaque: None }
    }
}

impl fmt::Display for PermissionCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook => f.write_str("a hook decided"),
            Self::User => f.write_str("you answered"),
            Self::Rule { list, source, rule, possibly: false } => write!(f, "{source} {list} rule {rule}"),
            Self::Rule { list, source, rule, possibly: true } => {
                write!(f, "{source} {list} rule {rule} may match, because the command contains an expansion")
            }
            Self::Stop { what } => f.write_str(what),
            Self::Mode { mode } => write!(f, "mode {mode}"),
            Self::Coordination => f.write_str("it concerns only tasks and messages"),
            Self::ReadOnly => f.write_str("it only reads"),
            Self::Sandbox => f.write_str("it runs inside the sandbox"),
            Self::Undecided { opaque: None } => f.write_str("no rule decides"),
            Self::Undecided { opaque: Some(why) } => write!(f, "the command is not understood: {why}"),
        }
    }
}

impl ToolResult {
    /// Returns the result of a call that was answered without running it.
    pub fn unrun(call: &OpenCall, text: &str, is_error: bool) -> Self {
        Self {
            call: call.call.clone(),
            name: call.name.clone(),
            content: Content::text(text),
            is_error,
            images: Vec::new(),
            full: None,
            background: None,
            ended: None,
            cwd: None,
            permission: None,
            duration_ms: 0,
        }
    }
}

/// A process that outlives the tool call that started it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BackgroundRef {
    pub id: String,
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
    Pause,
    ContextOverflow,
    /// Matrix stopped it: the response so far was saved.
    Interrupted,
    /// A word that this version does not know.
    Other(String),
}

/// A response is complete: everything up to here came from one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    pub turn: TurnId,
    pub stop: StopReason,
}

/// Why a compaction started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactTrigger {
    Threshold,
    Manual,
    Overflow,
}

/// A compaction started. Without a marker after it, it did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactStarted {
    pub trigger: CompactTrigger,
}

/// A summary replaces the events before its `compact_started`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactMarker {
    pub summary: String,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// The state at this point. Filled in by the store, which alone knows the preceding events.
    #[serde(default)]
    pub carry: Box<SessionState>,
}

/// This session continues a copy of another one. The last marker determines the agent's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkMarker {
    pub source: TaskId,
    /// The last copied event of the source.
    pub source_event: EventId,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The task was given to another profile. The conversation before this event is retired: it can be read, searched and
/// forked, and is never continued. Costs, messages and open questions stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The full name of the old profile. `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The full name of the new profile.
    pub to: String,
    pub by: EditedBy,
    /// Who wrote the note.
    pub author: NoteAuthor,
    pub facts: HandoverFacts,
    /// The state at this point. Filled in by the store.
    #[serde(default)]
    pub carry: Box<SessionState>,
}

/// Who wrote the note of a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteAuthor {
    /// Whoever handed the task over.
    Giver,
    /// Matrix, from the session.
    Session,
}

/// The state of a task's work at a hand-over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HandoverFacts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default)]
    pub ahead: usize,
    #[serde(default)]
    pub behind: usize,
    /// The number of files with uncommitted changes.
    #[serde(default)]
    pub uncommitted: usize,
    /// The subjects of the branch's commits, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// The command of the last check, and whether it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<(String, bool)>,
    #[serde(default)]
    pub open_asks: usize,
    #[serde(default)]
    pub unread: usize,
    #[serde(default)]
    pub cost: MicroUsd,
}

/// The state of a log's tail, which decides how to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeShape {
    Fresh,
    Interrupted,
    PendingYield,
    PendingDone,
    Parked,
    NeedsRepair,
    Held,
}

/// A run started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    pub shape: ResumeShape,
    pub profile: String,
    pub model: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    DonePassed,
    DoneFailed,
    Interrupted(InterruptReason),
}

/// Why a run ended without a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptReason {
    /// The user stopped it.
    Stopped,
    /// The program quit.
    Quit,
    /// The task was reset, closed or deleted.
    TaskGone,
    Budget,
    TurnLimit,
    /// The model API did not answer.
    Provider(String),
    /// The outside program that carried out the run failed.
    Program(String),
    /// The disk refused an event.
    Storage(String),
    Internal(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    pub exit: Exit,
    /// The result of a finished task, in its agent's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// The earlier event that decided the exit: the user's answer to a question. Messages after it count as new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<EventId>,
}

impl From<Exit> for RunEnded {
    fn from(exit: Exit) -> Self {
        Self { exit, result: String::new(), decided: None }
    }
}

/// Whether a finished task reached its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Passed,
    Failed,
}

/// The parent task has been notified, durably, that this task is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneNotified {
    pub verdict: Verdict,
    pub result: String,
}

/// A held call starts to run. Its outcome is unknown until it has a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReleased {
    pub call: String,
    /// The answered Ask.
    pub ask: AskId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskAnswered {
    pub id: AskId,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskWithdrawn {
    pub id: AskId,
    pub reason: String,
}

/// The user allows the agent to exceed a limit, for the rest of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The answered Ask.
    pub ask: AskId,
    #[serde(flatten)]
    pub grant: Grant,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "grant", rename_all = "snake_case")]
pub enum Grant {
    /// The total number of turns that may end before the user is asked again.
    Turns { up_to: u64 },
    /// Under a budget, this model may be used although its price is unknown.
    Unpriced { model: String },
    /// A budget may be exceeded up to an amount.
    Money { allowance: Allowance },
    /// Requests may be sent although the fixed prefix fills the context window.
    Overfull,
    /// The number of tasks that may be open in the project before the user is asked again.
    Tasks { up_to: u32 },
    /// No tasks beyond the limits, and no further question about that.
    NoMoreTasks,
    /// The task may be declared done, once, although its check fails.
    Unchecked,
    /// Calls that match one of these permission rules run in this task without asking.
    Calls { rules: Vec<String> },
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turns { up_to } => write!(f, "may have up to {up_to} turns"),
            Self::Unpriced { model } => write!(f, "may use {model} without a limit: its price is unknown"),
            Self::Money { allowance } => {
                write!(f, "may spend up to {} of the budget of {}", allowance.up_to, allowance.limit)
            }
            Self::Overfull => write!(f, "may continue with a context that is too large"),
            Self::Tasks { up_to } => write!(f, "may create tasks until {up_to} are open"),
            Self::NoMoreTasks => write!(f, "may not create more tasks than the limits allow"),
            Self::Unchecked => write!(f, "may be done although its check fails"),
            Self::Calls { rules } => write!(f, "may run in this task: {}", rules.join(", ")),
        }
    }
}

/// The scope of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    Task,
    Subtree,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetWarning {
    pub scope: BudgetScope,
    pub spent: MicroUsd,
    pub limit: MicroUsd,
}

/// An agent's permission to exceed one budget. It ends when the budget's limit is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    pub scope: BudgetScope,
    pub limit: MicroUsd,
    pub up_to: MicroUsd,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BudgetExceeded {
    pub scope: BudgetScope,
    pub spent: MicroUsd,
    pub limit: MicroUsd,
}

impl BudgetExceeded {
    /// Returns the grant that raises the limit to what is spent and `amount`.
    pub fn allow(&self, amount: MicroUsd) -> Grant {
        Grant::Money { allowance: Allowance { scope: self.scope, limit: self.limit, up_to: self.spent + amount } }
    }
}

/// An error, worded for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorNote {
    /// A stable word for the kind of failure: `rate_limit`, `network`, `storage` …
    pub class: String,
    pub message: String,
    /// Set if it will be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub number: u32,
    pub of: u32,
    pub wait_ms: u64,
}

/// The log was repaired; each line describes one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    pub steps: Vec<String>,
}

/// Why the head moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveReason {
    Rewind,
    Edit,
    Repair,
    Redo,
}

/// The chain continues from `to`, which is also this event's parent. Later events stay in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadMoved {
    /// `None` for the very beginning.
    pub to: Option<EventId>,
    /// The old head, so that the move can be undone. Filled in by the store.
    #[serde(default)]
    pub from: Option<EventId>,
    pub reason: MoveReason,
    /// The state after the move: costs stay spent, messages stay sent. Filled in by the store.
    #[serde(default)]
    pub carry: Box<SessionState>,
}

/// The worktree's state after a turn, as a git tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub turn: TurnId,
    pub tree: String,
}

/// The task's node changed. Recorded so that the tree can be rebuilt from sessions alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum TaskChanged {
    Set { node: Box<TaskNode> },
    Removed,
}
