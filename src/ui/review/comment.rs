//! A review comment: its lines, and how to find them again after they have moved.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::engine::review::{self, DiffSide};
use crate::model::diff::{FileDiff, Line};

/// The maximum lines that a comment quotes.
const QUOTED: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub path: String,
    pub side: DiffSide,
    /// The first and the last commented line. `None` for the whole file.
    pub lines: Option<(usize, usize)>,
    /// The lines as they were when the comment was written.
    pub quote: Vec<String>,
    pub text: String,
    /// When it was sent to the agent. `None` for a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Timestamp>,
}

/// Returns the number of a line on one side.
pub fn number(line: &Line, side: DiffSide) -> Option<usize> {
    let number = match side {
        DiffSide::Old => line.old,
        DiffSide::New => line.new,
    };
    number.map(|number| number as usize)
}

impl Comment {
    /// Returns the hunk and line that the comment is shown below. `None` if its lines are gone.
    pub fn place(&self, file: &FileDiff) -> Option<(usize, usize)> {
        let (_, last) = self.lines?;
        let words = self.quote.last()?;
        let lines = file
            .hunks
            .iter()
            .enumerate()
            .flat_map(|(hunk, it)| it.lines.iter().enumerate().map(move |(at, line)| (hunk, at, line)));
        // The same text, as near as possible to its old line number.
        let same = lines.filter_map(|(hunk, at, line)| {
            let number = number(line, self.side).filter(|_| line.shown() == *words)?;
            Some((number.abs_diff(last), hunk, at))
        });
        same.min().map(|(_, hunk, at)| (hunk, at))
    }

    /// Returns the commented lines in words.
    pub fn about(&self) -> String {
        let before = if self.side == DiffSide::Old { " (old)" } else { "" };
        match self.lines {
            None => "the file".to_owned(),
            Some((first, last)) if first == last => format!("line {first}{before}"),
            Some((first, last)) => format!("lines {first}–{last}{before}"),
        }
    }

    /// Returns the comment as it is sent to the agent.
    pub fn to_review_comment(&self) -> review::ReviewComment {
        let short = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let mut quote: Vec<&str> = self.quote.iter().take(QUOTED).map(String::as_str).collect();
        let more = format!("[{} more lines]", self.quote.len().saturating_sub(QUOTED));
        if self.quote.len() > QUOTED {
            quote.push(&more);
        }
        review::ReviewComment {
            file: self.path.clone(),
            side: self.side,
            lines: self.lines.map(|(first, last)| (short(first), short(last))),
            quote: quote.join("\n"),
            text: self.text.trim().to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "comment_tests.rs"]
mod tests;
