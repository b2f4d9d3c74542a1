//! The system's table of processes, read without starting one where the system allows it.
//!
//! A pid alone names nothing: numbers are used again. A process is named by its pid *and* its start time, and a
//! signal goes only to a process whose start time is still the one that was read.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// How long a process may take to become another program before it counts as one without an environment.
const LONGEST_EXEC: Duration = Duration::from_secs(1);
const EXEC_LOOK: Duration = Duration::from_micros(50);

/// A process as the system lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// When it started, in the system's own unit: only ever compared with itself.
    pub start: u64,
    /// It has ended and only waits for its parent to notice.
    pub zombie: bool,
}

/// Returns every process that is listed now. Never fails: what cannot be read is not ours to end.
pub fn all() -> Vec<Entry> {
    system::all()
}

/// Returns one process, if it exists.
pub fn get(pid: i32) -> Option<Entry> {
    system::get(pid)
}

/// Returns a text that differs between two starts of the machine.
pub fn boot_id() -> String {
    system::boot_id()
}

/// Returns the environment that a process was started with, its variables separated by zero bytes. `None` where the system
/// does not say.
pub(super) fn environment(pid: i32) -> Option<Vec<u8>> {
    system::environment(pid)
}

/// Tells whether a process was started with `name=value` in its environment. False where the system does not say. Waits for
/// a process that is just becoming another program: it has no environment yet, and on a busy machine for a while.
pub fn has_marker(pid: i32, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}");
    let deadline = Instant::now() + LONGEST_EXEC;
    loop {
        let Some(environment) = system::environment(pid) else { return false };
        if !environment.is_empty() {
            return environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        }
        if system::has_no_environment(pid) || Instant::now() >= deadline {
            return false;
        }
        thread::sleep(EXEC_LOOK);
    }
}

/// Tells whether a program whose name begins with `program` stands in `folder` or below it. Nothing: the system does not
/// say.
pub fn is_used(folder: &Path, program: &str) -> Option<bool> {
    system::is_used(folder, program)
}

/// Tells whether any process has a file open. `None` if the system does not say.
pub fn is_open(file: &Path) -> Option<bool> {
    system::is_open(file)
}

