//! A remark on lines of a file: where it belongs, and how it finds its lines again after they have moved.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::engine::review::{self, Side};
use crate::model::diff::{FileDiff, Line};

/// The most lines of a file that a remark quotes; of more, the first ones.
const QUOTED: usize = 40;

/// A remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub path: String,
    pub side: Side,
    /// The first and the last line that it is about. Nothing: the file as a whole.
    pub lines: Option<(usize, usize)>,
    /// Those lines, as they were when it was written.
    pub quote: Vec<String>,
    pub text: String,
    /// When the agent was told. Nothing: it is still a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Timestamp>,
}

/// Returns the number of a line on a side.
pub fn number(line: &Line, side: Side) -> Option<usize> {
    let number = match side {
        Side::Old => line.old,
        Side::New => line.new,
    };
    number.map(|number| number as usize)
}

impl Comment {
    /// Returns the line of a diff, by hunk and place in it, that the remark stands below. Nothing: its lines are gone.
    pub fn place(&self, file: &FileDiff) -> Option<(usize, usize)> {
        let (_, last) = self.lines?;
        let words = self.quote.last()?;
        let lines = file
            .hunks
            .iter()
            .enumerate()
            .flat_map(|(hunk, it)| it.lines.iter().enumerate().map(move |(at, line)| (hunk, at, line)));
        // The same words, as near as possible to where they were.
        let same = lines.filter_map(|(hunk, at, line)| {
            let number = number(line, self.side).filter(|_| line.shown() == *words)?;
            Some((number.abs_diff(last), hunk, at))
        });
        same.min().map(|(_, hunk, at)| (hunk, at))
    }

    /// Returns the lines in words.
    pub fn about(&self) -> String {
        let before = if self.side == Side::Old { ", as it was" } else { "" };
        match self.lines {
            None => "the file".to_owned(),
            Some((first, last)) if first == last => format!("line {first}{before}"),
            Some((first, last)) => format!("lines {first}–{last}{before}"),
        }
    }

    /// Returns the remark as the agent is told.
    pub fn told(&self) -> review::Comment {
        let short = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let mut quote: Vec<&str> = self.quote.iter().take(QUOTED).map(String::as_str).collect();
        let more = format!("[{} more lines]", self.quote.len().saturating_sub(QUOTED));
        if self.quote.len() > QUOTED {
            quote.push(&more);
        }
        review::Comment {
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
