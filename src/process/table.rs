//! The system's process table, read without starting a program where the system allows it.
//!
//! Pids are reused, so a process is identified by pid *and* start time, and a signal is sent only if the start time
//! still matches.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// How long an `exec` may take before a process counts as one without an environment.
const EXEC_TIMEOUT: Duration = Duration::from_secs(1);
const EXEC_POLL: Duration = Duration::from_micros(50);

/// An entry of the process table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// Start time in the system's own unit; only compared for equality.
    pub start: u64,
    /// It has exited and was not reaped yet.
    pub zombie: bool,
}

/// Returns all processes. Skips those that cannot be read.
pub fn all() -> Vec<ProcessInfo> {
    system::all()
}

/// Returns one process, or `None` if it does not exist.
pub fn get(pid: i32) -> Option<ProcessInfo> {
    system::get(pid)
}

/// Returns an id that differs between boots.
pub fn boot_id() -> String {
    system::boot_id()
}

/// Returns the environment that a process was started with, its variables separated by zero bytes. `None` if the system
/// does not reveal it.
pub(super) fn environment(pid: i32) -> Option<Vec<u8>> {
    system::environment(pid)
}

/// Returns true if a process was started with `name=value` in its environment; false if the system does not reveal it.
/// Waits for a process in the middle of an `exec`, which has no environment yet.
pub fn has_marker(pid: i32, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}");
    let deadline = Instant::now() + EXEC_TIMEOUT;
    loop {
        let Some(environment) = system::environment(pid) else { return false };
        if !environment.is_empty() {
            return environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes());
        }
        if system::has_no_environment(pid) || Instant::now() >= deadline {
            return false;
        }
        thread::sleep(EXEC_POLL);
    }
}

/// Returns true if a process whose name begins with `program` has its working directory in `folder`. `None` if the
/// system does not reveal it.
pub fn is_program_in(folder: &Path, program: &str) -> Option<bool> {
    system::is_program_in(folder, program)
}

/// Returns true if any process has a file open. `None` if the system does not reveal it.
pub fn is_open(file: &Path) -> Option<bool> {
    system::is_open(file)
}

