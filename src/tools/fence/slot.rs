//! A file reached through its folder's descriptor: read and replaced without following links.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};

use super::Writable;
use crate::tools::path_display::spelled;
use crate::tools::read_tracker::FileVersion;

/// A file to read or replace. All operations block.
#[derive(Debug)]
pub struct FileTarget {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    staging: Option<PathBuf>,
}

/// The content of a file and its metadata.
#[derive(Debug)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    pub metadata: Metadata,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const PASS_THROUGH: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PASS_THROUGH: OFlags = OFlags::RDONLY;

/// Whether missing folders are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Make,
    Fail,
}

impl FileTarget {
    /// Returns the file of `writable`, creating its folders.
    pub fn make(writable: &Writable) -> io::Result<Self> {
        let slot = Self::reach(&writable.base, &writable.below, Missing::Make)?;
        Ok(Self { staging: writable.staging.clone(), ..slot })
    }

    /// Returns the file of `writable`, if its folder exists.
    pub fn open(writable: &Writable) -> io::Result<Self> {
        let slot = Self::reach(&writable.base, &writable.below, Missing::Fail)?;
        Ok(Self { staging: writable.staging.clone(), ..slot })
    }

    /// Returns the file at any real path, for reading.
    pub fn of(path: &Path) -> io::Result<Self> {
        Self::reach(Path::new("/"), path.strip_prefix("/").unwrap_or(path), Missing::Fail)
    }

    fn reach(base: &Path, below: &Path, missing: Missing) -> io::Result<Self> {
        let name = below.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let flags = PASS_THROUGH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = rustix::fs::open(base, flags, Mode::empty())?;
        for component in below.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(name) = component else {
                return Err(io::Error::other("the path is not a real one"));
            };
            let next = || rustix::fs::openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty());
            let opened = match (next(), missing) {
                (Err(rustix::io::Errno::NOENT), Missing::Make) => {
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(rustix::io::Errno::EXIST) => next(),
                        Err(error) => Err(error),
                    }
                }
                (other, Missing::Make | Missing::Fail) => other,
            };
            folder = opened.map_err(|error| refused(error, name))?;
        }
        Ok(Self { folder, name: name.to_owned(), path: base.join(below), staging: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for reading. Only regular files: a pipe or a device may never end, or have side effects.
    pub fn file(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty());
        let file = File::from(opened.map_err(|error| refused(error, &self.name))?);
        let kind = file.metadata()?.file_type();
        if kind.is_file() {
            Ok(file)
        } else if kind.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else {
            Err(io::Error::other("it is not a regular file but a device, a pipe or a socket"))
        }
    }

    /// Returns the current content, or `None` if the file does not exist.
    pub fn read(&self, most: u64) -> io::Result<Option<FileContent>> {
        let mut file = match self.file() {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if metadata.len() > most {
            return Err(io::Error::other(format!("it has {} bytes, more than the {most} that fit", metadata.len())));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        Ok(Some(FileContent { bytes, metadata }))
    }

    /// Replaces the file atomically: readers see the old content or the new, never a part. Keeps the mode and, where
    /// the system allows it, the owner of the replaced file. `before` is the metadata of the file that was read: if
    /// it changed since then, nothing is written. Returns the metadata of the new file.
    ///
    /// The new content is written in the staging folder, where `git add` does not see it. If that folder is on
    /// another file system, it is written next to the file.
    pub fn replace(&self, bytes: &[u8], before: Option<&Metadata>) -> io::Result<Metadata> {
        if let Some(staging) = self.open_staging() {
            match self.replace_from(&staging, bytes, before) {
                // Another mount of the same file system.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error()) => {}
                written => return written,
            }
        }
        self.replace_from(&self.folder, bytes, before)
    }

    /// Opens the staging folder, if it is on the file system of the file.
    fn open_staging(&self) -> Option<OwnedFd> {
        let flags = PASS_THROUGH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let staging = rustix::fs::open(self.staging.as_ref()?, flags, Mode::empty()).ok()?;
        let device = |folder: &OwnedFd| rustix::fs::fstat(folder).ok().map(|stat| stat.st_dev);
        (device(&staging)? == device(&self.folder)?).then_some(staging)
    }

    fn replace_from(&self, staging: &OwnedFd, bytes: &[u8], before: Option<&Metadata>) -> io::Result<Metadata> {
        let (mut file, temporary) = temporary(staging)?;
        let group = if before.is_none() { self.inherited_group() } else { None };
        let written = fill(&mut file, bytes, before, group).and_then(|()| {
            if !self.is_unchanged(before)? {
                return Err(io::Error::other("it was changed by something else at the same moment; read it again"));
            }
            rustix::fs::renameat(staging, &temporary, &self.folder, &self.name)?;
            file.metadata()
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(staging, &temporary, AtFlags::empty());
        }
        written
    }

    fn is_unchanged(&self, before: Option<&Metadata>) -> io::Result<bool> {
        match self.file().and_then(|file| file.metadata()) {
            Ok(now) => Ok(before.is_some_and(|before| FileVersion::of(before) == FileVersion::of(&now))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(before.is_none()),
            Err(error) => Err(error),
        }
    }

    /// Returns the group that a new file inherits from its folder, if the folder is setgid.
    fn inherited_group(&self) -> Option<Gid> {
        let folder = rustix::fs::fstat(&self.folder).ok()?;
        Mode::from_raw_mode(folder.st_mode).contains(Mode::SGID).then(|| Gid::from_raw(folder.st_gid))
    }
}

fn temporary(folder: &OwnedFd) -> io::Result<(File, OsString)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut tries = 0;
    loop {
        // Not derived from the file's name, which may already have the maximum length.
        let name = OsString::from(format!(".mxd-{}.tmp", ulid::Ulid::generate()));
        match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(opened) => return Ok((File::from(opened), name)),
            Err(rustix::io::Errno::EXIST) if tries < 8 => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

fn fill(file: &mut File, bytes: &[u8], like: Option<&Metadata>, group: Option<Gid>) -> io::Result<()> {
    file.write_all(bytes)?;
    if group.is_some() {
        // Changing the owner needs privileges; the content matters more.
        let _ = rustix::fs::fchown(&*file, None, group);
    }
    if let Some(like) = like {
        let now = file.metadata()?;
        if (like.uid(), like.gid()) != (now.uid(), now.gid()) {
            let owner = (Some(Uid::from_raw(like.uid())), Some(Gid::from_raw(like.gid())));
            // Changing the owner needs privileges; the content matters more.
            let _ = rustix::fs::fchown(&*file, owner.0, owner.1);
        }
        rustix::fs::fchmod(&*file, Mode::from(like.mode() & 0o7777))?;
    }
    file.sync_data()
}

/// Explains a link where there was none when the path was resolved: another process changed it meanwhile.
fn refused(error: rustix::io::Errno, name: &OsStr) -> io::Error {
    match error {
        rustix::io::Errno::LOOP => io::Error::other(format!(
            "\"{}\" became a symbolic link while it was being opened; nothing was done",
            spelled(Path::new(name))
        )),
        other => other.into(),
    }
}
