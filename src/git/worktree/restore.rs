//! Restores a task's work from its archive or its branch: branch, worktree, and uncommitted files as uncommitted
//! changes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git2::{Oid, Repository};

use super::archive::UNCOMMITTED;
use super::{WorktreeSpec, WorktreeState, Worktrees};
use crate::git::error::{Error, blocking};
use crate::git::refs;
use crate::git::status;
use crate::git::tree_capture::capture;
use crate::git::worktree_files;

/// The fate of the uncommitted files in a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    /// There was none.
    None,
    /// These files are changed in the worktree again.
    Restored(Vec<PathBuf>),
    /// The branch has moved on since. The files are only in the archive.
    Archived { archive: String },
}

/// Result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreOutcome {
    pub worktree: WorktreeState,
    pub uncommitted: Uncommitted,
}

struct Archive {
    id: Oid,
    head: Oid,
    /// It contains uncommitted files.
    uncommitted: bool,
}

fn read(repository: &Repository, id: Oid) -> Result<Archive, git2::Error> {
    let commit = repository.find_commit(id)?;
    let mut lines = commit.message_bytes().split_inclusive(|byte| *byte == b'\n');
    let uncommitted = lines.any(|line| line == UNCOMMITTED.as_bytes());
    Ok(Archive { id, head: commit.parent_id(0)?, uncommitted })
}

impl Worktrees {
    /// Restores a task's branch and worktree. The archive stays. Never overwrites other uncommitted work in the
    /// worktree.
    pub async fn restore(&self, spec: &WorktreeSpec) -> Result<RestoreOutcome, Error> {
        let _lock = self.lock_worktree(&spec.path).await;
        let (main, task, branch) = (self.main.clone(), spec.task, spec.branch.clone());
        let (archive, tip) = blocking(move || {
            let repository = main.open()?;
            let archive = match refs::target(&repository, &refs::archive_ref(task))? {
                Some(id) => Some(read(&repository, id).map_err(Error::read(&main.path))?),
                None => None,
            };
            Ok((archive, refs::branch_tip(&repository, &branch)?))
        })
        .await?;
        if archive.is_none() && tip.is_none() {
            return Err(Error::NothingSaved(spec.task));
        }
        let start = archive.as_ref().map(|archive| archive.head.to_string());
        let worktree = self.ensure(spec, start.as_deref()).await?;
        if let WorktreeState::OtherBranch(_) | WorktreeState::Detached { .. } = worktree {
            return Ok(RestoreOutcome { worktree, uncommitted: Uncommitted::None });
        }
        let Some(archive) = archive else { return Ok(RestoreOutcome { worktree, uncommitted: Uncommitted::None }) };
        let uncommitted = self.restore_uncommitted(spec, archive, tip).await?;
        Ok(RestoreOutcome { worktree, uncommitted })
    }

    async fn restore_uncommitted(
        &self,
        spec: &WorktreeSpec,
        archive: Archive,
        tip: Option<Oid>,
    ) -> Result<Uncommitted, Error> {
        if !archive.uncommitted {
            return Ok(Uncommitted::None);
        }
        if tip.is_some_and(|tip| tip != archive.head) {
            return Ok(Uncommitted::Archived { archive: archive.id.to_string() });
        }
        let checkout = self.checkout(&spec.path).await?;
        let changed = status::changed_paths(&checkout).await?;
        let now = capture(&checkout, None).await?.tree;
        let here = checkout.clone();
        blocking(move || {
            let repository = here.open()?;
            let failed = Error::read(&here.path);
            let archived = repository.find_commit(archive.id).and_then(|commit| commit.tree()).map_err(&failed)?;
            let now = repository.find_tree(now).map_err(&failed)?;
            let missing = worktree_files::changes(&repository, &now, &archived)?;
            // Files that an interrupted restore already wrote are not missing; other changes may be work in progress.
            let missing_paths: BTreeSet<_> = missing.iter().map(|change| &change.path).collect();
            let mut others = changed.iter().filter(|path| missing_paths.contains(path));
            if let Some(example) = others.next() {
                let (files, example) = (1 + others.count(), example.display().to_string());
                return Err(Error::Dirty { path: here.path.clone(), files, example });
            }
            worktree_files::apply(&repository, &here.anchor()?, &missing)
        })
        .await?;
        Ok(Uncommitted::Restored(status::changed_paths(&checkout).await?))
    }
}
