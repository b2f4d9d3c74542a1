//! Calls the model: builds the request, passes the rate gate, forwards signals, computes usage and cost.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::driver::Run;
use crate::agent::driver::requests::{RequestBuilder, RequestKind};
use crate::agent::machine::{Input, Purpose};
use crate::base::{MicroUsd, Timestamp};
use crate::model::content::BlobId;
use crate::model::event::SessionConfig;
use crate::model::live::Live;
use crate::model::usage::{Tokens, Usage};
use crate::provider::catalogue::cost;
use crate::provider::{
    ApiError, BlobSource, BodyOptions, Catalogue, ErrorClass, ModelInfo, Pictures, Provider, ProviderRequest, RateGate,
    Response, Signal,
};
use crate::store::Blobs;
use crate::tools::LiveSink;

/// How long to wait when an API limits the rate without saying for how long.
const DEFAULT_LIMIT: Duration = Duration::from_secs(2);
/// Timeout of an exact count. Without it, the estimate is good enough.
const COUNT_LIMIT: Duration = Duration::from_secs(20);
/// Output limit of a summary, in tokens.
const SUMMARY_OUTPUT: u64 = 32_000;
/// Minimum output limit, however full the window is. If even that does not fit, the API reports it.
const LEAST_OUTPUT: u64 = 1_024;
/// Estimates for servers that do not count tokens.
const BYTES_PER_TOKEN: u64 = 4;
const PICTURE_TOKENS: u64 = 1_500;
/// Assumed output of a response when money is reserved for it.
const TYPICAL_OUTPUT: u64 = 4_000;

/// The project's blobs as a [`BlobSource`].
struct StoreBlobs<'a>(&'a Blobs);

impl BlobSource for StoreBlobs<'_> {
    fn read(&self, blob: &BlobId) -> io::Result<Vec<u8>> {
        self.0.read(blob).map_err(|error| io::Error::other(error.to_string()))
    }
}

impl Run {
    /// Calls the model, unless `before` resolves to another input.
    pub(super) fn call_model(
        &mut self,
        number: u64,
        purpose: Purpose,
        attempt: u32,
        before: Option<BoxFuture<'static, Option<Input>>>,
    ) {
        // Clear the output of a failed attempt from the screen.
        if std::mem::take(&mut self.failed_after_output) || attempt > 1 {
            self.setup.tools.live.send(Live::Discarded);
        }
        self.model_cancel = CancellationToken::new();
        let options = BodyOptions { max_output: Some(self.output_limit(purpose)), ..BodyOptions::streaming() };
        let request = self.request(&self.config().unwrap_or_default(), RequestKind::Response(purpose, options));
        let (provider, gate) = (self.setup.provider.clone(), self.setup.gate.clone());
        let (live, cancel) = (self.setup.tools.live.clone(), self.model_cancel.clone());
        let (facts, now) = (self.setup.facts, self.now());
        let is_shown = purpose == Purpose::Respond;
        let exchange = async move {
            if let Some(before) = before {
                let refused = tokio::select! {
                    refused = before => refused,
                    () = cancel.cancelled() => None,
                };
                if refused.is_some() {
                    return refused;
                }
            }
            let call = match request.await {
                Ok(call) => call,
                Err(error) => {
                    return Some(Input::Failed { number, error: Box::new(error), usage: None, jitter: jitter() });
                }
            };
            let (model, sent) = (call.config.model.clone(), estimate_tokens(call.body.len(), call.pictures));
            let live = is_shown.then_some(live.as_ref());
            let answer = call_provider(provider.as_ref(), &gate, call, live, cancel, now).await;
            Some(match answer {
                Ok(response) => {
                    let usage = Box::new(usage_of(&response, &facts, &model, sent));
                    Input::Response { number, response: Box::new(response), usage }
                }
                Err(error) => {
                    let partial = error.partial.as_ref().filter(|partial| partial.usage_reported);
                    let usage = partial.map(|partial| Box::new(usage_of(partial, &facts, &model, sent)));
                    Input::Failed { number, error: Box::new(error), usage, jitter: jitter() }
                }
            })
        };
        self.work.push(exchange.boxed());
    }

    pub(super) fn count(&mut self, number: u64) {
        let Some(config) = self.config() else {
            return self.work.push(std::future::ready(Some(Input::Counted { number, tokens: None })).boxed());
        };
        let request = self.request(&config, RequestKind::Count);
        self.model_cancel = CancellationToken::new();
        let (provider, cancel) = (self.setup.provider.clone(), self.model_cancel.clone());
        let count = async move {
            // If the count fails, the estimate is used.
            let tokens = match request.await {
                Ok(call) => tokio::time::timeout(COUNT_LIMIT, provider.count_tokens(call, cancel)).await.ok(),
                Err(_) => None,
            };
            Some(Input::Counted { number, tokens: tokens.and_then(Result::ok).flatten() })
        };
        self.work.push(count.boxed());
    }

    /// Returns the estimated cost of a request of about `tokens`, or `None` if the model's price is unknown.
    pub(super) fn estimate(&self, tokens: u64) -> Option<MicroUsd> {
        let output = self.setup.facts.max_output.min(TYPICAL_OUTPUT);
        let tokens = Tokens { input: tokens, output, ..Tokens::default() };
        self.setup.facts.prices.map(|prices| cost(&tokens, &prices))
    }

    /// Returns the output limit: the model's own, but no more than fits into the window after the input. Some servers
    /// reject a request whose input and output limit together exceed the window.
    fn output_limit(&self, purpose: Purpose) -> u64 {
        let most = match purpose {
            Purpose::Respond => u64::MAX,
            Purpose::Summarise { .. } => SUMMARY_OUTPUT,
        };
        let left = self.setup.facts.window.saturating_sub(self.machine.context_tokens()).max(LEAST_OUTPUT);
        self.config().map_or(u64::MAX, |config| config.max_output).min(self.setup.facts.max_output).min(most).min(left)
    }

