//! `mxd serve`: runs the agents of a project without a screen, for screens and commands that join, and over HTTP.

mod http;

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use tokio::sync::watch;

use crate::base::{Fault, Timestamp};
use crate::cli::agent_guard::Reach;
use crate::cli::config::settings;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::exit;
use crate::cli::locate::{ProjectLocator, home};
use crate::cli::open_engine::{AgentStart, Overrides, check_model_access, engine_options, runtime};
use crate::cli::shared_engine::{SharedEngine, Sharing, client_name, open_or_join};
use crate::cli::signals::{SignalRequest, Signals};
use crate::engine::Handle;
use crate::engine::command::Command;
use crate::engine::snapshot::Snapshot;
use crate::model::{ClientKind, ClientView};
use crate::process;
use crate::serve::{Remote, ServerInfo, ServerPlace, SocketConnector, background};
use crate::store::EngineLock;
use http::{HttpArgs, TokenAction};

/// How long a server stays without clients and without work.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Stay without clients and without work.
    #[arg(long)]
    stay: bool,
    #[command(flatten)]
    http: HttpArgs,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Show the process that serves this project.
    Status {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Stop the process that serves this project.
    ///
    /// Its agents stop, and resume next time.
    Stop,
    /// Restart the process that serves this project with this program.
    ///
    /// Turns in progress finish first, and nothing is lost. Screens and pages reconnect.
    Restart {
        /// Interrupt turns in progress. They resume after the restart.
        #[arg(long)]
        now: bool,
    },
    /// Print a unit that starts the server with your session.
    Unit {
        /// Print a launchd property list.
        #[arg(long)]
        launchd: bool,
    },
    /// Make, list and revoke tokens for HTTP.
    Token {
        #[command(subcommand)]
        action: TokenAction,
    },
    /// Print the description of the HTTP interface (`OpenAPI`).
    Openapi,
}

impl Args {
    /// Returns the arguments that start this server again.
    fn again(&self) -> Vec<String> {
        let stay = self.stay.then(|| "--stay".to_owned());
        stay.into_iter().chain(self.http.again()).collect()
    }

    pub fn reach(&self) -> Reach {
        match &self.action {
            None | Some(Action::Stop | Action::Restart { .. }) => Reach::Changes,
            Some(Action::Token { action }) => action.reach(),
            Some(Action::Status { .. } | Action::Unit { .. } | Action::Openapi) => Reach::Reads,
        }
    }
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    match &args.action {
        None => serve(console, here, args),
        Some(Action::Token { action }) => http::token(console, action),
        Some(Action::Openapi) => http::openapi(console),
        Some(Action::Status { json }) => status(console, here, *json),
        Some(Action::Stop) => stop(console, here),
        Some(Action::Restart { now }) => restart(console, here, *now),
        Some(Action::Unit { launchd }) => unit(console, here, *launchd || cfg!(target_os = "macos")),
    }
}

fn serve(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let home = home()?;
    let located = here.locate_or_register(&home)?;
    let merged = settings(console, here, &home)?;
    // Refused before the engine starts.
    let listen = args.http.listen(&merged.settings)?;
    here.repository()?.branch()?;
    check_model_access(&merged.settings, &Overrides::default().choice)?;
    process::hide_own_memory();
    let options =
        engine_options(home.clone(), located.project.clone(), merged, Overrides::default(), AgentStart::Start);
    let runtime = runtime()?;
    let code = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let engine = open_or_join(options, Sharing::Listen, ClientKind::Command).await?;
        let SharedEngine::Own { handle, server: Some(server) } = &engine else {
            let is_joined = engine.is_joined();
            engine.leave().await;
            return Err(not_serving(is_joined));
        };
        let http = match args.http.start(listen, &home, &located.project, handle, server).await {
            Ok(http) => http,
            Err(fault) => {
                engine.leave().await;
                return Err(fault.into());
            }
        };
        server.set_arguments(args.again())?;
        console.line(&format!("serving process {}", std::process::id()))?;
        if let Some(http) = &http {
            console.line(&format!("page {}", http.page_link()?))?;
        }
        console.finish()?;
        // Nobody tells it when a phone comes back.
        let stay = args.stay || http.is_some();
        let code = tokio::select! {
            request = signals.next() => match request {
                SignalRequest::Exit(code) => code,
                SignalRequest::Interrupt => crate::cli::run::INTERRUPTED,
            },
            _ = handle.ended() => 0,
            () = until_unused(handle, server.connected()), if !stay => 0,
        };
        if let Some(http) = http {
            http.close().await;
        }
        engine.leave().await;
        Ok::<u8, Failure>(code)
    })?;
    runtime.shutdown_timeout(Duration::from_millis(200));
    Ok(code)
}

