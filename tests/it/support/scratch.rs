//! Where tests put their folders.

use std::path::PathBuf;

use rustix::fs::{StatVfsMountFlags, statvfs};

/// What must be free in memory before folders are made there.
const ROOM: u64 = 4 << 30;

/// Returns the folder below which a test may make its own: in memory if there is room, because waiting for the disk is a
/// third of the time of a small test. `TMPDIR` decides if it is set.
pub fn folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    // Tests make scripts and run them.
    let fits = |found: rustix::fs::StatVfs| {
        found.f_bavail * found.f_frsize > ROOM && !found.f_flag.contains(StatVfsMountFlags::NOEXEC)
    };
    if std::env::var_os("TMPDIR").is_none() && statvfs(&memory).is_ok_and(fits) {
        return memory;
    }
    std::env::temp_dir()
}
