//! One-shot requests: one question to a model, without a task, tools or a session. What it costs is limited before it is
//! sent, and recorded.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::base::{Clock, Fault, MicroUsd, Timestamp, sanitize};
use crate::config::Profile;
use crate::engine::driver::models::{ChosenModel, ModelRequest, Models};
use crate::model::content::BlobId;
use crate::model::conversation::{Block, Role, RoleMessage};
use crate::model::event::{CachePolicy, SessionConfig, SystemPrompt};
use crate::model::usage::Tokens;
use crate::provider::catalogue::cost;
use crate::provider::encode::encode_messages;
use crate::provider::retry::{self, Decision};
use crate::provider::{ApiError, BlobSource, BodyOptions, ProviderRequest, Response};

/// The most that an answer may have, in tokens.
const MAX_OUTPUT: u64 = 8_000;
const BYTES_PER_TOKEN: u64 = 4;
const SYSTEM: &str = "Answer the request. You have no tools and nobody reads your answer but the one who asked: no greeting, no \
                      offer of more.";
const ONLY_JSON: &str = "Answer with one JSON value that fits this JSON schema, and with nothing else:";

/// A question to a model.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What it is for, for the record.
    pub purpose: String,
    pub prompt: String,
    /// The JSON schema of the answer.
    pub schema: Option<Value>,
    /// The most that it may cost.
    pub limit: Option<MicroUsd>,
}

/// The answer, and what it took.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    pub text: String,
    /// The answer as JSON, if there was a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(flatten)]
    pub record: Record,
}

/// The record of a question, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub at: Timestamp,
    pub purpose: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    pub model: String,
    pub requests: u32,
    pub tokens: Tokens,
    /// `None` if the model has no known price.
    #[serde(rename = "cost_micro_usd", default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    pub ms: u64,
}

/// There are no pictures in a question.
struct NoBlobs;

impl BlobSource for NoBlobs {
    fn read(&self, _: &BlobId) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Asks a model. With a schema, an answer that does not fit is sent back once with what is wrong.
///
/// The record is returned with a failure, too: what was spent is spent.
pub async fn ask(
    models: &Models,
    profile: Option<&Profile>,
    question: &Question,
    clock: &dyn Clock,
) -> (Result<Answer, Fault>, Option<Record>) {
    let request = profile.map(ModelRequest::of).unwrap_or_default();
    let chosen = match models.choose(false, &request).await {
        Ok(chosen) => chosen,
        Err(fault) => return (Err(fault), None),
    };
    let record = Record {
        at: clock.now(),
        purpose: question.purpose.clone(),
        profile: profile.map(Profile::full_name),
        model: chosen.model.clone(),
        requests: 0,
        tokens: Tokens::default(),
        cost: Some(MicroUsd::ZERO),
        ms: 0,
    };
    let effort = profile.and_then(|profile| profile.effort.clone());
    let own = profile.map(|profile| profile.prompt.as_str()).unwrap_or_default();
    let mut asking =
        Asking { system: format!("{SYSTEM}\n\n{own}").trim().to_owned(), chosen, effort, question, record };
    let started = Instant::now();
    let answered = asking.run().await;
    let mut record = asking.record;
    record.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answer = answered.map(|(text, value)| Answer { text, value, record: record.clone() });
    (answer, (record.requests > 0).then_some(record))
}

struct Asking<'a> {
    system: String,
    chosen: ChosenModel,
    effort: Option<String>,
    question: &'a Question,
    record: Record,
}

