//! What a checkout changed, as text: a unified diff against where it left its base.

use git2::{DiffFormat, DiffOptions, Oid, Repository};

use super::error::{Error, blocking};
use super::program::Checkout;
use super::refs;

/// How much of a diff is made. More than this nobody reads at once.
const MOST_BYTES: usize = 4 << 20;

/// Returns the commit that the branch of a checkout began at, if git still remembers it.
fn beginning(repository: &Repository, head: Oid) -> Option<Oid> {
    let branch = repository.head().ok()?;
    let log = repository.reflog(branch.name().ok()?).ok()?;
    let first = log.get(log.len().checked_sub(1)?)?.id_new();
    repository.merge_base(head, first).ok()
}

/// Returns the difference between a checkout, with what is not committed in it, and where it left the branch `base`, or
/// began if `base` has all of it.
/// What is over a few megabytes is left out, and said to be.
pub async fn patch(checkout: &Checkout, base: &str) -> Result<String, Error> {
    let (checkout, base) = (checkout.clone(), base.to_owned());
    blocking(move || {
        let repository = checkout.open()?;
        let failed = Error::read(&checkout.path);
        let head = repository.head().and_then(|head| head.peel_to_commit()).map_err(&failed)?.id();
        let tip = refs::branch_tip(&repository, &base)?.ok_or_else(|| Error::NoBranch(base.clone()))?;
        let from = match repository.merge_base(head, tip).unwrap_or(tip) {
            // All of it is in the base by now, and what it was made of is still worth a look.
            merged if merged == head => beginning(&repository, head).unwrap_or(merged),
            left => left,
        };
        let tree = repository.find_commit(from).and_then(|commit| commit.tree()).map_err(&failed)?;
        let mut options = DiffOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .show_untracked_content(true)
            .ignore_submodules(true);
        let mut diff = repository.diff_tree_to_workdir_with_index(Some(&tree), Some(&mut options)).map_err(&failed)?;
        diff.find_similar(None).map_err(&failed)?;
        let mut text = Vec::new();
        let mut cut = false;
        let printed = diff.print(DiffFormat::Patch, |_, _, line| {
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(line.origin() as u8);
            }
            text.extend_from_slice(line.content());
            cut = text.len() > MOST_BYTES;
            !cut
        });
        // Stopping on purpose looks like a failure to the library.
        if !cut {
            printed.map_err(&failed)?;
        }
        let mut text = String::from_utf8_lossy(&text).into_owned();
        if cut {
            text.push_str("\n[the rest of this diff is left out: it is too long]\n");
        }
        Ok(text)
    })
    .await
}
