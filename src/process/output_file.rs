//! The overflow file of a child's output.
//!
//! Created only when needed, and capped, so that endless output does not fill the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The most bytes of one stream kept on disk. The rest is counted, and its end is kept in memory.
pub const OUTPUT_FILE_CAP: u64 = 64 << 20;

/// The overflow file of one stream.
#[derive(Debug)]
pub(super) struct OutputFile {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    failed: bool,
}

impl OutputFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None, written: 0, failed: false }
    }

    /// Appends what fits. A write error stops the file, never the child: its output must be drained in any case.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let room = usize::try_from(OUTPUT_FILE_CAP - self.written).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        if self.failed || bytes.is_empty() {
            return;
        }
        if let Err(error) = self.open().and_then(|mut file| file.write_all(bytes)) {
            tracing::warn!(%error, path = %self.path.display(), "cannot write output to disk");
            self.failed = true;
            return;
        }
        self.written += bytes.len() as u64;
    }

    fn open(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            self.file = Some(create_private(&self.path)?);
        }
        self.file.as_ref().ok_or_else(|| io::Error::other("the file is not open"))
    }

    /// Returns the path and the size, or `None` if nothing was written yet.
    pub(super) fn location(&self) -> Option<(&Path, u64)> {
        self.file.as_ref().map(|_| (self.path.as_path(), self.written))
    }
}

/// Creates a file that only its owner can read: command output may contain anything.
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
