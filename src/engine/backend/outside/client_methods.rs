//! What a program may ask us to do with files and commands: by the tools of our own agents, so that the same rules hold.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::base::Json;
use crate::model::conversation::ToolUse;
use crate::outside::rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use crate::tools::{self, ControlRequest, Registry, ToolContext, names};

/// Carries out a request of a program. The tools check paths and permissions.
pub(super) async fn carry_out(
    mut tools: ToolContext,
    root: PathBuf,
    method: String,
    params: Value,
) -> Result<Value, RpcError> {
    tools.registry = std::sync::Arc::new(Registry::builtin());
    let path = || {
        let path = params.get("path").and_then(Value::as_str).filter(|path| !path.is_empty());
        path.ok_or_else(|| RpcError::new(INVALID_PARAMS, "the path is missing"))
    };
    match method.as_str() {
        "fs/read_text_file" => {
            let path = path()?;
            let line = params.get("line").and_then(Value::as_u64).unwrap_or(1).max(1);
            let limit = params.get("limit").and_then(Value::as_u64);
            // Checked like a read of our own tool; the program wants the text without line numbers.
            call(&tools, names::READ_FILE, &json!({"files": [{"path": path}]})).await?;
            let file = root.join(path);
            let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(file)).await;
            let text = read.map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
            let text = text.map_err(|error| RpcError::new(INVALID_PARAMS, error.to_string()))?;
            let lines = text.split_inclusive('\n').skip(usize::try_from(line - 1).unwrap_or(usize::MAX));
            let shown: String = match limit {
                Some(limit) => lines.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect(),
                None => lines.collect(),
            };
            Ok(json!({"content": shown}))
        }
        "fs/write_text_file" => {
            let path = path()?;
            let content = params.get("content").and_then(Value::as_str);
            let content = content.ok_or_else(|| RpcError::new(INVALID_PARAMS, "the content is missing"))?;
            let file = root.join(path);
            // Our tool asks for a look at a file before it replaces it. The program has had its own.
            if file.exists() {
                call(&tools, names::READ_FILE, &json!({"files": [{"path": path}]})).await?;
            }
            call(&tools, names::WRITE_FILE, &json!({"path": path, "content": content})).await?;
            Ok(json!({}))
        }
        _ => Err(RpcError::new(METHOD_NOT_FOUND, format!("\"{method}\" is not offered here"))),
    }
}

async fn call(tools: &ToolContext, name: &str, input: &Value) -> Result<String, RpcError> {
    let call = ToolUse {
        call: format!("client-{name}"),
        name: names::wire(name),
        input: Json::of(input).unwrap_or_default(),
        malformed: None,
    };
    let reply = tools::execute(&call, tools).await;
    if let Some(ControlRequest::Hold(held)) = &reply.control {
        let text =
            format!("it needs the user's permission ({}); use a tool of your own, which asks for it", held.headline());
        return Err(RpcError::new(INVALID_PARAMS, text));
    }
    if reply.is_error { Err(RpcError::new(INVALID_PARAMS, reply.text)) } else { Ok(reply.text) }
}
