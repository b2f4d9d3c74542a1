//! The state of a worktree, as `done` looks at it: what is uncommitted, and whether the project's check passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;

use super::setup::left_by_hook;
use super::{Parts, verifying};
use crate::base::TaskId;
use crate::engine::machine::LaunchOrder;
use crate::engine::tools::{Clean, FailedCheck};
use crate::git::status::{self, ChangeKind, Changed};

/// How many uncommitted files are named when `done` is refused for them.
const NAMED_FILES: usize = 20;

/// A worktree, as `done` looks at it.
pub(super) struct WorktreeState {
    parts: Arc<Parts>,
    task: TaskId,
    path: PathBuf,
    /// The same as the tree has it: what the setup hook left is noted beside it.
    place: Option<PathBuf>,
    /// What checks the work in it.
    verify: Option<String>,
}

impl WorktreeState {
    pub(super) fn new(parts: &Arc<Parts>, order: &LaunchOrder, root: &Path) -> Self {
        let verify = order.node.verify.clone().or_else(|| parts.settings.verify.clone());
        let place = order.place.as_ref().map(|place| place.worktree.clone());
        Self { parts: Arc::clone(parts), task: order.node.id, path: root.to_owned(), place, verify }
    }
}

impl Clean for WorktreeState {
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>> {
        Box::pin(async move {
            let said = |error: crate::git::Error| error.to_string();
            let checkout = self.parts.worktrees.checkout(&self.path).await.map_err(said)?;
            let left = self.place.as_deref().map(left_by_hook).unwrap_or_default();
            let dirty = status::dirty(&checkout, NAMED_FILES + left.len()).await.map_err(said)?;
            let is_left = |change: &&Changed| {
                change.kind == ChangeKind::Untracked && left.iter().any(|left| change.path.starts_with(left))
            };
            let count = dirty.count() - dirty.changes.iter().filter(is_left).count();
            let own = dirty.changes.iter().filter(|change| !is_left(change)).take(NAMED_FILES);
            let mut files: Vec<String> = own.map(|change| change.path.to_string_lossy().into_owned()).collect();
            if count > files.len() {
                files.push(format!("and {} more", count - files.len()));
            }
            Ok(files)
        })
    }

    fn verify(&self) -> BoxFuture<'_, Option<FailedCheck>> {
        Box::pin(async move {
            let command = self.verify.as_deref()?;
            let path = &self.path;
            if verifying::may_be_unchecked(&self.parts, self.task).await {
                return None;
            }
            match verifying::checked(&self.parts, self.task, path, command).await {
                Ok(receipt) if receipt.passed() => None,
                Ok(receipt) => {
                    let how = receipt.exit.map_or_else(
                        || "did not come to its end".to_owned(),
                        |code| format!("failed with exit code {code}"),
                    );
                    let wrong = format!("the project's check `{command}` {how}. What it said:\n{}", receipt.output);
                    Some(FailedCheck { wrong, in_a_row: verifying::failures(&self.parts, self.task).await })
                }
                Err(fault) => {
                    let wrong = format!("the project's check `{command}` could not be run: {fault}");
                    Some(FailedCheck { wrong, in_a_row: 1 })
                }
            }
        })
    }
}
