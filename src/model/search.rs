//! What is looked for over all tasks of a project, and what is found: plain data between the index, the commands and
//! the screen.

use std::fmt;
use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::base::{EventId, TaskId, Timestamp};

/// What to look for. Nothing in the words is an operator: they are what a person wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Words that must all be there. The start of a word stands for it; a part in double quotes must stand together.
    pub words: String,
    /// Only in this task and what is below it.
    pub below: Option<TaskId>,
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    /// How many places are wanted at most.
    pub limit: usize,
}

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Title,
    Description,
    /// What a round of work came to.
    Result,
    /// Something said to the task.
    Message,
    /// Something its agent said.
    Said,
    Thinking,
    /// What a tool was asked.
    Call,
    /// What a tool gave.
    Output,
    /// The summary that a compaction left.
    Summary,
    /// A question to the person.
    Question,
    /// What the person answered.
    Answer,
    Error,
}

impl Place {
    pub const ALL: [Self; 12] = [
        Self::Title,
        Self::Description,
        Self::Result,
        Self::Message,
        Self::Said,
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
            Self::Said => "agent",
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

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One place where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    pub task: TaskId,
    /// What the task is called now.
    pub title: String,
    /// The event that says it. Nothing: the task says it of itself.
    pub event: Option<EventId>,
    pub place: Place,
    pub at: Timestamp,
    /// The text around the words, on one line, as it was written: not yet safe to show.
    pub excerpt: String,
    /// Where in the excerpt the words stand, in bytes.
    pub marks: Vec<Range<usize>>,
    /// The conversation was taken back to before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewound: bool,
}

/// What was found, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// There are more places than were asked for.
    pub more: bool,
}

/// Returns the moment that a person means: `3h`, `2d`, `1w` ago, a day such as `2026-11-01` where they live, or a moment
/// spelled out.
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
