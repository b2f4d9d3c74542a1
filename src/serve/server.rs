//! The server of one engine: it listens on the project's socket and serves each connection in its own task.
//!
//! The process that opens the engine starts it and closes it before it gives up the project's lock.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::connection::{self, Peer};
use super::http::HttpInfo;
use super::outcomes::Outcomes;
use super::place::{ServerFiles, ServerPlace};
use super::protocol::{Epoch, Goodbye};
use super::stream::Stream;
use super::{guard, place};
use crate::base::{Fault, ProjectId, Timestamp};
use crate::config::paths::Home;
use crate::engine::Handle;

/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 256;
/// How long to wait after a connection could not be accepted, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long clients may take to read the last updates when the server closes.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What all connections of a server share.
pub(super) struct Service {
    pub(super) handle: Handle,
    pub(super) stream: Arc<Stream>,
    pub(super) outcomes: Outcomes,
    pub(super) project: ProjectId,
    pub(super) closing: watch::Receiver<Option<Goodbye>>,
    /// The number of connections, which changes when a client comes or goes.
    pub(super) connected: watch::Sender<usize>,
    connections: TaskTracker,
}

impl Service {
    pub(super) fn epoch(&self) -> Epoch {
        self.stream.epoch()
    }
}

/// A running server. Dropping it without [`Server::close`] leaves its files, as a crash does.
pub struct Server {
    service: Arc<Service>,
    closing: watch::Sender<Option<Goodbye>>,
    files: Option<Arc<ServerFiles>>,
}

/// Why a server is closed.
pub type Closing = Goodbye;

impl Server {
    /// Listens on the project's socket. The caller holds the project's lock. Must be called inside a runtime.
    pub fn start(handle: Handle, home: &Home, project: ProjectId, started: Timestamp) -> Result<Self, Fault> {
        let place = ServerPlace::new(&home.project(project), project);
        let place::Listening { listener, files } = place.listen(started)?;
        let mut server = Self::without_socket(handle, project);
        server.files = Some(Arc::clone(&files));
        tokio::spawn(close_with_engine(server.service.handle.clone(), files, server.closing.clone()));
        tokio::spawn(accept(Arc::clone(&server.service), listener, home.clone()));
        Ok(server)
    }

    /// Returns a server that only serves the connections that it is given.
    pub fn without_socket(handle: Handle, project: ProjectId) -> Self {
        let (closing, is_closing) = watch::channel(None);
        let (connected, _) = watch::channel(0);
        let service = Arc::new(Service {
            stream: Stream::new(handle.clone(), Epoch::fresh()),
            handle,
            outcomes: Outcomes::default(),
            project,
            closing: is_closing,
            connected,
            connections: TaskTracker::new(),
        });
        Self { service, closing, files: None }
    }

    /// Writes into `serve.json` where this process serves HTTP.
    pub fn set_http(&self, http: HttpInfo) -> Result<(), Fault> {
        self.files.as_ref().map_or(Ok(()), |files| files.update(|info| info.http = Some(http)))
    }

    /// Writes into `serve.json` with which arguments `mxd serve` was started.
    pub fn set_arguments(&self, arguments: Vec<String>) -> Result<(), Fault> {
        self.files.as_ref().map_or(Ok(()), |files| files.update(|info| info.arguments = Some(arguments)))
    }

    /// Returns the stream of updates that the clients share.
    pub fn stream(&self) -> Arc<Stream> {
        Arc::clone(&self.service.stream)
    }

    /// Returns the number of connected clients, now and in future.
    pub fn connected(&self) -> watch::Receiver<usize> {
        self.service.connected.subscribe()
    }

    /// Serves a client of the same user over any connection.
    pub fn serve(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) {
        self.service.serve(Peer::User, reader, writer);
    }

    /// Ends the engine, unless it has ended. Clients read its last updates first.
    pub async fn end(self, handle: &Handle) {
        // Before the engine gives up the project's lock, so that nobody finds a socket of a former owner.
        self.stop_listening();
        handle.quit().await;
        self.close(handle.ended().await.into()).await;
    }

    /// Stops listening, tells all clients why, and waits a moment until they have read it.
    pub async fn close(self, why: Closing) {
        self.stop_listening();
        self.closing.send_replace(Some(why));
        self.service.connections.close();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.service.connections.wait()).await;
    }
}

impl Server {
    fn stop_listening(&self) {
        if let Some(files) = &self.files {
            files.remove();
        }
    }
}

impl Service {
    fn serve(
        self: &Arc<Self>,
        peer: Peer,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) {
        self.connections.spawn(connection::serve(Arc::clone(self), peer, reader, writer));
    }
}

async fn accept(service: Arc<Service>, listener: UnixListener, home: Home) {
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut closing = service.closing.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closing.wait_for(Option::is_some) => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Over the limit, the connection is closed at once.
        let Ok(permit) = Arc::clone(&free).try_acquire_owned() else { continue };
        let (service, home) = (Arc::clone(&service), home.clone());
        let connections = service.connections.clone();
        connections.spawn(async move {
            let _permit = permit;
            if let Some(peer) = identify(&stream, home).await {
                let (reader, writer) = stream.into_split();
                connection::serve(service, peer, reader, writer).await;
            }
        });
    }
}

/// Tells the clients when the engine has ended by itself, for example because a client asked for it.
async fn close_with_engine(handle: Handle, files: Arc<ServerFiles>, closing: watch::Sender<Option<Goodbye>>) {
    let goodbye = Goodbye::from(handle.ended().await);
    files.remove();
    closing.send_if_modified(|why| why.replace(why.unwrap_or(goodbye)).is_none());
}

/// Returns who is at the other end. `None` for another user, or if the system does not tell.
async fn identify(stream: &UnixStream, home: Home) -> Option<Peer> {
    let credentials = match stream.peer_cred() {
        Ok(credentials) => credentials,
        Err(error) => {
            tracing::warn!(%error, "the credentials of a client cannot be read");
            return None;
        }
    };
    if credentials.uid() != rustix::process::geteuid().as_raw() {
        tracing::warn!(uid = credentials.uid(), "a client of another user was refused");
        return None;
    }
    // Without a process id nobody can tell whether an agent started it.
    let Some(pid) = credentials.pid() else { return Some(Peer::Agent) };
    let is_agent = tokio::task::spawn_blocking(move || guard::descends_from_agent(&home, pid)).await.ok()?;
    Some(if is_agent { Peer::Agent } else { Peer::User })
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
