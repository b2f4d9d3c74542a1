//! The screen of the real program, in a terminal: how soon it is there, what it costs while nothing happens, and what it
//! costs while many agents write at once. Told by the system, not by the program.

use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize};
use serde_json::json;

use crate::Outcome;
use crate::bench_project::BenchProject;
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::paired_as_told;
use crate::system::Process;

const TASKS: usize = 200;
const SESSION: usize = 5_000_000;
const PARKED: usize = 50;
const WRITERS: usize = 20;
/// How long is watched.
const WHILE: Duration = Duration::from_secs(10);
/// How long anything may take to appear.
const PATIENCE: Duration = Duration::from_secs(60);
/// Letters that neither the agents nor the terminal's own language use.
const KEYS: &[u8] = b"QZ";
const PRESSES: usize = 60;
/// What every terminal is asked at last, and answers: what it is.
const QUESTION: &[u8] = b"\x1b[c";
const ANSWER: &[u8] = b"\x1b[?62;22c";
/// What ends a frame.
pub const FRAME: &[u8] = b"\x1b[?2026l";

pub fn measure(report: &mut Report) -> Outcome {
    start_rows(report)?;
    idle_rows(report)?;
    stream_rows(report)
}

fn start_rows(report: &mut Report) -> Outcome {
    let names = ["time", "bytes read"].map(|figure| format!("screen, start with {TASKS} tasks and 1 GB: {figure}"));
    if !names.iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let site = BenchProject::new()?;
    site.register(&json!({ "version": 1, "conversations": [] }))?;
    tokio::runtime::Runtime::new()?.block_on(site.sleepers(TASKS, SESSION, 20_000))?;
    let read = Arc::new(AtomicU64::new(0));
    // How long the program takes to end does not count, and how patiently the terminal waits for that.
    let start = || -> Outcome<Duration> {
        let begun = Instant::now();
        let screen = Screen::open(&site, 120, 40)?;
        screen.wait_for(FRAME)?;
        let taken = begun.elapsed();
        read.store(screen.process()?.figure("io", "rchar:")?, Ordering::Relaxed);
        screen.end()?;
        Ok(taken)
    };
    // In a terminal, too: what it costs to open one is not the program's. Until it has said so, not until it is gone.
    let version = || -> Outcome<Duration> {
        let begun = Instant::now();
        let screen = Screen::start(&site, 120, 40, &["--version"])?;
        screen.wait_for(b"\n")?;
        let taken = begun.elapsed();
        screen.end()?;
        Ok(taken)
    };
    // The first start writes down what the sessions come to, a moment after its first frame.
    let first = Screen::open(&site, 120, 40)?;
    first.wait_for(FRAME)?;
    std::thread::sleep(Duration::from_secs(3));
    first.end()?;
    let result = paired_as_told(start, version)?;
    report.add(&Row {
        what: names[0].clone(),
        ours: result.ours.as_nanos() as f64,
        limit: result.limit.as_nanos() as f64,
        unit: Unit::NanosPerCall,
        ratio: 1.0 / result.speed,
        against: "`mxd --version`".to_owned(),
        target: Target::AtMost(3.0),
    })?;
    let read = read.load(Ordering::Relaxed) as f64;
    report.add(&Row::of_counts(names[1].clone(), Unit::Bytes, read, 2e6, "2 MB", Target::AtMost(1.0)))
}

fn idle_rows(report: &mut Report) -> Outcome {
    let names = ["wake-ups in 10 s", "frames in 10 s", "memory"];
    let names = names.map(|figure| format!("screen, idle with {PARKED} parked agents: {figure}"));
    if !names.iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let site = BenchProject::new()?;
    site.register(&json!({ "version": 1, "conversations": [] }))?;
    tokio::runtime::Runtime::new()?.block_on(site.sleepers(PARKED, 200_000, 20_000))?;
    let screen = Screen::open(&site, 120, 40)?;
    screen.wait_for(b"Sleeper 0")?;
    // What the start still does beside the screen.
    std::thread::sleep(Duration::from_secs(3));
    let (wakes, frames) = (screen.process()?.wake_ups()?, screen.frames());
    std::thread::sleep(WHILE);
    let wakes = screen.process()?.wake_ups()?.saturating_sub(wakes) as f64;
    let frames = (screen.frames() - frames) as f64;
    let memory = screen.process()?.bytes("VmRSS:")? as f64;
    screen.end()?;
    report.add(&Row::of_counts(names[0].clone(), Unit::Count, wakes, 1.0, "none", Target::AtMost(0.0)))?;
    report.add(&Row::of_counts(names[1].clone(), Unit::Count, frames, 1.0, "none", Target::AtMost(0.0)))?;
    report.add(&Row::of_counts(names[2].clone(), Unit::Bytes, memory, 40e6, "40 MB", Target::AtMost(1.0)))
}

