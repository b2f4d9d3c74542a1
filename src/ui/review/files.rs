//! Rows of files, hunk headings and the file list.

use crate::base::text;
use crate::model::diff::{FileStatus, LineKind};
use crate::text::width::{self, Cut};
use crate::text::{Row, Span};
use crate::theme::{Glyphs, Role};
use crate::ui::review::comment::Comment;
use crate::ui::review::comparison::{ChangedFile, Comparison};
use crate::ui::review::notes::TaskNotes;

/// The columns before the diff: one for the cursor, two for folds.
pub const INDENT: usize = 3;

/// Builds the rows of a comparison.
pub struct RowBuilder<'a> {
    pub comparison: &'a Comparison,
    pub notes: &'a TaskNotes,
    pub glyphs: &'static Glyphs,
    pub columns: usize,
    /// Returns true if a hunk of a file is folded.
    pub folded: &'a dyn Fn(usize, usize) -> bool,
}

/// Returns the status letter of a file and its role.
pub fn letter(status: FileStatus) -> (&'static str, Role) {
    match status {
        FileStatus::Modified => ("M", Role::Warn),
        FileStatus::Added => ("A", Role::DiffPlus),
        FileStatus::Untracked => ("?", Role::DiffPlus),
        FileStatus::Deleted => ("D", Role::DiffMinus),
        FileStatus::Renamed => ("R", Role::Accent),
        FileStatus::Copied => ("C", Role::Accent),
        FileStatus::TypeChanged => ("T", Role::Warn),
        FileStatus::Conflicted => ("!", Role::Error),
    }
}

/// Returns the status of a file in words, if the letter is not enough.
fn words(file: &ChangedFile) -> Option<String> {
    let diff = &file.diff;
    let from = || {
        let path = diff.old.as_ref().map(|old| old.path.to_string_lossy()).unwrap_or_default();
        width::visible(&path).replace('\n', " ")
    };
    match diff.status {
        FileStatus::Modified => None,
        FileStatus::Added => Some("new".to_owned()),
        FileStatus::Untracked => Some("new, untracked".to_owned()),
        FileStatus::Deleted => Some("deleted".to_owned()),
        FileStatus::Renamed => Some(format!("was {}", from())),
        FileStatus::Copied => Some(format!("copy of {}", from())),
        FileStatus::TypeChanged => Some("type changed".to_owned()),
        FileStatus::Conflicted => Some("in conflict".to_owned()),
    }
}

fn path(file: &ChangedFile) -> String {
    width::visible(&file.name).replace('\n', " ")
}

fn comments<'a>(file: &'a ChangedFile, notes: &'a TaskNotes) -> impl Iterator<Item = &'a Comment> {
    notes.comments.iter().filter(|comment| comment.path == file.name)
}

/// Returns a file as an item of a list: name, and size with state.
pub fn label(file: &ChangedFile, notes: &TaskNotes, glyphs: &Glyphs) -> (String, String) {
    let (letter, _) = letter(file.diff.status);
    let mut note: String = counts(file).iter().map(|span| span.text.as_ref()).collect();
    let drafts = comments(file, notes).filter(|comment| comment.sent.is_none()).count();
    if drafts > 0 {
        note = format!("{}  {note}", text::count(drafts, "comment", "comments"));
    }
    if let Some(first) = file.remarks.first() {
        note = format!("{}  {note}", width::visible(first).replace('\n', " "));
    }
    let sign = if file.seen(&notes.seen) == file.marks.len() { glyphs.passed } else { " " };
    (format!("{letter} {}", path(file)), format!("{note} {sign}"))
}

/// Returns the added and removed lines of a file, if it has lines.
fn counts(file: &ChangedFile) -> Vec<Span> {
    if file.diff.added + file.diff.removed == 0 {
        return Vec::new();
    }
    vec![
        Span::decoration(format!("+{}", file.diff.added), Role::DiffPlus),
        Span::decoration(format!(" -{}", file.diff.removed), Role::DiffMinus),
    ]
}

/// Fills a row so that `right` ends before its last column.
fn fill(mut row: Row, right: Vec<Span>, columns: usize, glyphs: &Glyphs) -> Row {
    let wide: usize = right.iter().map(Span::width).sum();
    let room = columns.saturating_sub(wide + 2);
    row.truncate(room, glyphs.ellipsis);
    let gap = columns.saturating_sub(row.width() + wide + 1);
    row.push(Span::decoration(" ".repeat(gap), Role::Text));
    right.into_iter().for_each(|span| row.push(span));
    row
}

