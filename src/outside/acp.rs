//! A session over the Agent Client Protocol, version 1.

mod configure;
mod open;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::elicitation::Question;
use super::permission::PermissionRequest;
use super::rpc::{Incoming, METHOD_NOT_FOUND, RequestId, Rpc, RpcError};
use super::session::{FromAgent, Opened, PromptPart, Steered, TurnEnd, end};
use super::update::{Update, tokens};
use crate::model::event::StopReason;
use crate::process::Process;

pub use open::open;

/// A session with a program that speaks the protocol.
#[derive(Debug)]
pub struct AcpSession {
    rpc: Rpc,
    process: Process,
    id: String,
    can_images: bool,
    prompt: Option<RequestId>,
    steering: Option<RequestId>,
    /// Requests of the program that are not answered, by their id as text. A cancelled turn answers those that ask.
    open_requests: BTreeMap<String, (Value, Waiting)>,
    /// What came before the session was open, in order.
    early: Vec<FromAgent>,
}

/// What a request of the program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Permission,
    Answer,
    Method,
}

impl AcpSession {
    pub(super) fn process(&self) -> &Process {
        &self.process
    }

    pub async fn next(&mut self) -> FromAgent {
        if !self.early.is_empty() {
            return self.early.remove(0);
        }
        loop {
            let incoming = self.rpc.next().await;
            if let Some(said) = self.sort(incoming) {
                return said;
            }
        }
    }

    /// Turns what arrived into what it means, or answers it.
    fn sort(&mut self, incoming: Incoming) -> Option<FromAgent> {
        match incoming {
            Incoming::Notification { method, params } if method == "session/update" => {
                let is_ours = params.get("sessionId").and_then(Value::as_str).is_none_or(|id| id == self.id);
                if !is_ours {
                    return Some(FromAgent::Unknown { what: "an update of another session".to_owned(), raw: params });
                }
                params.get("update").map(|update| FromAgent::Update(Update::read(update)))
            }
            Incoming::Notification { method, params } => {
                // The programs' own extensions say nothing that is needed.
                (!method.starts_with('_') && !method.starts_with("$/"))
                    .then_some(FromAgent::Unknown { what: method, raw: params })
            }
            Incoming::Request { id, method, params } => self.on_request(id, &method, params),
            Incoming::Response { id, result } if self.prompt == Some(id) => {
                self.prompt = None;
                Some(FromAgent::PromptEnded(result.map(turn_end)))
            }
            Incoming::Response { id, result } if self.steering == Some(id) => {
                self.steering = None;
                let outcome = result.ok().and_then(|result| result.get("outcome")?.as_str().map(str::to_owned));
                Some(FromAgent::Steered(match outcome.as_deref() {
                    Some("injected" | "queued") => Steered::Injected,
                    Some("promptRequired") => Steered::NoTurn,
                    Some(_) | None => Steered::Failed,
                }))
            }
            // A second answer, or one to a setting.
            Incoming::Response { .. } => None,
            Incoming::Garbage(line) => {
                Some(FromAgent::Unknown { what: "a line that is no message".to_owned(), raw: Value::String(line) })
            }
            Incoming::Closed => Some(FromAgent::Closed),
        }
    }

    fn on_request(&mut self, id: Value, method: &str, params: Value) -> Option<FromAgent> {
        let (waiting, said) = match method {
            "session/request_permission" => {
                let request = PermissionRequest::read(id.clone(), &params);
                (Waiting::Permission, FromAgent::Permission(Box::new(request)))
            }
            "elicitation/create" => (Waiting::Answer, FromAgent::Question(Question::read(id.clone(), &params))),
            method if method.starts_with("fs/") || method.starts_with("terminal/") => {
                (Waiting::Method, FromAgent::Method { id: id.clone(), method: method.to_owned(), params })
            }
            _ => {
                let error = RpcError::new(METHOD_NOT_FOUND, format!("\"{method}\" is not a method of this client"));
                self.rpc.answer(&id, Err(error));
                return (!method.starts_with('_')).then(|| FromAgent::Unknown { what: method.to_owned(), raw: params });
            }
        };
        self.open_requests.insert(id.to_string(), (id, waiting));
        Some(said)
    }

    pub fn prompt(&mut self, parts: &[PromptPart]) {
        let prompt = self.blocks(parts);
        self.prompt = Some(self.rpc.request("session/prompt", &json!({"sessionId": self.id, "prompt": prompt})));
    }

    pub fn steer(&mut self, parts: &[PromptPart]) {
        let params = json!({
            "sessionId": self.id,
            "prompt": self.blocks(parts),
            // Otherwise a turn that nobody asked for may start.
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        });
        self.steering = Some(self.rpc.request("_session/steering", &params));
    }

    fn blocks(&self, parts: &[PromptPart]) -> Vec<Value> {
        let block = |part: &PromptPart| match part {
            PromptPart::Text(text) => json!({"type": "text", "text": text}),
            PromptPart::Image { media_type, base64 } if self.can_images => {
                json!({"type": "image", "mimeType": media_type, "data": base64})
            }
            PromptPart::Image { .. } => {
                json!({"type": "text", "text": "[A picture belongs here. You cannot read pictures.]"})
            }
        };
        parts.iter().map(block).collect()
    }

    /// Cancels the turn. Some programs go on waiting until what they asked is answered.
    pub fn cancel(&mut self) {
        for (id, waiting) in std::mem::take(&mut self.open_requests).into_values() {
            match waiting {
                Waiting::Permission => self.rpc.answer(&id, Ok(json!({"outcome": {"outcome": "cancelled"}}))),
                Waiting::Answer => self.rpc.answer(&id, Ok(Question::cancel())),
                Waiting::Method => {
                    self.open_requests.insert(id.to_string(), (id, waiting));
                }
            }
        }
        self.rpc.notify("session/cancel", &json!({"sessionId": self.id}));
    }

    /// Answers a request, unless it was answered.
    pub fn answer(&mut self, id: &Value, result: Result<Value, RpcError>) {
        if self.open_requests.remove(&id.to_string()).is_some() {
            self.rpc.answer(id, result);
        }
    }

    pub async fn close(self) {
        let Self { rpc, process, .. } = self;
        drop(rpc);
        end(&process).await;
    }
}

fn turn_end(result: Value) -> TurnEnd {
    let stop = match result.get("stopReason").and_then(Value::as_str).unwrap_or("end_turn") {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        "cancelled" => StopReason::Interrupted,
        other => StopReason::Other(other.to_owned()),
    };
    let quota = || result.get("_meta")?.get("quota")?.get("token_count");
    let tokens = result.get("usage").and_then(tokens).or_else(|| quota().and_then(tokens));
    TurnEnd { stop, tokens, raw: result }
}

/// What [`open`] returns.
pub type OpenedSession = (AcpSession, Opened);
