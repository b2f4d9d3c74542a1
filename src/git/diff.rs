//! Differences as plain data: files, hunks, lines with their numbers. Between any two of commit, tree and worktree.
//!
//! Bounded in every direction, and what is cut says so. Runs nothing: no filter, no external diff.

mod read;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::{Error, blocking};
use super::program::Checkout;
pub(super) use read::find_renames;

/// One end of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A commit, or a branch.
    Commit(String),
    /// A tree, such as that of a snapshot.
    Tree(String),
    /// The files of the checkout, untracked ones included.
    Worktree,
    /// Nothing at all.
    Empty,
}

/// Which differences of white space count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whitespace {
    #[default]
    Counts,
    /// Its amount does not count, nor whether it is there at the end of a line.
    Amount,
    /// It does not count at all.
    Ignored,
}

/// What is wanted, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub whitespace: Whitespace,
    /// Unchanged lines around what changed.
    pub context: u32,
    /// Only these files or folders; none: all.
    pub only: Vec<PathBuf>,
    pub most_files: usize,
    /// Lines of one file.
    pub most_lines: usize,
    /// Bytes of one line.
    pub most_columns: usize,
    /// Bytes of a file that is compared line by line.
    pub most_bytes: i64,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            whitespace: Whitespace::Counts,
            context: 3,
            only: Vec::new(),
            most_files: 3_000,
            // A file of 50,000 lines that changed in each of them, both sides and all.
            most_lines: 100_000,
            most_columns: 4_000,
            most_bytes: 16 << 20,
        }
    }
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Added,
    Deleted,
    Modified,
    Renamed,
    Copied,
    /// A file became a link, or the like.
    TypeChanged,
    Untracked,
    Conflicted,
}

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    File,
    Executable,
    Link,
    Submodule,
}

/// One side of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    pub kind: Kind,
    /// The content's id; for a submodule, its commit.
    pub id: String,
    pub bytes: u64,
}

/// Why a file's lines are not all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It is not text.
    Binary,
    /// It is larger than what is compared line by line.
    TooLarge,
    /// This many changed and surrounding lines are left out.
    Lines(usize),
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    pub status: FileStatus,
    pub old: Option<Version>,
    pub new: Option<Version>,
    pub added: usize,
    pub removed: usize,
    pub hunks: Vec<Hunk>,
    pub cut: Option<Cut>,
}

impl FileDiff {
    /// Returns the name by which a person knows the file.
    pub fn path(&self) -> Option<&PathBuf> {
        self.new.as_ref().or(self.old.as_ref()).map(|version| &version.path)
    }
}

/// Lines of a file that changed, with what is around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    /// The function or heading that it is in, as far as git knows.
    pub heading: String,
    pub lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    pub kind: LineKind,
    /// Its number on the old side.
    pub old: Option<u32>,
    /// Its number on the new side.
    pub new: Option<u32>,
    /// Without its line break. Foreign text: what shows it makes it safe.
    pub text: String,
    /// How many bytes of it are not in `text`.
    pub hidden: usize,
    /// It is the last one, and has no line break.
    pub unended: bool,
}

/// Everything that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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

/// Writes a path as text, also one that is none.
pub(super) fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Compares two ends.
pub async fn between(checkout: &Checkout, old: &End, new: &End, wish: &Wish) -> Result<Diff, Error> {
    let (checkout, old, new, wish) = (checkout.clone(), old.clone(), new.clone(), wish.clone());
    blocking(move || read::between(&checkout, &old, &new, &wish)).await
}

/// Returns what differs between two ends as a patch, as git itself writes it: whole, and with every byte as it is.
pub async fn patch(checkout: &Checkout, old: &End, new: &End, wish: &Wish) -> Result<Vec<u8>, Error> {
    let (checkout, old, new, wish) = (checkout.clone(), old.clone(), new.clone(), wish.clone());
    blocking(move || read::patch(&checkout, &old, &new, &wish)).await
}

/// Compares a checkout, with what is not committed in it, with where it left the branch `base`.
pub async fn since_base(checkout: &Checkout, base: &str, wish: &Wish) -> Result<Diff, Error> {
    let (here, base) = (checkout.clone(), base.to_owned());
    let from = blocking(move || read::fork_point(&here, None, &base)).await?;
    between(checkout, &End::Commit(from), &End::Worktree, wish).await
}

/// Returns the commit at which a branch, or else what is checked out, left the branch `base`; or had left it when `base` took
/// it in, if it has all of it by now.
pub async fn left(checkout: &Checkout, branch: Option<&str>, base: &str) -> Result<String, Error> {
    let (checkout, branch, base) = (checkout.clone(), branch.map(str::to_owned), base.to_owned());
    blocking(move || read::fork_point(&checkout, branch.as_deref(), &base)).await
}
