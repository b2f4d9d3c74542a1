//! A server of tools for tests: this test binary, started again, speaking on its standard input and output.
//!
//! It is written by hand on purpose: a server built with the library of the client would share its mistakes.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

/// The variable that turns the test below into a server. Its value says how the server behaves.
pub const MODE: &str = "TOOL_SERVER_MODE";
/// Where the server notes its starts and what it is told to stop.
pub const NOTES: &str = "TOOL_SERVER_NOTES";

/// A red pixel.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// Not a test of its own: the server that other tests start. Does nothing unless told how to behave.
#[test]
fn helper_that_serves_tools() {
    let Ok(mode) = std::env::var(MODE) else { return };
    note(&format!("start {}", std::process::id()));
    // The harness may have begun a line.
    say_raw("");
    match mode.as_str() {
        "crash" => {
            eprint_raw("cannot find my configuration\nsecret is opensesame-42\n");
            std::process::exit(3);
        }
        "mute" => loop {
            std::thread::park();
        },
        _ => Server { mode, pages: vec![], added: false, removed: false, asked: HashMap::new() }.serve(),
    }
}

/// Returns the arguments that make this binary the server.
pub fn arguments() -> [&'static str; 4] {
    ["--exact", "mcp_server::helper_that_serves_tools", "--nocapture", "--quiet"]
}

fn note(line: &str) {
    let Ok(folder) = std::env::var(NOTES) else { return };
    let mut file =
        std::fs::OpenOptions::new().append(true).create(true).open(Path::new(&folder).join("notes")).unwrap();
    writeln!(file, "{line}").unwrap();
}

/// Returns the new description of the first tool, once there is one.
fn updated() -> Option<String> {
    std::fs::read_to_string(Path::new(&std::env::var(NOTES).ok()?).join("updated")).ok()
}

