//! Information about the client that a trusted proxy forwards: the scheme and the request id.

use engine::Scheme;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::proxy::request_id::RequestId;

const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const SCHEME: HeaderName = HeaderName::from_static("x-forwarded-scheme");
const SSL: HeaderName = HeaderName::from_static("x-forwarded-ssl");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_START: HeaderName = HeaderName::from_static("x-request-start");
const QUEUE_START: HeaderName = HeaderName::from_static("x-queue-start");

/// Information that a trusted proxy has forwarded.
#[derive(Debug, Default)]
pub(crate) struct ForwardedInfo {
    pub(crate) scheme: Scheme,
    pub(crate) id: Option<RequestId>,
}

/// Reads the headers of a request from a trusted peer. Of several times at which proxies received the request, leaves
/// the last one in the headers.
pub(crate) fn read(headers: &mut HeaderMap) -> ForwardedInfo {
    for name in [REQUEST_START, QUEUE_START] {
        keep_last(headers, name);
    }
    ForwardedInfo { scheme: scheme(headers), id: id(headers) }
}

/// Leaves the last of several values of this header. Proxies may add a time to that of another proxy, or of a client,
/// and tools that read such a list find no time in it, or a wrong one.
fn keep_last(headers: &mut HeaderMap, name: HeaderName) {
    let mut lines = headers.get_all(&name).iter();
    let is_one = lines.next().is_none_or(|line| !line.as_bytes().contains(&b',')) && lines.next().is_none();
    if is_one {
        return;
    }
    if let Some(value) = last(headers, &name).and_then(|word| HeaderValue::from_str(word).ok()) {
        headers.insert(name, value);
    }
}

/// The scheme, by the first header that has one. Of several values the last one counts, as in Rack 3: it is what the
/// trusted peer itself saw or chose to write, while earlier ones may come from the client.
fn scheme(headers: &HeaderMap) -> Scheme {
    let proto = [PROTO, SCHEME].into_iter().find_map(|name| last(headers, &name));
    let said = proto.or_else(|| {
        let ssl = last(headers, &SSL).filter(|word| word.eq_ignore_ascii_case("on"));
        ssl.map_or_else(|| forwarded_proto(headers), |_| Some("https"))
    });
    match said {
        Some(word) if word.eq_ignore_ascii_case("https") || word.eq_ignore_ascii_case("wss") => Scheme::Https,
        _ => Scheme::Http,
    }
}

/// The last value of this header, in its last line; `None` if it is empty.
fn last<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    value.rsplit(',').next().map(str::trim).filter(|word| !word.is_empty())
}

/// `proto` in the last element of `Forwarded` (RFC 7239), whose values may be quoted and contain commas.
fn forwarded_proto(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get_all(header::FORWARDED).iter().next_back()?.to_str().ok()?;
    let element = pieces(value, ',')?.pop()?;
    let pairs = pieces(element, ';')?.into_iter().filter_map(|pair| pair.split_once('='));
    let mut protos = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("proto"));
    protos.next().map(|(_, value)| value.trim().trim_matches('"'))
}

/// Splits at separators outside quotes. Works from the front only: whether a character is quoted depends on those
/// before. `None` if a quote is not closed: a client that has opened it could have made the trusted peer's own words a
/// part of its own.
fn pieces(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let separates = |c| {
        let escaped = std::mem::take(&mut is_escaped);
        match c {
            '\\' if is_quoted && !escaped => is_escaped = true,
            '"' if !escaped => is_quoted = !is_quoted,
            _ => {}
        }
        c == separator && !is_quoted
    };
    let all = text.split(separates).collect();
    (!is_quoted).then_some(all)
}

