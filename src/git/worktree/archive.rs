//! What a worktree holds that is nowhere else, kept under `refs/mxd/archive/<task-id>` before the worktree goes.
//!
//! The archive is a commit: its tree is the state of the files, its first parent the last commit of the worktree. Further
//! parents keep what would otherwise be lost: the tip of the branch if the worktree stood elsewhere, an earlier archive.

use std::path::Path;

use git2::{Oid, Repository};

use super::Worktrees;
use crate::base::TaskId;
use crate::git::capture::{LeftOut, capture};
use crate::git::entry::Head;
use crate::git::error::{Error, blocking};
use crate::git::program::Checkout;
use crate::git::refs;
use crate::git::status;

/// Where archives are kept.
pub const ARCHIVE: &str = "refs/mxd/archive/";
/// The line in the message of an archive that holds more than commits.
pub(super) const UNCOMMITTED: &str = "Uncommitted: yes\n";
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// What an archive of a worktree came to.
#[derive(Debug, Default)]
pub(super) struct Archived {
    /// The archive. Nothing: there was nothing to keep.
    pub(super) commit: Option<String>,
    /// The tip of the branch that is safe now.
    pub(super) tip: Option<Oid>,
    /// What could not be kept in it.
    pub(super) left_out: Vec<LeftOut>,
}

struct Facts {
    head: Option<Oid>,
    tip: Option<Oid>,
    previous: Option<Oid>,
    merged: bool,
}

impl Worktrees {
    /// Archives the checkout of a task, or only its branch if there is no checkout any more.
    pub(super) async fn archive(
        &self,
        task: TaskId,
        branch: &str,
        bases: &[String],
        checkout: Option<&Checkout>,
    ) -> Result<Archived, Error> {
        let (main, here, name, bases) = (self.main.clone(), checkout.cloned(), branch.to_owned(), bases.to_vec());
        let facts = blocking(move || {
            let repository = main.open()?;
            let tip = refs::branch_tip(&repository, &name)?;
            let head = here.as_ref().and_then(|here| head_commit(&repository, here)).or(tip);
            let mut merged = true;
            for commit in [head, tip].into_iter().flatten() {
                merged &= refs::is_merged(&repository, commit, &bases)?;
            }
            Ok(Facts { head, tip, previous: refs::target(&repository, &refs::archive_ref(task))?, merged })
        })
        .await?;
        let Some(head) = facts.head else { return Ok(Archived::default()) };
        let mut left_out = Vec::new();
        let (mut captured, mut dirty) = (None, false);
        if let Some(checkout) = checkout {
            dirty = !status::dirty(checkout, 0).await?.is_clean();
            let state = capture(checkout, None).await?;
            left_out = state.left_out;
            left_out.extend(self.submodules(checkout).await?);
            captured = Some(state.tree);
        }
        let (main, previous) = (self.main.clone(), facts.previous);
        let (tree, kept) = blocking(move || {
            let repository = main.open()?;
            let committed = repository.find_commit(head).map_err(Error::read(&main.path))?.tree_id();
            let tree = captured.unwrap_or(committed);
            // Without a checkout, whatever an earlier archive of the same commit holds is more than what is left here.
            let holds = |archive: Oid| {
                let archive = repository.find_commit(archive).ok()?;
                let same_tree = captured.is_none() || archive.tree_id() == tree;
                (archive.parent_id(0).ok()? == head && same_tree).then(|| archive.id())
            };
            Ok((tree, previous.and_then(holds)))
        })
        .await?;
        if !dirty && facts.merged && kept.is_none() {
            return Ok(Archived { commit: None, tip: facts.tip, left_out });
        }
        if let Some(kept) = kept {
            return Ok(Archived { commit: Some(kept.to_string()), tip: facts.tip, left_out });
        }
        let mark = if dirty { UNCOMMITTED } else { "" };
        let message = format!("mxd: archive of task {task}\n\nBranch: {branch}\n{mark}");
        let mut call = self.main.git(["commit-tree", "-m", &message, &tree.to_string(), "-p", &head.to_string()]);
        for parent in [facts.tip.filter(|tip| *tip != head), facts.previous].into_iter().flatten() {
            call = call.argument("-p").argument(parent.to_string());
        }
        let commit = call.by_ourselves().durable().line().await?;
        let seen = facts.previous.map_or(NO_COMMIT.to_owned(), |previous| previous.to_string());
        let _entries = self.entries.lock().await;
        let name = refs::archive_ref(task);
        self.main
            .git(["update-ref", "--no-deref", "-m", "mxd: archive", &name, &commit, &seen])
            .durable()
            .run_patiently()
            .await?;
        Ok(Archived { commit: Some(commit), tip: facts.tip, left_out })
    }

    /// Returns the submodules that have a checkout of their own here: what was done in them is not in our archive.
    async fn submodules(&self, checkout: &Checkout) -> Result<Vec<LeftOut>, Error> {
        let checkout = checkout.clone();
        blocking(move || {
            let repository = checkout.open()?;
            let index = repository.index().map_err(Error::read(&checkout.path))?;
            let link = i32::from(git2::FileMode::Commit).cast_unsigned();
            let links = index.iter().filter(|entry| entry.mode == link).map(|entry| {
                std::path::PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(entry.path))
            });
            Ok(links.filter(|path| has_own_work(&checkout.path.join(path))).map(LeftOut::Repository).collect())
        })
        .await
    }
}

/// Returns the commit that a checkout stands on.
fn head_commit(repository: &Repository, checkout: &Checkout) -> Option<Oid> {
    match crate::git::entry::head(&checkout.git_dir) {
        Head::Branch(branch) => refs::branch_tip(repository, &branch).ok().flatten(),
        Head::Detached(id) => Oid::from_str(&id).ok().filter(|id| repository.find_commit(*id).is_ok()),
        Head::Unreadable => None,
    }
}

/// Tells whether a submodule's folder is a repository. One that was never filled is an empty folder.
fn has_own_work(folder: &Path) -> bool {
    folder.join(".git").exists()
}
