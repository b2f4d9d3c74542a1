//! A disk in memory that knows what a loss of power forgets, and that fails or stops at a chosen call.
//!
//! Every file has two contents: what a reader sees and what is durable. Between them lie the operations since the
//! last sync. Names are durable only once their folder was synced. A failed sync is as mean as the real one: what it
//! should have saved stays visible, is no longer dirty, and will never reach the disk by a later sync.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use mxd::store::disk::{Disk, DiskFile, Open};

const PAGE: usize = 4096;

/// What a loss of power leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// Everything survives: only the program died.
    Nothing,
    /// Nothing survives.
    Everything,
    /// Of each file any prefix of its operations; of each folder any prefix of its changes.
    Tail(u64),
    /// Of each file any set of pages, the others zero; of each folder any set of changes.
    Pages(u64),
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// ENOSPC; a write puts half of its bytes down first.
    Full,
    /// EIO; a sync marks everything clean without saving it.
    Io,
    ReadOnly,
    Denied,
    /// EBADF: the handle is gone. Opening again helps.
    Closed,
}

impl Fault {
    pub const ALL: [Self; 5] = [Self::Full, Self::Io, Self::ReadOnly, Self::Denied, Self::Closed];

    fn error(self) -> io::Error {
        // The numbers of Linux; other systems agree on these.
        let code = match self {
            Self::Full => 28,
            Self::Io => 5,
            Self::ReadOnly => 30,
            Self::Denied => 13,
            Self::Closed => 9,
        };
        io::Error::from_raw_os_error(code)
    }
}

/// Which calls go wrong, counted from 1.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    crash_after: Option<usize>,
    fault: Option<(usize, usize, Fault)>,
}

#[derive(Clone, Debug)]
enum Op {
    Write { at: usize, bytes: Vec<u8> },
    SetLen(usize),
}

#[derive(Clone, Debug, Default)]
struct Inode {
    seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Op>,
}

#[derive(Clone, Debug)]
enum NameOp {
    Create(PathBuf, usize),
    Rename(PathBuf, PathBuf, usize),
    Remove(PathBuf),
}

#[derive(Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    unsynced: BTreeMap<PathBuf, Vec<NameOp>>,
    folders: BTreeSet<PathBuf>,
    plan: Plan,
    calls: usize,
    changes: usize,
    crashed: bool,
    opens: usize,
    log: Vec<String>,
}

/// The disk. Clones share it.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

struct SimFile {
    disk: SimDisk,
    inode: usize,
    path: PathBuf,
    /// A fault closed this handle for good.
    closed: bool,
}

/// Whether a call can change what is on the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Looks,
    Changes,
}

impl SimDisk {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Every call after the `k`-th that changes something fails, until [`SimDisk::lose_power`].
    pub fn crash_after(&self, k: usize) {
        self.state().plan.crash_after = Some(k);
    }

    /// The calls `from..from + count`, counted from now on, fail.
    pub fn fail(&self, from: usize, count: usize, fault: Fault) {
        let mut state = self.state();
        state.calls = 0;
        state.plan.fault = Some((from, count, fault));
    }

    /// Ends all faults. Returns how many calls were made since they were set.
    pub fn mend(&self) -> usize {
        let mut state = self.state();
        state.plan = Plan::default();
        std::mem::take(&mut state.calls)
    }

    /// Returns how many calls so far could have changed something.
    pub fn changes(&self) -> usize {
        self.state().changes
    }

    pub fn opens(&self) -> usize {
        self.state().opens
    }

    pub fn crashed(&self) -> bool {
        self.state().crashed
    }

