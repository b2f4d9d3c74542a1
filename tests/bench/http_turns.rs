//! Turns of one agent over real HTTP, in processor time: what this process spends on a turn, the kernel's part included.
//!
//! The endpoint is a process of its own that reads each request and answers at once, so that none of its time counts.
//! Beside it stands a bare client that posts the same bodies, made from segments that are ready.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mxd::agent::conversation::Conversation;
use mxd::base::{Secret, SystemClock, TaskId};
use mxd::model::conversation::Wire;
use mxd::model::event::SessionConfig;
use mxd::provider::encode::{body, encode_message};
use mxd::provider::http::{HttpProvider, Timeouts};
use mxd::provider::{BodyOptions, Credential, EncodedMessage};
use mxd::store::Durability;

use crate::report::{Report, Row, Target, Unit};
use crate::turns::{NoBlobs, open, run};
use crate::work::{self, Call, Work};
use crate::{Outcome, fixture, system};

/// The first argument of the process that answers.
pub const SERVER: &str = "--answer-at-once";
const ROUNDS: usize = 5;
/// How many turns one measurement has at least: the system counts processor time in hundredths of a second.
const LEAST_TURNS: usize = 1_000;
/// What a turn may cost us, in nanoseconds of processor time.
const MOST: f64 = 800_000.0;
/// How many turns a second another program of this kind reached at its best, and how many times as many are asked of us.
const PEER: f64 = 210.0;
const TIMES_SYNC: f64 = 4.0;
const TIMES_OS: f64 = 8.0;

pub fn measure(report: &mut Report) -> Outcome {
    let rows = [
        "http turn, own CPU, 200 turns",
        "http turn, own CPU, 1,000 turns against 100",
        "http turn, CPU against a bare client, 200 turns",
        "http turn, CPU against a bare client, 1,000 turns",
        "http turn, wall time against a bare client, 200 turns",
        "http turn, turns a second, durability sync",
        "http turn, turns a second, durability os",
    ];
    if !rows.iter().any(|row| report.wants(row)) {
        return Ok(());
    }
    if cpu().is_err() {
        return Report::skip("http turns", "this system does not tell processor time in /proc");
    }
    let few = Stand::new(100)?.measure()?;
    let some = Stand::new(200)?.measure()?;
    let many = Stand::new(1_000)?.measure()?;
    let row = |what: &str, ours: f64, limit: f64, against: &str, target| {
        Row::of_counts(what.to_owned(), Unit::NanosPerTurn, ours, limit, against, target)
    };
    report.add(&row(rows[0], some.ours.cpu, MOST, "0.8 ms", Target::AtMost(1.0)))?;
    report.add(&row(rows[1], many.ours.cpu, few.ours.cpu, "the same, 100 turns", Target::AtMost(1.3)))?;
    report.add(&row(rows[2], some.ours.cpu, some.bare.cpu, "posting the same bodies", Target::None))?;
    report.add(&row(rows[3], many.ours.cpu, many.bare.cpu, "posting the same bodies", Target::None))?;
    report.add(&row(rows[4], some.ours.wall, some.bare.wall, "posting the same bodies", Target::None))?;
    let mut rate = |what: &str, cost: Cost, times: f64| {
        let against = format!("{times} times a peer's {PEER} a second");
        let (ours, limit, target) = (1e9 / cost.wall, times * PEER, Target::AtLeast(1.0));
        report.add(&Row::of_counts(what.to_owned(), Unit::PerSecond, ours, limit, &against, target))
    };
    rate(rows[5], some.synced, TIMES_SYNC)?;
    rate(rows[6], some.ours, TIMES_OS)
}

/// Nanoseconds per turn.
#[derive(Clone, Copy, Default)]
struct Cost {
    cpu: f64,
    wall: f64,
}

struct Costs {
    /// With `durability = "os"`.
    ours: Cost,
    /// With every event saved before anything comes of it.
    synced: Cost,
    bare: Cost,
}

/// A worktree, an endpoint that answers at once, and what a bare client would post to it.
struct Stand {
    turns: usize,
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    endpoint: Endpoint,
    config: SessionConfig,
    segments: Vec<EncodedMessage>,
}

