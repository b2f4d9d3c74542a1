//! Restores files that a filter driver (Git LFS) produced: git writes those, because only the filter has their content.
//! Other files are written byte for byte.

use std::path::Path;

use git2::{AttrCheckFlags, FileMode, Oid, Repository};

use super::error::{Error, blocking};
use super::program::Checkout;
use super::worktree_files::{self, Change};

/// A temporary index for such files.
const INDEX: &str = "mxd-smudge-index";

/// Applies changes in a checkout. `head` is the commit that the checkout was on when they were captured: files as in
/// that commit are stored as git stores them, others were captured byte for byte.
pub(super) async fn apply(checkout: &Checkout, changes: &[Change], head: Option<&str>) -> Result<(), Error> {
    let (here, changes, head) = (checkout.clone(), changes.to_vec(), head.and_then(|head| Oid::from_str(head).ok()));
    let filtered = blocking(move || {
        let repository = here.open()?;
        let stored = head.and_then(|head| repository.find_commit(head).and_then(|commit| commit.tree()).ok());
        let is_filtered = |change: &Change| match (change.wanted, &stored) {
            (Some((id, mode)), Some(tree)) if mode != FileMode::Link && has_filter(&repository, &change.path) => {
                tree.get_path(&change.path).is_ok_and(|entry| entry.id() == id)
            }
            _ => false,
        };
        let (filtered, plain): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_filtered);
        worktree_files::apply(&repository, &here.anchor()?, &plain)?;
        Ok(filtered)
    })
    .await?;
    if filtered.is_empty() {
        return Ok(());
    }
    let index = checkout.git_dir.join(INDEX);
    let mut input = Vec::new();
    for change in &filtered {
        let Some((id, mode)) = change.wanted else { continue };
        input.extend_from_slice(format!("{:o} {id}\t", i32::from(mode)).as_bytes());
        input.extend_from_slice(std::os::unix::ffi::OsStrExt::as_bytes(change.path.as_os_str()));
        input.push(0);
    }
    for left in [index.clone(), index.with_extension("lock")] {
        worktree_files::remove_if_there(&left)?;
    }
    checkout.git(["update-index", "-z", "--add", "--index-info"]).index(&index).input(input).run().await?;
    let written =
        checkout.git(["checkout-index", "--all", "--force", "--quiet"]).index(&index).long(None).fetching().run().await;
    worktree_files::remove_if_there(&index)?;
    written.map(drop)
}

/// Returns true if a filter driver applies to a file.
pub(super) fn has_filter(repository: &Repository, path: &Path) -> bool {
    matches!(repository.get_attr(path, "filter", AttrCheckFlags::FILE_THEN_INDEX), Ok(Some(name)) if name != "unset")
}
