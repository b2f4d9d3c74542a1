//! Differences as plain data: files, hunks, lines with their numbers. Between any two of commit, tree and worktree.
//!
//! Bounded in every direction, and what is cut says so. Runs nothing: no filter, no external diff.

mod read;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::{Error, blocking};
use super::program::Checkout;
use crate::model::diff::Diff;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
