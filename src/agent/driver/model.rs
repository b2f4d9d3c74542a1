//! Asking the model: the request, the gate in front of the API, the signals on the way, and what it cost.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::FutureExt as _;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::driver::Run;
use crate::agent::driver::requests::{Requests, Wanted};
use crate::agent::machine::{Input, Purpose};
use crate::base::{MicroUsd, Timestamp};
use crate::model::content::BlobId;
use crate::model::event::SessionConfig;
use crate::model::live::Live;
use crate::model::usage::{Tokens, Usage};
use crate::provider::catalogue::cost;
use crate::provider::{
    ApiError, BlobSource, BodyOptions, Call, Catalogue, ErrorClass, Facts, Gate, Pictures, Provider, Response, Signal,
};
use crate::store::Blobs;
use crate::tools::LiveSink;

/// How long everybody waits when an API says "too much" without saying for how long.
const DEFAULT_LIMIT: Duration = Duration::from_secs(2);
/// How long an exact count is waited for. The estimate is good enough to go on with.
const COUNT_LIMIT: Duration = Duration::from_secs(20);
/// What a summary may say.
const SUMMARY_OUTPUT: u64 = 32_000;
/// What a model can say however full its window is. Where even that does not fit, the API says so.
const LEAST_OUTPUT: u64 = 1_024;
/// What text takes, and what a picture of the usual size does, where nobody counts.
const BYTES_PER_TOKEN: u64 = 4;
const PICTURE_TOKENS: u64 = 1_500;
/// What a response is assumed to say, when money is set aside for it.
const TYPICAL_OUTPUT: u64 = 4_000;

/// The project's blobs, as an encoder reads them.
struct Stored<'a>(&'a Blobs);

impl BlobSource for Stored<'_> {
    fn read(&self, blob: &BlobId) -> io::Result<Vec<u8>> {
        self.0.read(blob).map_err(|error| io::Error::other(error.to_string()))
    }
}

impl Run {
    pub(super) fn call_model(&mut self, number: u64, purpose: Purpose, attempt: u32) {
        // Whatever was shown of an attempt that failed is void.
        if std::mem::take(&mut self.shown_in_vain) || attempt > 1 {
            self.setup.tools.live.send(Live::Discarded);
        }
        self.model_cancel = CancellationToken::new();
        let options = BodyOptions { max_output: Some(self.room(purpose)), ..BodyOptions::streaming() };
        let request = self.request(&self.config().unwrap_or_default(), Wanted::Response(purpose, options));
        let (provider, gate) = (self.setup.provider.clone(), self.setup.gate.clone());
        let (live, cancel) = (self.setup.tools.live.clone(), self.model_cancel.clone());
        let (facts, now) = (self.setup.facts, self.now());
        let shown = purpose == Purpose::Respond;
        let asked = async move {
            let call = match request.await {
                Ok(call) => call,
                Err(error) => {
                    return Some(Input::Failed { number, error: Box::new(error), usage: None, jitter: jitter() });
                }
            };
            let (model, sent) = (call.config.model.clone(), guess(call.body.len(), call.pictures));
            let live = shown.then_some(live.as_ref());
            let answer = ask(provider.as_ref(), &gate, call, live, cancel, now).await;
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
        self.work.push(asked.boxed());
    }

    pub(super) fn count(&mut self, number: u64) {
        let Some(config) = self.config() else {
            return self.work.push(std::future::ready(Some(Input::Counted { number, tokens: None })).boxed());
        };
        let request = self.request(&config, Wanted::Count);
        self.model_cancel = CancellationToken::new();
        let (provider, cancel) = (self.setup.provider.clone(), self.model_cancel.clone());
        let counted = async move {
            // A count that fails is no reason to stop: the estimate stands.
            let tokens = match request.await {
                Ok(call) => tokio::time::timeout(COUNT_LIMIT, provider.count_tokens(call, cancel)).await.ok(),
                Err(_) => None,
            };
            Some(Input::Counted { number, tokens: tokens.and_then(Result::ok).flatten() })
        };
        self.work.push(counted.boxed());
    }

    /// Returns what a request of about so many tokens may cost. Nothing: the model's price is not known.
    pub(super) fn estimate(&self, tokens: u64) -> Option<MicroUsd> {
        let output = self.setup.facts.max_output.min(TYPICAL_OUTPUT);
        let tokens = Tokens { input: tokens, output, ..Tokens::default() };
        self.setup.facts.prices.map(|prices| cost(&tokens, &prices))
    }

    /// Returns how much the model may say: as much as it can, but no more than fits behind what it reads. Some servers
    /// refuse a request whose two parts together exceed the window.
    fn room(&self, purpose: Purpose) -> u64 {
        let most = match purpose {
            Purpose::Respond => u64::MAX,
            Purpose::Summarise { .. } => SUMMARY_OUTPUT,
        };
        let left = self.setup.facts.window.saturating_sub(self.machine.context_tokens()).max(LEAST_OUTPUT);
        self.config().map_or(u64::MAX, |config| config.max_output).min(self.setup.facts.max_output).min(most).min(left)
    }

    /// Takes the facts of the model that the person chose instead, where they are known.
    pub(super) fn use_model(&mut self, model: String) {
        if let Ok(facts) = self.machine.catalogue().facts(&model) {
            self.setup.facts = facts;
            self.machine.use_window(facts.window);
        }
        self.chosen_model = Some(model);
    }

    /// Takes over what the endpoint says of its models: from the next request on, its limits are in force.
    pub(super) fn learn(&mut self, catalogue: Option<Catalogue>) {
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

    /// Returns the next request. What has to be read for it is read where that blocks nobody.
    fn request(
        &self,
        config: &Arc<SessionConfig>,
        wanted: Wanted,
    ) -> impl Future<Output = Result<Call, ApiError>> + Send + use<> {
        let draft = locked(&self.requests).draft(self.machine.conversation(), config, wanted);
        let (requests, blobs) = (Arc::clone(&self.requests), self.setup.store.blobs().clone());
        async move {
            let reads = draft.reads();
            let spell = move || locked(&requests).spell(draft, &Stored(&blobs));
            if !reads {
                return spell();
            }
            // It fails only when the runtime ends.
            tokio::task::spawn_blocking(spell).await.unwrap_or_else(|_| Err(ApiError::cancelled()))
        }
    }
}

fn locked(requests: &Mutex<Requests>) -> MutexGuard<'_, Requests> {
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes one attempt, through the gate, showing what comes in.
async fn ask(
    provider: &dyn Provider,
    gate: &Arc<Gate>,
    call: Call,
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

/// Returns about how many tokens a request has. What a picture costs depends on its sides, not on its bytes.
fn guess(body: usize, pictures: Pictures) -> u64 {
    (body as u64).saturating_sub(pictures.bytes) / BYTES_PER_TOKEN + pictures.count * PICTURE_TOKENS
}

/// Returns what a response used, given about how many tokens were sent. Where the API does not say, it is guessed from
/// sizes, and marked as a guess.
fn usage_of(response: &Response, facts: &Facts, model: &str, sent: u64) -> Usage {
    let tokens = if response.usage_reported {
        response.tokens
    } else {
        let said: usize = response.blocks.iter().map(size_of_block).sum();
        Tokens { input: sent, output: said as u64 / BYTES_PER_TOKEN, ..Tokens::default() }
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

/// Returns a number from 0 to 1, different for every caller.
fn jitter() -> f64 {
    let random = ulid::Ulid::generate().random() & 0xFFFF_FFFF;
    random as f64 / f64::from(u32::MAX)
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