/// Indents a row of the diff.
pub fn indent_row(mut row: Row) -> Row {
    row.spans.insert(0, Span::decoration(" ".repeat(INDENT), Role::Text));
    row
}

impl RowBuilder<'_> {
    /// Returns the heading row of a file.
    pub fn name(&self, at: usize, folded: bool) -> Row {
        let Some(file) = self.comparison.files.get(at) else { return Row::blank() };
        let glyphs = self.glyphs;
        let sign = if folded { glyphs.folded } else { glyphs.unfolded };
        let (letter, role) = letter(file.diff.status);
        let mut right = counts(file);
        let drafts = comments(file, self.notes).filter(|comment| comment.sent.is_none()).count();
        if drafts > 0 {
            right.insert(0, Span::decoration(format!("{}  ", text::count(drafts, "comment", "comments")), Role::Ask));
        }
        let (seen, all) = (file.seen(&self.notes.seen), file.marks.len());
        right.push(match seen {
            seen if seen == all => Span::decoration(format!("  {} seen", glyphs.passed), Role::Ok),
            0 => Span::decoration("  unseen", Role::Accent),
            seen => Span::decoration(format!("  {seen}/{all} seen"), Role::Muted),
        });
        let wide: usize = right.iter().map(Span::width).sum();
        let room = self.columns.saturating_sub(wide + INDENT + 6);
        let name = width::truncate(&path(file), room, Cut::Middle, glyphs.ellipsis).into_owned();
        let mut row = Row::new(vec![
            Span::decoration(format!(" {sign} "), Role::Muted),
            Span::decoration(format!("{letter} "), role),
            Span::new(name, Role::DiffFile),
        ]);
        if let Some(words) = words(file) {
            row.push(Span::decoration(format!("  {words}"), Role::Muted));
        }
        fill(row, right, self.columns, glyphs).on(Role::CodeBg)
    }

    /// Returns the heading row of a hunk.
    pub fn head(&self, file: usize, hunk: usize) -> Row {
        let Some(changed) = self.comparison.files.get(file) else { return Row::blank() };
        let Some(part) = changed.diff.hunks.get(hunk) else { return Row::blank() };
        let glyphs = self.glyphs;
        let folded = (self.folded)(file, hunk);
        let (first, last) = part.lines_shown();
        let lines = if first == last { format!("{first}") } else { format!("{first}–{last}") };
        let heading = width::visible(&part.heading).replace('\n', " ");
        let mut row = Row::new(vec![
            Span::decoration(format!("   {} ", if folded { glyphs.folded } else { glyphs.ellipsis }), Role::Faint),
            Span::decoration(lines, Role::DiffHunk),
            Span::decoration(format!("  {heading}"), Role::DiffHunk),
        ]);
        let mut right = Vec::new();
        if folded {
            let count = |kind: LineKind| part.lines.iter().filter(|line| line.kind == kind).count();
            row.push(Span::decoration(
                format!("  +{} -{}", count(LineKind::Added), count(LineKind::Removed)),
                Role::Faint,
            ));
        }
        if changed.is_seen(hunk, &self.notes.seen) {
            right.push(Span::decoration(glyphs.passed, Role::Ok));
        }
        fill(row, right, self.columns, glyphs)
    }
}

/// Returns a file as a row of the file list.
pub fn panel_row(file: &ChangedFile, notes: &TaskNotes, glyphs: &Glyphs, columns: usize) -> Row {
    let (letter, role) = letter(file.diff.status);
    let mut right = counts(file);
    let done = file.seen(&notes.seen) == file.marks.len();
    let remarks = comments(file, notes).filter(|comment| comment.sent.is_none()).count();
    let sign = match remarks {
        0 if done => Span::decoration(format!(" {}", glyphs.passed), Role::Ok),
        0 => Span::decoration("  ", Role::Text),
        many => Span::decoration(format!(" {}", many.min(9)), Role::Ask),
    };
    right.push(sign);
    let room = columns.saturating_sub(right.iter().map(Span::width).sum::<usize>() + 5);
    let name = width::truncate(&path(file), room, Cut::Start, glyphs.ellipsis).into_owned();
    let row = Row::new(vec![
        Span::decoration(" ", Role::Text),
        Span::decoration(format!("{letter} "), role),
        Span::new(name, if done { Role::Muted } else { Role::Text }),
    ]);
    fill(row, right, columns, glyphs)
}
