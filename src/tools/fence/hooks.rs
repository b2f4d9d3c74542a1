//! The folders from which git runs hooks, as a fence sees them. Which those are is asked at every write, of somebody who
//! can read git's settings.

use std::fmt;
use std::path::{Path, PathBuf};

use super::FenceError;
use super::real::real;

/// Who knows where git finds its hooks.
pub trait Hooks: fmt::Debug + Send + Sync {
    /// Returns the folders as they are set up now, existing or not, or why they cannot be told.
    fn folders(&self) -> Result<Vec<PathBuf>, String>;
}

/// What git calls its hooks. Where the worktree's top is their folder, these names are closed and not everything.
const NAMES: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Tells whether a path lies in a folder, or would on a file system that takes upper and lower case for one.
fn is_below(path: &Path, folder: &Path) -> bool {
    let mut parts = path.components();
    folder.components().all(|name| parts.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(name)))
}

/// Refuses a real path in the worktree `root` that is, or could be used by, a hook.
pub(super) fn refuse(hooks: &dyn Hooks, root: &Path, path: &Path) -> Result<(), FenceError> {
    let unknown = |problem: String| FenceError::HooksUnknown { path: path.to_owned(), problem };
    for folder in hooks.folders().map_err(unknown)? {
        let folder = real(&folder).map_err(|error| unknown(error.to_string()))?;
        let is_closed = if folder == root {
            path.strip_prefix(root)
                .is_ok_and(|below| NAMES.iter().any(|name| below.as_os_str().eq_ignore_ascii_case(name)))
        } else {
            folder.starts_with(root) && is_below(path, &folder)
        };
        if is_closed {
            return Err(FenceError::Hook { path: path.to_owned(), folder });
        }
    }
    Ok(())
}
