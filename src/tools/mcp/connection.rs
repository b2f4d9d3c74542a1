//! One live connection: the handshake, the list of tools, calls, and its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, JsonObject, PaginatedRequestParams, PingRequest,
    ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{Peer, ServiceError};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::base::{sanitize, text};
use crate::config::Server;
use crate::process::{Process, ProcessExit};
use crate::tools::mcp::client::Client;
use crate::tools::mcp::failure::{chain, error_text, seconds, unsent};
use crate::tools::mcp::message_limit::{self, LineReader};
use crate::tools::mcp::offers::Offers;
use crate::tools::mcp::pool::Options;
use crate::tools::mcp::redact::Redactor;
use crate::tools::mcp::transport::{self, ServerTransport};

/// A younger list of tools is not requested again.
const FRESH: Duration = Duration::from_secs(2);
/// A server that lists more than this is assumed to list without end.
const MAX_PAGES: usize = 200;
const MAX_TOOLS: usize = 2_000;
/// How long a server may take to exit by itself after its input was closed.
const CLOSE_GRACE: Duration = Duration::from_secs(1);
/// How long to wait for the exit of a process after its pipe closed.
const EXIT_WAIT: Duration = Duration::from_millis(500);
/// How often a remote server is pinged while a call waits for it.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const LAST_LINES: usize = 10;
const LAST_BYTES: usize = 2_000;

/// A live connection.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    /// `None` for a remote server.
    process: Option<Process>,
    server: String,
    listing: Mutex<(Arc<Offers>, Instant)>,
    stale: Arc<AtomicBool>,
    since: Instant,
    /// The time of the last answer.
    last_answer: Mutex<Instant>,
}

impl Connection {
    /// Starts a server, performs the handshake and lists its tools, all within `limit`. A failure leaves no process
    /// behind.
    pub(super) async fn open(
        server: &Server,
        options: &Options,
        limit: Duration,
        closing: &CancellationToken,
        redactor: &Arc<Redactor>,
    ) -> Result<Self, String> {
        let deadline = Instant::now() + limit;
        let newest = vec![ProtocolVersion::V_2026_07_28];
        let either = ClientLifecycleMode::Auto { preferred_versions: newest, legacy_version: None };
        let attempt = Attempt { server, options, deadline, limit, closing, redactor };
        match attempt.make(either).await {
            Ok(connection) => Ok(connection),
            // Old servers may close the connection on an unknown request instead of refusing it.
            Err(Refusal { retry_legacy: true, reason }) => {
                let again = attempt.make(ClientLifecycleMode::Initialize).await;
                again.map_err(|refusal| if refusal.reason.is_empty() { reason } else { refusal.reason })
            }
            Err(refusal) => Err(refusal.reason),
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        let ended = self.process.as_ref().is_some_and(|process| process.phase().exit().is_some());
        ended || self.service.peer().is_transport_closed()
    }

    pub(super) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    pub(super) fn offers(&self) -> Arc<Offers> {
        let listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&listing.0)
    }

    /// Requests the list of tools.
    pub(super) async fn refresh_offers(&self) -> Result<Arc<Offers>, ServiceError> {
        // Cleared first: a change announced while the list is read makes it stale again.
        self.stale.store(false, Ordering::Release);
        let offers = Arc::new(list(self.service.peer(), &self.server).await?);
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        *listing = (Arc::clone(&offers), Instant::now());
        Ok(offers)
    }

