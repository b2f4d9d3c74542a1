//! Reports which files of a worktree changed since the last call, with inotify.
//!
//! One inotify instance serves all worktrees of a project; it has no thread and is never waited for. The kernel queues
//! an event before the call that caused it returns, so after a command has ended one read returns all its changes. A
//! worktree is watched only where events are reliable: a local file system, no nested repository, no hard links, and
//! enough watches left. Anything that may hide a change (a full queue, a moved folder) ends the watch of the worktree,
//! and its next snapshot examines every file.
//!
//! Not seen before the file is closed: writes of a running process through a shared memory mapping.

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

/// The most changed paths recorded per worktree. With more, a full capture is hardly slower.
pub(super) const MAX_CHANGES: usize = 1_000;
/// We use at most this fraction (1/n) of the user's watches, to leave some for other programs.
const WATCH_SHARE: usize = 2;
const LIMIT_FILE: &str = "/proc/sys/fs/inotify/max_user_watches";
/// The limit if the system does not reveal it: the lowest kernel default.
const DEFAULT_LIMIT: usize = 8_192;
const BUFFER: usize = 8 << 10;
/// File systems whose changes all go through this kernel: ext, xfs, btrfs, tmpfs, f2fs, zfs, overlay, bcachefs.
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
    /// The worktree and folder of each watch.
    folders: HashMap<i32, (PathBuf, PathBuf)>,
    worktrees: HashMap<PathBuf, WatchedTree>,
}

#[derive(Debug, Default)]
struct WatchedTree {
    device: u64,
    watches: HashSet<i32>,
    changes: BTreeSet<PathBuf>,
}

