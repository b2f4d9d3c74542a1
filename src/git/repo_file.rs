//! Reads and creates the files of a repository that Matrix itself uses: `.mxd/`, guides, lists of patterns.
//!
//! A repository is not trusted, so a path in it may be a link, a device or a pipe. Links are resolved first, and a path
//! that leaves the repository or enters a `.git` folder is refused. The file is then opened from the top folder, one
//! component at a time, without following links and without blocking. It must be a regular file and is read up to
//! a limit. Does not know what the files mean.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::base::{Fault, disk, sanitize};

/// The size limit for settings, plans and lists of patterns.
pub const SMALL: u64 = 1 << 20;

/// Why a file of a repository was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("it is, or lies behind, a link that leads out of the repository; put the file itself there")]
    LeadsOut,
    #[error("it is, or lies behind, a link into git's own data; put the file itself there")]
    LeadsIntoGit,
    #[error("it is not a regular file but {0}; replace it with one")]
    NotAFile(&'static str),
    #[error("it is larger than {0} bytes; make it smaller")]
    TooLarge(u64),
    #[error("it is not UTF-8 text; save it as UTF-8")]
    NotUtf8,
    #[error("{}", disk::describe(.0))]
    Io(#[from] io::Error),
}

/// A file of a repository that was refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}: {refusal}", sanitize::line(&.path.display().to_string()))]
pub struct RepoFileError {
    what: &'static str,
    path: PathBuf,
    pub refusal: Refusal,
}

impl RepoFileError {
    fn of(what: &'static str, path: &Path) -> impl FnOnce(Refusal) -> Self {
        let path = path.to_owned();
        move |refusal| Self { what, path, refusal }
    }
}

impl From<RepoFileError> for Fault {
    fn from(error: RepoFileError) -> Self {
        match &error.refusal {
            Refusal::Io(source) => {
                let reason = disk::describe(source);
                Self::environment(format!("cannot {} {}: {reason}", error.what, error.path.display()))
            }
            Refusal::LeadsOut
            | Refusal::LeadsIntoGit
            | Refusal::NotAFile(_)
            | Refusal::TooLarge(_)
            | Refusal::NotUtf8 => Self::config(error.to_string()),
        }
    }
}

/// Returns the content of the file at `path`, which is relative to `top` or lies below it, or `None` if there is none.
pub fn read(top: &Path, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, RepoFileError> {
    let read = open(top, path).and_then(|opened| {
        let Some(file) = opened else { return Ok(None) };
        let length = file.metadata()?.len();
        if length > limit {
            return Err(Refusal::TooLarge(limit));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        // Some file systems report a length of zero for files that have content.
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit { Err(Refusal::TooLarge(limit)) } else { Ok(Some(bytes)) }
    });
    read.map_err(RepoFileError::of("read", path))
}

/// Like [`read`], for text. Refuses bytes that are not UTF-8.
pub fn read_text(top: &Path, path: &Path, limit: u64) -> Result<Option<String>, RepoFileError> {
    let Some(bytes) = read(top, path, limit)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| Refusal::NotUtf8).map_err(RepoFileError::of("read", path))?;
    Ok(Some(text))
}

/// Like [`read`], but returns the first `max` bytes of a larger file.
pub fn read_start(top: &Path, path: &Path, max: u64) -> Result<Option<Vec<u8>>, RepoFileError> {
    let read = open(top, path).and_then(|opened| {
        let Some(file) = opened else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(max).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    });
    read.map_err(RepoFileError::of("read", path))
}

/// Removes the file or link at `path`. Refuses if its folder is outside of `top`.
pub fn remove(top: &Path, path: &Path) -> Result<(), RepoFileError> {
    let removed = reach(top, path, Missing::Fail).and_then(|(folder, name)| {
        rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(|error| io::Error::from(error).into())
    });
    match removed {
        Err(Refusal::Io(error)) if is_missing(&error) => Ok(()),
        removed => removed.map_err(RepoFileError::of("remove", path)),
    }
}

/// Returns the real path of a regular file, for a program that opens it itself, or `None` if there is none.
pub fn resolve(top: &Path, path: &Path) -> Result<Option<PathBuf>, RepoFileError> {
    let found = open(top, path).and_then(|opened| match opened {
        Some(_) => locate(top, path).map(|place| Some(place.whole())),
        None => Ok(None),
    });
    found.map_err(RepoFileError::of("run", path))
}

/// Returns the content of a regular file of git's own data or of a worktree, or `None` if it does not exist, is not a
/// regular file or is larger than `limit`. Does not follow a link in the last component.
pub(super) fn read_plain(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let found = file.metadata().ok().filter(|found| found.is_file() && found.len() <= limit)?;
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or_default());
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the real path that a write to `path` would reach, after creating the folders above it. Refuses if that is
/// outside of `top` or not a regular file.
pub fn writable(top: &Path, path: &Path) -> Result<PathBuf, RepoFileError> {
    let found = (|| {
        let place = locate(top, path)?;
        let whole = place.whole();
        match fs::symlink_metadata(&whole) {
            Ok(found) => regular(&found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        place.folder(Missing::Make)?;
        Ok(whole)
    })();
    found.map_err(RepoFileError::of("write", path))
}

/// Creates the file at `path` with `content`, and the folders above it. Returns false if something has that name.
pub fn create_new(top: &Path, path: &Path, content: &[u8]) -> Result<bool, RepoFileError> {
    let created = (|| {
        let (folder, name) = reach(top, path, Missing::Make)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&folder, name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => {
                File::from(file).write_all(content)?;
                Ok(true)
            }
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(error) => Err(io::Error::from(error).into()),
        }
    })();
    created.map_err(RepoFileError::of("create", path))
}

fn open(top: &Path, path: &Path) -> Result<Option<File>, Refusal> {
    let opened = locate(top, path).and_then(|place| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let folder = place.folder(Missing::Fail)?;
        match rustix::fs::openat(&folder, place.name()?, flags, Mode::empty()) {
            Ok(file) => Ok(File::from(file)),
            // A socket, or a device without a driver.
            Err(rustix::io::Errno::NXIO) => Err(Refusal::NotAFile("a socket or a device")),
            Err(error) => Err(io::Error::from(error).into()),
        }
    });
    match opened {
        Ok(file) => {
            regular(&file.metadata()?)?;
            Ok(Some(file))
        }
        Err(Refusal::Io(error)) if is_missing(&error) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens the folder of a file and returns it with the file name, which is not resolved.
fn reach<'p>(top: &Path, path: &'p Path, missing: Missing) -> Result<(OwnedFd, &'p OsStr), Refusal> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let above = locate(top, path.parent().unwrap_or(path))?;
    let folder = Located { below: above.below.join(name), ..above }.folder(missing)?;
    Ok((folder, name))
}

fn regular(found: &fs::Metadata) -> Result<(), Refusal> {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = found.file_type();
    if kind.is_file() {
        return Ok(());
    }
    Err(Refusal::NotAFile(match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_symlink() => "a link",
        () => "a device",
    }))
}

/// Whether missing folders are created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Fail,
}

/// A resolved path: the real top folder, and the rest below it.
struct Located {
    top: PathBuf,
    below: PathBuf,
}

impl Located {
    fn whole(&self) -> PathBuf {
        self.top.join(&self.below)
    }

    fn name(&self) -> io::Result<&OsStr> {
        self.below.file_name().ok_or_else(|| io::ErrorKind::IsADirectory.into())
    }

    /// Opens the folder that holds the file without following links: one that appears meanwhile is an error.
    fn folder(&self, missing: Missing) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::open(&self.top, flags, Mode::empty())?;
        for part in self.below.parent().into_iter().flat_map(Path::components) {
            let name = part.as_os_str();
            let next = || rustix::fs::openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty());
            let opened = match next() {
                Err(rustix::io::Errno::NOENT) if missing == Missing::Make => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(rustix::io::Errno::EXIST) => next(),
                        Err(error) => Err(error),
                    }
                }
                opened => opened,
            };
            folder = opened?;
        }
        Ok(folder)
    }
}

/// Resolves the links in `path` and checks that it stays inside `top`. The end of the path need not exist.
fn locate(top: &Path, path: &Path) -> Result<Located, Refusal> {
    let below = path.strip_prefix(top).unwrap_or(path);
    let top = fs::canonicalize(top)?;
    let mut whole = top.clone();
    for part in below.components() {
        let Component::Normal(name) = part else { return Err(Refusal::LeadsOut) };
        whole.push(name);
        if fs::symlink_metadata(&whole).is_ok_and(|found| found.is_symlink()) {
            whole = match fs::canonicalize(&whole) {
                Ok(real) => real,
                // A dangling link may point anywhere later.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Refusal::LeadsOut),
                Err(error) => return Err(error.into()),
            };
        }
    }
    let Ok(below) = whole.strip_prefix(&top).map(Path::to_owned) else { return Err(Refusal::LeadsOut) };
    if below.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
        return Err(Refusal::LeadsIntoGit);
    }
    Ok(Located { top, below })
}

#[cfg(test)]
#[path = "repo_file_tests.rs"]
mod tests;
