//! The other end of a connection, and whether it is a process that an agent started: such a process may only read.
//!
//! An agent's shell runs as the user and could read the token of this start, so the token alone does not tell them
//! apart. On Linux the system's table of connections does, for connections on this machine.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::OnceCell;

use super::error::HttpError;
use crate::config::paths::Home;
use crate::serve::guard;

/// The other end of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    pub address: SocketAddr,
    pub local: SocketAddr,
    pub tls: bool,
    is_agent: Arc<OnceCell<bool>>,
}

impl Peer {
    pub fn new(address: SocketAddr, local: SocketAddr, tls: bool) -> Self {
        Self { address, local, tls, is_agent: Arc::default() }
    }

    /// Refuses a change by an agent's process.
    pub async fn check_may_change(&self, home: &Home) -> Result<(), HttpError> {
        let (peer, local, home) = (self.address, self.local, home.clone());
        if !peer.ip().to_canonical().is_loopback() && peer.ip() != local.ip() {
            return Ok(());
        }
        let find = || async move {
            let found = tokio::task::spawn_blocking(move || {
                // A program that is just being started shares the connections of its parent for a moment, so a
                // connection is an agent's only if all processes that hold it are.
                let holders = connections::processes_of(peer, local);
                !holders.is_empty() && holders.into_iter().all(|pid| guard::descends_from_agent(&home, pid))
            });
            found.await.unwrap_or(false)
        };
        if *self.is_agent.get_or_init(find).await {
            let fault = guard::refusal();
            return Err(HttpError::new(axum::http::StatusCode::FORBIDDEN, fault));
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
mod connections {
    //! Finds the processes at the other end of a connection on this machine.

    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
    use std::path::Path;

    /// Returns the processes that hold the connection from `peer` to `local`, as far as this user may see them.
    pub fn processes_of(peer: SocketAddr, local: SocketAddr) -> Vec<i32> {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let Some(inode) = tables.iter().find_map(|table| inode_of(table, peer, local)) else { return Vec::new() };
        let wanted = format!("socket:[{inode}]");
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
        pids.filter(|(_, folder)| holds(folder, &wanted)).map(|(pid, _)| pid).collect()
    }

    fn holds(process: &Path, wanted: &str) -> bool {
        let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|target| target.as_os_str() == wanted)
    }

    /// Returns the inode of the socket with these ends from a table of connections.
    pub(super) fn inode_of(table: &str, peer: SocketAddr, local: SocketAddr) -> Option<&str> {
        let ends = |address: SocketAddr| (address.ip().to_canonical(), address.port());
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let from = address(fields.get(1)?)?;
            let to = address(fields.get(2)?)?;
            (from == ends(peer) && to == ends(local)).then_some(*fields.get(9)?)
        })
    }

    fn address(text: &str) -> Option<(IpAddr, u16)> {
        let (ip, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        // Each group of eight digits is a number in the byte order of the machine.
        let words = ip.as_bytes().chunks(8).map(|word| {
            let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
            Some(word.to_ne_bytes())
        });
        let bytes = words.collect::<Option<Vec<_>>>()?.concat();
        let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
            Ok(v4) => IpAddr::V4(Ipv4Addr::from(v4)),
            Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        };
        Some((ip.to_canonical(), port))
    }
}

#[cfg(not(target_os = "linux"))]
mod connections {
    use std::net::SocketAddr;

    /// Other systems have no table of connections that can be read.
    pub fn processes_of(_peer: SocketAddr, _local: SocketAddr) -> Vec<i32> {
        Vec::new()
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "peer_tests.rs"]
mod tests;