/// The content of a folder.
struct FolderContent {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

/// Why a folder cannot be watched reliably.
#[derive(Debug)]
struct Unreliable;

impl Watches {
    /// Starts to watch a worktree from scratch. `enter` gets the subfolders and returns those to watch. Returns true if
    /// changes are reported from now on.
    pub(super) fn begin(&self, top: &Path, enter: &mut dyn FnMut(Vec<PathBuf>) -> Option<Vec<PathBuf>>) -> bool {
        self.end(top);
        let is_watched = self.try_begin(top, enter).is_ok();
        if !is_watched {
            self.end(top);
        }
        is_watched
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
        self.lock().open()?.worktrees.insert(top.to_owned(), WatchedTree { device, ..WatchedTree::default() });
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

    /// Watches a folder, then lists it: what is created in between is both listed and reported.
    fn enter(&self, top: &Path, folder: &Path) -> io::Result<FolderContent> {
        let device = self.lock().watch(top, folder)?;
        let mut listed = FolderContent { files: Vec::new(), folders: Vec::new() };
        for entry in fs::read_dir(top.join(folder))? {
            let entry = entry?;
            let (path, found) = (folder.join(entry.file_name()), entry.metadata()?);
            if entry.file_name() == ".git" {
                if folder.as_os_str().is_empty() {
                    continue;
                }
                // A nested repository: a commit in it causes no event here.
                return Err(io::ErrorKind::Unsupported.into());
            }
            if found.is_dir() {
                if found.dev() != device {
                    return Err(io::ErrorKind::CrossesDevices.into());
                }
                listed.folders.push(path);
            } else if found.is_file() && found.nlink() > 1 {
                // It may change through its other name.
                return Err(io::ErrorKind::Unsupported.into());
            } else {
                listed.files.push(path);
            }
        }
        Ok(listed)
    }

    /// Watches a new folder of a worktree with everything in it, and returns its files and folders. `None` if it cannot
    /// be watched, or contains too much.
    pub(super) fn add_folder(&self, top: &Path, folder: &Path) -> Option<(Vec<PathBuf>, Vec<PathBuf>)> {
        let (mut files, mut folders, mut next) = (Vec::new(), vec![folder.to_owned()], 0);
        while let Some(folder) = folders.get(next).cloned() {
            next += 1;
            match self.enter(top, &folder) {
                Ok(listed) => {
                    files.extend(listed.files);
                    folders.extend(listed.folders);
                }
                // It is gone again; its events cover the rest.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
            if files.len() + folders.len() > MAX_CHANGES {
                return None;
            }
        }
        Some((files, folders))
    }

    /// Stops watching ignored folders of a worktree.
    pub(super) fn remove_folders(&self, top: &Path, folders: &HashSet<&Path>) {
        let mut state = self.lock();
        let of = |(at, folder): &(PathBuf, PathBuf)| at == top && folders.contains(folder.as_path());
        let left: Vec<i32> = state.folders.iter().filter(|(_, place)| of(place)).map(|(watch, _)| *watch).collect();
        state.remove_watches(left);
    }

    /// Takes the paths that may have changed since the last call. `None` if the worktree is not watched.
    pub(super) fn changes(&self, top: &Path) -> Option<BTreeSet<PathBuf>> {
        let mut state = self.lock();
        state.read();
        state.worktrees.get_mut(top).map(|watched| std::mem::take(&mut watched.changes))
    }

    /// Stops watching a worktree.
    pub(super) fn end(&self, top: &Path) {
        self.lock().unwatch(top);
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
            self.limit = limit.unwrap_or(DEFAULT_LIMIT) / WATCH_SHARE;
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
            // The same folder under another path: its events could not be attributed.
            Some(other) if other != place => {
                self.unwatch(&other.0);
                Err(gone())
            }
            _ => {
                let watched = self.worktrees.get_mut(top).ok_or_else(gone)?;
                watched.watches.insert(watch);
                Ok(watched.device)
            }
        }
    }

    fn unwatch(&mut self, top: &Path) {
        if let Some(watched) = self.worktrees.remove(top) {
            self.remove_watches(watched.watches);
        }
    }

    fn remove_watches(&mut self, watches: impl IntoIterator<Item = i32>) {
        for watch in watches {
            if let Some((top, _)) = self.folders.remove(&watch) {
                // It may already have been removed by the kernel.
                let _ = self.fd.as_ref().map(|fd| inotify::remove_watch(fd, watch));
                self.worktrees.get_mut(&top).map(|watched| watched.watches.remove(&watch));
            }
        }
    }

    /// Reads all queued events.
    fn read(&mut self) {
        let Some(fd) = self.fd.as_ref().and_then(|fd| fd.as_fd().try_clone_to_owned().ok()) else {
            return self.unwatch_all();
        };
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = Reader::new(fd, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => self.on_event(event.wd(), event.events(), event.file_name()),
                Err(Errno::WOULDBLOCK) => return,
                Err(Errno::INTR) => {}
                Err(_) => return self.unwatch_all(),
            }
        }
    }

    fn unwatch_all(&mut self) {
        let all: Vec<PathBuf> = self.worktrees.keys().cloned().collect();
        all.iter().for_each(|top| self.unwatch(top));
    }

    fn on_event(&mut self, watch: i32, events: ReadFlags, name: Option<&CStr>) {
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.unwatch_all();
        }
        let Some((top, folder)) = self.folders.get(&watch).cloned() else { return };
        let is_top = folder.as_os_str().is_empty();
        if events.contains(ReadFlags::IGNORED) {
            self.remove_watches([watch]);
        }
        let moved = ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT;
        if events.intersects(moved) || is_top && events.intersects(ReadFlags::DELETE_SELF | ReadFlags::IGNORED) {
            return self.unwatch(&top);
        }
        let Some(name) = name.map(|name| OsStr::from_bytes(name.to_bytes())) else { return };
        let of_folder = events.contains(ReadFlags::ISDIR);
        // A moved folder keeps its watches, which then report wrong paths. Changed permissions may hide files.
        let unclear = ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO | ReadFlags::ATTRIB;
        if name == ".git" || of_folder && events.intersects(unclear) {
            return self.unwatch(&top);
        }
        let Some(watched) = self.worktrees.get_mut(&top) else { return };
        watched.changes.insert(folder.join(name));
        if watched.changes.len() > MAX_CHANGES {
            self.unwatch(&top);
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
