//! A session over the JSON lines of a wrapper script, for programs that speak no common protocol.
//!
//! The protocol is described in `docs/backends.md`. Every line is an object with a `type`. A type that is not known here
//! is passed on and means nothing.

use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::permission::{OptionKind, PermissionAnswer, PermissionOption, PermissionRequest};
use super::rpc::{self, INTERNAL_ERROR, Incoming, LOGIN_REQUIRED, Rpc, RpcError};
use super::session::{
    Can, FromAgent, OpenError, OpenRequest, Opened, PromptPart, TurnEnd, end, error_tail, last_words,
};
use super::start::Launcher;
use super::update::{CallUpdate, Update, UsageUpdate, text, tokens};
use super::wire_log::WireLog;
use crate::base::MicroUsd;
use crate::model::event::StopReason;
use crate::process::Process;

/// The version of the protocol.
const VERSION: u64 = 1;

#[derive(Debug)]
pub struct LinesSession {
    rpc: Rpc,
    process: Process,
    session: String,
    is_running: bool,
    /// What the session has cost: a program states the cost of a turn.
    spent: MicroUsd,
    usage: Option<crate::model::usage::Tokens>,
    early: Vec<FromAgent>,
}

/// Reads a line: an object with a type.
fn parse(line: &str) -> Vec<Incoming> {
    let read: Result<Map<String, Value>, _> = serde_json::from_str(line);
    let message = read.ok().and_then(|message| {
        let method = message.get("type")?.as_str()?.to_owned();
        Some(Incoming::Notification { method, params: Value::Object(message) })
    });
    vec![message.unwrap_or_else(|| rpc::garbage(line))]
}

/// Starts a program and waits until it is ready. If it fails, nothing of the program is left.
pub async fn open(launcher: &Launcher, request: &OpenRequest) -> Result<(LinesSession, Opened), OpenError> {
    let log = WireLog::open(request.wire_log.as_deref());
    let started = launcher.start(&request.process_id, &request.cwd);
    let (process, pipes) = started.map_err(|error| OpenError::Start(error.to_string()))?;
    let rpc = Rpc::with_parser(pipes.input, pipes.output, log, parse);
    let mut session = LinesSession {
        rpc,
        process,
        session: request.resume.clone().unwrap_or_default(),
        is_running: false,
        spent: MicroUsd::ZERO,
        usage: None,
        early: Vec::new(),
    };
    match session.open(request).await {
        Ok(opened) => Ok((session, opened)),
        Err(error) => {
            session.close().await;
            Err(error)
        }
    }
}

impl LinesSession {
    pub(super) fn process(&self) -> &Process {
        &self.process
    }

    async fn open(&mut self, request: &OpenRequest) -> Result<Opened, OpenError> {
        let tools = request.tools.as_ref().map(|tools| {
            let env: Map<String, Value> =
                tools.variables.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let (url, token) = tools.http.clone().unzip();
            let (command, args) = (&tools.command, &tools.arguments);
            json!({"name": tools.name, "command": command, "args": args, "env": env, "url": url, "token": token})
        });
        self.rpc.send(&json!({
            "type": "open",
            "version": VERSION,
            "cwd": request.cwd,
            "system": request.system,
            "session": request.resume,
            "model": request.model,
            "effort": request.effort,
            "mode": request.mode,
            "mcp": tools,
        }));
        let deadline = Instant::now() + request.limit;
        loop {
            let Ok(incoming) = timeout_at(deadline, self.rpc.next()).await else {
                return Err(OpenError::Silent { limit: request.limit, errors: error_tail(&self.process) });
            };
            match incoming {
                Incoming::Notification { method, params } if method == "ready" => {
                    return Ok(self.ready(request, &params));
                }
                Incoming::Notification { method, params } if method == "end" => {
                    let reason = text(&params, "error").unwrap_or_else(|| "it gave no reason".to_owned());
                    let needs_login = params.get("login").and_then(Value::as_bool) == Some(true);
                    return Err(if needs_login { OpenError::Login(reason) } else { OpenError::Refused(reason) });
                }
                Incoming::Closed => {
                    let (exit, errors) = last_words(&self.process).await;
                    return Err(OpenError::Died { exit, errors });
                }
                other => {
                    // Programs say all sorts of things while they start. The record has them.
                    let said = self.sort(other).filter(|said| !matches!(said, FromAgent::Unknown { .. }));
                    self.early.extend(said);
                }
            }
        }
    }

