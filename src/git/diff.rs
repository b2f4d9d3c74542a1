//! Diffs as plain data: files, hunks and numbered lines, between any two of commit, tree and worktree.
//!
//! All sizes are bounded, and truncation is reported. Runs no filter and no external diff.

mod read;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::{Error, blocking};
use super::program::Checkout;
use crate::model::diff::Diff;
pub(super) use read::{find_renames, fork_point as read_fork_point};

/// One end of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffEndpoint {
    /// A commit, or a branch.
    Commit(String),
    /// A tree, such as that of a snapshot.
    Tree(String),
    /// The files of the checkout, untracked ones included.
    Worktree,
    /// The empty tree.
    Empty,
}

/// Which whitespace differences count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Whitespace {
    #[default]
    Counts,
    /// Ignore the amount of whitespace, and whitespace at the end of a line.
    Amount,
    /// Ignore all whitespace.
    Ignored,
}

/// Options and limits of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffSettings {
    pub whitespace: Whitespace,
    /// Unchanged lines around each change.
    pub context: u32,
    /// Only these files or folders; empty means all.
    pub only: Vec<PathBuf>,
    pub max_files: usize,
    /// Lines of one file.
    pub max_lines: usize,
    /// Bytes of one line.
    pub max_columns: usize,
    /// Bytes of a file that is compared line by line.
    pub max_bytes: i64,
}

impl Default for DiffSettings {
    fn default() -> Self {
        Self {
            whitespace: Whitespace::Counts,
            context: 3,
            only: Vec::new(),
            max_files: 3_000,
            // Enough for a file of 50,000 lines that all changed.
            max_lines: 100_000,
            max_columns: 4_000,
            max_bytes: 16 << 20,
        }
    }
}

pub async fn between(
    checkout: &Checkout,
    old: &DiffEndpoint,
    new: &DiffEndpoint,
    settings: &DiffSettings,
) -> Result<Diff, Error> {
    let (checkout, old, new, settings) = (checkout.clone(), old.clone(), new.clone(), settings.clone());
    blocking(move || read::between(&checkout, &old, &new, &settings)).await
}

/// Returns the diff as a git patch, untruncated and byte for byte.
pub async fn patch(
    checkout: &Checkout,
    old: &DiffEndpoint,
    new: &DiffEndpoint,
    settings: &DiffSettings,
) -> Result<Vec<u8>, Error> {
    let (checkout, old, new, settings) = (checkout.clone(), old.clone(), new.clone(), settings.clone());
    blocking(move || read::patch(&checkout, &old, &new, &settings)).await
}

/// Compares a checkout, including uncommitted changes, with its fork point from the branch `base`.
pub async fn since_base(checkout: &Checkout, base: &str, settings: &DiffSettings) -> Result<Diff, Error> {
    let (here, base) = (checkout.clone(), base.to_owned());
    let from = blocking(move || read::fork_point(&here, None, &base)).await?;
    between(checkout, &DiffEndpoint::Commit(from), &DiffEndpoint::Worktree, settings).await
}

/// Returns the fork point of a branch from `base`. If `base` has merged all of it, returns the fork point before that
/// merge. `branch` is `None` for what is checked out.
pub async fn fork_point(checkout: &Checkout, branch: Option<&str>, base: &str) -> Result<String, Error> {
    let (checkout, branch, base) = (checkout.clone(), branch.map(str::to_owned), base.to_owned());
    blocking(move || read::fork_point(&checkout, branch.as_deref(), &base)).await
}
