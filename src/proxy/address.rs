//! Where an address leads: to the internet, to the local network, or to this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The reach of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Internet,
    /// The user's network.
    Private,
    /// This machine, its links, or the metadata service of a cloud.
    Machine,
    /// Nothing that a connection can be made to.
    Nowhere,
}

/// Metadata services outside of the link-local range.
const METADATA: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];

/// Returns where an address leads. An IPv4 address inside an IPv6 one counts.
pub fn reach(address: IpAddr) -> Reach {
    match address.to_canonical() {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    if METADATA.contains(&address) || address.is_loopback() || address.is_link_local() || a == 0 {
        return Reach::Machine;
    }
    match (a, b, c) {
        // Multicast, reserved, broadcast.
        (224.., ..) => Reach::Nowhere,
        // Documentation and benchmarks.
        (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (198, 18 | 19, _) => Reach::Nowhere,
        (100, 64..=127, _) | (192, 0, 0) => Reach::Private,
        _ if address.is_private() => Reach::Private,
        _ => Reach::Internet,
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        // An IPv4 address in a translated form is never better than a private one.
        match reach_v4(Ipv4Addr::new(a, b, c, d)) {
            Reach::Internet => Reach::Private,
            other => other,
        }
    };
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Reach::Machine,
        // IPv4-compatible, NAT64 and 6to4.
        [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 0 | 1, _, _, _, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        [0xfd00, 0xec2, ..] => Reach::Machine,
        [first, ..] if first & 0xff00 == 0xff00 => Reach::Nowhere,
        [first, ..] if first & 0xffc0 == 0xfe80 => Reach::Machine,
        [first, ..] if first & 0xffc0 == 0xfec0 || first & 0xfe00 == 0xfc00 => Reach::Private,
        // Teredo and documentation.
        [0x2001, 0 | 0xdb8, ..] => Reach::Nowhere,
        [first, ..] if first & 0xe000 == 0x2000 => Reach::Internet,
        _ => Reach::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_told_from_others_in_every_disguise() {
        let machine = [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fe80::1",
            "fd00:ec2::254",
            "64:ff9b::a9fe:a9fe",
        ];
        for text in machine {
            assert_eq!(reach(text.parse().unwrap()), Reach::Machine, "{text}");
        }
        for text in [
            "10.0.0.1",
            "172.31.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "fd12::1",
            "fec0::1",
            "2002:808:808::1",
            "64:ff9b::808:808",
        ] {
            assert_eq!(reach(text.parse().unwrap()), Reach::Private, "{text}");
        }
        for text in
            ["224.0.0.1", "255.255.255.255", "240.0.0.1", "ff02::1", "2001::1", "203.0.113.9", "4000::1", "2001:db8::1"]
        {
            assert_eq!(reach(text.parse().unwrap()), Reach::Nowhere, "{text}");
        }
        for text in ["8.8.8.8", "172.32.0.1", "2606:4700::1111", "100.128.0.1"] {
            assert_eq!(reach(text.parse().unwrap()), Reach::Internet, "{text}");
        }
    }
}