    /// Returns the names of the calls so far, for a message when something is wrong.
    pub fn history(&self) -> Vec<String> {
        self.state().log.clone()
    }

    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        state.names.get(path).map(|inode| state.inodes[*inode].seen.clone())
    }

    /// Puts a file there, durably and uncounted.
    pub fn put(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let inode = Inode { seen: bytes.to_vec(), durable: bytes.to_vec(), pending: Vec::new() };
        state.inodes.push(inode);
        let number = state.inodes.len() - 1;
        state.names.insert(path.to_owned(), number);
        state.durable_names.insert(path.to_owned(), number);
        state.folders.extend(path.ancestors().skip(1).map(Path::to_owned));
    }

    /// Returns the disk as the next start finds it.
    pub fn lose_power(&self, forget: Forget) -> Self {
        let state = self.state();
        let mut random = Random(match forget {
            Forget::Tail(seed) | Forget::Pages(seed) => seed,
            Forget::Nothing | Forget::Everything => 0,
        });
        let mut names = match forget {
            Forget::Nothing => state.names.clone(),
            Forget::Everything | Forget::Tail(_) | Forget::Pages(_) => state.durable_names.clone(),
        };
        for ops in state.unsynced.values() {
            let kept: Vec<_> = match forget {
                Forget::Nothing | Forget::Everything => Vec::new(),
                Forget::Tail(_) => ops.iter().take(random.below(ops.len() + 1)).collect(),
                Forget::Pages(_) => ops.iter().filter(|_| random.below(2) == 0).collect(),
            };
            for op in kept {
                apply_name(&mut names, op);
            }
        }
        let inodes = state.inodes.iter().map(|inode| {
            let content = inode.after(forget, &mut random);
            Inode { seen: content.clone(), durable: content, pending: Vec::new() }
        });
        let inodes = inodes.collect();
        let next =
            State { inodes, durable_names: names.clone(), names, folders: state.folders.clone(), ..State::default() };
        Self(Arc::new(Mutex::new(next)))
    }

    /// Counts a call and says whether it may go on.
    fn enter(&self, kind: Kind, what: &str, path: &Path) -> io::Result<(MutexGuard<'_, State>, Option<Fault>)> {
        let mut state = self.state();
        if state.crashed {
            return Err(io::Error::other("the power is off"));
        }
        state.calls += 1;
        let calls = state.calls;
        let fault = state.plan.fault.filter(|(from, count, _)| (*from..from.saturating_add(*count)).contains(&calls));
        if kind == Kind::Changes {
            if state.plan.crash_after.is_some_and(|k| state.changes >= k) {
                state.crashed = true;
                return Err(io::Error::other("the power is off"));
            }
            state.changes += 1;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            state.log.push(format!("{what} {name}"));
        }
        Ok((state, fault.map(|(_, _, fault)| fault)))
    }
}

impl Inode {
    fn after(&self, forget: Forget, random: &mut Random) -> Vec<u8> {
        match forget {
            Forget::Nothing => self.seen.clone(),
            Forget::Everything => self.durable.clone(),
            Forget::Tail(_) => {
                let mut content = self.durable.clone();
                let whole = random.below(self.pending.len() + 1);
                self.pending.iter().take(whole).for_each(|op| apply(&mut content, op));
                if let Some(Op::Write { at, bytes }) = self.pending.get(whole) {
                    let cut = random.below(bytes.len() + 1);
                    apply(&mut content, &Op::Write { at: *at, bytes: bytes[..cut].to_vec() });
                }
                content
            }
            Forget::Pages(_) => {
                let lens = self.pending.iter().map(|op| match op {
                    Op::SetLen(len) => *len,
                    Op::Write { .. } => usize::MAX,
                });
                let mut content = self.durable[..lens.min().unwrap_or(usize::MAX).min(self.durable.len())].to_vec();
                let old = content.len();
                let mut new = self.durable.clone();
                self.pending.iter().for_each(|op| apply(&mut new, op));
                content.resize(new.len(), 0);
                for start in (0..new.len()).step_by(PAGE) {
                    let end = (start + PAGE).min(new.len());
                    if end > old && random.below(2) == 0 {
                        content[start.max(old)..end].copy_from_slice(&new[start.max(old)..end]);
                    }
                }
                content
            }
        }
    }
}

