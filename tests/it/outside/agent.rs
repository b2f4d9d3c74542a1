//! A scripted agent that speaks the Agent Client Protocol: the other side of the tests. It plays one list of steps per
//! prompt and writes down what it was told. It keeps the number of played turns in a file, so a restarted one goes on.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

pub const SCENARIO: &str = "SCRIPTED_SCENARIO";
pub const FOLDER: &str = "SCRIPTED_FOLDER";

/// Not a test of its own: the program that the engine starts. Does nothing unless told what to play.
#[test]
fn helper_that_is_an_agent() {
    let Some(scenario) = std::env::var_os(SCENARIO) else { return };
    let scenario: Value = serde_json::from_str(scenario.to_str().unwrap()).unwrap();
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let (send, lines) = channel();
    let log = folder.join("received.jsonl");
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            append(&log, &line);
            if let Ok(message) = serde_json::from_str::<Value>(&line) {
                let _ = send.send(message);
            }
        }
        // The client has gone.
        if std::env::var_os("SCRIPTED_IGNORES_EOF").is_none() {
            std::process::exit(0);
        }
    });
    append(&folder.join("environment.jsonl"), &json!(std::env::vars().collect::<BTreeMap<_, _>>()).to_string());
    append(&folder.join("pids"), &std::process::id().to_string());
    let mut agent =
        Agent { scenario, folder, lines, session: String::new(), tools: Value::Null, cancelled: false, last: 0 };
    agent.serve();
}

