//! The engine: many agents at once against a model that answers at once, and a start with many that sleep.
//!
//! A crowd works in a process of its own, so that its memory and its time are nobody else's. Its limit is the same agents
//! without an engine: one worktree, no tree, nobody who watches.

use std::collections::HashMap;
use std::process::Command as Process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use mxd::base::TaskId;
use mxd::engine::command::{Command, TaskDraft, TaskStart};
use mxd::engine::update::Update;
use mxd::model::Status;
use mxd::model::event::StopReason;
use mxd::model::usage::Tokens;
use mxd::provider::{ApiError, ListedModel, Provider, ProviderRequest, Response, ResponseBlock, Signal};
use mxd::store::{Durability, RealDisk, Sessions};
use serde::{Deserialize, Serialize};
use tokio::sync::{Barrier, mpsc};
use tokio_util::sync::CancellationToken;

use crate::bench_project::BenchProject;
use crate::report::{Report, Row, Target, Unit};
use crate::rounds::paired;
use crate::{Outcome, fixture, system, tool_context, turns};

/// The first argument of a child of ours.
pub const CHILD: &str = "--crowd";

const AGENTS: usize = 64;
const TURNS: usize = 50;
const ROUNDS: usize = 3;
const SLEEPING: usize = 200;

pub fn measure(report: &mut Report) -> Outcome {
    crowd_rows(report)?;
    command_rows(report)?;
    boot_row(report)
}

/// What a crowd came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Crowd {
    /// From the moment when all of them were at work to the end of the last.
    pub seconds: f64,
    /// The same from the first command on, worktrees included.
    total_seconds: f64,
    pub cpu_seconds: f64,
    peak_bytes: u64,
}

/// What the agents of a crowd do in each turn.
#[derive(Clone, Copy)]
enum Task {
    Read,
    Command,
    /// A command that changes a file, and in the end one that undoes all of it.
    Edit,
}

