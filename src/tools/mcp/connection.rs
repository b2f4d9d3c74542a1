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
use crate::process::{Exit, Process};
use crate::tools::mcp::answers::{self, Answers};
use crate::tools::mcp::client::Client;
use crate::tools::mcp::failure::{chain, complaint, seconds, unsent};
use crate::tools::mcp::offers::Offers;
use crate::tools::mcp::pool::Options;
use crate::tools::mcp::redact::Redactor;
use crate::tools::mcp::transport::{self, Line};

/// A list of tools this young is not asked for again.
const FRESH: Duration = Duration::from_secs(2);
/// A server that lists more than this lists without end.
const MOST_PAGES: usize = 200;
const MOST_TOOLS: usize = 2_000;
/// How long a server may take to end by itself once nobody speaks with it any more.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long the end of a process may take to be noticed after its pipe closed.
const POST_MORTEM: Duration = Duration::from_millis(500);
/// How often a server elsewhere is asked whether it is still there, while somebody waits for it.
const PULSE: Duration = Duration::from_secs(5);
const LAST_LINES: usize = 10;
const LAST_BYTES: usize = 2_000;

/// A server that answers.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    /// Nothing: it runs elsewhere.
    process: Option<Process>,
    server: String,
    listing: Mutex<(Arc<Offers>, Instant)>,
    stale: Arc<AtomicBool>,
    since: Instant,
    /// When it last answered anything.
    heard: Mutex<Instant>,
}

impl Connection {
    /// Starts a server, shakes hands and reads its tools, all within `limit`. A failure leaves no process behind.
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
            // Old servers may hang up on a question they do not know, instead of saying so.
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

    /// Returns the tools as the server lists them now.
    pub(super) async fn relisted(&self) -> Result<Arc<Offers>, ServiceError> {
        // Cleared first: a change that is announced while the list is read makes it old again.
        self.stale.store(false, Ordering::Release);
        let offers = Arc::new(list(self.service.peer(), &self.server).await?);
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        *listing = (Arc::clone(&offers), Instant::now());
        Ok(offers)
    }

    /// Returns the tools, asked for again if the last list has aged or the server said that it changed.
    pub(super) async fn current(&self) -> Result<Arc<Offers>, ServiceError> {
        let young = {
            let listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
            listing.1.elapsed() < FRESH
        };
        if young && !self.is_stale() { Ok(self.offers()) } else { self.relisted().await }
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    /// Calls a tool. Dropping the future tells the server to stop.
    pub(super) async fn call(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let called = tokio::select! {
            called = self.service.call_tool(params) => called,
            error = self.faded() => Err(error),
        };
        self.hear(&called);
        called
    }

    /// Waits until a server elsewhere is found to be gone. That of a process shows without asking.
    async fn faded(&self) -> ServiceError {
        if self.process.is_some() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(PULSE).await;
            // One that is too busy to answer is not gone.
            if let Ok(Err(error)) = timeout(PULSE, self.ping()).await
                && is_lost(&error)
            {
                return error;
            }
        }
    }

    /// Tells whether the server has answered anybody since `then`, or does so now, within `limit`.
    pub(super) async fn answers(&self, then: Instant, limit: Duration) -> bool {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard > then || matches!(timeout(limit, self.ping()).await, Ok(Ok(())))
    }

