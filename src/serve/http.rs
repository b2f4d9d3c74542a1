//! The engine over HTTP: JSON, server-sent events and one web page, as one more client of the same engine.
//!
//! Owns routes, tokens and scopes, the guard that every request passes, outcomes that are kept for repeated requests,
//! and the listeners. Invariants: nothing is served without a valid token except health and the files of the page; a
//! refused request changes nothing; no answer contains a known secret; a request with an `Idempotency-Key` is carried
//! out once. It makes no decisions about tasks: it passes commands and queries to a
//! [`Handle`](crate::engine::Handle).

mod access;
mod connection;
mod error;
mod guard;
mod idempotency;
mod listen;
pub mod openapi;
mod page;
mod peer;
mod projects;
mod range;
mod rate_limit;
mod request;
mod routes;
mod scope;
mod session;
mod sse;
pub mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

pub use connection::Timeouts;
pub use listen::{Listen, TlsFiles};
pub use projects::HttpProject;
pub use scope::Scope;

use crate::base::{Clock, Fault, Secret, known_secrets};
use crate::config::paths::Home;
use access::Access;
use listen::Bound;
use projects::Projects;
use tokens::TokenFile;

/// How long clients may take to read their last answers when the server closes.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What the server needs to know besides its projects.
pub struct HttpOptions {
    pub home: Home,
    pub clock: Arc<dyn Clock>,
    /// Names under which the server may be addressed, besides those of this machine's loopback interface.
    pub hosts: Vec<String>,
    pub timeouts: Timeouts,
}

/// Where a running server can be reached: the `http` part of `serve.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpInfo {
    pub host: String,
    pub port: u16,
    /// Whether it speaks HTTPS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// The token of this start, with all scopes.
    pub token: Secret,
}

/// What all requests share.
struct Shared {
    access: Arc<Access>,
    projects: Projects,
    hosts: Vec<String>,
    home: Home,
    closing: watch::Receiver<bool>,
}

/// A running server.
pub struct HttpServer {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    info: HttpInfo,
    closing: watch::Sender<bool>,
    connections: TaskTracker,
}

/// Listens and serves these projects. Must be called inside a runtime.
pub async fn start(listen: Vec<Listen>, projects: Vec<HttpProject>, options: HttpOptions) -> Result<HttpServer, Fault> {
    let HttpOptions { home, clock, mut hosts, timeouts } = options;
    let mut bound = Vec::new();
    for listen in listen {
        bound.push(Bound::open(listen).await?);
    }
    let Some(first) = bound.first() else { return Err(Fault::user("no address to listen on was given")) };
    let token = tokens::fresh_token()?;
    known_secrets::remember([token.expose().to_owned()]);
    let info = HttpInfo {
        host: first.address.ip().to_string(),
        port: first.address.port(),
        tls: first.is_tls(),
        token: token.clone(),
    };
    let access = Access::open(TokenFile::new(&home), &token, Arc::clone(&clock))?;
    tokio::spawn(Arc::clone(&access).watch_file());
    hosts.extend(bound.iter().map(|bound| bound.address.ip().to_string()));
    let (closing, is_closing) = watch::channel(false);
    let projects = Projects::open(projects, &home, &clock)?;
    let shared = Arc::new(Shared { access, projects, hosts, home, closing: is_closing });
    let router = routes::router(Arc::clone(&shared));
    let connections = TaskTracker::new();
    let addresses = bound.iter().map(|bound| bound.address).collect();
    for bound in bound {
        let (router, closing) = (router.clone(), shared.closing.clone());
        let accepting = connection::accept(bound, router, timeouts, closing, connections.clone());
        tokio::spawn(accepting);
    }
    Ok(HttpServer { shared, addresses, info, closing, connections })
}

impl HttpServer {
    /// Returns the addresses that it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns where and with which token it can be reached.
    pub fn info(&self) -> &HttpInfo {
        &self.info
    }

    /// Returns a link that opens the page once, with all scopes.
    pub fn page_link(&self) -> Result<String, Fault> {
        let ticket = self.shared.access.ticket_of_start_token()?;
        let scheme = if self.info.tls { "https" } else { "http" };
        let is_ipv6 = self.info.host.contains(':');
        let host = if is_ipv6 { format!("[{}]", self.info.host) } else { self.info.host.clone() };
        Ok(format!("{scheme}://{host}:{}/?t={}", self.info.port, ticket.expose()))
    }

    /// Stops listening and waits a moment until clients have read their last answers.
    pub async fn close(self) {
        self.closing.send_replace(true);
        self.connections.close();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.connections.wait()).await;
    }
}