impl Task {
    fn call(self, number: usize) -> (&'static str, String) {
        match self {
            Self::Read => ("read_file", format!(r#"{{"path":"notes.txt","offset":{}}}"#, number + 1)),
            Self::Command => ("bash", format!(r#"{{"command":"true {number}"}}"#)),
            Self::Edit => ("bash", format!(r#"{{"command":"echo {number} >> new.txt"}}"#)),
        }
    }
}

/// Calls a tool so many times in every conversation, then says `done`. The first answers wait until all agents are there.
struct AtOnce {
    task: Task,
    turns: usize,
    answered: Mutex<HashMap<Vec<u8>, usize>>,
    all: Barrier,
    begun: OnceLock<(Instant, f64)>,
    failures: AtomicUsize,
}

impl AtOnce {
    fn new(agents: usize, turns: usize, task: Task) -> Self {
        Self {
            task,
            turns,
            answered: Mutex::default(),
            all: Barrier::new(agents),
            begun: OnceLock::new(),
            failures: AtomicUsize::new(0),
        }
    }

    /// Returns which answer this is in its conversation: the card near its beginning says whose it is.
    fn number(&self, body: &[u8]) -> usize {
        const MARK: &[u8] = b"\\nTask: ";
        let card = memchr::memmem::find(body, MARK).map_or(&[][..], |at| &body[at..]);
        let end = memchr::memmem::find(&card[MARK.len().min(card.len())..], b"\\n").unwrap_or_default();
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let count = answered.entry(card[..end + MARK.len()].to_vec()).or_default();
        *count += 1;
        *count - 1
    }

    fn response(&self, number: usize) -> Response {
        let (name, input) = match number {
            number if number < self.turns => self.task.call(number),
            // A worktree must be clean to be done with.
            number if number == self.turns && matches!(self.task, Task::Edit) => {
                ("bash", r#"{"command":"rm new.txt"}"#.to_owned())
            }
            _ => ("done", r#"{"status":"passed","result":"read it all"}"#.to_owned()),
        };
        let calls = tool_context::call(&format!("call_{number}"), name, &input);
        if calls.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        Response {
            blocks: calls.into_iter().map(ResponseBlock::ToolUse).collect(),
            tokens: Tokens { input: 1_000, output: 50, ..Tokens::default() },
            usage_reported: true,
            stop: StopReason::ToolUse,
            cut_call: None,
            model: "bench".to_owned(),
        }
    }
}

impl Provider for AtOnce {
    fn respond(
        &self,
        call: ProviderRequest,
        _: mpsc::Sender<Signal>,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        Box::pin(async move {
            let number = self.number(&call.body.to_bytes());
            if number == 0 {
                self.all.wait().await;
                self.begun
                    .get_or_init(|| (Instant::now(), system::Process::ourselves().cpu_seconds().unwrap_or_default()));
            }
            Ok(self.response(number))
        })
    }

    fn count_tokens(&self, _: ProviderRequest, _: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ListedModel>, ApiError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

fn crowd_rows(report: &mut Report) -> Outcome {
    let what = |figure: &str| format!("engine, {AGENTS} agents, {TURNS} turns each: {figure}");
    let names = ["turns", "turns with worktrees made first", "processor", "memory"].map(what);
    if !names.iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((in_child("engine")?, in_child("bare")?));
    }
    let turns = (AGENTS * (TURNS + 1)) as f64;
    let median = |figure: &dyn Fn(&(Crowd, Crowd)) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    let bare = "the same agents without an engine, in one folder";
    let mut row = |what: &str, unit, figure: &dyn Fn(&Crowd) -> f64, target| {
        report.add(&Row {
            what: what.to_owned(),
            ours: median(&|(ours, _)| figure(ours)),
            limit: median(&|(_, limit)| figure(limit)),
            unit,
            ratio: median(&|(ours, limit)| figure(ours) / figure(limit)),
            against: bare.to_owned(),
            target,
        })
    };
    row(&names[0], Unit::PerSecond, &|crowd| turns / crowd.seconds, Target::AtLeast(0.5))?;
    row(&names[1], Unit::PerSecond, &|crowd| turns / crowd.total_seconds, Target::None)?;
    row(&names[2], Unit::NanosPerTurn, &|crowd| crowd.cpu_seconds * 1e9 / turns, Target::None)?;
    row(&names[3], Unit::Bytes, &|crowd| crowd.peak_bytes as f64, Target::None)
}

/// Commands instead of files, against five times what another program of this kind reached, and against the shell alone.
fn command_rows(report: &mut Report) -> Outcome {
    const PEER: f64 = 174.0;
    let what = |figure: &str| format!("engine, {AGENTS} agents, {TURNS} turns of bash each: {figure}");
    let names = ["turns", "turns against the shell alone", "memory"].map(what);
    if !names.iter().any(|name| report.wants(name)) {
        return Ok(());
    }
    let turns = (AGENTS * (TURNS + 1)) as f64;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((in_child("commands")?, shells_alone(AGENTS * TURNS)?));
    }
    rounds.sort_by(|one, other| one.0.seconds.total_cmp(&other.0.seconds));
    let (crowd, shells) = rounds[rounds.len() / 2];
    let (ours, unit) = (turns / crowd.seconds, Unit::PerSecond);
    let [turns_row, shell_row, memory] = names;
    let five = "five times a peer's 174 a second";
    report.add(&Row::of_counts(turns_row, unit, ours, 5.0 * PEER, five, Target::AtLeast(1.0)))?;
    let alone = "`bash -c true`, two at a time, and nothing else";
    report.add(&Row::of_counts(shell_row, unit, ours, shells, alone, Target::None))?;
    let peak = crowd.peak_bytes as f64;
    report.add(&Row::of_counts(memory, Unit::Bytes, peak, 150e6, "150 MB", Target::AtMost(1.0)))
}

/// Returns how many shells a second start and end, two at a time.
fn shells_alone(count: usize) -> Outcome<f64> {
    let begun = Instant::now();
    let half = || -> Outcome {
        for _ in 0..count / 2 {
            Process::new("bash").args(["-c", "true"]).status()?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(half);
        half()?;
        other.join().map_err(|_| "a thread failed")?
    })?;
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// Lets one agent make so many turns of the shell in a repository of so many files. `kind`: whether they change files.
pub fn shell(kind: &str, files: usize, turns: usize) -> Outcome<Crowd> {
    in_child_as(&[kind, &files.to_string(), &turns.to_string()])
}

fn in_child(kind: &str) -> Outcome<Crowd> {
    in_child_as(&[kind])
}

fn in_child_as(arguments: &[&str]) -> Outcome<Crowd> {
    let output = Process::new(std::env::current_exe()?).arg(CHILD).args(arguments).output()?;
    serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned().into())
}

/// The child: works, and says what it took.
pub fn child(arguments: &[String]) -> Outcome {
    let runtime = tokio::runtime::Runtime::new()?;
    let crowd = match arguments {
        [kind] if kind == "engine" => runtime.block_on(with_engine(Task::Read, AGENTS, TURNS, 0))?,
        [kind] if kind == "commands" => runtime.block_on(with_engine(Task::Command, AGENTS, TURNS, 0))?,
        [kind, files, turns] if kind == "idle" => {
            runtime.block_on(with_engine(Task::Command, 1, turns.parse()?, files.parse()?))?
        }
        [kind, files, turns] if kind == "edits" => {
            runtime.block_on(with_engine(Task::Edit, 1, turns.parse()?, files.parse()?))?
        }
        [kind] if kind == "bare" => runtime.block_on(without_engine())?,
        _ => return Err("a crowd works with an engine or bare".into()),
    };
    let mut out = std::io::stdout().lock();
    Ok(std::io::Write::write_all(&mut out, &serde_json::to_vec(&crowd)?)?)
}

async fn with_engine(task: Task, agents: usize, turns: usize, files: usize) -> Outcome<Crowd> {
    let site = BenchProject::with_files(files)?;
    let provider = Arc::new(AtOnce::new(agents, turns, task));
    let handle = site.open(agents + 1, Arc::clone(&provider) as Arc<dyn Provider>).await?;
    let (snapshot, mut watcher) = handle.subscribe().await?;
    let begun = Instant::now();
    for number in 0..agents {
        let draft = TaskDraft { title: format!("Agent {number}"), ..TaskDraft::default() };
        handle.command(Command::Create { parent: snapshot.root, before: None, draft, start: TaskStart::Now }).await?;
    }
    let mut passed = 0;
    while passed < agents {
        match watcher.next().await {
            Update::Task { task } if task.node.status == Status::Failed => {
                return Err(format!("{} failed: {:?}", task.node.title, task.node.results).into());
            }
            Update::Event { event, .. } => passed += usize::from(event.body.kind() == "done_notified"),
            Update::Resync => return Err("the watcher fell behind".into()),
            Update::Moved | Update::Ended => return Err("the engine ended".into()),
            Update::Task { .. }
            | Update::Removed { .. }
            | Update::Live { .. }
            | Update::Project { .. }
            | Update::Notice { .. }
            | Update::Clients { .. }
            | Update::Quiet => {}
        }
    }
    let crowd = tally(begun, &provider)?;
    handle.quit().await;
    drop(site.folder);
    Ok(crowd)
}

async fn without_engine() -> Outcome<Crowd> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let root = folder.path().join("work");
    std::fs::create_dir_all(&root)?;
    std::fs::write(root.join("notes.txt"), fixture::text(1_500))?;
    let store = turns::open(folder.path(), Durability::Sync)?;
    let provider = Arc::new(AtOnce::new(AGENTS, TURNS, Task::Read));
    let ids = fixture::ids();
    let begun = Instant::now();
    let agents = (0..AGENTS).map(|_| {
        let provider = Arc::clone(&provider) as Arc<dyn Provider>;
        let (store, root, data, task) = (store.clone(), root.clone(), folder.path().to_owned(), TaskId::fresh(&ids));
        tokio::spawn(async move { turns::run(&store, task, &root, &data, provider).await })
    });
    for agent in futures::future::join_all(agents).await {
        agent??;
    }
    tally(begun, &provider)
}

fn tally(begun: Instant, provider: &AtOnce) -> Outcome<Crowd> {
    let (at_work, cpu) = provider.begun.get().ok_or("nobody was at work")?;
    if provider.failures.load(Ordering::Relaxed) > 0 {
        return Err("a call could not be made".into());
    }
    Ok(Crowd {
        seconds: at_work.elapsed().as_secs_f64(),
        total_seconds: begun.elapsed().as_secs_f64(),
        cpu_seconds: system::Process::ourselves().cpu_seconds()? - cpu,
        peak_bytes: system::Process::ourselves().bytes("VmHWM:")?,
    })
}

/// A start with many sleeping tasks, against reading what is active in their sessions.
fn boot_row(report: &mut Report) -> Outcome {
    let what = format!("engine, start with {SLEEPING} sleeping tasks of 1 MB each");
    if !report.wants(&what) {
        return Ok(());
    }
    let site = BenchProject::new()?;
    let runtime = tokio::runtime::Runtime::new()?;
    let written = runtime.block_on(site.sleepers(SLEEPING, 1_000_000, 20_000))?;
    let folder = site.home.project(site.project.id);
    let provider = Arc::new(AtOnce::new(1, 0, Task::Read));
    let start = || -> Outcome {
        runtime.block_on(async {
            let handle = site.open(AGENTS + 1, Arc::clone(&provider) as Arc<dyn Provider>).await?;
            let (snapshot, _) = handle.subscribe().await?;
            let awake = snapshot.tasks.iter().filter(|task| task.alive).count();
            handle.quit().await;
            if snapshot.quiet && awake == 0 { Ok(()) } else { Err(format!("{awake} are awake").into()) }
        })
    };
    let sessions = Sessions::new(Arc::new(RealDisk), folder.sessions());
    let read = || -> Outcome {
        for session in &written {
            std::hint::black_box(sessions.active(session.task)?.state());
        }
        Ok(())
    };
    let result = paired(start, read)?;
    let asked = provider.answered.lock().unwrap_or_else(PoisonError::into_inner).len();
    if asked > 0 {
        return Err(format!("{asked} sleeping agents asked their model").into());
    }
    report.add(&Row {
        what,
        ours: nanos(result.ours),
        limit: nanos(result.limit),
        unit: Unit::NanosPerCall,
        ratio: 1.0 / result.speed,
        against: "reading what is active in their sessions".to_owned(),
        target: Target::AtMost(2.0),
    })
}

fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}
