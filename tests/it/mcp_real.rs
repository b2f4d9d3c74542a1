//! Servers that others wrote, as peers. Ignored unless asked for: `tests/counterparts/mcp_servers.sh` installs them
//! and says where they are.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mxd::process::table;
use mxd::tools::mcp::ServerHealth;
use mxd::tools::{CancelTokens, Reply, execute};
use serde_json::{Value, json};

use crate::mcp_support::Servers;
use crate::tools_support::{black_png, runs, tool_use, until};

/// The folder with the programs that npm installed, and the one with those of the Python environment.
const NPM: &str = "MCP_NPM_BIN";
const PYTHON: &str = "MCP_PYTHON_BIN";

fn program(folder: &str, name: &str) -> PathBuf {
    let folder = std::env::var_os(folder).unwrap_or_else(|| panic!("{folder} is not set"));
    PathBuf::from(folder).join(name)
}

fn everything() -> Value {
    json!({"command": program(NPM, "mcp-server-everything"), "args": ["stdio"]})
}

impl Servers {
    async fn ask(&self, name: &str, input: Value) -> Reply {
        self.bench.call(&format!("mcp__{name}"), input).await
    }

    fn ready(&self, server: &str) -> (usize, String, Option<i32>) {
        match self.health(server) {
            ServerHealth::Ready { tools, protocol, pid, .. } => (tools.len(), protocol, pid),
            other => panic!("{server} is not ready: {other:?}"),
        }
    }
}

fn text_of(reply: &Reply) -> &str {
    assert!(!reply.is_error, "{}", reply.text);
    &reply.text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs server-everything"]
async fn everything_over_a_pipe() {
    let servers = Servers::new(|_| json!({"every": everything()}), |_| {}).await;
    let (tools, protocol, pid) = servers.ready("every");
    let pid = pid.unwrap();
    println!("server-everything (stdio): {tools} tools, protocol {protocol}");
    assert!(tools >= 10 && servers.missing.is_empty(), "{:?}", servers.missing);

    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "hello"})).await), "Echo: hello");
    assert!(text_of(&servers.ask("every__get-sum", json!({"a": 2, "b": 40})).await).contains("42"));
    let reply = servers.ask("every__get-tiny-image", json!({})).await;
    assert_eq!((reply.images.len(), reply.images[0].media_type.as_str()), (1, "image/png"), "{}", reply.text);
    let reply =
        servers.ask("every__get-annotated-message", json!({"messageType": "error", "includeImage": true})).await;
    assert_eq!(reply.images.len(), 1, "{}", reply.text);
    let reply = servers.ask("every__get-structured-content", json!({"location": "New York"})).await;
    let structured: Value = serde_json::from_str(text_of(&reply)).unwrap();
    assert!(structured["temperature"].is_number(), "said once, and as JSON: {structured}");
    let reply = servers.ask("every__get-resource-reference", json!({"resourceType": "Text", "resourceId": 1})).await;
    assert!(text_of(&reply).contains("[resource "), "{}", reply.text);
    let reply = servers.ask("every__get-resource-reference", json!({"resourceType": "Blob", "resourceId": 2})).await;
    assert!(text_of(&reply).contains(": kept in /"), "{}", reply.text);
    let reply = servers.ask("every__get-resource-links", json!({"count": 3})).await;
    assert_eq!(text_of(&reply).matches("[link to the resource").count(), 3, "{}", reply.text);
    let reply = servers.ask("every__get-sum", json!({"a": "two"})).await;
    assert!(reply.is_error, "{}", reply.text);
    let reply = servers.ask("every__get-env", json!({})).await;
    let seen: Value = serde_json::from_str(text_of(&reply)).unwrap();
    let secret = |name: &&String| mxd::process::environment::is_secret(name);
    let secrets: Vec<_> = seen.as_object().unwrap().keys().filter(secret).collect();
    // Both are our own, and hold nothing secret whatever they are called.
    assert_eq!(secrets, ["GIT_CONFIG_KEY_0", mxd::process::environment::RUN_MARKER]);

    cancelled_and_killed(&servers, pid).await;
    let pid = servers.ready("every").2.unwrap();
    many_at_once(&servers, pid).await;
    servers.pool.shutdown().await;
    assert!(!runs(pid) && servers.records() == 0);
}

async fn cancelled_and_killed(servers: &Servers, pid: i32) {
    let long = || tool_use("mcp__every__trigger-long-running-operation", &json!({"duration": 600, "steps": 5}));
    let tokens = CancelTokens::default();
    let mut context = servers.bench.context.clone();
    context.tokens = tokens.clone();
    let running = tokio::spawn(async move { execute(&long(), &context).await });
    // The server says nothing before its first step: that it took the call shows in that it answers the next one.
    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "between"})).await), "Echo: between");
    let asked = Instant::now();
    tokens.interrupt.cancel();
    let reply = running.await.unwrap();
    println!("interrupted after {:?}: {}", asked.elapsed(), reply.text);
    assert!(reply.is_error && asked.elapsed() < Duration::from_secs(1));
    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "after"})).await), "Echo: after");
    assert_eq!(servers.ready("every").2, Some(pid), "the same process");

    let context = servers.bench.context.clone();
    let running = tokio::spawn(async move { execute(&long(), &context).await });
    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "between"})).await), "Echo: between");
    let start = table::get(pid).unwrap().start;
    table::signal(pid, start, rustix::process::Signal::KILL);
    let asked = Instant::now();
    let reply = running.await.unwrap();
    println!("killed in mid-call, told after {:?}: {}", asked.elapsed(), reply.text);
    assert!(reply.is_error && reply.text.contains("ended by signal 9"), "{}", reply.text);
    let asked = Instant::now();
    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "again"})).await), "Echo: again");
    println!("started again and answered within {:?}", asked.elapsed());
    assert_ne!(servers.ready("every").2, Some(pid));
}

