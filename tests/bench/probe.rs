//! Counting instead of timing: calls and bytes through the door to the disk, and memory in a process of its own.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mxd::base::TaskId;
use mxd::store::disk::{DiskFile, Open};
use mxd::store::{Disk, RealDisk, Sessions};

use crate::{Outcome, system};

/// What a disk was asked for.
#[derive(Default)]
pub struct Calls {
    pub bytes_read: AtomicU64,
    total: AtomicU64,
}

impl Calls {
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    pub fn reset(&self) {
        self.total.store(0, Ordering::Relaxed);
        self.bytes_read.store(0, Ordering::Relaxed);
    }

    fn one(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
    }
}

/// The machine's disk, counted.
pub struct CountingDisk {
    calls: Arc<Calls>,
}

impl CountingDisk {
    pub fn new(calls: Arc<Calls>) -> Self {
        Self { calls }
    }
}

struct CountingFile {
    file: Box<dyn DiskFile>,
    calls: Arc<Calls>,
}

impl DiskFile for CountingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.calls.one();
        let read = self.file.read_at(buffer, offset)?;
        self.calls.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.calls.one();
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.calls.one();
        self.file.sync()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.calls.one();
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.calls.one();
        self.file.len()
    }
}

impl Disk for CountingDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        self.calls.one();
        let file = RealDisk.open(path, how)?;
        Ok(Box::new(CountingFile { file, calls: self.calls.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_dirs(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        RealDisk.list(path)
    }

    fn parallel_syncs(&self) -> usize {
        RealDisk.parallel_syncs()
    }
}

/// The first argument of a child of ours.
pub const CHILD: &str = "--measure-memory";

/// What a child does while its memory is watched.
#[derive(Clone, Copy)]
pub enum Work {
    LastPage,
    Active,
    ReadWhole,
}

impl Work {
    const ALL: [Self; 3] = [Self::LastPage, Self::Active, Self::ReadWhole];

    fn name(self) -> &'static str {
        match self {
            Self::LastPage => "last-page",
            Self::Active => "active",
            Self::ReadWhole => "read-whole",
        }
    }
}

/// How much of a transcript fills a screen, with some to scroll.
pub const SCREEN: usize = 200;

/// Returns by how many bytes the memory of a fresh process grows at most while it does `work`.
pub fn peak_memory(work: Work, folder: &Path, task: TaskId) -> Outcome<u64> {
    let output = Command::new(std::env::current_exe()?)
        .arg(CHILD)
        .arg(work.name())
        .arg(folder)
        .arg(task.to_string())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    text.trim().parse().map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned().into())
}

/// The child: works, and says by how much it grew.
pub fn child(arguments: &[String]) -> Outcome {
    let [work, folder, task] = arguments else { return Err("a child needs work, a folder and a task".into()) };
    let work = Work::ALL.into_iter().find(|known| known.name() == work).ok_or("no such work")?;
    let task: TaskId = task.parse()?;
    let sessions = Sessions::new(Arc::new(RealDisk), PathBuf::from(folder));
    let process = system::Process::ourselves();
    let before = process.bytes("VmRSS:")?;
    match work {
        Work::LastPage => drop(sessions.last_page(task, SCREEN)?),
        Work::Active => {
            let active = sessions.active(task)?;
            drop((active.state(), active));
        }
        Work::ReadWhole => drop(std::fs::read(sessions.path(task))?),
    }
    let peak = process.bytes("VmHWM:")?;
    let mut out = io::stdout().lock();
    io::Write::write_all(&mut out, peak.saturating_sub(before).to_string().as_bytes())?;
    Ok(())
}
