//! Opens a session: start, `initialize`, then a new session or the continuation of an earlier one.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{AcpSession, OpenedSession, configure};
use crate::outside::programs::{Quirks, ToolDoor};
use crate::outside::rpc::{Incoming, LOGIN_REQUIRED, Rpc, RpcError};
use crate::outside::session::{Can, FromAgent, OpenError, OpenRequest, Opened, ToolAccess, error_tail, last_words};
use crate::outside::start::Launcher;
use crate::outside::update::text;
use crate::outside::wire_log::WireLog;

/// The version of the protocol that is spoken here.
const PROTOCOL: u64 = 1;
/// Tools of programs that compete with ours: the tree of agents is ours, and work in the background makes turns that
/// nobody asked for.
const COMPETING_TOOLS: &[&str] = &[
    "Agent",
    "Workflow",
    "ScheduleWakeup",
    "EnterWorktree",
    "ExitWorktree",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Monitor",
    "SendMessage",
    "ListAgents",
];

/// Starts a program and opens a session. If it fails, nothing of the program is left.
pub async fn open(launcher: &Launcher, quirks: &Quirks, request: &OpenRequest) -> Result<OpenedSession, OpenError> {
    let log = WireLog::open(request.wire_log.as_deref());
    let started = launcher.start(&request.process_id, &request.cwd);
    let (process, pipes) = started.map_err(|error| OpenError::Start(error.to_string()))?;
    let rpc = Rpc::new(pipes.input, pipes.output, log);
    let session = AcpSession {
        rpc,
        process,
        id: String::new(),
        can_images: false,
        prompt: None,
        steering: None,
        open_requests: std::collections::BTreeMap::new(),
        early: Vec::new(),
    };
    let mut opening = Opening { session, deadline: Instant::now() + request.limit, limit: request.limit };
    match opening.open(quirks, request).await {
        Ok(opened) => Ok((opening.session, opened)),
        Err(error) => {
            opening.session.close().await;
            Err(error)
        }
    }
}

pub(super) struct Opening {
    pub(super) session: AcpSession,
    deadline: Instant,
    limit: Duration,
}

/// Why a request was not answered with a result.
pub(super) enum CallError {
    Answer(RpcError),
    Open(OpenError),
}

impl From<OpenError> for CallError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

/// Whether updates that arrive before the answer matter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Updates {
    Keep,
    /// They repeat a conversation that is in our session.
    Drop,
}

impl Opening {
    /// Sends a request and waits for its answer.
    pub(super) async fn call(&mut self, method: &str, params: &Value, updates: Updates) -> Result<Value, CallError> {
        let id = self.session.rpc.request(method, params);
        loop {
            let Ok(incoming) = timeout_at(self.deadline, self.session.rpc.next()).await else {
                let errors = error_tail(&self.session.process);
                return Err(OpenError::Silent { limit: self.limit, errors }.into());
            };
            match incoming {
                Incoming::Response { id: answered, result } if answered == id => {
                    return result.map_err(CallError::Answer);
                }
                Incoming::Closed => {
                    let (exit, errors) = last_words(&self.session.process).await;
                    return Err(OpenError::Died { exit, errors }.into());
                }
                other => match self.session.sort(other) {
                    Some(FromAgent::Update(_)) if updates == Updates::Drop => {}
                    // Programs say all sorts of things while they start. The record has them.
                    Some(FromAgent::Unknown { .. }) => {}
                    Some(said) => self.session.early.push(said),
                    None => {}
                },
            }
        }
    }

    async fn open(&mut self, quirks: &Quirks, request: &OpenRequest) -> Result<Opened, OpenError> {
        let hello = json!({
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {
                "fs": {"readTextFile": quirks.client_methods, "writeTextFile": quirks.client_methods},
                "terminal": false,
                "elicitation": {"form": {}},
            },
            "clientInfo": {"name": "mxd", "title": "Matrix", "version": env!("CARGO_PKG_VERSION")},
        });
        let about = match self.call("initialize", &hello, Updates::Drop).await {
            Ok(about) => about,
            Err(CallError::Open(error)) => return Err(error),
            Err(CallError::Answer(error)) => return Err(OpenError::Refused(error.in_full())),
        };
        let version = about.get("protocolVersion").and_then(Value::as_u64).unwrap_or(PROTOCOL);
        if version != PROTOCOL {
            return Err(OpenError::Protocol(version.to_string()));
        }
        let can = can(&about);
        let info = about.get("agentInfo").cloned().unwrap_or_default();
        let mut opened = Opened {
            program: text(&info, "name").unwrap_or_default(),
            version: text(&info, "version").unwrap_or_default(),
            protocol: format!("acp {version}"),
            can,
            ..Opened::default()
        };
        self.session.can_images = can.images;
        let settings = self.open_session(quirks, request, &about, &mut opened).await?;
        if self.session.id.is_empty() {
            return Err(OpenError::Refused("it returned no session id".to_owned()));
        }
        opened.session.clone_from(&self.session.id);
        configure::configure(self, quirks, request, &settings, &mut opened).await?;
        Ok(opened)
    }

