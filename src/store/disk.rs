//! The interface to the file system.
//!
//! Small on purpose: a simulated disk that loses data, fails or stops at the k-th call implements only this. The real
//! one is a thin, stateless layer over the system calls.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// For reading; it must exist.
    Read,
    /// For reading, appending and truncating; it must exist.
    Append,
    /// Like `Append`; it must not exist yet. Readable only by its owner.
    CreateNew,
}

pub trait DiskFile: Send {
    /// Reads at an offset. Returns fewer bytes than requested only at the end of the file, and none past it.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes everything at the end. After an error, part of it may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns when the content is on the disk, in the file with this name.
    fn sync(&mut self) -> io::Result<()>;
    fn set_len(&mut self, len: u64) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

pub trait Disk: Send + Sync + 'static {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder and its parents, private to the user. Returns when their names are on the disk.
    fn create_dirs(&self, path: &Path) -> io::Result<()>;
    /// Returns when the names in a folder are on the disk.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Returns the names in a folder; none if it does not exist.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;
    /// Returns how many files may be synced at once. With one, calls are sequential and in a fixed order.
    fn parallel_syncs(&self) -> usize {
        1
    }
}

/// The machine's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

struct RealFile {
    file: File,
    path: PathBuf,
}

impl RealFile {
    /// Fails if the name no longer leads to this file: data written to a deleted file is lost.
    fn check_not_moved(&self) -> io::Result<()> {
        let is_it = match fs::metadata(&self.path) {
            Ok(named) => self.file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (named.dev(), named.ino())),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => false,
            Err(error) => return Err(error),
        };
        let gone = || io::Error::new(io::ErrorKind::NotFound, "it was deleted or moved while it was open");
        if is_it { Ok(()) } else { Err(gone()) }
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut self.file, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.check_not_moved()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.metadata().map(|meta| meta.len())
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        match how {
            Open::Read => options.read(true),
            Open::Append => options.read(true).append(true),
            Open::CreateNew => options.read(true).append(true).create_new(true).mode(0o600),
        };
        Ok(Box::new(RealFile { file: options.open(path)?, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<_> = path.ancestors().take_while(|folder| !folder.exists()).collect();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let above = missing.iter().filter_map(|folder| folder.parent());
        above.filter(|folder| !folder.as_os_str().is_empty()).try_for_each(|folder| self.sync_dir(folder))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        match fs::read_dir(path) {
            Ok(entries) => entries.map(|entry| entry.map(|entry| entry.file_name())).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn parallel_syncs(&self) -> usize {
        // Where a journal commits all pending syncs at once, most of the gain is reached at eight; see
        // docs/dev/performance.md.
        16
    }
}

/// Returns the content of a file, or `None` if it does not exist.
pub fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match disk.open(path, Open::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let len = usize::try_from(file.len()?).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    let mut content = vec![0; len];
    let read = file.read_at(&mut content, 0)?;
    content.truncate(read);
    Ok(Some(content))
}
