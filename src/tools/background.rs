//! `background`: lists, waits for and kills background processes.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::text::{self, count};
use crate::process::ProcessPhase;
use crate::tools::bash::describe_exit;
use crate::tools::bound;
use crate::tools::jobs::{BackgroundJob, BackgroundJobs, Waiter};
use crate::tools::names;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Handler, ToolEffect};

const DEFAULT_WAIT: u64 = 60;
const LONGEST_WAIT: u64 = 600;
/// How many bytes of the latest output a status shows.
const LATEST: usize = 4_000;

pub(super) struct Background;

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Status,
    Kill,
    Wait,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    action: Action,
    /// Which process. Needed for status and kill; wait without it waits for whichever ends first.
    #[serde(default)]
    id: Option<String>,
    /// For wait: seconds at most, up to 600. Default 60.
    #[serde(default)]
    limit_seconds: Option<u64>,
}

impl Handler for Background {
    const NAME: &'static str = names::BACKGROUND;
    const DESCRIPTION: &'static str = "Handles the processes that bash left running. list: all of them. status: one \
        of them with its latest output. kill: ends one and everything it started. wait: until one ends, for at most \
        limit_seconds (default 60, up to 600). You do not have to wait: a message tells you when a process ends, \
        unless you killed it or waited for it yourself.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"action": "status", "id": "bg-0k3v9x2m1q"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let jobs = &call.context.jobs;
        match input.action {
            Action::List => Reply::text(list(jobs)),
            Action::Status => match named(jobs, input.id.as_deref()) {
                Ok(job) => Reply::text(status(&job)),
                Err(problem) => Reply::error(problem),
            },
            Action::Kill => match named(jobs, input.id.as_deref()) {
                Ok(job) => kill(jobs, job).await,
                Err(problem) => Reply::error(problem),
            },
            Action::Wait => {
                let job = match &input.id {
                    Some(id) => match named(jobs, Some(id)) {
                        Ok(job) => Some(job),
                        Err(problem) => return Reply::error(problem),
                    },
                    None => None,
                };
                let seconds = input.limit_seconds.unwrap_or(DEFAULT_WAIT).min(LONGEST_WAIT);
                wait(&call, job, Duration::from_secs(seconds)).await
            }
        }
    }
}

fn named(jobs: &BackgroundJobs, id: Option<&str>) -> Result<Arc<BackgroundJob>, String> {
    let id = id.ok_or_else(|| format!("\"id\" is missing: say which process.\n{}", list(jobs)))?;
    jobs.get(id).ok_or_else(|| format!("There is no background process \"{id}\".\n{}", list(jobs)))
}

async fn kill(jobs: &Arc<BackgroundJobs>, job: Arc<BackgroundJob>) -> Reply {
    let waiter = jobs.wait_for(job);
    if !jobs.kill(&waiter.job.id) {
        return ended(waiter, "It had already ended.\n");
    }
    jobs.any_finished(std::slice::from_ref(&waiter)).await;
    ended(waiter, "Killed, with everything it started.\n")
}

/// Returns the report of a job's end, which no message repeats.
fn ended(waiter: Waiter, opening: &str) -> Reply {
    let job = Arc::clone(&waiter.job);
    waiter.report();
    Reply { ended: Some(job.id.clone()), ..Reply::text(format!("{opening}{}", status(&job))) }
}

async fn wait(call: &Call, job: Option<Arc<BackgroundJob>>, limit: Duration) -> Reply {
    let context = &call.context;
    let jobs = match job {
        Some(job) => vec![job],
        None => context.jobs.all().into_iter().filter(|job| job.finished().is_none()).collect(),
    };
    let mut wanted: Vec<Waiter> = jobs.into_iter().map(|job| context.jobs.wait_for(job)).collect();
    if wanted.is_empty() {
        return Reply::text("Nothing runs in the background.");
    }
    tokio::select! {
        () = context.jobs.any_finished(&wanted) => {}
        () = tokio::time::sleep(limit) => {}
        () = context.tokens.cancelled() => {
            return Reply::error("The wait was interrupted; the processes go on.");
        }
    }
    if let Some(at) = wanted.iter().position(|waiter| waiter.job.finished().is_some()) {
        return ended(wanted.swap_remove(at), "");
    }
    let states: Vec<String> = wanted.iter().map(|waiter| status(&waiter.job)).collect();
    Reply::text(format!("Not ended within {} seconds.\n{}", limit.as_secs(), states.join("\n\n")))
}

fn headline(job: &BackgroundJob) -> String {
    let command = text::headline(&job.command, 80);
    if let Some(done) = job.finished() {
        return format!(
            "{}: {} after {:.1} s: {command}",
            job.id,
            describe_exit(done.exit),
            done.duration.as_secs_f64()
        );
    }
    let note = if matches!(job.process.phase(), ProcessPhase::Exited(_)) { " (left running by)" } else { "" };
    format!("{}: running for {:.0} s{note}: {command}", job.id, job.started.elapsed().as_secs_f64())
}

fn list(jobs: &BackgroundJobs) -> String {
    let all = jobs.all();
    if all.is_empty() {
        return "Nothing runs in the background.".to_owned();
    }
    let mut out = count(all.len(), "background process:", "background processes:");
    for job in all {
        let _ = write!(out, "\n{}", headline(&job));
    }
    out
}

fn status(job: &Arc<BackgroundJob>) -> String {
    let mut out = headline(job);
    if let Some(done) = job.finished() {
        let _ = write!(out, "\n{}", done.text);
        return out;
    }
    let mut stream = |name: &str, snapshot: &crate::process::OutputSnapshot| {
        let latest = bound::latest(snapshot, LATEST);
        let _ =
            write!(out, "\n{name}:\n{}", if snapshot.total == 0 { "(nothing yet)" } else { latest.text.trim_end() });
        if let (true, Some(file)) = (latest.is_cut, &snapshot.file) {
            let _ = write!(out, "\n[it grows in {}: read it in pieces with read_file]", file.display());
        }
    };
    stream("Latest output", &job.process.output().snapshot());
    if let Some(error) = job.process.error() {
        stream("Latest stderr", &error.snapshot());
    }
    out
}
