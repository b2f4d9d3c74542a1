//! The file that keeps a child's output once it is too long for memory.
//!
//! Made only when needed, and capped: a child that writes without end fills neither memory nor disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// How much of one stream is kept on disk. What comes after is counted, and its end is kept in memory.
pub const SPOOL_CAP: u64 = 64 << 20;

/// Where a stream overflows to.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    failed: bool,
}

impl Spool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None, written: 0, failed: false }
    }

    /// Appends what fits. A full disk ends the file, never the child: its output must be drained in any case.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let room = usize::try_from(SPOOL_CAP - self.written).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        if self.failed || bytes.is_empty() {
            return;
        }
        if let Err(error) = self.open().and_then(|mut file| file.write_all(bytes)) {
            tracing::warn!(%error, path = %self.path.display(), "output could not be kept on disk");
            self.failed = true;
            return;
        }
        self.written += bytes.len() as u64;
    }

    fn open(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            self.file = Some(create_private(&self.path)?);
        }
        self.file.as_ref().ok_or_else(|| io::Error::other("the file was not opened"))
    }

    /// Returns the file and how much it holds, if there is one.
    pub(super) fn kept(&self) -> Option<(&Path, u64)> {
        self.file.as_ref().map(|_| (self.path.as_path(), self.written))
    }
}

/// Creates a file that only its owner can read: output of commands may hold anything.
pub fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    open().or_else(|error| match path.parent() {
        Some(folder) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            open()
        }
        _ => Err(error),
    })
}
