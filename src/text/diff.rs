//! Diffs: what changed in a file, from two texts or from the text of a unified diff, and its rows on the screen.
//!
//! The model keeps lines as they are; [`DiffRows`] plans the rows of a width cheaply and makes only those that are
//! asked for, with syntax colours, line numbers, and the words that differ within a line.

mod colours;
mod intraline;
mod parse;
mod rows;
mod write;

use std::time::{Duration, Instant};

use crate::base::compare::{ChangeTag, Comparison, DiffOp, Piece};

pub use parse::parse;
pub use rows::{At, DiffOptions, DiffRows, Heads, Sides, Spaces};
pub use write::unified;

/// How long comparing two texts may take. After that the result is correct still, but longer than it could be.
const PATIENCE: Duration = Duration::from_millis(200);

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

/// A line of a diff, without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: LineKind,
    pub text: String,
    /// Its number in the old file and in the new one, where it is there.
    pub old: Option<usize>,
    pub new: Option<usize>,
    /// Set when the file ends here without a line end.
    pub unfinished: bool,
}

/// Lines that changed, and those around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    pub old_start: usize,
    pub new_start: usize,
    /// What the lines are part of, if whoever made the diff knew: the name of a function.
    pub heading: String,
    pub lines: Vec<DiffLine>,
}

impl Hunk {
    /// Returns the lines of the new file that it is about, or those of the old one where nothing is left.
    pub fn lines_shown(&self) -> (usize, usize) {
        let numbers = |side: fn(&DiffLine) -> Option<usize>| {
            let mut numbers = self.lines.iter().filter_map(side);
            let first = numbers.next()?;
            Some((first, numbers.next_back().unwrap_or(first)))
        };
        let new = numbers(|line| line.new);
        new.or_else(|| numbers(|line| line.old)).unwrap_or((self.new_start, self.new_start))
    }
}

/// What became of a file as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileState {
    #[default]
    Modified,
    Added,
    Deleted,
    Renamed,
    Copied,
    /// A file became a link, or the like.
    TypeChanged,
    /// New, and git has not been told of it.
    Untracked,
    Conflicted,
}

/// What happened to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Absent when the file is new.
    pub old_path: Option<String>,
    /// Absent when the file is gone.
    pub new_path: Option<String>,
    pub state: FileState,
    /// How many lines were added and removed, where not all of them are in the hunks.
    pub counted: Option<(usize, usize)>,
    /// What cannot be shown as lines: a binary file, a mode.
    pub notes: Vec<String>,
    /// Names the new content where neither lines nor notes show all of it: another name, another change.
    pub beyond: Option<String>,
    pub hunks: Vec<Hunk>,
}

impl FileDiff {
    /// Compares two texts of the file at `path`, and keeps `context` unchanged lines around each change.
    pub fn between(path: &str, old: &str, new: &str, context: usize) -> Self {
        let diff = Comparison::of_lines(old, new, Some(Instant::now() + PATIENCE));
        let line = |piece: Piece<'_>| DiffLine {
            kind: match piece.tag {
                ChangeTag::Equal => LineKind::Context,
                ChangeTag::Delete => LineKind::Removed,
                ChangeTag::Insert => LineKind::Added,
            },
            text: piece.text.trim_end_matches(['\n', '\r']).to_owned(),
            old: piece.old.map(|index| index + 1),
            new: piece.new.map(|index| index + 1),
            unfinished: !piece.text.ends_with(['\n', '\r']),
        };
        let hunk = |ops: &Vec<DiffOp>| Hunk {
            old_start: ops.first().map_or(1, |op| op.old_range().start + 1),
            new_start: ops.first().map_or(1, |op| op.new_range().start + 1),
            heading: String::new(),
            lines: ops.iter().flat_map(|op| diff.pieces_of(op)).map(line).collect(),
        };
        let hunks = diff.groups(context).iter().map(hunk).collect();
        Self { old_path: Some(path.to_owned()), new_path: Some(path.to_owned()), hunks, ..Self::default() }
    }

    /// Returns the name by which a person knows the file now.
    pub fn path(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or("unnamed file")
    }

    pub fn added(&self) -> usize {
        self.counted.map_or_else(|| self.count(LineKind::Added), |(added, _)| added)
    }

    pub fn removed(&self) -> usize {
        self.counted.map_or_else(|| self.count(LineKind::Removed), |(_, removed)| removed)
    }

    fn count(&self, kind: LineKind) -> usize {
        self.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == kind).count()
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
