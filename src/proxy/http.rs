//! HTTP: `CONNECT`, and plain requests with an absolute address. One request per connection.
//!
//! A plain request is read completely by one parser and written anew by another, so that nothing in it can be taken for
//! a second request by the server. Its `Host` is the host that was admitted.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;

use super::gate::{Client, Refusal};
use super::host::Target;
use super::serve::Proxy;

type Body = BoxBody<Bytes, hyper::Error>;

/// Headers that are about one connection.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    HeaderName::from_static("proxy-connection"),
];
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// The size of the head of a server's response.
const MAX_RESPONSE_HEAD: usize = 64 << 10;
/// The parser needs a buffer of this size.
const LEAST_HEAD: usize = 8 << 10;

/// Why a request gets no answer from a host.
enum Failure {
    /// The request itself is not one for a proxy.
    Bad(&'static str),
    Refused(Refusal),
}

/// What a tunnel needs: the connection of the client once it is handed over, and that to the host.
type Tunnel = (hyper::upgrade::OnUpgrade, TcpStream);

/// Serves one connection.
pub(super) async fn serve(proxy: Proxy, stream: TcpStream, client: Arc<Client>) -> io::Result<()> {
    let tunnel: Arc<Mutex<Option<Tunnel>>> = Arc::default();
    let limits = proxy.limits;
    let service = service_fn(|request| {
        let (proxy, client, tunnel) = (proxy.clone(), Arc::clone(&client), Arc::clone(&tunnel));
        async move {
            let answered = match request.method() {
                &Method::CONNECT => connect(&proxy, &client, request, &tunnel).await,
                _ => forward(&proxy, &client, request).await,
            };
            Ok::<_, Infallible>(answered.unwrap_or_else(|failure| failed(&failure)))
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head.max(LEAST_HEAD))
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    served.map_err(io::Error::other)?;
    let open = tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some((upgrade, mut upstream)) = open else { return Ok(()) };
    let upgraded = upgrade.await.map_err(io::Error::other)?;
    copy_bidirectional(&mut TokioIo::new(upgraded), &mut upstream).await.map(drop)
}

async fn connect(
    proxy: &Proxy,
    client: &Client,
    request: Request<Incoming>,
    tunnel: &Mutex<Option<Tunnel>>,
) -> Result<Response<Body>, Failure> {
    let target = target(request.uri(), request.headers(), None).map_err(|failure| noted(client, failure))?;
    let upstream = proxy.connect(client, &target).await.map_err(Failure::Refused)?;
    let upgrade = hyper::upgrade::on(request);
    *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some((upgrade, upstream));
    Ok(Response::new(empty()))
}

async fn forward(proxy: &Proxy, client: &Client, mut request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    if request.uri().scheme_str() != Some("http") {
        return Err(Failure::Bad("send requests for http:// addresses here, and CONNECT for others"));
    }
    let target = target(request.uri(), request.headers(), Some(80)).map_err(|failure| noted(client, failure))?;
    let upstream = proxy.connect(client, &target).await.map_err(Failure::Refused)?;
    let unreachable = |error: hyper::Error| {
        let refusal = Refusal::Unreachable { target: target.clone(), reason: error.to_string() };
        Failure::Refused(client.noted(refusal))
    };
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(MAX_RESPONSE_HEAD)
        .handshake(TokioIo::new(upstream))
        .await
        .map_err(unreachable)?;
    let connection = tokio::spawn(connection);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().map_err(|_| Failure::Bad("the path is not valid"))?;
    clean(request.headers_mut());
    let host = if target.port == 80 { target.host.to_string() } else { target.to_string() };
    let host = HeaderValue::from_str(&host).map_err(|_| Failure::Bad("the host is not valid"))?;
    request.headers_mut().insert(header::HOST, host);
    let response = match sender.send_request(request).await {
        Ok(response) => response,
        Err(error) => {
            connection.abort();
            return Err(unreachable(error));
        }
    };
    let (mut head, body) = response.into_parts();
    clean(&mut head.headers);
    Ok(Response::from_parts(head, body.boxed()))
}

/// Returns the host that a request is for.
fn target(uri: &Uri, headers: &HeaderMap, default: Option<u16>) -> Result<Target, Failure> {
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(Failure::Bad("the request has several Host headers"));
    }
    let authority = uri.authority().ok_or(Failure::Bad("the request names no host"))?;
    Target::parse(authority.as_str(), default).map_err(|error| Failure::Refused(error.into()))
}

fn noted(client: &Client, failure: Failure) -> Failure {
    match failure {
        Failure::Refused(refusal) => Failure::Refused(client.noted(refusal)),
        bad @ Failure::Bad(_) => bad,
    }
}

/// Removes headers that are about one connection, also those that `Connection` names.
fn clean(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // The framing of the body is not the client's to remove.
        .filter(|name| *name != header::CONTENT_LENGTH && *name != header::TRANSFER_ENCODING && *name != header::HOST)
        .collect();
    for name in HOP_BY_HOP.iter().chain([&KEEP_ALIVE]).chain(&named) {
        headers.remove(name);
    }
}

fn failed(failure: &Failure) -> Response<Body> {
    let (status, text) = match failure {
        Failure::Bad(why) => (StatusCode::BAD_REQUEST, (*why).to_owned()),
        Failure::Refused(refusal @ Refusal::Unreachable { .. }) => (StatusCode::BAD_GATEWAY, refusal.to_string()),
        Failure::Refused(refusal) => (StatusCode::FORBIDDEN, refusal.to_string()),
    };
    let mut response = Response::new(full(format!("mxd sandbox: {text}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn empty() -> Body {
    full(String::new())
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed()
}
