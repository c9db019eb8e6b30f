//! Request heads that the scan accepts or refuses.

use super::*;
use crate::tests_support::limits;

/// Why a head is refused, if it is.
fn refusal(head: &[u8], limits: &Limits) -> Option<Refusal> {
    scan(head, limits).err()
}

fn status(head: &str) -> u16 {
    match scan(head.as_bytes(), &limits()) {
        Err(refusal) => refusal.status.as_u16(),
        Ok(Some(_)) => 200,
        Ok(None) => 0,
    }
}

#[test]
fn a_head_is_found_with_its_length_and_framing() {
    let head = "POST /a?b HTTP/1.1\r\nHost: a:80\r\nContent-Length: 12\r\n\r\n";
    let found = scan(format!("{head}hello").as_bytes(), &limits());
    assert_eq!(found, Ok(Some((head.len(), Framing::Length(12), None))));
    let head = "POST / HTTP/1.1\r\nHost: \ta\r\ntransfer-encoding: Chunked\r\n\r\n";
    assert_eq!(scan(head.as_bytes(), &limits()), Ok(Some((head.len(), Framing::Chunked, None))));
    for end in 0..head.len() {
        assert_eq!(scan(&head.as_bytes()[..end], &limits()), Ok(None));
    }
}

/// Others are among the hostile requests (`tests/hostile.rs`).
#[test]
fn each_form_of_target_has_its_methods() {
    for (line, wanted) in [
        ("GET / HTTP/1.1", 200),
        ("OPTIONS * HTTP/1.1", 200),
        ("GET * HTTP/1.1", 400),
        ("GET http://a.example:80/x HTTP/1.1", 200),
        ("GET HTTP://a.example?x HTTP/1.1", 200),
        ("GET http://u@a.example/ HTTP/1.1", 400),
        ("GET http:///x HTTP/1.1", 400),
        ("CONNECT a:80 HTTP/1.1", 501),
        ("GET /#x HTTP/1.1", 200),
        ("GET #x HTTP/1.1", 400),
        ("GET / x HTTP/1.1", 400),
        ("G(T / HTTP/1.1", 400),
        ("GET / HTTP/1.2", 200),
        ("GET / HTTP/a.1", 400),
        ("GET / HTTP/2.x", 400),
    ] {
        assert_eq!(status(&format!("{line}\r\nHost: a\r\n\r\n")), wanted, "{line}");
    }
}

/// hyper refuses the others, too, but no answer says why then.
#[test]
fn the_name_of_a_header_is_a_token() {
    for (header, wanted) in
        [("a-B: c", 200), ("(a): b", 400), ("a : b", 400), ("a b: c", 400), (": b", 400), ("a", 400)]
    {
        assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n")), wanted, "{header}");
    }
}

/// Others are among the hostile requests (`tests/hostile.rs`).
#[test]
fn hosts_are_names_or_addresses_with_a_port() {
    for (host, wanted) in [
        ("a", 200),
        ("a:1", 200),
        ("a:", 200),
        ("[::1]:80", 200),
        ("[::1]", 200),
        ("[2001:db8::192.0.2.1]:65535", 200),
        ("a%2eb", 200),
        ("a:65536", 400),
        ("a:00080", 200),
        ("a:+1", 400),
        ("a:1:2", 400),
        ("a%zz", 400),
        ("a%2z", 400),
        ("a%z2", 400),
        ("a%2", 400),
        ("%", 400),
        ("[::::]", 400),
        ("[1.2.3.4]", 400),
        ("[]", 400),
        ("[fe80::1%25eth0]", 400),
        ("a, b", 400),
        ("a.b_c-d", 200),
        ("a,b", 200),
        ("a:123456", 400),
        ("[x]", 400),
        ("a?b", 400),
        ("a\\b", 400),
        ("<a>", 400),
        ("[::1]x", 400),
        (":80", 400),
        ("é", 400),
    ] {
        assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), wanted, "{host}");
    }
}