fn stream_rows(report: &mut Report) -> Outcome {
    let names = ["share of a processor", "a key until it is drawn"]
        .map(|figure| format!("screen, {WRITERS} agents write 100 tokens a second, 200x60: {figure}"));
    if !names.iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let pacing = json!({ "first_token_ms": 0, "chars_per_second": 400 });
    let words = "The answer is written word by word, as they do. ".repeat(400);
    let tasks = (0..WRITERS).map(|number| json!({ "title": format!("Writer {number}"), "description": "Write." }));
    let calls = tasks.map(|input| json!({ "tool": "create_task", "input": input })).collect::<Vec<_>>();
    let site = BenchProject::new()?;
    site.register(&json!({ "version": 1, "pacing": pacing, "conversations": [
        { "name": "root", "when": { "first": "none: you are the root" }, "turns": [{ "calls": calls }],
          "otherwise": { "text": "I wait." } },
        { "name": "writer", "when": { "first": "Task: Writer" }, "turns": [], "otherwise": { "text": words } },
    ]}))?;
    let screen = Screen::open(&site, 200, 60)?;
    screen.wait_for(b"message ")?;
    screen.type_in("Let them write.\r")?;
    screen.wait_for(format!("Writer {}", WRITERS - 1).as_bytes())?;
    // All of them are past their start, and far from their end.
    std::thread::sleep(Duration::from_secs(2));
    let (before, began) = (screen.process()?.cpu_seconds()?, Instant::now());
    std::thread::sleep(WHILE);
    let share = (screen.process()?.cpu_seconds()? - before) / began.elapsed().as_secs_f64();
    let mut keys = Vec::new();
    for key in KEYS.iter().cycle().take(PRESSES) {
        keys.push(screen.press_and_see(*key)?.as_nanos() as f64);
    }
    screen.end()?;
    keys.sort_by(f64::total_cmp);
    let [processor, key] = names;
    report.add(&Row::of_counts(processor, Unit::Processors, share, 0.15, "15 % of one", Target::AtMost(1.0)))?;
    let middle = keys[keys.len() / 2];
    report.add(&Row::of_counts(key, Unit::NanosPerCall, middle, 16e6, "16 ms", Target::AtMost(1.0)))
}

pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_mxd")
}

/// The program in a terminal that takes everything it writes.
pub struct Screen {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    keyboard: Arc<Mutex<Box<dyn std::io::Write + Send>>>,
    shown: Arc<Shown>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

#[derive(Default)]
struct Shown {
    bytes: Mutex<Vec<u8>>,
    more: Condvar,
}

impl Screen {
    pub fn open(site: &BenchProject, cols: u16, rows: u16) -> Outcome<Self> {
        Self::start(site, cols, rows, &[])
    }

    fn start(site: &BenchProject, cols: u16, rows: u16, arguments: &[&str]) -> Outcome<Self> {
        Self::of(site, program(), cols, rows, arguments)
    }

    /// Starts any program.
    pub fn of(site: &BenchProject, program: &str, cols: u16, rows: u16, arguments: &[&str]) -> Outcome<Self> {
        let pair =
            portable_pty::native_pty_system().openpty(PtySize { cols, rows, pixel_width: 0, pixel_height: 0 })?;
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(&site.project.path);
        command.env_clear();
        command.env("MXD_HOME", site.home.root());
        command.env("HOME", site.folder.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command)?;
        let shown = Arc::new(Shown::default());
        let keyboard = Arc::new(Mutex::new(pair.master.take_writer()?));
        let (watched, mut output) = (Arc::clone(&shown), pair.master.try_clone_reader()?);
        let answering = Arc::clone(&keyboard);
        std::thread::spawn(move || {
            let mut piece = vec![0; 1 << 16];
            while let Ok(read @ 1..) = output.read(&mut piece) {
                if memchr::memmem::find(&piece[..read], QUESTION).is_some() {
                    // Nobody is left to be told if the program is gone.
                    let mut keyboard = answering.lock().unwrap_or_else(PoisonError::into_inner);
                    let _ = keyboard.write_all(ANSWER).and_then(|()| keyboard.flush());
                }
                watched.bytes.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&piece[..read]);
                watched.more.notify_all();
            }
        });
        Ok(Self { child, keyboard, shown, _master: pair.master })
    }

    pub fn wait_for(&self, sign: &[u8]) -> Outcome {
        let bytes = self.shown.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |bytes: &mut Vec<u8>| memchr::memmem::find(bytes, sign).is_none();
        let waited = self.shown.more.wait_timeout_while(bytes, PATIENCE, missing);
        let (bytes, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            let said = String::from_utf8_lossy(&bytes).into_owned();
            return Err(format!("{:?} did not appear in {said:?}", String::from_utf8_lossy(sign)).into());
        }
        Ok(())
    }

    /// Types a letter, and returns how long it took to appear.
    pub fn press_and_see(&self, key: u8) -> Outcome<Duration> {
        let seen = self.shown.bytes.lock().unwrap_or_else(PoisonError::into_inner).len();
        let begun = Instant::now();
        self.type_in(&char::from(key).to_string())?;
        let bytes = self.shown.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |bytes: &mut Vec<u8>| memchr::memchr(key, &bytes[seen..]).is_none();
        let waited = self.shown.more.wait_timeout_while(bytes, PATIENCE, missing);
        let (bytes, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(bytes);
        if waited.timed_out() { Err("a key was not drawn".into()) } else { Ok(begun.elapsed()) }
    }

    fn frames(&self) -> usize {
        let bytes = self.shown.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        memchr::memmem::find_iter(&bytes, FRAME).count()
    }

    pub fn type_in(&self, keys: &str) -> Outcome {
        let mut keyboard = self.keyboard.lock().unwrap_or_else(PoisonError::into_inner);
        keyboard.write_all(keys.as_bytes())?;
        Ok(keyboard.flush()?)
    }

    pub fn process(&self) -> Outcome<Process> {
        Ok(Process::of(self.child.process_id().ok_or("the program has ended")?))
    }

    pub fn end(mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