    /// Returns the tools. Requests them again if the list is old or stale.
    pub(super) async fn current_offers(&self) -> Result<Arc<Offers>, ServiceError> {
        let young = {
            let listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
            listing.1.elapsed() < FRESH
        };
        if young && !self.is_stale() { Ok(self.offers()) } else { self.refresh_offers().await }
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    /// Calls a tool. Dropping the future tells the server to stop.
    pub(super) async fn call(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let called = tokio::select! {
            called = self.service.call_tool(params) => called,
            error = self.wait_until_unreachable() => Err(error),
        };
        self.record_answer(&called);
        called
    }

    /// Waits until a remote server is unreachable. The end of a local process is noticed without asking.
    async fn wait_until_unreachable(&self) -> ServiceError {
        if self.process.is_some() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(PING_INTERVAL).await;
            // A server that is too busy to answer is not gone.
            if let Ok(Err(error)) = timeout(PING_INTERVAL, self.ping()).await
                && is_lost(&error)
            {
                return error;
            }
        }
    }

    /// Returns true if the server has answered any request since `then`, or answers a ping within `limit`.
    pub(super) async fn is_responsive(&self, then: Instant, limit: Duration) -> bool {
        let last_answer = *self.last_answer.lock().unwrap_or_else(PoisonError::into_inner);
        last_answer > then || matches!(timeout(limit, self.ping()).await, Ok(Ok(())))
    }

    /// Pings the server. A refusal counts as an answer.
    async fn ping(&self) -> Result<(), ServiceError> {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = self.service.peer().send_request(ping).await;
        self.record_answer(&answered);
        match answered {
            Err(error) if is_lost(&error) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn record_answer<T>(&self, answered: &Result<T, ServiceError>) {
        if matches!(answered, Ok(_) | Err(ServiceError::McpError(_))) {
            *self.last_answer.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }

    /// Returns how the server ended, and the end of its error stream.
    pub(super) async fn exit_report(&self) -> (Option<String>, String) {
        let Some(process) = &self.process else { return (None, String::new()) };
        let exit = timeout(EXIT_WAIT, process.wait_exited()).await.ok();
        (exit.map(exit_text), last_words(process))
    }

    pub(super) fn protocol(&self) -> String {
        self.service.peer().peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    pub(super) fn pid(&self) -> Option<i32> {
        self.process.as_ref().map(Process::pid)
    }

    /// Closes the connection and waits until the process has ended.
    pub(super) async fn close(&self) {
        self.service.cancellation_token().cancel();
        if let Some(process) = &self.process {
            end(process).await;
        }
    }
}

struct Attempt<'a> {
    server: &'a Server,
    options: &'a Options,
    deadline: Instant,
    limit: Duration,
    closing: &'a CancellationToken,
    redactor: &'a Arc<Redactor>,
}

struct Refusal {
    reason: String,
    /// The server may understand the older handshake.
    retry_legacy: bool,
}

/// A failed attempt, before the exit of the process is known.
struct AttemptFailure {
    reason: String,
    /// The server closed the connection.
    hung_up: bool,
    retry_legacy: bool,
}

impl Attempt<'_> {
    async fn make(&self, lifecycle: ClientLifecycleMode) -> Result<Connection, Refusal> {
        let Server { name, server, .. } = self.server;
        let final_refusal = |reason| Refusal { reason, retry_legacy: false };
        let client = Client::default();
        let stale = Arc::clone(&client.stale);
        let is_first = !matches!(lifecycle, ClientLifecycleMode::Initialize);
        let (process, met) = match transport::open(name, server, self.options, self.redactor).map_err(final_refusal)? {
            ServerTransport::Stdio(process, pipes) => {
                let line = AsyncRwTransport::new_client(LineReader::new(pipes.output), pipes.input);
                let meeting = client.serve_with_lifecycle(line.with_max_line_length(message_limit::LONGEST), lifecycle);
                let met = self.within(meeting).await;
                (Some(process), met)
            }
            ServerTransport::Http(transport) => {
                (None, self.within(client.serve_with_lifecycle(transport, lifecycle)).await)
            }
        };
        let trouble = match met {
            Some(Ok(service)) => match self.within(list(service.peer(), name)).await {
                Some(Ok(offers)) => {
                    let listing = Mutex::new((Arc::new(offers), Instant::now()));
                    let (server, since, last_answer) = (name.clone(), Instant::now(), Mutex::new(Instant::now()));
                    return Ok(Connection { service, process, server, listing, stale, since, last_answer });
                }
                Some(Err(error)) => AttemptFailure {
                    reason: format!("Its tools could not be listed: {}.", service_error(&error)),
                    hung_up: is_lost(&error),
                    retry_legacy: false,
                },
                None => self.out_of_time(),
            },
            Some(Err(error)) => {
                let closed = matches!(error, ClientInitializeError::ConnectionClosed(_));
                let retry = is_first && (closed || process.is_none()) && !error.is_authorization_required();
                AttemptFailure {
                    reason: initialize_error(&error),
                    hung_up: closed || matches!(error, ClientInitializeError::TransportError { .. }),
                    retry_legacy: retry && !self.closing.is_cancelled(),
                }
            }
            None => self.out_of_time(),
        };
        let AttemptFailure { reason, hung_up, retry_legacy } = trouble;
        let Some(process) = process else { return Err(Refusal { reason, retry_legacy }) };
        let exit = if hung_up { timeout(EXIT_WAIT, process.wait_exited()).await.ok() } else { None };
        end(&process).await;
        let reason = match exit {
            Some(exit) => format!("It ended before it was ready ({}).", exit_text(exit)),
            None => reason,
        };
        Err(Refusal { reason: reason + &last_words(&process), retry_legacy })
    }

    fn out_of_time(&self) -> AttemptFailure {
        let reason = if self.closing.is_cancelled() {
            "The pool of servers was shut down.".to_owned()
        } else {
            format!("It was not ready within {}.", seconds(self.limit))
        };
        AttemptFailure { reason, hung_up: false, retry_legacy: false }
    }

    /// Returns `None` if the time is up.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = tokio::time::timeout_at(self.deadline, work) => done.ok(),
            () = self.closing.cancelled() => None,
        }
    }
}

