//! Builds HTTP clients, and formats their errors.
//!
//! Clients honour proxy variables, except for loopback addresses. Plain HTTP needs no CA certificates. This module
//! sends no requests and sets no headers but the user agent. TLS uses `ring`, because other providers take minutes to
//! build.

use std::error::Error;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, Url};
use rustls::crypto::{CryptoProvider, ring};

const USER_AGENT: &str = concat!("mxd/", env!("CARGO_PKG_VERSION"));

/// The client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("cannot build the HTTP client: {0}; install CA certificates or set SSL_CERT_FILE")]
pub struct ClientBuildError(String);

/// Returns a client for `address`. `adjust` may change its builder.
pub fn client(
    address: &Url,
    connect: Duration,
    adjust: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, ClientBuildError> {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have installed it first.
        let _ = ring::default_provider().install_default();
    }
    let builder = || {
        let builder = adjust(Client::builder().user_agent(USER_AGENT).connect_timeout(connect));
        if is_loopback(address) { builder.no_proxy() } else { builder }
    };
    let built = builder().build();
    // Building fails on a machine without CA certificates, though plain HTTP needs none.
    let built = if address.scheme() == "http" { built.or_else(|_| without_certificates(builder())) } else { built };
    built.map_err(|error| ClientBuildError(error_chain(&error)))
}

fn without_certificates(builder: ClientBuilder) -> reqwest::Result<Client> {
    builder.tls_certs_only(std::iter::empty::<Certificate>()).build()
}

fn is_loopback(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns an error with all its causes in one line, because the outermost one often says only that something failed.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
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

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
