//! How every HTTP client of ours is built, and what its failures say.
//!
//! Proxy variables are honoured, except for this machine itself; an address without TLS needs no certificates. Sends
//! nothing: whom to ask, and with which headers, is for the rooms that do. What encrypts is `ring`: it builds in seconds
//! where others take minutes of a cold build.

use std::error::Error;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, Url};
use rustls::crypto::{CryptoProvider, ring};

const USER_AGENT: &str = concat!("mxd/", env!("CARGO_PKG_VERSION"));

/// The client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be built: {0}; install CA certificates or set SSL_CERT_FILE")]
pub struct NoClient(String);

/// Returns a client for `address`, with what `adjust` adds to it.
pub fn client(
    address: &Url,
    connect: Duration,
    adjust: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, NoClient> {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been first; then it is there.
        let _ = ring::default_provider().install_default();
    }
    let builder = || {
        let builder = adjust(Client::builder().user_agent(USER_AGENT).connect_timeout(connect));
        if is_this_machine(address) { builder.no_proxy() } else { builder }
    };
    let built = builder().build();
    // Without CA certificates nothing can be built, though an address without TLS needs none of them.
    let built = if address.scheme() == "http" { built.or_else(|_| without_certificates(builder())) } else { built };
    built.map_err(|error| NoClient(chain(&error)))
}

fn without_certificates(builder: ClientBuilder) -> reqwest::Result<Client> {
    builder.tls_certs_only(std::iter::empty::<Certificate>()).build()
}

fn is_this_machine(address: &Url) -> bool {
    let host = address.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns an error with all its causes in one line: the outermost alone often says only that something failed.
pub fn chain(error: &(dyn Error + 'static)) -> String {
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