fn append(path: &Path, line: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

struct Agent {
    scenario: Value,
    folder: PathBuf,
    lines: Receiver<Value>,
    session: String,
    /// The entry of our tool server.
    tools: Value,
    cancelled: bool,
    last: u64,
}

enum End {
    Result(Value),
    Error(Value),
    Never,
}

impl Agent {
    fn serve(&mut self) {
        if self.scenario["silent"] == true {
            loop {
                std::thread::park();
            }
        }
        if let Some(text) = self.scenario["stderr"].as_str() {
            eprintln!("{text}");
        }
        if let Some(code) = self.scenario["exit"].as_i64() {
            std::process::exit(i32::try_from(code).unwrap());
        }
        while let Ok(message) = self.lines.recv() {
            let id = message["id"].clone();
            let params = message["params"].clone();
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => Self::reply(&id, self.scenario.get("initialize").cloned().unwrap_or_else(usual_hello)),
                "session/new" => self.begin(&id, &params, "new"),
                "session/load" => self.begin(&id, &params, "load"),
                "session/resume" => self.begin(&id, &params, "resume"),
                "session/prompt" => {
                    self.cancelled = false;
                    let end = self.play(&params);
                    match end {
                        End::Result(result) => Self::reply(&id, result),
                        End::Error(error) => Self::send(&json!({"jsonrpc": "2.0", "id": id, "error": error})),
                        End::Never => {}
                    }
                    for step in self.scenario["after"].as_array().cloned().unwrap_or_default() {
                        self.step(&step);
                    }
                }
                "session/set_mode" | "session/set_model" | "session/set_config_option" => {
                    let answer = self.scenario.get("configured").cloned().unwrap_or(json!({}));
                    Self::reply(&id, answer);
                }
                _ => {}
            }
        }
    }

    fn begin(&mut self, id: &Value, params: &Value, how: &str) {
        self.tools = params["mcpServers"][0].clone();
        if let Some(error) = self.scenario.get(format!("{how}_error")) {
            return Self::send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        if how == "load" {
            for old in 0..3 {
                self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": format!("old {old}")}}));
            }
        }
        self.session = params["sessionId"].as_str().map_or_else(|| format!("s-{}", std::process::id()), str::to_owned);
        let mut result = self.scenario.get("session").cloned().unwrap_or(json!({}));
        if how == "new" && result.get("sessionId").is_none() {
            result["sessionId"] = json!(self.session);
        }
        if self.scenario["lists_tools"] != false {
            self.tool("tools/list", &json!({}));
        }
        Self::reply(id, result);
    }

    /// Plays the steps of the next turn.
    fn play(&mut self, params: &Value) -> End {
        let counter = self.folder.join("turns");
        let turn = std::fs::read_to_string(&counter).ok().map_or(0, |text| text.lines().count());
        append(&counter, params["prompt"].to_string().as_str());
        let steps = self.scenario["turns"][turn].as_array().cloned().unwrap_or_default();
        for step in steps {
            if let Some(end) = self.step(&step) {
                return end;
            }
        }
        End::Result(json!({"stopReason": if self.cancelled { "cancelled" } else { "end_turn" }}))
    }

    fn step(&mut self, step: &Value) -> Option<End> {
        let (kind, value) = step.as_object()?.iter().next()?;
        let text = || value.as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "say" => self
                .update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": value}})),
            "think" => self
                .update(&json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": value}})),
            "update" => self.update(value),
            "raw" => {
                println!("{}", text());
            }
            "send" => Self::send(value),
            // Too long for an environment variable.
            "huge" => {
                let text = "x".repeat(usize::try_from(value.as_u64().unwrap()).unwrap());
                self.update(
                    &json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}),
                );
            }
            "flood" => {
                for at in 0..value.as_u64().unwrap() {
                    self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": format!("{at} ")}}));
                }
            }
            "ask" => {
                let outcome = self.request("session/request_permission", value);
                append(&self.folder.join("outcomes"), &outcome["result"]["outcome"].to_string());
            }
            "ask_and_go_on" => self.send_request("session/request_permission", value),
            "elicit" => {
                let answer = self.request("elicitation/create", value);
                append(&self.folder.join("outcomes"), &answer["result"].to_string());
            }
            "request" => {
                let answer = self.request(value["method"].as_str().unwrap(), &value["params"]);
                append(&self.folder.join("outcomes"), &answer.to_string());
            }
            "tool" => {
                let answer = self.tool("tools/call", value);
                append(&self.folder.join("outcomes"), &answer.to_string());
            }
            "sh" => {
                let output = Command::new("sh").args(["-c", &text()]).stdin(Stdio::null()).output().unwrap();
                append(&self.folder.join("shell"), &String::from_utf8_lossy(&output.stdout));
            }
            "sleep" => std::thread::sleep(Duration::from_millis(value.as_u64().unwrap())),
            "await_cancel" => {
                while !self.cancelled {
                    self.listen(Duration::from_secs(60));
                }
            }
            "await_file" => {
                while !self.folder.join(text()).exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            "exit" => std::process::exit(i32::try_from(value.as_i64().unwrap()).unwrap()),
            "kill" => rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap(),
            "end" => return Some(End::Result(value.clone())),
            "fail" => return Some(End::Error(value.clone())),
            "never" => return Some(End::Never),
            other => panic!("an unknown step: {other}"),
        }
        None
    }

    /// Takes in one message during a turn.
    fn listen(&mut self, limit: Duration) -> Option<Value> {
        let message = self.lines.recv_timeout(limit).ok()?;
        if message["method"] == "session/cancel" {
            self.cancelled = true;
        }
        if message["method"] == "_session/steering" {
            append(&self.folder.join("steered"), &message["params"]["prompt"][0]["text"].to_string());
            Self::reply(
                &message["id"],
                json!({"outcome": self.scenario.get("steering").cloned().unwrap_or(json!("injected"))}),
            );
        }
        Some(message)
    }

    fn send_request(&mut self, method: &str, params: &Value) {
        self.last += 1;
        let mut params = params.clone();
        params["sessionId"] = json!(self.session);
        Self::send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send_request(method, params);
        let id = json!(self.last);
        loop {
            let Some(message) = self.listen(Duration::from_secs(60)) else { return Value::Null };
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
        }
    }

    /// Calls the tool server over HTTP.
    fn tool(&mut self, method: &str, params: &Value) -> Value {
        let Some(url) = self.tools["url"].as_str() else { return Value::Null };
        let place = url.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
        let token = self.tools["headers"][0]["value"].as_str().unwrap();
        self.last += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).to_string();
        let mut stream = TcpStream::connect(&place).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\nAuthorization: {token}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        serde_json::from_str(body).unwrap_or(Value::String(answer))
    }

    fn update(&self, update: &Value) {
        Self::send(
            &json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": self.session, "update": update}}),
        );
    }

    fn reply(id: &Value, result: Value) {
        Self::send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn send(message: &Value) {
        let mut out = std::io::stdout().lock();
        // A client that has gone reads no more.
        let _ = out.write_all(format!("{message}\n").as_bytes()).and_then(|()| out.flush());
    }
}

fn usual_hello() -> Value {
    json!({
        "protocolVersion": 1,
        "agentInfo": {"name": "scripted", "version": "1.0.0"},
        "agentCapabilities": {
            "loadSession": true,
            "sessionCapabilities": {"systemPrompt": {}},
            "mcpCapabilities": {"http": true},
            "promptCapabilities": {"image": true},
        },
        "_meta": {"steering": {"supported": true}},
    })
}
