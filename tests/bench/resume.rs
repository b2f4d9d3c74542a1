//! Going on with a long session in a fresh process: from nothing to the first request, and the memory that it takes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures::future::BoxFuture;
use mxd::base::TaskId;
use mxd::model::event::StopReason;
use mxd::model::usage::Tokens;
use mxd::provider::{ApiError, ListedModel, Provider, ProviderRequest, Response, ResponseBlock, Signal};
use mxd::store::Durability;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;
use crate::report::{Report, Row, Target, Unit};
use crate::{Outcome, system, tool_context, turns};

/// The first argument of a child of ours.
pub const CHILD: &str = "--resume";

const WHOLE: usize = 100_000_000;
const ROUNDS: usize = 3;

/// A session, and how long another program of this kind took for one like it, in seconds.
struct Case {
    name: &'static str,
    active: usize,
    peer: f64,
    times: f64,
}

pub fn measure(report: &mut Report) -> Outcome {
    let cases = [
        Case { name: "resume, 100 MB all active", active: WHOLE, peer: 15.9, times: 20.0 },
        Case { name: "resume, 100 MB of which 1.6 MB active", active: 1_600_000, peer: 4.0, times: 50.0 },
    ];
    cases.iter().try_for_each(|case| rows(report, case))
}

/// What a child needed for its first request.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Resumed {
    nanos: f64,
    grown: f64,
}

fn rows(report: &mut Report, case: &Case) -> Outcome {
    let [time, memory] = ["time to the first request", "peak memory"].map(|what| format!("{}: {what}", case.name));
    if !report.wants(&time) && !report.wants(&memory) {
        return Ok(());
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        // Each goes on with a session that nobody has gone on with.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let sessions = folder.path().join("sessions");
        std::fs::create_dir(&sessions)?;
        let fixture = Fixture::write(&sessions, WHOLE, case.active)?;
        rounds.push((in_child(folder.path(), fixture.task)?, fixture.bytes - fixture.active_from));
    }
    rounds.sort_by(|one, other| one.0.nanos.total_cmp(&other.0.nanos));
    let (resumed, active) = rounds[ROUNDS / 2];
    let limit = case.peer / case.times * 1e9;
    let against = format!("a peer's {} s, {} times as fast", case.peer, case.times);
    report.add(&Row::of_counts(time, Unit::NanosPerCall, resumed.nanos, limit, &against, Target::AtMost(1.0)))?;
    let against = "what is active";
    report.add(&Row::of_counts(memory, Unit::Bytes, resumed.grown, active as f64, against, Target::AtMost(3.0)))
}

fn in_child(folder: &Path, task: TaskId) -> Outcome<Resumed> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg(CHILD).arg(folder).arg(task.to_string()).output()?;
    serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned().into())
}

/// The child: goes on with the session until the model is asked, and says what that took.
pub fn child(arguments: &[String]) -> Outcome {
    let begun = Instant::now();
    let [folder, task] = arguments else { return Err("a resumed session needs a folder and a task".into()) };
    let (folder, task) = (PathBuf::from(folder), task.parse::<TaskId>()?);
    let before = system::Process::ourselves().bytes("VmRSS:")?;
    let root = folder.join("work");
    std::fs::create_dir_all(&root)?;
    let store = turns::open(&folder, Durability::Sync)?;
    let provider = Arc::new(FirstRequest { begun, asked: OnceLock::new() });
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(turns::run(&store, task, &root, &folder, Arc::clone(&provider) as Arc<dyn Provider>))?;
    let (nanos, peak) = *provider.asked.get().ok_or("nobody was asked")?;
    let resumed = Resumed { nanos, grown: peak.saturating_sub(before) as f64 };
    let mut out = std::io::stdout().lock();
    Ok(std::io::Write::write_all(&mut out, &serde_json::to_vec(&resumed)?)?)
}

/// Notes when it is asked and how large the process is then, and ends the run.
struct FirstRequest {
    begun: Instant,
    asked: OnceLock<(f64, u64)>,
}

impl Provider for FirstRequest {
    fn respond(
        &self,
        _: ProviderRequest,
        _: mpsc::Sender<Signal>,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        let peak = system::Process::ourselves().bytes("VmHWM:").unwrap_or(u64::MAX);
        self.asked.get_or_init(|| (self.begun.elapsed().as_nanos() as f64, peak));
        let call = tool_context::call("call_last", "done", r#"{"status":"passed","result":"I am back."}"#);
        let response = Response {
            blocks: call.into_iter().map(ResponseBlock::ToolUse).collect(),
            tokens: Tokens::default(),
            usage_reported: true,
            stop: StopReason::ToolUse,
            cut_call: None,
            model: "bench".to_owned(),
        };
        Box::pin(std::future::ready(Ok(response)))
    }

    fn count_tokens(&self, _: ProviderRequest, _: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn models(&self, _: CancellationToken) -> BoxFuture<'_, Result<Vec<ListedModel>, ApiError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}
