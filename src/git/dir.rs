//! An open directory, and what is done to the files below it.
//!
//! Everything is reached by handles, one folder at a time, and never through a symbolic link. Whoever puts a link in the
//! place of a folder while we work causes an error, and never a write or a deletion elsewhere. The path that a [`Dir`]
//! carries serves messages only.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The permissions that deleting a folder's content takes.
const OWNER: Mode = Mode::RWXU;

/// An open directory. Cheap to clone; clones share the handle.
#[derive(Clone, Debug)]
pub(super) struct Dir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl Dir {
    /// Opens a folder. The last part of the path must not be a link; the folders above it may.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let fd = fs::open(path, FOLDER, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path: path.to_owned() })
    }

    /// As [`Dir::open`], also through a link.
    pub(super) fn open_linked(path: &Path) -> io::Result<Self> {
        let fd = fs::open(path, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path: path.to_owned() })
    }

    /// Returns the handle, for a process that is to run in this folder.
    pub(super) fn handle(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.fd)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder in this one.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Self> {
        let fd = fs::openat(&self.fd, name, FOLDER, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path: self.path.join(name) })
    }

    /// Opens a folder somewhere below this one.
    pub(super) fn below(&self, path: &Path) -> io::Result<Self> {
        names(path)?.into_iter().try_fold(self.clone(), |dir, name| dir.child(name))
    }

    /// Opens a folder below this one, and makes what is missing of it. A link or a file on the way is an error.
    pub(super) fn make(&self, path: &Path) -> io::Result<Self> {
        names(path)?.into_iter().try_fold(self.clone(), |dir, name| dir.make_child(name))
    }

    fn make_child(&self, name: &OsStr) -> io::Result<Self> {
        match fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.child(name),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Dir::make`], but what is on the way and no folder is removed: a link, or a file.
    pub(super) fn make_over(&self, path: &Path) -> io::Result<Self> {
        names(path)?.into_iter().try_fold(self.clone(), |dir, name| {
            if dir.stat(name)?.is_some_and(|found| !is_folder(&found)) {
                dir.remove_file(name)?;
            }
            dir.make_child(name)
        })
    }

    /// Returns what a name stands for here, without following it; `None` if nothing has that name.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Dir::stat`], where a link leads.
    pub(super) fn stat_linked(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(fs::statat(&self.fd, name, AtFlags::empty())?)
    }

    /// Lists the names in this folder.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.fd)? {
            let name = entry?.file_name().to_bytes().to_owned();
            if !matches!(name.as_slice(), b"." | b"..") {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Opens a file for reading. A link, a pipe or a device is an error.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = File::from(fs::openat(&self.fd, name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Reads the first bytes of a file.
    pub(super) fn read(&self, name: &OsStr, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes a file that does not exist yet.
    pub(super) fn create(&self, name: &OsStr, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(fs::openat(&self.fd, name, flags, mode)?))
    }

    pub(super) fn read_link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(OsString::from_vec(fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes()))
    }

    pub(super) fn symlink(&self, target: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(fs::symlinkat(target, &self.fd, name)?)
    }

    /// Gives a file a second name. Fails if something has that name.
    pub(super) fn hard_link(&self, file: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(fs::linkat(&self.fd, file, &self.fd, name, AtFlags::empty())?)
    }

    /// Moves what has a name here, be it a link, to a name in another folder.
    pub(super) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, name, &to.fd, new)?)
    }

    /// Removes a file or a link. One that is gone is no error.
    pub(super) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        match fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an empty folder.
    pub(super) fn remove_dir(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a folder that holds nothing but folders.
    pub(super) fn remove_empty_dirs(&self, name: &OsStr) -> io::Result<()> {
        let folder = self.child(name)?;
        for inner in folder.names()? {
            if folder.stat(&inner)?.is_some_and(|found| is_folder(&found)) {
                folder.remove_empty_dirs(&inner)?;
            }
        }
        self.remove_dir(name)
    }

    /// Removes a file, a link or a folder with everything in it, also where folders in it forbid it: some package caches are
    /// made read-only. What is gone is no error.
    pub(super) fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        match self.remove_all(name, Forbidden::Stays) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.remove_all(name, Forbidden::Goes),
            done => done,
        }
    }

    fn remove_all(&self, name: &OsStr, forbidden: Forbidden) -> io::Result<()> {
        match self.stat(name)? {
            None => return Ok(()),
            Some(found) if !is_folder(&found) => return self.remove_file(name),
            Some(found) => {
                if forbidden == Forbidden::Goes {
                    let mode = Mode::from_raw_mode(found.st_mode) | OWNER;
                    // Without read permission the folder cannot be opened to change it.
                    let _ = fs::chmodat(&self.fd, name, mode, AtFlags::empty());
                }
            }
        }
        let folder = self.child(name)?;
        for inner in folder.names()? {
            folder.remove_all(&inner, forbidden)?;
        }
        match self.remove_dir(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// What happens to folders whose permissions forbid to empty them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forbidden {
    Stays,
    /// Their permissions are changed first.
    Goes,
}

/// Tells whether a folder could not be opened because a link or a file has its name.
pub(super) fn is_in_the_way(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOTDIR | Errno::LOOP))
}

pub(super) fn is_folder(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

pub(super) fn is_file(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// Returns the parts of a path that stays below where it starts.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let plain = |part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} leads out of its folder", path.display()))),
    };
    path.components().map(plain).collect()
}

/// Returns the folder and the name of a file.
pub(super) fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let name = path.file_name().filter(|name| !name.as_bytes().is_empty());
    name.map(|name| (path.parent().unwrap_or(Path::new("")), name)).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
#[path = "dir_tests.rs"]
mod tests;
