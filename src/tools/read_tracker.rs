//! Which version of which file the agent has seen, so that it can be told when it overwrites what it has not.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What distinguishes one version of a file from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    device: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Version {
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

/// The files an agent has read or written, by real path.
#[derive(Debug, Default)]
pub struct ReadTracker(Mutex<HashMap<PathBuf, Version>>);

impl ReadTracker {
    /// Notes that the agent knows this version.
    pub fn saw(&self, path: &Path, version: Version) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), version);
    }

    /// Tells whether the agent knows the file as it is now.
    pub fn knows(&self, path: &Path, now: Version) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path) == Some(&now)
    }
}
