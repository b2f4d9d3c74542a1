//! `mxd serve`: runs the agents of a project without a screen, for screens and commands that join, and over HTTP.

mod http;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

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
use crate::process;
use crate::serve::protocol::ClientKind;
use crate::serve::{Remote, ServerInfo, ServerPlace, SocketConnector};
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
    pub fn reach(&self) -> Reach {
        match &self.action {
            None | Some(Action::Stop) => Reach::Changes,
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
            () = handle.ended() => 0,
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
    let answers = runtime()?.block_on(async { join(&place, &located.folder.lock()).await.is_ok() });
    if json {
        console.json(&Status { info: &info, answers })?;
    } else {
        let ServerInfo { pid, started, program, socket, .. } = &info;
        let since = Timestamp::to_seconds_string(*started);
        let state = if answers { "" } else { "; it does not answer" };
        console.line(&format!("process {pid}, mxd {program}, since {since}{state}"))?;
        console.line(&format!("socket {}", socket.display()))?;
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
        remote.stop_engine().await?;
        crate::engine::Port::ended(&remote).await;
        Ok::<(), Fault>(())
    })?;
    console.line("stopped; the agents resume next time")?;
    console.finish()?;
    Ok(0)
}

async fn join(place: &ServerPlace, lock: &Path) -> Result<Remote, Fault> {
    let connector = SocketConnector::new(place.clone(), lock.to_owned());
    Remote::connect(connector, ClientKind::Command, client_name()).await
}

/// Starts `mxd serve` for a project in the background.
pub fn start_in_background(project: &Path, logs: &Path) -> Result<(), Fault> {
    let failed =
        |error: std::io::Error| Fault::environment(format!("cannot start the engine in the background: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let arguments = ["-C".into(), project.as_os_str().to_owned(), OsString::from("serve")];
    process::start_detached(program.as_os_str(), &arguments, project, &logs.join("serve.log")).map_err(failed)
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