/// `reg-name` of RFC 3986 section 3.2.2, and the colon of an empty port.
#[test]
fn a_name_has_the_characters_that_a_url_allows_and_no_others() {
    let accepted: String = (b'!'..=b'~')
        .map(char::from)
        .filter(|c| status(&format!("GET / HTTP/1.1\r\nHost: a{c}\r\n\r\n")) == 200)
        .collect();
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    assert_eq!(accepted, format!("!$&'()*+,-.0123456789:;={letters}~"));
}

/// The request line is rewritten as one that hyper parses, to the end of the version.
#[test]
fn a_later_minor_version_is_served_as_the_one_that_is_spoken() {
    for (line, plain) in [
        ("GET /a HTTP/1.2", "GET /a HTTP/1.1"),
        ("GET /a?b#c HTTP/1.9", "GET /a?b HTTP/1.1"),
        ("OPTIONS /<x> HTTP/1.2", "OPTIONS /%3Cx%3E HTTP/1.1"),
        ("GET https://a/#b HTTP/1.1", "GET https://a/ HTTP/1.1"),
        ("GET /a#b HTTP/1.0", "GET /a HTTP/1.0"),
    ] {
        let head = format!("{line}\r\nHost: a\r\n\r\n");
        let Ok(Some((length, _, Some(Change { place, bytes })))) = scan(head.as_bytes(), &limits()) else {
            panic!("{line} is not changed")
        };
        let mut given = head.clone().into_bytes();
        given.splice(place, bytes);
        assert_eq!((length, given), (head.len(), format!("{plain}\r\nHost: a\r\n\r\n").into_bytes()), "{line}");
    }
    assert_eq!(status("GET / HTTP/1.2\r\n\r\n"), 400, "it needs a Host as HTTP/1.1 does");
    assert_eq!(status("POST / HTTP/1.2\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 200);
}

#[test]
fn a_host_may_be_empty_where_it_does_not_count() {
    for (line, wanted) in [("GET http://b/ HTTP/1.1", 200), ("GET / HTTP/1.0", 200), ("OPTIONS * HTTP/1.1", 400)] {
        assert_eq!(status(&format!("{line}\r\nHost:\r\n\r\n")), wanted, "{line}");
    }
    assert_eq!(status("GET http://b/ HTTP/1.1\r\n\r\n"), 400, "RFC 9112 section 3.2");
}

/// Others are among the hostile requests (`tests/hostile.rs`).
#[test]
fn a_body_ends_where_chunked_is_the_last_coding_or_not_at_all() {
    for (codings, wanted) in [
        ("chunked", 200),
        ("CHUNKED\t ", 200),
        ("gold", 400),
        ("gold;a=\"b\",\tchunked", 501),
        ("chunked, gzip, chunked", 400),
        ("gzip,, chunked", 400),
        ("chunked;a=b", 400),
        (",", 400),
        ("chunked[", 400),
        ("[gold], chunked", 400),
    ] {
        assert_eq!(
            status(&format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {codings}\r\n\r\n")),
            wanted,
            "{codings}"
        );
    }
    let twice = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(status(twice), 400);
}

#[test]
fn a_limit_is_the_same_however_the_bytes_arrive() {
    let head = "GET / HTTP/1.0\r\nA: b\r\n\r\n";
    for (header_bytes, is_enough) in [(head.len(), true), (head.len() - 1, false), (head.len() - 2, false)] {
        let limits = Limits { header_bytes, ..limits() };
        let is_refused = |end: usize| scan(&head.as_bytes()[..end], &limits).is_err();
        assert_eq!(is_refused(head.len()), !is_enough, "{header_bytes}");
        assert!(is_enough || !(0..=header_bytes).any(is_refused), "{header_bytes}");
        assert!(is_enough || (header_bytes + 1..=head.len()).all(is_refused), "{header_bytes}");
    }
    for (spare, is_enough) in [(0, true), (1, false)] {
        let limits = Limits { header_bytes: 1 << 20, ..limits() };
        let line = format!("GET /{} HTTP/1.0", "a".repeat(LINE_BYTES - 14 + spare));
        let head = format!("{line}\r\n\r\n");
        for end in [line.len() + 1, head.len()] {
            let is_refused = scan(&head.as_bytes()[..end], &limits).is_err();
            assert_eq!(is_refused, !is_enough, "{end} of {spare} too many");
        }
    }
}

#[test]
fn what_is_too_long_has_the_same_status_however_it_arrives() {
    let line = format!("GET /{} HTTP/1.0", "a".repeat(9000));
    let head = format!("{line}\r\nA: b\r\n\r\n");
    for header_bytes in [8192, line.len() + 1] {
        let limits = Limits { header_bytes, ..limits() };
        for end in [line.len() + 2, head.len()] {
            let found = refusal(&head.as_bytes()[..end], &limits).map(|refusal| refusal.status);
            assert_eq!(found, Some(StatusCode::URI_TOO_LONG), "{end} bytes, of {header_bytes}");
        }
    }
    let limits = Limits { header_bytes: line.len() + 2, ..limits() };
    for head in [&head, &head.replace("A: b", "no colon"), &head.replace("A: b", "A: \x01")] {
        for end in [line.len() + 3, head.len()] {
            let found = refusal(&head.as_bytes()[..end], &limits).map(|refusal| refusal.status);
            let wanted = Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
            assert_eq!(found, wanted, "the line fits, and the rest does not: {end} bytes");
        }
    }
}

#[test]
fn a_target_is_as_long_as_its_line_may_be_when_it_is_percent_encoded() {
    let limits = Limits { header_bytes: 1 << 20, ..limits() };
    for (spare, wanted) in [(0, None), (1, Some(StatusCode::URI_TOO_LONG))] {
        // Each of the ten becomes three bytes.
        let target = format!("/{}{}", "<".repeat(10), "a".repeat(LINE_BYTES - 1 - 30 + spare));
        let head = format!("GET {target} HTTP/1.0\r\n\r\n");
        assert_eq!(refusal(head.as_bytes(), &limits).map(|refusal| refusal.status), wanted, "{spare} too many");
    }
}

#[test]
fn what_is_no_http_is_known_by_its_first_bytes() {
    for (bytes, wanted) in [
        (&b"\x16\x03\x01"[..], "this is TLS, and this port speaks plain HTTP"),
        (PROXY_2, PROXY_WHY),
        (b"\0", "the method is not a token"),
        (b"(GET", "the method is not a token"),
        (b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", PROXY_WHY),
    ] {
        assert_eq!(refusal(bytes, &limits()).map(|refusal| refusal.why), Some(wanted), "{bytes:?}");
    }
}

#[test]
fn only_the_headers_of_framing_are_read() {
    // As long as Host, as Content-Length, and as Transfer-Encoding.
    for other in ["From", "X-Content-Page", "X-Transfer-States"] {
        assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: a\r\n{other}: words\r\n\r\n")), 200, "{other}");
    }
}

/// What hyper cannot take would have no line in the access log.
#[test]
fn a_name_of_a_header_is_as_long_as_hyper_takes_it_and_no_longer() {
    let limits = Limits { header_bytes: 1 << 20, ..limits() };
    for (bytes, is_allowed) in [(NAME_BYTES, true), (NAME_BYTES + 1, false)] {
        let name = "a".repeat(bytes);
        let found = scan(format!("GET / HTTP/1.0\r\n{name}: b\r\n\r\n").as_bytes(), &limits);
        assert_eq!(matches!(found, Ok(Some(_))), is_allowed, "{bytes} bytes");
        assert_eq!(http::HeaderName::from_bytes(name.as_bytes()).is_ok(), is_allowed, "{bytes} bytes");
    }
}
