//! What a proxy says of the client before it: with which scheme it came, under which id. From a trusted peer it is
//! taken, and the headers go on to the application; from any other they are dropped, so that no client can pass for
//! another.

use engine::Scheme;
use http::header::{self, HeaderMap, HeaderName};

use crate::request_id::RequestId;

const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const SCHEME: HeaderName = HeaderName::from_static("x-forwarded-scheme");
const SSL: HeaderName = HeaderName::from_static("x-forwarded-ssl");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What was said, and believed.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) scheme: Scheme,
    pub(crate) id: Option<RequestId>,
}

/// Reads such headers, or takes them out. Most requests have none: they cost a look at the names.
pub(crate) fn take(headers: &mut HeaderMap, is_trusted: bool) -> Told {
    if !headers.keys().any(is_proxys) {
        return Told::default();
    }
    if is_trusted {
        return Told { scheme: scheme(headers), id: id(headers) };
    }
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_proxys(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    Told::default()
}

/// Whether only a proxy should say this. All of `X-Forwarded-…` is: `-User` and its like say who somebody is.
fn is_proxys(name: &HeaderName) -> bool {
    let name = name.as_str();
    match name.as_bytes().first() {
        Some(b'x') => {
            name.starts_with("x-forwarded-") || matches!(name, "x-real-ip" | "x-request-start" | "x-request-id")
        }
        Some(b'f') => name == "forwarded",
        _ => false,
    }
}

/// The scheme by the first header that says one. Of several values the last counts, as in Rack 3: it is what the
/// trusted peer itself saw or chose to write, while those before it may be the client's own words.
fn scheme(headers: &HeaderMap) -> Scheme {
    let proto = [PROTO, SCHEME].into_iter().find_map(|name| last(headers, &name, ","));
    let said = proto.or_else(|| {
        let ssl = last(headers, &SSL, ",").filter(|word| word.eq_ignore_ascii_case("on"));
        ssl.map_or_else(|| forwarded_proto(headers), |_| Some("https"))
    });
    match said {
        Some(word) if word.eq_ignore_ascii_case("https") || word.eq_ignore_ascii_case("wss") => Scheme::Https,
        _ => Scheme::Http,
    }
}

/// The last of all values of this header that is not empty.
fn last<'a>(headers: &'a HeaderMap, name: &HeaderName, separator: &str) -> Option<&'a str> {
    let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    value.rsplit(separator).next().map(str::trim).filter(|word| !word.is_empty())
}

/// `proto` of the last element of `Forwarded` (RFC 7239), whose values may be quoted, with commas in them.
fn forwarded_proto(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get_all(header::FORWARDED).iter().next_back()?.to_str().ok()?;
    let element = pieces(value, ',').pop()?;
    let pairs = pieces(element, ';').into_iter().filter_map(|pair| pair.split_once('='));
    let mut protos = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("proto"));
    protos.next().map(|(_, value)| value.trim().trim_matches('"'))
}

/// Splits at separators outside quotes. To be walked from the front only: what is quoted depends on what came before.
fn pieces(text: &str, separator: char) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let separates = move |c| {
        let escaped = std::mem::take(&mut is_escaped);
        match c {
            '\\' if is_quoted && !escaped => is_escaped = true,
            '"' if !escaped => is_quoted = !is_quoted,
            _ => {}
        }
        c == separator && !is_quoted
    };
    text.split(separates).collect()
}

/// The id, if there is one and one only.
fn id(headers: &HeaderMap) -> Option<RequestId> {
    let mut values = headers.get_all(REQUEST_ID).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { RequestId::told(first.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name, value);
        }
        map
    }

    fn scheme_of(pairs: &[(&'static str, &'static str)]) -> Scheme {
        take(&mut map(pairs), true).scheme
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
    }

    #[test]
    fn a_stranger_s_words_are_taken_out_and_the_rest_stays() {
        let said = [
            ("x-forwarded-for", "1.2.3.4"),
            ("x-forwarded-for", "5.6.7.8"),
            ("x-forwarded-user", "admin"),
            ("forwarded", "proto=https"),
            ("x-real-ip", "1.2.3.4"),
            ("x-request-start", "t=1"),
            ("x-request-id", "abc"),
            ("x-requested-with", "XMLHttpRequest"),
            ("accept", "*/*"),
        ];
        let mut headers = map(&said);
        let told = take(&mut headers, false);
        assert!(told.scheme == Scheme::Http && told.id.is_none());
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "x-requested-with"]);
        let mut headers = map(&said);
        assert_eq!(take(&mut headers, true).id.as_ref().map(RequestId::as_str), Some("abc"));
        assert_eq!(headers.len(), said.len(), "a trusted peer's words go on to the application");
    }

    #[test]
    fn two_ids_are_none() {
        assert!(take(&mut map(&[("x-request-id", "a"), ("x-request-id", "b")]), true).id.is_none());
    }
}
