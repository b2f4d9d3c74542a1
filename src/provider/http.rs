//! The HTTP provider: one request, one answer, no retries. It requests a stream, and also accepts a response in one
//! piece.
//!
//! The client is built at the first request. If that fails, for example without CA certificates, the request fails.
//! There are time limits for connecting, the first byte, silence within a stream, a stream without content, and the
//! whole response; the decoder limits its size. Redirects are not followed, so that a key is sent only to its endpoint.

mod body;
mod client;
mod signal_buffer;
mod timeouts;

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
use crate::provider::catalogue::{ListedModel, read_list};
use crate::provider::credential::{Credential, Route};
use crate::provider::decode::{Decoder, ResponseLimits, json};
use crate::provider::encode::ByteChunks;
use crate::provider::error::{ApiError, ErrorClass, classify, classify_event};
use crate::provider::http::signal_buffer::SignalBuffer;
use crate::provider::http::timeouts::{Deadlines, silence};
use crate::provider::response::{Response, Signal};
use crate::provider::{Provider, ProviderRequest};

/// Maximum size of an answer that is not a stream.
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
/// Number of bytes at the end of a request that go into its salt.
const SALT_BYTES: usize = 4 * 1024;
/// How long to wait for the end of the body after the end of the response, so that the connection can be reused.
const LINGER: Duration = Duration::from_millis(50);

/// The time limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of the body. A local server may have to load the model first.
    pub first_byte: Duration,
    /// Between two pieces of a stream; keep-alives count.
    pub idle: Duration,
    /// Between two pieces of content; keep-alives do not count. A model with hidden thinking may send nothing else for
    /// minutes.
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

/// The answer to a request.
enum Answer {
    Stream(reqwest::Response),
    /// The whole body, declared as JSON.
    Json(Vec<u8>),
}