/// Returns the pids of everything below `roots`, by parentage.
pub(super) fn descendants(entries: &[Entry], roots: &HashSet<i32>) -> HashSet<i32> {
    let mut found = HashSet::new();
    // Parents are usually listed before children; the loop covers the rest.
    loop {
        let before = found.len();
        for entry in entries {
            if roots.contains(&entry.parent) || found.contains(&entry.parent) {
                found.insert(entry.pid);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Sends a signal to a process if it is still the one that started at `start`. Tells whether it was sent.
pub fn signal(pid: i32, start: u64, signal: Signal) -> bool {
    system::signal(pid, start, signal)
}

/// Returns a handle that is readable once a process has ended. Nothing: it is not that process any more, or the system
/// has no such handles.
pub(super) fn handle(process: &Entry) -> Option<OwnedFd> {
    system::handle(process)
}

/// As [`handle`], for a child of ours that nobody has reaped: its number is no other's.
pub(super) fn handle_of_child(pid: Pid) -> Option<OwnedFd> {
    system::handle_of_child(pid)
}

/// Sends a signal to every process of a group. Tells whether there was one.
pub fn signal_group(group: i32, signal: Signal) -> bool {
    ours(group).is_some_and(|group| rustix::process::kill_process_group(group, signal).is_ok())
}

/// Tells whether a group has any process, ended ones included: one may wait for a parent that does not care, as the first
/// process of a container often does not.
pub fn group_exists(group: i32) -> bool {
    ours(group).is_some_and(|group| rustix::process::test_kill_process_group(group) != Err(rustix::io::Errno::SRCH))
}

/// Group 1 and below are never a child's; 0 would mean our own.
fn ours(group: i32) -> Option<Pid> {
    if group > 1 { Pid::from_raw(group) } else { None }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::io::Read as _;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::Entry;

    pub(super) fn all() -> Vec<Entry> {
        let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
        folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(get).collect()
    }

    pub(super) fn get(pid: i32) -> Option<Entry> {
        // The system makes the line in one go, and it is shorter than this; asking for its size would cost more.
        let mut line = [0; 2048];
        let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        parse_stat(&line[..length])
    }

    /// Reads `pid (name) state ppid pgrp session …`. The name can hold anything, parentheses included.
    pub(super) fn parse_stat(stat: &[u8]) -> Option<Entry> {
        let open = stat.iter().position(|byte| *byte == b'(')?;
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let pid = str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
        let fields: Vec<&str> = str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace().collect();
        Some(Entry {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
            zombie: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    pub(super) fn is_used(folder: &Path, program: &str) -> Option<bool> {
        let listed = fs::read_dir("/proc").ok()?;
        // Processes of others do not say where they stand, and are not at work in folders of ours.
        let stands = |at: &Path| fs::read_link(at.join("cwd")).is_ok_and(|at| at.starts_with(folder));
        let named = |at: &Path| fs::read(at.join("comm")).is_ok_and(|name| name.starts_with(program.as_bytes()));
        Some(listed.flatten().map(|entry| entry.path()).any(|at| stands(&at) && named(&at)))
    }

    pub(super) fn is_open(file: &Path) -> Option<bool> {
        let listed = fs::read_dir("/proc").ok()?;
        let is_process = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.parse::<i32>().is_ok());
        let processes = listed.flatten().filter(|entry| is_process(&entry.file_name()));
        let handles = processes.flat_map(|entry| fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten());
        Some(handles.into_iter().any(|handle| fs::read_link(handle.path()).is_ok_and(|target| target == file)))
    }

    pub(super) fn boot_id() -> String {
        fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
    }

    pub(super) fn environment(pid: i32) -> Option<Vec<u8>> {
        fs::read(format!("/proc/{pid}/environ")).ok()
    }

    /// Tells whether a process is certain to have no environment, as against one that is between two programs.
    pub(super) fn has_no_environment(pid: i32) -> bool {
        fs::read(format!("/proc/{pid}/stat")).map_or(true, |stat| tells_no_environment(&stat))
    }

    /// Reads that from the process's line. Kernel threads and ended processes never have an environment. Elsewhere it is empty
    /// if it ends where it starts, but that also holds for a moment while the kernel lays it out: the code's end is only
    /// set when that is done. Whoever may not see the process is told 1.
    pub(super) fn tells_no_environment(stat: &[u8]) -> bool {
        const KERNEL_THREAD: u64 = 0x0020_0000;
        let Some(close) = stat.iter().rposition(|byte| *byte == b')') else { return true };
        let fields = String::from_utf8_lossy(&stat[close + 1..]);
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        let (flags, code_end, start, end) = (number(6), number(24), number(47), number(48));
        let is_laid_out = code_end > 1 && end != 0;
        matches!(fields.first(), Some(&("Z" | "X"))) || flags & KERNEL_THREAD != 0 || (is_laid_out && start == end)
    }

    pub(super) fn signal(pid: i32, start: u64, signal: Signal) -> bool {
        let Some(id) = Pid::from_raw(pid) else { return false };
        // The descriptor pins the process: if the start time read after opening is right, the signal cannot miss.
        let Ok(descriptor) = pidfd_open(id, PidfdFlags::empty()) else { return false };
        get(pid).is_some_and(|entry| entry.start == start) && pidfd_send_signal(descriptor, signal).is_ok()
    }

    pub(super) fn handle_of_child(pid: Pid) -> Option<OwnedFd> {
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }

    pub(super) fn handle(process: &Entry) -> Option<OwnedFd> {
        let descriptor = handle_of_child(Pid::from_raw(process.pid)?)?;
        get(process.pid).is_some_and(|entry| entry.start == process.start).then_some(descriptor)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use rustix::process::{Pid, Signal};

    use super::Entry;

    const COLUMNS: &str = "pid=,ppid=,pgid=,state=,lstart=";

    pub(super) fn all() -> Vec<Entry> {
        list(&["-axo", COLUMNS])
    }

    pub(super) fn get(pid: i32) -> Option<Entry> {
        list(&["-o", COLUMNS, "-p", &pid.to_string()]).into_iter().next()
    }

    fn list(arguments: &[&str]) -> Vec<Entry> {
        let listing = Command::new("ps").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
        listing.map(|out| super::parse_ps(&String::from_utf8_lossy(&out.stdout))).unwrap_or_default()
    }

    pub(super) fn handle_of_child(_pid: Pid) -> Option<OwnedFd> {
        None
    }

    pub(super) fn handle(_process: &Entry) -> Option<OwnedFd> {
        None
    }

    pub(super) fn is_used(_folder: &Path, _program: &str) -> Option<bool> {
        None
    }

    pub(super) fn is_open(_file: &Path) -> Option<bool> {
        None
    }

    pub(super) fn boot_id() -> String {
        let asked = Command::new("sysctl").args(["-n", "kern.boottime"]).stdin(Stdio::null()).output();
        asked.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
    }

    pub(super) fn environment(_pid: i32) -> Option<Vec<u8>> {
        None
    }

    pub(super) fn has_no_environment(_pid: i32) -> bool {
        true
    }

    pub(super) fn signal(pid: i32, start: u64, signal: Signal) -> bool {
        get(pid).is_some_and(|entry| entry.start == start)
            && Pid::from_raw(pid).is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
    }
}

/// Reads `ps -o pid=,ppid=,pgid=,state=,lstart=`. A start time is kept as a hash of its text: it is only compared.
#[cfg(any(test, not(target_os = "linux")))]
fn parse_ps(listing: &str) -> Vec<Entry> {
    listing
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let [pid, parent, group, state, started @ ..] = words.as_slice() else { return None };
            let group = group.parse().ok()?;
            let start = started
                .join(" ")
                .bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            Some(Entry {
                pid: pid.parse().ok()?,
                parent: parent.parse().ok()?,
                group,
                // Not every `ps` lists sessions; a child of ours leads both, so the group stands for it.
                session: group,
                start,
                zombie: state.starts_with('Z'),
            })
        })
        .collect()
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
