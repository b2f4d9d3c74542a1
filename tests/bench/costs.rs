//! What a turn costs that must not grow with the repository, what it writes, and how often a stream wakes the program.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mxd::base::{SystemClock, TaskId};
use mxd::store::disk::{Disk, DiskFile, Open};
use mxd::store::writer::Options;
use mxd::store::{Durability, RealDisk, Store};
use serde_json::json;

use crate::bench_project::BenchProject;
use crate::report::{Report, Row, Target, Unit};
use crate::screen::Screen;
use crate::{Outcome, engine, fixture, system, turns};

const TURNS: usize = 200;
const FEW_FILES: usize = 20;
const MANY_FILES: usize = 20_000;
const ROUNDS: usize = 3;
const STREAM: Duration = Duration::from_secs(10);

pub fn measure(report: &mut Report) -> Outcome {
    shell_rows(report)?;
    write_rows(report)?;
    wake_row(report)
}

/// The same turns of the shell in a large repository and in a small one, which changes nothing but one file a turn.
fn shell_rows(report: &mut Report) -> Outcome {
    for (kind, what) in [("idle", "that change nothing"), ("edits", "that change a file")] {
        let name = |figure: &str| format!("shell turns {what}, {MANY_FILES} files: {figure}");
        let names = [name("wall time a turn"), name("own CPU a turn")];
        if !names.iter().any(|name| report.wants(name)) {
            continue;
        }
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push((engine::shell(kind, MANY_FILES, TURNS)?, engine::shell(kind, FEW_FILES, TURNS)?));
        }
        let mut row = |what: &str, figure: &dyn Fn(&engine::Crowd) -> f64| {
            let mut ratios: Vec<(f64, f64)> = rounds.iter().map(|(many, few)| (figure(many), figure(few))).collect();
            ratios.sort_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)));
            let (many, few) = ratios[ratios.len() / 2];
            let against = format!("the same in {FEW_FILES} files");
            report.add(&Row::of_counts(what.to_owned(), Unit::NanosPerTurn, many, few, &against, Target::AtMost(1.2)))
        };
        row(&names[0], &|crowd| crowd.seconds * 1e9 / TURNS as f64)?;
        row(&names[1], &|crowd| crowd.cpu_seconds * 1e9 / TURNS as f64)?;
    }
    Ok(())
}

/// Counts what the store hands to the system.
#[derive(Clone, Default)]
struct Counted {
    bytes: Arc<AtomicU64>,
    saves: Arc<AtomicU64>,
}

struct CountedFile(Box<dyn DiskFile>, Counted);

impl DiskFile for CountedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.1.saves.fetch_add(1, Ordering::Relaxed);
        self.0.sync()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

impl Disk for Counted {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(CountedFile(RealDisk.open(path, how)?, self.clone())))
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
}

/// What a turn of `read_file` writes with `durability = "sync"`: bytes, saves, and the pages that the kernel counts.
fn write_rows(report: &mut Report) -> Outcome {
    let name = |figure: &str| format!("read turn, durability sync: {figure}");
    let names = [name("bytes handed to write"), name("saves"), name("bytes of dirtied pages")];
    if !names.iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let root = folder.path().join("work");
    std::fs::create_dir_all(&root)?;
    std::fs::write(root.join("notes.txt"), fixture::text(1_500))?;
    let disk = Counted::default();
    let store = Store::start(Options {
        disk: Arc::new(disk.clone()),
        clock: Arc::new(SystemClock),
        ids: fixture::ids(),
        sessions: folder.path().join("sessions"),
        blobs: folder.path().join("blobs"),
        durability: Durability::Sync,
    })?;
    let runtime = tokio::runtime::Runtime::new()?;
    let written = || system::Process::ourselves().figure("io", "write_bytes:");
    let before = written()?;
    let provider = Arc::new(turns::AtOnce::reading(TURNS));
    runtime.block_on(turns::run(&store, TaskId::fresh(&fixture::ids()), &root, folder.path(), provider))?;
    let pages = written()?.saturating_sub(before) as f64;
    let per_turn = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / TURNS as f64;
    let [bytes, saves, dirtied] = names;
    let ours = per_turn(&disk.bytes);
    report.add(&Row::of_counts(bytes, Unit::Bytes, ours, 4_096.0, "4 KB", Target::AtMost(1.0)))?;
    let ours = per_turn(&disk.saves);
    report.add(&Row::of_counts(saves, Unit::CallsPerEvent, ours, 1.0, "one a turn", Target::AtMost(1.1)))?;
    let ours = pages / TURNS as f64;
    report.add(&Row::of_counts(dirtied, Unit::Bytes, ours, 4_096.0, "4 KB", Target::None))
}

/// How often the program is woken while one agent streams, with the screen open.
fn wake_row(report: &mut Report) -> Outcome {
    let what = "screen, one agent writes 100 tokens a second: wake-ups a second".to_owned();
    if !report.wants(&what) {
        return Ok(());
    }
    let pacing = json!({ "first_token_ms": 0, "chars_per_second": 400 });
    let words = "The answer is written word by word, as they do. ".repeat(400);
    let site = BenchProject::new()?;
    site.register(&json!({ "version": 1, "pacing": pacing, "conversations": [
        { "name": "root", "when": { "first": "none: you are the root" }, "turns": [], "otherwise": { "text": words } },
    ]}))?;
    let screen = Screen::open(&site, 120, 40)?;
    screen.wait_for(b"message ")?;
    screen.type_in("Write.\r")?;
    screen.wait_for(b"written word by word")?;
    std::thread::sleep(Duration::from_secs(2));
    let before = screen.process()?.wake_ups()?;
    std::thread::sleep(STREAM);
    let ours = screen.process()?.wake_ups()?.saturating_sub(before) as f64 / STREAM.as_secs_f64();
    screen.end()?;
    report.add(&Row::of_counts(what, Unit::PerSecond, ours, 394.0, "394, before batching", Target::AtMost(0.75)))
}
