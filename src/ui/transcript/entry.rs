//! What a transcript is made of: one entry for each thing that a person would name.
//!
//! An entry is data; how it looks is decided in `lay`. Its version changes with every change of it, so that what was
//! laid out can be told from what is out of date.

use crate::base::{EventId, MessageId, TaskId, Timestamp};
use crate::model::ask::{Answer, Ask};
use crate::model::conversation::ToolUse;
use crate::model::event::{CompactTrigger, ErrorNote, ToolResult, Verdict};
use crate::model::{BlobRef, Content, Image};

/// Names an entry. Entries of the log come first, in its order; what is still being made comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    Event(EventId),
    Live(Live),
}

/// What is still being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Live {
    Thinking,
    Text,
    Call,
}

/// One thing in a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub id: Id,
    pub at: Timestamp,
    /// Which turn it belongs to, counted from the first that is loaded.
    pub turn: u64,
    pub version: u32,
    /// The conversation was rewound to before it.
    pub undone: bool,
    pub kind: Kind,
}

impl Entry {
    pub fn new(id: Id, at: Timestamp, turn: u64, kind: Kind) -> Self {
        Self { id, at, turn, version: 0, undone: false, kind }
    }

    pub fn changed(&mut self) {
        self.version = self.version.wrapping_add(1);
    }
}

/// How far something said has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reached {
    /// In the log, not yet read by the agent.
    #[default]
    Sent,
    Read,
    Withdrawn,
}

/// How a line between things reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Quiet,
    Warn,
    Error,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// What the person said.
    Said {
        message: MessageId,
        text: String,
        images: Vec<Image>,
        reached: Reached,
    },
    /// What the agent said.
    Text {
        text: String,
    },
    Thinking {
        text: String,
        hidden: bool,
    },
    Tool(Box<Tool>),
    /// A message from another task.
    Letter {
        other: Option<TaskId>,
        name: String,
        text: String,
        reply: bool,
    },
    /// A sub task finished.
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
    /// A summary took the place of what lies above.
    Compaction {
        trigger: Option<CompactTrigger>,
        done: Option<Summary>,
    },
    Error(ErrorNote),
    /// A line that names a new part: a run, a fork.
    Separator {
        text: String,
    },
    /// One line that Matrix itself says, with more behind it if there is more.
    Notice {
        tone: Tone,
        text: String,
        more: String,
    },
    /// What the model is writing into a tool call.
    Writing {
        name: String,
        bytes: u64,
    },
}

/// A summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    pub before: u64,
    pub after: u64,
}

/// A tool call and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name of the call, which joins it with its result and its output.
    pub call: String,
    pub name: String,
    /// Nothing: the call lies before what is loaded.
    pub asked: Option<ToolUse>,
    pub result: Option<ToolResult>,
    /// What has been printed so far, while there is no result.
    pub output: Output,
    /// The whole output, when it was read from its blob.
    pub full: Option<String>,
}

impl Tool {
    /// Returns the task that a call speaks of: the one written to, changed or closed, or the one that it made.
    pub fn other(&self) -> Option<TaskId> {
        // A call that speaks of a task is short; a file that is written may be megabytes, and this is asked at every frame.
        let input = self.asked.as_ref()?.input.as_str();
        let input = if input.len() > OUTPUT_BYTES { "{}" } else { input };
        let input: serde_json::Value = serde_json::from_str(input).ok()?;
        let named = ["task", "task_id", "to"].iter().find_map(|name| input.get(name)?.as_str()?.parse().ok());
        named.or_else(|| self.made())
    }

    /// Returns the task that the result says was made.
    fn made(&self) -> Option<TaskId> {
        let Content::Text { text } = &self.result.as_ref().filter(|result| !result.is_error)?.content else {
            return None;
        };
        text.strip_prefix("Created task ")?.split(' ').next()?.parse().ok()
    }

    /// Returns where the whole output is, if the result has only a part of it.
    pub fn blob(&self) -> Option<&BlobRef> {
        self.result.as_ref().and_then(|result| result.full.as_ref()).filter(|_| self.full.is_none())
    }
}

/// How much of live output is kept.
const OUTPUT_BYTES: usize = 64 * 1024;

/// The last part of what a tool prints while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub text: String,
    /// Bytes that were let go of.
    pub dropped: u64,
}

impl Output {
    pub fn push(&mut self, chunk: &str) {
        self.text.push_str(chunk);
        // Twice the bound before anything is cut: cutting moves everything that is kept.
        if self.text.len() > 2 * OUTPUT_BYTES {
            let cut = self.text.ceil_char_boundary(self.text.len() - OUTPUT_BYTES);
            let cut = self.text[cut..].find('\n').map_or(cut, |line| cut + line + 1);
            self.dropped += cut as u64;
            self.text.drain(..cut);
        }
    }
}

/// What stands in lines close to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// One line with something behind it.
    Deed,
    /// A line or a few that say everything.
    Remark,
}

impl Kind {
    /// Returns which lines it stands close to: those of its own sort. Nothing: there is air around it.
    pub fn sort(&self) -> Option<Sort> {
        match self {
            Self::Tool(_) | Self::Thinking { .. } | Self::Writing { .. } => Some(Sort::Deed),
            // With nothing behind it, every word is said at once: that may be a paragraph.
            Self::Notice { more, .. } => Some(if more.is_empty() { Sort::Remark } else { Sort::Deed }),
            Self::Said { .. }
            | Self::Text { .. }
            | Self::Letter { .. }
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
            Self::Said { .. }
            | Self::Text { .. }
            | Self::Thinking { .. }
            | Self::Letter { .. }
            | Self::Ask { .. }
            | Self::Compaction { .. }
            | Self::Separator { .. }
            | Self::Notice { .. }
            | Self::Writing { .. } => false,
        }
    }

    /// Tells whether there is more of it than is seen while it is folded.
    pub fn folds(&self) -> bool {
        match self {
            Self::Tool(_) | Self::Letter { .. } | Self::Completion { .. } | Self::Done { .. } | Self::Notice { .. } => {
                true
            }
            Self::Thinking { hidden, .. } => !hidden,
            Self::Compaction { done, .. } => done.is_some(),
            // One that waits opens where it is answered.
            Self::Ask { answer, withdrawn, .. } => answer.is_none() && withdrawn.is_none(),
            Self::Said { .. } | Self::Text { .. } | Self::Error(_) | Self::Separator { .. } | Self::Writing { .. } => {
                false
            }
        }
    }

    /// Returns the task on the other side, if there is one to go to.
    pub fn other(&self) -> Option<TaskId> {
        match self {
            Self::Letter { other, .. } => *other,
            Self::Completion { task, .. } => Some(*task),
            Self::Tool(tool) => tool.other(),
            Self::Said { .. }
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
