//! Accepts the connections of one sandbox.
//!
//! Memory and time are bounded whatever a client does: the number of connections, the size of a request's head, and the
//! time until it is complete. An established connection lasts as long as both ends want.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::dial::{Resolver, dial};
use super::gate::{Client, Gate, Refusal};
use super::host::Target;
use super::{http, socks};

/// How long to wait after a failure to accept, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The limits of one sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time. More wait.
    pub connections: usize,
    /// Bytes of the head of a request.
    pub head: usize,
    /// The time in which the head must arrive.
    pub head_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 256, head: 16 << 10, head_time: Duration::from_secs(15) }
    }
}

/// Serves the sandboxes of a project.
#[derive(Clone)]
pub struct Proxy {
    gate: Arc<Gate>,
    resolver: Arc<dyn Resolver>,
    pub(super) limits: Limits,
}

impl Proxy {
    pub fn new(gate: Arc<Gate>, resolver: Arc<dyn Resolver>, limits: Limits) -> Self {
        Self { gate, resolver, limits }
    }

    /// Serves the connections of one sandbox. Dropping the future ends all of them.
    pub async fn serve(self, listener: TcpListener, client: Arc<Client>) {
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let mut connections = JoinSet::new();
        loop {
            // Finished ones are forgotten at once.
            while connections.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the proxy cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let (proxy, client) = (self.clone(), Arc::clone(&client));
            connections.spawn(async move {
                if let Err(error) = proxy.connection(stream, &client).await {
                    tracing::debug!(%error, "a connection to the proxy ended");
                }
                drop(place);
            });
        }
    }

    async fn connection(self, mut stream: TcpStream, client: &Arc<Client>) -> io::Result<()> {
        let mut first = [0];
        if timeout(self.limits.head_time, stream.peek(&mut first)).await?? == 0 {
            return Ok(());
        }
        if first[0] != socks::VERSION {
            return http::serve(self, stream, Arc::clone(client)).await;
        }
        let Some(target) = timeout(self.limits.head_time, socks::request(&mut stream)).await?? else { return Ok(()) };
        let connected = match target {
            Ok(target) => self.connect(client, &target).await,
            Err(error) => Err(client.noted(error.into())),
        };
        match connected {
            Ok(mut upstream) => {
                socks::accept(&mut stream).await?;
                copy_bidirectional(&mut stream, &mut upstream).await.map(drop)
            }
            Err(refusal) => socks::refuse(&mut stream, &refusal).await,
        }
    }

    /// Connects a client to a host, or says why not.
    pub(super) async fn connect(&self, client: &Client, target: &Target) -> Result<TcpStream, Refusal> {
        let admitted = self.gate.admit(client, target).await;
        let connected = match admitted {
            Ok(grant) => dial(&*self.resolver, target, grant).await,
            Err(refusal) => Err(refusal),
        };
        connected.map_err(|refusal| client.noted(refusal))
    }
}