    fn ready(&mut self, request: &OpenRequest, params: &Value) -> Opened {
        if let Some(id) = text(params, "session") {
            self.session = id;
        }
        let continued = request.resume.is_some() && request.resume.as_deref() == Some(self.session.as_str());
        let wanted = request.resume.is_some();
        let model = text(params, "model");
        let mut ignored = Vec::new();
        if let Some(asked) = request.model.as_ref().filter(|asked| model.as_ref().is_some_and(|model| model != *asked))
        {
            ignored.push(format!("model {asked}"));
        }
        Opened {
            program: text(params, "program").unwrap_or_default(),
            version: text(params, "version").unwrap_or_default(),
            protocol: format!("json {VERSION}"),
            session: self.session.clone(),
            continued,
            not_continued: (wanted && !continued).then(|| "it began another session".to_owned()),
            model,
            mode: text(params, "mode"),
            ignored,
            has_system: params.get("system").and_then(Value::as_bool).unwrap_or(true),
            can: Can::default(),
        }
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

    fn sort(&mut self, incoming: Incoming) -> Option<FromAgent> {
        let (kind, message) = match incoming {
            Incoming::Notification { method, params } => (method, params),
            Incoming::Garbage(line) => {
                return Some(FromAgent::Unknown {
                    what: "a line that is no message".to_owned(),
                    raw: Value::String(line),
                });
            }
            Incoming::Closed => return Some(FromAgent::Closed),
            Incoming::Request { .. } | Incoming::Response { .. } => return None,
        };
        let said = message.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "text" => Some(FromAgent::Update(Update::Text { text: said, message: text(&message, "message") })),
            "thought" => Some(FromAgent::Update(Update::Thought { text: said, message: text(&message, "message") })),
            "tool" => call(&message).map(|call| FromAgent::Update(Update::Call(Box::new(call)))),
            "plan" => {
                let plan = json!({"sessionUpdate": "plan", "entries": message.get("entries")});
                Some(FromAgent::Update(Update::read(&plan)))
            }
            "notice" => Some(FromAgent::Update(Update::Notice(said))),
            "usage" => {
                self.usage = tokens(&message);
                let cost = message.get("costUsd").and_then(Value::as_f64).and_then(MicroUsd::from_dollars);
                cost.map(|cost| {
                    self.spent += cost;
                    let cost = Some(self.spent);
                    FromAgent::Update(Update::Usage(UsageUpdate { cost, ..UsageUpdate::default() }))
                })
            }
            "session" => text(&message, "id").filter(|id| *id != self.session).map(|id| {
                self.session.clone_from(&id);
                FromAgent::SessionId(id)
            }),
            "permission" => {
                let id = message.get("id").cloned().unwrap_or_default();
                let option = |id: &str, kind| PermissionOption { id: id.to_owned(), kind, name: id.to_owned() };
                let options = vec![option("allow", OptionKind::AllowOnce), option("reject", OptionKind::RejectOnce)];
                let call = message.get("tool").and_then(call).unwrap_or_default();
                Some(FromAgent::Permission(Box::new(PermissionRequest { id, call, options })))
            }
            "end" if self.is_running => {
                self.is_running = false;
                Some(FromAgent::PromptEnded(self.turn_end(message)))
            }
            "ready" | "end" => None,
            _ => Some(FromAgent::Unknown { what: kind, raw: message }),
        }
    }

    fn turn_end(&mut self, message: Value) -> Result<TurnEnd, RpcError> {
        if let Some(error) = text(&message, "error") {
            let needs_login = message.get("login").and_then(Value::as_bool) == Some(true);
            return Err(RpcError::new(if needs_login { LOGIN_REQUIRED } else { INTERNAL_ERROR }, error));
        }
        let stop = match text(&message, "stop").as_deref() {
            None | Some("end_turn") => StopReason::EndTurn,
            Some("cancelled") => StopReason::Interrupted,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        Ok(TurnEnd { stop, tokens: self.usage.take(), raw: message })
    }

    pub fn prompt(&mut self, parts: &[PromptPart]) {
        let texts = parts.iter().filter_map(|part| match part {
            PromptPart::Text(text) => Some(text.as_str()),
            PromptPart::Image { .. } => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        self.is_running = true;
        self.rpc.send(&json!({"type": "prompt", "text": text}));
    }

    pub fn cancel(&mut self) {
        self.rpc.send(&json!({"type": "cancel"}));
    }

    pub fn answer_permission(&mut self, id: &Value, answer: PermissionAnswer) {
        self.rpc.send(&json!({"type": "permission", "id": id, "allow": answer == PermissionAnswer::Allow}));
    }

    pub async fn close(self) {
        let Self { rpc, process, .. } = self;
        drop(rpc);
        end(&process).await;
    }
}

/// Reads a tool call: the fields have shorter names here.
fn call(message: &Value) -> Option<CallUpdate> {
    let output = message.get("output").and_then(Value::as_str).map(str::to_owned);
    CallUpdate::read(&json!({
        "toolCallId": message.get("id")?,
        "title": message.get("title"),
        "name": message.get("name"),
        "kind": message.get("kind"),
        "status": message.get("status"),
        "rawInput": message.get("input"),
        "rawOutput": output,
        "locations": message.get("paths").and_then(Value::as_array).map(|paths| {
            paths.iter().map(|path| json!({"path": path})).collect::<Vec<_>>()
        }),
    }))
}

#[cfg(test)]
#[path = "json_lines_tests.rs"]
mod tests;
