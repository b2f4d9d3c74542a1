//! Denies writing to the folders from which git runs hooks. They are looked up at every write, because git's settings
//! can change.

use std::fmt;
use std::path::{Path, PathBuf};

use super::PathPolicyError;
use super::real::real_path;

/// Looks up the folders of git hooks.
pub trait HookLocator: fmt::Debug + Send + Sync {
    /// Returns the current folders, existing or not, or why they are unknown.
    fn folders(&self) -> Result<Vec<PathBuf>, String>;
}

/// The names of git hooks. If the worktree's root is their folder, only these names are denied.
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

/// Returns true if a path is inside a folder, also on a file system that ignores case.
fn is_below(path: &Path, folder: &Path) -> bool {
    let mut parts = path.components();
    folder.components().all(|name| parts.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(name)))
}

/// Refuses a real path in the worktree `root` that is, or could be used by, a hook.
pub(super) fn refuse(hooks: &dyn HookLocator, root: &Path, path: &Path) -> Result<(), PathPolicyError> {
    let unknown = |problem: String| PathPolicyError::HooksUnknown { path: path.to_owned(), problem };
    for folder in hooks.folders().map_err(unknown)? {
        let folder = real_path(&folder).map_err(|error| unknown(error.to_string()))?;
        let is_closed = if folder == root {
            path.strip_prefix(root)
                .is_ok_and(|below| NAMES.iter().any(|name| below.as_os_str().eq_ignore_ascii_case(name)))
        } else {
            folder.starts_with(root) && is_below(path, &folder)
        };
        if is_closed {
            return Err(PathPolicyError::Hook { path: path.to_owned(), folder });
        }
    }
    Ok(())
}
