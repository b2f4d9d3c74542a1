//! Acknowledged appends, beside a loop that does nothing but write and save.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mxd::base::{SystemClock, TaskId};
use mxd::store::writer::Options;
use mxd::store::{Disk, Durability, RealDisk, Store};

use crate::Outcome;
use crate::fixture::{self, Size};
use crate::probe::{Calls, CountingDisk};
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::{Paired, paired, paired_on_disk};

const SESSIONS: [usize; 3] = [1, 8, 64];
/// How many events each session appends in one turn.
const SYNC_EVENTS: usize = 8;
const OS_EVENTS: usize = 1500;

pub fn measure(report: &mut Report) -> Outcome {
    control_row(report)?;
    for size in [Size::Small, Size::Large] {
        for sessions in SESSIONS {
            sync_rows(report, sessions, size)?;
        }
    }
    for sessions in SESSIONS {
        os_row(report, sessions, Size::Small)?;
    }
    for sessions in SESSIONS {
        calls_row(report, sessions)?;
    }
    Ok(())
}

/// The raw loop beside itself. As far as this is from 1, so far the other rows are from the truth.
fn control_row(report: &mut Report) -> Outcome {
    let what = "append, control".to_owned();
    if !report.wants(&what) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    std::fs::create_dir(&one)?;
    std::fs::create_dir(&other)?;
    let (mut one, mut other) = (Raw::create(&one, 1, Size::Small)?, Raw::create(&other, 1, Size::Small)?);
    let turn = |raw: &mut Raw| (0..SYNC_EVENTS).try_for_each(|_| raw.write_each().and_then(|()| raw.sync_each()));
    let result = paired_on_disk(|| turn(&mut one), || turn(&mut other))?;
    report.add(&rate(what, SYNC_EVENTS, &result, "the same raw loop on another file", Target::None))
}

fn sync_rows(report: &mut Report, sessions: usize, size: Size) -> Outcome {
    let what = format!("append, {sessions} sessions, {}", size.name());
    // One line to each of so many files, each saved: what the formats on disk ask for.
    let each = format!("{what}, a file each in turn");
    if report.wants(&each) {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut raw = Raw::create(folder.path(), sessions, size)?;
        let ours = Ours::start(folder.path(), sessions, size, Durability::Sync, Arc::new(RealDisk))?;
        let result = paired_on_disk(
            || ours.append(SYNC_EVENTS),
            || (0..SYNC_EVENTS).try_for_each(|_| raw.write_each().and_then(|()| raw.sync_each())),
        )?;
        let against = "write and fdatasync, one file per session, one after the other";
        report.add(&rate(each, sessions * SYNC_EVENTS, &result, against, Target::AtLeast(0.8)))?;
    }
    // The same, saved as many at a time as the store does: as fast as this disk takes separate files.
    let parallel = format!("{what}, a file each in parallel");
    if sessions > 1 && report.wants(&parallel) {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut raw = Raw::create(folder.path(), sessions, size)?;
        let ours = Ours::start(folder.path(), sessions, size, Durability::Sync, Arc::new(RealDisk))?;
        let at_once = RealDisk.parallel_syncs().min(sessions);
        let result = paired_on_disk(
            || ours.append(SYNC_EVENTS),
            || (0..SYNC_EVENTS).try_for_each(|_| raw.write_each().and_then(|()| raw.sync_in_parallel(at_once))),
        )?;
        let against = format!("write and fdatasync, one file per session, {at_once} threads");
        report.add(&rate(parallel, sessions * SYNC_EVENTS, &result, &against, Target::AtLeast(0.8)))?;
    }
    // Everything in one file, saved once per group: what no format with a file per session can reach.
    let one = format!("{what}, one file");
    if sessions > 1 && report.wants(&one) {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let mut raw = Raw::create(folder.path(), 1, size)?;
        let ours = Ours::start(folder.path(), sessions, size, Durability::Sync, Arc::new(RealDisk))?;
        let result = paired_on_disk(
            || ours.append(SYNC_EVENTS),
            || (0..SYNC_EVENTS).try_for_each(|_| raw.write_group(sessions).and_then(|()| raw.sync_each())),
        )?;
        let against = "the same lines as one write and one fdatasync of one file";
        report.add(&rate(one, sessions * SYNC_EVENTS, &result, against, Target::None))?;
    }
    Ok(())
}