fn not_serving(is_joined: bool) -> Failure {
    if is_joined {
        return Fault::user("another process serves this project already").into();
    }
    Fault::environment("the socket of this project cannot be opened")
        .hint("the log file in the data folder says why")
        .into()
}

/// Waits until there have been no clients and no work for a while.
pub async fn until_unused(handle: &Handle, mut connected: watch::Receiver<usize>) {
    loop {
        if connected.wait_for(|count| *count == 0).await.is_err() {
            return;
        }
        tokio::select! {
            _ = connected.changed() => {}
            () = tokio::time::sleep(IDLE_TIMEOUT) => {
                // An engine that has ended is not used either.
                if handle.subscribe().await.is_ok_and(|(snapshot, _)| !snapshot.quiet) {
                    continue;
                }
                return;
            }
        }
    }
}

/// What `mxd serve status --json` prints.
#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    info: &'a ServerInfo,
    /// Whether it answers.
    answers: bool,
    /// The screens and pages that are attached.
    clients: &'a [ClientView],
}

fn status(console: &mut Console, here: &ProjectLocator, json: bool) -> Outcome {
    let home = home()?;
    let located = here.locate(&home)?;
    let place = ServerPlace::new(&located.folder, located.project.id);
    let is_held = EngineLock::holder(&located.folder.lock())?.is_some();
    let Some(info) = place.info().filter(|_| is_held) else {
        if !json {
            console.line("no process serves this project")?;
        }
        console.finish()?;
        return Ok(exit::PROBLEMS);
    };
    let answer: Result<Snapshot, Fault> = runtime()?.block_on(async {
        let engine = Handle::new(join(&place, &located.folder.lock()).await?);
        let (snapshot, _) = engine.subscribe().await?;
        Ok(snapshot)
    });
    let answers = answer.is_ok();
    let clients = answer.map(|snapshot| snapshot.clients).unwrap_or_default();
    if json {
        console.json(&Status { info: &info, answers, clients: &clients })?;
    } else {
        let ServerInfo { pid, started, program, socket, .. } = &info;
        let since = Timestamp::to_seconds_string(*started);
        let state = if answers { "" } else { "; it does not answer" };
        console.line(&format!("process {pid}, mxd {program}, since {since}{state}"))?;
        console.line(&format!("socket {}", socket.display()))?;
        for ClientView { name, kind, since, .. } in &clients {
            let kind = match kind {
                ClientKind::Screen => "screen",
                ClientKind::Http => "page or program",
                ClientKind::Command | ClientKind::Other => "program",
            };
            console.line(&format!("attached {name}, {kind}, since {}", since.to_seconds_string()))?;
        }
    }
    console.finish()?;
    Ok(0)
}

fn stop(console: &mut Console, here: &ProjectLocator) -> Outcome {
    let home = home()?;
    let located = here.locate(&home)?;
    let lock = located.folder.lock();
    if EngineLock::holder(&lock)?.is_none() {
        console.line("no process serves this project")?;
        console.finish()?;
        return Ok(0);
    }
    let place = ServerPlace::new(&located.folder, located.project.id);
    runtime()?.block_on(async {
        let remote = join(&place, &lock).await?;
        let engine = Handle::new(remote);
        engine.command(Command::Quit).await?;
        engine.ended().await;
        Ok::<(), Fault>(())
    })?;
    console.line("stopped; the agents resume next time")?;
    console.finish()?;
    Ok(0)
}

