//! What git says about files, as the screen reviews it: lines as they are, and words for what is not lines.

use crate::base::text;
use crate::engine::review::{Cut, FileDiff, FileStatus, Hunk, Kind, Line, LineKind, Version};
use crate::text::diff;

/// Returns a file that differs, as the screen shows it.
pub(super) fn file(file: FileDiff) -> diff::FileDiff {
    let name = |version: &Version| version.path.to_string_lossy().into_owned();
    let notes = notes(&file);
    diff::FileDiff {
        old_path: file.old.as_ref().map(name),
        new_path: file.new.as_ref().map(name),
        state: state(file.status),
        counted: Some((file.added, file.removed)),
        notes,
        beyond: file.cut.and(file.new.as_ref()).map(|version| version.id.clone()),
        hunks: file.hunks.into_iter().map(hunk).collect(),
    }
}

fn state(status: FileStatus) -> diff::FileState {
    match status {
        FileStatus::Added => diff::FileState::Added,
        FileStatus::Deleted => diff::FileState::Deleted,
        FileStatus::Modified => diff::FileState::Modified,
        FileStatus::Renamed => diff::FileState::Renamed,
        FileStatus::Copied => diff::FileState::Copied,
        FileStatus::TypeChanged => diff::FileState::TypeChanged,
        FileStatus::Untracked => diff::FileState::Untracked,
        FileStatus::Conflicted => diff::FileState::Conflicted,
    }
}

/// Says what the lines of a file do not.
pub fn notes(file: &FileDiff) -> Vec<String> {
    let mut notes = Vec::new();
    let (old, new) = (file.old.as_ref(), file.new.as_ref());
    let sizes = || match (old, new) {
        (Some(old), Some(new)) => format!("{} to {}", text::size(old.bytes), text::size(new.bytes)),
        (Some(one), None) | (None, Some(one)) => text::size(one.bytes),
        (None, None) => String::new(),
    };
    let kinds = [old, new].map(|version| version.map(|version| version.kind));
    if kinds.contains(&Some(Kind::Submodule)) {
        let commit = |version: Option<&Version>| {
            version.map_or("nothing".to_owned(), |version| version.id.chars().take(10).collect())
        };
        notes.push(format!("submodule: from {} to {}", commit(old), commit(new)));
    } else {
        match (kinds[0], kinds[1]) {
            (Some(was), Some(is)) if was != is => notes.push(format!("was {}, is now {}", kind(was), kind(is))),
            (None, Some(is)) if is != Kind::File => notes.push(format!("it is {}", kind(is))),
            _ => {}
        }
    }
    notes.extend(line_ends(file));
    match file.cut {
        Some(Cut::Binary) => notes.push(format!("not text, {}", sizes())),
        Some(Cut::TooLarge) => notes.push(format!("too large to compare line by line, {}", sizes())),
        Some(Cut::Lines(lines)) => notes.push(format!("{} more are not shown", text::count(lines, "line", "lines"))),
        None => {}
    }
    notes
}

/// Says that lines end differently, which their words do not show.
fn line_ends(file: &FileDiff) -> Option<String> {
    let lines = || file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let of = |kind: LineKind| {
        let mut ends =
            lines().filter(|line| line.kind == kind && line.hidden == 0).map(|line| line.text.ends_with('\r'));
        let first = ends.next()?;
        ends.all(|end| end == first).then_some(first)
    };
    match (of(LineKind::Removed)?, of(LineKind::Added)?) {
        (false, true) => Some("lines now end as on Windows, with CR LF".to_owned()),
        (true, false) => Some("lines now end with LF alone, no longer with CR LF".to_owned()),
        (true, true) | (false, false) => None,
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a plain file",
        Kind::Executable => "a program that can be run",
        Kind::Link => "a symbolic link",
        Kind::Submodule => "a submodule",
    }
}

fn hunk(hunk: Hunk) -> diff::Hunk {
    diff::Hunk {
        old_start: hunk.old_start as usize,
        new_start: hunk.new_start as usize,
        heading: hunk.heading,
        lines: hunk.lines.into_iter().map(line).collect(),
    }
}

fn line(line: Line) -> diff::DiffLine {
    let mut text = line.text;
    // A file from Windows has this at every line: it is not what changed.
    if text.ends_with('\r') {
        text.pop();
    }
    if line.hidden > 0 {
        text = format!("{text} … {} more", text::size(line.hidden as u64));
    }
    diff::DiffLine {
        kind: match line.kind {
            LineKind::Context => diff::LineKind::Context,
            LineKind::Added => diff::LineKind::Added,
            LineKind::Removed => diff::LineKind::Removed,
        },
        text,
        old: line.old.map(|number| number as usize),
        new: line.new.map(|number| number as usize),
        unfinished: line.unended,
    }
}