/// Returns the pids of all descendants of `roots`.
pub(super) fn descendants(entries: &[ProcessInfo], roots: &HashSet<i32>) -> HashSet<i32> {
    let mut found = HashSet::new();
    // Parents are usually listed before children; the outer loop covers the rest.
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

/// Sends a signal to a process if it is still the one that started at `start`. Returns true if it was sent.
pub fn signal(pid: i32, start: u64, signal: Signal) -> bool {
    system::signal(pid, start, signal)
}

/// Returns a handle that is readable once a process has exited. `None` if the pid was reused, or if the system has no
/// such handles.
pub(super) fn handle(process: &ProcessInfo) -> Option<OwnedFd> {
    system::handle(process)
}

/// Like [`handle`], for an unreaped child, whose pid cannot be reused.
pub(super) fn handle_of_child(pid: Pid) -> Option<OwnedFd> {
    system::handle_of_child(pid)
}

/// Sends a signal to a process group. Returns true if it exists.
pub fn signal_group(group: i32, signal: Signal) -> bool {
    child_group(group).is_some_and(|group| rustix::process::kill_process_group(group, signal).is_ok())
}

/// Returns true if a group has any process, including zombies: some parents never reap, such as the first process of
/// many containers.
pub fn group_exists(group: i32) -> bool {
    child_group(group)
        .is_some_and(|group| rustix::process::test_kill_process_group(group) != Err(rustix::io::Errno::SRCH))
}

/// Returns the group as a `Pid`. Group 1 and below are never a child's; 0 would mean our own.
fn child_group(group: i32) -> Option<Pid> {
    if group > 1 { Pid::from_raw(group) } else { None }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::io::Read as _;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::ProcessInfo;

    pub(super) fn all() -> Vec<ProcessInfo> {
        let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
        folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(get).collect()
    }

    pub(super) fn get(pid: i32) -> Option<ProcessInfo> {
        // The line is written at once and is shorter than this; asking for its size would cost more.
        let mut line = [0; 2048];
        let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
        parse_stat(&line[..length])
    }

    /// Parses `pid (name) state ppid pgrp session …`. The name can contain anything, including parentheses.
    pub(super) fn parse_stat(stat: &[u8]) -> Option<ProcessInfo> {
        let open = stat.iter().position(|byte| *byte == b'(')?;
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let pid = str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
        let fields: Vec<&str> = str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace().collect();
        Some(ProcessInfo {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
            zombie: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    pub(super) fn is_program_in(folder: &Path, program: &str) -> Option<bool> {
        let listed = fs::read_dir("/proc").ok()?;
        // Other users' processes do not reveal their folder, and do not work in ours.
        let is_in_folder = |at: &Path| fs::read_link(at.join("cwd")).is_ok_and(|at| at.starts_with(folder));
        let has_name = |at: &Path| fs::read(at.join("comm")).is_ok_and(|name| name.starts_with(program.as_bytes()));
        Some(listed.flatten().map(|entry| entry.path()).any(|at| is_in_folder(&at) && has_name(&at)))
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

    /// Returns true if a process certainly has no environment, as opposed to one in the middle of an `exec`.
    pub(super) fn has_no_environment(pid: i32) -> bool {
        fs::read(format!("/proc/{pid}/stat")).map_or(true, |stat| stat_shows_no_environment(&stat))
    }

    /// Decides that from the process's stat line. Kernel threads and zombies never have an environment. Otherwise it is
    /// empty if it ends where it starts, but that also holds for a moment while the kernel lays it out: the end of the
    /// code is set only when that is done. It is 1 for readers without permission.
    pub(super) fn stat_shows_no_environment(stat: &[u8]) -> bool {
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
        // The descriptor pins the process: if the start time read after opening matches, the signal cannot hit another
        // one.
        let Ok(descriptor) = pidfd_open(id, PidfdFlags::empty()) else { return false };
        get(pid).is_some_and(|entry| entry.start == start) && pidfd_send_signal(descriptor, signal).is_ok()
    }

    pub(super) fn handle_of_child(pid: Pid) -> Option<OwnedFd> {
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }

    pub(super) fn handle(process: &ProcessInfo) -> Option<OwnedFd> {
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

    use super::ProcessInfo;

    const COLUMNS: &str = "pid=,ppid=,pgid=,state=,lstart=";

    pub(super) fn all() -> Vec<ProcessInfo> {
        list(&["-axo", COLUMNS])
    }

    pub(super) fn get(pid: i32) -> Option<ProcessInfo> {
        list(&["-o", COLUMNS, "-p", &pid.to_string()]).into_iter().next()
    }

    fn list(arguments: &[&str]) -> Vec<ProcessInfo> {
        let listing = Command::new("ps").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
        listing.map(|out| super::parse_ps(&String::from_utf8_lossy(&out.stdout))).unwrap_or_default()
    }

    pub(super) fn handle_of_child(_pid: Pid) -> Option<OwnedFd> {
        None
    }

    pub(super) fn handle(_process: &ProcessInfo) -> Option<OwnedFd> {
        None
    }

    pub(super) fn is_program_in(_folder: &Path, _program: &str) -> Option<bool> {
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

/// Parses `ps -o pid=,ppid=,pgid=,state=,lstart=`. The start time is stored as a hash of its text: it is only compared.
#[cfg(any(test, not(target_os = "linux")))]
fn parse_ps(listing: &str) -> Vec<ProcessInfo> {
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
            Some(ProcessInfo {
                pid: pid.parse().ok()?,
                parent: parent.parse().ok()?,
                group,
                // Not every `ps` lists sessions; our children lead both, so the group stands in for it.
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
