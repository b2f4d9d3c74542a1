//! What a checkout's index tells, read in this process instead of by a git of its own. Where libgit2 does not read an
//! index, or might see it in another way than git does, the answer is `None`, and git is asked.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Config, Index, IndexEntry, Oid, StatusOptions};

use super::program::Checkout;

const SUBMODULE: u32 = 0o160_000;
/// Set for files of which the user told git that they do not change.
const ASSUME_VALID: u16 = 0x8000;
/// Set for files that are left out of a sparse checkout, and for those that are to be added later.
const SKIP_OR_INTENT: u16 = 0x6000;

/// Returns the folders that hold files of an index. `None` also if settings let git see other files than lie on the disk.
pub(super) fn tracked_folders(checkout: &Checkout, index: &Path) -> Option<HashSet<PathBuf>> {
    if sees_otherwise(&checkout.open().ok()?.config().ok()?) {
        return None;
    }
    let mut folders = HashSet::new();
    if index.exists() {
        for entry in Index::open(index).ok()?.iter() {
            for folder in path_of(&entry).ancestors().skip(1) {
                if folder.as_os_str().is_empty() || !folders.insert(folder.to_owned()) {
                    break;
                }
            }
        }
    }
    Some(folders)
}

/// Returns the tree of HEAD if the files of a checkout are exactly those in it, and there is nothing else, not even
/// ignored files: so it is in a worktree that was just made. The caller knows that files are stored as they lie on the
/// disk as far as settings decide that.
pub(super) fn untouched_tree(checkout: &Checkout) -> Option<Oid> {
    let repository = checkout.open().ok()?;
    if sees_otherwise(&repository.config().ok()?) {
        return None;
    }
    let tree = repository.head().ok()?.peel_to_tree().ok()?.id();
    let is_plain = |entry: IndexEntry| {
        let special = entry.flags & ASSUME_VALID != 0 || entry.flags_extended & SKIP_OR_INTENT != 0;
        let converts = path_of(&entry).file_name().is_some_and(|name| name == ".gitattributes");
        !special && !converts && entry.mode != SUBMODULE
    };
    if !repository.index().ok()?.iter().all(is_plain) {
        return None;
    }
    let mut options = StatusOptions::new();
    options.include_untracked(true).include_ignored(true).no_refresh(false).update_index(false);
    repository.statuses(Some(&mut options)).ok()?.is_empty().then_some(tree)
}

fn sees_otherwise(settings: &Config) -> bool {
    let is = |name: &str, odd: bool| settings.get_bool(name).is_ok_and(|value| value == odd);
    is("core.filemode", false) || is("core.symlinks", false) || is("core.ignorecase", true)
}

fn path_of(entry: &IndexEntry) -> &Path {
    Path::new(OsStr::from_bytes(&entry.path))
}
