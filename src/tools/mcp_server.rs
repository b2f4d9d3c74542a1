//! Our own tools as an MCP server: answers the requests of a client. Knows no transport.
//!
//! Clients that ask for the newest protocol first are told that there is no such method, and begin again with
//! `initialize`, as that protocol asks of them.

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::base::Json;
use crate::model::ToolSpec;
use crate::tools::names;

/// The protocol versions that are spoken here, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// A call of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedCall {
    /// The wire name of the tool.
    pub name: String,
    pub input: Json,
    /// The client's id of the request: the same for a repetition.
    pub request: String,
    /// What the client says about the call.
    pub meta: Value,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedReply {
    pub text: String,
    pub is_error: bool,
}

impl ServedReply {
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true }
    }
}

/// Tools that are offered to a client.
pub trait ToolServer: Send + Sync {
    fn specs(&self) -> Vec<ToolSpec>;

    /// Text about the tools as a whole, for the client's model.
    fn instructions(&self) -> String;

    /// Must answer soon: clients give up after a minute.
    fn call(&self, call: ServedCall) -> BoxFuture<'_, ServedReply>;

    /// The client has asked for the list of tools, so it has them.
    fn on_listed(&self) {}

    /// The client has named itself.
    fn on_client(&self, _name: &str) {}
}

/// Answers a line or body of a client: a message or a batch. `None` if nothing in it needs an answer.
pub async fn answer_text(server: &dyn ToolServer, text: &str) -> Option<Value> {
    match serde_json::from_str(text) {
        Ok(Value::Array(batch)) if !batch.is_empty() => {
            let mut answers = Vec::new();
            for message in batch {
                answers.extend(answer(server, message).await);
            }
            (!answers.is_empty()).then_some(Value::Array(answers))
        }
        Ok(message) => answer(server, message).await,
        Err(error) => Some(failure(&Value::Null, PARSE_ERROR, &format!("not JSON: {error}"))),
    }
}

/// Answers a message. `None` for a notification or an answer.
pub async fn answer(server: &dyn ToolServer, message: Value) -> Option<Value> {
    let id = message.get("id").cloned().filter(|id| !id.is_null());
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        return (!is_answer).then(|| failure(&id.unwrap_or_default(), INVALID_REQUEST, "a message without a method"));
    };
    let id = id?;
    let params = message.get("params").cloned().unwrap_or_default();
    let result = match method {
        "initialize" => {
            if let Some(name) = params.pointer("/clientInfo/name").and_then(Value::as_str) {
                server.on_client(name);
            }
            let wanted = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
            let version = VERSIONS.into_iter().find(|version| *version == wanted).unwrap_or(VERSIONS[0]);
            Ok(json!({
                "protocolVersion": version,
                "capabilities": {"tools": {"listChanged": false}},
                "serverInfo": {"name": names::OWN, "title": "Matrix", "version": env!("CARGO_PKG_VERSION")},
                "instructions": server.instructions(),
            }))
        }
        "ping" | "logging/setLevel" => Ok(json!({})),
        "tools/list" => {
            server.on_listed();
            Ok(json!({"tools": server.specs().iter().map(listed).collect::<Vec<_>>()}))
        }
        // Asked for by clients that do not look at the capabilities.
        "resources/list" => Ok(json!({"resources": []})),
        "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
        "prompts/list" => Ok(json!({"prompts": []})),
        "tools/call" => match params.get("name").and_then(Value::as_str) {
            Some(name) => {
                let reply = call(server, name, &params, &id).await;
                Ok(json!({"content": [{"type": "text", "text": reply.text}], "isError": reply.is_error}))
            }
            None => Err((INVALID_PARAMS, "tools/call needs the name of a tool".to_owned())),
        },
        other => Err((METHOD_NOT_FOUND, format!("there is no method \"{other}\""))),
    };
    Some(match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, text)) => failure(&id, code, &text),
    })
}

async fn call(server: &dyn ToolServer, name: &str, params: &Value, id: &Value) -> ServedReply {
    let wire = names::canonical(name).into_owned();
    if !server.specs().iter().any(|spec| spec.name == wire) {
        let known: Vec<String> = server.specs().iter().map(|spec| bare(&spec.name).to_owned()).collect();
        return ServedReply::error(format!("There is no tool called \"{name}\". The tools are: {}.", known.join(", ")));
    }
    let input = params.get("arguments").filter(|arguments| !arguments.is_null()).cloned().unwrap_or(json!({}));
    let call = ServedCall {
        name: wire,
        input: Json::of(&input).unwrap_or_default(),
        request: id.to_string(),
        meta: params.get("_meta").cloned().unwrap_or_default(),
    };
    server.call(call).await
}

/// Returns the entry of a tool. The annotations keep programs from asking about it, and from hiding it: every one of
/// them concerns only tasks, and the engine decides what it may do.
fn listed(spec: &ToolSpec) -> Value {
    let tool = bare(&spec.name);
    let schema: Value = spec.schema.read().unwrap_or_else(|_| json!({"type": "object"}));
    json!({
        "name": tool,
        "description": spec.description,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": names::is_read_only(&spec.name),
            "destructiveHint": false,
            "openWorldHint": false,
            "idempotentHint": false,
        },
        "_meta": {"anthropic/alwaysLoad": true},
    })
}

fn bare(wire: &str) -> &str {
    names::split(wire).map_or(wire, |(_, tool)| tool)
}

fn failure(id: &Value, code: i64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
}

#[cfg(test)]
#[path = "mcp_server_tests.rs"]
mod tests;
