//! Speaks to an endpoint over HTTP: one request, one answer, no second try. A stream is asked for; a server that sends
//! the response in one piece all the same is understood.
//!
//! The client is built at the first request and may fail to: a machine without CA certificates is an error to show,
//! not a panic. Connecting, waiting for the first byte, silence within a stream, a stream without content and the
//! response as a whole have a time limit each; its size is limited by the decoder. Redirects are not followed, so that a key only ever goes where it was meant to go.

mod body;
mod client;
mod outbox;
mod patience;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::sync::{OnceCell, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::base::{Clock, text};
use crate::model::conversation::Wire;
use crate::provider::catalogue::{Listed, read_list};
use crate::provider::credential::{Credential, Route};
use crate::provider::decode::{Decoder, ResponseLimits, json};
use crate::provider::encode::Pieces;
use crate::provider::error::{ApiError, ErrorClass, classify, classify_event};
use crate::provider::http::outbox::Outbox;
use crate::provider::http::patience::{Patience, silence};
use crate::provider::response::{Response, Signal};
use crate::provider::{Call, Provider};

/// How much of an answer that is not a stream is read.
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
/// How much of a request's end its name is made from.
const SALTED: usize = 4 * 1024;
/// How long to wait for the connection's own end after the response's, so that it can be used again.
const LINGER: Duration = Duration::from_millis(50);

/// How long is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of the answer's body. A local server may have to load the model first.
    pub first_byte: Duration,
    /// Between two pieces of a stream; keep-alives count.
    pub idle: Duration,
    /// Between two pieces of content; keep-alives do not count. A model that thinks without showing its thoughts may
    /// send nothing else for minutes.
    pub content: Duration,
    /// From the request to the end of the response. At 10 tokens a second, 128,000 tokens take three and a half hours.
    pub response: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(180),
            content: Duration::from_secs(480),
            response: Duration::from_secs(4 * 60 * 60),
        }
    }
}

/// What a request was answered with.
enum Answer {
    Stream(reqwest::Response),
    /// All of it, and it says that it is JSON.
    Json(Vec<u8>),
}

/// An endpoint behind HTTP.
pub struct HttpProvider {
    credential: Credential,
    timeouts: Timeouts,
    limits: ResponseLimits,
    clock: Arc<dyn Clock>,
    client: OnceCell<reqwest::Client>,
}

impl HttpProvider {
    pub fn new(credential: Credential, timeouts: Timeouts, clock: Arc<dyn Clock>) -> Self {
        Self { credential, timeouts, limits: ResponseLimits::default(), clock, client: OnceCell::new() }
    }

    /// Replaces the sizes at which a response is cut off.
    pub fn with_limits(mut self, limits: ResponseLimits) -> Self {
        self.limits = limits;
        self
    }

    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    async fn attempt(
        &self,
        call: Call,
        signals: &mpsc::Sender<Signal>,
        cancel: &CancellationToken,
    ) -> Result<Response, ApiError> {
        if call.config.wire != self.credential.wire {
            let (group, wire, other) = (&self.credential.group, self.credential.wire, call.config.wire);
            let problem =
                format!("credential group \"{group}\" speaks {wire:?}, the conversation is spelled for {other:?}");
            return Err(ApiError::new(ErrorClass::InvalidRequest, problem));
        }
        let mut patience = Patience::new(self.timeouts);
        let deadline = patience.deadline();
        let mut decoder = Decoder::new(&call.config, &salt(&call.body)).with_limits(self.limits);
        let budget =
            self.credential.wire == Wire::Anthropic && crate::provider::anthropic::thinks_by_budget(&call.config);
        let beta = budget.then_some(("anthropic-beta", "interleaved-thinking-2025-05-14"));
        let response = self.send(Route::Respond, Some(call.body), beta, deadline, cancel).await?;
        let mut outbox = Outbox::default();
        let mut response = match self.look_at(response, deadline, cancel).await? {
            Answer::Stream(response) => response,
            Answer::Json(body) => {
                let Some(said) = decoder.push_answer(&body) else {
                    let problem = "the endpoint answered with something that is no response of this interface";
                    return Err(ApiError::new(ErrorClass::InvalidRequest, problem));
                };
                outbox.add(said);
                outbox.drain(signals, cancel).await;
                return decoder.finish();
            }
        };
        let end = self.read(&mut response, &mut decoder, &mut outbox, signals, &mut patience, cancel).await;
        outbox.drain(signals, cancel).await;
        match end {
            Ok(()) => decoder.finish(),
            Err(failure) => {
                let partial = decoder.partial();
                // A connection that breaks after the response was whole has lost nothing.
                let whole = if failure.class == ErrorClass::Truncated { decoder.finish().ok() } else { None };
                whole.ok_or_else(|| failure.with_partial(partial))
            }
        }
    }

