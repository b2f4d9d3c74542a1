//! The tools over HTTP, on this machine only.
//!
//! One path, `POST` only. A web page cannot use it: a request must name this machine as its host, must not come from a
//! page of another origin, and must carry a token.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::Keys;
use crate::tools::mcp_server;

/// The longest request.
const MAX_BODY: usize = 8 << 20;
/// How long the head and the body of a request may take.
const READ_LIMIT: Duration = Duration::from_secs(30);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Listens on a free port.
pub(super) async fn listen(keys: Arc<Keys>) -> io::Result<(u16, AbortOnDropHandle<()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    let task = tokio::spawn(async move {
        // Dropped with this task, which ends the connections.
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            match listener.accept().await {
                Ok((stream, _)) => {
                    let keys = Arc::clone(&keys);
                    connections.spawn(async move {
                        let service = service_fn(move |request| {
                            let keys = Arc::clone(&keys);
                            async move { Ok::<_, Infallible>(respond(&keys, port, request).await) }
                        });
                        let mut server = http1::Builder::new();
                        server.timer(TokioTimer::new()).header_read_timeout(READ_LIMIT);
                        // A client that goes away is no error.
                        let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a program could not be served");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    });
    Ok((port, AbortOnDropHandle::new(task)))
}

type Answer = Response<Full<Bytes>>;

async fn respond(keys: &Keys, port: u16, request: Request<Incoming>) -> Answer {
    let headers = request.headers();
    if request.uri().path() != "/mcp" {
        return plain(StatusCode::NOT_FOUND, "The tools are at /mcp.");
    }
    if !is_local(headers, port) {
        return plain(StatusCode::FORBIDDEN, "Only programs on this machine may use the tools.");
    }
    let Some(server) = token(headers).and_then(|token| keys.server(token)) else {
        let mut refused = plain(StatusCode::UNAUTHORIZED, "The token is missing or no longer valid.");
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refused;
    };
    match *request.method() {
        Method::POST => {}
        // There are no sessions, so there is nothing to end.
        Method::DELETE => return plain(StatusCode::NO_CONTENT, ""),
        _ => {
            let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "Use POST.");
            refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, DELETE"));
            return refused;
        }
    }
    let body = Limited::new(request.into_body(), MAX_BODY).collect();
    let Ok(Ok(body)) = tokio::time::timeout(READ_LIMIT, body).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "The request is too long, or took too long.");
    };
    let body = body.to_bytes();
    let text = String::from_utf8_lossy(&body);
    match mcp_server::answer_text(server.as_ref(), &text).await {
        None => plain(StatusCode::ACCEPTED, ""),
        Some(answer) => {
            let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
    }
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

/// Returns true if the request names this machine, and comes from no page of another origin.
fn is_local(headers: &HeaderMap, port: u16) -> bool {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default().to_owned());
    let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{port}"));
    let is_host = text(header::HOST).is_some_and(|host| hosts.contains(&host));
    let is_origin = text(header::ORIGIN)
        .is_none_or(|origin| hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host.as_str())));
    is_host && is_origin
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}
