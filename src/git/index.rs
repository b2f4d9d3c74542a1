//! Facts about a checkout's index, read in this process instead of by running git. Returns `None` where libgit2 cannot
//! read an index, or might interpret it differently than git; callers then run git.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Config, Index, IndexEntry, Oid, StatusOptions};

use super::program::Checkout;

const SUBMODULE: u32 = 0o160_000;
/// Set for files that the user told git to assume unchanged.
const ASSUME_VALID: u16 = 0x8000;
/// Set for files outside a sparse checkout, and for intent-to-add entries.
const SKIP_OR_INTENT: u16 = 0x6000;

/// Returns the folders of tracked files. `None` also if settings make git see the files differently than they are on
/// disk.
pub(super) fn tracked_folders(checkout: &Checkout, index: &Path) -> Option<HashSet<PathBuf>> {
    if settings_hide_changes(&checkout.open().ok()?.config().ok()?) {
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

/// Returns the tree of HEAD if a checkout has exactly its files and nothing else, not even ignored files, as in a new
/// worktree. The caller has checked that settings do not convert files.
pub(super) fn untouched_tree(checkout: &Checkout) -> Option<Oid> {
    let repository = checkout.open().ok()?;
    if settings_hide_changes(&repository.config().ok()?) {
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

fn settings_hide_changes(settings: &Config) -> bool {
    let is = |name: &str, odd: bool| settings.get_bool(name).is_ok_and(|value| value == odd);
    is("core.filemode", false) || is("core.symlinks", false) || is("core.ignorecase", true)
}

fn path_of(entry: &IndexEntry) -> &Path {
    Path::new(OsStr::from_bytes(&entry.path))
}
