//! Archives: work that exists only in a worktree, saved under `refs/mxd/archive/<task-id>` before the worktree is
//! removed.
//!
//! An archive is a commit: its tree is the state of the files, its first parent the last commit of the worktree.
//! Further parents protect what would otherwise be lost: the tip of the branch if the worktree was elsewhere, an
//! earlier archive.

use std::path::Path;

use git2::{Oid, Repository};

use super::Worktrees;
use crate::base::TaskId;
use crate::git::entry::Head;
use crate::git::error::{Error, blocking};
use crate::git::program::Checkout;
use crate::git::refs;
use crate::git::status;
use crate::git::tree_capture::{LeftOut, capture};

/// The ref prefix of archives.
pub const ARCHIVE: &str = "refs/mxd/archive/";
/// The line in the message of an archive with uncommitted files.
pub(super) const UNCOMMITTED: &str = "Uncommitted: yes\n";
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Result of archiving a worktree.
#[derive(Debug, Default)]
pub(super) struct Archived {
    /// The archive commit. `None` if there was nothing to save.
    pub(super) commit: Option<String>,
    /// The tip of the branch, which is safe now.
    pub(super) tip: Option<Oid>,
    /// Paths that could not be archived.
    pub(super) left_out: Vec<LeftOut>,
}

struct BranchFacts {
    head: Option<Oid>,
    tip: Option<Oid>,
    previous: Option<Oid>,
    merged: bool,
}

impl Worktrees {
    /// Archives the checkout of a task, or only its branch if the checkout is gone.
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
            Ok(BranchFacts { head, tip, previous: refs::target(&repository, &refs::archive_ref(task))?, merged })
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
        let (tree, existing) = blocking(move || {
            let repository = main.open()?;
            let committed = repository.find_commit(head).map_err(Error::read(&main.path))?.tree_id();
            let tree = captured.unwrap_or(committed);
            // Without a checkout, an earlier archive of the same commit has more than what is left here.
            let holds = |archive: Oid| {
                let archive = repository.find_commit(archive).ok()?;
                let same_tree = captured.is_none() || archive.tree_id() == tree;
                (archive.parent_id(0).ok()? == head && same_tree).then(|| archive.id())
            };
            Ok((tree, previous.and_then(holds)))
        })
        .await?;
        if !dirty && facts.merged && existing.is_none() {
            return Ok(Archived { commit: None, tip: facts.tip, left_out });
        }
        if let Some(existing) = existing {
            return Ok(Archived { commit: Some(existing.to_string()), tip: facts.tip, left_out });
        }
        let mark = if dirty { UNCOMMITTED } else { "" };
        let message = format!("mxd: archive of task {task}\n\nBranch: {branch}\n{mark}");
        let mut call = self.main.git(["commit-tree", "-m", &message, &tree.to_string(), "-p", &head.to_string()]);
        for parent in [facts.tip.filter(|tip| *tip != head), facts.previous].into_iter().flatten() {
            call = call.argument("-p").argument(parent.to_string());
        }
        let commit = call.with_own_identity().durable().line().await?;
        let seen = facts.previous.map_or(NO_COMMIT.to_owned(), |previous| previous.to_string());
        let _entries = self.entries.lock().await;
        let name = refs::archive_ref(task);
        self.main
            .git(["update-ref", "--no-deref", "-m", "mxd: archive", &name, &commit, &seen])
            .durable()
            .run_with_retries()
            .await?;
        Ok(Archived { commit: Some(commit), tip: facts.tip, left_out })
    }

    /// Returns the submodules with their own checkout here: changes in them are not in our archive.
    async fn submodules(&self, checkout: &Checkout) -> Result<Vec<LeftOut>, Error> {
        let checkout = checkout.clone();
        blocking(move || {
            let repository = checkout.open()?;
            let index = repository.index().map_err(Error::read(&checkout.path))?;
            let link = i32::from(git2::FileMode::Commit).cast_unsigned();
            let links = index.iter().filter(|entry| entry.mode == link).map(|entry| {
                std::path::PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(entry.path))
            });
            Ok(links.filter(|path| is_initialised(&checkout.path.join(path))).map(LeftOut::Repository).collect())
        })
        .await
    }
}

/// Returns the commit that a checkout is on.
fn head_commit(repository: &Repository, checkout: &Checkout) -> Option<Oid> {
    match crate::git::entry::head(&checkout.git_dir) {
        Head::Branch(branch) => refs::branch_tip(repository, &branch).ok().flatten(),
        Head::Detached(id) => Oid::from_str(&id).ok().filter(|id| repository.find_commit(*id).is_ok()),
        Head::Unreadable => None,
    }
}

/// Returns true if a submodule's folder is a repository. One that was never initialised is an empty folder.
fn is_initialised(folder: &Path) -> bool {
    folder.join(".git").exists()
}
