//! Reads the text of a unified diff, as git writes it and as people paste it. Nothing that is not understood is fatal:
//! lines outside of hunks become notes or are skipped, and counts that do not fit are believed only as far as they do.

use super::counted;
use crate::model::diff::{FileDiff, FileStatus, Hunk, Line, LineKind, Version};

/// Returns the files that a diff is about.
pub fn parse(text: &str) -> Vec<FileDiff> {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.line(line);
    }
    reader.files.into_iter().map(counted).collect()
}

#[derive(Default)]
struct Reader {
    files: Vec<FileDiff>,
    /// How many lines of the old and of the new file the open hunk still has.
    left: Option<(u32, u32)>,
    old: u32,
    new: u32,
    /// Set when the paths of the current file have been read.
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
            self.file().old = Some(Version::named(path));
            self.file().status = FileStatus::Renamed;
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.file().new = Some(Version::named(path));
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

    /// Takes a line of the open hunk. Tells whether it was one.
    fn in_hunk(&mut self, line: &str) -> bool {
        let (kind, text) = match (line.chars().next(), line) {
            (Some('+'), line) => (LineKind::Added, &line[1..]),
            (Some('-'), line) => (LineKind::Removed, &line[1..]),
            (Some(' '), line) => (LineKind::Context, &line[1..]),
            // Editors and mail cut the space off an empty line.
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

/// Reads the start of a range that has no count, such as `-1`.
fn ranges_start(range: &str, sign: char) -> Option<u32> {
    range.split_whitespace().find_map(|part| part.strip_prefix(sign)).and_then(|start| start.parse().ok())
}

/// Returns the paths behind `diff --git`, which are told apart only by being the same.
fn git_paths(paths: &str) -> (Option<Version>, Option<Version>) {
    let middle = paths.match_indices(" b/").map(|(at, _)| at).find(|at| {
        let (old, new) = (&paths[..*at], &paths[at + 1..]);
        old.strip_prefix("a/") == new.strip_prefix("b/")
    });
    match middle.or_else(|| paths.find(" b/")) {
        Some(at) => (file_name(&paths[..at]), file_name(&paths[at + 1..])),
        None => (None, None),
    }
}

fn file_name(path: &str) -> Option<Version> {
    let path = path.split('\t').next().unwrap_or_default().trim_end();
    let path = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path);
    if path == "/dev/null" {
        return None;
    }
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    Some(Version::named(bare))
}
