//! One configured server and its connection: started on first use, shared by all callers, stopped when unused,
//! restarted after it ends.
//!
//! The phase is the only state, behind one lock. The caller that changes it to "starting" starts the server, so that
//! it is started once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ServiceError;
use rmcp::model::{CallToolResult, ErrorCode, JsonObject};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::{Server, ServerState};
use crate::tools::mcp::backoff::Backoff;
use crate::tools::mcp::connection::{Connection, is_lost, service_error};
use crate::tools::mcp::failure::{Failure, error_text, seconds};
use crate::tools::mcp::offers::{Offer, Offers};
use crate::tools::mcp::pool::Options;
use crate::tools::mcp::redact::Redactor;
use crate::tools::names;
use crate::tools::tool::ToolEffect;

/// Extra time after the limit of a start, for ending a failed server.
const START_SLACK: Duration = Duration::from_secs(10);
/// How long a server may take to answer a ping after a call timed out.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// The status of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerHealth {
    /// It is not in use.
    NotStarted,
    Starting,
    Ready {
        /// The server's names of its tools.
        tools: Vec<String>,
        /// Why some of its tools are not offered.
        left_out: Vec<String>,
        /// The protocol version.
        protocol: String,
        /// `None` for a remote server.
        pid: Option<i32>,
    },
    Failed {
        reason: String,
        /// When it may be started again.
        #[serde(rename = "next_try_in_ms", serialize_with = "millis")]
        next_try: Duration,
    },
    /// It is declared by the repository and not approved.
    NeedsApproval {
        hash: String,
    },
    Disabled,
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    pub server: String,
    #[serde(flatten)]
    pub health: ServerHealth,
}

#[derive(Clone)]
enum Phase {
    Idle,
    Starting,
    Ready(Arc<Connection>),
    Failed { reason: String, until: Instant },
}

/// One server of a pool.
pub(super) struct Slot {
    pub(super) server: Server,
    options: Arc<Options>,
    redactor: Arc<Redactor>,
    phase: watch::Sender<Phase>,
    backoff: Mutex<Backoff>,
    users: AtomicUsize,
    /// Counts the times the last user left, so that an old timer does not stop a server that was used again.
    idleness: AtomicU64,
    closing: CancellationToken,
}

