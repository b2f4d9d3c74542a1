//! The commits that a landing makes, computed in memory and written as objects that nothing points at yet.

use std::path::Path;

use git2::{Commit, Oid, Repository, Signature};

use super::{How, Landing, solve};
use crate::git::agent_env::NOBODY;
use crate::git::conflict::{self, Conflict};
use crate::git::error::Error;
use crate::git::union;

/// What the target would become.
pub(super) enum Computed {
    Tip(Oid),
    Nothing,
    Conflicts(Vec<Conflict>),
}

/// Computes what the target becomes when `theirs` is brought into `ours`. `solved`: where conflicts were solved by hand.
pub(super) fn compute(
    repository: &Repository,
    landing: &Landing,
    ours: Oid,
    theirs: Oid,
    solved: Option<&Path>,
) -> Result<Computed, Error> {
    let failed = Error::read(repository.path());
    let (ahead, _) = repository.graph_ahead_behind(theirs, ours).map_err(&failed)?;
    if ahead == 0 {
        return Ok(Computed::Nothing);
    }
    match landing.how {
        How::Merge | How::Squash => {
            let mut index = conflict::merge(repository, ours, theirs)?;
            if let Some(folder) = solved {
                solve::apply(repository, &mut index, folder)?;
            }
            let conflicts = conflict::conflicts(repository, &index)?;
            if !conflicts.is_empty() {
                return Ok(Computed::Conflicts(conflicts));
            }
            let tree = index.write_tree_to(repository).and_then(|tree| repository.find_tree(tree)).map_err(&failed)?;
            let (ours, theirs) = (commit(repository, ours)?, commit(repository, theirs)?);
            if landing.how == How::Squash && tree.id() == ours.tree_id() {
                return Ok(Computed::Nothing);
            }
            let parents = if landing.how == How::Merge { vec![&ours, &theirs] } else { vec![&ours] };
            let author = identity(repository)?;
            let message = with_trailer(landing);
            let made = repository.commit(None, &author, &author, &message, &tree, &parents).map_err(&failed)?;
            Ok(Computed::Tip(made))
        }
        How::Rebase => replay(repository, ours, theirs),
    }
}

/// Makes each commit again on top of the target.
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
                "the branch has a merge ({:.10}), which a rebase would take apart; merge or squash it instead",
                theirs.id().to_string()
            )));
        }
        let mut index = repository.cherrypick_commit(&theirs, &tip, 0, None).map_err(&failed)?;
        union::settle(repository, &mut index)?;
        let conflicts = conflict::conflicts(repository, &index)?;
        if !conflicts.is_empty() {
            return Ok(Computed::Conflicts(conflicts));
        }
        let tree = index.write_tree_to(repository).and_then(|tree| repository.find_tree(tree)).map_err(&failed)?;
        // What the target has already needs no commit; one that was empty from the start was meant to be.
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

/// Returns who commits: the person, as git itself would find out, or the agent where git knows nobody.
fn identity(repository: &Repository) -> Result<Signature<'static>, Error> {
    let failed = Error::read(repository.path());
    let settings = repository.config().map_err(&failed)?;
    let known = |variable: &str, setting: &str| {
        let said = std::env::var(variable).or_else(|_| settings.get_string(setting).map_err(drop));
        said.ok().filter(|said| !said.trim().is_empty())
    };
    let name = known("GIT_COMMITTER_NAME", "user.name").unwrap_or_else(|| NOBODY.0.to_owned());
    let email = known("GIT_COMMITTER_EMAIL", "user.email").unwrap_or_else(|| NOBODY.1.to_owned());
    Signature::now(&name, &email).map_err(failed)
}

fn with_trailer(landing: &Landing) -> String {
    let message = landing.message.trim_end();
    let message = if message.is_empty() { format!("Merge {}", landing.branch) } else { message.to_owned() };
    if message.lines().any(|line| line.starts_with("Task-Id:")) {
        return format!("{message}\n");
    }
    // A last paragraph of trailers takes one more; any other text gets a paragraph of its own below it.
    let is_trailer = |line: &str| line.split_once(": ").is_some_and(|(key, _)| !key.is_empty() && !key.contains(' '));
    let last = message.rsplit("\n\n").next().filter(|last| last.len() < message.len()).unwrap_or_default();
    let gap = if !last.is_empty() && last.lines().all(is_trailer) { "\n" } else { "\n\n" };
    format!("{message}{gap}Task-Id: {}\n", landing.task)
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