/// The request id, if there is exactly one.
fn id(headers: &HeaderMap) -> Option<RequestId> {
    let mut values = headers.get_all(REQUEST_ID).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { RequestId::from_proxy(first.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name, value);
        }
        map
    }

    fn scheme_of(pairs: &[(&'static str, &'static str)]) -> Scheme {
        read(&mut map(pairs)).scheme
    }

    #[test]
    fn a_quote_that_a_client_has_left_open_takes_in_nothing() {
        let of = |value: &'static str| scheme_of(&[("forwarded", value)]);
        assert_eq!(of("proto=https;by=\", for=1.2.3.4;proto=http"), Scheme::Http);
        assert_eq!(of("by=\"a,b\", for=1.2.3.4;proto=https"), Scheme::Https);
        assert_eq!(of("by=\"\\\\\";proto=https"), Scheme::Https, "the backslash is escaped, and not the quote");
        assert_eq!(of("by=\"\\\";proto=https"), Scheme::Http, "the quote is escaped, and not closed");
        assert_eq!(of("by=\\\";proto=https"), Scheme::Http, "outside quotes a backslash escapes nothing");
    }

    #[test]
    fn one_request_id_is_taken_over_and_of_two_none() {
        let id_of = |pairs: &[(&'static str, &'static str)]| read(&mut map(pairs)).id.map(|id| id.as_str().to_owned());
        assert_eq!(id_of(&[("x-request-id", "from-the-proxy")]).as_deref(), Some("from-the-proxy"));
        assert_eq!(id_of(&[("x-request-id", "one"), ("x-request-id", "two")]), None);
        assert_eq!(id_of(&[]), None);
    }

    #[test]
    fn of_several_times_the_last_one_stays() {
        for (lines, left) in [
            (&["t=1.5"][..], "t=1.5"),
            (&["t=1.5", "t=2.5"], "t=2.5"),
            (&["1", "2", "3"], "3"),
            (&["t=1.5, t=2.5"], "t=2.5"),
            (&["1", "2,3"], "3"),
            (&["1", "1"], "1"),
        ] {
            for name in ["x-request-start", "x-queue-start"] {
                let pairs: Vec<_> = lines.iter().map(|line| (name, *line)).collect();
                let mut headers = map(&pairs);
                read(&mut headers);
                assert_eq!(headers.get_all(name).iter().collect::<Vec<_>>(), [left], "{lines:?}");
            }
        }
    }

    #[test]
    fn each_header_can_say_https() {
        for pair in [
            ("x-forwarded-proto", "https"),
            ("x-forwarded-proto", "HTTPS"),
            ("x-forwarded-proto", "http, https"),
            ("x-forwarded-proto", "wss"),
            ("x-forwarded-scheme", "https"),
            ("x-forwarded-ssl", "on"),
            ("forwarded", "for=1.2.3.4;proto=https"),
            ("forwarded", "Proto=\"https\";for=\"[::1]:80\""),
            ("forwarded", "proto=http, for=\"a,proto=http;\\\"x\" ; proto=https"),
        ] {
            assert_eq!(scheme_of(&[pair]), Scheme::Https, "{pair:?}");
        }
        for pair in [
            ("x-forwarded-proto", "http"),
            ("x-forwarded-proto", "https, http"),
            ("x-forwarded-proto", ""),
            ("x-forwarded-ssl", "off"),
            ("forwarded", "for=1.2.3.4"),
            ("forwarded", "proto=https, for=1.2.3.4"),
            ("forwarded", "for=\"x;proto=https\""),
            ("x-forwarded-for", "https"),
        ] {
            assert_eq!(scheme_of(&[pair]), Scheme::Http, "{pair:?}");
        }
    }

    #[test]
    fn what_proxies_set_counts_before_what_clients_could_slip_through() {
        assert_eq!(scheme_of(&[("forwarded", "proto=https"), ("x-forwarded-proto", "http")]), Scheme::Http);
        assert_eq!(scheme_of(&[("x-forwarded-ssl", "on"), ("x-forwarded-proto", "http")]), Scheme::Http);
        assert_eq!(scheme_of(&[("x-forwarded-proto", "https"), ("x-forwarded-proto", "http")]), Scheme::Http);
        assert_eq!(scheme_of(&[("x-forwarded-scheme", "https"), ("x-forwarded-proto", "http")]), Scheme::Http);
        assert_eq!(scheme_of(&[("x-forwarded-ssl", "on"), ("x-forwarded-scheme", "http")]), Scheme::Http);
        assert_eq!(scheme_of(&[("forwarded", "proto=https"), ("forwarded", "for=1.2.3.4")]), Scheme::Http);
    }

    #[test]
    fn a_header_that_says_nothing_leaves_it_to_the_next_one() {
        for silent in [("x-forwarded-proto", ""), ("x-forwarded-proto", "http, "), ("x-forwarded-scheme", " ")] {
            assert_eq!(scheme_of(&[silent, ("x-forwarded-ssl", "On")]), Scheme::Https, "{silent:?}");
            assert_eq!(scheme_of(&[silent, ("forwarded", "proto=https")]), Scheme::Https, "{silent:?}");
            assert_eq!(scheme_of(&[silent]), Scheme::Http, "{silent:?}");
        }
        assert_eq!(scheme_of(&[("x-forwarded-ssl", "off"), ("forwarded", "proto=https")]), Scheme::Https);
    }
}
