//! Detects changes in a worktree without running git, where files are not watched (`watch`).
//!
//! A fingerprint covers the name, size, times and inode of every file, HEAD, and the settings that decide what git
//! ignores. Two equal fingerprints mean the same state, if the first was taken a while after the last change it saw:
//! changes within one tick of the file system's clock look the same. Not covered: ignore files elsewhere, such as the
//! user's global one and those that the repository's settings name.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::entry::{self, Head};
use super::program::Checkout;
use super::repo_file;

/// The most files and folders examined. With more, git is hardly slower.
const MAX_FILES: usize = 2_000;
/// The time after which a change surely gets another timestamp, and the same for timestamps without fractions.
const TICK: Duration = Duration::from_millis(50);
const COARSE_TICK: Duration = Duration::from_secs(3);
/// Repository files that decide what is ignored, or hold refs.
const SHARED: [&str; 4] = ["config", "info/exclude", "packed-refs", "reftable/tables.list"];

/// The fingerprint of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatFingerprint {
    hash: blake3::Hash,
    /// True if every later change will alter the fingerprint.
    settled: bool,
}

impl StatFingerprint {
    /// Computes the fingerprint of a worktree. `None` if it has too many files or something unreadable.
    pub(super) fn at(checkout: &Checkout) -> Option<Self> {
        Self::at_time(checkout, SystemTime::now())
    }

    fn at_time(checkout: &Checkout, now: SystemTime) -> Option<Self> {
        let mut hasher = StatHasher::default();
        hasher.folder(&checkout.path, true).ok()?;
        hasher.repository(checkout);
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Some(Self { hash: hasher.hash.finalize(), settled: hasher.settled < now })
    }

    /// Returns true if nothing has changed between this fingerprint and a later one.
    pub(super) fn is_unchanged(&self, later: &Self) -> bool {
        self.settled && self.hash == later.hash
    }
}

/// The fingerprint of what else decides a snapshot: HEAD and the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RepoFingerprint(blake3::Hash);

impl RepoFingerprint {
    pub(super) fn of(checkout: &Checkout) -> Self {
        let mut hasher = StatHasher::default();
        hasher.repository(checkout);
        Self(hasher.hash.finalize())
    }
}

/// Returns when a later change surely gets another timestamp, since the epoch.
fn settled_at(seconds: i64, nanos: i64) -> Duration {
    let tick = if nanos == 0 { COARSE_TICK } else { TICK };
    let changed = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
    changed.saturating_add(tick)
}

#[derive(Default)]
struct StatHasher {
    hash: blake3::Hasher,
    count: usize,
    /// When the next change of any file surely gets another timestamp, since the epoch.
    settled: Duration,
}

impl StatHasher {
    fn folder(&mut self, path: &Path, top: bool) -> io::Result<()> {
        let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        let mut entries: Vec<(OsString, fs::DirEntry)> =
            entries.into_iter().map(|entry| (entry.file_name(), entry)).collect();
        self.count += entries.len();
        if self.count > MAX_FILES {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (name, entry) in entries {
            let found = entry.metadata()?;
            if name == ".git" && !top {
                // A nested repository: commits in it change no file of the worktree.
                return Err(io::ErrorKind::Unsupported.into());
            }
            if name == ".git" && found.is_dir() {
                continue;
            }
            self.hash.update(name.as_bytes()).update(b"\0");
            if found.is_dir() {
                self.numbers(b'{', [u64::from(found.mode()), found.ino()]);
                self.folder(&entry.path(), false)?;
                self.hash.update(b"}");
            } else {
                self.file(&found);
            }
        }
        Ok(())
    }

    fn file(&mut self, found: &Metadata) {
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()].map(i64::cast_unsigned);
        self.numbers(b'f', [u64::from(found.mode()), found.dev(), found.ino(), found.size()]);
        self.numbers(b't', times);
        self.settled = self.settled.max(settled_at(found.ctime(), found.ctime_nsec()));
    }

    fn file_if_there(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(found) => self.file(&found),
            Err(_) => self.numbers(b'-', []),
        }
    }

    fn repository(&mut self, checkout: &Checkout) {
        for path in SHARED.map(|name| checkout.common.join(name)) {
            self.file_if_there(&path);
        }
        self.file_if_there(&checkout.git_dir.join("config.worktree"));
        self.head(checkout);
    }

    /// Adds HEAD: the branch and its commit, or the commit.
    fn head(&mut self, checkout: &Checkout) {
        let head = entry::head(&checkout.git_dir);
        if let Head::Branch(branch) = &head {
            let tip = checkout.common.join("refs/heads").join(branch);
            let tip = repo_file::read_plain(&tip, repo_file::SMALL).unwrap_or_default();
            self.hash.update(&tip);
        }
        self.hash.update(format!("{head:?}").as_bytes());
    }

    fn numbers<const N: usize>(&mut self, kind: u8, numbers: [u64; N]) {
        self.hash.update(&[kind]);
        for number in numbers {
            self.hash.update(&number.to_le_bytes());
        }
    }
}

#[cfg(test)]
#[path = "stat_fingerprint_tests.rs"]
mod tests;
