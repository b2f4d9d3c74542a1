//! The guard that every request passes before its route: host, origin, rate of wrong tokens, token. It also adds the
//! headers that every answer has.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::Shared;
use super::access::Client;
use super::error::HttpError;
use super::peer::Peer;
use super::session::{COOKIE, PAGE_HEADER};
use crate::base::Fault;

/// What every answer forbids, except the page, which has its own policy.
const NO_CONTENT: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Lets a request pass to its route, or refuses it.
pub async fn check(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let checked = identify(&shared, &request);
    let name = checked.as_ref().ok().and_then(|client| Some(client.as_ref()?.name.clone()));
    let mut response = match checked {
        Ok(client) => {
            if let Some(client) = client {
                request.extensions_mut().insert(client);
            }
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    // The path has no secrets: those are in headers and in the query.
    tracing::debug!(%method, path, client = name, status = response.status().as_u16(), "request");
    secure(response.headers_mut());
    response
}

/// Returns who sends a request. `None` for a route that needs no token.
fn identify(shared: &Shared, request: &Request) -> Result<Option<Client>, HttpError> {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.ok_or_else(|| HttpError::from(Fault::internal("the peer of a connection is unknown")))?;
    check_host(shared, request, peer)?;
    check_origin(request.headers(), peer)?;
    if is_public(request.uri().path()) {
        return Ok(None);
    }
    check_rate(shared, peer)?;
    let client = match credentials(request.headers())? {
        Credentials::Token(token) => shared.access.client_with_token(token),
        Credentials::Login { cookie, page } => shared.access.client_with_login(cookie, page),
    };
    client.map(Some).ok_or_else(|| {
        shared.access.record_wrong_token(peer.address.ip());
        unauthorized("the token is not valid: it is wrong, expired or revoked")
    })
}

/// Refuses a peer that has sent too many wrong tokens.
pub fn check_rate(shared: &Shared, peer: &Peer) -> Result<(), HttpError> {
    let Some(wait) = shared.access.wait(peer.address.ip()) else { return Ok(()) };
    let seconds = wait.as_secs() + 1;
    let fault = Fault::user("too many wrong tokens").hint(format!("try again in {seconds} seconds"));
    Err(HttpError::new(StatusCode::TOO_MANY_REQUESTS, fault).header(header::RETRY_AFTER, HeaderValue::from(seconds)))
}

/// Returns true for the routes that need no token: they show nothing of a project. The page checks its link itself.
fn is_public(path: &str) -> bool {
    matches!(path, "/v1/health" | "/" | "/page.js" | "/page.css")
}

/// Refuses other hosts, with which a web site could reach this server under its own name (DNS rebinding). With TLS, the
/// certificate already names the host.
fn check_host(shared: &Shared, request: &Request, peer: &Peer) -> Result<(), HttpError> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (host, more) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next());
    let Some(host) = host.filter(|_| more.is_none()) else {
        return Err(HttpError::bad_request("the request must have one Host header"));
    };
    let named = request.uri().authority().map(axum::http::uri::Authority::as_str);
    let allowed = |host: &str| {
        let name = host_name(host);
        is_loopback(name) || shared.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    if peer.tls || (allowed(host) && named.is_none_or(allowed)) {
        return Ok(());
    }
    Err(HttpError::forbidden("this server does not answer under this host name")
        .hint("use 127.0.0.1 or localhost, or start the server with --host NAME"))
}

/// Returns the name or address in a `Host` header.
fn host_name(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Refuses requests that a page of another origin sends.
fn check_origin(headers: &HeaderMap, peer: &Peer) -> Result<(), HttpError> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let ours = format!("{}://{host}", if peer.tls { "https" } else { "http" });
    if origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&ours)) {
        return Ok(());
    }
    Err(HttpError::forbidden("requests of other web sites are refused"))
}

enum Credentials<'a> {
    Token(&'a str),
    Login { cookie: &'a str, page: &'a str },
}

fn credentials(headers: &HeaderMap) -> Result<Credentials<'_>, HttpError> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(header) = given.next() {
        let token = header.to_str().ok().and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        return token
            .filter(|_| given.next().is_none())
            .map(Credentials::Token)
            .ok_or_else(|| unauthorized("the Authorization header must be one of the form Bearer TOKEN"));
    }
    let page = headers.get(PAGE_HEADER).and_then(|page| page.to_str().ok());
    match (cookie(headers), page) {
        (Some(cookie), Some(page)) => Ok(Credentials::Login { cookie, page }),
        (Some(_), None) => Err(unauthorized("the cookie alone is not enough: the page sends a second half")),
        (None, _) => Err(unauthorized("the request has no token")),
    }
}

/// Returns the cookie of the page.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

fn unauthorized(message: &str) -> HttpError {
    let fault = Fault::user(message)
        .hint("send the header Authorization: Bearer TOKEN")
        .hint("`mxd serve token new NAME --scope read,answer,send` makes a token");
    HttpError::new(StatusCode::UNAUTHORIZED, fault)
}

fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, NO_CONTENT),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