impl Stand {
    fn new(turns: usize) -> Outcome<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        std::fs::create_dir_all(folder.path().join("work"))?;
        std::fs::write(folder.path().join("work/notes.txt"), fixture::text(1_500))?;
        let mut stand = Self {
            turns,
            folder,
            runtime: tokio::runtime::Runtime::new()?,
            endpoint: Endpoint::start(turns)?,
            config: SessionConfig::default(),
            segments: Vec::new(),
        };
        let events = stand.run(Durability::Os)?;
        let conversation = Conversation::replay(&events);
        stand.config = conversation.config().map(|config| config.as_ref().clone()).unwrap_or_default();
        for speech in conversation.role_messages() {
            stand.segments.push(encode_message(stand.config.wire, speech, &NoBlobs)?);
        }
        Ok(stand)
    }

    fn measure(&self) -> Outcome<Costs> {
        let (mut ours, mut synced, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(self.cost(|| self.run(Durability::Os).map(drop))?);
            synced.push(self.cost(|| self.run(Durability::Sync).map(drop))?);
            bare.push(self.cost(|| self.runtime.block_on(self.post_all()))?);
        }
        Ok(Costs { ours: least(&ours), synced: least(&synced), bare: least(&bare) })
    }

    fn run(&self, durability: Durability) -> Outcome<Vec<mxd::model::event::Event>> {
        let (folder, task) = (self.folder.path(), TaskId::fresh(&fixture::ids()));
        let store = open(folder, durability)?;
        let provider = Arc::new(self.endpoint.provider());
        let (writer, work, data) = (store.clone(), folder.join("work"), folder.to_owned());
        // As the engine does it: an agent is a task of the runtime, and shares its threads with its connection.
        let agent = self.runtime.spawn(async move { run(&writer, task, &work, &data, provider).await });
        self.runtime.block_on(agent)??;
        Ok(store.sessions().active(task)?.events)
    }

    /// Posts the request of every turn, and reads every answer to its end.
    async fn post_all(&self) -> Outcome {
        let url = format!("{}/v1/messages", self.endpoint.url);
        let client = mxd::net::client(&url.parse()?, Duration::from_secs(5), |builder| builder)?;
        for end in (1..=self.segments.len()).step_by(2) {
            let body = body(&self.config, &self.segments[..end], &BodyOptions::streaming());
            let answer =
                client.post(&url).header("content-type", "application/json").body(body.to_bytes()).send().await?;
            std::hint::black_box(answer.bytes().await?);
        }
        Ok(())
    }

    fn cost(&self, mut work: impl FnMut() -> Outcome) -> Outcome<Cost> {
        let times = LEAST_TURNS.div_ceil(self.turns);
        let (before, start) = (cpu()?, Instant::now());
        for _ in 0..times {
            work()?;
        }
        let (wall, cpu) = (start.elapsed(), cpu()?.saturating_sub(before));
        let per_turn = |time: Duration| time.as_nanos() as f64 / (times * self.turns) as f64;
        Ok(Cost { cpu: per_turn(cpu), wall: per_turn(wall) })
    }
}

/// Others on the machine can only make it dearer: the least of several rounds is nearest to the truth.
fn least(costs: &[Cost]) -> Cost {
    let least = |of: fn(&Cost) -> f64| costs.iter().map(of).fold(f64::INFINITY, f64::min);
    Cost { cpu: least(|cost| cost.cpu), wall: least(|cost| cost.wall) }
}

/// Returns the processor time of this process so far, its ended threads and the kernel's work for it included.
fn cpu() -> Outcome<Duration> {
    Ok(Duration::from_secs_f64(system::Process::ourselves().cpu_seconds()?))
}

/// The process that answers.
struct Endpoint {
    process: Child,
    url: String,
}

impl Endpoint {
    fn start(turns: usize) -> Outcome<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args([SERVER, &turns.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = process.stdout.take().ok_or("the endpoint has no output")?;
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self { process, url: line.trim().to_owned() })
    }

    fn provider(&self) -> HttpProvider {
        let credential = Credential {
            group: "bench".to_owned(),
            wire: Wire::Anthropic,
            base_url: self.url.clone(),
            api_key: Some(Secret::new("sk-bench")),
        };
        HttpProvider::new(credential, Timeouts::default(), Arc::new(SystemClock))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // It ends by itself when its input is closed; this is for one that hangs.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Leads every conversation through so many calls and then to `done`.
pub fn serve(arguments: &[String]) -> Outcome {
    let turns: usize = arguments.first().ok_or("how many turns?")?.parse()?;
    let call = |name, input: &str| Call { name: mxd::tools::names::wire(name), input: input.to_owned() };
    let work = Work {
        turns,
        call: call("read_file", r#"{"path":"notes.txt"}"#),
        end: Some(call("done", r#"{"status":"passed","result":"read it all"}"#)),
    };
    let mut out = std::io::stdout();
    writeln!(out, "{}", work::serve(0, work, Arc::default())?)?;
    out.flush()?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}
