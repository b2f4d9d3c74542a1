//! The on-disk record of a running child: written before it starts, completed when its pid is known, removed when it
//! and its group are gone. Identifies the child beyond doubt after a crash.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::output_file::create_private;
use super::table;

/// A running child, as read by the next start of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub id: String,
    pub command: String,
    /// The boot during which it ran. After a reboot it cannot be running.
    pub boot: String,
    /// The process that started it. While that lives, the child is not an orphan.
    pub owner: ProcessIdentity,
    /// `None` if the owner was killed before it could record the pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<ProcessIdentity>,
}

/// A process, identified by pid and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessIdentity {
    pub pid: i32,
    pub start: u64,
}

impl ProcessIdentity {
    pub(super) fn of(pid: i32) -> Option<Self> {
        table::get(pid).map(|entry| Self { pid, start: entry.start })
    }

    pub(super) fn is_alive(self) -> bool {
        table::get(self.pid).is_some_and(|entry| entry.start == self.start && !entry.zombie)
    }
}

/// Returns the boot id and the identity of this process, computed once.
pub(super) fn own_identity() -> (String, ProcessIdentity) {
    static IDENTITY: OnceLock<(String, ProcessIdentity)> = OnceLock::new();
    let read = || {
        let us = i32::try_from(std::process::id()).unwrap_or(0);
        (table::boot_id(), ProcessIdentity::of(us).unwrap_or(ProcessIdentity { pid: us, start: 0 }))
    };
    IDENTITY.get_or_init(read).clone()
}

/// A record on disk. Dropping it leaves the file: it is removed only when the child is known to be gone.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    file: File,
    record: Record,
}

impl RecordFile {
    /// Creates the record of a child that is about to start.
    pub(super) fn create(folder: &Path, id: &str, command: &str) -> io::Result<Self> {
        let (boot, owner) = own_identity();
        let record = Record { id: id.to_owned(), command: command.to_owned(), boot, owner, child: None };
        let path = folder.join(format!("{id}.json"));
        let mut record_file = Self { file: create_private(&path)?, path, record };
        record_file.write()?;
        Ok(record_file)
    }

    /// Adds the identity of the started child.
    pub(super) fn set_child(&mut self, child: Option<ProcessIdentity>) -> io::Result<()> {
        self.record.child = child;
        self.write()
    }

    pub(super) fn remove(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "cannot remove the record of an exited process");
        }
    }

    /// Overwrites the file without truncating: the new text is never shorter, and a kill in between must not leave an
    /// empty file.
    fn write(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(&serde_json::to_vec(&self.record)?)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