async fn many_at_once(servers: &Servers, pid: i32) {
    let started = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..64 {
        let context = servers.bench.context.clone();
        calls.spawn(async move {
            let call = tool_use("mcp__every__echo", &json!({"message": n.to_string()}));
            assert_eq!(execute(&call, &context).await.text, format!("Echo: {n}"));
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
    println!("64 callers at once: {:?}, one process", started.elapsed());
    assert_eq!(servers.ready("every").2, Some(pid));
}

struct Site(Child);

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn site(port: u16) -> Site {
    let child = Command::new(program(NPM, "mcp-server-everything"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the server listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    Site(child)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs server-everything"]
async fn everything_over_http() {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let running = site(port).await;
    let entry = json!({"every": {"url": format!("http://127.0.0.1:{port}/mcp"), "headers": {"X-Own": "own-value"}}});
    let servers = Servers::new(|_| entry, |_| {}).await;
    let (tools, protocol, _) = servers.ready("every");
    println!("server-everything (HTTP): {tools} tools, protocol {protocol}");
    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "far"})).await), "Echo: far");
    assert_eq!(servers.ask("every__get-tiny-image", json!({})).await.images.len(), 1);

    let long = tool_use("mcp__every__trigger-long-running-operation", &json!({"duration": 600, "steps": 5}));
    let context = servers.bench.context.clone();
    let call = tokio::spawn(async move { execute(&long, &context).await });
    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "between"})).await), "Echo: between");
    drop(running);
    let killed = Instant::now();
    let reply = tokio::time::timeout(Duration::from_secs(30), call).await.unwrap().unwrap();
    println!("server killed in mid-call, told after {:?}: {}", killed.elapsed(), reply.text);
    assert!(reply.is_error && reply.text.contains("went away"), "{}", reply.text);
    let running = site(port).await;
    assert_eq!(text_of(&servers.ask("every__echo", json!({"message": "back"})).await), "Echo: back");

    // Another life of the server knows nothing of the session: the first call may fail, the next may not.
    drop(running);
    let running = site(port).await;
    let asked = Instant::now();
    let mut reply = servers.ask("every__echo", json!({"message": "new"})).await;
    if reply.is_error {
        println!("the old session is gone: {}", reply.text);
        reply = servers.ask("every__echo", json!({"message": "new"})).await;
    }
    println!("answered by another life of the server after {:?}", asked.elapsed());
    assert_eq!(text_of(&reply), "Echo: new");
    servers.pool.shutdown().await;
    drop(running);
}

#[tokio::test]
#[ignore = "needs server-filesystem"]
async fn the_filesystem_server() {
    let entry = json!({"command": program(NPM, "mcp-server-filesystem"), "args": ["."]});
    let servers = Servers::new(|_| json!({"files": entry}), |_| {}).await;
    let (tools, protocol, pid) = servers.ready("files");
    println!("server-filesystem: {tools} tools, protocol {protocol}");
    let path = servers.bench.root.join("note.txt");
    let input = json!({"path": path, "content": "written over there"});
    text_of(&servers.ask("files__write_file", input).await);
    assert_eq!(servers.bench.read("note.txt"), "written over there");
    assert!(text_of(&servers.ask("files__read_text_file", json!({"path": path})).await).contains("written over there"));
    let picture = black_png(8, 8);
    servers.bench.write("dot.png", &picture);
    let reply = servers.ask("files__read_media_file", json!({"path": servers.bench.root.join("dot.png")})).await;
    assert_eq!(reply.images.len(), 1, "{}", reply.text);
    let reply = servers.ask("files__read_text_file", json!({"path": "/etc/hostname"})).await;
    assert!(reply.is_error, "{}", reply.text);
    println!("refused: {}", reply.text);
    let registry = Arc::clone(&servers.bench.context.registry);
    assert_eq!(registry.get("mcp__files__read_text_file").unwrap().effect(), mxd::tools::ToolEffect::Reads);
    assert_eq!(registry.get("mcp__files__write_file").unwrap().effect(), mxd::tools::ToolEffect::Opaque);
    servers.pool.shutdown().await;
    assert!(!runs(pid.unwrap()));
}

#[tokio::test]
#[ignore = "needs mcp-server-time and mcp-server-git"]
async fn the_python_servers() {
    let entries = json!({
        "time": {"command": program(PYTHON, "mcp-server-time")},
        "git": {"command": program(PYTHON, "mcp-server-git")},
    });
    let servers = Servers::new(|_| entries, |_| {}).await;
    for server in ["time", "git"] {
        let (tools, protocol, _) = servers.ready(server);
        println!("mcp-server-{server}: {tools} tools, protocol {protocol}");
    }
    let reply = servers.ask("time__get_current_time", json!({"timezone": "Europe/Berlin"})).await;
    assert!(text_of(&reply).contains("Europe/Berlin"), "{}", reply.text);
    let reply = servers.ask("time__get_current_time", json!({"timezone": "Nowhere/At-All"})).await;
    assert!(reply.is_error, "{}", reply.text);
    println!("refused: {}", reply.text);
    let repo = servers.bench.root.join("repo");
    git2::Repository::init(&repo).unwrap();
    std::fs::write(repo.join("new.txt"), "new").unwrap();
    let reply = servers.ask("git__git_status", json!({"repo_path": repo})).await;
    assert!(text_of(&reply).contains("new.txt"), "{}", reply.text);
    let reply = servers.ask("git__git_status", json!({"repo_path": servers.bench.data})).await;
    assert!(reply.is_error, "{}", reply.text);
    servers.pool.shutdown().await;
}
