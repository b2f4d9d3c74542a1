//! Counts wrong tokens by peer. A peer with too many of them in a minute is refused.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// How many wrong tokens a peer may send in [`WINDOW`].
pub const MAX_WRONG: usize = 20;
pub const WINDOW: Duration = Duration::from_secs(60);
/// How many peers are remembered.
const MAX_PEERS: usize = 1024;

#[derive(Debug, Default)]
pub struct WrongTokens {
    peers: HashMap<IpAddr, Vec<Instant>>,
}

impl WrongTokens {
    /// Returns how long a peer has to wait, or `None` if it may try.
    pub fn wait(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let times = self.peers.get(&group(peer))?;
        let recent = times.iter().filter(|time| now.duration_since(**time) < WINDOW);
        let first = recent.clone().next()?;
        (recent.count() >= MAX_WRONG).then(|| WINDOW.saturating_sub(now.duration_since(*first)))
    }

    pub fn record(&mut self, peer: IpAddr, now: Instant) {
        let peer = group(peer);
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&peer) {
            self.peers.retain(|_, times| times.last().is_some_and(|last| now.duration_since(*last) < WINDOW));
            let oldest = self.peers.iter().min_by_key(|(_, times)| times.last().copied()).map(|(peer, _)| *peer);
            if let Some(oldest) = oldest.filter(|_| self.peers.len() >= MAX_PEERS) {
                self.peers.remove(&oldest);
            }
        }
        let times = self.peers.entry(peer).or_default();
        times.retain(|time| now.duration_since(*time) < WINDOW);
        if times.len() < MAX_WRONG {
            times.push(now);
        }
    }
}

/// Returns the address that stands for a peer: of an IPv6 address, the network that one customer gets.
fn group(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => {
                let [a, b, c, d, ..] = v6.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        },
    }
}

#[cfg(test)]
#[path = "rate_limit_tests.rs"]
mod tests;
