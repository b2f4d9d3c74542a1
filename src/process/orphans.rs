//! What an earlier life of this program left running: found by its records, identified beyond doubt, ended.
//!
//! A process is ended only if its pid *and* start time are those of a record, if it is in the group of such a
//! process, or if it carries the record's id in its environment. Never by its name, never by a number alone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::end::{Family, Found, GRACE, end_blocking};
use super::record::{Identity, Record};
use super::table::{self, Entry};

/// A recorded child that no longer runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub id: String,
    pub command: String,
    /// How many processes of it were still there and had to be ended. None: it had ended by itself.
    pub processes: usize,
}

/// Ends what the records in `folder` say was left running, and removes those records. Blocks, at most a few seconds.
/// Records whose owner is alive are somebody else's and stay.
pub fn sweep(folder: &Path) -> Vec<Ended> {
    end(abandoned(folder), GRACE)
}

/// Ends, without asking, whatever of our own the records in `folder` say still runs. For the very end: it was asked before,
/// and nobody will be there to ask again.
pub fn end_own(folder: &Path) -> Vec<Ended> {
    let us = super::record::ourselves().1;
    end(owned_by(folder, |owner| owner == us), Duration::ZERO)
}

fn end(mut left: Vec<Left>, grace: Duration) -> Vec<Ended> {
    if left.is_empty() {
        return Vec::new();
    }
    let find = || {
        let entries = table::all();
        let mut members: Vec<Entry> = left.iter_mut().flat_map(|one| one.members(&entries)).collect();
        members.sort_by_key(|entry| entry.pid);
        members.dedup();
        Found { members, group: None }
    };
    end_blocking(find, grace);
    left.into_iter().map(Left::settle).collect()
}

/// Returns what [`sweep`] would have to end, and ends nothing. What ended by itself is not in it.
pub fn left(folder: &Path) -> Vec<Ended> {
    let mut left = abandoned(folder);
    if left.is_empty() {
        return Vec::new();
    }
    let entries = table::all();
    let alive = left.iter_mut().map(|one| {
        let processes = one.members(&entries).len();
        Ended { id: one.record.id.clone(), command: one.record.command.clone(), processes }
    });
    alive.filter(|one| one.processes > 0).collect()
}

/// Returns every record in `folder`.
pub(super) fn all(folder: &Path) -> Vec<Record> {
    records(folder).into_iter().map(|(_, record)| record).collect()
}

/// Returns the records in `folder` whose owner is gone.
fn abandoned(folder: &Path) -> Vec<Left> {
    owned_by(folder, |owner| !owner.is_alive())
}

fn owned_by(folder: &Path, is_wanted: impl Fn(Identity) -> bool) -> Vec<Left> {
    let wanted = records(folder).into_iter().filter(|(_, record)| is_wanted(record.owner));
    wanted.map(|(path, record)| Left { family: family(&record), path, record, seen: Vec::new() }).collect()
}

struct Left {
    path: std::path::PathBuf,
    record: Record,
    /// Nothing: it ran before the machine was started again.
    family: Option<Family>,
    seen: Vec<(i32, u64)>,
}

impl Left {
    fn members(&mut self, entries: &[Entry]) -> Vec<Entry> {
        let members = self.family.as_mut().map(|family| family.members(entries)).unwrap_or_default();
        for member in &members {
            if !self.seen.contains(&(member.pid, member.start)) {
                self.seen.push((member.pid, member.start));
            }
        }
        members
    }

    fn settle(self) -> Ended {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the note of an orphan was not removed");
        }
        Ended { id: self.record.id, command: self.record.command, processes: self.seen.len() }
    }
}

fn family(record: &Record) -> Option<Family> {
    if record.boot != table::boot_id() {
        return None;
    }
    let (pid, start) = record.child.map_or((0, None), |child| (child.pid, Some(child.start)));
    // While the leader lives, its number means its group. Once it is gone the number may mean anybody's.
    let trust_group = record.child.is_some_and(|child| table::get(pid).is_some_and(|now| now.start == child.start));
    Some(Family::new(&record.id, pid, start, trust_group))
}

fn records(folder: &Path) -> Vec<(std::path::PathBuf, Record)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let notes = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension() == Some("json".as_ref()));
    notes
        .filter_map(|path| {
            let text = fs::read(&path).ok()?;
            let record = serde_json::from_slice(&text).ok().or_else(|| torn(&path))?;
            Some((path, record))
        })
        .collect()
}

/// A note that a kill cut short still has its name, and the name is the id that the child carries as a marker.
fn torn(path: &Path) -> Option<Record> {
    let id = path.file_stem()?.to_str()?.to_owned();
    let owner = Identity { pid: 0, start: 0 };
    Some(Record { id, command: String::new(), boot: table::boot_id(), owner, child: None })
}
