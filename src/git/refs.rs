//! Reads, creates, moves and deletes refs, always compared with the expected value.

use std::path::Path;

use git2::{ErrorCode, Oid, Repository};

use super::crash_points::crash_point;
use super::error::Error;
use super::repo_file;
use crate::base::TaskId;

pub(super) const HEADS: &str = "refs/heads/";

pub(super) fn archive_ref(task: TaskId) -> String {
    format!("refs/mxd/archive/{task}")
}

/// Returns the commit of a ref, or `None` if it does not exist.
pub(super) fn target(repository: &Repository, name: &str) -> Result<Option<Oid>, Error> {
    match repository.find_reference(name).and_then(|found| found.peel_to_commit()) {
        Ok(commit) => Ok(Some(commit.id())),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => Ok(None),
        Err(error) => Err(Error::read(repository.path())(error)),
    }
}

/// Returns the last commit of a branch, or `None` if it does not exist.
pub(super) fn branch_tip(repository: &Repository, branch: &str) -> Result<Option<Oid>, Error> {
    target(repository, &format!("{HEADS}{branch}"))
}

/// Creates a branch. Fails if it exists.
pub(super) fn make_branch(repository: &Repository, branch: &str, start: &str) -> Result<(), Error> {
    let id = Oid::from_str(start).map_err(|_| Error::NoCommit(start.to_owned()))?;
    repository.find_commit(id).map_err(|_| Error::NoCommit(start.to_owned()))?;
    // A branch `mxd` and a branch `mxd/x` cannot both exist.
    for (at, _) in branch.match_indices('/') {
        if branch_tip(repository, &branch[..at])?.is_some() {
            return Err(Error::BranchInTheWay(branch[..at].to_owned()));
        }
    }
    let log = format!("branch: Created from {start}");
    repository.reference(&format!("{HEADS}{branch}"), id, false, &log).map_err(Error::read(repository.path()))?;
    Ok(())
}

/// Moves a ref from the expected value, or creates it if `expected` is `None`. Fails with [`Error::Moved`] if another
/// process changed it.
pub(super) fn swap(
    repository: &Repository,
    name: &str,
    expected: Option<Oid>,
    new: Oid,
    log: &str,
) -> Result<(), Error> {
    crash_point("a ref is about to move");
    let done = match expected {
        Some(expected) => repository.reference_matching(name, new, true, expected, log),
        None => repository.reference(name, new, false, log),
    };
    let branch = name.strip_prefix(HEADS).unwrap_or(name).to_owned();
    match done {
        Ok(_) => {
            crash_point("a ref has moved");
            Ok(())
        }
        Err(error) if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists | ErrorCode::Locked) => {
            Err(Error::Moved { branch })
        }
        Err(error) => Err(Error::read(repository.path())(error)),
    }
}

/// Larger reflogs are not read.
const MAX_REFLOG_BYTES: u64 = 64 << 20;

pub(super) fn delete(repository: &Repository, name: &str) -> Result<(), Error> {
    let failed = Error::read(repository.path());
    repository.find_reference(name).and_then(|mut found| found.delete()).map_err(failed)
}

/// Returns the last commit in a reflog that exists in the repository.
pub(super) fn last_of_reflog(log: &Path, repository: &Repository) -> Option<Oid> {
    let text = repo_file::read_plain(log, MAX_REFLOG_BYTES)?;
    let known = |line: &[u8]| {
        let id = line.split(|byte| *byte == b' ').nth(1)?;
        let id = Oid::from_str(std::str::from_utf8(id).ok()?).ok()?;
        repository.find_commit(id).ok().map(|commit| commit.id())
    };
    text.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()).find_map(known)
}

/// Returns the last commit of a task's branch when it was archived.
pub(super) fn archived_head(repository: &Repository, task: TaskId) -> Option<Oid> {
    let archive = target(repository, &archive_ref(task)).ok()??;
    repository.find_commit(archive).ok()?.parent_id(0).ok()
}

/// Returns true if a commit is in the history of one of these branches.
pub(super) fn is_merged(repository: &Repository, commit: Oid, bases: &[String]) -> Result<bool, Error> {
    for base in bases {
        let Some(tip) = branch_tip(repository, base)? else { continue };
        let reached =
            tip == commit || repository.graph_descendant_of(tip, commit).map_err(Error::read(repository.path()))?;
        if reached {
            return Ok(true);
        }
    }
    Ok(false)
}
