//! An open directory, and operations on the files below it.
//!
//! Every access goes through handles, one folder at a time, and never through a symbolic link. If a folder is swapped
//! for a link meanwhile, the operation fails instead of touching files elsewhere. The path of a [`Dir`] is for messages
//! only.

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
/// The permissions needed to delete a folder's content.
const OWNER: Mode = Mode::RWXU;

/// An open directory. Cheap to clone; clones share the handle.
#[derive(Clone, Debug)]
pub(super) struct Dir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl Dir {
    /// Opens a folder. The last component must not be a link; the folders above it may be.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let fd = fs::open(path, FOLDER, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path: path.to_owned() })
    }

    /// Like [`Dir::open`], but follows a link.
    pub(super) fn open_linked(path: &Path) -> io::Result<Self> {
        let fd = fs::open(path, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path: path.to_owned() })
    }

    /// Returns the handle, for a process that runs in this folder.
    pub(super) fn handle(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.fd)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a direct subfolder.
    pub(super) fn child(&self, name: &OsStr) -> io::Result<Self> {
        let fd = fs::openat(&self.fd, name, FOLDER, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), path: self.path.join(name) })
    }

    /// Opens a folder at any depth below this one.
    pub(super) fn below(&self, path: &Path) -> io::Result<Self> {
        names(path)?.into_iter().try_fold(self.clone(), |dir, name| dir.child(name))
    }

    /// Opens a folder below this one and creates missing parts. A link or a file in the path is an error.
    pub(super) fn make(&self, path: &Path) -> io::Result<Self> {
        names(path)?.into_iter().try_fold(self.clone(), |dir, name| dir.make_child(name))
    }

    fn make_child(&self, name: &OsStr) -> io::Result<Self> {
        match fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.child(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Like [`Dir::make`], but removes links and files in the path.
    pub(super) fn make_over(&self, path: &Path) -> io::Result<Self> {
        names(path)?.into_iter().try_fold(self.clone(), |dir, name| {
            if dir.stat(name)?.is_some_and(|found| !is_folder(&found)) {
                dir.remove_file(name)?;
            }
            dir.make_child(name)
        })
    }

    /// Returns the metadata of a name without following links, or `None` if it does not exist.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Like [`Dir::stat`], but follows a link.
    pub(super) fn stat_linked(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(fs::statat(&self.fd, name, AtFlags::empty())?)
    }

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

    /// Creates a file. Fails if it exists.
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

    /// Creates a hard link. Fails if the name exists.
    pub(super) fn hard_link(&self, file: &OsStr, name: &OsStr) -> io::Result<()> {
        Ok(fs::linkat(&self.fd, file, &self.fd, name, AtFlags::empty())?)
    }

    /// Moves an entry to a name in another folder. A link is moved itself.
    pub(super) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.fd, name, &to.fd, new)?)
    }

    /// Removes a file or a link. Succeeds if it does not exist.
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

    /// Removes a folder that contains only folders.
    pub(super) fn remove_empty_dirs(&self, name: &OsStr) -> io::Result<()> {
        let folder = self.child(name)?;
        for inner in folder.names()? {
            if folder.stat(&inner)?.is_some_and(|found| is_folder(&found)) {
                folder.remove_empty_dirs(&inner)?;
            }
        }
        self.remove_dir(name)
    }

    /// Removes a file, a link or a folder with its content, even from read-only folders: some package caches are made
    /// read-only. Succeeds if it does not exist.
    pub(super) fn remove_tree(&self, name: &OsStr) -> io::Result<()> {
        match self.remove_all(name, ReadOnlyDirs::Keep) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.remove_all(name, ReadOnlyDirs::Remove)
            }
            done => done,
        }
    }

    fn remove_all(&self, name: &OsStr, read_only: ReadOnlyDirs) -> io::Result<()> {
        match self.stat(name)? {
            None => return Ok(()),
            Some(found) if !is_folder(&found) => return self.remove_file(name),
            Some(found) => {
                if read_only == ReadOnlyDirs::Remove {
                    let mode = Mode::from_raw_mode(found.st_mode) | OWNER;
                    // Without read permission the folder could not be opened to change it.
                    let _ = fs::chmodat(&self.fd, name, mode, AtFlags::empty());
                }
            }
        }
        let folder = self.child(name)?;
        for inner in folder.names()? {
            folder.remove_all(&inner, read_only)?;
        }
        match self.remove_dir(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

/// Whether read-only folders are removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadOnlyDirs {
    Keep,
    /// After changing their permissions.
    Remove,
}

/// Returns true if a folder could not be opened because the name is a link or a file.
pub(super) fn is_in_the_way(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOTDIR | Errno::LOOP))
}

pub(super) fn is_folder(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

pub(super) fn is_file(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// Returns the components of a relative path without `..`.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let plain = |part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} leads out of the folder", path.display()))),
    };
    path.components().map(plain).collect()
}

/// Splits a path into its folder and its file name.
pub(super) fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let name = path.file_name().filter(|name| !name.as_bytes().is_empty());
    name.map(|name| (path.parent().unwrap_or(Path::new("")), name)).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
#[path = "dir_tests.rs"]
mod tests;
