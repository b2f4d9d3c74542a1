//! JSON-RPC 2.0 with one message per line, read leniently.
//!
//! Everything that arrives becomes an [`Incoming`], in order: answers to our requests too, so that an update that came
//! before the end of a turn is never handled after it. What is no message is passed on and ends nothing. Reading stops
//! while nobody takes what arrived, so a program that floods is slowed down instead of filling memory.

use std::io;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::wire_log::{Way, WireLog};

/// The longest line. A longer one is dropped.
const MAX_LINE: usize = 64 << 20;
/// How many messages may wait to be handled.
const QUEUE: usize = 512;
/// How much of a line that is no message is passed on.
const GARBAGE: usize = 2_000;

/// The code of an answer to an unknown method.
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
/// The program wants the user to log in.
pub const LOGIN_REQUIRED: i64 = -32000;

/// The id of one of our requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// An error answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }

    fn read(error: &Value) -> Self {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
        let message = error.get("message").and_then(Value::as_str).unwrap_or("an error without a message").to_owned();
        Self { code, message, data: error.get("data").cloned().unwrap_or_default() }
    }

    /// Returns the message with the details that programs put into `data`.
    pub fn in_full(&self) -> String {
        let detail = match &self.data {
            Value::String(text) => text.as_str(),
            Value::Object(data) => {
                let texts = ["details", "message", "error"].into_iter().filter_map(|name| data.get(name)?.as_str());
                texts.into_iter().next().unwrap_or_default()
            }
            _ => "",
        };
        match detail.trim() {
            "" => self.message.clone(),
            detail if self.message.contains(detail) => self.message.clone(),
            detail => format!("{}: {detail}", self.message),
        }
    }
}

/// Something that arrived.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        id: RequestId,
        result: Result<Value, RpcError>,
    },
    /// A line that is no message.
    Garbage(String),
    /// Nothing more will arrive.
    Closed,
}

/// The connection to a program.
#[derive(Debug)]
pub struct Rpc {
    outgoing: mpsc::UnboundedSender<String>,
    incoming: mpsc::Receiver<Incoming>,
    last_id: u64,
    _reader: AbortOnDropHandle<()>,
}

impl Rpc {
    /// Starts to read and write JSON-RPC. Must be called in a runtime.
    pub fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        log: WireLog,
    ) -> Self {
        Self::with_parser(input, output, log, parse)
    }

    /// As [`Rpc::new`], for lines that another function reads.
    pub fn with_parser(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        log: WireLog,
        parse: Parser,
    ) -> Self {
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (arrived, incoming) = mpsc::channel(QUEUE);
        let log = std::sync::Arc::new(std::sync::Mutex::new(log));
        // It ends when this connection is dropped, which closes the program's stdin.
        tokio::spawn(write(input, to_write, std::sync::Arc::clone(&log)));
        let reader = AbortOnDropHandle::new(tokio::spawn(read(output, arrived, log, parse)));
        Self { outgoing, incoming, last_id: 0, _reader: reader }
    }

    /// Sends a request. Its answer arrives as [`Incoming::Response`].
    pub fn request(&mut self, method: &str, params: &Value) -> RequestId {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        RequestId(self.last_id)
    }

    pub fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the program.
    pub fn answer(&self, id: &Value, result: Result<Value, RpcError>) {
        self.send(&match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => {
                let error = json!({"code": error.code, "message": error.message, "data": error.data});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        });
    }

    /// Sends a line that is no JSON-RPC message.
    pub fn send(&self, message: &Value) {
        // The writer is gone only if the program no longer reads; the reader reports its end.
        let _ = self.outgoing.send(message.to_string());
    }

    /// Returns what arrives next. Cancel safe.
    pub async fn next(&mut self) -> Incoming {
        self.incoming.recv().await.unwrap_or(Incoming::Closed)
    }
}

/// Returns the messages of a line.
pub type Parser = fn(&str) -> Vec<Incoming>;

type SharedLog = std::sync::Arc<std::sync::Mutex<WireLog>>;

fn record(log: &SharedLog, way: Way, line: &str) {
    log.lock().unwrap_or_else(std::sync::PoisonError::into_inner).record(way, line);
}

async fn write(mut input: impl AsyncWrite + Unpin, mut lines: mpsc::UnboundedReceiver<String>, log: SharedLog) {
    while let Some(mut line) = lines.recv().await {
        record(&log, Way::ToAgent, &line);
        line.push('\n');
        if input.write_all(line.as_bytes()).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

async fn read(output: impl AsyncRead + Unpin, arrived: mpsc::Sender<Incoming>, log: SharedLog, parse: Parser) {
    let mut reader = BufReader::with_capacity(64 << 10, output);
    let mut line = Vec::new();
    loop {
        let messages = match read_line(&mut reader, &mut line).await {
            Ok(Line::Whole) => {
                let text = String::from_utf8_lossy(&line);
                if text.trim().is_empty() {
                    continue;
                }
                record(&log, Way::FromAgent, &text);
                parse(&text)
            }
            Ok(Line::TooLong) => vec![Incoming::Garbage(format!("[a line of more than {} MiB]", MAX_LINE >> 20))],
            Ok(Line::End) | Err(_) => vec![Incoming::Closed],
        };
        for message in messages {
            let ends = message == Incoming::Closed;
            if arrived.send(message).await.is_err() || ends {
                return;
            }
        }
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads a line into `line`, without its end.
async fn read_line(reader: &mut (impl AsyncBufReadExt + Unpin), line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(if line.is_empty() { Line::End } else { Line::Whole });
        }
        let end = memchr::memchr(b'\n', available);
        let taken = end.unwrap_or(available.len());
        is_too_long |= line.len() + taken > MAX_LINE;
        if is_too_long {
            line.clear();
            line.shrink_to_fit();
        } else {
            line.extend_from_slice(&available[..taken]);
        }
        reader.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return Ok(if is_too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

/// Returns a line that is no message, cut to what is kept of it.
pub fn garbage(line: &str) -> Incoming {
    Incoming::Garbage(crate::base::text::prefix(line.trim(), GARBAGE).to_owned())
}

/// Returns the messages of a line. A batch has several.
pub fn parse(line: &str) -> Vec<Incoming> {
    let garbage = || garbage(line);
    match serde_json::from_str(line) {
        Ok(Value::Object(message)) => vec![message_of(message).unwrap_or_else(garbage)],
        Ok(Value::Array(batch)) if !batch.is_empty() => {
            let each = batch.into_iter().map(|message| match message {
                Value::Object(message) => message_of(message).unwrap_or_else(garbage),
                _ => garbage(),
            });
            each.collect()
        }
        Ok(_) | Err(_) => vec![garbage()],
    }
}

fn message_of(mut message: Map<String, Value>) -> Option<Incoming> {
    let params = message.remove("params").unwrap_or_default();
    let id = message.remove("id").filter(|id| !id.is_null());
    if let Some(Value::String(method)) = message.remove("method") {
        return Some(match id {
            Some(id) => Incoming::Request { id, method, params },
            None => Incoming::Notification { method, params },
        });
    }
    // Some programs send ids back as text.
    let id = id?;
    let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
    let result = match message.remove("error").filter(|error| !error.is_null()) {
        Some(error) => Err(RpcError::read(&error)),
        None => Ok(message.remove("result").unwrap_or_default()),
    };
    Some(Incoming::Response { id: RequestId(id), result })
}

#[cfg(test)]
#[path = "rpc_tests.rs"]
mod tests;