impl Slot {
    pub(super) fn new(server: Server, options: Arc<Options>, closing: CancellationToken) -> Self {
        Self {
            redactor: Arc::new(Redactor::new(&server.server)),
            server,
            options,
            phase: watch::Sender::new(Phase::Idle),
            backoff: Mutex::default(),
            users: AtomicUsize::new(0),
            idleness: AtomicU64::new(0),
            closing,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.server.name
    }

    pub(super) fn health(&self) -> ServerHealth {
        match &self.server.state {
            ServerState::NeedsApproval { hash } => return ServerHealth::NeedsApproval { hash: hash.clone() },
            ServerState::Disabled => return ServerHealth::Disabled,
            ServerState::Active => {}
        }
        match &*self.phase.borrow() {
            Phase::Idle => ServerHealth::NotStarted,
            Phase::Starting => ServerHealth::Starting,
            // It ended unnoticed; the next caller starts it again.
            Phase::Ready(connection) if connection.is_dead() => ServerHealth::NotStarted,
            Phase::Ready(connection) => {
                let offers = connection.offers();
                ServerHealth::Ready {
                    tools: offers.tools.iter().map(|offer| offer.name.clone()).collect(),
                    left_out: offers.left_out.clone(),
                    protocol: connection.protocol(),
                    pid: connection.pid(),
                }
            }
            Phase::Failed { reason, until } => ServerHealth::Failed {
                reason: reason.clone(),
                next_try: until.saturating_duration_since(Instant::now()),
            },
        }
    }

    /// Returns the server's tools, starting it if it does not run.
    pub(super) async fn offers(self: &Arc<Self>) -> Result<Arc<Offers>, Failure> {
        let connection = self.connect().await?;
        match connection.current_offers().await {
            Ok(offers) => Ok(offers),
            Err(error) if is_lost(&error) => Err(self.on_lost(&connection, &error).await),
            // The server answers other requests; its earlier tools may still work.
            Err(_) => Ok(connection.offers()),
        }
    }

    /// Returns the effect of a tool, or `None` if the server does not run or has no such tool.
    pub(super) fn effect(&self, wire: &str) -> Option<ToolEffect> {
        match &*self.phase.borrow() {
            Phase::Ready(connection) => connection.offers().find(wire).map(|offer| offer.effect),
            Phase::Idle | Phase::Starting | Phase::Failed { .. } => None,
        }
    }

    /// Calls the tool with this wire name.
    pub(super) async fn call(self: &Arc<Self>, wire: &str, input: JsonObject) -> Result<CallToolResult, Failure> {
        let connection = self.connect().await?;
        let limit = self.server.server.timeout;
        let timed_out = || Failure::TimedOut { server: self.name().to_owned(), tool: tool_name(wire), limit };
        let work = async {
            let offer = self.offer(&connection, wire).await?;
            let called = connection.call(&offer.name, input).await;
            match called {
                Ok(result) => Ok(result),
                Err(error) => Err(self.explain(&connection, error).await),
            }
        };
        let started = Instant::now();
        timeout(limit, work).await.unwrap_or_else(|_| {
            tokio::spawn(Arc::clone(self).drop_if_unresponsive(Arc::clone(&connection), started));
            Err(timed_out())
        })
    }

    /// Drops a connection whose server no longer answers. A call that takes too long proves nothing by itself.
    async fn drop_if_unresponsive(self: Arc<Self>, connection: Arc<Connection>, since: Instant) {
        let patience = self.server.server.timeout.min(PING_TIMEOUT);
        if !connection.is_responsive(since, patience).await {
            self.drop_connection(&connection, || "It no longer answered.".to_owned());
        }
    }

    pub(super) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns `text` without this server's secrets and without anything that looks like one.
    pub(super) fn clean(&self, text: &str) -> String {
        self.redactor.clean(text)
    }

    async fn offer(self: &Arc<Self>, connection: &Arc<Connection>, wire: &str) -> Result<Arc<Offer>, Failure> {
        let known = connection.offers().find(wire).cloned();
        if let Some(offer) = known.filter(|_| !connection.is_stale()) {
            return Ok(offer);
        }
        let offers = match connection.refresh_offers().await {
            Ok(offers) => offers,
            Err(error) => return Err(self.explain(connection, error).await),
        };
        let gone = || Failure::NotOffered { server: self.name().to_owned(), tool: tool_name(wire) };
        offers.find(wire).cloned().ok_or_else(gone)
    }

    async fn explain(self: &Arc<Self>, connection: &Arc<Connection>, error: ServiceError) -> Failure {
        let server = self.name().to_owned();
        match error {
            error if is_lost(&error) => self.on_lost(connection, &error).await,
            // Our own "no such method", which ended the call: the server requested a model's answer.
            ServiceError::McpError(data)
                if data.code == ErrorCode::METHOD_NOT_FOUND && data.message == "sampling/createMessage" =>
            {
                Failure::NeedsInput { server }
            }
            ServiceError::McpError(data) => Failure::Refused { server, message: error_text(&data) },
            ServiceError::InputRequiredRoundsExceeded { .. } => Failure::NeedsInput { server },
            error => Failure::Unreadable { server, problem: service_error(&error) },
        }
    }

    /// Returns the connection, starting the server and waiting for it if necessary.
    async fn connect(self: &Arc<Self>) -> Result<Arc<Connection>, Failure> {
        if let Some(reason) = self.blocked_reason() {
            return Err(self.unavailable(reason));
        }
        let mut phases = self.phase.subscribe();
        let patience = self.options.limits.start + START_SLACK;
        let waiting = async {
            loop {
                self.start_if_needed();
                let phase = phases.wait_for(|phase| !matches!(phase, Phase::Starting)).await;
                match phase.map(|phase| phase.clone()) {
                    Ok(Phase::Ready(connection)) if !connection.is_dead() => return Ok(connection),
                    Ok(Phase::Failed { reason, until }) => {
                        let wait = until.saturating_duration_since(Instant::now());
                        return Err(self.unavailable(with_next_try(&reason, wait)));
                    }
                    // It ended or was stopped right after it was ready.
                    Ok(Phase::Ready(_) | Phase::Idle | Phase::Starting) => {}
                    Err(_) => return Err(self.unavailable("It is shut down.".to_owned())),
                }
                if self.closing.is_cancelled() {
                    return Err(self.unavailable("The pool of servers was shut down.".to_owned()));
                }
            }
        };
        let late = || Err(self.unavailable("It is still starting.".to_owned()));
        timeout(patience, waiting).await.unwrap_or_else(|_| late())
    }

    fn blocked_reason(&self) -> Option<String> {
        match &self.server.state {
            ServerState::NeedsApproval { .. } => Some(unapproved(self.name())),
            ServerState::Disabled => Some("It is disabled in the settings.".to_owned()),
            ServerState::Active if self.closing.is_cancelled() => Some("The pool of servers was shut down.".to_owned()),
            ServerState::Active => None,
        }
    }

    fn unavailable(&self, reason: String) -> Failure {
        Failure::Unavailable { server: self.name().to_owned(), reason }
    }

    fn start_if_needed(self: &Arc<Self>) {
        let started = self.phase.send_if_modified(|phase| {
            if let Phase::Ready(connection) = phase
                && connection.is_dead()
            {
                *phase = self.after(connection, "It ended.".to_owned());
            }
            let start = match phase {
                Phase::Idle => true,
                Phase::Failed { until, .. } => Instant::now() >= *until,
                Phase::Starting | Phase::Ready(_) => false,
            };
            if start {
                *phase = Phase::Starting;
            }
            start
        });
        if started {
            let slot = Arc::clone(self);
            tokio::spawn(async move { slot.start().await });
        }
    }

    async fn start(self: Arc<Self>) {
        let limit = self.options.limits.start;
        let opened = Connection::open(&self.server, &self.options, limit, &self.closing, &self.redactor).await;
        let phase = match opened {
            Ok(connection) => Phase::Ready(Arc::new(connection)),
            Err(reason) => {
                let reason = self.clean(&reason);
                tracing::warn!(server = self.name(), reason, "a tool server did not start");
                Phase::Failed { reason, until: Instant::now() + self.backoff().failed() }
            }
        };
        self.phase.send_replace(phase);
        self.stop_if_unused();
    }

    fn backoff(&self) -> std::sync::MutexGuard<'_, Backoff> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the phase after the end of a connection.
    fn after(&self, connection: &Connection, reason: String) -> Phase {
        let pause = self.backoff().on_exit(connection.age());
        if pause.is_zero() { Phase::Idle } else { Phase::Failed { reason, until: Instant::now() + pause } }
    }

    /// Drops a lost connection and returns the failure.
    async fn on_lost(self: &Arc<Self>, connection: &Arc<Connection>, error: &ServiceError) -> Failure {
        let (ending, last_words) = connection.exit_report().await;
        let how = self.clean(&ending.unwrap_or_else(|| service_error(error)));
        self.drop_connection(connection, || self.clean(&format!("It ended ({how}).{last_words}")));
        Failure::Gone { server: self.name().to_owned(), how, last_words }
    }

    /// Drops a connection. If several calls were lost with it, the first reason counts.
    fn drop_connection(&self, connection: &Arc<Connection>, reason: impl FnOnce() -> String) {
        self.phase.send_if_modified(|phase| {
            let same = matches!(phase, Phase::Ready(current) if Arc::ptr_eq(current, connection));
            if same {
                *phase = self.after(connection, reason());
            }
            same
        });
    }

    /// Stops the server after a period without users.
    fn stop_if_unused(self: &Arc<Self>) {
        if self.users.load(Ordering::Acquire) > 0 {
            return;
        }
        let idleness = self.idleness.fetch_add(1, Ordering::AcqRel) + 1;
        // Without a runtime no server runs.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (slot, grace) = (Arc::downgrade(self), self.options.limits.grace);
        runtime.spawn(async move {
            tokio::time::sleep(grace).await;
            let Some(slot) = slot.upgrade() else { return };
            slot.phase.send_if_modified(|phase| {
                let unused = slot.users.load(Ordering::Acquire) == 0;
                let rests = unused && slot.idleness.load(Ordering::Acquire) == idleness;
                let lets_go = rests && matches!(phase, Phase::Ready(_));
                if lets_go {
                    *phase = Phase::Idle;
                }
                lets_go
            });
        });
    }

    /// Drops the connection without waiting for its end.
    pub(super) fn abandon(&self) {
        self.phase.send_replace(Phase::Idle);
    }

    /// Ends the server and waits for it. Called after the pool is closed.
    pub(super) async fn close(&self) {
        let mut phases = self.phase.subscribe();
        // A pending start notices the closing by itself.
        let _ = phases.wait_for(|phase| !matches!(phase, Phase::Starting)).await;
        if let Phase::Ready(connection) = self.phase.send_replace(Phase::Idle) {
            connection.close().await;
        }
    }
}

pub(super) fn unapproved(name: &str) -> String {
    format!(
        "The repository declares it, but it is not approved. The user can approve it with `mxd mcp approve {name}`."
    )
}

fn tool_name(wire: &str) -> String {
    names::split(wire).map_or(wire, |(_, name)| name).to_owned()
}

/// Inserts the time of the next attempt before the server's own message.
fn with_next_try(reason: &str, wait: Duration) -> String {
    let wait = Duration::from_secs(wait.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX));
    let (ours, theirs) = reason.split_at(reason.find('\n').unwrap_or(reason.len()));
    format!("{ours} The next attempt is in {} at the earliest.{theirs}", seconds(wait))
}

/// Keeps a server running while it exists.
pub(super) struct Lease(Arc<Slot>);

impl Lease {
    pub(super) fn new(slot: &Arc<Slot>) -> Self {
        slot.users.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(slot))
    }

    pub(super) fn slot(&self) -> &Arc<Slot> {
        &self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.stop_if_unused();
        }
    }
}