fn os_row(report: &mut Report, sessions: usize, size: Size) -> Outcome {
    let what = format!("append, {sessions} sessions, {}, durability os", size.name());
    if !report.wants(&what) {
        return Ok(());
    }
    let events = OS_EVENTS / sessions.min(8);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut raw = Raw::create(folder.path(), sessions, size)?;
    let ours = Ours::start(folder.path(), sessions, size, Durability::Os, Arc::new(RealDisk))?;
    let result = paired(|| ours.append(events), || (0..events).try_for_each(|_| raw.write_each()))?;
    report.add(&rate(what, sessions * events, &result, "write alone, one file per session", Target::None))
}

/// How often the disk is called for an event: the part of the cost that no faster code removes.
fn calls_row(report: &mut Report, sessions: usize) -> Outcome {
    let what = format!("append, {sessions} sessions, calls");
    if !report.wants(&what) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let calls = Arc::new(Calls::default());
    let disk = CountingDisk::new(calls.clone());
    let ours = Ours::start(folder.path(), sessions, Size::Small, Durability::Sync, Arc::new(disk))?;
    calls.reset();
    ours.append(SYNC_EVENTS)?;
    let events = (sessions * SYNC_EVENTS) as f64;
    let against = "one write and one save";
    let row =
        Row::of_counts(what, Unit::CallsPerEvent, calls.total() as f64 / events, 2.0, against, Target::AtMost(1.0));
    report.add(&row)
}

fn rate(what: String, events: usize, result: &Paired, against: &str, target: Target) -> Row {
    let (low, high) = result.quartiles;
    let rate = |time: Duration| events as f64 / time.as_secs_f64();
    Row {
        what,
        ours: rate(result.ours),
        limit: rate(result.limit),
        unit: Unit::PerSecond,
        ratio: result.speed,
        against: format!("{against} (middle half of the turns: {low:.2} to {high:.2})"),
        target,
    }
}

/// The store with so many sessions that append at once, each waiting for its answer before it goes on.
pub struct Ours {
    runtime: tokio::runtime::Runtime,
    store: Store,
    tasks: Vec<TaskId>,
    size: Size,
}

impl Ours {
    pub fn start(
        folder: &Path,
        sessions: usize,
        size: Size,
        durability: Durability,
        disk: Arc<dyn Disk>,
    ) -> Outcome<Self> {
        let folder = folder.join("ours");
        let ids = fixture::ids();
        let tasks = (0..sessions).map(|_| TaskId::fresh(&ids)).collect();
        let clock = Arc::new(SystemClock);
        let (sessions, blobs) = (folder.join("sessions"), folder.join("blobs"));
        let store = Store::start(Options { disk, clock, ids, sessions, blobs, durability })?;
        let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
        let ours = Self { runtime, store, tasks, size };
        // Creating the files is not what is measured.
        ours.append(1)?;
        Ok(ours)
    }

    pub fn append(&self, events: usize) -> Outcome {
        self.runtime.block_on(async {
            let mut running = tokio::task::JoinSet::new();
            for &task in &self.tasks {
                let (store, body) = (self.store.clone(), self.size.body());
                running.spawn(async move {
                    for _ in 0..events {
                        store.append(task, None, body.clone()).await?;
                    }
                    Outcome::Ok(())
                });
            }
            while let Some(finished) = running.join_next().await {
                finished??;
            }
            Ok(())
        })
    }
}

/// Files and a line, and nothing else.
struct Raw {
    files: Vec<File>,
    line: Vec<u8>,
}

impl Raw {
    fn create(folder: &Path, files: usize, size: Size) -> Outcome<Self> {
        let open = |number| OpenOptions::new().append(true).create_new(true).open(folder.join(format!("raw-{number}")));
        Ok(Self { files: (0..files).map(open).collect::<Result<_, _>>()?, line: size.line()? })
    }

    fn write_each(&mut self) -> Outcome {
        self.files.iter_mut().try_for_each(|file| Ok(file.write_all(&self.line)?))
    }

    fn write_group(&mut self, lines: usize) -> Outcome {
        let group = self.line.repeat(lines);
        self.files.iter_mut().try_for_each(|file| Ok(file.write_all(&group)?))
    }

    fn sync_in_parallel(&self, threads: usize) -> Outcome {
        let share = self.files.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let sync = |files: &[File]| files.iter().try_for_each(File::sync_data);
            let running: Vec<_> = self.files.chunks(share).map(|files| scope.spawn(move || sync(files))).collect();
            running.into_iter().try_for_each(|thread| Ok(thread.join().map_err(|_| "a thread panicked")??))
        })
    }

    fn sync_each(&mut self) -> Outcome {
        self.files.iter_mut().try_for_each(|file| Ok(file.sync_data()?))
    }
}
