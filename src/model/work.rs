//! Events about a task's work: checks, merges, reviews, rewinds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::{EventId, MessageId, TaskId, Timestamp, TurnId, text};
use crate::model::content::BlobRef;

/// An event about the work of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Work {
    /// The check was run.
    Verified { receipt: CheckResult },
    /// The task's branch was merged.
    #[serde(rename = "landed")]
    Merged {
        #[serde(rename = "landing")]
        merge: MergeRecord,
    },
    /// The last merge was undone.
    #[serde(rename = "landing_undone")]
    MergeUndone { undo: String, at: Timestamp },
    /// A merge waits until the agent in the target's checkout pauses. A later one replaces it.
    MergeQueued { queued: QueuedMerge },
    /// The queued merge was dropped.
    MergeDequeued { reason: DequeueReason },
    /// The user reviewed the work.
    Reviewed { round: ReviewRound },
    /// Conversation or files were rewound to an earlier turn.
    Rewound { rewound: Rewound },
    /// The last rewind was redone.
    Redone { at: Timestamp },
    /// A rewind of files started. Without an event about its end, the next start finishes it.
    #[serde(rename = "moving")]
    RewindStarted {
        #[serde(rename = "moving")]
        intent: RewindIntent,
    },
    /// The rewind failed.
    #[serde(rename = "stayed")]
    RewindFailed { reason: String },
    /// The user approved the work with which a run ended.
    Approved { exit: EventId, at: Timestamp },
}

impl Work {
    /// Returns the details beyond the one line.
    pub fn detail(&self) -> String {
        match self {
            Self::Verified { receipt } => receipt.output.clone(),
            Self::Reviewed { round } => round.to_string(),
            Self::RewindFailed { reason } | Self::MergeDequeued { reason: DequeueReason::Failed(reason) } => {
                reason.clone()
            }
            Self::Merged { .. }
            | Self::MergeUndone { .. }
            | Self::MergeQueued { .. }
            | Self::MergeDequeued { .. }
            | Self::Rewound { .. }
            | Self::Redone { .. }
            | Self::RewindStarted { .. }
            | Self::Approved { .. } => String::new(),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verified { receipt } => {
                let verdict = if receipt.passed() { "passed" } else { "failed" };
                write!(f, "checked with `{}`: {verdict}", receipt.command)
            }
            Self::Merged { merge } => {
                let verb = match merge.how {
                    MergeStrategy::Merge => "merged",
                    MergeStrategy::Squash => "squashed",
                    MergeStrategy::Rebase => "rebased",
                };
                write!(f, "{verb} into {}", merge.target)
            }
            Self::MergeUndone { .. } => f.write_str("merge undone"),
            Self::MergeQueued { queued } => write!(f, "merge into {} queued", queued.target),
            Self::MergeDequeued { reason } => write!(f, "queued merge dropped: {reason}"),
            Self::Reviewed { round } => {
                write!(f, "reviewed: {}", text::count(round.comments.len(), "comment", "comments"))
            }
            Self::Rewound { rewound } => f.write_str(match rewound.extent {
                RewindScope::Conversation => "conversation rewound",
                RewindScope::Files => "files rewound",
                RewindScope::Both => "conversation and files rewound",
            }),
            Self::Redone { .. } => f.write_str("redo: rewind undone"),
            Self::RewindStarted { .. } => f.write_str("rewinding files"),
            Self::RewindFailed { .. } => f.write_str("files could not be rewound"),
            Self::Approved { .. } => f.write_str("approved by you"),
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckResult {
    pub command: String,
    /// The commit that was checked.
    pub commit: String,
    /// Whether there were uncommitted changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// `None` if a signal ended it, it timed out or could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    pub at: Timestamp,
    pub duration_ms: u64,
    /// The output; of a long one, the start and the end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The whole output, if `output` is only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<BlobRef>,
}

impl CheckResult {
    pub fn passed(&self) -> bool {
        self.exit == Some(0)
    }

    /// Returns true if both checks failed in the same way. Numbers in the output are ignored: times differ.
    pub fn fails_like(&self, other: &Self) -> bool {
        let words = |receipt: &Self| receipt.output.replace(|c: char| c.is_ascii_digit(), "");
        !self.passed() && self.command == other.command && self.exit == other.exit && words(self) == words(other)
    }

    /// Returns true if the check is valid for exactly this commit.
    pub fn covers(&self, commit: &str) -> bool {
        !self.dirty && self.commit == commit
    }
}

/// How a branch is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeStrategy {
    /// A commit with both as parents.
    #[default]
    Merge,
    /// One commit with everything.
    Squash,
    /// Each commit again, on top of the target.
    Rebase,
}

/// How a merge handles conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// Nothing is changed, and the user is told.
    #[default]
    Refuse,
    /// Nothing is changed, and the agent gets a message with the files and both sides.
    AskAgent,
    /// The user has resolved them in drafts of the files: the target is merged into the task's branch with that
    /// resolution, the result is checked, and then merged.
    Solved,
}

/// A merge that waits for a pause of the agent in the target's checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueuedMerge {
    /// The target branch.
    pub target: String,
    /// The task that works in the target's checkout.
    pub host: TaskId,
    pub how: MergeStrategy,
    #[serde(default)]
    pub conflicts: OnConflict,
    pub at: Timestamp,
}

