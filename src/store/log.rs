//! A session log that is open for appending. Healed before the first byte is added.
//!
//! Invariant: `len` and `head` describe what was acknowledged. They move only in [`Log::commit`]; after a failure the
//! file is brought back to them, and if that cannot be done the log refuses to go on.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::{EventId, Timestamp};
use crate::store::StoreError;
use crate::store::disk::{Disk, DiskFile, Open};
use crate::store::scan::CHUNK;
use crate::store::tail::{self, Tail};

/// Whether the folder of a new log is made with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// Nothing was ever kept there.
    Make,
    /// It has been there: if it is gone, so is everything in it, and a new one would hide that.
    MustExist,
}

/// An open log.
pub struct Log {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    len: u64,
    head: Option<EventId>,
    unsynced: bool,
}

impl Log {
    /// Opens the log at `path`, creates it if there is none, and puts right what a crash left behind.
    pub fn open(disk: &dyn Disk, path: &Path, folder: Folder, now: Timestamp) -> Result<Self, StoreError> {
        let mut file = match disk.open(path, Open::Append) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => create(disk, path, folder)?,
            Err(error) => return Err(StoreError::io("open", path)(error)),
        };
        let tail = tail::inspect(file.as_ref()).map_err(StoreError::io("read the end of", path))?;
        if tail.len == 0 {
            // New, or left by somebody who did not get as far as this: its name has to outlive what it will hold.
            let folder = path.parent().unwrap_or(Path::new("."));
            disk.sync_dir(folder).map_err(StoreError::io("save", folder))?;
        }
        if tail.needs_healing() {
            heal(disk, path, file.as_mut(), &tail, now)?;
        }
        let len = file.len().map_err(StoreError::io("measure", path))?;
        Ok(Self { path: path.to_owned(), file, len, head: tail.head, unsynced: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the last event that was acknowledged.
    pub fn head(&self) -> Option<EventId> {
        self.head
    }

    /// Returns how many bytes were acknowledged.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn file(&self) -> &dyn DiskFile {
        self.file.as_ref()
    }

    /// Adds whole lines. Nothing counts before [`Log::commit`].
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

    /// Takes what was written, `bytes` long and ending in `head`, as acknowledged.
    pub fn commit(&mut self, bytes: usize, head: EventId) {
        self.len += bytes as u64;
        self.head = Some(head);
    }

    /// Goes back to what was acknowledged, after a failed write or sync. The old handle is not trusted again: the file
    /// is opened anew, cut, saved, and its end is compared with what it must be.
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

fn create(disk: &dyn Disk, path: &Path, folder: Folder) -> Result<Box<dyn DiskFile>, StoreError> {
    if let Some(folder) = path.parent().filter(|_| folder == Folder::Make) {
        disk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    }
    disk.open(path, Open::CreateNew).map_err(StoreError::io("create", path))
}

/// Keeps what was never acknowledged beside the log, then takes it out of the log.
fn heal(disk: &dyn Disk, path: &Path, file: &mut dyn DiskFile, tail: &Tail, now: Timestamp) -> Result<(), StoreError> {
    if tail.is_torn() {
        keep_torn(disk, path, file, tail, now)?;
        file.set_len(tail.good).map_err(StoreError::io("cut the torn end of", path))?;
    }
    if tail.unterminated {
        file.append(b"\n").map_err(StoreError::io("write to", path))?;
    }
    file.sync().map_err(StoreError::io("save", path))
}

fn keep_torn(disk: &dyn Disk, path: &Path, file: &dyn DiskFile, tail: &Tail, now: Timestamp) -> Result<(), StoreError> {
    let (kept, mut copy) = create_beside(disk, path, &format!("torn-{}", now.to_file_stamp()))?;
    let mut buffer = vec![0; CHUNK];
    let mut at = tail.good;
    while at < tail.len {
        let want = usize::try_from(tail.len - at).map_or(CHUNK, |left| left.min(CHUNK));
        let read = file.read_at(&mut buffer[..want], at).map_err(StoreError::io("read", path))?;
        if read == 0 {
            break;
        }
        copy.append(&buffer[..read]).map_err(StoreError::io("write", &kept))?;
        at += read as u64;
    }
    copy.sync().map_err(StoreError::io("save", &kept))?;
    let folder = kept.parent().unwrap_or(Path::new("."));
    disk.sync_dir(folder).map_err(StoreError::io("save", folder))
}

/// Creates a file named after `path` with an ending that no other file has.
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
