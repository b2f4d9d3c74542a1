//! `mxd mcp`: lists, tests and approves MCP servers.

mod masked;
mod serve;

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use serde::Serialize;

use crate::base::{Fault, text};
use crate::cli::agent_guard::Reach;
use crate::cli::config::{change, settings};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home, new_ids};
use crate::config::paths::Home;
use crate::config::{Layer, Server, ServerState};
use crate::process::{self, Environment};
use crate::serve::mcp::ToolScope;
use crate::tools::mcp::{Limits, MissingTools, Options, Pool, ServerHealth, ServerStatus};
use masked::Entry;

/// Start timeout of `mxd mcp test`. Longer than for an agent, because nothing else waits for it.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List configured servers and their state. Starts nothing.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Start servers, list their tools, and report failures.
    Test {
        /// Test only this server.
        name: Option<String>,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Serve the project to an editor or another agent.
    ///
    /// Over stdin and stdout, until the client ends.
    Serve {
        /// Serve a task's tools to the program that does it.
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// Offer only tools that change nothing.
        #[arg(long)]
        read_only: bool,
    },
    /// Approve a server that the repository requests.
    ///
    /// Shows what it would run, and asks for confirmation.
    Approve {
        /// Name of the server.
        name: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

impl Args {
    // A test starts programs outside the agent's sandbox, so it counts as a change.
    pub fn reach(&self) -> Reach {
        match self.action {
            // The engine decides what a task may do.
            Action::List { .. } | Action::Serve { task: Some(_), .. } => Reach::Reads,
            Action::Serve { task: None, .. } => Reach::Changes,
            Action::Test { .. } | Action::Approve { .. } => Reach::Changes,
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: Args) -> Outcome {
    if let Action::Serve { task, read_only } = &args.action {
        return match task {
            Some(_) => serve::serve_task(),
            None if *read_only => serve::serve_project(console, here, ToolScope::Read),
            None => serve::serve_project(console, here, ToolScope::Write),
        };
    }
    let home = home()?;
    let merged = settings(console, here, &home)?;
    let code = match args.action {
        Action::List { json } => list(console, &merged.servers, json)?,
        Action::Test { name, json } => {
            let chosen = chosen(merged.servers, name.as_deref())?;
            test(console, here, &home, chosen, json)?
        }
        Action::Serve { .. } => 0,
        Action::Approve { name, yes } => approve(console, here, &home, &merged.servers, &name, yes)?,
    };
    console.finish()?;
    Ok(code)
}

fn list(console: &mut Console, servers: &[Server], json: bool) -> Result<u8, Failure> {
    if servers.is_empty() && !json {
        console.line("no servers configured; see mcpServers in the settings documentation")?;
    }
    for server in servers {
        let entry = Entry::of(server);
        if json {
            console.json(&entry)?;
            continue;
        }
        console.line(&format!("{}  {}  {}", entry.name, entry.layer, entry.state))?;
        console.line(&format!("  {}", entry.transport))?;
        if let Some(hint) = &entry.hint {
            console.line(&format!("  {hint}"))?;
        }
    }
    Ok(0)
}

fn chosen(servers: Vec<Server>, name: Option<&str>) -> Result<Vec<Server>, Fault> {
    let Some(name) = name else { return Ok(servers) };
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    let chosen: Vec<Server> = servers.into_iter().filter(|server| server.name == name).collect();
    if chosen.is_empty() { Err(unknown_server(name, &names)) } else { Ok(chosen) }
}

fn unknown_server(name: &str, names: &[String]) -> Fault {
    let fault = Fault::user(format!("there is no server \"{name}\""));
    if names.is_empty() {
        fault.hint("no servers are configured here; `mxd config path` shows where settings come from")
    } else {
        fault.hint(format!("the servers are: {}", names.join(", ")))
    }
}

#[derive(Serialize)]
struct TestResult {
    #[serde(flatten)]
    status: ServerStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

fn test(
    console: &mut Console,
    here: &ProjectLocator,
    home: &Home,
    servers: Vec<Server>,
    json: bool,
) -> Result<u8, Failure> {
    // Processes that a killed test left running.
    let records = home.root().join("running").join("mcp-test");
    process::sweep(&records);
    let root = match here.repository() {
        Ok(place) => place.top,
        Err(_) => here.folder()?,
    };
    let options = Options {
        root,
        logs: here.peek(home)?.map(|located| located.folder.logs()),
        records: Some(records),
        environment: Environment::new(),
        ids: new_ids(),
        // Wait longer than the start timeout, or its error is not reported.
        limits: Limits { start: TEST_TIMEOUT, wait: TEST_TIMEOUT * 2, ..Limits::default() },
        // No cache: the user wants the current list.
        tool_lists: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::environment(format!("cannot start the async runtime: {error}")))?;
    let (status, missing) = runtime.block_on(async {
        let pool = Pool::new(servers, options);
        let found = async {
            let (_tools, missing) = pool.tools().await;
            (pool.status(), missing)
        };
        let found = tokio::select! {
            found = found => Some(found),
            _ = tokio::signal::ctrl_c() => None,
        };
        pool.shutdown().await;
        found.ok_or_else(|| Fault::user("interrupted; the servers were stopped"))
    })?;
    let mut failed = false;
    for status in status {
        let of_it = |missing: &&MissingTools| missing.server == status.server;
        let problems = match &status.health {
            // Only the reason: a test does not retry.
            ServerHealth::Failed { reason, .. } => vec![reason.clone()],
            ServerHealth::NotStarted
            | ServerHealth::Starting
            | ServerHealth::Ready { .. }
            | ServerHealth::NeedsApproval { .. }
            | ServerHealth::Disabled => missing.iter().filter(of_it).map(|missing| missing.reason.clone()).collect(),
        };
        let result = TestResult { status, problems };
        failed |= matches!(
            result.status.health,
            ServerHealth::Failed { .. } | ServerHealth::Starting | ServerHealth::NotStarted
        );
        if json {
            console.json(&result)?;
        } else {
            print_result(console, &result)?;
        }
    }
    Ok(if failed { exit::PROBLEMS } else { 0 })
}

fn print_result(console: &mut Console, result: &TestResult) -> Result<(), Failure> {
    let ServerStatus { server, health } = &result.status;
    match health {
        ServerHealth::Ready { tools, protocol, .. } => {
            let count = text::count(tools.len(), "tool", "tools");
            console.line(&format!("{server}  ready, {count} (protocol {protocol})"))?;
            tools.iter().try_for_each(|tool| console.line(&format!("  {tool}")))?;
        }
        ServerHealth::Failed { .. } => console.line(&format!("{server}  failed"))?,
        ServerHealth::Starting | ServerHealth::NotStarted => console.line(&format!("{server}  not ready"))?,
        ServerHealth::NeedsApproval { .. } => console.line(&format!("{server}  needs approval, not started"))?,
        ServerHealth::Disabled => console.line(&format!("{server}  disabled, not started"))?,
    }
    for line in result.problems.iter().flat_map(|problem| problem.lines()) {
        console.line(&format!("  {line}"))?;
    }
    Ok(())
}

fn approve(
    console: &mut Console,
    here: &ProjectLocator,
    home: &Home,
    servers: &[Server],
    name: &str,
    yes: bool,
) -> Result<u8, Failure> {
    let named: Vec<&Server> = servers.iter().filter(|server| server.name == name).collect();
    let waiting = named.iter().find_map(|server| match &server.state {
        ServerState::NeedsApproval { hash } => Some((*server, hash)),
        ServerState::Active | ServerState::Disabled => None,
    });
    let Some((server, hash)) = waiting else {
        if named.is_empty() {
            let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
            return Err(unknown_server(name, &names).into());
        }
        console.line(&format!("{name} needs no approval; nothing changed"))?;
        return Ok(0);
    };
    console.line(&format!("{} requests the server \"{name}\":", server.origin))?;
    for line in server.in_full() {
        console.line(&format!("  {line}"))?;
    }
    console.line("It runs as your user, outside any sandbox. If its entry changes, it needs approval again.")?;
    if !yes && !confirm(console)? {
        console.line("nothing changed")?;
        return Ok(exit::PROBLEMS);
    }
    change(console, here, home, Layer::Local, |edit| edit.approve(hash))?;
    Ok(0)
}

fn confirm(console: &mut Console) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Fault::user("cannot ask for confirmation: stdin is not a terminal")
            .hint("review what would run, then repeat the command with --yes")
            .into());
    }
    console.finish()?;
    console.note("Approve it? Type yes:");
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Fault::environment(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
