//! Addresses and certificates: what a server listens on, and what it refuses to listen on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::base::Fault;

/// How long an address may be taken by the server that this one replaces.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(3);
const REPLACE_PAUSE: Duration = Duration::from_millis(50);

/// The files of a certificate, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    pub certificates: PathBuf,
    pub key: PathBuf,
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    address: SocketAddr,
    tls: Option<TlsFiles>,
}

impl Listen {
    /// Returns an address to listen on: `PORT`, `HOST:PORT` or `[IPV6]:PORT`. Without TLS, only this machine's loopback
    /// interface is allowed.
    pub fn new(address: &str, tls: Option<TlsFiles>) -> Result<Self, Fault> {
        let address = parse(address)?;
        if !address.ip().is_loopback() && tls.is_none() {
            let port = address.port();
            return Err(Fault::user(format!(
                "refused to listen on {address} without TLS: anyone on the network could read the token and your code"
            ))
            .hint(format!(
                "listen on 127.0.0.1:{port}, and on the other machine run: ssh -N -L {port}:127.0.0.1:{port} USER@HOST"
            ))
            .hint("or give a certificate with --tls CERT KEY"));
        }
        Ok(Self { address, tls })
    }
}

fn parse(text: &str) -> Result<SocketAddr, Fault> {
    let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let parsed = text.parse::<u16>().ok().map(loopback).or_else(|| SocketAddr::from_str(text).ok());
    let named = || Some(loopback(text.strip_prefix("localhost:")?.parse().ok()?));
    parsed.or_else(named).ok_or_else(|| {
        Fault::user(format!("\"{}\" is not an address to listen on", text.escape_debug()))
            .hint("for example 7878, 127.0.0.1:7878 or [::1]:7878")
    })
}

/// A listener that is open.
pub(super) struct Bound {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) tls: Option<TlsAcceptor>,
}

impl Bound {
    pub(super) async fn open(listen: Listen) -> Result<Self, Fault> {
        let Listen { address, tls } = listen;
        let tls = tls.map(|files| acceptor(&files)).transpose()?;
        let failed = |error: std::io::Error| {
            let fault = Fault::environment(format!("cannot listen on {address}: {error}"));
            if error.kind() == std::io::ErrorKind::AddrInUse { fault.hint("choose another port") } else { fault }
        };
        let listener = bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, tls })
    }

    pub(super) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

/// Binds an address. A server that is being replaced may still have it for a moment.
async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let started = Instant::now();
    loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && started.elapsed() < REPLACE_TIMEOUT => {
                tokio::time::sleep(REPLACE_PAUSE).await;
            }
            bound => return bound,
        }
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, Fault> {
    let TlsFiles { certificates, key } = files;
    let unusable = |path: &Path, problem: &dyn std::fmt::Display| {
        Fault::config(format!("cannot use {}: {problem}", path.display())).hint("both files must be PEM")
    };
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificates, &error))?;
    if chain.is_empty() {
        return Err(unusable(certificates, &"it has no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::internal(error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| unusable(certificates, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
