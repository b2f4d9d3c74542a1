//! `bash`: runs a command in the agent's folder, and remembers where that command left it.

mod script;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

use crate::base::{RunId, text};
use crate::model::live::Channel;
use crate::process::{self, Exit, Phase, Process, Spec, Streams};
use crate::tools::context::Context;
use crate::tools::jobs::{Job, report};
use crate::tools::live::Stream;
use crate::tools::names;
use crate::tools::reply::Reply;
use crate::tools::spelling::spelled;
use crate::tools::tool::{Call, Effect, Handler};
use script::Script;

/// Commands that took longer than this have their duration told.
const WORTH_TELLING: Duration = Duration::from_secs(5);

/// Runs a shell command.
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
    const EFFECT: Effect = Effect::Opaque;
    const EXAMPLE: &'static str = r#"{"command": "cargo test --lib parser"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let context = &call.context;
        let before = context.cwd.get();
        let reply = carry_out(input, &call).await;
        Reply { cwd: context.cwd.moved(&before), ..reply }
    }
}

async fn carry_out(input: Input, call: &Call) -> Reply {
    let context = &call.context;
    let mut notes = Vec::new();
    let mut cwd = context.cwd.get();
    if !cwd.is_dir() {
        notes.push(format!("[{} no longer exists; back at the worktree's root]", spelled(&cwd)));
        cwd = context.fence.root().to_owned();
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
    let spec = Spec {
        streams: if input.separate { Streams::Separate } else { Streams::Merged },
        environment,
        shown: input.command.clone(),
        head: context.limits.output_bytes,
        spool: Some(context.folders.spill.clone()),
        records: Some(context.folders.records.clone()),
        ..Spec::new(id, "bash", cwd)
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
        Waited::Ended(exit) => running.ended(exit).await,
        Waited::TooLong => {
            let lead = format!("Still running after {} seconds, so it went to the background", limit.as_secs());
            running.into_background(&lead).await
        }
        Waited::Moved => running.into_background("The person sent it to the background").await,
        Waited::Cancelled => running.cancelled().await,
    }
}

/// Returns a name that no other process has had, short enough for a model to repeat.
fn fresh_id(context: &Context) -> String {
    let ulid = RunId::fresh(&context.ids).to_string();
    format!("bg-{}", text::suffix(&ulid, 10).to_ascii_lowercase())
}

enum Waited {
    Ended(Exit),
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
    /// Shows the output as it comes, until something happens.
    async fn wait(&self, limit: Duration) -> Waited {
        let context = &self.call.context;
        let waiting = context.foreground.enter(&self.call.id);
        let mut output = Stream::new(&self.call.id, Channel::Output, self.process.output(), &*context.live);
        let mut error =
            self.process.error().map(|error| Stream::new(&self.call.id, Channel::Error, error, &*context.live));
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
            exit = self.process.left() => Waited::Ended(exit),
            () = context.tokens.cancelled() => Waited::Cancelled,
            () = waiting.moved() => Waited::Moved,
            () = sleep(limit) => Waited::TooLong,
            () = show => Waited::Cancelled,
        };
        output.flush();
        if let Some(error) = &mut error {
            error.flush();
        }
        waited
    }

    async fn ended(mut self, exit: Exit) -> Reply {
        let context = &self.call.context;
        if let Some(folder) = self.script.folder_at_the_end() {
            context.cwd.set(folder);
        }
        let mut lines = vec![said(exit)];
        let took = self.started.elapsed();
        if took >= WORTH_TELLING {
            let _ = write!(lines[0], " (after {:.1} s)", took.as_secs_f64());
        }
        lines.extend(std::mem::take(&mut self.notes));
        lines.extend(context.cwd.notice());
        let report = report(&self.process, context.limits.output_bytes, &*context.blobs).await;
        let mut background = None;
        if matches!(self.process.phase(), Phase::Left(_)) {
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
        if job.process.output().glimpse().total > 0 {
            lines.push(format!("Output so far:\n{}", report.text));
        }
        Reply { background: Some(job.reference()), ..Reply::text(lines.join("\n")) }
    }

    /// Hands what still runs over to those who look after processes in the background.
    fn adopt(self) -> Arc<Job> {
        let context = &self.call.context;
        let belongings = Box::new(self.script);
        context.jobs.adopt(self.process, self.command, self.started, Arc::clone(&context.live), belongings)
    }

    async fn cancelled(self) -> Reply {
        self.process.kill();
        self.process.gone().await;
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

pub(super) fn said(exit: Exit) -> String {
    match exit {
        Exit { code: Some(code), .. } => format!("exit code: {code}"),
        Exit { signal: Some(signal), .. } => format!("ended by signal {signal}"),
        Exit { code: None, signal: None, .. } => "ended; the exit code is not known".to_owned(),
    }
}
