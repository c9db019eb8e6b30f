//! The value of `REMOTE_ADDR`: the peer's address, or a configured replacement.

use std::sync::Arc;

use engine::Peer;
use http::header::{HeaderMap, HeaderName};

/// Source of `REMOTE_ADDR`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RemoteAddress {
    /// The peer's address.
    #[default]
    Socket,
    /// Always this text.
    Value(Arc<str>),
    /// The first word of this header, if the peer is trusted and sends it; else the peer's address.
    Header(HeaderName),
}

impl RemoteAddress {
    /// The peer as the application sees it.
    pub(crate) fn of(&self, peer: &Peer, is_trusted: bool, headers: &HeaderMap) -> Peer {
        let said = match self {
            RemoteAddress::Socket => None,
            RemoteAddress::Value(text) => Some(text.clone()),
            RemoteAddress::Header(_) if !is_trusted => None,
            RemoteAddress::Header(name) => {
                let text = headers.get(name).and_then(|value| value.to_str().ok());
                let word = text.and_then(|text| text.split([' ', '\t', ',']).find(|word| !word.is_empty()));
                word.map(Arc::from)
            }
        };
        let mut peer = peer.clone();
        if said.is_some() {
            peer.remote_ip = said;
        }
        peer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_trusted_peer_counts_and_of_nobody_else() {
        let peer = Peer::new(Some("10.0.0.1:80".parse().unwrap()), None);
        let mut headers = HeaderMap::new();
        headers.insert("x-real-ip", " 192.0.2.7, 10.0.0.9".parse().unwrap());
        headers.insert("x-empty", " ,".parse().unwrap());
        let of = |address: &RemoteAddress, is_trusted| {
            address.of(&peer, is_trusted, &headers).remote_ip.map(|text| text.to_string()).unwrap()
        };
        let header = |name| RemoteAddress::Header(HeaderName::from_static(name));
        assert_eq!(of(&header("x-real-ip"), true), "192.0.2.7");
        for (address, is_trusted) in [
            (RemoteAddress::Socket, true),
            (header("x-real-ip"), false),
            (header("x-empty"), true),
            (header("x-absent"), true),
        ] {
            assert_eq!(of(&address, is_trusted), "10.0.0.1", "{address:?}");
        }
        assert_eq!(of(&RemoteAddress::Value("127.0.0.1".into()), false), "127.0.0.1");
    }
}
