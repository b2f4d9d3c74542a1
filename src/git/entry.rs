//! The administrative entries of linked checkouts: one folder each below `worktrees/` of the common git folder.
//!
//! Read as plain files, because git itself refuses to list what a crash left there.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use super::error::Error;
use super::program::Checkout;
use super::repo_file;

/// The lock reason of a worktree that is being made. With this lock, it holds no work yet.
pub(super) const BEING_MADE: &str = "mxd: being made";

/// What HEAD of a checkout points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    Branch(String),
    /// A commit without a branch.
    Detached(String),
    /// HEAD cannot be read.
    Unreadable,
}

/// The entry of one linked checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WorktreeEntry {
    pub(super) git_dir: PathBuf,
    /// The checkout's folder. `None` if the entry was never completed.
    pub(super) path: Option<PathBuf>,
    pub(super) head: Head,
    /// The lock reason, if it is locked.
    pub(super) lock: Option<String>,
}

impl WorktreeEntry {
    pub(super) fn is_being_made(&self) -> bool {
        self.lock.as_deref() == Some(BEING_MADE)
    }

    /// Returns true if git named the entry after this folder, even if the folder was moved since. Git appends a number
    /// if the name was taken.
    pub(super) fn is_named_after(&self, path: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| name.as_bytes().to_owned()).unwrap_or_default();
        let (own, folder) = (name(&self.git_dir), name(path));
        !folder.is_empty()
            && own.strip_prefix(folder.as_slice()).is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
    }

    pub(super) fn checkout(&self, path: &Path, common: &Path) -> Checkout {
        Checkout { path: path.to_owned(), git_dir: self.git_dir.clone(), common: common.to_owned() }
    }
}

/// Returns all entries, completed or not.
pub(super) fn all(common: &Path) -> Result<Vec<WorktreeEntry>, Error> {
    let folder = common.join("worktrees");
    let listed = match fs::read_dir(&folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::disk("list", folder)(error)),
    };
    let mut entries = Vec::new();
    for found in listed {
        let found = found.map_err(Error::disk("list", &folder))?;
        if found.file_type().is_ok_and(|kind| kind.is_dir()) {
            entries.push(read(found.path()));
        }
    }
    entries.sort_by(|a, b| a.git_dir.cmp(&b.git_dir));
    Ok(entries)
}

/// Returns the entry of the checkout in a folder, if both point to each other.
pub(super) fn of(path: &Path, common: &Path) -> Option<WorktreeEntry> {
    let git_dir = link_of(path).filter(|git_dir| git_dir.parent() == Some(&common.join("worktrees")))?;
    let entry = read(git_dir);
    (entry.path.as_deref() == Some(&plain(path))).then_some(entry)
}

fn read(git_dir: PathBuf) -> WorktreeEntry {
    let path = path_in(&git_dir);
    let lock = line(&git_dir.join("locked")).map(|reason| String::from_utf8_lossy(&reason).into_owned());
    WorktreeEntry { head: head(&git_dir), lock, path, git_dir }
}

/// Returns the checkout's folder as recorded in its git folder.
pub(super) fn path_in(git_dir: &Path) -> Option<PathBuf> {
    let bytes = one_path(&git_dir.join("gitdir")).filter(|bytes| !bytes.is_empty())?;
    absolute(git_dir, Path::new(&std::ffi::OsString::from_vec(bytes))).parent().map(plain)
}

/// Reads HEAD in a git folder.
pub(super) fn head(git_dir: &Path) -> Head {
    let Some(bytes) = line(&git_dir.join("HEAD")) else { return Head::Unreadable };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.strip_prefix("ref: refs/heads/") {
        Some(branch) => Head::Branch(branch.to_owned()),
        None if text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => Head::Detached(text),
        None => Head::Unreadable,
    }
}

/// Returns the git folder that the `.git` file of a folder names, or `None` if it is not such a file.
pub(super) fn link_of(folder: &Path) -> Option<PathBuf> {
    let bytes = one_path(&folder.join(".git"))?;
    let target = bytes.strip_prefix(b"gitdir: ")?;
    let target = absolute(folder, Path::new(&std::ffi::OsStr::from_bytes(target)));
    Some(fs::canonicalize(&target).unwrap_or(target))
}

/// Returns a path as git records it: links in its parent resolved, the last component unchanged.
pub(super) fn plain(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            // A parent that does not exist cannot be resolved; try the one above it.
            let parent = fs::canonicalize(parent)
                .unwrap_or_else(|_| if parent.parent().is_some() { plain(parent) } else { parent.to_owned() });
            parent.join(name)
        }
        _ => path.to_owned(),
    }
}

/// Resolves `.` and `..` of a path relative to `base`, without looking at the disk.
pub(super) fn absolute(base: &Path, path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(part),
        }
    }
    whole
}

/// Reads a file that holds one path, without line breaks at its end. The path itself may contain some.
fn one_path(file: &Path) -> Option<Vec<u8>> {
    fs::read(file).ok().map(trim_line_end)
}

/// Removes line breaks at the end, as git does when it reads a path.
pub(super) fn trim_line_end(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes
}

/// Returns the first line of a small file.
fn line(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = repo_file::read_plain(path, repo_file::SMALL)?;
    if let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        bytes.truncate(end);
    }
    Some(bytes)
}