fn apply(content: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write { at, bytes } => {
            if content.len() < at + bytes.len() {
                content.resize(at + bytes.len(), 0);
            }
            content[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        Op::SetLen(len) => content.resize(*len, 0),
    }
}

fn apply_name(names: &mut BTreeMap<PathBuf, usize>, op: &NameOp) {
    match op {
        NameOp::Create(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        NameOp::Rename(from, to, inode) => {
            names.remove(from);
            names.insert(to.clone(), *inode);
        }
        NameOp::Remove(path) => {
            names.remove(path);
        }
    }
}

impl State {
    fn change_name(&mut self, path: &Path, op: NameOp) {
        apply_name(&mut self.names, &op);
        self.unsynced.entry(path.parent().unwrap_or(Path::new("")).to_owned()).or_default().push(op);
    }
}

fn fail<T>(fault: Option<Fault>, go_on: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    fault.map_or_else(go_on, |fault| Err(fault.error()))
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        let kind = if how == Open::CreateNew { Kind::Changes } else { Kind::Looks };
        let (mut state, fault) = self.enter(kind, "create", path)?;
        fail(fault, || {
            let known = state.names.get(path).copied();
            let inode = match (how, known) {
                (Open::CreateNew, Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
                (Open::Read | Open::Append, None) => return Err(io::ErrorKind::NotFound.into()),
                (Open::Read | Open::Append, Some(inode)) => inode,
                (Open::CreateNew, None) => {
                    if !path.parent().is_some_and(|folder| state.folders.contains(folder)) {
                        return Err(io::ErrorKind::NotFound.into());
                    }
                    state.inodes.push(Inode::default());
                    let inode = state.inodes.len() - 1;
                    state.change_name(path, NameOp::Create(path.to_owned(), inode));
                    inode
                }
            };
            state.opens += 1;
            let file = SimFile { disk: self.clone(), inode, path: path.to_owned(), closed: false };
            Ok(Box::new(file) as Box<dyn DiskFile>)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (mut state, fault) = self.enter(Kind::Changes, "rename", to)?;
        fail(fault, || {
            let inode = state.names.get(from).copied().ok_or(io::ErrorKind::NotFound)?;
            state.change_name(to, NameOp::Rename(from.to_owned(), to.to_owned(), inode));
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let (mut state, fault) = self.enter(Kind::Changes, "remove", path)?;
        fail(fault, || {
            if !state.names.contains_key(path) {
                return Err(io::ErrorKind::NotFound.into());
            }
            state.change_name(path, NameOp::Remove(path.to_owned()));
            Ok(())
        })
    }

    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        let (mut state, fault) = self.enter(Kind::Changes, "create folder", path)?;
        fail(fault, || {
            state.folders.extend(path.ancestors().map(Path::to_owned));
            Ok(())
        })
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let (mut state, fault) = self.enter(Kind::Changes, "sync folder", path)?;
        fail(fault, || {
            let ops = state.unsynced.remove(path).unwrap_or_default();
            for op in &ops {
                apply_name(&mut state.durable_names, op);
            }
            Ok(())
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let (state, fault) = self.enter(Kind::Looks, "list", path)?;
        fail(fault, || {
            let inside = state.names.keys().filter(|name| name.parent() == Some(path));
            Ok(inside.filter_map(|name| name.file_name().map(OsString::from)).collect())
        })
    }
}

impl SimFile {
    fn enter(&self, kind: Kind, what: &str) -> io::Result<(MutexGuard<'_, State>, Option<Fault>)> {
        if self.closed {
            return Err(Fault::Closed.error());
        }
        self.disk.enter(kind, what, &self.path)
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (state, fault) = self.enter(Kind::Looks, "read")?;
        fail(fault, || {
            let seen = &state.inodes[self.inode].seen;
            let start = usize::try_from(offset).unwrap().min(seen.len());
            let count = buffer.len().min(seen.len() - start);
            buffer[..count].copy_from_slice(&seen[start..start + count]);
            Ok(count)
        })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (mut state, fault) = self.enter(Kind::Changes, "append to")?;
        let done = match fault {
            None => bytes.len(),
            Some(Fault::Full) => bytes.len() / 2,
            Some(Fault::Io | Fault::ReadOnly | Fault::Denied | Fault::Closed) => 0,
        };
        let inode = &mut state.inodes[self.inode];
        if done > 0 {
            let op = Op::Write { at: inode.seen.len(), bytes: bytes[..done].to_vec() };
            apply(&mut inode.seen, &op);
            inode.pending.push(op);
        }
        drop(state);
        self.closed |= fault == Some(Fault::Closed);
        fail(fault, || Ok(()))
    }

    fn sync(&mut self) -> io::Result<()> {
        let (mut state, fault) = self.enter(Kind::Changes, "sync")?;
        let inode = &mut state.inodes[self.inode];
        match fault {
            None => {
                let pending = std::mem::take(&mut inode.pending);
                for op in &pending {
                    apply(&mut inode.durable, op);
                }
            }
            // The kernel says it once, and then believes that the pages are clean.
            Some(Fault::Io) => inode.pending.clear(),
            Some(Fault::Full | Fault::ReadOnly | Fault::Denied | Fault::Closed) => {}
        }
        drop(state);
        self.closed |= fault == Some(Fault::Closed);
        fail(fault, || Ok(()))
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let (mut state, fault) = self.enter(Kind::Changes, "cut")?;
        fail(fault, || {
            let inode = &mut state.inodes[self.inode];
            let op = Op::SetLen(usize::try_from(len).unwrap());
            apply(&mut inode.seen, &op);
            inode.pending.push(op);
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        let (state, fault) = self.enter(Kind::Looks, "measure")?;
        fail(fault, || Ok(state.inodes[self.inode].seen.len() as u64))
    }
}

/// `SplitMix64`: the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }
}
