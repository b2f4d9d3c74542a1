//! The state of one checkout on both sides: HEAD, the index, and an operation in progress.
//!
//! The index that git uses inside is in the shadow. The real one is a copy of it, written after all objects that it
//! names are in the real repository, so that git outside never sees an index that it cannot read. An index from the
//! shadow is written by an agent: it is parsed by libgit2, each path is checked, and it is serialised anew.
//!
//! Of an operation in progress, only its kind is published. Its files are commands to git (`exec` in the list of a
//! rebase, for one), and would run when the user continues the operation.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use git2::{Index, IndexEntry, Odb, Oid, Repository};
use rustix::fs::Mode;
use serde::{Deserialize, Serialize};

use super::ref_table::RefTable;
use crate::git::dir::Dir;
use crate::git::error::Error;
use crate::git::library;
use crate::git::program::Checkout;
use crate::git::status;
use crate::git::worktree_files::remove_if_there;

/// Files with the state of an operation. They are copied to a shadow, and never back.
pub(super) const STATE_FILES: [&str; 12] = [
    "ORIG_HEAD",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_AUTOSTASH",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "AUTO_MERGE",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
];
/// Folders with such state.
pub(super) const STATE_DIRS: [&str; 4] = ["rebase-merge", "rebase-apply", "sequencer", "refs/bisect"];
/// The largest index that is copied.
const MAX_INDEX: u64 = 1 << 30;
const MAX_SMALL: u64 = 64 << 10;
const SUBMODULE: u32 = 0o160_000;
const KINDS: [u32; 4] = [0o100_644, 0o100_755, 0o120_000, SUBMODULE];
/// Code points that some file systems ignore in names.
const IGNORED: [std::ops::RangeInclusive<char>; 4] =
    ['\u{200c}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{206a}'..='\u{206f}', '\u{feff}'..='\u{feff}'];

/// HEAD and index of one side, for comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    head: String,
    /// The hash of the index. Empty if there is none.
    index: String,
}

impl Seen {
    pub(super) fn read(git_dir: &Dir) -> Self {
        let head = git_dir.read(OsStr::new("HEAD"), MAX_SMALL).unwrap_or_default();
        let index = git_dir.read(OsStr::new("index"), MAX_INDEX);
        Self {
            head: String::from_utf8_lossy(&head).trim().to_owned(),
            index: index.map(|bytes| blake3::hash(&bytes).to_hex().to_string()).unwrap_or_default(),
        }
    }
}

/// An index of a shadow that may be published, and the objects that it needs outside.
pub(super) struct CheckedIndex {
    /// As libgit2 writes it.
    content: Vec<u8>,
    pub(super) missing: Vec<Oid>,
}

/// Why an index is not published.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexProblem {
    #[error("{0}")]
    Unreadable(String),
    #[error("it names the path {0:?}")]
    Path(String),
    #[error(transparent)]
    Disk(#[from] Error),
}

/// Reads and checks the index of a shadow. `file` is a private place for a copy. `None` if there is no index.
pub(super) fn check_index(shadow: &Dir, file: &Path, real: &Repository) -> Result<Option<CheckedIndex>, IndexProblem> {
    let content = match shadow.read(OsStr::new("index"), MAX_INDEX) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(IndexProblem::Unreadable(error.to_string())),
    };
    fs::write(file, content).map_err(Error::disk("write", file))?;
    let unreadable = |error: git2::Error| IndexProblem::Unreadable(error.message().to_owned());
    library::prepare();
    let mut index = Index::open(file).map_err(unreadable)?;
    let known: HashSet<Oid> =
        real.index().map(|index| index.iter().map(|entry| entry.id).collect()).unwrap_or_default();
    let odb = real.odb().map_err(unreadable)?;
    let mut missing = HashSet::new();
    for entry in index.iter() {
        if !is_safe(&entry.path) || !KINDS.contains(&entry.mode) {
            return Err(IndexProblem::Path(String::from_utf8_lossy(&entry.path).into_owned()));
        }
        if !known.contains(&entry.id) && is_missing(&entry, &odb) {
            missing.insert(entry.id);
        }
    }
    index.write().map_err(unreadable)?;
    let content = fs::read(file).map_err(Error::disk("read", file))?;
    Ok(Some(CheckedIndex { content, missing: missing.into_iter().collect() }))
}

fn is_missing(entry: &IndexEntry, odb: &Odb<'_>) -> bool {
    entry.mode != SUBMODULE && !odb.exists(entry.id)
}

