//! The entries of a transcript: plain data, laid out by `layout`.
//!
//! Every change of an entry bumps its version, which invalidates cached layouts.

use crate::base::{EventId, MessageId, TaskId, Timestamp};
use crate::model::ask::{Answer, Ask};
use crate::model::conversation::ToolUse;
use crate::model::event::{CompactTrigger, ErrorNote, ToolResult, Verdict};
use crate::model::{BlobRef, Content, Image};

/// Identifies an entry. Log entries come first, in log order; live entries come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryId {
    Event(EventId),
    Live(LivePart),
}

/// The part of the response that is being streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LivePart {
    Thinking,
    Text,
    Call,
}

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub id: EntryId,
    pub at: Timestamp,
    /// The turn, counted from the first loaded one.
    pub turn: u64,
    pub version: u32,
    /// The conversation was rewound to before it.
    pub undone: bool,
    pub kind: EntryKind,
}

impl Entry {
    pub fn new(id: EntryId, at: Timestamp, turn: u64, kind: EntryKind) -> Self {
        Self { id, at, turn, version: 0, undone: false, kind }
    }

    pub fn bump_version(&mut self) {
        self.version = self.version.wrapping_add(1);
    }
}

/// The delivery state of a user message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryState {
    /// In the log, not yet read by the agent.
    #[default]
    Sent,
    Read,
    Withdrawn,
}

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Quiet,
    Warn,
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EntryKind {
    /// A message from the user.
    UserMessage {
        message: MessageId,
        text: String,
        images: Vec<Image>,
        delivery: DeliveryState,
    },
    /// Text from the agent.
    Text {
        text: String,
    },
    Thinking {
        text: String,
        hidden: bool,
    },
    Tool(Box<ToolEntry>),
    /// A message from another task.
    TaskMessage {
        other: Option<TaskId>,
        name: String,
        text: String,
        reply: bool,
    },
    /// A subtask finished.
    Completion {
        task: TaskId,
        title: String,
        verdict: Verdict,
        text: String,
    },
    /// This task finished.
    Done {
        verdict: Verdict,
        text: String,
    },
    Ask {
        ask: Box<Ask>,
        answer: Option<Answer>,
        withdrawn: Option<String>,
    },
    /// A summary replaced the conversation above.
    Compaction {
        trigger: Option<CompactTrigger>,
        done: Option<Summary>,
    },
    Error(ErrorNote),
    /// A rule that starts a new part: a run, a fork.
    Separator {
        text: String,
    },
    /// One line from Matrix itself, with details to unfold.
    Notice {
        tone: Tone,
        text: String,
        more: String,
    },
    /// A tool call that the model is writing.
    Writing {
        name: String,
        bytes: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    pub before: u64,
    pub after: u64,
}

/// A tool call and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEntry {
    /// The call id, which joins the call with its result and its output.
    pub call: String,
    pub name: String,
    /// `None` if the call is older than the loaded events.
    pub asked: Option<ToolUse>,
    pub result: Option<ToolResult>,
    /// Live output, until the result arrives.
    pub output: Output,
    /// The full output, if it was read from its blob.
    pub full: Option<String>,
}

impl ToolEntry {
    /// Returns the task that the call concerns: the addressed or changed one, or the one it created.
    pub fn related_task(&self) -> Option<TaskId> {
        // Such a call is short, but a written file may be megabytes, and this runs for every frame.
        let input = self.asked.as_ref()?.input.as_str();
        let input = if input.len() > OUTPUT_BYTES { "{}" } else { input };
        let input: serde_json::Value = serde_json::from_str(input).ok()?;
        let named = ["task", "task_id", "to"].iter().find_map(|name| input.get(name)?.as_str()?.parse().ok());
        named.or_else(|| self.created_task())
    }

    /// Returns the task that the result says was created.
    fn created_task(&self) -> Option<TaskId> {
        let Content::Text { text } = &self.result.as_ref().filter(|result| !result.is_error)?.content else {
            return None;
        };
        text.strip_prefix("Created task ")?.split(' ').next()?.parse().ok()
    }

