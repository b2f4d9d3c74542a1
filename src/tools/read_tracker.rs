//! Tracks which version of each file the agent has seen, to warn it when it overwrites another one.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Distinguishes versions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl FileVersion {
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        }
    }
}

/// The files that an agent has read or written, by real path.
#[derive(Debug, Default)]
pub struct ReadTracker(Mutex<HashMap<PathBuf, FileVersion>>);

impl ReadTracker {
    /// Records that the agent has seen this version.
    pub fn record(&self, path: &Path, version: FileVersion) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), version);
    }

    /// Returns true if the agent has seen the current version of the file.
    pub fn has_seen(&self, path: &Path, now: FileVersion) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path) == Some(&now)
    }
}
