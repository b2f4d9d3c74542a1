//! Servers that run elsewhere: headers, refusals, and an end in between.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use mxd::tools::mcp::ServerHealth;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::mcp_support::Servers;

const TOKEN: &str = "Bearer hush-hush-1234";

#[derive(Default)]
struct Site {
    /// Answers come as an event stream instead of as one object.
    streams: AtomicBool,
    /// Which life of the server this is. Sessions of another one it does not know.
    life: AtomicUsize,
    calls: AtomicUsize,
    methods: Mutex<Vec<String>>,
}

async fn answer(State(site): State<Arc<Site>>, headers: HeaderMap, body: Bytes) -> Response {
    if headers.get(header::AUTHORIZATION).is_none_or(|value| value != TOKEN) {
        let said = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        return (StatusCode::FORBIDDEN, format!("wrong token: {}", said.unwrap_or_default())).into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    let life = site.life.load(Ordering::Relaxed).to_string();
    if headers.get("mcp-session-id").is_some_and(|session| session != life.as_str()) {
        let refusal = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "no valid session"}});
        let kind = [(header::CONTENT_TYPE, "application/json")];
        return (StatusCode::BAD_REQUEST, kind, refusal.to_string()).into_response();
    }
    let method = message["method"].as_str().unwrap_or_default();
    site.methods.lock().unwrap().push(method.to_owned());
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "site", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            site.calls.fetch_add(1, Ordering::Relaxed);
            json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]})
        }
        _ if message["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return sent(&site, &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
    };
    sent(&site, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn sent(site: &Site, message: &Value) -> Response {
    let session = [("mcp-session-id", site.life.load(Ordering::Relaxed).to_string())];
    if site.streams.load(Ordering::Relaxed) {
        let event = format!("event: message\ndata: {message}\n\n");
        return ([(header::CONTENT_TYPE, "text/event-stream")], session, event).into_response();
    }
    ([(header::CONTENT_TYPE, "application/json")], session, message.to_string()).into_response()
}

fn open(site: &Arc<Site>, at: Option<SocketAddr>) -> (SocketAddr, JoinHandle<()>) {
    let address = at.unwrap_or_else(|| ([127, 0, 0, 1], 0).into());
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    let listener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(site));
    (address, tokio::spawn(async move { axum::serve(listener, app).await.unwrap() }))
}

fn entry(address: SocketAddr, token: &str) -> Value {
    json!({"box": {"url": format!("http://{address}/mcp?k=not-for-logs"), "headers": {"Authorization": token}}})
}

#[tokio::test]
async fn a_server_at_an_address_gets_its_headers_with_every_request() {
    for streams in [false, true] {
        let site = Arc::new(Site::default());
        site.streams.store(streams, Ordering::Relaxed);
        let (address, running) = open(&site, None);
        let servers = Servers::new(|_| entry(address, TOKEN), |_| {}).await;
        assert_eq!(servers.missing, []);
        assert_eq!(servers.call("echo", json!({"text": "over there"})).await.text, "over there");
        assert!(matches!(servers.health("box"), ServerHealth::Ready { pid: None, .. }));
        assert!(!format!("{:?}", servers.pool).contains("hush"));
        servers.pool.shutdown().await;
        running.abort();
    }
}

#[tokio::test]
async fn a_refusal_is_told_without_the_token() {
    let site = Arc::new(Site::default());
    let (address, running) = open(&site, None);
    let servers = Servers::new(|_| entry(address, "Bearer wrong-wrong-99"), |_| {}).await;
    let [missing] = servers.missing.as_slice() else { panic!("{:?}", servers.missing) };
    assert!(missing.reason.contains("403"), "{missing:?}");
    assert!(!missing.reason.contains("wrong-wrong-99") && !missing.reason.contains("not-for-logs"), "{missing:?}");
    running.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_went_away_is_reached_again_when_it_is_back() {
    let site = Arc::new(Site::default());
    let (address, running) = open(&site, None);
    let servers = Servers::new(|_| entry(address, TOKEN), |_| {}).await;
    assert_eq!(servers.call("echo", json!({"text": "one"})).await.text, "one");
    running.abort();
    let _ = running.await;
    let reply = servers.call("echo", json!({"text": "two"})).await;
    assert!(reply.is_error && reply.text.contains("went away"), "{}", reply.text);
    assert!(reply.text.to_lowercase().contains(": connection re"), "{}", reply.text);
    assert!(!reply.text.contains("hush-hush") && !reply.text.contains("not-for-logs"), "{}", reply.text);
    let (_, running) = open(&site, Some(address));
    assert_eq!(servers.call("echo", json!({"text": "three"})).await.text, "three");
    let shaken = site.methods.lock().unwrap().iter().filter(|method| *method == "initialize").count();
    assert_eq!((shaken, site.calls.load(Ordering::Relaxed)), (2, 2));
    servers.pool.shutdown().await;
    running.abort();
}

#[tokio::test]
async fn a_server_that_forgot_the_session_is_met_anew() {
    let site = Arc::new(Site::default());
    let (address, running) = open(&site, None);
    let servers = Servers::new(|_| entry(address, TOKEN), |_| {}).await;
    assert_eq!(servers.call("echo", json!({"text": "one"})).await.text, "one");
    site.life.fetch_add(1, Ordering::Relaxed);
    assert_eq!(servers.call("echo", json!({"text": "two"})).await.text, "two");
    assert_eq!(site.calls.load(Ordering::Relaxed), 2, "what was refused was not run");
    servers.pool.shutdown().await;
    running.abort();
}
