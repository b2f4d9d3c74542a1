//! `mxd mcp`: the servers of external tools, which may start, and whether they work.

mod shown;

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use serde::Serialize;

use crate::base::{Fault, text};
use crate::cli::config::{change, settings};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::inside::Reach;
use crate::cli::place::{Here, home, new_ids};
use crate::config::paths::Home;
use crate::config::{Layer, Server, ServerState};
use crate::process::{self, Environment};
use crate::tools::mcp::{Health, Limits, Missing, Options, Pool, Status};
use shown::Entry;

/// How long `mxd mcp test` waits: longer than an agent, because nothing else depends on it.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show every configured server and whether it may start. Starts nothing.
    List {
        /// One JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Start servers that may start, list their tools, say what failed, and end them again.
    Test {
        /// Only this one.
        name: Option<String>,
        /// One JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Let a server of this repository start. Shows what it would run.
    Approve {
        name: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

impl Args {
    /// Returns what the command does to the approvals. A test starts programs outside of what watches the agent.
    pub fn reach(&self) -> Reach {
        match self.action {
            Action::List { .. } => Reach::Reads,
            Action::Test { .. } | Action::Approve { .. } => Reach::Changes,
        }
    }
}

pub fn run(console: &mut Console, here: &Here, args: Args) -> Outcome {
    let home = home()?;
    let merged = settings(console, here, &home)?;
    let code = match args.action {
        Action::List { json } => list(console, &merged.servers, json)?,
        Action::Test { name, json } => {
            let chosen = chosen(merged.servers, name.as_deref())?;
            test(console, here, &home, chosen, json)?
        }
        Action::Approve { name, yes } => approve(console, here, &home, &merged.servers, &name, yes)?,
    };
    console.finish()?;
    Ok(code)
}

fn list(console: &mut Console, servers: &[Server], json: bool) -> Result<u8, Failure> {
    if servers.is_empty() && !json {
        console.line("no server is configured; see mcpServers in the documentation of the settings")?;
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
    if chosen.is_empty() { Err(unknown(name, &names)) } else { Ok(chosen) }
}

fn unknown(name: &str, names: &[String]) -> Fault {
    let fault = Fault::user(format!("there is no server \"{name}\""));
    if names.is_empty() {
        fault.hint("no server is configured here; `mxd config path` shows where settings come from")
    } else {
        fault.hint(format!("the servers are: {}", names.join(", ")))
    }
}

/// What a test found out about one server.
#[derive(Serialize)]
struct Tested {
    #[serde(flatten)]
    status: Status,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
}

fn test(console: &mut Console, here: &Here, home: &Home, servers: Vec<Server>, json: bool) -> Result<u8, Failure> {
    // What an earlier test left behind when it was killed.
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
        // What a start is given up with is said only if somebody still waits for it.
        limits: Limits { start: PATIENCE, wait: PATIENCE * 2, ..Limits::default() },
        // The user looks at what the server offers now.
        tool_lists: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::environment(format!("the runtime cannot be started: {error}")))?;
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
        found.ok_or_else(|| Fault::user("interrupted; the servers were ended"))
    })?;
    let mut failed = false;
    for status in status {
        let of_it = |missing: &&Missing| missing.server == status.server;
        let problems = match &status.health {
            // Why, and not when somebody else would try again: nobody does after a test.
            Health::Failed { reason, .. } => vec![reason.clone()],
            Health::NotStarted
            | Health::Starting
            | Health::Ready { .. }
            | Health::NeedsApproval { .. }
            | Health::Disabled => missing.iter().filter(of_it).map(|missing| missing.reason.clone()).collect(),
        };
        let tested = Tested { status, problems };
        failed |= matches!(tested.status.health, Health::Failed { .. } | Health::Starting | Health::NotStarted);
        if json {
            console.json(&tested)?;
        } else {
            tell(console, &tested)?;
        }
    }
    Ok(if failed { exit::PROBLEMS } else { 0 })
}

fn tell(console: &mut Console, tested: &Tested) -> Result<(), Failure> {
    let Status { server, health } = &tested.status;
    match health {
        Health::Ready { tools, protocol, .. } => {
            let count = text::count(tools.len(), "tool", "tools");
            console.line(&format!("{server}  ready, {count} (protocol {protocol})"))?;
            tools.iter().try_for_each(|tool| console.line(&format!("  {tool}")))?;
        }
        Health::Failed { .. } => console.line(&format!("{server}  failed"))?,
        Health::Starting | Health::NotStarted => console.line(&format!("{server}  not ready"))?,
        Health::NeedsApproval { .. } => console.line(&format!("{server}  needs approval, not started"))?,
        Health::Disabled => console.line(&format!("{server}  disabled, not started"))?,
    }
    for line in tested.problems.iter().flat_map(|problem| problem.lines()) {
        console.line(&format!("  {line}"))?;
    }
    Ok(())
}

fn approve(
    console: &mut Console,
    here: &Here,
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
            return Err(unknown(name, &names).into());
        }
        console.line(&format!("{name} does not wait for an approval; nothing was changed"))?;
        return Ok(0);
    };
    console.line(&format!("{} asks for the server \"{name}\":", server.origin))?;
    for line in server.in_full() {
        console.line(&format!("  {line}"))?;
    }
    console.line("It runs as you do, outside of any sandbox. A change of its entry asks again.")?;
    if !yes && !confirmed(console)? {
        console.line("nothing was changed")?;
        return Ok(exit::PROBLEMS);
    }
    change(console, here, home, Layer::Local, |edit| edit.approve(hash))?;
    Ok(0)
}

fn confirmed(console: &mut Console) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Fault::user("there is nobody to ask: the input is not a terminal")
            .hint("read what would run, then repeat the command with --yes")
            .into());
    }
    console.finish()?;
    console.note("Approve it? Type yes:");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| Fault::environment(format!("no answer came: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
