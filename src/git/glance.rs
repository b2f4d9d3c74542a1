//! Whether anything in a worktree has changed since its state was last kept, found out without starting git, where the
//! files are not watched (`watch`).
//!
//! A glance takes in the name, size, times and identity of every file, where HEAD stands, and the settings that decide what
//! git ignores. Two that are alike show the same state, if the first was taken a while after the last change that it saw:
//! what happens within one tick of the file system's clock cannot be told apart. Everything else is left to git. What a
//! glance does not see is a change of files elsewhere that say what is ignored: the person's own for all repositories, and those
//! that the settings of a repository name.

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

/// How many files and folders are looked at. With more, git is hardly slower.
const MOST: usize = 2_000;
/// How far apart two changes are that surely have different times, and the same where times have no fractions.
const TICK: Duration = Duration::from_millis(50);
const COARSE_TICK: Duration = Duration::from_secs(3);
/// Files of a repository that decide what is ignored, or hold refs.
const SHARED: [&str; 4] = ["config", "info/exclude", "packed-refs", "reftable/tables.list"];

/// What a worktree looked like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glance {
    print: blake3::Hash,
    /// Whether whatever changes from now on shows.
    settled: bool,
}

impl Glance {
    /// Looks at a worktree. Nothing: there is too much in it, or something that cannot be read.
    pub(super) fn at(checkout: &Checkout) -> Option<Self> {
        Self::at_time(checkout, SystemTime::now())
    }

    fn at_time(checkout: &Checkout, now: SystemTime) -> Option<Self> {
        let mut look = Look::default();
        look.folder(&checkout.path, true).ok()?;
        look.surroundings(checkout);
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Some(Self { print: look.print.finalize(), settled: look.settled < now })
    }

    /// Tells whether nothing has changed between this one and a later one.
    pub(super) fn still_holds(&self, later: &Self) -> bool {
        self.settled && self.print == later.print
    }
}

/// What lies around the files of a worktree and decides what a snapshot of them is: where HEAD stands, and the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Surroundings(blake3::Hash);

impl Surroundings {
    pub(super) fn of(checkout: &Checkout) -> Self {
        let mut look = Look::default();
        look.surroundings(checkout);
        Self(look.print.finalize())
    }
}

/// Returns when a change surely has another time than this one, since 1970.
fn settled_at(seconds: i64, nanos: i64) -> Duration {
    let tick = if nanos == 0 { COARSE_TICK } else { TICK };
    let changed = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanos).unwrap_or(0));
    changed.saturating_add(tick)
}

#[derive(Default)]
struct Look {
    print: blake3::Hasher,
    seen: usize,
    /// When the next change of any file surely has another time than its last one, since 1970.
    settled: Duration,
}

impl Look {
    fn folder(&mut self, path: &Path, top: bool) -> io::Result<()> {
        let entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
        let mut entries: Vec<(OsString, fs::DirEntry)> =
            entries.into_iter().map(|entry| (entry.file_name(), entry)).collect();
        self.seen += entries.len();
        if self.seen > MOST {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (name, entry) in entries {
            let found = entry.metadata()?;
            if name == ".git" && !top {
                // A repository within the worktree: what is committed there shows in no file of it.
                return Err(io::ErrorKind::Unsupported.into());
            }
            if name == ".git" && found.is_dir() {
                continue;
            }
            self.print.update(name.as_bytes()).update(b"\0");
            if found.is_dir() {
                self.word(b'{', [u64::from(found.mode()), found.ino()]);
                self.folder(&entry.path(), false)?;
                self.print.update(b"}");
            } else {
                self.file(&found);
            }
        }
        Ok(())
    }

    fn file(&mut self, found: &Metadata) {
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()].map(i64::cast_unsigned);
        self.word(b'f', [u64::from(found.mode()), found.dev(), found.ino(), found.size()]);
        self.word(b't', times);
        self.settled = self.settled.max(settled_at(found.ctime(), found.ctime_nsec()));
    }

    fn file_if_there(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(found) => self.file(&found),
            Err(_) => self.word(b'-', []),
        }
    }

    fn surroundings(&mut self, checkout: &Checkout) {
        for path in SHARED.map(|name| checkout.common.join(name)) {
            self.file_if_there(&path);
        }
        self.file_if_there(&checkout.git_dir.join("config.worktree"));
        self.head(checkout);
    }

    /// Takes in where HEAD stands: the branch and its commit, or the commit.
    fn head(&mut self, checkout: &Checkout) {
        let head = entry::head(&checkout.git_dir);
        if let Head::Branch(branch) = &head {
            let tip = checkout.common.join("refs/heads").join(branch);
            let tip = repo_file::read_plain(&tip, repo_file::SMALL).unwrap_or_default();
            self.print.update(&tip);
        }
        self.print.update(format!("{head:?}").as_bytes());
    }

    fn word<const N: usize>(&mut self, kind: u8, numbers: [u64; N]) {
        self.print.update(&[kind]);
        for number in numbers {
            self.print.update(&number.to_le_bytes());
        }
    }
}

#[cfg(test)]
#[path = "glance_tests.rs"]
mod tests;