    /// Feeds the decoder until the response is over, one way or the other.
    async fn read(
        &self,
        response: &mut reqwest::Response,
        decoder: &mut Decoder,
        outbox: &mut Outbox,
        signals: &mpsc::Sender<Signal>,
        patience: &mut Patience,
        cancel: &CancellationToken,
    ) -> Result<(), ApiError> {
        let mut begun = false;
        loop {
            let deadline = patience.deadline();
            let due = outbox.due();
            let piece = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ApiError::cancelled()),
                () = tokio::time::sleep_until(due.unwrap_or(deadline)), if due.is_some() => {
                    outbox.offer(signals);
                    continue;
                }
                piece = timeout_at(deadline, response.chunk()) => piece,
            };
            match piece {
                Err(_) => return Err(patience.failure()),
                Ok(Err(broken)) => return Err(ApiError::new(ErrorClass::Truncated, client::describe(broken))),
                Ok(Ok(None)) => return Ok(()),
                Ok(Ok(Some(bytes))) => {
                    let before = decoder.content_events();
                    outbox.add(decoder.push(&bytes));
                    patience.received(decoder.content_events() != before);
                    // An API that is overloaded may say so in the first event of a stream that looks like any other.
                    if !std::mem::replace(&mut begun, true) && !decoder.is_over() {
                        let _ = signals.try_send(Signal::Begun);
                    }
                }
            }
            if decoder.is_over() {
                // Only to let the connection be used again; whatever comes is of no interest.
                let _ = timeout(LINGER, response.chunk()).await;
                return Ok(());
            }
        }
    }

    /// Returns what came, by what it says it is. A web page and an error are failures.
    async fn look_at(
        &self,
        response: reqwest::Response,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Answer, ApiError> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "text/html" | "application/xhtml+xml" => Err(ApiError::new(
                ErrorClass::Network,
                "a web page came instead of a response; a proxy or a login page may be in between",
            )),
            "application/json" => {
                let body = self.whole(response, deadline, cancel).await?;
                let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
                if answer.get("error").is_some_and(|error| !error.is_null()) {
                    return Err(classify_event(self.credential.wire, &answer));
                }
                Ok(Answer::Json(body))
            }
            _ => Ok(Answer::Stream(response)),
        }
    }

    async fn send(
        &self,
        route: Route,
        body: Option<Pieces>,
        extra: Option<(&'static str, &'static str)>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<reqwest::Response, ApiError> {
        let mut url =
            self.credential.url(route).map_err(|e| ApiError::new(ErrorClass::InvalidRequest, e.to_string()))?;
        if route == Route::Models && self.credential.wire == Wire::Anthropic {
            url.set_query(Some("limit=1000"));
        }
        let client = self.client.get_or_try_init(async || client::build(&url, self.timeouts.connect)).await?;
        let headers = client::headers(&self.credential)?;
        let mut request = match body {
            Some(body) => client.post(url).header(CONTENT_TYPE, "application/json").body(body::of(body)),
            None => client.get(url),
        };
        if let Some((name, value)) = extra {
            request = request.header(name, value);
        }
        let response = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ApiError::cancelled()),
            response = timeout_at(deadline, request.headers(headers).send()) => response,
        };
        let response = response.map_err(|_| silence(self.timeouts.first_byte))?.map_err(client::failure)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // What the error says is worth having, but not worth failing differently for.
        let body = self.whole(response, deadline, cancel).await.unwrap_or_default();
        Err(classify(self.credential.wire, status, &headers, &body, self.clock.now()))
    }

    /// Reads a body that is not a stream, up to a limit.
    async fn whole(
        &self,
        mut response: reqwest::Response,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Vec<u8>, ApiError> {
        let mut body = Vec::new();
        loop {
            let piece = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ApiError::cancelled()),
                piece = timeout_at(deadline, response.chunk()) => piece,
            };
            match piece.map_err(|_| silence(self.timeouts.first_byte))?.map_err(client::failure)? {
                Some(bytes) if body.len() + bytes.len() <= ANSWER_LIMIT => body.extend_from_slice(&bytes),
                Some(_) => {
                    let problem = format!("the answer is larger than {}", text::size(ANSWER_LIMIT as u64));
                    return Err(ApiError::new(ErrorClass::Runaway, problem));
                }
                None => return Ok(body),
            }
        }
    }

    async fn answer(&self, route: Route, body: Option<Pieces>, cancel: &CancellationToken) -> Result<Value, ApiError> {
        let deadline = Instant::now() + self.timeouts.first_byte;
        let response = self.send(route, body, None, deadline, cancel).await?;
        let body = self.whole(response, deadline, cancel).await?;
        serde_json::from_slice(&body)
            .map_err(|problem| ApiError::new(ErrorClass::Server, format!("the answer is not JSON: {problem}")))
    }

    fn clean(&self, failure: ApiError) -> ApiError {
        failure.without_key(self.credential.api_key.as_ref())
    }
}

/// Returns a name for a request that no other of its conversation has. Each is longer than the one before, so the size
/// and the end tell them apart; reading three megabytes for it every turn would cost more than all else.
fn salt(body: &Pieces) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(body.len() as u64).to_le_bytes()).update(&body.end(SALTED));
    hasher.finalize().to_hex()[..16].to_owned()
}

impl Provider for HttpProvider {
    fn respond(
        &self,
        call: Call,
        signals: mpsc::Sender<Signal>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        async move { self.attempt(call, &signals, &cancel).await.map_err(|failure| self.clean(failure)) }.boxed()
    }

    fn count_tokens(&self, call: Call, cancel: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        async move {
            if self.credential.wire != Wire::Anthropic {
                return Ok(None);
            }
            let answer = self.answer(Route::CountTokens, Some(call.body), &cancel).await;
            answer.map(|answer| json::number(&answer, "input_tokens")).map_err(|failure| self.clean(failure))
        }
        .boxed()
    }

    fn models(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Vec<Listed>, ApiError>> {
        async move {
            let answer = self.answer(Route::Models, None, &cancel).await;
            answer.map(|answer| read_list(&answer)).map_err(|failure| self.clean(failure))
        }
        .boxed()
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
