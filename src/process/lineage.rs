//! Detects whether this process is, or descends from, a child of an engine.
//!
//! Two kinds of evidence, for this process, its ancestors, and the leaders of their groups and sessions. Records on
//! disk name a child by pid and start time, and do not depend on an environment that the child may have changed.
//! Markers in an environment hold even without a record. A process that cleared its environment, left its session and
//! whose parents have all exited has neither; only a sandbox would catch it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::environment::{GUARDED_MARKER, RUN_MARKER, TASK_MARKER};
use super::orphans;
use super::record::{ProcessIdentity, Record};
use super::table::{self, ProcessInfo};

/// Bound for the chain of parents, in case the system reports a loop.
const MAX_CHAIN: usize = 512;

/// Returns true if this process belongs to a child of an engine that works on the data folder `data`. `records` are the
/// folders with that data folder's process records.
pub fn is_inside(data: &Path, records: &[PathBuf]) -> bool {
    i32::try_from(std::process::id()).is_ok_and(|us| descends(us, data, records))
}

/// Like [`is_inside`], for another process. False if it has ended.
pub fn descends(pid: i32, data: &Path, records: &[PathBuf]) -> bool {
    let Some(process) = table::get(pid) else { return false };
    let lineage = ProcessLineage::of(process, table::get);
    let children: Vec<Record> = records.iter().flat_map(|folder| orphans::all(folder)).collect();
    lineage.is_recorded(&children) || lineage.pids().into_iter().any(|pid| is_marked(table::environment(pid), data))
}

/// A process, its ancestors, and the leaders of their groups and sessions.
struct ProcessLineage {
    chain: Vec<ProcessInfo>,
    /// Leaders that are not in the chain. `None` if the leader has exited and only its number is left.
    leaders: Vec<(i32, Option<ProcessInfo>)>,
}

impl ProcessLineage {
    fn of(process: ProcessInfo, get: impl Fn(i32) -> Option<ProcessInfo>) -> Self {
        let mut chain = vec![process];
        while let Some(last) = chain.last().filter(|last| last.parent > 0 && chain.len() < MAX_CHAIN) {
            let Some(parent) = get(last.parent) else { break };
            chain.push(parent);
        }
        let leaders: BTreeSet<i32> = chain.iter().flat_map(|entry| [entry.group, entry.session]).collect();
        let leaders = leaders.into_iter().filter(|pid| *pid > 1 && chain.iter().all(|entry| entry.pid != *pid));
        let leaders = leaders.map(|pid| (pid, get(pid))).collect();
        Self { chain, leaders }
    }

    fn is_recorded(&self, records: &[Record]) -> bool {
        records.iter().any(|record| {
            let Some(child) = record.child.filter(|_| record.boot == table::boot_id()) else { return false };
            let is_child = |entry: &ProcessInfo| (ProcessIdentity { pid: entry.pid, start: entry.start }) == child;
            self.chain.iter().any(is_child)
                || self.leaders.iter().any(|(pid, leader)| match leader {
                    Some(leader) => is_child(leader),
                    // While its group or session exists, the number of an exited leader is not reused.
                    None => *pid == child.pid && record.owner.is_alive(),
                })
        })
    }

    fn pids(&self) -> Vec<i32> {
        let leaders = self.leaders.iter().filter(|(_, leader)| leader.is_some()).map(|(pid, _)| *pid);
        self.chain.iter().map(|entry| entry.pid).chain(leaders).collect()
    }
}

/// Returns true if an environment carries a marker and guards the data folder. A marker without a list of guarded
/// folders guards everything.
fn is_marked(environment: Option<Vec<u8>>, data: &Path) -> bool {
    let environment = environment.unwrap_or_default();
    let value = |name: &str| {
        let variables = environment.split(|byte| *byte == 0);
        let mut values = variables.filter_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        values.next().filter(|value| !value.is_empty()).map(<[u8]>::to_vec)
    };
    if value(TASK_MARKER).is_none() && value(RUN_MARKER).is_none() {
        return false;
    }
    let Some(guarded) = value(GUARDED_MARKER) else { return true };
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let data = real(data);
    std::env::split_paths(&OsString::from_vec(guarded)).any(|guarded| real(&guarded) == data)
}

#[cfg(test)]
#[path = "lineage_tests.rs"]
mod tests;
