//! Ending processes: ask, wait, then insist, until the table shows nobody any more.
//!
//! A child's group is not everything it started: a grandchild may have left it with `setsid`. So members are found
//! by group, session, parentage and the marker in their environment, and looked for again after every signal.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::environment::RUN_MARKER;
use super::table::{self, Entry};

/// How long processes get between being asked to end and being ended.
pub const GRACE: Duration = Duration::from_secs(2);
/// How often it is insisted before a process counts as one that the system will not end.
const ROUNDS: u32 = 100;
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How many looks in a row must find nobody. One is not enough: the table is listed by number, and when numbers start over,
/// a child can get one that was already passed while its parent ends before its own is reached.
const EMPTY_LOOKS: u32 = 2;

/// A child and everything that belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Family {
    id: String,
    leader: i32,
    /// When the leader started. Nothing: it ended before that could be read.
    start: Option<u64>,
    /// Whether the leader's number still certainly means the leader's group and session. Once nobody was in either,
    /// the system may give the number to anybody, and it never means them again.
    trust_group: bool,
    /// Everyone seen to belong to it, by pid and start time: parentage is lost when a parent dies.
    known: HashMap<i32, u64>,
}

impl Family {
    pub(super) fn new(id: &str, leader: i32, start: Option<u64>, trust_group: bool) -> Self {
        let known = start.map(|start| (leader, start)).into_iter().collect();
        Self { id: id.to_owned(), leader, start, trust_group, known }
    }

    /// Returns the group that may be signalled as a whole. Nothing: its number may be somebody else's by now.
    pub(super) fn group(&self) -> Option<i32> {
        self.trust_group.then_some(self.leader)
    }

    /// Returns the members that live now, and remembers them.
    pub(super) fn members(&mut self, entries: &[Entry]) -> Vec<Entry> {
        let is_used = |entry: &Entry| entry.group == self.leader || entry.session == self.leader;
        self.trust_group &= entries.iter().any(is_used) || table::group_exists(self.leader);
        let us = i32::try_from(std::process::id()).unwrap_or(0);
        let is_known = |entry: &Entry| self.known.get(&entry.pid) == Some(&entry.start);
        let roots: HashSet<i32> = entries.iter().filter(|entry| is_known(entry)).map(|entry| entry.pid).collect();
        let below = table::descendants(entries, &roots);
        let mut members = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.zombie && entry.pid != us && entry.pid > 1) {
            let grouped = self.trust_group && (entry.group == self.leader || entry.session == self.leader);
            let belongs = grouped
                || is_known(entry)
                || below.contains(&entry.pid)
                // Nobody who started before the leader can be its descendant; most environments stay unread.
                || (self.start.is_none_or(|start| entry.start >= start) && table::has_marker(entry.pid, RUN_MARKER, &self.id));
            if belongs {
                members.push(entry.clone());
            }
        }
        self.known.extend(members.iter().map(|entry| (entry.pid, entry.start)));
        members
    }
}

/// Whom to end, and the group that most of them are in, if its number is certainly theirs.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) members: Vec<Entry>,
    pub(super) group: Option<i32>,
}

/// Ends whomever `find` returns, and looks again until it returns nobody. Returns how many could not be ended.
/// Blocks; a group is signalled as a whole first, so that no member sees another one die before it is asked itself.
pub(super) fn end_blocking(mut find: impl FnMut() -> Found, grace: Duration) -> usize {
    let deadline = Instant::now() + grace;
    let mut asked: HashSet<(i32, u64)> = HashSet::new();
    let mut pause = Duration::from_millis(1);
    let mut rounds = 0;
    let mut empty_looks = 0;
    loop {
        let Found { members, group } = find();
        if members.is_empty() {
            empty_looks += 1;
            if empty_looks == EMPTY_LOOKS {
                return 0;
            }
            continue;
        }
        empty_looks = 0;
        let insist = Instant::now() >= deadline;
        let signal = if insist { Signal::KILL } else { Signal::TERM };
        let as_group = group.filter(|_| insist || asked.is_empty());
        if let Some(group) = as_group {
            table::signal_group(group, signal);
        }
        for member in &members {
            let first = asked.insert((member.pid, member.start));
            if (insist || first) && Some(member.group) != as_group {
                table::signal(member.pid, member.start, signal);
            }
        }
        if insist {
            rounds += 1;
            if rounds > ROUNDS {
                tracing::warn!(left = members.len(), "processes did not end although they were killed");
                return members.len();
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Ends every process that carries `name=value` in its environment, whoever started it. Returns how many there were.
/// For what a task's commands left behind on purpose: it has no record and belongs to no group that we know.
pub async fn end_marked(name: &'static str, value: String, grace: Duration) -> usize {
    let ending = tokio::task::spawn_blocking(move || {
        let mut seen = HashSet::new();
        let us = i32::try_from(std::process::id()).unwrap_or(0);
        let find = || {
            let mut entries = table::all();
            entries.retain(|entry| !entry.zombie && entry.pid != us && table::has_marker(entry.pid, name, &value));
            seen.extend(entries.iter().map(|entry| (entry.pid, entry.start)));
            Found { members: entries, group: None }
        };
        end_blocking(find, grace);
        seen.len()
    });
    ending.await.unwrap_or(0)
}

#[cfg(test)]
#[path = "end_tests.rs"]
mod tests;