    /// Returns the blob with the full output, if the result has only a part of it.
    pub fn blob(&self) -> Option<&BlobRef> {
        self.result.as_ref().and_then(|result| result.full.as_ref()).filter(|_| self.full.is_none())
    }
}

/// How many bytes of live output are kept.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The last part of a tool's live output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub text: String,
    /// Bytes dropped from the start.
    pub dropped: u64,
}

impl Output {
    pub fn push(&mut self, chunk: &str) {
        self.text.push_str(chunk);
        // Cut only at twice the limit: cutting moves everything that is kept.
        if self.text.len() > 2 * OUTPUT_BYTES {
            let cut = self.text.ceil_char_boundary(self.text.len() - OUTPUT_BYTES);
            let cut = self.text[cut..].find('\n').map_or(cut, |line| cut + line + 1);
            self.dropped += cut as u64;
            self.text.drain(..cut);
        }
    }
}

/// Entries of the same group follow each other without a blank row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineGroup {
    /// One line that can be unfolded.
    Foldable,
    /// A few lines that cannot be unfolded.
    Plain,
}

impl EntryKind {
    /// Returns the group of the entry. `None` if blank rows surround it.
    pub fn line_group(&self) -> Option<LineGroup> {
        match self {
            Self::Tool(_) | Self::Thinking { .. } | Self::Writing { .. } => Some(LineGroup::Foldable),
            // Without details, the text may be a paragraph.
            Self::Notice { more, .. } => Some(if more.is_empty() { LineGroup::Plain } else { LineGroup::Foldable }),
            Self::UserMessage { .. }
            | Self::Text { .. }
            | Self::TaskMessage { .. }
            | Self::Completion { .. }
            | Self::Done { .. }
            | Self::Ask { .. }
            | Self::Compaction { .. }
            | Self::Error(_)
            | Self::Separator { .. } => None,
        }
    }

    pub fn is_error(&self) -> bool {
        match self {
            Self::Error(_) | Self::Notice { tone: Tone::Error, .. } => true,
            Self::Tool(tool) => tool.result.as_ref().is_some_and(|result| result.is_error),
            Self::Done { verdict, .. } | Self::Completion { verdict, .. } => *verdict == Verdict::Failed,
            Self::UserMessage { .. }
            | Self::Text { .. }
            | Self::Thinking { .. }
            | Self::TaskMessage { .. }
            | Self::Ask { .. }
            | Self::Compaction { .. }
            | Self::Separator { .. }
            | Self::Notice { .. }
            | Self::Writing { .. } => false,
        }
    }

    /// Returns true if folding hides a part of the entry.
    pub fn folds(&self) -> bool {
        match self {
            Self::Tool(_)
            | Self::TaskMessage { .. }
            | Self::Completion { .. }
            | Self::Done { .. }
            | Self::Notice { .. } => true,
            Self::Thinking { hidden, .. } => !hidden,
            Self::Compaction { done, .. } => done.is_some(),
            // A pending question opens in the asks pane instead.
            Self::Ask { answer, withdrawn, .. } => answer.is_none() && withdrawn.is_none(),
            Self::UserMessage { .. }
            | Self::Text { .. }
            | Self::Error(_)
            | Self::Separator { .. }
            | Self::Writing { .. } => false,
        }
    }

    /// Returns the related task, if there is one to go to.
    pub fn related_task(&self) -> Option<TaskId> {
        match self {
            Self::TaskMessage { other, .. } => *other,
            Self::Completion { task, .. } => Some(*task),
            Self::Tool(tool) => tool.related_task(),
            Self::UserMessage { .. }
            | Self::Text { .. }
            | Self::Thinking { .. }
            | Self::Done { .. }
            | Self::Ask { .. }
            | Self::Compaction { .. }
            | Self::Error(_)
            | Self::Separator { .. }
            | Self::Notice { .. }
            | Self::Writing { .. } => None,
        }
    }
}
