//! What a repository notes about its linked checkouts: one folder per checkout below `worktrees/` of the common folder.
//!
//! Read as plain files, because what a crash left there is exactly what git itself refuses to list.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use super::error::Error;
use super::program::Checkout;
use super::repo_file;

/// The reason on the lock of a worktree that is being made. While it stands there, nobody has worked in it.
pub(super) const BEING_MADE: &str = "mxd: being made";

/// What a checkout's HEAD names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    Branch(String),
    /// A commit, without a branch.
    Detached(String),
    /// Nothing that can be read.
    Unreadable,
}

/// One linked checkout, as the repository notes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) git_dir: PathBuf,
    /// The checkout's folder. Nothing: the note was never finished.
    pub(super) path: Option<PathBuf>,
    pub(super) head: Head,
    /// Why it is locked, if it is.
    pub(super) lock: Option<String>,
}

impl Entry {
    pub(super) fn is_being_made(&self) -> bool {
        self.lock.as_deref() == Some(BEING_MADE)
    }

    /// Tells whether git gave the entry the name of this folder, also if the folder was moved since. Git appends a
    /// number when the name was taken.
    pub(super) fn is_named_after(&self, path: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| name.as_bytes().to_owned()).unwrap_or_default();
        let (ours, wanted) = (name(&self.git_dir), name(path));
        !wanted.is_empty()
            && ours.strip_prefix(wanted.as_slice()).is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
    }

    pub(super) fn checkout(&self, path: &Path, common: &Path) -> Checkout {
        Checkout { path: path.to_owned(), git_dir: self.git_dir.clone(), common: common.to_owned() }
    }
}

/// Returns every linked checkout that is noted, finished or not.
pub(super) fn all(common: &Path) -> Result<Vec<Entry>, Error> {
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

/// Returns the linked checkout in a folder, if the folder and what the repository notes agree on it.
pub(super) fn of(path: &Path, common: &Path) -> Option<Entry> {
    let git_dir = link_of(path).filter(|git_dir| git_dir.parent() == Some(&common.join("worktrees")))?;
    let entry = read(git_dir);
    (entry.path.as_deref() == Some(&plain(path))).then_some(entry)
}

fn read(git_dir: PathBuf) -> Entry {
    let path = path_in(&git_dir);
    let lock = line(&git_dir.join("locked")).map(|reason| String::from_utf8_lossy(&reason).into_owned());
    Entry { head: head(&git_dir), lock, path, git_dir }
}

/// Returns the folder of the checkout that a git folder belongs to, if it names one.
pub(super) fn path_in(git_dir: &Path) -> Option<PathBuf> {
    let bytes = one_path(&git_dir.join("gitdir")).filter(|bytes| !bytes.is_empty())?;
    absolute(git_dir, Path::new(&std::ffi::OsString::from_vec(bytes))).parent().map(plain)
}

/// Returns what the HEAD in a git folder names.
pub(super) fn head(git_dir: &Path) -> Head {
    let Some(bytes) = line(&git_dir.join("HEAD")) else { return Head::Unreadable };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.strip_prefix("ref: refs/heads/") {
        Some(branch) => Head::Branch(branch.to_owned()),
        None if text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => Head::Detached(text),
        None => Head::Unreadable,
    }
}

/// Returns where the `.git` of a folder leads: the git folder that it names, if it is a file that names one.
pub(super) fn link_of(folder: &Path) -> Option<PathBuf> {
    let bytes = one_path(&folder.join(".git"))?;
    let target = bytes.strip_prefix(b"gitdir: ")?;
    let target = absolute(folder, Path::new(&std::ffi::OsStr::from_bytes(target)));
    Some(fs::canonicalize(&target).unwrap_or(target))
}

/// Returns a path spelled as git spells it: its folder without links, its last part as it is.
pub(super) fn plain(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            // A folder that is gone cannot be looked up; then its own folder can, or it stays as it was spelled.
            let parent = fs::canonicalize(parent)
                .unwrap_or_else(|_| if parent.parent().is_some() { plain(parent) } else { parent.to_owned() });
            parent.join(name)
        }
        _ => path.to_owned(),
    }
}

/// Resolves `.` and `..` of a path that is relative to `base`, by its spelling.
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

/// Returns what a small file holds that names one path, without line breaks at its end. The path may hold some itself.
fn one_path(file: &Path) -> Option<Vec<u8>> {
    fs::read(file).ok().map(without_line_end)
}

/// Cuts the line breaks at the end of a text off, as git does where it reads a path.
pub(super) fn without_line_end(mut bytes: Vec<u8>) -> Vec<u8> {
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
