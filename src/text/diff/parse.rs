//! Parses unified diffs, as git writes them and as users paste them. Nothing is fatal: unknown lines outside of hunks
//! become notes or are skipped, and wrong line counts are clamped.

use super::with_counts;
use crate::model::diff::{FileDiff, FileStatus, FileVersion, Hunk, Line, LineKind};

/// Returns the files of a diff.
pub fn parse(text: &str) -> Vec<FileDiff> {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.line(line);
    }
    reader.files.into_iter().map(with_counts).collect()
}

#[derive(Default)]
struct Reader {
    files: Vec<FileDiff>,
    /// The numbers of old and new lines that the open hunk still expects.
    left: Option<(u32, u32)>,
    old: u32,
    new: u32,
    /// Set once the paths of the current file are known.
    named: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(left) = self.left
            && (left.0 > 0 || left.1 > 0 || line.starts_with('\\'))
            && self.in_hunk(line)
        {
            return;
        }
        self.left = None;
        if let Some(paths) = line.strip_prefix("diff --git ") {
            self.start();
            let (old, new) = git_paths(paths);
            if let Some(file) = self.files.last_mut() {
                (file.old, file.new) = (old, new);
            }
        } else if let Some(path) = line.strip_prefix("--- ") {
            if self.named || self.files.is_empty() || self.files.last().is_some_and(|file| !file.hunks.is_empty()) {
                self.start();
            }
            self.named = true;
            self.file().old = file_name(path);
        } else if let Some(path) = line.strip_prefix("+++ ") {
            self.file().new = file_name(path);
        } else if let Some(range) = line.strip_prefix("@@ ") {
            self.hunk(range);
        } else if line.starts_with("new file mode") {
            self.file().old = None;
            self.file().status = FileStatus::Added;
        } else if line.starts_with("deleted file mode") {
            self.file().new = None;
            self.file().status = FileStatus::Deleted;
        } else if let Some(path) = line.strip_prefix("rename from ") {
            self.file().old = Some(FileVersion::named(path));
            self.file().status = FileStatus::Renamed;
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.file().new = Some(FileVersion::named(path));
        } else if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
            self.file().notes.push("binary file".to_owned());
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            self.file().notes.push(format!("mode is now {mode}"));
        }
    }

    fn start(&mut self) {
        self.files.push(FileDiff::default());
        self.named = false;
        self.left = None;
    }

    fn file(&mut self) -> &mut FileDiff {
        if self.files.is_empty() {
            self.start();
        }
        let last = self.files.len() - 1;
        &mut self.files[last]
    }

    fn hunk(&mut self, range: &str) {
        let Some((ranges, heading)) = range.split_once("@@") else { return };
        let mut ranges = ranges.split_whitespace();
        let mut side = |sign: char| {
            let (start, count) = match ranges.next()?.strip_prefix(sign)?.split_once(',') {
                Some((start, count)) => (start.parse().ok()?, count.parse().ok()?),
                None => (ranges_start(range, sign)?, 1),
            };
            Some((start, count))
        };
        let (Some((old, old_count)), Some((new, new_count))) = (side('-'), side('+')) else { return };
        (self.old, self.new) = (old, new);
        self.left = Some((old_count, new_count));
        let heading = heading.trim().to_owned();
        self.file().hunks.push(Hunk {
            old_start: old,
            old_lines: old_count,
            new_start: new,
            new_lines: new_count,
            heading,
            lines: Vec::new(),
        });
    }

    /// Parses a line of the open hunk. Returns false if it is not part of it.
    fn in_hunk(&mut self, line: &str) -> bool {
        let (kind, text) = match (line.chars().next(), line) {
            (Some('+'), line) => (LineKind::Added, &line[1..]),
            (Some('-'), line) => (LineKind::Removed, &line[1..]),
            (Some(' '), line) => (LineKind::Context, &line[1..]),
            // Editors and mail programs strip the space of an empty line.
            (None, line) => (LineKind::Context, line),
            (Some('\\'), _) => {
                if let Some(last) = self.file().hunks.last_mut().and_then(|hunk| hunk.lines.last_mut()) {
                    last.unended = true;
                }
                return true;
            }
            _ => return false,
        };
        let in_old = kind != LineKind::Added;
        let in_new = kind != LineKind::Removed;
        let text = text.strip_suffix('\r').unwrap_or(text).to_owned();
        let (old, new) = (in_old.then_some(self.old), in_new.then_some(self.new));
        self.old += u32::from(in_old);
        self.new += u32::from(in_new);
        if let Some((old, new)) = &mut self.left {
            *old = old.saturating_sub(u32::from(in_old));
            *new = new.saturating_sub(u32::from(in_new));
        }
        if let Some(hunk) = self.file().hunks.last_mut() {
            hunk.lines.push(Line { kind, text, old, new, hidden: 0, unended: false });
        }
        true
    }
}

/// Parses the start of a range without a count, such as `-1`.
fn ranges_start(range: &str, sign: char) -> Option<u32> {
    range.split_whitespace().find_map(|part| part.strip_prefix(sign)).and_then(|start| start.parse().ok())
}

/// Returns the paths after `diff --git`. They are unquoted, so they can be separated only if they are equal.
fn git_paths(paths: &str) -> (Option<FileVersion>, Option<FileVersion>) {
    let middle = paths.match_indices(" b/").map(|(at, _)| at).find(|at| {
        let (old, new) = (&paths[..*at], &paths[at + 1..]);
        old.strip_prefix("a/") == new.strip_prefix("b/")
    });
    match middle.or_else(|| paths.find(" b/")) {
        Some(at) => (file_name(&paths[..at]), file_name(&paths[at + 1..])),
        None => (None, None),
    }
}

fn file_name(path: &str) -> Option<FileVersion> {
    let path = path.split('\t').next().unwrap_or_default().trim_end();
    let path = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path);
    if path == "/dev/null" {
        return None;
    }
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    Some(FileVersion::named(bare))
}
