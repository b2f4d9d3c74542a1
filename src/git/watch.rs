//! Which files of a worktree changed since they were last looked at, as the kernel tells (inotify).
//!
//! One instance serves all worktrees of a project; it has no thread and is never waited for. The kernel queues an event
//! before the call that caused it returns, so after a command has ended its changes are in the queue and one read tells
//! all of them. A worktree is watched only where events can be trusted: a local file system, no repository within it, no
//! file with a second name, and enough watches left. Whatever makes a change invisible (a full queue, a folder that was
//! moved) ends the watch of the worktree, and its next snapshot looks at every file.
//!
//! Not seen before the file is closed: what a running process writes through a shared memory mapping.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// How many changed paths are remembered of a worktree. With more, looking at every file is hardly slower.
pub(super) const MOST_CHANGES: usize = 1_000;
/// How many watches we take, as a part of what the user may have: other programs need some.
const OUR_PART: usize = 2;
const LIMIT_FILE: &str = "/proc/sys/fs/inotify/max_user_watches";
/// The limit where the system does not tell it: the least that kernels have had.
const LEAST_LIMIT: usize = 8_192;
const BUFFER: usize = 8 << 10;
/// File systems whose changes all pass through this kernel: ext, xfs, btrfs, tmpfs, f2fs, zfs, overlay, bcachefs.
const LOCAL: [u64; 8] =
    [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1, 0x794C_7630, 0xCA45_1A4E];
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// The watches of all worktrees of a project. Cheap to clone; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Watches(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    fd: Option<OwnedFd>,
    limit: usize,
    /// The worktree and the folder in it that a watch is for.
    folders: HashMap<i32, (PathBuf, PathBuf)>,
    worktrees: HashMap<PathBuf, Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    device: u64,
    watches: HashSet<i32>,
    changes: BTreeSet<PathBuf>,
}

/// What a folder holds, as far as a watch needs to know.
struct Listed {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// Why a folder cannot be watched reliably.
#[derive(Debug)]
struct Unreliable;

impl Watches {
    /// Begins to watch a worktree anew: its folders as far as `enter` allows, which gets the paths of sub folders below
    /// the top and returns those to watch. Tells whether its changes will be known from now on.
    pub(super) fn begin(&self, top: &Path, enter: &mut dyn FnMut(Vec<PathBuf>) -> Option<Vec<PathBuf>>) -> bool {
        self.end(top);
        let begun = self.try_begin(top, enter).is_ok();
        if !begun {
            self.end(top);
        }
        begun
    }

    fn try_begin(
        &self,
        top: &Path,
        enter: &mut dyn FnMut(Vec<PathBuf>) -> Option<Vec<PathBuf>>,
    ) -> Result<(), Unreliable> {
        let device = fs::symlink_metadata(top).map_err(|_| Unreliable)?.dev();
        let kind = rustix::fs::statfs(top).map_err(|_| Unreliable)?.f_type;
        if !LOCAL.contains(&kind.cast_unsigned()) {
            return Err(Unreliable);
        }
        self.lock().open()?.worktrees.insert(top.to_owned(), Watched { device, ..Watched::default() });
        let mut folders = vec![PathBuf::new()];
        while !folders.is_empty() {
            let mut below = Vec::new();
            for folder in &folders {
                below.extend(self.enter(top, folder).map_err(|_| Unreliable)?.folders);
            }
            folders = if below.is_empty() { below } else { enter(below).ok_or(Unreliable)? };
        }
        Ok(())
    }

    /// Watches a folder of a worktree, then lists it: what comes in between is both listed and told.
    fn enter(&self, top: &Path, folder: &Path) -> io::Result<Listed> {
        let device = self.lock().watch(top, folder)?;
        let mut listed = Listed { files: Vec::new(), folders: Vec::new() };
        for entry in fs::read_dir(top.join(folder))? {
            let entry = entry?;
            let (path, found) = (folder.join(entry.file_name()), entry.metadata()?);
            if entry.file_name() == ".git" {
                if folder.as_os_str().is_empty() {
                    continue;
                }
                // A repository within the worktree: what is committed there is no event here.
                return Err(io::ErrorKind::Unsupported.into());
            }
            if found.is_dir() {
                if found.dev() != device {
                    return Err(io::ErrorKind::CrossesDevices.into());
                }
                listed.folders.push(path);
            } else if found.is_file() && found.nlink() > 1 {
                // It may be changed by its other name.
                return Err(io::ErrorKind::Unsupported.into());
            } else {
                listed.files.push(path);
            }
        }
        Ok(listed)
    }

