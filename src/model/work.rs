//! What was done with a task's files: checked, landed, reviewed, rewound. The payload of one kind of event, and its parts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::{EventId, MessageId, TaskId, Timestamp, TurnId, text};
use crate::model::content::BlobRef;

/// Something that was done with the work of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Work {
    /// The project's check was run.
    Verified { receipt: Receipt },
    /// Its branch was brought into another.
    Landed { landing: Landing },
    /// The last landing was taken back.
    LandingUndone { undo: String, at: Timestamp },
    /// A merge waits until the agent that works where the target is checked out pauses. A later one replaces it.
    MergeQueued { queued: QueuedMerge },
    /// The queued merge will not be made.
    MergeDequeued { reason: DequeueReason },
    /// The person looked at the work and said what should be different.
    Reviewed { round: Round },
    /// Conversation or files are what they were after an earlier turn.
    Rewound { rewound: Rewound },
    /// The last rewind was taken back.
    Redone { at: Timestamp },
    /// Files are about to go back. Without a word on how that ended, it is finished at the next start.
    Moving { moving: Moving },
    /// It did not work out.
    Stayed { reason: String },
    /// The person has looked at the work with which a run ended, and it counts.
    Approved { exit: EventId, at: Timestamp },
}

impl Work {
    /// Returns what there is to read about it, beyond the one line.
    pub fn detail(&self) -> String {
        match self {
            Self::Verified { receipt } => receipt.output.clone(),
            Self::Reviewed { round } => round.to_string(),
            Self::Stayed { reason } | Self::MergeDequeued { reason: DequeueReason::Failed(reason) } => reason.clone(),
            Self::Landed { .. }
            | Self::LandingUndone { .. }
            | Self::MergeQueued { .. }
            | Self::MergeDequeued { .. }
            | Self::Rewound { .. }
            | Self::Redone { .. }
            | Self::Moving { .. }
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
            Self::Landed { landing } => {
                let verb = match landing.how {
                    How::Merge => "merged",
                    How::Squash => "squashed",
                    How::Rebase => "rebased",
                };
                write!(f, "{verb} into {}", landing.target)
            }
            Self::LandingUndone { .. } => f.write_str("the merge was taken back"),
            Self::MergeQueued { queued } => write!(f, "merge into {} queued", queued.target),
            Self::MergeDequeued { reason } => write!(f, "queued merge dropped: {reason}"),
            Self::Reviewed { round } => {
                write!(f, "reviewed: {}", text::count(round.comments.len(), "comment", "comments"))
            }
            Self::Rewound { rewound } => f.write_str(match rewound.extent {
                Extent::Conversation => "the conversation was rewound",
                Extent::Files => "the files were rewound",
                Extent::Both => "conversation and files were rewound",
            }),
            Self::Redone { .. } => f.write_str("the rewind was taken back"),
            Self::Moving { .. } => f.write_str("files are going back"),
            Self::Stayed { .. } => f.write_str("files could not go back"),
            Self::Approved { .. } => f.write_str("approved by you"),
        }
    }
}

/// What a check came to, and of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub command: String,
    /// The commit that was checked.
    pub commit: String,
    /// Whether files were checked that are not in that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// Nothing: it was ended by a signal, took too long or could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    pub at: Timestamp,
    pub duration_ms: u64,
    /// What it printed: of much, the beginning and the end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// All of what it printed, where `output` is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<BlobRef>,
}

impl Receipt {
    pub fn passed(&self) -> bool {
        self.exit == Some(0)
    }

    /// Tells whether both checks failed in the same way. Numbers in what they printed do not count: times differ.
    pub fn fails_like(&self, other: &Self) -> bool {
        let words = |receipt: &Self| receipt.output.replace(|c: char| c.is_ascii_digit(), "");
        !self.passed() && self.command == other.command && self.exit == other.exit && words(self) == words(other)
    }

    /// Tells whether it speaks for a commit: for that one, and for nothing besides it.
    pub fn covers(&self, commit: &str) -> bool {
        !self.dirty && self.commit == commit
    }
}

