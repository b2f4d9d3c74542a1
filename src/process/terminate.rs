//! Terminates process trees: TERM, wait, then KILL until the process table shows none any more.
//!
//! A child's group is not everything it started: a grandchild may have left it with `setsid`. So members are found by
//! group, session, parentage and the marker in their environment, and searched for again after every signal.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::environment::RUN_MARKER;
use super::table::{self, ProcessInfo};

/// The time between TERM and KILL.
pub const GRACE: Duration = Duration::from_secs(2);
/// How many KILLs are sent before a process counts as impossible to kill.
const MAX_KILLS: u32 = 100;
const MAX_PAUSE: Duration = Duration::from_millis(50);
/// How many scans in a row must find no process. One is not enough: the table is listed by pid, and when pids wrap
/// around, a child can get one that was already passed while its parent exits before its own is reached.
const EMPTY_SCANS: u32 = 2;

/// A child and all its descendants.
#[derive(Clone, Debug)]
pub(super) struct ProcessTree {
    id: String,
    leader: i32,
    /// When the leader started. `None` if it exited before that could be read.
    start: Option<u64>,
    /// Whether the leader's pid still certainly names its group and session. Once both were empty, the system may reuse
    /// the number, and it is never trusted again.
    trust_group: bool,
    /// All members seen so far, by pid and start time: parentage is lost when a parent exits.
    known: HashMap<i32, u64>,
}

impl ProcessTree {
    pub(super) fn new(id: &str, leader: i32, start: Option<u64>, trust_group: bool) -> Self {
        let known = start.map(|start| (leader, start)).into_iter().collect();
        Self { id: id.to_owned(), leader, start, trust_group, known }
    }

    /// Returns the group that may be signalled as a whole, or `None` if its number may have been reused.
    pub(super) fn group(&self) -> Option<i32> {
        self.trust_group.then_some(self.leader)
    }

    /// Returns the living members, and remembers them.
    pub(super) fn members(&mut self, entries: &[ProcessInfo]) -> Vec<ProcessInfo> {
        let is_used = |entry: &ProcessInfo| entry.group == self.leader || entry.session == self.leader;
        self.trust_group &= entries.iter().any(is_used) || table::group_exists(self.leader);
        let us = i32::try_from(std::process::id()).unwrap_or(0);
        let is_known = |entry: &ProcessInfo| self.known.get(&entry.pid) == Some(&entry.start);
        let roots: HashSet<i32> = entries.iter().filter(|entry| is_known(entry)).map(|entry| entry.pid).collect();
        let below = table::descendants(entries, &roots);
        let mut members = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.zombie && entry.pid != us && entry.pid > 1) {
            let grouped = self.trust_group && (entry.group == self.leader || entry.session == self.leader);
            let belongs = grouped
                || is_known(entry)
                || below.contains(&entry.pid)
                // A process that started before the leader cannot be its descendant; this leaves most environments
                // unread.
                || (self.start.is_none_or(|start| entry.start >= start) && table::has_marker(entry.pid, RUN_MARKER, &self.id));
            if belongs {
                members.push(entry.clone());
            }
        }
        self.known.extend(members.iter().map(|entry| (entry.pid, entry.start)));
        members
    }
}

/// The processes to terminate, and the group of most of them, if its number is certainly theirs.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) members: Vec<ProcessInfo>,
    pub(super) group: Option<i32>,
}

/// Terminates the processes that `find` returns, and calls it again until it returns none. Returns how many could not
/// be killed. Blocks. A group is signalled as a whole first, so that no member sees another one die before its own
/// signal.
pub(super) fn terminate_blocking(mut find: impl FnMut() -> Targets, grace: Duration) -> usize {
    let deadline = Instant::now() + grace;
    let mut signalled: HashSet<(i32, u64)> = HashSet::new();
    let mut pause = Duration::from_millis(1);
    let mut kills = 0;
    let mut empty_scans = 0;
    loop {
        let Targets { members, group } = find();
        if members.is_empty() {
            empty_scans += 1;
            if empty_scans == EMPTY_SCANS {
                return 0;
            }
            continue;
        }
        empty_scans = 0;
        let is_overdue = Instant::now() >= deadline;
        let signal = if is_overdue { Signal::KILL } else { Signal::TERM };
        let as_group = group.filter(|_| is_overdue || signalled.is_empty());
        if let Some(group) = as_group {
            table::signal_group(group, signal);
        }
        for member in &members {
            let first = signalled.insert((member.pid, member.start));
            if (is_overdue || first) && Some(member.group) != as_group {
                table::signal(member.pid, member.start, signal);
            }
        }
        if is_overdue {
            kills += 1;
            if kills > MAX_KILLS {
                tracing::warn!(left = members.len(), "processes are still alive after KILL");
                return members.len();
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Terminates every process with `name=value` in its environment, whatever started it. Returns how many there were. For
/// processes that a task's commands left behind on purpose: they have no record and no known group.
pub async fn terminate_marked(name: &'static str, value: String, grace: Duration) -> usize {
    let termination = tokio::task::spawn_blocking(move || {
        let mut seen = HashSet::new();
        let us = i32::try_from(std::process::id()).unwrap_or(0);
        let find = || {
            let mut entries = table::all();
            entries.retain(|entry| !entry.zombie && entry.pid != us && table::has_marker(entry.pid, name, &value));
            seen.extend(entries.iter().map(|entry| (entry.pid, entry.start)));
            Targets { members: entries, group: None }
        };
        terminate_blocking(find, grace);
        seen.len()
    });
    termination.await.unwrap_or(0)
}

#[cfg(test)]
#[path = "terminate_tests.rs"]
mod tests;
