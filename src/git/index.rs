//! What a checkout's index tells, read in this process instead of by a git of its own. Where libgit2 does not read an
//! index, or might see it in another way than git does, the answer is `None`, and git is asked.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Config, Index, IndexEntry};

use super::program::Checkout;

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

fn sees_otherwise(settings: &Config) -> bool {
    let is = |name: &str, odd: bool| settings.get_bool(name).is_ok_and(|value| value == odd);
    is("core.filemode", false) || is("core.symlinks", false) || is("core.ignorecase", true)
}

fn path_of(entry: &IndexEntry) -> &Path {
    Path::new(OsStr::from_bytes(&entry.path))
}
