//! `bash`: runs a command in the agent's folder, and stores the folder in which the command ended.

mod script;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

use crate::base::{RunId, text};
use crate::model::live::Channel;
use crate::process::{self, ChildSpec, Process, ProcessExit, ProcessPhase, Streams};
use crate::tools::context::ToolContext;
use crate::tools::jobs::{BackgroundJob, report};
use crate::tools::live::LiveOutput;
use crate::tools::names;
use crate::tools::path_display::spelled;
use crate::tools::reply::Reply;
use crate::tools::tool::{Call, Handler, ToolEffect};
use script::Script;

/// The duration of commands that took longer is reported.
const SLOW_COMMAND: Duration = Duration::from_secs(5);

pub(super) struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The command, as bash reads it. May have several lines.
    command: String,
    /// Seconds after which a command that still runs goes to the background. Default 120.
    #[serde(default)]
    timeout_seconds: Option<u64>,
    /// Start in the background and answer at once.
    #[serde(default)]
    background: bool,
    /// Return stdout and stderr one after the other instead of merged in order.
    #[serde(default)]
    separate: bool,
}

impl Handler for Bash {
    const NAME: &'static str = names::BASH;
    const DESCRIPTION: &'static str = "Runs a command with bash. The folder it ends in (cd) is where the next one \
        starts; other shell state does not carry over. There is no stdin, no terminal, no pager and no prompt: pass \
        -y, -m and the like. Returns the exit code and the output, stdout and stderr merged; beyond about 10 KB only \
        its beginning and end, with the file that has the whole. A command that is not done after timeout_seconds \
        (default 120) goes on in the background: you get its id, a message tells you when it ends, and the background \
        tool shows or kills it. For servers and watchers set background to true. What a command leaves running with & \
        becomes a background process too. Prefer read_file, edit_file, list_files and search over cat, sed, find and \
        grep.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"command": "cargo test --lib parser"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        let before = context.cwd.get();
        let reply = run_command(input, &call).await;
        Reply { cwd: context.cwd.moved(&before), ..reply }
    }
}

async fn run_command(input: Input, call: &Call) -> Reply {
    let context = &call.context;
    let mut notes = Vec::new();
    let mut cwd = context.cwd.get();
    if !cwd.is_dir() {
        notes.push(format!("[{} no longer exists; back at the worktree's root]", spelled(&cwd)));
        cwd = context.path_policy.root().to_owned();
        context.cwd.set(cwd.clone());
    }
    let id = fresh_id(context);
    let script = match Script::new(&input.command, &id, &context.folders.spill) {
        Ok(script) => script,
        Err(error) => return Reply::error(format!("The command could not be prepared: {error}")),
    };
    let environment = match context.cwd.before() {
        Some(before) => context.environment.clone().with("OLDPWD", before),
        None => context.environment.clone(),
    };
    let spec = ChildSpec {
        streams: if input.separate { Streams::Separate } else { Streams::Merged },
        environment,
        label: input.command.clone(),
        head: context.limits.output_bytes,
        overflow_dir: Some(context.folders.spill.clone()),
        records: Some(context.folders.records.clone()),
        ..ChildSpec::new(id, "bash", cwd)
    };
    let started = Instant::now();
    let process = match process::start(spec.arguments(script.arguments())) {
        Ok(process) => process,
        Err(error) => return Reply::error(format!("The command was not run: {error}.")),
    };
    let limit = match (input.background, input.timeout_seconds) {
        (true, _) => Duration::ZERO,
        (false, Some(seconds)) => Duration::from_secs(seconds),
        (false, None) => context.limits.foreground,
    };
    let running = Running { call, command: input.command, script, process, started, notes };
    if input.background {
        return running.into_background("Started in the background").await;
    }
    match running.wait(limit).await {
        WaitOutcome::Ended(exit) => running.ended(exit).await,
        WaitOutcome::TooLong => {
            let lead = format!("Still running after {} seconds, so it went to the background", limit.as_secs());
            running.into_background(&lead).await
        }
        WaitOutcome::Moved => running.into_background("The user sent it to the background").await,
        WaitOutcome::Cancelled => running.cancelled().await,
    }
}

/// Returns a unique name, short enough for a model to repeat.
fn fresh_id(context: &ToolContext) -> String {
    let ulid = RunId::fresh(&context.ids).to_string();
    format!("bg-{}", text::suffix(&ulid, 10).to_ascii_lowercase())
}