/// Why a queued merge was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DequeueReason {
    /// The user cancelled it.
    Cancelled,
    /// The agent of the task works again: its branch is no longer what the user decided to merge.
    TaskWorks,
    /// The task was closed, deleted, reset or rewound.
    TaskChanged,
    /// The target already has everything.
    NothingToMerge,
    /// It conflicts, and the task's agent was asked to resolve that.
    AgentAsked,
    /// It was tried and refused: conflicts, a check, the checkout.
    Failed(String),
}

impl fmt::Display for DequeueReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "cancelled",
            Self::TaskWorks => "the task is working again",
            Self::TaskChanged => "the task was closed, deleted, reset or rewound",
            Self::NothingToMerge => "nothing to merge",
            Self::AgentAsked => "the agent was asked to resolve conflicts",
            Self::Failed(_) => "it could not be merged",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergeRecord {
    /// The target branch.
    pub target: String,
    pub how: MergeStrategy,
    /// The target before and after.
    pub from: String,
    pub to: String,
    /// The ref that undoes it.
    pub undo: String,
    pub at: Timestamp,
}

/// The side of a diff that a comment is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    Old,
    #[default]
    New,
}

/// A comment of the user on some lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReviewComment {
    pub file: String,
    #[serde(default)]
    pub side: DiffSide,
    /// The first and the last line, counted from one. `None` for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// The text of these lines.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    pub text: String,
}

/// One round of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRound {
    pub comments: Vec<ReviewComment>,
    /// The general comment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// The reviewed state of the files, as a git tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The message to the agent.
    pub message: MessageId,
}

impl fmt::Display for ReviewRound {
    /// Writes the review for the agent: the general comment, then each comment with its location and lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if !self.words.trim().is_empty() {
            parts.push(self.words.trim().to_owned());
        }
        parts.extend(self.comments.iter().map(ToString::to_string));
        f.write_str(&parts.join("\n\n"))
    }
}

impl fmt::Display for ReviewComment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.lines {
            Some((first, last)) if first == last => write!(f, ":{first}")?,
            Some((first, last)) => write!(f, ":{first}-{last}")?,
            None => {}
        }
        if self.side == DiffSide::Old {
            f.write_str(" (as it was before)")?;
        }
        for line in self.quote.lines() {
            write!(f, "\n> {line}")?;
        }
        write!(f, "\n{}", self.text.trim())
    }
}

/// What a rewind affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    Conversation,
    Files,
    #[default]
    Both,
}

impl RewindScope {
    pub fn has_conversation(self) -> bool {
        matches!(self, Self::Conversation | Self::Both)
    }

    pub fn has_files(self) -> bool {
        matches!(self, Self::Files | Self::Both)
    }
}

/// The target of a rewind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindTarget {
    /// Right after a turn. `None` for the very beginning.
    After(Option<TurnId>),
    /// Right before a message was consumed.
    Before(MessageId),
    /// The state before the last rewind.
    Redo,
}

/// A rewind in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindIntent {
    #[serde(rename = "aim")]
    pub target: RewindTarget,
    pub extent: RewindScope,
    /// The turn under which the snapshot of the files before the rewind is stored.
    pub files: TurnId,
    /// The message that replaces the rewound one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// A finished rewind, with the data to redo it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewound {
    pub extent: RewindScope,
    /// The turn that was rewound to. `None` for the state before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<TurnId>,
    /// The old head of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<EventId>,
    /// The turn under which the snapshot of the files before the rewind is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<TurnId>,
    /// The old commit of the task's branch, if it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    pub at: Timestamp,
}
