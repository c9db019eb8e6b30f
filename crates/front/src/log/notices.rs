//! Log messages about request headers that were left out: enough to find a proxy that is not trusted yet, and limited
//! so that clients cannot fill the log.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use http::header::HeaderName;
use parking_lot::Mutex;

use crate::proxy::sanitize::Sanitized;
use crate::proxy::trust::Trusted;

/// Peers that are named at once, likely including the proxies of a new installation; after them one in each [`PAUSE`].
const AT_ONCE: usize = 5;
const PAUSE: Duration = Duration::from_secs(60);
/// Most peers that are named.
const PEERS_MAX: usize = 1000;
/// Most header names in a message.
const NAMES_MAX: usize = 4;

/// Clients send this header too, so it does not suggest a proxy.
const OF_CLIENTS: HeaderName = HeaderName::from_static("x-request-id");

/// Messages logged so far, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    peers: Mutex<Peers>,
    underscore: AtomicBool,
}

/// Peers that were named; one on a Unix socket has no address.
#[derive(Debug, Default)]
struct Peers {
    named: HashSet<Option<IpAddr>>,
    last: Option<Instant>,
}

impl Peers {
    /// Whether this peer is to be named now, which then counts as done.
    fn is_next(&mut self, peer: Option<IpAddr>, now: Instant) -> bool {
        let is_due = |last: Instant| now.saturating_duration_since(last) >= PAUSE;
        if self.named.contains(&peer)
            || self.named.len() >= PEERS_MAX
            || (self.named.len() >= AT_ONCE && !self.last.is_none_or(is_due))
        {
            return false;
        }
        self.last = Some(now);
        self.named.insert(peer)
    }
}

impl Notices {
    /// Logs what was left out of a request of this peer, unless it was logged before.
    #[cold]
    pub(crate) fn tell(&self, found: &Sanitized, peer: Option<IpAddr>, trusted: &[Trusted], passes_underscores: bool) {
        if found.distrusted.iter().any(|name| *name != OF_CLIENTS) {
            let mut peers = self.peers.lock();
            if peers.is_next(peer, Instant::now()) {
                tracing::info!(target: "front", "{}", distrusted(&found.distrusted, peer, trusted));
            }
        }
        // Protected names from an untrusted peer are left out silently, since anyone can send them.
        let is_news = !found.underscored.is_empty() && (found.has_proxy_headers || !passes_underscores);
        if !is_news || self.underscore.swap(true, Relaxed) {
            return;
        }
        let names = list(&found.underscored);
        if passes_underscores {
            tracing::warn!(
                target: "front",
                "left out for the underscore in its name: {names}. Anybody could send it in place of the same name \
                 with dashes, which is believed of proxies: let the proxy send that. Logged once"
            );
        } else {
            tracing::info!(
                target: "front",
                "left out for the underscore in its name: {names}. --underscore-headers pass lets such headers \
                 through. Logged once"
            );
        }
    }
}

fn distrusted(names: &[HeaderName], peer: Option<IpAddr>, trusted: &[Trusted]) -> String {
    let (who, word) = match peer {
        Some(ip) => (ip.to_string(), ip.to_string()),
        None => ("a peer on a Unix socket".to_owned(), Trusted::Private.to_string()),
    };
    let mut option = String::new();
    for one in trusted.iter().filter(|one| **one != Trusted::None) {
        let _ = write!(option, "{one},");
    }
    let names = list(names);
    format!(
        "{who} is not a trusted proxy: left out of its requests: {names}. If it is your proxy, say --trust-proxy \
         {option}{word}"
    )
}

fn list(names: &[HeaderName]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).map(HeaderName::as_str).collect();
    let more = if names.len() > NAMES_MAX { " and others" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(number: u32) -> Option<IpAddr> {
        Some(IpAddr::from(number.to_be_bytes()))
    }

    #[test]
    fn each_peer_is_named_once_a_few_at_once_and_an_end_to_it() {
        let mut peers = Peers::default();
        let start = Instant::now();
        assert!(peers.is_next(ip(1), start) && !peers.is_next(ip(1), start) && peers.is_next(None, start));
        let at_once = (0..100).filter(|number| peers.is_next(ip(*number), start)).count();
        assert_eq!(at_once, AT_ONCE - 2);
        assert!(!peers.is_next(ip(500), start + PAUSE / 2));
        assert!(peers.is_next(ip(500), start + PAUSE), "who was not named then is later");
        let ever = (0..5000).filter(|number| peers.is_next(ip(*number), start + PAUSE * (number + 2))).count();
        assert_eq!(ever, PEERS_MAX - AT_ONCE - 1);
    }

    #[test]
    fn the_option_that_would_help_keeps_those_who_are_trusted() {
        let names: Vec<HeaderName> =
            ["x-forwarded-for", "a", "b", "c", "d"].map(HeaderName::from_static).into_iter().collect();
        let said = distrusted(&names[..1], ip(0x0102_0304), &[Trusted::Private, "10.0.0.0/8".parse().unwrap()]);
        assert!(said.contains("requests: x-forwarded-for. If"), "{said}");
        assert!(said.ends_with("--trust-proxy private,10.0.0.0/8,1.2.3.4"), "{said}");
        let said = distrusted(&names[..NAMES_MAX], None, &[Trusted::None]);
        assert!(said.contains("x-forwarded-for, a, b, c. If"), "{said}");
        let said = distrusted(&names, None, &[Trusted::None]);
        assert!(said.contains("x-forwarded-for, a, b, c and others."), "{said}");
        assert!(said.ends_with("--trust-proxy private"), "{said}");
    }

    #[test]
    fn a_message_is_for_what_a_proxy_may_have_sent_or_an_option_would_let_through() {
        let names = |names: &[&'static str]| -> Vec<HeaderName> {
            names.iter().map(|name| HeaderName::from_static(name)).collect()
        };
        for (distrusted, is_named) in
            [(&["x-request-id"][..], false), (&["x-request-id", "x-forwarded-for"], true), (&[], false)]
        {
            let notices = Notices::default();
            let found = Sanitized { distrusted: names(distrusted), ..Sanitized::default() };
            notices.tell(&found, ip(1), &[], true);
            assert_eq!(notices.peers.lock().named.contains(&ip(1)), is_named, "{distrusted:?}");
        }
        for (underscored, has_proxy_headers, passes_underscores, is_told) in [
            (&["client_ip"][..], false, true, false),
            (&["client_ip"], true, true, true),
            (&["my_key"], false, false, true),
            (&[], true, false, false),
        ] {
            let notices = Notices::default();
            let found = Sanitized { has_proxy_headers, underscored: names(underscored), ..Sanitized::default() };
            notices.tell(&found, ip(1), &[], passes_underscores);
            let seen = notices.underscore.load(Relaxed);
            assert_eq!(seen, is_told, "{underscored:?} {has_proxy_headers} {passes_underscores}");
        }
    }
}