enum WaitOutcome {
    Ended(ProcessExit),
    TooLong,
    Moved,
    Cancelled,
}

struct Running<'a> {
    call: &'a Call,
    command: String,
    script: Script,
    process: Process,
    started: Instant,
    notes: Vec<String>,
}

impl Running<'_> {
    /// Streams the output until something happens.
    async fn wait(&self, limit: Duration) -> WaitOutcome {
        let context = &self.call.context;
        let waiting = context.foreground.enter(&self.call.id);
        let mut output = LiveOutput::new(&self.call.id, Channel::Output, self.process.output(), &*context.live);
        let mut error =
            self.process.error().map(|error| LiveOutput::new(&self.call.id, Channel::Error, error, &*context.live));
        let show = async {
            match &mut error {
                Some(error) => {
                    tokio::join!(output.follow(), error.follow());
                }
                None => output.follow().await,
            }
            // The streams may end long before the process does.
            std::future::pending::<()>().await;
        };
        let waited = tokio::select! {
            biased;
            exit = self.process.wait_exited() => WaitOutcome::Ended(exit),
            () = context.tokens.cancelled() => WaitOutcome::Cancelled,
            () = waiting.moved() => WaitOutcome::Moved,
            () = sleep(limit) => WaitOutcome::TooLong,
            () = show => WaitOutcome::Cancelled,
        };
        output.flush();
        if let Some(error) = &mut error {
            error.flush();
        }
        waited
    }

    async fn ended(mut self, exit: ProcessExit) -> Reply {
        let context = &self.call.context;
        if let Some(folder) = self.script.final_folder() {
            context.cwd.set(folder);
        }
        let mut lines = vec![describe_exit(exit)];
        let took = self.started.elapsed();
        if took >= SLOW_COMMAND {
            let _ = write!(lines[0], " (after {:.1} s)", took.as_secs_f64());
        }
        lines.extend(std::mem::take(&mut self.notes));
        lines.extend(context.cwd.notice());
        let report = report(&self.process, context.limits.output_bytes, &*context.blobs).await;
        let mut background = None;
        if matches!(self.process.phase(), ProcessPhase::Exited(_)) {
            let job = self.adopt();
            lines.push(format!(
                "[what the command started still runs, now as background process {}; the background tool shows or \
                 kills it]",
                job.id
            ));
            background = Some(job.reference());
        }
        lines.push(report.text);
        Reply { is_error: !exit.is_success(), full: report.full, background, ..Reply::text(lines.join("\n")) }
    }

    async fn into_background(mut self, lead: &str) -> Reply {
        let context = &self.call.context;
        let report = report(&self.process, context.limits.output_bytes, &*context.blobs).await;
        let notes = std::mem::take(&mut self.notes);
        let job = self.adopt();
        let mut lines = vec![format!(
            "{lead} as {}. A message will tell you when it ends; until then use the background tool to look at it or \
             to kill it. A cd in it has no effect on where you are.",
            job.id
        )];
        lines.extend(notes);
        lines.extend(context.cwd.notice());
        if job.process.output().snapshot().total > 0 {
            lines.push(format!("Output so far:\n{}", report.text));
        }
        Reply { background: Some(job.reference()), ..Reply::text(lines.join("\n")) }
    }

    /// Hands the running process over to the background jobs.
    fn adopt(self) -> Arc<BackgroundJob> {
        let context = &self.call.context;
        let belongings = Box::new(self.script);
        context.jobs.adopt(self.process, self.command, self.started, Arc::clone(&context.live), belongings)
    }

    async fn cancelled(self) -> Reply {
        self.process.kill();
        self.process.wait_gone().await;
        let context = &self.call.context;
        let report = report(&self.process, context.limits.output_bytes, &*context.blobs).await;
        let mut lines = vec![format!(
            "Interrupted after {:.1} s: the command and everything it started were ended.",
            self.started.elapsed().as_secs_f64()
        )];
        lines.extend(self.notes);
        lines.extend(context.cwd.notice());
        lines.push(format!("Output so far:\n{}", report.text));
        Reply { full: report.full, ..Reply::error(lines.join("\n")) }
    }
}

pub(super) fn describe_exit(exit: ProcessExit) -> String {
    match exit {
        ProcessExit { code: Some(code), .. } => format!("exit code: {code}"),
        ProcessExit { signal: Some(signal), .. } => format!("ended by signal {signal}"),
        ProcessExit { code: None, signal: None, .. } => "ended; the exit code is not known".to_owned(),
    }
}
