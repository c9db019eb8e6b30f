//! Peers that are trusted as proxies. Determined once per connection, not per request.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};

/// Bits in front of the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2).
const MAPPED_BITS: u8 = 96;

/// Peers to trust: `private`, `none`, `all`, an IP address or a CIDR network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trusted {
    /// This machine and private networks: loopback, RFC 1918, link-local, unique-local (RFC 4193), Unix sockets.
    Private,
    /// No peer.
    None,
    /// All peers.
    All,
    /// Peers with an address in this network.
    Network(IpNet),
}

impl FromStr for Trusted {
    type Err = String;

    fn from_str(word: &str) -> Result<Trusted, String> {
        match word {
            "private" => return Ok(Trusted::Private),
            "none" => return Ok(Trusted::None),
            "all" => return Ok(Trusted::All),
            _ => {}
        }
        let network = word.parse::<IpNet>().ok().or_else(|| word.parse::<IpAddr>().ok().map(IpNet::from));
        network.map(|network| Trusted::Network(canonical(network))).ok_or_else(|| {
            format!("\"{word}\" must be private, none, all, an IP address or a network such as 10.0.0.0/8")
        })
    }
}

/// Writes the value as in an option.
impl fmt::Display for Trusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trusted::Private => f.write_str("private"),
            Trusted::None => f.write_str("none"),
            Trusted::All => f.write_str("all"),
            Trusted::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                write!(f, "{}", network.addr())
            }
            Trusted::Network(network) => write!(f, "{network}"),
        }
    }
}

impl Trusted {
    /// Whether this covers a peer; `None` is the address of a Unix socket.
    fn covers(self, address: Option<IpAddr>) -> bool {
        match (self, address) {
            (Trusted::None, _) | (Trusted::Network(_), None) => false,
            (Trusted::All, _) | (Trusted::Private, None) => true,
            (Trusted::Network(network), Some(address)) => network.contains(&address),
            (Trusted::Private, Some(IpAddr::V4(address))) => {
                address.is_loopback() || address.is_private() || address.is_link_local()
            }
            (Trusted::Private, Some(IpAddr::V6(address))) => {
                address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
            }
        }
    }
}

/// The IPv4 network of one that is written with IPv4-mapped IPv6 addresses: peers with such an address count as IPv4.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(written) = network else { return network };
    let length = written.prefix_len().checked_sub(MAPPED_BITS);
    let mapped = written.addr().to_ipv4_mapped().zip(length);
    mapped.and_then(|(address, length)| Ipv4Net::new(address, length).ok()).map_or(network, IpNet::V4)
}

/// Whether the peer of a connection is trusted. One whose address is unknown, because it has disconnected, is not.
pub(crate) fn trusts(trusted: &[Trusted], remote: Option<SocketAddr>, is_unix: bool) -> bool {
    // An IPv4 client of an IPv6 listener counts as IPv4.
    let address = remote.map(|remote| remote.ip().to_canonical());
    (is_unix || address.is_some()) && trusted.iter().any(|trusted| trusted.covers(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusts_ip(words: &[&str], ip: &str) -> bool {
        let trusted: Vec<Trusted> = words.iter().map(|word| word.parse().unwrap()).collect();
        trusts(&trusted, Some(SocketAddr::new(ip.parse().unwrap(), 1)), false)
    }

    #[test]
    fn private_is_this_machine_and_its_own_networks() {
        let own = ["127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "172.31.0.1", "192.168.1.1", "169.254.1.1"];
        for ip in own.into_iter().chain(["::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1"]) {
            assert!(trusts_ip(&["private"], ip), "{ip}");
        }
        for ip in ["8.8.8.8", "172.32.0.1", "192.169.0.1", "100.64.0.1", "2001:db8::1", "::ffff:8.8.8.8", "0.0.0.0"] {
            assert!(!trusts_ip(&["private"], ip), "{ip}");
        }
    }

    #[test]
    fn addresses_and_networks_are_taken_literally() {
        let words = ["203.0.113.7", "198.51.100.0/24", "2001:db8::/32"];
        for ip in ["203.0.113.7", "198.51.100.200", "2001:db8::5", "::ffff:203.0.113.7"] {
            assert!(trusts_ip(&words, ip), "{ip}");
        }
        for ip in ["203.0.113.8", "198.51.101.1", "127.0.0.1", "2001:db9::1", "::1"] {
            assert!(!trusts_ip(&words, ip), "{ip}");
        }
        assert!(trusts_ip(&["all"], "8.8.8.8") && !trusts_ip(&["none"], "127.0.0.1"));
    }

    #[test]
    fn ipv4_is_trusted_also_where_it_is_written_as_ipv6() {
        let words = ["::ffff:10.0.0.0/104", "::ffff:203.0.113.7", "::ffff:c633:6400/120"];
        for ip in ["10.1.2.3", "::ffff:10.1.2.3", "203.0.113.7", "198.51.100.9"] {
            assert!(trusts_ip(&words, ip), "{ip}");
        }
        for ip in ["11.0.0.1", "203.0.113.8", "198.51.101.1", "::a00:1"] {
            assert!(!trusts_ip(&words, ip), "{ip}");
        }
        assert_eq!("::ffff:10.0.0.0/104".parse::<Trusted>().unwrap().to_string(), "10.0.0.0/8");
        assert!(trusts_ip(&["::ffff:0:0/96"], "8.8.8.8") && !trusts_ip(&["::/0"], "8.8.8.8"));
    }

    #[test]
    fn unix_sockets_are_private_and_a_peer_without_an_address_is_nobody() {
        for (word, expected) in [("private", true), ("all", true), ("none", false), ("127.0.0.1", false)] {
            assert_eq!(trusts(&[word.parse().unwrap()], None, true), expected, "{word}");
            assert!(!trusts(&[word.parse().unwrap()], None, false));
        }
    }

    #[test]
    fn they_are_shown_as_they_are_written() {
        for word in ["private", "none", "all", "203.0.113.7", "10.0.0.0/8", "2001:db8::1", "2001:db8::/32"] {
            assert_eq!(word.parse::<Trusted>().unwrap().to_string(), word);
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_would_be_right() {
        for word in ["localhost", "10.0.0.0/33", "10.0.0", "*", ""] {
            assert!(word.parse::<Trusted>().unwrap_err().ends_with("a network such as 10.0.0.0/8"), "{word}");
        }
    }
}
