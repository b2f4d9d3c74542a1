//! `engine.lock`: at most one process writes to a project.
//!
//! The lock is a kernel lock (flock) and ends with its holder. The file is never removed, because two processes could
//! lock a removed file. Its content is only for the error message of the second process, never for the decision.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::{Fault, Timestamp};
use crate::store::StoreError;
use crate::store::disk::{Disk as _, RealDisk};

/// The right to write to a project. Ends when it is dropped, or with the process.
#[derive(Debug)]
pub struct EngineLock {
    file: File,
}

impl Drop for EngineLock {
    /// Clears the holder, so that the next process that finds the lock taken does not read a stale name.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// How often to retry a lock whose holder is unknown: another process is reading the holder, or the new holder is
/// about to write it. Both take microseconds.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// The holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub since: Timestamp,
}

impl Holder {
    /// Returns true if the holder is suspended, so that it cannot release the lock.
    pub fn is_suspended(&self) -> bool {
        is_stopped(self.pid)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{}", held(.0.as_ref()))]
    Held(Option<Holder>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn held(holder: Option<&Holder>) -> String {
    let Some(Holder { pid, since }) = holder else {
        return "another process is working on this project".to_owned();
    };
    let state = if is_stopped(*pid) { "; it is suspended" } else { "" };
    format!("process {pid} has been working on this project since {}{state}", since.to_seconds_string())
}

impl From<LockError> for Fault {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held(holder) => {
                let fault = Self::environment(held(holder.as_ref()))
                    .hint("commands that only read (`mxd tree`, `mxd log`, `mxd check`) work meanwhile");
                match holder {
                    Some(Holder { pid, .. }) if is_stopped(pid) => {
                        // A suspended process handles a signal only when it continues.
                        fault
                            .hint(format!("continue it with `fg` in its terminal, or with `kill -CONT {pid}`"))
                            .hint(format!("or end it with `kill {pid} && kill -CONT {pid}`"))
                    }
                    Some(Holder { pid, .. }) => fault.hint(format!("quit it, or end it with `kill {pid}`")),
                    None => fault.hint("try again in a moment"),
                }
            }
            LockError::Store(error) => error.into(),
        }
    }
}

impl EngineLock {
    /// Takes the lock, or returns its holder. Never waits for the holder.
    pub fn acquire(path: &Path, now: Timestamp) -> Result<Self, LockError> {
        if let Some(folder) = path.parent() {
            RealDisk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
        }
        let mut options = OpenOptions::new();
        let options = options.create(true).read(true).write(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(StoreError::io("open", path))?;
        for attempt in 1.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path)(error).into()),
            }
            let holder = read_holder(&mut file).filter(|holder| is_alive(holder.pid));
            if holder.is_some() || attempt >= TRIES {
                return Err(LockError::Held(holder));
            }
            std::thread::sleep(PAUSE);
        }
        let holder = Holder { pid: std::process::id(), since: now };
        write_holder(&mut file, &holder).map_err(StoreError::io("write", path))?;
        Ok(Self { file })
    }

    /// Returns the current holder of the lock. The inner `None` means an unknown holder.
    pub fn holder(path: &Path) -> Result<Option<Option<Holder>>, StoreError> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("open", path)(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", path)(error)),
        }
    }
}

/// Takes an exclusive lock on `path`, waiting for other processes. It ends with the handle.
pub fn exclusive(path: &Path) -> Result<File, StoreError> {
    if let Some(folder) = path.parent() {
        RealDisk.create_dirs(folder).map_err(StoreError::io("create", folder))?;
    }
    let mut options = OpenOptions::new();
    let options = options.create(true).write(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(StoreError::io("open", path))?;
    file.lock().map_err(StoreError::io("lock", path))?;
    Ok(file)
}

fn write_holder(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(serde_json::to_string(holder)?.as_bytes())
}

/// Returns the holder in the lock file, or `None` if it is being written at this moment.
fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns true if the process exists. A killed holder leaves its name in the file.
pub(super) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Returns true if a process is suspended.
#[cfg(target_os = "linux")]
fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('T' | 't'))
}

#[cfg(not(target_os = "linux"))]
fn is_stopped(_pid: u32) -> bool {
    false
}
