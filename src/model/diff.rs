//! Differences between two versions of files as plain data: files, hunks, lines with their numbers.
//!
//! Read from git, parsed from a patch, or computed from two texts; shown by the screen, printed by the command line.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use crate::base::text;

/// What happened to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    #[default]
    Modified,
    Added,
    Deleted,
    Renamed,
    Copied,
    /// A file became a link, or the like.
    TypeChanged,
    /// New, and not added to git yet.
    Untracked,
    Conflicted,
}

/// The kind of thing that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Executable,
    Link,
    Submodule,
}

/// One side of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    pub kind: FileKind,
    /// The content's id; for a submodule, its commit. Empty if the diff was not read from git.
    pub id: String,
    pub bytes: u64,
}

impl Version {
    /// Returns a plain file of which only the path is known.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), kind: FileKind::File, id: String::new(), bytes: 0 }
    }
}

/// Why not all lines of a file are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It is not text.
    Binary,
    /// It is too large to be compared line by line.
    TooLarge,
    /// This many changed and surrounding lines are left out.
    Lines(usize),
}

/// A file that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    pub status: FileStatus,
    /// `None` for a new file.
    pub old: Option<Version>,
    /// `None` for a deleted file.
    pub new: Option<Version>,
    pub added: usize,
    pub removed: usize,
    pub hunks: Vec<Hunk>,
    pub cut: Option<Cut>,
    /// What a patch says about the file outside of its hunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl FileDiff {
    /// Returns the path under which the file is known now.
    pub fn path(&self) -> Option<&Path> {
        self.new.as_ref().or(self.old.as_ref()).map(|version| version.path.as_path())
    }

    /// Returns the path as text.
    pub fn name(&self) -> Cow<'_, str> {
        self.path().map_or(Cow::Borrowed("unnamed file"), Path::to_string_lossy)
    }

    /// Returns everything worth saying about the file that its lines do not show.
    pub fn remarks(&self) -> Vec<String> {
        let (old, new) = (self.old.as_ref(), self.new.as_ref());
        let sizes = || match (old, new) {
            (Some(old), Some(new)) => format!("{} to {}", text::size(old.bytes), text::size(new.bytes)),
            (Some(one), None) | (None, Some(one)) => text::size(one.bytes),
            (None, None) => String::new(),
        };
        let mut remarks = self.notes.clone();
        match (old.map(|version| version.kind), new.map(|version| version.kind)) {
            (Some(FileKind::Submodule), _) | (_, Some(FileKind::Submodule)) => {
                let commit = |version: Option<&Version>| {
                    version.map_or("nothing".to_owned(), |version| version.id.chars().take(10).collect())
                };
                remarks.push(format!("submodule: from {} to {}", commit(old), commit(new)));
            }
            (Some(was), Some(is)) if was != is => remarks.push(format!("was {}, is now {}", was.words(), is.words())),
            (None, Some(is)) if is != FileKind::File => remarks.push(format!("it is {}", is.words())),
            _ => {}
        }
        remarks.extend(self.line_ends());
        match self.cut {
            Some(Cut::Binary) => remarks.push(format!("not text, {}", sizes())),
            Some(Cut::TooLarge) => remarks.push(format!("too large to compare line by line, {}", sizes())),
            Some(Cut::Lines(lines)) => {
                remarks.push(format!("{} more are not shown", text::count(lines, "line", "lines")));
            }
            None => {}
        }
        remarks
    }

    /// Returns the change of line ends, which the text of the lines does not show.
    fn line_ends(&self) -> Option<String> {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
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
}

impl FileKind {
    fn words(self) -> &'static str {
        match self {
            Self::File => "a plain file",
            Self::Executable => "a program that can be run",
            Self::Link => "a symbolic link",
            Self::Submodule => "a submodule",
        }
    }
}

/// Changed lines of a file, with those around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    /// The function or heading that it is in, as far as git knows.
    pub heading: String,
    pub lines: Vec<Line>,
}

impl Hunk {
    /// Returns the first and last line of the new file that it covers, or of the old file if no new line is left.
    pub fn lines_shown(&self) -> (u32, u32) {
        let numbers = |side: fn(&Line) -> Option<u32>| {
            let mut numbers = self.lines.iter().filter_map(side);
            let first = numbers.next()?;
            Some((first, numbers.next_back().unwrap_or(first)))
        };
        let new = numbers(|line| line.new);
        new.or_else(|| numbers(|line| line.old)).unwrap_or((self.new_start, self.new_start))
    }
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub kind: LineKind,
    /// Its number in the old file.
    pub old: Option<u32>,
    /// Its number in the new file.
    pub new: Option<u32>,
    /// Without its line feed; a carriage return before that stays. Not safe to print as it is.
    pub text: String,
    /// How many bytes of it are not in `text`.
    pub hidden: usize,
    /// It is the last one of its file, and has no line feed.
    pub unended: bool,
}

impl Line {
    /// Returns the text as it is read: without a carriage return, and with a word about what is left out.
    pub fn shown(&self) -> Cow<'_, str> {
        // A file from Windows has one at the end of every line: it is not what changed.
        let text = self.text.strip_suffix('\r').unwrap_or(&self.text);
        if self.hidden == 0 {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("{text} … {} more", text::size(self.hidden as u64)))
    }
}

/// Everything that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    pub files: Vec<FileDiff>,
    /// Files that differ and are not in `files`.
    pub hidden_files: usize,
}

impl Diff {
    pub fn added(&self) -> usize {
        self.files.iter().map(|file| file.added).sum()
    }

    pub fn removed(&self) -> usize {
        self.files.iter().map(|file| file.removed).sum()
    }
}

/// Writes a path as text, even if it is not valid UTF-8.
pub fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
