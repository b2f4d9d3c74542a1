//! `mxd hooks`: lists, approves and tests lifecycle hooks, and shows what they did.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use crate::base::{Fault, sanitize};
use crate::cli::agent_guard::Reach;
use crate::cli::config::{change, settings};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::local_time;
use crate::cli::locate::{ProjectLocator, home, new_ids};
use crate::cli::open_read_only::Viewer;
use crate::config::{HookDefinition, Layer};
use crate::engine::hooks::{HookState, ListedHook, ListedHooks};
use crate::hooks::{Firing, HookHost, HookSet, HookSite, Reach as HookReach, TaskHooks, ToolCall, Verdict, scripts};
use crate::model::Body;
use crate::model::hook::{HookEvent, HookRan};
use crate::model::tool_names as names;
use crate::process::Environment;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List lifecycle hooks with their origin and state.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Approve the hooks that the repository proposes.
    ///
    /// Shows each hook and the scripts that it names in full, and asks for confirmation.
    Approve {
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Call the hooks of an event with a sample input.
    Test {
        /// Event, such as `PreToolUse`.
        event: String,
        /// Tool of the sample call, such as `bash` or `edit_file`.
        #[arg(long, default_value = "bash")]
        tool: String,
        /// Input of the sample call as JSON. For other events, their fields.
        #[arg(long)]
        input: Option<String>,
        /// Value for matchers, if the event has no call.
        #[arg(long)]
        name: Option<String>,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show hooks that ran, their times and decisions.
    Log {
        /// Task number (12), id prefix, or part of its title.
        task: Option<String>,
        /// Show at most this many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
}

impl Args {
    // A test runs commands outside the agent's sandbox, so it counts as a change.
    pub fn reach(&self) -> Reach {
        match self.action {
            Action::List { .. } | Action::Log { .. } => Reach::Reads,
            Action::Test { .. } | Action::Approve { .. } => Reach::Changes,
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Outcome {
    let code = match args.action {
        Action::List { json } => {
            let listed = listed(console, here)?;
            list(console, &listed, json)?
        }
        Action::Approve { yes } => approve(console, here, yes)?,
        Action::Test { event, tool, input, name, json } => {
            let event: HookEvent = event.parse().map_err(|error: crate::model::hook::UnknownHookEvent| {
                let names: Vec<&str> = HookEvent::ALL.iter().map(|event| event.name()).collect();
                Fault::user(error.to_string()).hint(format!("the events are: {}", names.join(", ")))
            })?;
            let sample = Sample { event, tool, input, name: name.unwrap_or_default() };
            test(console, here, &sample, json)?
        }
        Action::Log { task, limit, json } => log(console, here, task.as_deref(), limit, json)?,
    };
    console.finish()?;
    Ok(code)
}

/// Reads the hooks of all files. Prints the problems of those that only contain hooks.
fn listed(console: &mut Console, here: &ProjectLocator) -> Result<ListedHooks, Failure> {
    let home = home()?;
    let merged = settings(console, here, &home)?;
    let listed = ListedHooks::read(&here.settings_files(&home)?, &merged);
    for problem in &listed.problems {
        console.note(&format!("warning: {problem}"));
    }
    Ok(listed)
}

/// A hook in the output of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    event: &'a str,
    matcher: Option<&'a str>,
    hook: String,
    origin: &'static str,
    file: &'a str,
    state: &'static str,
    /// Why it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    timeout_seconds: Option<f64>,
    hash: Option<&'a str>,
}

fn state(hook: &ListedHook) -> (&'static str, Option<&str>, Option<&str>) {
    match &hook.state {
        HookState::Active => ("active", None, None),
        HookState::NeedsApproval { hash } => ("needs approval", None, Some(hash)),
        HookState::Unusable(why) => ("does not run", Some(why), None),
        HookState::Disabled => ("disabled", None, None),
    }
}

fn list(console: &mut Console, listed: &ListedHooks, json: bool) -> Result<u8, Failure> {
    if listed.hooks.is_empty() && !json {
        console.line("no lifecycle hooks configured; see `mxd help hooks`")?;
    }
    for hook in &listed.hooks {
        let definition = &hook.definition;
        let (state, reason, hash) = state(hook);
        if json {
            console.json(&Row {
                event: &definition.event_name,
                matcher: definition.matcher.as_deref(),
                hook: definition.handler.label(),
                origin: definition.layer.word(),
                file: &definition.place.file,
                state,
                reason,
                timeout_seconds: definition.event.map(|event| definition.handler.timeout(event).as_secs_f64()),
                hash,
            })?;
            continue;
        }
        console.line(&sanitize::line(&definition.to_string()))?;
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        console.line(&format!("  {state}{reason}  ({}: {})", definition.layer, definition.place))?;
    }
    if !json && listed.waiting().next().is_some() {
        console.note("`mxd hooks approve` shows what the repository proposes, and asks you");
    }
    Ok(0)
}

fn approve(console: &mut Console, here: &ProjectLocator, yes: bool) -> Result<u8, Failure> {
    let listed = listed(console, here)?;
    let waiting: Vec<(&HookDefinition, &str)> = listed.waiting().collect();
    if waiting.is_empty() {
        console.line("no hook needs approval; nothing changed")?;
        return Ok(0);
    }
    let home = home()?;
    let top = here.repository()?.top;
    for (definition, _) in &waiting {
        show_in_full(console, definition, &top)?;
    }
    console.line("They run as your user when their event happens. A hook that changes needs approval again.")?;
    if !yes && !confirm(console)? {
        console.line("nothing changed")?;
        return Ok(exit::PROBLEMS);
    }
    for (_, hash) in &waiting {
        change(console, here, &home, Layer::Local, |edit| edit.approve_hook(hash))?;
    }
    Ok(0)
}

/// Prints everything that an approval allows: the entry, and the scripts that it names. Quoted where a character could
/// mislead.
fn show_in_full(console: &mut Console, definition: &HookDefinition, top: &Path) -> Result<(), Failure> {
    console.line(&format!("{}: {}", definition.place, sanitize::line(&definition.event_name)))?;
    console.line(&format!("  matcher: {:?}", definition.matcher.as_deref().unwrap_or("")))?;
    let handler = serde_json::to_value(&definition.handler).unwrap_or(Value::Null);
    for (name, value) in handler.as_object().into_iter().flatten() {
        console.line(&format!("  {name}: {value}"))?;
    }
    let scripts = scripts::read(definition, top, top).map_err(|error| Fault::environment(error.to_string()))?;
    for (name, content) in scripts {
        console.line(&format!("  script {name:?}:"))?;
        for line in String::from_utf8_lossy(&content).lines() {
            console.line(&format!("    {}", sanitize::line(line)))?;
        }
    }
    console.line("")?;
    Ok(())
}

fn confirm(console: &mut Console) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Fault::user("cannot ask for confirmation: stdin is not a terminal")
            .hint("review the hooks, then repeat the command with --yes")
            .into());
    }
    console.finish()?;
    console.note("Approve them? Type yes:");
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Fault::environment(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The event that a test makes up.
struct Sample {
    event: HookEvent,
    tool: String,
    input: Option<String>,
    name: String,
}

/// Collects what the hooks of a test did.
struct TestHost {
    set: Arc<HookSet>,
    ran: Mutex<Vec<HookRan>>,
}

impl HookHost for TestHost {
    fn hooks(&self) -> Arc<HookSet> {
        Arc::clone(&self.set)
    }

    fn permission_mode(&self) -> String {
        "default".to_owned()
    }

    fn record(&self, ran: HookRan) {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).push(ran);
    }

    fn tell_user(&self, _: HookEvent, _: String) {}

    fn tell_agent(&self, _: HookEvent, _: String) {}
}

/// The result of a test in the output of `--json`.
#[derive(Serialize)]
struct TestResult {
    hooks: Vec<HookRan>,
    blocked: bool,
    decision: &'static str,
    reason: String,
    context: String,
    updated_input: Option<Value>,
    stop: Option<String>,
}

fn test(console: &mut Console, here: &ProjectLocator, sample: &Sample, json: bool) -> Result<u8, Failure> {
    let listed = listed(console, here)?;
    let top = here.repository()?.top;
    let invalid = |error: serde_json::Error| Fault::user(format!("--input is no valid JSON: {error}"));
    let default = if names::canonical(&sample.tool) == names::wire(names::BASH) && sample.event.is_about_call() {
        json!({ "command": "true" })
    } else {
        json!({})
    };
    let input = sample.input.as_deref().map(serde_json::from_str).transpose().map_err(invalid)?.unwrap_or(default);
    let host = Arc::new(TestHost { set: listed.set(), ran: Mutex::default() });
    let site = HookSite {
        session: "test".to_owned(),
        transcript: top.join("no-transcript.jsonl"),
        agent: None,
        task: Value::Null,
        reach: HookReach {
            cwd: top.clone(),
            project_dir: top.clone(),
            environment: Environment::new(),
            records: None,
            spill: None,
        },
        env_file: None,
        ids: new_ids(),
    };
    let hooks = TaskHooks::new(Arc::clone(&host) as Arc<dyn HookHost>, site);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::environment(format!("cannot start the async runtime: {error}")))?;
    let joined = runtime.block_on(async {
        if sample.event.is_about_call() {
            let wire = names::canonical(&sample.tool);
            let call = ToolCall { id: "test", name: &wire, input: &input, cwd: &top };
            hooks.fire_call(sample.event, call, json!({})).await.0
        } else {
            hooks.fire(Firing::new(sample.event, &sample.name, input)).await
        }
    });
    let result = TestResult {
        hooks: std::mem::take(&mut host.ran.lock().unwrap_or_else(PoisonError::into_inner)),
        blocked: joined.is_blocked,
        decision: match joined.verdict {
            Verdict::None => "none",
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        },
        context: joined.context(),
        reason: joined.reason,
        updated_input: joined.updated_input.map(|(_, input)| input),
        stop: joined.stop,
    };
    if json {
        console.json(&result)?;
        return Ok(0);
    }
    if result.hooks.is_empty() {
        console.line("no active hook is called")?;
    }
    for ran in &result.hooks {
        print_run(console, ran)?;
    }
    console.line(&format!("decision: {}", result.decision))?;
    for (label, text) in [("reason", &result.reason), ("context", &result.context)] {
        if !text.is_empty() {
            console.line(&format!("{label}: {}", sanitize::lines(text)))?;
        }
    }
    if let Some(input) = &result.updated_input {
        console.line(&format!("new input: {input}"))?;
    }
    if let Some(stop) = &result.stop {
        console.line(&format!("ends the turn: {}", sanitize::line(stop)))?;
    }
    Ok(0)
}

fn print_run(console: &mut Console, ran: &HookRan) -> Result<(), Failure> {
    let exit = ran.exit.map(|code| format!(", exit {code}")).unwrap_or_default();
    console.line(&format!("{} ({} ms{exit})", sanitize::line(&ran.sentence()), ran.ms))?;
    if !ran.line.is_empty() {
        console.line(&format!("  {}", sanitize::line(&ran.line)))?;
    }
    Ok(())
}

/// A hook that ran, in the output of `--json`.
#[derive(Serialize)]
struct LogRow<'a> {
    at: crate::base::Timestamp,
    task: crate::base::TaskId,
    #[serde(flatten)]
    ran: &'a HookRan,
}

fn log(
    console: &mut Console,
    here: &ProjectLocator,
    task: Option<&str>,
    limit: usize,
    json: bool,
) -> Result<u8, Failure> {
    let viewer = Viewer::open(console, here)?;
    let tasks = match task {
        Some(name) => vec![viewer.find(name)?],
        None => viewer.list(console, async |handle| handle.tasks().await)?.iter().map(|row| row.node.id).collect(),
    };
    let mut runs = Vec::new();
    for task in tasks {
        viewer.each_event(task, |event| {
            if let Body::HookRan(ran) = event.body {
                runs.push((event.ts, task, ran));
            }
            Ok(())
        })?;
    }
    runs.sort_by_key(|(at, ..)| *at);
    let skipped = runs.len().saturating_sub(limit);
    for (at, task, ran) in runs.iter().skip(skipped) {
        if json {
            console.json(&LogRow { at: *at, task: *task, ran })?;
        } else {
            console.line(&local_time::moment(*at))?;
            print_run(console, ran)?;
        }
    }
    if runs.is_empty() && !json {
        console.line("no hook has run")?;
    }
    Ok(0)
}
