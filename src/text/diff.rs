//! Diffs of files, made from two texts or parsed from a unified diff, and their rows on the screen.
//!
//! The data types are in [`crate::model::diff`]. [`DiffRows`] plans the rows for a width cheaply and builds only
//! those requested, with syntax colours, line numbers, and the words that differ within a line.

mod colours;
mod intraline;
mod parse;
mod rows;
mod write;

use std::time::{Duration, Instant};

use crate::base::diff::{ChangeTag, Comparison, DiffOp, Piece};
use crate::model::diff::{FileDiff, FileVersion, Hunk, Line, LineKind};

pub use parse::parse;
pub use rows::{DiffOptions, DiffRows, Heads, RowContent, Sides, Spaces};
pub use write::unified;

/// The time limit for comparing two texts. After that the result is still correct, but may be longer than necessary.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Compares two versions of the file at `path`, with `context` unchanged lines around each change.
pub fn between(path: &str, old: &str, new: &str, context: usize) -> FileDiff {
    let diff = Comparison::of_lines(old, new, Some(Instant::now() + TIMEOUT));
    let line = |piece: Piece<'_>| Line {
        kind: match piece.tag {
            ChangeTag::Equal => LineKind::Context,
            ChangeTag::Delete => LineKind::Removed,
            ChangeTag::Insert => LineKind::Added,
        },
        text: piece.text.trim_end_matches(['\n', '\r']).to_owned(),
        old: piece.old.map(|index| number(index + 1)),
        new: piece.new.map(|index| number(index + 1)),
        hidden: 0,
        unended: !piece.text.ends_with(['\n', '\r']),
    };
    let hunk = |ops: &Vec<DiffOp>| {
        let lines: Vec<Line> = ops.iter().flat_map(|op| diff.pieces_of(op)).map(line).collect();
        Hunk {
            old_start: ops.first().map_or(1, |op| number(op.old_range().start + 1)),
            old_lines: number(count(&lines, |kind| kind != LineKind::Added)),
            new_start: ops.first().map_or(1, |op| number(op.new_range().start + 1)),
            new_lines: number(count(&lines, |kind| kind != LineKind::Removed)),
            heading: String::new(),
            lines,
        }
    };
    let hunks: Vec<Hunk> = diff.groups(context).iter().map(hunk).collect();
    let version = Some(FileVersion::named(path));
    with_counts(FileDiff { old: version.clone(), new: version, hunks, ..FileDiff::default() })
}

/// Sets the numbers of added and removed lines from the hunks.
fn with_counts(file: FileDiff) -> FileDiff {
    let of = |wanted: LineKind| file.hunks.iter().map(|hunk| count(&hunk.lines, |kind| kind == wanted)).sum();
    FileDiff { added: of(LineKind::Added), removed: of(LineKind::Removed), ..file }
}

fn count(lines: &[Line], counts: impl Fn(LineKind) -> bool) -> usize {
    lines.iter().filter(|line| counts(line.kind)).count()
}

/// Converts to a line number, saturating at `u32::MAX`.
fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
