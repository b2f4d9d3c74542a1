//! The web page: three files in the program, and the one-time link that logs it in.
//!
//! The files show nothing of a project, so they need no token. Everything else the page gets through the same routes as
//! other clients.

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use super::error::HttpError;
use super::peer::Peer;
use super::request::Parameters;
use super::session::COOKIE;
use super::{Shared, guard};
use crate::base::Fault;

const HTML: &str = include_str!("../../../assets/page/index.html");
const SCRIPT: &str = include_str!("../../../assets/page/page.js");
const STYLE: &str = include_str!("../../../assets/page/page.css");
/// Only the page's own files and its own server. No inline script or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// How long a browser keeps a login. It ends earlier with its token.
const COOKIE_SECONDS: u32 = 30 * 24 * 60 * 60;

#[derive(Deserialize)]
pub(super) struct Link {
    /// The ticket of a one-time link.
    t: Option<String>,
}

pub(super) async fn html(
    State(shared): State<std::sync::Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    Parameters(Link { t: ticket }): Parameters<Link>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let Some(ticket) = ticket else {
        let status = if has_cookie(&headers) { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        return Ok(file(status, "text/html; charset=utf-8", HTML));
    };
    guard::check_rate(&shared, &peer)?;
    let Some(login) = shared.access.redeem(&ticket)? else {
        shared.access.record_wrong_token(peer.address.ip());
        return Ok(file(StatusCode::UNAUTHORIZED, "text/html; charset=utf-8", HTML));
    };
    // The part after # is not sent to servers. The page keeps it and removes it from the address.
    let location = HeaderValue::try_from(format!("/#login={}", login.page.expose()))
        .map_err(|error| Fault::internal(error.to_string()))?;
    let headers = [(header::LOCATION, location), (header::SET_COOKIE, cookie(login.cookie.expose(), peer.tls)?)];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

pub(super) async fn script() -> Response {
    file(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT)
}

pub(super) async fn style() -> Response {
    file(StatusCode::OK, "text/css; charset=utf-8", STYLE)
}

fn file(status: StatusCode, kind: &'static str, content: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    (status, headers, content).into_response()
}

fn has_cookie(headers: &HeaderMap) -> bool {
    guard::cookie(headers).is_some()
}

/// Returns the header that logs a browser in.
pub(super) fn cookie(value: &str, tls: bool) -> Result<HeaderValue, HttpError> {
    set_cookie(value, COOKIE_SECONDS, tls)
}

/// Returns the header that logs a browser out.
pub(super) fn no_cookie(tls: bool) -> Result<HeaderValue, HttpError> {
    set_cookie("", 0, tls)
}

fn set_cookie(value: &str, seconds: u32, tls: bool) -> Result<HeaderValue, HttpError> {
    let secure = if tls { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(cookie).map_err(|error| Fault::internal(error.to_string()).into())
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
