//! A provider that plays a scenario: offline and deterministic. The demo and many tests use it.
//!
//! The answer depends only on the request, so a scenario resumes after a restart. The one exception is `errors`: they
//! count the attempts at the same request, and a restart plays them again.
//!
//! A scenario is JSON:
//!
//! ```json
//! { "version": 1,
//!   "pacing": { "first_token_ms": 600, "chars_per_second": 240 },
//!   "rules": [ { "when": { "last": "Summarise" }, "text": "<summary>…</summary>" } ],
//!   "conversations": [
//!     { "name": "root",
//!       "when": { "first": "Build a parser" },
//!       "turns": [
//!         { "thinking": "Two parts.", "text": "I split it.",
//!           "calls": [ { "tool": "create_task", "input": { "title": "Lexer" } } ] },
//!         { "capture": { "lexer": { "from": "result", "regex": "id: (\\w+)" } },
//!           "calls": [ { "tool": "send_message", "input": { "task": "${lexer}", "body": "Go." } } ] },
//!         { "when": { "text": { "regex": "task_complete.*passed" } }, "text": "Done.",
//!           "otherwise": { "text": "Still waiting." } } ] } ] }
//! ```
//!
//! The first conversation whose `when` matches is played. `system` matches the system prompt, `first` the first user
//! messages, and `anchor` any user message; the conversation then starts there (for forks, whose requests begin with
//! another conversation).
//!
//! Each step is answered by the first match: the conversation's `rules`, the scenario's `rules`, the next of `turns`
//! (if it has no `when` or it matches), then the turn's, the conversation's or the scenario's `otherwise`. Only `turns`
//! are used up. A step's `when` matches the user's input since the last answer: `text`, `result` (of tools), or `last`
//! for both. A pattern is a substring, `{"regex": …}`, either with `"not": true`, or a list of patterns that must all
//! match.
//!
//! `capture` takes the first group of a regex from `text`, `result`, `last` (the default), `first` or `all`. From that
//! turn on, `${name}` is replaced by it. `stop` overrides the stop reason. `errors` fail the first attempts: `{"class":
//! "overloaded", "retry_after_ms": 500, "after_chars": 40}`.

mod pattern;
mod play;
mod request;
mod scenario;
mod select;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use request::{body, encode_message};
pub use scenario::{Scenario, ScenarioError};

use crate::provider::catalogue::ListedModel;
use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::response::{Response, Signal};
use crate::provider::{Provider, ProviderRequest};

/// Plays a scenario.
#[derive(Debug)]
pub struct ScriptedProvider {
    scenario: Scenario,
    /// Factor for all delays of the scenario. With 0 there are none.
    pace: f64,
    attempts: Mutex<HashMap<blake3::Hash, usize>>,
}

impl ScriptedProvider {
    pub fn new(scenario: Scenario, pace: f64) -> Self {
        Self { scenario, pace: if pace.is_finite() { pace.max(0.0) } else { 1.0 }, attempts: Mutex::default() }
    }

    /// Loads the scenario from a file.
    pub fn load(path: &Path, pace: f64) -> Result<Self, ScenarioError> {
        Scenario::load(path).map(|scenario| Self::new(scenario, pace))
    }

    /// Counts an attempt at a request, and returns the number of earlier ones.
    fn attempt(&self, body: &[u8]) -> usize {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = attempts.entry(blake3::hash(body)).or_default();
        *count += 1;
        *count - 1
    }
}

impl Provider for ScriptedProvider {
    fn respond(
        &self,
        call: ProviderRequest,
        signals: mpsc::Sender<Signal>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        async move {
            let body = call.body.to_bytes();
            let request = request::Request::read(&body)?;
            let invalid = |problem: String| ApiError::new(ErrorClass::InvalidRequest, problem);
            let step = select::step(&self.scenario, &request).map_err(invalid)?;
            // Only failing steps are counted: nothing else may depend on the state of this process.
            let attempt = if step.errors.is_empty() { 0 } else { self.attempt(&body) };
            let error = step.errors.get(attempt).copied();
            let player = play::Player { signals, cancel, pacing: step.pacing.scaled(self.pace) };
            player.play(&step.answer, error, request.usage(&call.config, &body, &step.answer)).await
        }
        .boxed()
    }

    fn count_tokens(
        &self,
        call: ProviderRequest,
        _cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        std::future::ready(Ok(Some(request::tokens_of(call.body.len())))).boxed()
    }

    fn models(&self, _cancel: CancellationToken) -> BoxFuture<'_, Result<Vec<ListedModel>, ApiError>> {
        std::future::ready(Ok(vec![ListedModel { id: "scripted".to_owned(), ..ListedModel::default() }])).boxed()
    }
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