    /// Asks for a sign of life. A refusal is one.
    async fn ping(&self) -> Result<(), ServiceError> {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered = self.service.peer().send_request(ping).await;
        self.hear(&answered);
        match answered {
            Err(error) if is_lost(&error) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn hear<T>(&self, answered: &Result<T, ServiceError>) {
        if matches!(answered, Ok(_) | Err(ServiceError::McpError(_))) {
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }

    /// Returns how it ended, and its last words.
    pub(super) async fn epitaph(&self) -> (Option<String>, String) {
        let Some(process) = &self.process else { return (None, String::new()) };
        let exit = timeout(POST_MORTEM, process.left()).await.ok();
        (exit.map(ending), last_words(process))
    }

    pub(super) fn protocol(&self) -> String {
        self.service.peer().peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    pub(super) fn pid(&self) -> Option<i32> {
        self.process.as_ref().map(Process::pid)
    }

    /// Says farewell and waits until nothing of it runs any more.
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
    /// It may understand the older handshake.
    retry_legacy: bool,
}

/// What went wrong, before it is known what became of the process.
struct Trouble {
    reason: String,
    /// The server is the one who ended it.
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
            Line::Stdio(process, pipes) => {
                let line = AsyncRwTransport::new_client(Answers::new(pipes.output), pipes.input);
                let meeting = client.serve_with_lifecycle(line.with_max_line_length(answers::LONGEST), lifecycle);
                let met = self.within(meeting).await;
                (Some(process), met)
            }
            Line::Http(transport) => (None, self.within(client.serve_with_lifecycle(transport, lifecycle)).await),
        };
        let trouble = match met {
            Some(Ok(service)) => match self.within(list(service.peer(), name)).await {
                Some(Ok(offers)) => {
                    let listing = Mutex::new((Arc::new(offers), Instant::now()));
                    let (server, since, heard) = (name.clone(), Instant::now(), Mutex::new(Instant::now()));
                    return Ok(Connection { service, process, server, listing, stale, since, heard });
                }
                Some(Err(error)) => Trouble {
                    reason: format!("Its tools could not be listed: {}.", service_error(&error)),
                    hung_up: is_lost(&error),
                    retry_legacy: false,
                },
                None => self.out_of_time(),
            },
            Some(Err(error)) => {
                let closed = matches!(error, ClientInitializeError::ConnectionClosed(_));
                let retry = is_first && (closed || process.is_none()) && !error.is_authorization_required();
                Trouble {
                    reason: initialize_error(&error),
                    hung_up: closed || matches!(error, ClientInitializeError::TransportError { .. }),
                    retry_legacy: retry && !self.closing.is_cancelled(),
                }
            }
            None => self.out_of_time(),
        };
        let Trouble { reason, hung_up, retry_legacy } = trouble;
        let Some(process) = process else { return Err(Refusal { reason, retry_legacy }) };
        let exit = if hung_up { timeout(POST_MORTEM, process.left()).await.ok() } else { None };
        end(&process).await;
        let reason = match exit {
            Some(exit) => format!("It ended before it was ready ({}).", ending(exit)),
            None => reason,
        };
        Err(Refusal { reason: reason + &last_words(&process), retry_legacy })
    }

    fn out_of_time(&self) -> Trouble {
        let reason = if self.closing.is_cancelled() {
            "The pool of servers was shut down.".to_owned()
        } else {
            format!("It was not ready within {}.", seconds(self.limit))
        };
        Trouble { reason, hung_up: false, retry_legacy: false }
    }

    /// Returns nothing if there is no time left for it.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = tokio::time::timeout_at(self.deadline, work) => done.ok(),
            () = self.closing.cancelled() => None,
        }
    }
}

/// Ends a server: its input is closed already, which is what well-behaved ones wait for.
async fn end(process: &Process) {
    if timeout(FAREWELL, process.gone()).await.is_err() {
        process.kill();
        process.gone().await;
    }
}

/// Lists every tool, page by page.
async fn list(peer: &Peer<RoleClient>, server: &str) -> Result<Offers, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= MOST_TOOLS {
            break;
        }
    }
    let excess = tools.len().saturating_sub(MOST_TOOLS);
    tools.truncate(MOST_TOOLS);
    let mut offers = Offers::new(server, tools);
    if excess > 0 || cursor.is_some() {
        offers.left_out.push(format!("It lists more than {MOST_TOOLS} tools; the rest is left out."));
    }
    Ok(offers)
}

fn ending(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "nobody knows how".to_owned(),
    }
}

/// Returns the end of what a server wrote to its error stream, as a sentence's appendix.
fn last_words(process: &Process) -> String {
    let glimpse = process.output().glimpse();
    let said = String::from_utf8_lossy(&glimpse.tail);
    let said = sanitize::lines(&said);
    let lines: Vec<&str> = said.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
    if last.is_empty() { String::new() } else { format!("\nIts last words:\n{}", text::suffix(&last, LAST_BYTES)) }
}

/// Tells whether an error means that nobody is there any more.
pub(super) fn is_lost(error: &ServiceError) -> bool {
    matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_))
}

pub(super) fn service_error(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(data) => complaint(data),
        ServiceError::TransportSend(error) => unsent(error),
        other => chain(other),
    }
}

fn initialize_error(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "It wants to know who asks: put its token into the \"headers\" of its entry.".to_owned();
    }
    match error {
        ClientInitializeError::JsonRpcError(data) => format!("It refused to work with us: {}.", complaint(data)),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => initialize_error(fallback),
        ClientInitializeError::ConnectionClosed(_) => "It hung up before it was ready.".to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            format!("It could not be reached: {}.", unsent(error))
        }
        other => format!("It could not be understood: {}.", chain(other)),
    }
}