    /// Continues the wanted session, or opens a new one. Returns what the program says about its settings.
    async fn open_session(
        &mut self,
        quirks: &Quirks,
        request: &OpenRequest,
        about: &Value,
        opened: &mut Opened,
    ) -> Result<Value, OpenError> {
        let mut params = session_params(quirks, request, opened.can);
        if let Some(earlier) = &request.resume {
            let method = if opened.can.resume { Some("session/resume") } else { None };
            let method = method.or(opened.can.load.then_some("session/load"));
            match method {
                None => opened.not_continued = Some("it cannot continue sessions".to_owned()),
                Some(method) => {
                    self.session.id.clone_from(earlier);
                    params["sessionId"] = json!(earlier);
                    match self.call(method, &params, Updates::Drop).await {
                        Ok(settings) => {
                            opened.continued = true;
                            opened.has_system = true;
                            return Ok(settings);
                        }
                        Err(CallError::Open(error)) => return Err(error),
                        Err(CallError::Answer(error)) if error.code == LOGIN_REQUIRED => {
                            return Err(login(&error, about));
                        }
                        Err(CallError::Answer(error)) => opened.not_continued = Some(error.in_full()),
                    }
                    self.session.id.clear();
                    self.session.early.clear();
                    if let Some(params) = params.as_object_mut() {
                        params.shift_remove("sessionId");
                    }
                }
            }
        }
        if opened.can.system_prompt && !request.system.is_empty() {
            let content = json!([{"type": "text", "text": request.system}]);
            params["systemPrompt"] = json!({"mode": "append", "content": content});
            opened.has_system = true;
        }
        match self.call("session/new", &params, Updates::Keep).await {
            Ok(settings) => {
                self.session.id = text(&settings, "sessionId").unwrap_or_default();
                Ok(settings)
            }
            Err(CallError::Open(error)) => Err(error),
            Err(CallError::Answer(error)) if error.code == LOGIN_REQUIRED => Err(login(&error, about)),
            Err(CallError::Answer(error)) => Err(OpenError::Refused(error.in_full())),
        }
    }
}

fn login(error: &RpcError, about: &Value) -> OpenError {
    let methods = about.get("authMethods").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<String> = methods.filter_map(|method| text(method, "name")).collect();
    let offered = if names.is_empty() { String::new() } else { format!(" (it offers: {})", names.join(", ")) };
    OpenError::Login(format!("{}{offered}", error.in_full()))
}

fn can(about: &Value) -> Can {
    let agent = about.get("agentCapabilities").cloned().unwrap_or_default();
    let at = |path: &[&str]| path.iter().try_fold(&agent, |value, name| value.get(name));
    let is = |path: &[&str]| at(path).is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
    let steering = ["/_meta/steering/supported", "/agentCapabilities/_meta/steering/supported"];
    Can {
        load: is(&["loadSession"]),
        resume: is(&["sessionCapabilities", "resume"]),
        steer: steering.iter().any(|path| about.pointer(path) == Some(&Value::Bool(true))),
        images: is(&["promptCapabilities", "image"]),
        mcp_http: is(&["mcpCapabilities", "http"]),
        system_prompt: is(&["sessionCapabilities", "systemPrompt"]) || is(&["systemPrompt"]),
    }
}

/// Returns the parameters that new and continued sessions share.
fn session_params(quirks: &Quirks, request: &OpenRequest, can: Can) -> Value {
    let servers: Vec<Value> = request.tools.iter().map(|tools| server(tools, can.mcp_http)).collect();
    let mut params = json!({"cwd": request.cwd, "mcpServers": servers});
    if quirks.git_folders && !request.folders.is_empty() {
        params["additionalDirectories"] = json!(request.folders);
    }
    if quirks.tools == ToolDoor::ClaudeOptions {
        let allowed: Vec<String> = request.tools.iter().map(|tools| format!("mcp__{}", tools.name)).collect();
        let mut options = json!({"allowedTools": allowed, "disallowedTools": COMPETING_TOOLS});
        if let Some(model) = &request.model {
            options["model"] = json!(model);
        }
        params["_meta"] = json!({"claudeCode": {"options": options}});
    }
    params
}

/// Returns the entry for our tools. HTTP needs no further process, and some programs refuse the other kind.
fn server(tools: &ToolAccess, can_http: bool) -> Value {
    if let Some((url, token)) = tools.http.as_ref().filter(|_| can_http) {
        let headers = json!([{"name": "Authorization", "value": format!("Bearer {token}")}]);
        return json!({"type": "http", "name": tools.name, "url": url, "headers": headers});
    }
    let variables: Vec<Value> =
        tools.variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"name": tools.name, "command": tools.command, "args": tools.arguments, "env": variables})
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
