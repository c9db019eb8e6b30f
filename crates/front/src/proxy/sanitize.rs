//! Removes request headers that must not reach the application: those that only a proxy may send, from any other peer;
//! names that could be mistaken for others; and `Proxy`.

use http::header::{HeaderMap, HeaderName};

use crate::proxy::proxy_headers;

/// Headers that were removed, for the log.
#[derive(Debug, Default)]
pub(crate) struct Sanitized {
    /// Whether a trusted peer sent headers of a proxy.
    pub(crate) has_proxy_headers: bool,
    /// Headers of a proxy that an untrusted peer sent.
    pub(crate) distrusted: Vec<HeaderName>,
    /// Headers with an underscore in their name.
    pub(crate) underscored: Vec<HeaderName>,
}

/// Headers that a request may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    /// Headers of a proxy, since the peer is a trusted one.
    pub(crate) proxy_headers: bool,
    /// Headers with an underscore in their name, unless they could be mistaken for others.
    pub(crate) underscores: bool,
}

/// Removes the headers. Most requests have none to remove and cost one check per name.
pub(crate) fn sanitize(headers: &mut HeaderMap, allowed: Allowed) -> Sanitized {
    let mut found = Sanitized::default();
    let mut has_proxy = false;
    for name in headers.keys() {
        let text = name.as_str();
        if memchr::memchr(b'_', text.as_bytes()).is_some() {
            if !allowed.underscores || is_protected(text) {
                found.underscored.push(name.clone());
            }
        } else if text == "proxy" {
            has_proxy = true;
        } else if proxy_headers::contains(text) {
            if allowed.proxy_headers {
                found.has_proxy_headers = true;
            } else {
                found.distrusted.push(name.clone());
            }
        }
    }
    if has_proxy {
        // Its key would be `HTTP_PROXY`, which programs use as the proxy for their own requests (CVE-2016-5385).
        headers.remove("proxy");
    }
    for name in found.distrusted.iter().chain(&found.underscored) {
        headers.remove(name);
    }
    found
}

/// Whether a name with underscores could be mistaken for one that clients are not expected to control: both have the
/// same key in the environment.
fn is_protected(name: &str) -> bool {
    let dashed = name.replace('_', "-");
    let is_framing = matches!(dashed.as_str(), "content-length" | "content-type" | "transfer-encoding");
    // Browsers let no script set `Sec-...`.
    is_framing || dashed.starts_with("sec-") || proxy_headers::contains(&dashed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const PROXY_HEADERS: Allowed = Allowed { proxy_headers: true, underscores: false };
    const UNDERSCORES: Allowed = Allowed { proxy_headers: false, underscores: true };
    const BOTH: Allowed = Allowed { proxy_headers: true, underscores: true };

    fn left(names: &[&'static str], allowed: Allowed) -> (Vec<String>, Sanitized) {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static("1"));
        }
        let found = sanitize(&mut headers, allowed);
        let mut left: Vec<String> = headers.keys().map(|name| name.as_str().to_owned()).collect();
        left.sort_unstable();
        (left, found)
    }

    #[test]
    fn a_stranger_s_words_are_taken_out_and_the_rest_stays() {
        let said = ["x-forwarded-for", "x-forwarded-for", "client-ip", "remote-user", "x-requested-with", "accept"];
        let (names, found) = left(&said, UNDERSCORES);
        assert_eq!(names, ["accept", "x-requested-with"]);
        assert_eq!((found.distrusted.len(), found.has_proxy_headers), (3, false));
        let (names, found) = left(&said, BOTH);
        assert_eq!((names.len(), found.distrusted.len(), found.has_proxy_headers), (5, 0, true));
        assert!(!left(&["accept"], BOTH).1.has_proxy_headers);
    }

    #[test]
    fn a_header_proxy_is_taken_out_whoever_sends_it() {
        for allowed in [BOTH, UNDERSCORES] {
            let (names, _) = left(&["proxy", "proxy-connection", "accept"], allowed);
            assert_eq!(names, ["accept", "proxy-connection"]);
        }
    }

    #[test]
    fn underscores_pass_unless_they_could_pass_for_something_else() {
        let plain = ["api_key", "x-a_b", "_", "x_csrf_token"];
        assert_eq!(left(&plain, UNDERSCORES).0, ["_", "api_key", "x-a_b", "x_csrf_token"]);
        let (names, found) = left(&plain, PROXY_HEADERS);
        assert_eq!((names.len(), found.underscored.len()), (0, 4));
        for name in [
            "x_forwarded_for",
            "x-forwarded_for",
            "x_forwarded-host",
            "client_ip",
            "remote_user",
            "ssl_client_cert",
            "content_type",
            "content_length",
            "transfer_encoding",
            "sec_fetch_site",
            "x_request_id",
        ] {
            for allowed in [BOTH, UNDERSCORES] {
                let (names, found) = left(&[name], allowed);
                assert_eq!((names.len(), found.underscored.len()), (0, 1), "{name}");
            }
        }
    }
}
