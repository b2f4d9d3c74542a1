//! Bringing a task's work back from its archive or its branch: branch, worktree, and what was not committed, as
//! uncommitted changes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git2::{Oid, Repository};

use super::archive::UNCOMMITTED;
use super::{Standing, Wanted, Worktrees};
use crate::git::capture::capture;
use crate::git::error::{Error, blocking};
use crate::git::refs;
use crate::git::status;
use crate::git::worktree_files;

/// What became of the part of the work that was not committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    /// There was none.
    None,
    /// These files are changed in the worktree, as they were.
    Restored(Vec<PathBuf>),
    /// The branch has moved on since. The files are in the archive, and the worktree does not have them.
    Kept { archive: String },
}

/// What was brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub standing: Standing,
    pub uncommitted: Uncommitted,
}

struct Archive {
    id: Oid,
    head: Oid,
    /// It holds more than commits.
    uncommitted: bool,
}

fn read(repository: &Repository, id: Oid) -> Result<Archive, git2::Error> {
    let commit = repository.find_commit(id)?;
    let mut lines = commit.message_bytes().split_inclusive(|byte| *byte == b'\n');
    let uncommitted = lines.any(|line| line == UNCOMMITTED.as_bytes());
    Ok(Archive { id, head: commit.parent_id(0)?, uncommitted })
}

impl Worktrees {
    /// Brings a task's branch and worktree back. The archive stays. Uncommitted work that is in the worktree already, and
    /// is not the archive's, is never written over.
    pub async fn restore(&self, wanted: &Wanted) -> Result<Restored, Error> {
        let _place = self.place(&wanted.path).await;
        let (main, task, branch) = (self.main.clone(), wanted.task, wanted.branch.clone());
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
            return Err(Error::NothingKept(wanted.task));
        }
        let start = archive.as_ref().map(|archive| archive.head.to_string());
        let standing = self.settle(wanted, start.as_deref()).await?;
        if let Standing::OtherBranch(_) | Standing::Detached { .. } = standing {
            return Ok(Restored { standing, uncommitted: Uncommitted::None });
        }
        let Some(archive) = archive else { return Ok(Restored { standing, uncommitted: Uncommitted::None }) };
        let uncommitted = self.bring_back(wanted, archive, tip).await?;
        Ok(Restored { standing, uncommitted })
    }

    async fn bring_back(&self, wanted: &Wanted, archive: Archive, tip: Option<Oid>) -> Result<Uncommitted, Error> {
        if !archive.uncommitted {
            return Ok(Uncommitted::None);
        }
        if tip.is_some_and(|tip| tip != archive.head) {
            return Ok(Uncommitted::Kept { archive: archive.id.to_string() });
        }
        let checkout = self.checkout(&wanted.path).await?;
        let changed = status::changed_paths(&checkout).await?;
        let now = capture(&checkout, None).await?.tree;
        let here = checkout.clone();
        blocking(move || {
            let repository = here.open()?;
            let failed = Error::read(&here.path);
            let kept = repository.find_commit(archive.id).and_then(|commit| commit.tree()).map_err(&failed)?;
            let now = repository.find_tree(now).map_err(&failed)?;
            let missing = worktree_files::changes(&repository, &now, &kept)?;
            // What an interrupted restore already wrote is no longer missing; what else is changed is somebody's work.
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