impl Asking<'_> {
    async fn run(&mut self) -> Result<(String, Option<Value>), Fault> {
        let Some(schema) = &self.question.schema else {
            let text = self.request(vec![said(Role::User, self.question.prompt.clone())]).await?;
            return Ok((text, None));
        };
        let validator = jsonschema::validator_for(schema)
            .map_err(|error| Fault::user(format!("the schema is not a JSON schema: {error}")))?;
        let prompt = format!("{}\n\n{ONLY_JSON}\n{schema:#}", self.question.prompt);
        let mut messages = vec![said(Role::User, prompt)];
        let text = self.request(messages.clone()).await?;
        let problem = match checked(&validator, &text) {
            Ok(value) => return Ok((text, Some(value))),
            Err(problem) => problem,
        };
        messages.push(said(Role::Assistant, text));
        messages.push(said(Role::User, format!("This does not fit: {problem}\n{ONLY_JSON}\n{schema:#}")));
        let text = self.request(messages).await?;
        match checked(&validator, &text) {
            Ok(value) => Ok((text, Some(value))),
            Err(problem) => Err(Fault::environment(format!("the answer does not fit the schema: {problem}"))
                .hint("ask again, or describe in the prompt what each field means")),
        }
    }

    /// Sends one request, and repeats it as the class of its error says.
    async fn request(&mut self, messages: Vec<Arc<RoleMessage>>) -> Result<String, Fault> {
        let max_output = self.allowed_output(&messages)?;
        let config = Arc::new(SessionConfig {
            model: self.chosen.model.clone(),
            wire: self.chosen.wire,
            tools: Vec::new(),
            system: SystemPrompt { stable: self.system.clone(), variable: String::new() },
            cache: CachePolicy::default(),
            max_output,
            effort: self.effort.clone(),
        });
        let segments = encode_messages(config.wire, &messages, &NoBlobs)
            .map_err(|error| Fault::internal(format!("the question cannot be encoded: {error}")))?;
        let options = BodyOptions { max_output: Some(max_output), ..BodyOptions::streaming() };
        let call = ProviderRequest::respond(config, &segments, &options);
        let mut attempt = 1;
        loop {
            match self.attempt(call.clone()).await {
                Ok(response) => {
                    self.count(&response, &messages);
                    let text = response.text();
                    if text.trim().is_empty() {
                        return Err(Fault::environment("the model answered without text"));
                    }
                    return Ok(text.trim().to_owned());
                }
                Err(error) => match retry::decide(error.class, attempt, error.retry_after, 1.0) {
                    Decision::Wait(wait) => tokio::time::sleep(wait).await,
                    Decision::GiveUp => {
                        let message = sanitize::line(&error.to_string()).into_owned();
                        return Err(Fault::environment(message).hint("`mxd doctor` checks the provider"));
                    }
                },
            }
            attempt += 1;
        }
    }

    async fn attempt(&self, call: ProviderRequest) -> Result<Response, ApiError> {
        let cancel = CancellationToken::new();
        let permit = self.chosen.gate.enter(&cancel).await.map_err(|_| ApiError::cancelled())?;
        let (signals, mut incoming) = mpsc::channel(64);
        let answer = self.chosen.provider.respond(call, signals, cancel);
        tokio::pin!(answer);
        let answer = loop {
            tokio::select! {
                biased;
                // Nobody watches.
                Some(_) = incoming.recv() => {}
                answer = &mut answer => break answer,
            }
        };
        if answer.is_ok() {
            permit.accepted();
        }
        answer
    }

    /// Returns how long the answer may be under the limit.
    fn allowed_output(&self, messages: &[Arc<RoleMessage>]) -> Result<u64, Fault> {
        let most = MAX_OUTPUT.min(self.chosen.facts.max_output);
        let Some(limit) = self.question.limit else { return Ok(most) };
        let Some(prices) = self.chosen.facts.prices else {
            return Err(Fault::config(format!(
                "the price of {} is unknown, so a limit cannot be kept",
                self.chosen.model
            ))
            .hint("choose a model with a known price, or set one: `mxd config set models.NAME.prices …`"));
        };
        let spent = self.record.cost.unwrap_or_default();
        let price =
            |output: u64| spent + cost(&Tokens { input: self.input(messages), output, ..Tokens::default() }, &prices);
        // Halving is exact enough: the price of an answer grows with its length.
        let mut output = most;
        while output >= 64 && price(output) > limit {
            output /= 2;
        }
        if price(output) > limit {
            return Err(
                Fault::user(format!("this would cost more than {limit}")).hint("raise the limit, or ask for less")
            );
        }
        Ok(output)
    }

    /// Estimates the tokens of the input.
    fn input(&self, messages: &[Arc<RoleMessage>]) -> u64 {
        let texts = messages.iter().flat_map(|message| &message.blocks).map(|block| match block {
            Block::Text(text) => text.len(),
            _ => 0,
        });
        (texts.sum::<usize>() + self.system.len()) as u64 / BYTES_PER_TOKEN + 64
    }

    fn count(&mut self, response: &Response, messages: &[Arc<RoleMessage>]) {
        let tokens = if response.usage_reported {
            response.tokens
        } else {
            let output = response.text().len() as u64 / BYTES_PER_TOKEN;
            Tokens { input: self.input(messages), output, ..Tokens::default() }
        };
        let price = self.chosen.facts.prices.map(|prices| cost(&tokens, &prices));
        self.record.requests += 1;
        self.record.tokens += tokens;
        self.record.cost = self.record.cost.zip(price).map(|(sum, price)| sum + price);
    }
}

fn said(role: Role, text: String) -> Arc<RoleMessage> {
    Arc::new(RoleMessage { role, blocks: vec![Block::Text(text)] })
}

/// Returns the JSON value of an answer, or what is wrong with it. A fence around the value is tolerated.
fn checked(validator: &jsonschema::Validator, text: &str) -> Result<Value, String> {
    let inner = text.trim().strip_prefix("```json").or_else(|| text.trim().strip_prefix("```"));
    let inner = inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(text).trim();
    let value: Value = serde_json::from_str(inner).map_err(|error| format!("it is not JSON: {error}"))?;
    let problems: Vec<String> =
        validator.iter_errors(&value).take(5).map(|error| format!("{}: {error}", error.instance_path())).collect();
    if problems.is_empty() { Ok(value) } else { Err(problems.join("; ")) }
}

/// Adds a record to the file `path`.
pub fn record(path: &Path, record: &Record) -> Result<(), Fault> {
    use std::io::Write as _;
    let failed = |error: io::Error| Fault::environment(format!("cannot write {}: {error}", path.display()));
    let mut line = serde_json::to_vec(record).map_err(|error| Fault::internal(error.to_string()))?;
    line.push(b'\n');
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
    file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)
}

/// Returns the records in the file `path`. Lines that cannot be parsed are left out.
pub fn records(path: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
#[path = "oneshot_tests.rs"]
mod tests;
