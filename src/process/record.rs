//! The note on disk that says a child is running: written before it starts, completed when its pid is known, gone
//! when it and its group are. What it holds is enough to find the child again and to be sure that it is the child.
//!
//! A few files of notes that are gone are kept aside and written again: a new file needs a free inode, and ext4 passes
//! over every one that was freed within the last seconds, which takes longer than a short command.

use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

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
    /// How long the file is.
    len: usize,
    record: Record,
}

impl Note {
    /// Says that a child is about to start. The file has its name only once it says so.
    pub(super) fn announce(folder: &Path, id: &str, command: &str) -> io::Result<Self> {
        let (boot, owner) = ourselves();
        let record = Record { id: id.to_owned(), command: command.to_owned(), boot, owner, child: None };
        let path = folder.join(format!("{id}.json"));
        if let Some(Spare { path: aside, file, len }) = Spare::take(folder) {
            let mut note = Self { path: aside, file, len, record: record.clone() };
            if note.write().and_then(|()| fs::rename(&note.path, &path)).is_ok() {
                return Ok(Self { path, ..note });
            }
        }
        let mut note = Self { file: create_private(&path)?, path, len: 0, record };
        note.write()?;
        Ok(note)
    }

    /// Says which process it became.
    pub(super) fn started(&mut self, child: Option<Identity>) -> io::Result<()> {
        self.record.child = child;
        self.write()
    }

    pub(super) fn remove(self) {
        let aside = self.path.with_extension(SPARE);
        match fs::rename(&self.path, &aside) {
            Ok(()) => Spare { path: aside, file: self.file, len: self.len }.keep(),
            Err(error) => {
                tracing::debug!(%error, path = %self.path.display(), "the note of a process that ended was not removed");
            }
        }
    }

    /// Writes over what is there, all of it: a file that is emptied first is flushed by some file systems when it is closed,
    /// and to cut it is one more thing to write down for them.
    fn write(&mut self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.record)?;
        self.len = self.len.max(text.len());
        text.resize(self.len, b' ');
        self.file.rewind()?;
        self.file.write_all(&text)
    }
}

/// What the file of a note that is gone is called after its id.
pub(super) const SPARE: &str = "spare";
/// How many are kept. More commands than this seldom end before the next one starts.
const MOST_SPARE: usize = 64;
/// How long a file may be to be kept: all of it is written again each time.
const LONGEST_SPARE: usize = 4 << 10;

/// A file that may become a note. Those that are left when we end are removed by the next start.
#[derive(Debug)]
struct Spare {
    path: PathBuf,
    file: File,
    len: usize,
}

static SPARES: Mutex<Vec<Spare>> = Mutex::new(Vec::new());

impl Spare {
    /// Returns one that lies in `folder`. It may have been removed meanwhile.
    fn take(folder: &Path) -> Option<Self> {
        let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
        let at = spares.iter().rposition(|spare| spare.path.parent() == Some(folder))?;
        Some(spares.remove(at))
    }

    fn keep(self) {
        if self.len > LONGEST_SPARE {
            let _ = fs::remove_file(self.path);
            return;
        }
        let mut spares = SPARES.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() >= MOST_SPARE {
            let oldest = spares.remove(0);
            let _ = fs::remove_file(oldest.path);
        }
        spares.push(self);
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