/// Returns true if git may write a file at this path of a checkout.
fn is_safe(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').all(|part| {
        let name: String =
            String::from_utf8_lossy(part).chars().filter(|c| !IGNORED.iter().any(|r| r.contains(c))).collect();
        let on_ntfs = name.trim_end_matches(['.', ' ']);
        let is_git = on_ntfs.eq_ignore_ascii_case(".git") || on_ntfs.eq_ignore_ascii_case("git~1");
        !matches!(name.as_str(), "" | "." | "..") && !is_git
    })
}

impl CheckedIndex {
    /// Replaces the real index. Returns false if another process holds its lock.
    pub(super) fn publish(&self, real: &Dir) -> Result<bool, Error> {
        replace(real, "index", &self.content)
    }
}

/// Returns what the real HEAD should contain, or `None` to leave it.
pub(super) fn head_to_publish(
    checkout: &Checkout,
    branch: &str,
    shadow: &Dir,
    shadow_refs: &RefTable,
    real_refs: &RefTable,
) -> Option<String> {
    let content = shadow.read(OsStr::new("HEAD"), MAX_SMALL).ok()?;
    let text = String::from_utf8_lossy(&content).trim().to_owned();
    let Some(name) = text.strip_prefix("ref: ") else {
        return Oid::from_str(&text).ok().map(|id| format!("{id}\n"));
    };
    let tip = shadow_refs.get(name)?;
    // A branch that another checkout may have is not checked out here as well.
    let may_have = name == branch || checkout.git_dir == checkout.common;
    if may_have && real_refs.get(name) == Some(tip) { Some(format!("ref: {name}\n")) } else { Some(format!("{tip}\n")) }
}

/// Returns the commit of a detached HEAD in a shadow.
pub(super) fn detached(shadow: &Dir) -> Option<Oid> {
    let content = shadow.read(OsStr::new("HEAD"), MAX_SMALL).ok()?;
    Oid::from_str(std::str::from_utf8(&content).ok()?.trim()).ok()
}

/// Writes the real HEAD, if it differs. Returns false if another process holds its lock.
pub(super) fn publish_head(real: &Dir, content: &str) -> Result<bool, Error> {
    let current = real.read(OsStr::new("HEAD"), MAX_SMALL).unwrap_or_default();
    if current.trim_ascii() == content.trim().as_bytes() { Ok(true) } else { replace(real, "HEAD", content.as_bytes()) }
}

/// Records the operation in progress inside, or that there is none.
pub(super) fn publish_operation(shadow: &Path, real: &Checkout) -> Result<(), Error> {
    let found = status::operation(shadow);
    if found == status::published_operation(&real.git_dir) {
        return Ok(());
    }
    let file = real.git_dir.join(status::OPERATION);
    match found {
        Some(operation) => fs::write(&file, operation.word()).map_err(Error::disk("write", &file)),
        None => remove_if_there(&file),
    }
}

/// Copies HEAD, index and the state of operations from the real checkout to its shadow.
pub(super) fn adopt(real: &Dir, shadow: &Dir) -> Result<bool, Error> {
    let mut is_done = true;
    for name in ["HEAD", "index"].into_iter().chain(STATE_FILES) {
        let Ok(content) = real.read(OsStr::new(name), MAX_INDEX) else { continue };
        if shadow.read(OsStr::new(name), MAX_INDEX).is_ok_and(|current| current == content) {
            continue;
        }
        is_done &= replace(shadow, name, &content)?;
    }
    Ok(is_done)
}

/// Replaces a file under git's own lock. Returns false if another process holds the lock.
pub(super) fn replace(folder: &Dir, name: &str, content: &[u8]) -> Result<bool, Error> {
    let failed = || Error::disk("write", folder.path().join(name));
    let lock_name = format!("{name}.lock");
    let lock = OsStr::from_bytes(lock_name.as_bytes());
    let mut file = match folder.create(lock, Mode::from_raw_mode(0o644)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed()(error)),
    };
    let written = file.write_all(content).and_then(|()| file.sync_data());
    let done = written.and_then(|()| folder.rename(lock, folder, OsStr::new(name)));
    if done.is_err() {
        let _ = folder.remove_file(lock);
    }
    done.map(|()| true).map_err(failed())
}

#[cfg(test)]
#[path = "checkout_state_tests.rs"]
mod tests;
