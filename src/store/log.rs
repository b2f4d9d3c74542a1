//! A session log that is open for appending. Repaired before the first append.
//!
//! Invariant: `len` and `head` describe the acknowledged content. They change only in [`Log::commit`]; after a
//! failure the file is restored to them, and if that fails the log refuses further writes.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::{EventId, Timestamp};
use crate::store::StoreError;
use crate::store::disk::{Disk, DiskFile, Open};
use crate::store::scan::CHUNK;
use crate::store::tail::{self, Tail};

/// Whether the folder of a new log is created with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderPolicy {
    /// Nothing has been stored there yet.
    Make,
    /// The folder existed: if it is gone, so are its sessions, and a new folder would hide that.
    MustExist,
}

pub struct Log {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    len: u64,
    head: Option<EventId>,
    unsynced: bool,
}

impl Log {
    /// Opens or creates the log at `path`, and repairs the damage of a crash.
    pub fn open(disk: &dyn Disk, path: &Path, folder: FolderPolicy, now: Timestamp) -> Result<Self, StoreError> {
        let mut file = match disk.open(path, Open::Append) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(disk, path, folder)?,
            Err(error) => return Err(StoreError::io("open", path)(error)),
        };
        let tail = tail::inspect(file.as_ref()).map_err(StoreError::io("read the end of", path))?;
        if tail.len == 0 {
            // The file is new, or its creator died early: its name must be on the disk before its content.
            let folder = path.parent().unwrap_or(Path::new("."));
            disk.sync_dir(folder).map_err(StoreError::io("save", folder))?;
        }
        if tail.needs_repair() {
            repair(disk, path, file.as_mut(), &tail, now)?;
        }
        let len = file.len().map_err(StoreError::io("measure", path))?;
        Ok(Self { path: path.to_owned(), file, len, head: tail.head, unsynced: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the last acknowledged event.
    pub fn head(&self) -> Option<EventId> {
        self.head
    }

    /// Returns the number of acknowledged bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn file(&self) -> &dyn DiskFile {
        self.file.as_ref()
    }

    /// Appends complete lines. They count only after [`Log::commit`].
    pub fn write(&mut self, lines: &[u8]) -> Result<(), StoreError> {
        self.unsynced = true;
        self.file.append(lines).map_err(StoreError::io("write to", &self.path))
    }

    /// Returns when everything written is on the disk.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync().map_err(StoreError::io("save", &self.path))?;
        self.unsynced = false;
        Ok(())
    }

    pub fn is_unsynced(&self) -> bool {
        self.unsynced
    }

    /// Acknowledges the written data, `bytes` long and ending in `head`.
    pub fn commit(&mut self, bytes: usize, head: EventId) {
        self.len += bytes as u64;
        self.head = Some(head);
    }

    /// Restores the acknowledged content after a failed write or sync. The old handle is no longer trusted: the file
    /// is reopened, truncated and synced, and its end is verified.
    pub fn recover(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        let path = self.path.clone();
        let mut file = disk.open(&path, Open::Append).map_err(StoreError::io("reopen", &path))?;
        let len = file.len().map_err(StoreError::io("measure", &path))?;
        if len > self.len {
            file.set_len(self.len).map_err(StoreError::io("cut back", &path))?;
        }
        file.sync().map_err(StoreError::io("save", &path))?;
        let found = tail::inspect(file.as_ref()).map_err(StoreError::io("read the end of", &path))?;
        match self.head {
            Some(expected) if found.head != self.head || len < self.len => {
                return Err(StoreError::Diverged { path, expected });
            }
            Some(_) | None => {}
        }
        self.file = file;
        self.unsynced = false;
        Ok(())
    }
}

fn create(disk: &dyn Disk, path: &Path, folder: FolderPolicy) -> Result<Box<dyn DiskFile>, StoreError> {
    if let Some(folder) = path.parent().filter(|_| folder == FolderPolicy::Make) {
        disk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    }
    disk.open(path, Open::CreateNew).map_err(StoreError::io("create", path))
}

/// Moves unacknowledged data out of the log into a file next to it.
fn repair(
    disk: &dyn Disk,
    path: &Path,
    file: &mut dyn DiskFile,
    tail: &Tail,
    now: Timestamp,
) -> Result<(), StoreError> {
    if tail.is_torn() {
        save_torn_end(disk, path, file, tail, now)?;
        file.set_len(tail.good).map_err(StoreError::io("cut the torn end of", path))?;
    }
    if tail.unterminated {
        file.append(b"\n").map_err(StoreError::io("write to", path))?;
    }
    file.sync().map_err(StoreError::io("save", path))
}

fn save_torn_end(
    disk: &dyn Disk,
    path: &Path,
    file: &dyn DiskFile,
    tail: &Tail,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (copy_path, mut copy) = create_beside(disk, path, &format!("torn-{}", now.to_file_stamp()))?;
    let mut buffer = vec![0; CHUNK];
    let mut at = tail.good;
    while at < tail.len {
        let want = usize::try_from(tail.len - at).map_or(CHUNK, |left| left.min(CHUNK));
        let read = file.read_at(&mut buffer[..want], at).map_err(StoreError::io("read", path))?;
        if read == 0 {
            break;
        }
        copy.append(&buffer[..read]).map_err(StoreError::io("write", &copy_path))?;
        at += read as u64;
    }
    copy.sync().map_err(StoreError::io("save", &copy_path))?;
    let folder = copy_path.parent().unwrap_or(Path::new("."));
    disk.sync_dir(folder).map_err(StoreError::io("save", folder))
}

/// Creates a file named after `path` with a unique ending.
pub fn create_beside(disk: &dyn Disk, path: &Path, ending: &str) -> Result<(PathBuf, Box<dyn DiskFile>), StoreError> {
    let name = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{ending}{suffix}"));
        PathBuf::from(name)
    };
    let mut candidate = name("");
    for number in 1_u32.. {
        match disk.open(&candidate, Open::CreateNew) {
            Ok(file) => return Ok((candidate, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => candidate = name(&format!("-{number}")),
            Err(error) => return Err(StoreError::io("create", &candidate)(error)),
        }
    }
    Err(StoreError::io("create", &candidate)(io::ErrorKind::AlreadyExists.into()))
}