    /// Switches to the model that the user chose, with its limits if they are known.
    pub(super) fn use_model(&mut self, model: String) {
        if let Ok(facts) = self.machine.catalogue().facts(&model) {
            self.setup.facts = facts;
            self.machine.use_window(facts.window);
        }
        self.chosen_model = Some(model);
    }

    /// Applies a newer catalogue. Its limits hold from the next request on.
    pub(super) fn update_catalogue(&mut self, catalogue: Option<Catalogue>) {
        let Some(catalogue) = catalogue else { return };
        let model = self.chosen_model.as_deref().unwrap_or(&self.setup.limits.model);
        if let Ok(facts) = catalogue.facts(model) {
            self.setup.facts = facts;
            self.machine.use_window(facts.window);
        }
        self.machine.use_catalogue(catalogue);
    }

    fn config(&self) -> Option<Arc<SessionConfig>> {
        self.machine.conversation().config().cloned()
    }

    /// Returns the next request. Reads from disk happen on a blocking thread.
    fn request(
        &self,
        config: &Arc<SessionConfig>,
        kind: RequestKind,
    ) -> impl Future<Output = Result<ProviderRequest, ApiError>> + Send + use<> {
        let draft = lock_builder(&self.requests).draft(self.machine.conversation(), config, kind);
        let (requests, blobs) = (Arc::clone(&self.requests), self.setup.store.blobs().clone());
        async move {
            let reads = draft.needs_disk();
            let encode = move || lock_builder(&requests).encode(draft, &StoreBlobs(&blobs));
            if !reads {
                return encode();
            }
            // Joining fails only at the end of the runtime.
            tokio::task::spawn_blocking(encode).await.unwrap_or_else(|_| Err(ApiError::cancelled()))
        }
    }
}

fn lock_builder(requests: &Mutex<RequestBuilder>) -> MutexGuard<'_, RequestBuilder> {
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes one attempt through the gate and forwards its signals to `live`.
async fn call_provider(
    provider: &dyn Provider,
    gate: &Arc<RateGate>,
    call: ProviderRequest,
    live: Option<&dyn LiveSink>,
    cancel: CancellationToken,
    now: Timestamp,
) -> Result<Response, ApiError> {
    if let (Some(until), Some(live)) = (gate.limited_until(), live) {
        let wait = until.saturating_duration_since(tokio::time::Instant::now());
        let until = now.later(wait);
        live.send(Live::Retry { attempt: 0, of: 0, until, reason: "the model API limits this credential".to_owned() });
    }
    let mut permit = Some(gate.enter(&cancel).await.map_err(|_| ApiError::cancelled())?);
    let (signals, mut incoming) = mpsc::channel(64);
    let answer = provider.respond(call, signals, cancel);
    tokio::pin!(answer);
    let answer = loop {
        tokio::select! {
            biased;
            Some(signal) = incoming.recv() => {
                if let Some(permit) = permit.take() {
                    permit.accepted();
                }
                show(live, signal);
            }
            answer = &mut answer => break answer,
        }
    };
    while let Ok(signal) = incoming.try_recv() {
        show(live, signal);
    }
    match (&answer, permit) {
        (Ok(_), Some(permit)) => permit.accepted(),
        (Err(error), Some(permit)) if matches!(error.class, ErrorClass::RateLimit | ErrorClass::Overloaded) => {
            permit.limited(error.retry_after.unwrap_or(DEFAULT_LIMIT));
        }
        (Ok(_) | Err(_), _) => {}
    }
    answer
}

fn show(live: Option<&dyn LiveSink>, signal: Signal) {
    let Some(live) = live else { return };
    live.send(match signal {
        Signal::Begun => return,
        Signal::Text(text) => Live::TextDelta { text },
        Signal::Thinking(text) => Live::ThinkingDelta { text },
        Signal::Call { call, name, bytes, .. } => Live::CallDelta { call, name, bytes },
    });
}

/// Estimates the tokens of a request. The tokens of a picture depend on its dimensions, not on its bytes.
fn estimate_tokens(body: usize, pictures: Pictures) -> u64 {
    (body as u64).saturating_sub(pictures.bytes) / BYTES_PER_TOKEN + pictures.count * PICTURE_TOKENS
}

/// Returns the usage of a response. If the API does not report it, it is estimated from `sent` and the size of the
/// response, and marked as estimated.
fn usage_of(response: &Response, facts: &ModelInfo, model: &str, sent: u64) -> Usage {
    let tokens = if response.usage_reported {
        response.tokens
    } else {
        let output_bytes: usize = response.blocks.iter().map(size_of_block).sum();
        Tokens { input: sent, output: output_bytes as u64 / BYTES_PER_TOKEN, ..Tokens::default() }
    };
    Usage {
        tokens,
        model: model.to_owned(),
        cost: facts.prices.map(|prices| cost(&tokens, &prices)),
        context_window: facts.window,
        estimated: !response.usage_reported,
    }
}

fn size_of_block(block: &crate::provider::ResponseBlock) -> usize {
    match block {
        crate::provider::ResponseBlock::Text(text) => text.len(),
        crate::provider::ResponseBlock::Thinking(thought) => thought.text.len(),
        crate::provider::ResponseBlock::ToolUse(call) => call.name.len() + call.input.as_str().len(),
    }
}

/// Returns a random number from 0 to 1.
fn jitter() -> f64 {
    let random = ulid::Ulid::generate().random() & 0xFFFF_FFFF;
    random as f64 / f64::from(u32::MAX)
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
