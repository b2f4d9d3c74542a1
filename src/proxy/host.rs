//! Hosts that a client names, and patterns for them. Parsed once; everything else uses the result.
//!
//! A name is brought to the one form that is compared, asked about, resolved and dialled. Whatever has two meanings for
//! two programs is refused: a trailing dot, a percent sign, a user name, a zone. Decimal, octal and hexadecimal
//! spellings of an address are that address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The ports of a host that is listed without one: HTTP, HTTPS and ssh.
pub const USUAL_PORTS: [u16; 3] = [80, 443, 22];
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// A host name in lower-case ASCII, or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    Name(String),
    Address(IpAddr),
}

/// A host with a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    pub host: Host,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("the host is empty or too long")]
    Length,
    #[error("the host contains a character that has no place in one")]
    Character,
    #[error("the host ends with a dot; leave it out")]
    TrailingDot,
    #[error("the host is not a valid name or address")]
    Invalid,
    #[error("the port is missing or not between 1 and 65535")]
    Port,
}

impl Host {
    /// Parses a host without a port. An IPv6 address may be in brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() || text.len() > MAX_NAME {
            return Err(HostError::Length);
        }
        if text.chars().any(|c| c.is_control() || c.is_whitespace() || "%@/\\?#\"<>^`{|}*,;".contains(c)) {
            return Err(HostError::Character);
        }
        // The idea of a dot differs, too: these are the ones that become one.
        if text.ends_with(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']) {
            return Err(HostError::TrailingDot);
        }
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(address) = bare.or_else(|| text.contains(':').then_some(text)) {
            let address: Ipv6Addr = address.parse().map_err(|_| HostError::Invalid)?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        match url::Host::parse(text).map_err(|_| HostError::Invalid)? {
            url::Host::Ipv4(address) => Ok(Self::Address(address.into())),
            url::Host::Ipv6(address) => Ok(Self::Address(IpAddr::V6(address).to_canonical())),
            url::Host::Domain(name) => {
                let is_label = |label: &str| {
                    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
                    !label.is_empty() && label.len() <= MAX_LABEL && label.chars().all(plain)
                };
                if name.len() > MAX_NAME || !name.split('.').all(is_label) {
                    return Err(HostError::Invalid);
                }
                Ok(Self::Name(name))
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl Target {
    /// Parses `host:port`. Without a port, `default` is used.
    pub fn parse(text: &str, default: Option<u16>) -> Result<Self, HostError> {
        let (host, port) = split_port(text)?;
        Ok(Self { host: Host::parse(host)?, port: port.or(default).ok_or(HostError::Port)? })
    }

    /// Returns the text that a `network(…)` rule is compared with: the host, and the port unless it is a usual one.
    pub fn rule_text(&self) -> String {
        if USUAL_PORTS.contains(&self.port) { self.host.to_string() } else { self.to_string() }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    let (host, port) = match text.rfind(']') {
        Some(end) => match text[end + 1..].strip_prefix(':') {
            Some(port) => (&text[..=end], port),
            None => return Ok((text, None)),
        },
        None => match text.split_once(':') {
            // An IPv6 address without brackets has no port.
            Some((_, rest)) if rest.contains(':') => return Ok((text, None)),
            Some((host, port)) => (host, port),
            None => return Ok((text, None)),
        },
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| is_number && *port != 0).ok_or(HostError::Port)?;
    Ok((host, Some(port)))
}

/// An entry of a list of hosts: `docs.rs`, `*.docs.rs`, `localhost:8080`, `10.0.0.7`, `[fd00::1]:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    hosts: Hosts,
    /// `None`: the usual ones.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    One(Host),
    /// All names below this one.
    Below(String),
}

/// How a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exactness {
    Wildcard,
    Exact,
}

impl HostPattern {
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let (host, port) = split_port(text.trim())?;
        let hosts = match host.strip_prefix("*.") {
            None => Hosts::One(Host::parse(host)?),
            Some(suffix) => match Host::parse(suffix)? {
                // `*.com` would be nearly everything.
                Host::Name(name) if name.contains('.') => Hosts::Below(name),
                Host::Name(_) | Host::Address(_) => return Err(HostError::Invalid),
            },
        };
        Ok(Self { hosts, port })
    }

    /// Returns how the pattern matches a target, or `None` if it does not.
    pub fn matches(&self, target: &Target) -> Option<Exactness> {
        let port = match self.port {
            Some(port) => port == target.port,
            None => USUAL_PORTS.contains(&target.port),
        };
        let exactness = match (&self.hosts, &target.host) {
            (Hosts::One(host), found) if host == found => Exactness::Exact,
            (Hosts::Below(suffix), Host::Name(name))
                if name.strip_suffix(suffix.as_str()).is_some_and(|rest| rest.ends_with('.')) =>
            {
                Exactness::Wildcard
            }
            _ => return None,
        };
        port.then_some(exactness)
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
