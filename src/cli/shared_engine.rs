//! Opens the engine of a project, or joins the one of the process that has it open.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::base::{Fault, ProjectId, Timestamp};
use crate::config::paths::{Home, ProjectFolder};
use crate::engine::update::EngineEnd;
use crate::engine::{self, EngineOptions, Handle};
use crate::model::Project;
use crate::serve::protocol::ClientKind;
use crate::serve::{Remote, Server, ServerPlace, SocketConnector, background};
use crate::store::EngineLock;

/// How long to wait for a process that has the project but does not listen: another command, which is soon done.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether other processes can join an engine that is opened here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Listen,
    /// It is open only for a moment.
    Alone,
}

/// An engine that this process can use.
pub enum SharedEngine {
    Own {
        handle: Handle,
        server: Option<Server>,
    },
    /// The engine of another process.
    Joined {
        handle: Handle,
        /// The version of its program.
        program: String,
    },
}

impl SharedEngine {
    pub fn handle(&self) -> &Handle {
        match self {
            Self::Own { handle, .. } | Self::Joined { handle, .. } => handle,
        }
    }

    /// Returns the number of clients of an engine of this process.
    pub fn connected(&self) -> usize {
        match self {
            Self::Own { server: Some(server), .. } => *server.connected().borrow(),
            Self::Own { server: None, .. } | Self::Joined { .. } => 0,
        }
    }

    pub fn is_joined(&self) -> bool {
        matches!(self, Self::Joined { .. })
    }

    /// Ends the engine if it is ours, after its clients have read the end. Leaves another one to itself. Returns how it
    /// ended.
    pub async fn leave(self) -> EngineEnd {
        match self {
            Self::Own { handle, server: Some(server) } => {
                server.end(&handle).await;
                handle.ended().await
            }
            Self::Own { handle, server: None } | Self::Joined { handle, .. } => {
                handle.quit().await;
                handle.ended().await
            }
        }
    }
}

/// Opens the engine of a project, or joins the one that is open.
pub async fn open_or_join(
    options: impl Fn() -> EngineOptions,
    sharing: Sharing,
    kind: ClientKind,
) -> Result<SharedEngine, Fault> {
    let started = Instant::now();
    loop {
        let options = options();
        let (home, project, clock) = (options.home.clone(), options.project.id, options.clock.clone());
        let folder = home.project(project);
        let lock = folder.lock();
        let failed = match EngineLock::holder(&lock)? {
            // It does not answer before it continues.
            Some(Some(holder)) if holder.is_suspended() => return Err(engine::refusal(&lock)),
            Some(_) => match join(&options, &lock, kind).await {
                Ok(joined) => return Ok(joined),
                Err(fault) => fault,
            },
            None => match Box::pin(engine::open(options)).await {
                Ok(handle) => {
                    let server = match sharing {
                        Sharing::Listen => listen(&handle, &home, project, clock.now()),
                        Sharing::Alone => None,
                    };
                    return Ok(SharedEngine::Own { handle, server });
                }
                Err(fault) => fault,
            },
        };
        // Somebody else may have been faster, or has just ended.
        let is_held = EngineLock::holder(&lock)?.is_some();
        let has_server = ServerPlace::new(&folder, project).info().is_some();
        if (is_held && has_server) || started.elapsed() >= BUSY_TIMEOUT {
            return Err(failed);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Joins the engine of the process that holds the lock.
async fn join(options: &EngineOptions, lock: &Path, kind: ClientKind) -> Result<SharedEngine, Fault> {
    let folder = options.home.project(options.project.id);
    let place = ServerPlace::new(&folder, options.project.id);
    if place.info().is_none() {
        return Err(engine::refusal(lock));
    }
    let connector = match kind {
        // If that process is killed, the screen goes on with a server in the background.
        ClientKind::Screen => connector(&folder, &options.project),
        ClientKind::Command | ClientKind::Http | ClientKind::Other => SocketConnector::new(place, lock.to_owned()),
    };
    connect(connector, kind).await
}

async fn connect(connector: SocketConnector, kind: ClientKind) -> Result<SharedEngine, Fault> {
    let remote = Remote::connect(connector, kind, client_name()).await?;
    let program = remote.welcome().program.clone();
    Ok(SharedEngine::Joined { handle: Handle::new(remote), program })
}

/// Joins the engine of a project, and starts one in the background if nobody has it open.
pub async fn join_or_start(folder: &ProjectFolder, project: &Project, kind: ClientKind) -> Result<SharedEngine, Fault> {
    connect(connector(folder, project), kind).await
}

/// Joins the engine of the process that takes over from this one. Starts one if there is none after a while.
pub async fn rejoin(folder: &ProjectFolder, project: &Project) -> Result<SharedEngine, Fault> {
    connect(connector(folder, project).waiting_for_another(), ClientKind::Screen).await
}

/// Returns a connector to the engine of a project, which starts one in the background if nobody has it open.
pub fn connector(folder: &ProjectFolder, project: &Project) -> SocketConnector {
    let (path, logs) = (project.path.clone(), folder.logs());
    let start = move || background::start(&path, &logs, &[]);
    SocketConnector::new(ServerPlace::new(folder, project.id), folder.lock()).or_start(Box::new(start))
}

/// Lets other processes join an engine. It works without them, too.
fn listen(handle: &Handle, home: &Home, project: ProjectId, now: Timestamp) -> Option<Server> {
    match Server::start(handle.clone(), home, project, now) {
        Ok(server) => Some(server),
        Err(fault) => {
            tracing::warn!(%fault, "other processes cannot join this engine");
            None
        }
    }
}

/// Returns the name that other clients see: the user's.
pub fn client_name() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "another client".to_owned())
}
