//! `mxd mcp serve`: tools over stdin and stdout.
//!
//! With a task, for the program that does it: passes lines between it and the engine, and ends when either does. The
//! engine decides everything; it gave the program the token in the environment, and the token is the task. Without a
//! task, for an editor or another agent of the user: the tree as tools.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use tokio::sync::mpsc;

use crate::base::Fault;
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_engine::{AgentStart, Overrides, with_engine};
use crate::engine::Handle;
use crate::engine::tool_door::{SOCKET_VARIABLE, TOKEN_VARIABLE};
use crate::serve::mcp::{ProjectTools, ToolScope};
use crate::tools::mcp_server;

/// Serves the tools of the task that this program was started for.
pub fn serve_task() -> Outcome {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (Some(socket), Some(token)) = (variable(SOCKET_VARIABLE), variable(TOKEN_VARIABLE)) else {
        return Err(Fault::user("the tools of a task are for programs that Matrix has started for it")
            .hint("without --task, `mxd mcp serve` is for editors and other agents")
            .into());
    };
    let failed = |error: io::Error| Fault::environment(format!("cannot reach the engine: {error}"));
    let mut engine = UnixStream::connect(&socket).map_err(failed)?;
    engine.write_all(format!("{token}\n").as_bytes()).map_err(failed)?;
    let mut answers = engine.try_clone().map_err(failed)?;
    std::thread::spawn(move || {
        // The engine answers what it has got, and then closes.
        let _ = io::copy(&mut io::stdin().lock(), &mut engine);
        let _ = engine.shutdown(Shutdown::Write);
    });
    let mut stdout = io::stdout().lock();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let length = answers.read(&mut chunk).map_err(failed)?;
        if length == 0 || stdout.write_all(&chunk[..length]).and_then(|()| stdout.flush()).is_err() {
            return Ok(0);
        }
    }
}

/// Serves the project to an editor or another agent. Joins the engine that is open, or opens it until the client ends.
pub fn serve_project(console: &mut Console, here: &ProjectLocator, scope: ToolScope) -> Outcome {
    with_engine(console, here, AgentStart::Start, Overrides::default(), |handle| serve(handle, scope))?;
    Ok(0)
}

async fn serve(handle: Handle, scope: ToolScope) -> Result<(), Failure> {
    let tools = ProjectTools::new(handle.clone(), scope);
    let (read, mut lines) = mpsc::channel(1);
    // It sleeps in a read that nothing can interrupt, and ends with the process.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if read.blocking_send(line).is_err() {
                return;
            }
        }
    });
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = handle.ended() => None,
        };
        let Some(line) = line else { return Ok(()) };
        if line.trim().is_empty() {
            continue;
        }
        let Some(answer) = mcp_server::answer_text(&tools, &line).await else { continue };
        let mut stdout = io::stdout().lock();
        if stdout.write_all(format!("{answer}\n").as_bytes()).and_then(|()| stdout.flush()).is_err() {
            return Ok(());
        }
    }
}
