//! Digests: a start reads little, and never believes a digest that its session does not bear out.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mxd::base::{EventId, TaskId};
use mxd::store::disk::{Disk, DiskFile, Open};
use mxd::store::{Sessions, StateCache};

use crate::support::sim_disk::SimDisk;
use crate::support::store::{Bench, block_on, text, usage};

/// A disk that counts what is read from it.
#[derive(Clone)]
struct Counting {
    disk: SimDisk,
    read: Arc<AtomicU64>,
}

struct CountingFile {
    file: Box<dyn DiskFile>,
    read: Arc<AtomicU64>,
}

impl DiskFile for CountingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(buffer, offset)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl Disk for Counting {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(CountingFile { file: self.disk.open(path, how)?, read: Arc::clone(&self.read) }))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dirs(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.disk.list(path)
    }
}

struct Place {
    disk: Counting,
    bench: Bench,
}

impl Place {
    fn new() -> Self {
        let disk = Counting { disk: SimDisk::new(), read: Arc::default() };
        let bench = Bench::new(disk.clone(), "/project");
        Self { disk, bench }
    }

    fn path(&self) -> PathBuf {
        self.bench.folder.join("digests.json")
    }

    fn sessions(&self) -> Sessions {
        self.bench.sessions()
    }

    fn load(&self) -> StateCache {
        StateCache::load(self.bench.disk.clone(), self.path())
    }

    /// Appends `lines` lines of about a kilobyte and a usage. Returns the last event.
    fn fill(&self, task: TaskId, lines: usize) -> EventId {
        let store = self.bench.store();
        let mut bodies: Vec<_> = (0..lines).map(|_| text("x".repeat(900))).collect();
        bodies.push(usage("model", 10, Some(30)));
        let events = block_on(store.append_batch(task, None, bodies)).unwrap();
        store.close();
        events.last().unwrap().id
    }

    /// Keeps a digest of each task, as the program does when it ends.
    fn digest(&self, tasks: &[TaskId]) {
        let mut digests = self.load();
        for task in tasks {
            let active = self.sessions().active(*task).unwrap();
            digests.note(&self.sessions(), *task, active.head.unwrap(), &active.state()).unwrap();
        }
        digests.save().unwrap();
    }

    /// Checks that every task comes to what its session says. Returns how many bytes were read for it.
    fn start(&self, tasks: &[TaskId]) -> u64 {
        let before = self.disk.read.load(Ordering::Relaxed);
        let mut digests = self.load();
        let found: Vec<_> = tasks.iter().map(|task| digests.summary(&self.sessions(), *task).unwrap()).collect();
        let read = self.disk.read.load(Ordering::Relaxed) - before;
        for (task, summary) in tasks.iter().zip(found) {
            let active = self.sessions().active(*task).unwrap();
            assert_eq!((summary.head, summary.state), (active.head, active.state()));
        }
        read
    }
}

#[test]
fn two_hundred_large_sessions_are_started_without_reading_them() {
    let place = Place::new();
    let tasks: Vec<TaskId> = (0..200).map(|_| place.bench.task()).collect();
    for task in &tasks {
        place.fill(*task, 60);
    }
    assert!(place.start(&tasks) > 10 << 20, "without digests everything is read");
    place.digest(&tasks);
    let read = place.start(&tasks);
    assert!(read < 1 << 20, "{read} bytes");
}

#[test]
fn of_a_session_that_went_on_only_the_rest_is_read() {
    let place = Place::new();
    let task = place.bench.task();
    place.fill(task, 500);
    place.digest(&[task]);
    place.fill(task, 3);
    let read = place.start(&[task]);
    assert!(read < 20_000, "{read} bytes");
}

#[test]
fn a_digest_may_be_of_a_moment_that_is_past() {
    let place = Place::new();
    let task = place.bench.task();
    place.fill(task, 500);
    let then = place.sessions().active(task).unwrap();
    place.fill(task, 5);
    let mut digests = place.load();
    digests.note(&place.sessions(), task, then.head.unwrap(), &then.state()).unwrap();
    digests.save().unwrap();
    assert!(place.start(&[task]) < 40_000);
}

#[test]
fn what_is_not_a_digest_of_this_program_is_ignored() {
    let place = Place::new();
    let task = place.bench.task();
    place.fill(task, 200);
    place.digest(&[task]);
    let good = String::from_utf8(place.disk.disk.content(&place.path()).unwrap()).unwrap();
    assert!(place.start(&[task]) < 10_000);
    let program = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    for text in [
        String::new(),
        "{".to_owned(),
        good[..good.len() / 2].to_owned(),
        good.replace("\"version\":2", "\"version\":3"),
        good.replace("\"version\":2", "\"version\":1"),
        good.replace(&program, "\"0.0.1\""),
        good.replace("\"usage\":{", "\"usage\":{\"by_model\":7,"),
    ] {
        assert_ne!(text, good);
        place.disk.disk.put(&place.path(), text.as_bytes());
        assert!(place.start(&[task]) > 100_000, "{text:.200}");
    }
}

#[test]
fn a_session_that_is_not_the_one_digested_is_read() {
    let place = Place::new();
    let (task, other) = (place.bench.task(), place.bench.task());
    place.fill(task, 200);
    place.digest(&[task]);
    let log = place.bench.log(task);
    let original = place.disk.disk.content(&log).unwrap();
    place.fill(other, 200);
    let foreign = place.disk.disk.content(&place.bench.log(other)).unwrap();
    let shorter = original[..original.len() / 2].to_vec();
    let zeros = vec![0; original.len()];
    for content in [foreign, shorter, zeros] {
        place.disk.disk.put(&log, &content);
        place.start(&[task]);
    }
    place.disk.disk.remove(&log).unwrap();
    place.start(&[task]);
    place.disk.disk.put(&log, &original);
    assert!(place.start(&[task]) < 10_000, "the file on the disk is still of use");
}

#[test]
fn a_line_that_does_not_go_on_from_the_digest_makes_the_session_be_read() {
    let place = Place::new();
    let task = place.bench.task();
    place.fill(task, 200);
    place.digest(&[task]);
    let log = place.bench.log(task);
    let mut content = place.disk.disk.content(&log).unwrap();
    content.extend(b"what is this?\n");
    place.disk.disk.put(&log, &content);
    place.fill(task, 1);
    assert!(place.start(&[task]) > 100_000);
}

#[test]
fn what_is_forgotten_and_what_did_not_change_is_not_written() {
    let place = Place::new();
    let (task, gone) = (place.bench.task(), place.bench.task());
    place.fill(task, 1);
    place.fill(gone, 1);
    place.digest(&[task, gone]);
    let changes = place.disk.disk.changes();
    let mut digests = place.load();
    digests.save().unwrap();
    assert_eq!(place.disk.disk.changes(), changes, "nothing is new");
    digests.retain(|known| known == task);
    digests.save().unwrap();
    let text = String::from_utf8(place.disk.disk.content(&place.path()).unwrap()).unwrap();
    assert!(text.contains(&task.to_string()) && !text.contains(&gone.to_string()));
}
