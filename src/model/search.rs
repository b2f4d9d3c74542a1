//! Queries and results of the search over all tasks of a project, shared by the index, the CLI and the screen.

use std::fmt;
use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::base::{EventId, TaskId, Timestamp};

/// A search query. The words contain no operators.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchQuery {
    /// Words that must all match. A prefix of a word is enough; a part in double quotes must match as a phrase.
    pub words: String,
    /// Only this task and its descendants.
    pub below: Option<TaskId>,
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    /// The most hits to return.
    pub limit: usize,
}

/// The kind of text that a hit is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitKind {
    Title,
    Description,
    /// The result of a task.
    Result,
    /// A message to the task.
    Message,
    /// Text of the agent.
    #[serde(rename = "said")]
    AgentText,
    Thinking,
    /// A tool call.
    Call,
    /// The output of a tool.
    Output,
    /// The summary of a compaction.
    Summary,
    /// A question to the user.
    Question,
    /// The user's answer.
    Answer,
    Error,
}

impl HitKind {
    pub const ALL: [Self; 12] = [
        Self::Title,
        Self::Description,
        Self::Result,
        Self::Message,
        Self::AgentText,
        Self::Thinking,
        Self::Call,
        Self::Output,
        Self::Summary,
        Self::Question,
        Self::Answer,
        Self::Error,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Result => "result",
            Self::Message => "message",
            Self::AgentText => "agent",
            Self::Thinking => "thinking",
            Self::Call => "call",
            Self::Output => "output",
            Self::Summary => "summary",
            Self::Question => "question",
            Self::Answer => "answer",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for HitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hit {
    pub task: TaskId,
    /// The current title of the task.
    pub title: String,
    /// The event with the text. `None` for the task's own fields.
    pub event: Option<EventId>,
    pub place: HitKind,
    pub at: Timestamp,
    /// One line of text around the words, as written: must be sanitized before display.
    pub excerpt: String,
    /// The byte ranges of the words in the excerpt.
    pub marks: Vec<Range<usize>>,
    /// The text is not part of the active conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewound: bool,
}

/// The hits, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchResults {
    pub hits: Vec<Hit>,
    /// There are more hits than the limit.
    pub more: bool,
}

/// Parses a moment: `3h`, `2d`, `1w` ago, a local date such as `2026-11-01`, or a timestamp.
pub fn moment(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Some(millis) = ago(text) {
        return Some(Timestamp::from_millis(now.as_millis().saturating_sub(millis)));
    }
    if let Ok(day) = text.parse::<Date>()
        && text.len() == "2026-11-01".len()
    {
        let start = day.to_zoned(zone.clone()).ok()?;
        return Some(Timestamp::from_millis(start.timestamp().as_millisecond()));
    }
    text.parse().ok()
}

fn ago(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let millis: i64 = match unit {
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        'w' => 7 * 86_400_000,
        _ => return None,
    };
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().ok().filter(|count| *count >= 0)?;
    count.checked_mul(millis)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
