//! The engine over HTTP, with real sockets and the scripted model: routes, tokens, updates, refusals and the page.

mod cli;
mod examples;
mod hostile;
mod page;
mod routes;
mod stream;
pub mod tokens;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mxd::base::{IdSource, SystemClock};
use mxd::config::{Environment, merge};
use mxd::engine::models::CommandLineChoice;
use mxd::engine::{EngineOptions, Handle};
use mxd::provider::scripted::ScriptedProvider;
use mxd::serve::http::{self, HttpOptions, HttpProject, HttpServer, Listen, Timeouts, TlsFiles};
use mxd::serve::protocol::Epoch;
use mxd::serve::stream::Stream;
use mxd::store::RealDisk;
use mxd::store::registry::Registry;
use serde_json::{Value, json};

use crate::cli_support::World;
use crate::engine_support::{PATIENCE, call, play, root, say};

/// A project that is served.
pub struct Served {
    pub handle: Handle,
    pub server: HttpServer,
    pub address: SocketAddr,
    pub token: String,
    pub root: String,
    pub project: String,
}

/// What the root says to each message: it answers in words, asks, then goes on.
pub fn script() -> Value {
    json!([root(json!([
        say("Hello from the root."),
        call("clarify", json!({"question": "Which colour?", "choices": ["red", "blue"]})),
        say("I paint it as you said."),
        say("And again."),
        say("Still here."),
    ]))])
}

impl Served {
    pub async fn start(world: &World) -> Self {
        Self::with(world, script(), Timeouts::default(), None).await
    }

    pub async fn with(world: &World, script: Value, timeouts: Timeouts, tls: Option<TlsFiles>) -> Self {
        play(world, script);
        let scenario = serde_json::from_str(&std::fs::read_to_string(world.root().join("scenario.json")).unwrap());
        Self::with_scenario(world, &scenario.unwrap(), timeouts, tls).await
    }

    /// Serves a project whose model follows a whole scenario, with its pacing.
    pub async fn with_scenario(world: &World, scenario: &Value, timeouts: Timeouts, tls: Option<TlsFiles>) -> Self {
        std::fs::write(world.root().join("scenario.json"), scenario.to_string()).unwrap();
        let project = world.project("app");
        let registered =
            Registry::new(Arc::new(RealDisk), world.home().projects()).find_path(&project.path).unwrap().unwrap();
        let (id, name) = (registered.id, registered.name.clone());
        let clock = Arc::new(SystemClock);
        let options = EngineOptions {
            home: world.home(),
            project: registered,
            merged: merge(&Environment::new(|_| None), &[]).unwrap(),
            choice: CommandLineChoice::default(),
            budget: None,
            mode: None,
            hold: false,
            backend: None,
            scripted: Some(Arc::new(ScriptedProvider::load(&world.root().join("scenario.json"), 1.0).unwrap())),
            ids: IdSource::new(clock.clone()),
            clock: clock.clone(),
        };
        let handle = mxd::engine::open(options).await.unwrap();
        let stream = Stream::new(handle.clone(), Epoch::fresh());
        let projects = vec![HttpProject { id, name, handle: handle.clone(), stream }];
        let options = HttpOptions { home: world.home(), clock, hosts: Vec::new(), timeouts };
        let server = http::start(vec![Listen::new("0", tls).unwrap()], projects, options).await.unwrap();
        let (snapshot, _) = handle.subscribe().await.unwrap();
        Self {
            address: server.addresses()[0],
            token: server.info().token.expose().to_owned(),
            root: snapshot.root.to_string(),
            project: id.to_string(),
            handle,
            server,
        }
    }

    pub async fn end(self) {
        self.server.close().await;
        self.handle.quit().await;
    }

    /// Returns the head of a request with a valid token.
    pub fn head(&self, method: &str, path: &str) -> String {
        let Self { address, token, .. } = self;
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n")
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.raw(format!("{}\r\n", self.head("GET", path)).into_bytes()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, body, "").await
    }

    /// Posts JSON with more header lines, each ended.
    pub async fn post_with(&self, path: &str, body: &Value, headers: &str) -> Answer {
        let (head, body) = (self.head("POST", path), body.to_string());
        let request =
            format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len());
        self.raw(request.into_bytes()).await
    }

    /// Sends bytes and reads the answer.
    pub async fn raw(&self, request: Vec<u8>) -> Answer {
        let address = self.address;
        tokio::task::spawn_blocking(move || exchange(address, &request)).await.unwrap()
    }

    /// Returns the state of the project as bytes.
    pub async fn snapshot(&self) -> Value {
        serde_json::to_value(self.handle.subscribe().await.unwrap().0).unwrap()
    }

    pub fn messages(&self) -> String {
        format!("/v1/projects/{}/tasks/{}/messages", self.project, self.root)
    }
}

/// An answer, or what there is of it.
#[derive(Debug, Default)]
pub struct Answer {
    /// 0 if the connection was closed without one.
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{} {}", self.head, String::from_utf8_lossy(&self.body));
        self.json()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends bytes over a new connection and reads to its end.
pub fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A server that refuses a body early closes the connection while it is sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    parse_answer(&bytes)
}

pub fn parse_answer(bytes: &[u8]) -> Answer {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Answer::default() };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let mut answer = Answer { status, head, body: bytes[end + 4..].to_vec() };
    if answer.header("transfer-encoding") == Some("chunked") {
        answer.body = unchunk(&answer.body);
    }
    answer
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let rest = &bytes[end + 2..];
        if size == 0 || rest.len() < size {
            break;
        }
        out.extend_from_slice(&rest[..size]);
        bytes = rest.get(size + 2..).unwrap_or_default();
    }
    out
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