fn say_raw(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn say(message: &Value) {
    say_raw(&message.to_string());
}

fn eprint_raw(text: &str) {
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

struct Server {
    mode: String,
    pages: Vec<Vec<Value>>,
    added: bool,
    removed: bool,
    /// Requests of ours to the client, and the calls that wait for their answers.
    asked: HashMap<String, Value>,
}

impl Server {
    fn serve(mut self) {
        let (lines, inbox) = mpsc::channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let _ = lines.send(line);
            }
        });
        let mut slow: HashMap<String, Value> = HashMap::new();
        while let Ok(line) = inbox.recv_timeout(Duration::from_secs(600)) {
            let message: Value = serde_json::from_str(&line).unwrap();
            let id = message["id"].clone();
            match message["method"].as_str() {
                Some("notifications/cancelled") => {
                    let which = message["params"]["requestId"].to_string();
                    note(&format!("cancelled {which} {}", slow.remove(&which).is_some()));
                }
                Some("tools/call") if message["params"]["name"] == "slow" => {
                    note("slow");
                    slow.insert(id.to_string(), message);
                }
                Some(method) => {
                    if let Some(answer) = self.answer(method, &id, &message["params"]) {
                        say(&answer);
                    }
                }
                None => self.answered(&message),
            }
        }
        std::process::exit(0);
    }

    fn answer(&mut self, method: &str, id: &Value, params: &Value) -> Option<Value> {
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
            "tools/list" => self.list(params),
            "tools/call" => return self.call(id, params["name"].as_str().unwrap(), &params["arguments"]),
            "ping" => json!({}),
            method if method.starts_with("notifications/") => return None,
            method => {
                return Some(error(id, -32601, &format!("no method {method}")));
            }
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    /// Lists in pages of three, so that following a cursor is always tested.
    fn list(&mut self, params: &Value) -> Value {
        let page: usize = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
        if page == 0 {
            let mut tools = tools();
            // A server that says something else after an update.
            if let Some(described) = updated() {
                tools[0]["description"] = described.into();
                tools.push(json!({"name": "update", "inputSchema": {"type": "object"}}));
            }
            tools.retain(|tool| !(self.removed && tool["name"] == "echo"));
            if self.added {
                tools.push(json!({"name": "added", "inputSchema": {"type": "object"}}));
            }
            self.pages = tools.chunks(3).map(<[Value]>::to_vec).collect();
        }
        let next = (page + 1 < self.pages.len()).then(|| (page + 1).to_string());
        let mut list = json!({"tools": self.pages[page]});
        if let Some(next) = next {
            list["nextCursor"] = json!(next);
        }
        list
    }

    fn call(&mut self, id: &Value, name: &str, input: &Value) -> Option<Value> {
        let content = match name {
            "echo" => json!({"content": [{"type": "text", "text": input["text"]}]}),
            "pid" => json!({"content": [{"type": "text", "text": std::process::id().to_string()}]}),
            "sum" => {
                let sum = json!({"sum": input["a"].as_i64().unwrap() + input["b"].as_i64().unwrap()});
                json!({"content": [{"type": "text", "text": sum.to_string()}], "structuredContent": sum})
            }
            "structured" => json!({"content": [], "structuredContent": {"rows": [1, 2.5, null]}}),
            "picture" => json!({"content": [
                {"type": "text", "text": "here:"},
                {"type": "image", "data": PNG, "mimeType": "image/png"},
                {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
            ]}),
            "resources" => json!({"content": [
                {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "3q2+7w=="}},
                {"type": "resource", "resource": {"uri": "file:///c.png", "mimeType": "image/png", "blob": PNG}},
                {"type": "resource_link", "uri": "file:///d.md", "name": "d", "mimeType": "text/markdown", "size": 4096},
            ]}),
            "broken" => json!({"content": [
                {"type": "image", "data": "not base64!", "mimeType": "image/png"},
                {"type": "image", "data": "iVBORw0KGgoAAAA=", "mimeType": "image/png"},
            ]}),
            "fail" => json!({"content": [{"type": "text", "text": "disk full"}], "isError": true}),
            "empty" => json!({"content": []}),
            "refuse" => return Some(error(id, -32602, "text is missing")),
            "long" => {
                let times = usize::try_from(input["times"].as_u64().unwrap_or(20_000)).unwrap();
                json!({"content": [{"type": "text", "text": "0123456789\n".repeat(times)}]})
            }
            "environment" => {
                let all: HashMap<String, String> = std::env::vars().collect();
                let terminal = std::fs::File::open("/dev/tty").is_ok();
                let cwd = std::env::current_dir().unwrap();
                json!({"content": [], "structuredContent": {"env": all, "terminal": terminal, "cwd": cwd}})
            }
            "die" => {
                eprint_raw("\u{1b}[31mpanic\u{1b}[0m: out of ideas, token opensesame-42\n");
                std::process::exit(7);
            }
            "hang" => loop {
                std::thread::park();
            },
            "shout" => {
                eprint_raw(&"what a noise\n".repeat(200_000));
                json!({"content": [{"type": "text", "text": "done"}]})
            }
            "change" => {
                self.added = true;
                self.removed = true;
                say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                json!({"content": [{"type": "text", "text": "changed"}]})
            }
            "ask" => {
                let method = input["method"].as_str().unwrap();
                let number = format!("ask-{method}");
                self.asked.insert(number.clone(), id.clone());
                let params = match method {
                    "elicitation/create" => json!({
                        "message": "your name?", "requestedSchema": {"type": "object", "properties": {}},
                    }),
                    _ => json!({
                        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5,
                    }),
                };
                say(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
                return None;
            }
            "spawn" => {
                let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
                let pid = child.id().to_string();
                std::thread::spawn(move || child.wait());
                json!({"content": [{"type": "text", "text": pid}]})
            }
            _ => return Some(error(id, -32602, &format!("Unknown tool: {name} in mode {}", self.mode))),
        };
        Some(json!({"jsonrpc": "2.0", "id": id, "result": content}))
    }

    /// The client answered a request of ours: the call that led to it says what.
    fn answered(&mut self, message: &Value) {
        let Some(call) = message["id"].as_str().and_then(|id| self.asked.remove(id)) else { return };
        let said = if message["error"].is_object() { &message["error"] } else { &message["result"] };
        let content = json!({"content": [{"type": "text", "text": said.to_string()}]});
        say(&json!({"jsonrpc": "2.0", "id": call, "result": content}));
    }
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Everything the server offers before it changes its mind.
pub fn tools() -> Vec<Value> {
    let object = json!({"type": "object"});
    let mut tools = vec![
        json!({
            "name": "echo",
            "description": "Says it again.",
            "inputSchema": {
                "type": "object", "required": ["text"], "properties": {"text": {"type": "string"}},
                "$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true},
        }),
        json!({"name": "sum", "inputSchema": {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}),
        json!({"name": "two words", "inputSchema": object}),
    ];
    let plain = [
        "pid",
        "structured",
        "picture",
        "resources",
        "broken",
        "fail",
        "empty",
        "refuse",
        "long",
        "environment",
        "die",
        "shout",
        "change",
        "ask",
        "slow",
        "spawn",
        "hang",
    ];
    tools.extend(plain.map(|name| json!({"name": name, "inputSchema": object})));
    tools
}