/// A model API over HTTP.
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

    /// Sets the sizes at which a response is cut off.
    pub fn with_limits(mut self, limits: ResponseLimits) -> Self {
        self.limits = limits;
        self
    }

    pub fn credential(&self) -> &Credential {
        &self.credential
    }

    async fn attempt(
        &self,
        call: ProviderRequest,
        signals: &mpsc::Sender<Signal>,
        cancel: &CancellationToken,
    ) -> Result<Response, ApiError> {
        if call.config.wire != self.credential.wire {
            let (group, wire, other) = (&self.credential.group, self.credential.wire, call.config.wire);
            let problem =
                format!("credential group \"{group}\" uses {wire:?}, but the conversation is encoded for {other:?}");
            return Err(ApiError::new(ErrorClass::InvalidRequest, problem));
        }
        let mut deadlines = Deadlines::new(self.timeouts);
        let deadline = deadlines.deadline();
        let mut decoder = Decoder::new(&call.config, &salt(&call.body)).with_limits(self.limits);
        let budget =
            self.credential.wire == Wire::Anthropic && crate::provider::anthropic::thinks_by_budget(&call.config);
        let beta = budget.then_some(("anthropic-beta", "interleaved-thinking-2025-05-14"));
        let response = self.send(Route::Respond, Some(call.body), beta, deadline, cancel).await?;
        let mut buffer = SignalBuffer::default();
        let mut response = match self.read_answer(response, deadline, cancel).await? {
            Answer::Stream(response) => response,
            Answer::Json(body) => {
                let Some(new_signals) = decoder.push_answer(&body) else {
                    let problem = "the endpoint's answer is not a response of this API; check the base URL";
                    return Err(ApiError::new(ErrorClass::InvalidRequest, problem));
                };
                buffer.add(new_signals);
                buffer.drain(signals, cancel).await;
                return decoder.finish();
            }
        };
        let end = self.read(&mut response, &mut decoder, &mut buffer, signals, &mut deadlines, cancel).await;
        buffer.drain(signals, cancel).await;
        match end {
            Ok(()) => decoder.finish(),
            Err(failure) => {
                let partial = decoder.partial();
                // If the connection broke after the end of the response, nothing is lost.
                let whole = if failure.class == ErrorClass::Truncated { decoder.finish().ok() } else { None };
                whole.ok_or_else(|| failure.with_partial(partial))
            }
        }
    }

    /// Feeds the decoder until the response ends or fails.
    async fn read(
        &self,
        response: &mut reqwest::Response,
        decoder: &mut Decoder,
        buffer: &mut SignalBuffer,
        signals: &mpsc::Sender<Signal>,
        deadlines: &mut Deadlines,
        cancel: &CancellationToken,
    ) -> Result<(), ApiError> {
        let mut begun = false;
        loop {
            let deadline = deadlines.deadline();
            let due = buffer.due();
            let piece = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ApiError::cancelled()),
                () = tokio::time::sleep_until(due.unwrap_or(deadline)), if due.is_some() => {
                    buffer.offer(signals);
                    continue;
                }
                piece = timeout_at(deadline, response.chunk()) => piece,
            };
            match piece {
                Err(_) => return Err(deadlines.failure()),
                Ok(Err(broken)) => return Err(ApiError::new(ErrorClass::Truncated, client::describe(broken))),
                Ok(Ok(None)) => return Ok(()),
                Ok(Ok(Some(bytes))) => {
                    let before = decoder.content_events();
                    buffer.add(decoder.push(&bytes));
                    deadlines.received(decoder.content_events() != before);
                    // An overloaded API may report it in the first event of an otherwise normal stream.
                    if !std::mem::replace(&mut begun, true) && !decoder.is_over() {
                        let _ = signals.try_send(Signal::Begun);
                    }
                }
            }
            if decoder.is_over() {
                // Read to the end of the body so that the connection can be reused.
                let _ = timeout(LINGER, response.chunk()).await;
                return Ok(());
            }
        }
    }

    /// Returns the answer according to its content type. Web pages and errors are failures.
    async fn read_answer(
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
                "received a web page instead of a response; a proxy or a login page may be in between",
            )),
            "application/json" => {
                let body = self.read_body(response, deadline, cancel).await?;
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
        body: Option<ByteChunks>,
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
        // If the body cannot be read, the status alone has to do.
        let body = self.read_body(response, deadline, cancel).await.unwrap_or_default();
        Err(classify(self.credential.wire, status, &headers, &body, self.clock.now()))
    }

    /// Reads a body that is not a stream, up to a limit.
    async fn read_body(
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

    async fn fetch_json(
        &self,
        route: Route,
        body: Option<ByteChunks>,
        cancel: &CancellationToken,
    ) -> Result<Value, ApiError> {
        let deadline = Instant::now() + self.timeouts.first_byte;
        let response = self.send(route, body, None, deadline, cancel).await?;
        let body = self.read_body(response, deadline, cancel).await?;
        serde_json::from_slice(&body)
            .map_err(|problem| ApiError::new(ErrorClass::Server, format!("the answer is not JSON: {problem}")))
    }

    fn redact(&self, failure: ApiError) -> ApiError {
        failure.without_key(self.credential.api_key.as_ref())
    }
}

/// Returns a salt that is unique within the conversation. Each request is longer than the one before, so its size and
/// end identify it. Hashing all of it on every turn would be slow.
fn salt(body: &ByteChunks) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(body.len() as u64).to_le_bytes()).update(&body.end(SALT_BYTES));
    hasher.finalize().to_hex()[..16].to_owned()
}

impl Provider for HttpProvider {
    fn respond(
        &self,
        call: ProviderRequest,
        signals: mpsc::Sender<Signal>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        async move { self.attempt(call, &signals, &cancel).await.map_err(|failure| self.redact(failure)) }.boxed()
    }

    fn count_tokens(
        &self,
        call: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        async move {
            if self.credential.wire != Wire::Anthropic {
                return Ok(None);
            }
            let answer = self.fetch_json(Route::CountTokens, Some(call.body), &cancel).await;
            answer.map(|answer| json::number(&answer, "input_tokens")).map_err(|failure| self.redact(failure))
        }
        .boxed()
    }

    fn models(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Vec<ListedModel>, ApiError>> {
        async move {
            let answer = self.fetch_json(Route::Models, None, &cancel).await;
            answer.map(|answer| read_list(&answer)).map_err(|failure| self.redact(failure))
        }
        .boxed()
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
