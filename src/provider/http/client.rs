//! The HTTP client itself: how it is built, what it says of itself, what its failures mean.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Url};

use crate::model::conversation::Wire;
use crate::provider::credential::Credential;
use crate::provider::error::{ApiError, ErrorClass};

const USER_AGENT: &str = concat!("mxd/", env!("CARGO_PKG_VERSION"));

/// Returns a client for the endpoint at `url`. Proxy variables are honoured, except for this machine itself.
pub(super) fn build(url: &Url, connect: Duration) -> Result<Client, ApiError> {
    let builder = || {
        let builder = Client::builder().user_agent(USER_AGENT).connect_timeout(connect).redirect(Policy::none());
        if is_this_machine(url) { builder.no_proxy() } else { builder }
    };
    let built = builder().build();
    // Without CA certificates nothing can be built, though an endpoint without TLS needs none of them.
    let built = if url.scheme() == "http" { built.or_else(|_| without_certificates(builder())) } else { built };
    built.map_err(|problem| {
        let problem = describe(problem);
        ApiError::new(
            ErrorClass::Network,
            format!("the HTTP client cannot be built: {problem}; install CA certificates or set SSL_CERT_FILE"),
        )
    })
}

fn without_certificates(builder: ClientBuilder) -> reqwest::Result<Client> {
    builder.tls_certs_only(std::iter::empty::<Certificate>()).build()
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the headers that tell the endpoint who asks.
pub(super) fn headers(credential: &Credential) -> Result<HeaderMap, ApiError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if credential.wire == Wire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let Some(key) = credential.api_key.as_ref().filter(|key| !key.is_empty()) else { return Ok(headers) };
    let key = key.expose().trim();
    let (name, value) = match credential.wire {
        Wire::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        Wire::OpenaiResponses | Wire::OpenaiChat | Wire::Scripted => (AUTHORIZATION, format!("Bearer {key}")),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        let group = &credential.group;
        ApiError::new(ErrorClass::Auth, format!("the key of credential group \"{group}\" has characters no key has"))
    })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

/// Returns what it means that no response came.
pub(super) fn failure(error: reqwest::Error) -> ApiError {
    let class = if error.is_timeout() && !error.is_connect() { ErrorClass::Timeout } else { ErrorClass::Network };
    ApiError::new(class, describe(error))
}

/// Returns the whole chain of causes in one line: the outermost alone only says that sending failed.
pub(super) fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = inner.source();
    }
    line
}
