//! The entries of a transcript: plain data, laid out by `layout`.
//!
//! Every change of an entry bumps its version, which invalidates cached layouts.

use std::cmp::Ordering;

use crate::base::{EventId, MessageId, TaskId, Timestamp};
use crate::model::ask::{Answer, Ask};
use crate::model::conversation::ToolUse;
use crate::model::event::{CompactTrigger, ErrorNote, ToolResult, Verdict};
use crate::model::live_turn::Tail;
use crate::model::{BlobRef, Content, Image};

/// The longest input of a call that is looked at for a task.
const MAX_INPUT: usize = 64 * 1024;

/// Identifies an entry and places it: entries of the log in the order in which they happened, then the response that is
/// being streamed, then what arrived meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryId {
    Event(EventId),
    /// An event that arrived during a response, which was saved after it. The entry follows the response.
    Delayed {
        /// The last event of the response.
        after: EventId,
        event: EventId,
    },
    Live(LivePart),
    /// An event that arrived during the response that is being streamed.
    Queued(EventId),
}

impl EntryId {
    /// Returns the event that the entry shows. `None` for streamed output.
    pub fn event(self) -> Option<EventId> {
        match self {
            Self::Event(event) | Self::Delayed { event, .. } | Self::Queued(event) => Some(event),
            Self::Live(_) => None,
        }
    }

    fn order(self) -> (u8, Option<EventId>, u8, Option<EventId>) {
        match self {
            Self::Event(event) => (0, Some(event), 0, None),
            Self::Delayed { after, event } => (0, Some(after), 1, Some(event)),
            Self::Live(part) => (1, None, part as u8, None),
            Self::Queued(event) => (2, Some(event), 0, None),
        }
    }
}

impl Ord for EntryId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for EntryId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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
    /// The message that the entry shows.
    pub message: Option<MessageId>,
    /// The event by which the message became part of the conversation.
    pub read: Option<EventId>,
    pub kind: EntryKind,
}

impl Entry {
    pub fn new(id: EntryId, at: Timestamp, turn: u64, kind: EntryKind) -> Self {
        Self { id, at, turn, version: 0, undone: false, message: None, read: None, kind }
    }

    pub fn bump_version(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    /// Returns true if a rewind to `last_kept` removes the entry from the conversation. A message that no turn has read
    /// still waits to be read.
    pub fn is_undone_by(&self, last_kept: Option<EventId>) -> bool {
        let joined = match (self.message, &self.kind) {
            (Some(_), EntryKind::UserMessage { delivery: DeliveryState::Sent, .. }) => return false,
            (Some(_), _) => self.read.or(self.id.event()),
            (None, _) => self.id.event(),
        };
        last_kept.is_none_or(|last| joined.is_none_or(|joined| joined > last))
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
    pub output: Tail,
    /// The full output, if it was read from its blob.
    pub full: Option<String>,
}

impl ToolEntry {
    /// Returns the task that the call concerns: the addressed or changed one, or the one it created.
    pub fn related_task(&self) -> Option<TaskId> {
        // Such a call is short, but a written file may be megabytes, and this runs for every frame.
        let input = self.asked.as_ref()?.input.as_str();
        let input = if input.len() > MAX_INPUT { "{}" } else { input };
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
