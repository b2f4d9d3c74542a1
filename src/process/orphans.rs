//! Processes that an earlier run of this program left behind: found by their records, identified, terminated.
//!
//! A process is terminated only if its pid *and* start time match a record, if it is in the group of such a process, or
//! if it carries the record's id in its environment. Never by its name or its pid alone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::record::{ProcessIdentity, Record};
use super::table::{self, ProcessInfo};
use super::terminate::{GRACE, ProcessTree, Targets, terminate_blocking};

/// A recorded child that no longer runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedProcess {
    pub id: String,
    pub command: String,
    /// How many of its processes had to be terminated; 0 if it had exited by itself.
    pub processes: usize,
}

/// Terminates what the records in `folder` list as left behind, and removes those records. Blocks, at most a few
/// seconds. Records whose owner is alive stay.
pub fn sweep(folder: &Path) -> Vec<EndedProcess> {
    terminate(abandoned(folder), GRACE)
}

/// Kills, without a grace period, whatever this process's own records in `folder` list as running. For the exit, after
/// an orderly termination was tried.
pub fn kill_own(folder: &Path) -> Vec<EndedProcess> {
    let us = super::record::own_identity().1;
    terminate(owned_by(folder, |owner| owner == us), Duration::ZERO)
}

fn terminate(mut orphans: Vec<Orphan>, grace: Duration) -> Vec<EndedProcess> {
    if orphans.is_empty() {
        return Vec::new();
    }
    let find = || {
        let entries = table::all();
        let mut members: Vec<ProcessInfo> = orphans.iter_mut().flat_map(|one| one.members(&entries)).collect();
        members.sort_by_key(|entry| entry.pid);
        members.dedup();
        Targets { members, group: None }
    };
    terminate_blocking(find, grace);
    orphans.into_iter().map(Orphan::into_ended).collect()
}

/// Returns what [`sweep`] would terminate, without terminating it. Omits what has exited by itself.
pub fn find_orphans(folder: &Path) -> Vec<EndedProcess> {
    let mut orphans = abandoned(folder);
    if orphans.is_empty() {
        return Vec::new();
    }
    let entries = table::all();
    let alive = orphans.iter_mut().map(|one| {
        let processes = one.members(&entries).len();
        EndedProcess { id: one.record.id.clone(), command: one.record.command.clone(), processes }
    });
    alive.filter(|one| one.processes > 0).collect()
}

pub(super) fn all(folder: &Path) -> Vec<Record> {
    records(folder).into_iter().map(|(_, record)| record).collect()
}

/// Returns the records whose owner is gone.
fn abandoned(folder: &Path) -> Vec<Orphan> {
    owned_by(folder, |owner| !owner.is_alive())
}

fn owned_by(folder: &Path, has_owner: impl Fn(ProcessIdentity) -> bool) -> Vec<Orphan> {
    let matching = records(folder).into_iter().filter(|(_, record)| has_owner(record.owner));
    matching.map(|(path, record)| Orphan { tree: tree(&record), path, record, seen: Vec::new() }).collect()
}

struct Orphan {
    path: std::path::PathBuf,
    record: Record,
    /// `None` if it ran before the last reboot.
    tree: Option<ProcessTree>,
    seen: Vec<(i32, u64)>,
}

impl Orphan {
    fn members(&mut self, entries: &[ProcessInfo]) -> Vec<ProcessInfo> {
        let members = self.tree.as_mut().map(|tree| tree.members(entries)).unwrap_or_default();
        for member in &members {
            if !self.seen.contains(&(member.pid, member.start)) {
                self.seen.push((member.pid, member.start));
            }
        }
        members
    }

    fn into_ended(self) -> EndedProcess {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove the record of an orphan");
        }
        EndedProcess { id: self.record.id, command: self.record.command, processes: self.seen.len() }
    }
}

fn tree(record: &Record) -> Option<ProcessTree> {
    if record.boot != table::boot_id() {
        return None;
    }
    let (pid, start) = record.child.map_or((0, None), |child| (child.pid, Some(child.start)));
    // While the leader lives, its pid names its group. After that the number may be reused.
    let trust_group = record.child.is_some_and(|child| table::get(pid).is_some_and(|now| now.start == child.start));
    Some(ProcessTree::new(&record.id, pid, start, trust_group))
}

fn records(folder: &Path) -> Vec<(std::path::PathBuf, Record)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let files = entries.flatten().map(|entry| entry.path()).filter(|path| path.extension() == Some("json".as_ref()));
    files
        .filter_map(|path| {
            let text = fs::read(&path).ok()?;
            let record = serde_json::from_slice(&text).ok().or_else(|| record_from_name(&path))?;
            Some((path, record))
        })
        .collect()
}

/// Rebuilds a truncated record from its file name, which is the id that the child carries as a marker.
fn record_from_name(path: &Path) -> Option<Record> {
    let id = path.file_stem()?.to_str()?.to_owned();
    let owner = ProcessIdentity { pid: 0, start: 0 };
    Some(Record { id, command: String::new(), boot: table::boot_id(), owner, child: None })
}