    /// Watches a folder that is new in a worktree with everything in it, and returns the files and folders in it. `None`
    /// if it cannot be watched, or holds too much.
    pub(super) fn adopt(&self, top: &Path, folder: &Path) -> Option<(Vec<PathBuf>, Vec<PathBuf>)> {
        let (mut files, mut folders, mut next) = (Vec::new(), vec![folder.to_owned()], 0);
        while let Some(folder) = folders.get(next).cloned() {
            next += 1;
            match self.enter(top, &folder) {
                Ok(listed) => {
                    files.extend(listed.files);
                    folders.extend(listed.folders);
                }
                // It is gone again; its events tell the rest.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
            if files.len() + folders.len() > MOST_CHANGES {
                return None;
            }
        }
        Some((files, folders))
    }

    /// Stops to watch folders of a worktree that git ignores.
    pub(super) fn leave(&self, top: &Path, folders: &HashSet<&Path>) {
        let mut state = self.lock();
        let of = |(at, folder): &(PathBuf, PathBuf)| at == top && folders.contains(folder.as_path());
        let left: Vec<i32> = state.folders.iter().filter(|(_, place)| of(place)).map(|(watch, _)| *watch).collect();
        state.forget(left);
    }

    /// Returns what may have changed in a worktree since it was last asked for. `None` if the worktree is not watched.
    pub(super) fn changes(&self, top: &Path) -> Option<BTreeSet<PathBuf>> {
        let mut state = self.lock();
        state.read();
        state.worktrees.get_mut(top).map(|watched| std::mem::take(&mut watched.changes))
    }

    /// Stops to watch a worktree.
    pub(super) fn end(&self, top: &Path) {
        self.lock().lose(top);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn open(&mut self) -> Result<&mut Self, Unreliable> {
        if self.fd.is_none() {
            self.fd = Some(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(|_| Unreliable)?);
            let limit = fs::read_to_string(LIMIT_FILE).ok().and_then(|text| text.trim().parse().ok());
            self.limit = limit.unwrap_or(LEAST_LIMIT) / OUR_PART;
        }
        Ok(self)
    }

    /// Watches a folder and returns the device of its worktree.
    fn watch(&mut self, top: &Path, folder: &Path) -> io::Result<u64> {
        let gone = || io::Error::from(io::ErrorKind::Unsupported);
        if self.folders.len() >= self.limit {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let fd = self.fd.as_ref().ok_or_else(gone)?;
        let watch = inotify::add_watch(fd, top.join(folder), EVENTS)?;
        let place = (top.to_owned(), folder.to_owned());
        match self.folders.insert(watch, place.clone()) {
            // The same folder by another path: whose event would be whose?
            Some(other) if other != place => {
                self.lose(&other.0);
                Err(gone())
            }
            _ => {
                let watched = self.worktrees.get_mut(top).ok_or_else(gone)?;
                watched.watches.insert(watch);
                Ok(watched.device)
            }
        }
    }

    fn lose(&mut self, top: &Path) {
        if let Some(watched) = self.worktrees.remove(top) {
            self.forget(watched.watches);
        }
    }

    fn forget(&mut self, watches: impl IntoIterator<Item = i32>) {
        for watch in watches {
            if let Some((top, _)) = self.folders.remove(&watch) {
                // One that the kernel has removed by itself is no error.
                let _ = self.fd.as_ref().map(|fd| inotify::remove_watch(fd, watch));
                self.worktrees.get_mut(&top).map(|watched| watched.watches.remove(&watch));
            }
        }
    }

    /// Takes in everything that the kernel has queued.
    fn read(&mut self) {
        let Some(fd) = self.fd.as_ref().and_then(|fd| fd.as_fd().try_clone_to_owned().ok()) else {
            return self.lose_all();
        };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = Reader::new(fd, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => self.take(event.wd(), event.events(), event.file_name()),
                Err(Errno::WOULDBLOCK) => return,
                Err(Errno::INTR) => {}
                Err(_) => return self.lose_all(),
            }
        }
    }

    fn lose_all(&mut self) {
        let all: Vec<PathBuf> = self.worktrees.keys().cloned().collect();
        all.iter().for_each(|top| self.lose(top));
    }

    fn take(&mut self, watch: i32, events: ReadFlags, name: Option<&CStr>) {
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.lose_all();
        }
        let Some((top, folder)) = self.folders.get(&watch).cloned() else { return };
        let is_top = folder.as_os_str().is_empty();
        if events.contains(ReadFlags::IGNORED) {
            self.forget([watch]);
        }
        let moved = ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT;
        if events.intersects(moved) || is_top && events.intersects(ReadFlags::DELETE_SELF | ReadFlags::IGNORED) {
            return self.lose(&top);
        }
        let Some(name) = name.map(|name| OsStr::from_bytes(name.to_bytes())) else { return };
        let of_folder = events.contains(ReadFlags::ISDIR);
        // A moved folder takes its watches along, which then tell wrong paths. One with other permissions may hide files.
        let unclear = ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO | ReadFlags::ATTRIB;
        if name == ".git" || of_folder && events.intersects(unclear) {
            return self.lose(&top);
        }
        let Some(watched) = self.worktrees.get_mut(&top) else { return };
        watched.changes.insert(folder.join(name));
        if watched.changes.len() > MOST_CHANGES {
            self.lose(&top);
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