/// Ends a server whose input is already closed: well-behaved ones exit by themselves.
async fn end(process: &Process) {
    if timeout(CLOSE_GRACE, process.wait_gone()).await.is_err() {
        process.kill();
        process.wait_gone().await;
    }
}

/// Lists every tool, page by page.
async fn list(peer: &Peer<RoleClient>, server: &str) -> Result<Offers, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= MAX_TOOLS {
            break;
        }
    }
    let excess = tools.len().saturating_sub(MAX_TOOLS);
    tools.truncate(MAX_TOOLS);
    let mut offers = Offers::new(server, tools);
    if excess > 0 || cursor.is_some() {
        offers.left_out.push(format!("It lists more than {MAX_TOOLS} tools; the rest is left out."));
    }
    Ok(offers)
}

fn exit_text(exit: ProcessExit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "cause unknown".to_owned(),
    }
}

/// Returns the end of the server's error stream, to append to a sentence.
fn last_words(process: &Process) -> String {
    let snapshot = process.output().snapshot();
    let text = String::from_utf8_lossy(&snapshot.tail);
    let text = sanitize::lines(&text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
    if last.is_empty() {
        String::new()
    } else {
        format!("\nLast lines of its error stream:\n{}", text::suffix(&last, LAST_BYTES))
    }
}

/// Returns true if an error means that the connection is lost.
pub(super) fn is_lost(error: &ServiceError) -> bool {
    matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_))
}

pub(super) fn service_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(data) => error_text(data),
        ServiceError::TransportSend(error) => unsent(error),
        other => chain(other),
    }
}

fn initialize_error(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "It requires authentication: put its token into the \"headers\" of its entry.".to_owned();
    }
    match error {
        ClientInitializeError::JsonRpcError(data) => format!("It refused the connection: {}.", error_text(data)),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => initialize_error(fallback),
        ClientInitializeError::ConnectionClosed(_) => "It closed the connection before it was ready.".to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            format!("It could not be reached: {}.", unsent(error))
        }
        other => format!("It could not be understood: {}.", chain(other)),
    }
}
