//! The note on disk that says a child is running: written before it starts, completed when its pid is known, gone
//! when it and its group are. What it holds is enough to find the child again and to be sure that it is the child.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::spool::create_private;
use super::table;

/// A running child, as the next start of the program will read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub id: String,
    pub command: String,
    /// The start of the machine during which it ran. After another one, it cannot be running.
    pub boot: String,
    /// Who started it: while that process lives, the child is not an orphan.
    pub owner: Identity,
    /// Nothing: we were killed between the note and the start, or before the pid could be noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Identity>,
}

/// A process, beyond doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub pid: i32,
    pub start: u64,
}

impl Identity {
    pub(super) fn of(pid: i32) -> Option<Self> {
        table::get(pid).map(|entry| Self { pid, start: entry.start })
    }

    pub(super) fn is_alive(self) -> bool {
        table::get(self.pid).is_some_and(|entry| entry.start == self.start && !entry.zombie)
    }
}

/// Returns what does not change while we live, asked of the system once.
pub(super) fn ourselves() -> (String, Identity) {
    static OURSELVES: OnceLock<(String, Identity)> = OnceLock::new();
    let ask = || {
        let us = i32::try_from(std::process::id()).unwrap_or(0);
        (table::boot_id(), Identity::of(us).unwrap_or(Identity { pid: us, start: 0 }))
    };
    OURSELVES.get_or_init(ask).clone()
}

/// A record on disk. Dropping it leaves the file: only who knows that the child is gone removes it.
#[derive(Debug)]
pub(super) struct Note {
    path: PathBuf,
    file: File,
    record: Record,
}

impl Note {
    /// Says that a child is about to start.
    pub(super) fn announce(folder: &Path, id: &str, command: &str) -> io::Result<Self> {
        let (boot, owner) = ourselves();
        let record = Record { id: id.to_owned(), command: command.to_owned(), boot, owner, child: None };
        let path = folder.join(format!("{id}.json"));
        let mut note = Self { file: create_private(&path)?, path, record };
        note.write()?;
        Ok(note)
    }

    /// Says which process it became.
    pub(super) fn started(&mut self, child: Option<Identity>) -> io::Result<()> {
        self.record.child = child;
        self.write()
    }

    pub(super) fn remove(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "the note of a process that ended was not removed");
        }
    }

    /// Writes over what is there, which is never longer: a kill in between must not leave an empty file.
    fn write(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(&serde_json::to_vec(&self.record)?)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
