//! Diffs of files as plain data: files, hunks, lines with their numbers.
//!
//! Read from git, parsed from a patch, or computed from two texts; displayed by the screen, printed by the CLI.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use crate::base::text;

/// The kind of change of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    #[default]
    Modified,
    Added,
    Deleted,
    Renamed,
    Copied,
    /// For example, a file became a link.
    TypeChanged,
    /// New, and not yet added to git.
    Untracked,
    Conflicted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Executable,
    Link,
    Submodule,
}

/// One side of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileVersion {
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    pub kind: FileKind,
    /// The id of the content; the commit of a submodule. Empty if the diff was not read from git.
    pub id: String,
    pub bytes: u64,
}

impl FileVersion {
    /// Returns a plain file of which only the path is known.
    pub fn named(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), kind: FileKind::File, id: String::new(), bytes: 0 }
    }
}

/// Why lines of a file are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutReason {
    Binary,
    /// It is too large to compare line by line.
    TooLarge,
    /// The number of changed and surrounding lines that are left out.
    Lines(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileDiff {
    pub status: FileStatus,
    /// `None` for a new file.
    pub old: Option<FileVersion>,
    /// `None` for a deleted file.
    pub new: Option<FileVersion>,
    pub added: usize,
    pub removed: usize,
    pub hunks: Vec<Hunk>,
    pub cut: Option<CutReason>,
    /// Information in a patch outside of its hunks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl FileDiff {
    /// Returns the current path of the file.
    pub fn path(&self) -> Option<&Path> {
        self.new.as_ref().or(self.old.as_ref()).map(|version| version.path.as_path())
    }

    pub fn name(&self) -> Cow<'_, str> {
        self.path().map_or(Cow::Borrowed("unnamed file"), Path::to_string_lossy)
    }

    /// Returns remarks about changes that the lines do not show.
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
                let commit = |version: Option<&FileVersion>| {
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
            Some(CutReason::Binary) => remarks.push(format!("binary, {}", sizes())),
            Some(CutReason::TooLarge) => remarks.push(format!("too large to compare line by line, {}", sizes())),
            Some(CutReason::Lines(lines)) => {
                remarks.push(format!("{} more not shown", text::count(lines, "line", "lines")));
            }
            None => {}
        }
        remarks
    }

    /// Returns the change of line endings, which the text of the lines does not show.
    fn line_ends(&self) -> Option<String> {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let of = |kind: LineKind| {
            let mut ends =
                lines().filter(|line| line.kind == kind && line.hidden == 0).map(|line| line.text.ends_with('\r'));
            let first = ends.next()?;
            ends.all(|end| end == first).then_some(first)
        };
        match (of(LineKind::Removed)?, of(LineKind::Added)?) {
            (false, true) => Some("line endings changed from LF to CRLF".to_owned()),
            (true, false) => Some("line endings changed from CRLF to LF".to_owned()),
            (true, true) | (false, false) => None,
        }
    }
}

impl FileKind {
    fn words(self) -> &'static str {
        match self {
            Self::File => "a regular file",
            Self::Executable => "an executable",
            Self::Link => "a symbolic link",
            Self::Submodule => "a submodule",
        }
    }
}

/// Changed lines of a file and their context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    /// The enclosing function or heading, as far as git knows it.
    pub heading: String,
    pub lines: Vec<Line>,
}

impl Hunk {
    /// Returns the first and last line of the hunk in the new file, or in the old file if no new line is left.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Line {
    pub kind: LineKind,
    /// The line number in the old file.
    pub old: Option<u32>,
    /// The line number in the new file.
    pub new: Option<u32>,
    /// The text without its line feed; a carriage return before it stays. Must be sanitized before printing.
    pub text: String,
    /// The number of bytes that are left out of `text`.
    pub hidden: usize,
    /// It is the last line of its file, and has no line feed.
    pub unended: bool,
}

impl Line {
    /// Returns the text for display: without a carriage return, with a note about what is left out.
    pub fn shown(&self) -> Cow<'_, str> {
        // In a CRLF file every line has one, so it is not a change.
        let text = self.text.strip_suffix('\r').unwrap_or(&self.text);
        if self.hidden == 0 {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("{text} … {} more", text::size(self.hidden as u64)))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Diff {
    pub files: Vec<FileDiff>,
    /// The number of changed files that are not in `files`.
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

/// Serializes a path as text, even if it is not valid UTF-8.
pub fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