/// How often to look whether the process that served before is gone.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

fn restart(console: &mut Console, here: &ProjectLocator, now: bool) -> Outcome {
    let home = home()?;
    let located = here.locate(&home)?;
    let lock = located.folder.lock();
    let Some(holder) = EngineLock::holder(&lock)? else {
        return Err(Fault::user("no process serves this project").hint("`mxd serve` starts one").into());
    };
    let place = ServerPlace::new(&located.folder, located.project.id);
    let info = place.info();
    let arguments = info.as_ref().and_then(|info| info.arguments.clone()).unwrap_or_default();
    let former = holder.map_or(0, |holder| holder.pid);
    let runtime = runtime()?;
    let pid = runtime.block_on(async {
        match join(&place, &lock).await {
            Ok(remote) => {
                let engine = Handle::new(remote);
                let (snapshot, _) = engine.subscribe().await?;
                let working = snapshot.tasks.iter().filter(|task| task.is_working()).count();
                engine.command(Command::HandOver { now }).await?;
                if !now && working > 0 {
                    let turns = crate::base::text::count(working, "turn", "turns");
                    console.note(&format!("waiting for {turns} to finish; `mxd serve restart --now` interrupts them"));
                }
                engine.quit().await;
            }
            // It speaks another version of the protocol, or does not answer: its agents are interrupted.
            Err(fault) => {
                let pid = i32::try_from(former).ok().and_then(Pid::from_raw).filter(|_| info.is_some()).ok_or(fault)?;
                kill_process(pid, Signal::TERM)
                    .map_err(|error| Fault::environment(format!("cannot stop process {former}: {error}")))?;
            }
        }
        while EngineLock::holder(&lock)?.is_some_and(|holder| holder.is_some_and(|holder| holder.pid == former)) {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        background::take_over(&located.folder, &located.project, former, &arguments).await
    })?;
    console.line(&format!("serving process {pid}"))?;
    console.finish()?;
    Ok(0)
}

async fn join(place: &ServerPlace, lock: &Path) -> Result<Remote, Fault> {
    let connector = SocketConnector::new(place.clone(), lock.to_owned());
    Remote::connect(connector, ClientKind::Command, client_name()).await
}

fn unit(console: &mut Console, here: &ProjectLocator, launchd: bool) -> Outcome {
    let located = here.locate(&home()?)?;
    let program = std::env::current_exe()
        .map_err(|error| Fault::environment(format!("cannot find the path of this program: {error}")))?;
    let (program, project) = (program.display().to_string(), located.project.path.display().to_string());
    let text = if launchd {
        launchd_plist(&located.project.name, &program, &project)
    } else {
        systemd_unit(&located.project.name, &program, &project)
    };
    text.lines().try_for_each(|line| console.line(line))?;
    console.finish()?;
    Ok(0)
}

/// Returns a systemd user unit.
fn systemd_unit(name: &str, program: &str, project: &str) -> String {
    // systemd reads `%` and `"` in a command line.
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"));
    format!(
        "# ~/.config/systemd/user/mxd-{name}.service\n[Unit]\nDescription=Matrix agents of {name}\n\n[Service]\n\
         ExecStart={} -C {} serve --stay\nRestart=on-failure\nKillMode=mixed\n\n[Install]\nWantedBy=default.target\n",
        quoted(program),
        quoted(project)
    )
}

/// Returns a launchd property list.
fn launchd_plist(name: &str, program: &str, project: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let arguments =
        [program, "-C", project, "serve", "--stay"].map(|word| format!("    <string>{}</string>\n", escaped(word)));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- ~/Library/LaunchAgents/mxd.{0}.plist -->\n<plist version=\"1.0\">\n\
         <dict>\n  <key>Label</key>\n  <string>mxd.{0}</string>\n  <key>ProgramArguments</key>\n  <array>\n{1}  </array>\n  \
         <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  \
         </dict>\n</dict>\n</plist>\n",
        escaped(name),
        arguments.concat()
    )
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