/// How a branch is brought into another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A commit with both as parents.
    #[default]
    Merge,
    /// One commit with everything.
    Squash,
    /// Each commit again, on top of the target.
    Rebase,
}

/// What a merge does about conflicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// Nothing is changed, and the user is told.
    #[default]
    Refuse,
    /// Nothing is changed, and the agent gets a message with the files and both sides.
    AskAgent,
    /// The user has solved them, in drafts of the files: the task's branch takes the target in with that, is checked, and is
    /// merged.
    Solved,
}

/// A merge that waits for a pause of the agent that works where the target is checked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedMerge {
    /// The branch that it goes into.
    pub target: String,
    /// The task that works where the target is checked out.
    pub host: TaskId,
    pub how: How,
    #[serde(default)]
    pub conflicts: OnConflict,
    pub at: Timestamp,
}

/// Why a queued merge is not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DequeueReason {
    /// The user cancelled it.
    Cancelled,
    /// The agent of the task works again: its branch is no longer what the user decided to merge.
    TaskWorks,
    /// The task was closed, deleted, reset or rewound.
    TaskChanged,
    /// The target has everything already.
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
            Self::TaskWorks => "the task is at work again",
            Self::TaskChanged => "the task was closed, deleted, reset or rewound",
            Self::NothingToMerge => "nothing to merge",
            Self::AgentAsked => "the agent was asked to resolve conflicts",
            Self::Failed(_) => "it could not be merged",
        })
    }
}

/// A branch that was brought into another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// The branch that it went into.
    pub target: String,
    pub how: How,
    /// The target before and after.
    pub from: String,
    pub to: String,
    /// What takes it back.
    pub undo: String,
    pub at: Timestamp,
}

/// Which side of a difference a comment is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Old,
    #[default]
    New,
}

/// Something the person said about some lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub file: String,
    #[serde(default)]
    pub side: Side,
    /// The first and the last line, counted from one. Nothing: it is about the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// What these lines say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    pub text: String,
}

/// One round of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub comments: Vec<Comment>,
    /// What was said about all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// The state of the files that was looked at, as a git tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The message in which the agent got it.
    pub message: MessageId,
}

impl fmt::Display for Round {
    /// Writes the round as the agent reads it: what was said about all of it, then each comment with its place and the
    /// lines that it is about.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if !self.words.trim().is_empty() {
            parts.push(self.words.trim().to_owned());
        }
        parts.extend(self.comments.iter().map(ToString::to_string));
        f.write_str(&parts.join("\n\n"))
    }
}

impl fmt::Display for Comment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.lines {
            Some((first, last)) if first == last => write!(f, ":{first}")?,
            Some((first, last)) => write!(f, ":{first}-{last}")?,
            None => {}
        }
        if self.side == Side::Old {
            f.write_str(" (as it was before)")?;
        }
        for line in self.quote.lines() {
            write!(f, "\n> {line}")?;
        }
        write!(f, "\n{}", self.text.trim())
    }
}

/// What goes back to an earlier turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    Conversation,
    Files,
    #[default]
    Both,
}

impl Extent {
    pub fn has_conversation(self) -> bool {
        matches!(self, Self::Conversation | Self::Both)
    }

    pub fn has_files(self) -> bool {
        matches!(self, Self::Files | Self::Both)
    }
}

/// Where a conversation and its files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// To right after a turn. Nothing: to the very beginning.
    After(Option<TurnId>),
    /// To right before a message was read.
    Before(MessageId),
    /// To where they were before the last rewind.
    Redo,
}

/// A rewind that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    pub aim: Aim,
    pub extent: Extent,
    /// The snapshot of the files before, by the turn it is kept under.
    pub files: TurnId,
    /// What is to be said instead of the message that is gone back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// A rewind, with what takes it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewound {
    pub extent: Extent,
    /// The turn after which things are as they are now. Nothing: before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<TurnId>,
    /// Where the conversation was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<EventId>,
    /// The snapshot of the files before, by the turn it is kept under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<TurnId>,
    /// The commit that the task's branch was at, if it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    pub at: Timestamp,
}
