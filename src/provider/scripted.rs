//! A provider that plays a scenario: embedded, offline, the same every time. It drives the demo and many tests.
//!
//! What it answers follows from the request alone, so a restart goes on where it was. The one exception is a list of
//! `errors`: those count the attempts at one and the same request, and a restart plays them again.
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
//! The first conversation whose `when` matches is played: `system` looks at the system prompt, `first` at the first
//! thing the user said, `anchor` at anything the user said, and then the conversation starts there (for forks, whose
//! requests begin with another's). Within it, at each step, the first of the conversation's `rules`, then of the
//! scenario's, whose `when` matches answers, without taking up a turn; else the next of `turns`, if it has no `when`
//! or it matches; else the turn's, the conversation's or the scenario's `otherwise`. A step's `when` looks at what
//! the user said since the last answer: `text`, `result` (of tools), or `last` for both. A pattern is a text that must
//! occur, `{"regex": …}`, either with `"not": true`, or a list of which all must hold. `capture` takes the first group
//! of a regex from `text`, `result`, `last` (the default), `first` or `all`; `${name}` then stands for it, from that
//! turn on. `stop` overrides the stop reason; `errors` fail the first attempts: `{"class": "overloaded",
//! "retry_after_ms": 500, "after_chars": 40}`.

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

pub use request::{body, encode_speech};
pub use scenario::{Scenario, ScenarioError};

use crate::provider::catalogue::Listed;
use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::response::{Response, Signal};
use crate::provider::{Call, Provider};

/// Plays a scenario.
#[derive(Debug)]
pub struct ScriptedProvider {
    scenario: Scenario,
    /// How much of the scenario's waiting is really waited: 1 as written, 0 not at all.
    pace: f64,
    attempts: Mutex<HashMap<blake3::Hash, usize>>,
}

impl ScriptedProvider {
    pub fn new(scenario: Scenario, pace: f64) -> Self {
        Self { scenario, pace: if pace.is_finite() { pace.max(0.0) } else { 1.0 }, attempts: Mutex::default() }
    }

    /// Returns a provider for the scenario in a file.
    pub fn load(path: &Path, pace: f64) -> Result<Self, ScenarioError> {
        Scenario::load(path).map(|scenario| Self::new(scenario, pace))
    }

    /// Counts an attempt at a request, and returns how many came before it.
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
        call: Call,
        signals: mpsc::Sender<Signal>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>> {
        async move {
            let body = call.body.whole();
            let request = request::Request::read(&body)?;
            let invalid = |problem: String| ApiError::new(ErrorClass::InvalidRequest, problem);
            let step = select::step(&self.scenario, &request).map_err(invalid)?;
            // Only a step that fails counts: nothing else may depend on what happened in this process.
            let attempt = if step.errors.is_empty() { 0 } else { self.attempt(&body) };
            let error = step.errors.get(attempt).copied();
            let player = play::Player { signals, cancel, pacing: step.pacing.scaled(self.pace) };
            player.play(&step.answer, error, request.usage(&call.config, &body, &step.answer)).await
        }
        .boxed()
    }

    fn count_tokens(&self, call: Call, _cancel: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>> {
        std::future::ready(Ok(Some(request::tokens_of(call.body.len())))).boxed()
    }

    fn models(&self, _cancel: CancellationToken) -> BoxFuture<'_, Result<Vec<Listed>, ApiError>> {
        std::future::ready(Ok(vec![Listed { id: "scripted".to_owned(), ..Listed::default() }])).boxed()
    }
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
