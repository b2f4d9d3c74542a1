//! Computes the commits of a merge in memory and writes them as unreferenced objects.

use std::path::Path;

use git2::{Commit, Oid, Repository, Signature};

use super::{MergeRequest, MergeStrategy, solve};
use crate::git::agent_env::FALLBACK_IDENTITY;
use crate::git::conflict::{self, Conflict};
use crate::git::error::Error;
use crate::git::union;

/// The computed result of a merge.
pub(super) enum Computed {
    Tip(Oid),
    Nothing,
    Conflicts(Vec<Conflict>),
}

/// Computes the new tip of the target when `theirs` is merged into `ours`. `resolved` is the folder with conflicts
/// resolved by hand.
pub(super) fn compute(
    repository: &Repository,
    request: &MergeRequest,
    ours: Oid,
    theirs: Oid,
    resolved: Option<&Path>,
) -> Result<Computed, Error> {
    let failed = Error::read(repository.path());
    let (ahead, _) = repository.graph_ahead_behind(theirs, ours).map_err(&failed)?;
    if ahead == 0 {
        return Ok(Computed::Nothing);
    }
    match request.strategy {
        MergeStrategy::Merge | MergeStrategy::Squash => {
            let mut index = conflict::merge(repository, ours, theirs)?;
            if let Some(folder) = resolved {
                solve::apply(repository, &mut index, folder)?;
            }
            let conflicts = conflict::conflicts(repository, &index)?;
            if !conflicts.is_empty() {
                return Ok(Computed::Conflicts(conflicts));
            }
            let tree = index.write_tree_to(repository).and_then(|tree| repository.find_tree(tree)).map_err(&failed)?;
            let (ours, theirs) = (commit(repository, ours)?, commit(repository, theirs)?);
            if request.strategy == MergeStrategy::Squash && tree.id() == ours.tree_id() {
                return Ok(Computed::Nothing);
            }
            let parents = if request.strategy == MergeStrategy::Merge { vec![&ours, &theirs] } else { vec![&ours] };
            let author = identity(repository)?;
            let message = with_trailer(request);
            let made = repository.commit(None, &author, &author, &message, &tree, &parents).map_err(&failed)?;
            Ok(Computed::Tip(made))
        }
        MergeStrategy::Rebase => replay(repository, ours, theirs),
    }
}

/// Replays each commit on top of the target.
fn replay(repository: &Repository, ours: Oid, theirs: Oid) -> Result<Computed, Error> {
    let failed = Error::read(repository.path());
    let mut walk = repository.revwalk().map_err(&failed)?;
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE).map_err(&failed)?;
    walk.push(theirs).and_then(|()| walk.hide(ours)).map_err(&failed)?;
    let committer = identity(repository)?;
    let mut tip = commit(repository, ours)?;
    for id in walk {
        let theirs = commit(repository, id.map_err(&failed)?)?;
        if theirs.parent_count() > 1 {
            return Err(Error::Refused(format!(
                "the branch contains a merge commit ({:.10}), which a rebase would flatten; merge or squash instead",
                theirs.id().to_string()
            )));
        }
        let mut index = repository.cherrypick_commit(&theirs, &tip, 0, None).map_err(&failed)?;
        union::resolve_memory(repository, &mut index)?;
        let conflicts = conflict::conflicts(repository, &index)?;
        if !conflicts.is_empty() {
            return Ok(Computed::Conflicts(conflicts));
        }
        let tree = index.write_tree_to(repository).and_then(|tree| repository.find_tree(tree)).map_err(&failed)?;
        // Skip commits that the target has already, but keep those that were empty from the start.
        let was_empty = theirs.parent(0).is_ok_and(|parent| parent.tree_id() == theirs.tree_id());
        if tree.id() == tip.tree_id() && !was_empty {
            continue;
        }
        let message = String::from_utf8_lossy(theirs.message_raw_bytes()).into_owned();
        let made = repository.commit(None, &theirs.author(), &committer, &message, &tree, &[&tip]).map_err(&failed)?;
        tip = commit(repository, made)?;
    }
    Ok(if tip.id() == ours { Computed::Nothing } else { Computed::Tip(tip.id()) })
}

fn commit(repository: &Repository, id: Oid) -> Result<Commit<'_>, Error> {
    repository.find_commit(id).map_err(Error::read(repository.path()))
}

/// Returns the user's identity as git determines it, or the agent's if git has none.
fn identity(repository: &Repository) -> Result<Signature<'static>, Error> {
    let failed = Error::read(repository.path());
    let settings = repository.config().map_err(&failed)?;
    let known = |variable: &str, setting: &str| {
        let value = std::env::var(variable).or_else(|_| settings.get_string(setting).map_err(drop));
        value.ok().filter(|value| !value.trim().is_empty())
    };
    let name = known("GIT_COMMITTER_NAME", "user.name").unwrap_or_else(|| FALLBACK_IDENTITY.0.to_owned());
    let email = known("GIT_COMMITTER_EMAIL", "user.email").unwrap_or_else(|| FALLBACK_IDENTITY.1.to_owned());
    Signature::now(&name, &email).map_err(failed)
}

fn with_trailer(request: &MergeRequest) -> String {
    let message = request.message.trim_end();
    let message = if message.is_empty() { format!("Merge {}", request.branch) } else { message.to_owned() };
    if message.lines().any(|line| line.starts_with("Task-Id:")) {
        return format!("{message}\n");
    }
    // Append to a last paragraph of trailers, else start a new paragraph.
    let is_trailer = |line: &str| line.split_once(": ").is_some_and(|(key, _)| !key.is_empty() && !key.contains(' '));
    let last = message.rsplit("\n\n").next().filter(|last| last.len() < message.len()).unwrap_or_default();
    let gap = if !last.is_empty() && last.lines().all(is_trailer) { "\n" } else { "\n\n" };
    format!("{message}{gap}Task-Id: {}\n", request.task)
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
