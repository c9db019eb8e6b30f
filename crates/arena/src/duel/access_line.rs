//! Parses a line of an access log: the common and combined formats of nginx and Apache, the two of foolsgold, that of
//! Heroku's router, and JSON objects with the usual names. Any other line is no request; none makes the parser panic.

use std::sync::LazyLock;

use regex::Regex;

use super::access_time;

type Object = serde_json::Map<String, serde_json::Value>;

/// A request as an access log records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    /// Method, as sent.
    pub method: String,
    /// Request target, as sent.
    pub target: String,
    /// Status of the answer; `None` where no answer could be sent.
    pub status: Option<u16>,
    /// Time in seconds since 1970; `None` where the line has none.
    pub at_s: Option<u64>,
}

/// Common format, anchored by its date, since user names before it may contain anything. A test compiles this constant
/// pattern.
static COMMON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"\[(\d{1,2}/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "((?:[^"\\]|\\.)*)" (\d{3}|-)(?:\s|$)"#;
    Regex::new(pattern).ok()
});

/// Names under which JSON lines have the method, the target and the status; those with capitals are Traefik's.
const METHODS: [&str; 3] = ["method", "request_method", "RequestMethod"];
const TARGETS: [&str; 6] = ["target", "request_uri", "uri", "path", "url", "RequestPath"];
const STATUSES: [&str; 3] = ["status", "statusCode", "DownstreamStatus"];

/// A name and its value, in quotes or without. A test compiles this constant pattern.
static PAIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|\s)([A-Za-z_]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))"#).ok());

/// Parses a line; `None` if it records no request.
pub fn read(line: &str) -> Option<LoggedRequest> {
    let line = line.trim();
    if line.starts_with('{') {
        return json(line);
    }
    own_text(line).or_else(|| common(line)).or_else(|| pairs(line))
}

fn common(line: &str) -> Option<LoggedRequest> {
    let found = COMMON.as_ref()?.captures(line)?;
    let request = unescaped(found.get(2)?.as_str());
    let line = request_line(&request, found.get(3)?.as_str().parse().ok())?;
    Some(LoggedRequest { at_s: access_time::common(found.get(1)?.as_str()), ..line })
}

/// Parses a request line: `GET /a HTTP/1.1`, also without the version. A path may contain raw spaces only if the line
/// ends with a version.
fn request_line(text: &str, status: Option<u16>) -> Option<LoggedRequest> {
    let (method, rest) = text.split_once(' ')?;
    let target = match rest.rsplit_once(' ') {
        Some((target, version)) if version.starts_with("HTTP/") => target.trim(),
        None => rest,
        Some(_) => return None,
    };
    let is_plain = !method.is_empty() && !target.is_empty();
    is_plain.then(|| LoggedRequest { method: method.to_owned(), target: target.to_owned(), status, at_s: None })
}

/// Parses a time followed by pairs of names and values, as Heroku's router writes them:
/// `2026-11-21T04:40:24.496+00:00 heroku[router]: at=info method=GET path="/a" host=shop.example status=200 bytes=13`.
fn pairs(line: &str) -> Option<LoggedRequest> {
    let pattern = PAIR.as_ref()?;
    let (mut method, mut target, mut status) = (None, None, None);
    for found in pattern.captures_iter(line) {
        let value = found.get(2).or_else(|| found.get(3)).map_or("", |value| value.as_str());
        match &found[1] {
            "method" => method.get_or_insert(value),
            "path" => target.get_or_insert(value),
            "status" => status.get_or_insert(value),
            _ => continue,
        };
    }
    let (method, target, status) = (method?, target?, status?.parse().ok());
    // A log drain of Heroku's writes a priority and a version before the time.
    let at_s = line.split_whitespace().take(3).find_map(access_time::rfc3339);
    let is_plain = !method.is_empty() && !target.is_empty();
    is_plain.then(|| LoggedRequest { method: method.to_owned(), target: unescaped(target), status, at_s })
}

/// Parses a text line of foolsgold: `2026-11-21T04:40:24.496Z 127.0.0.1 GET /a 200 2878 2.811 0.004 ID`.
fn own_text(line: &str) -> Option<LoggedRequest> {
    let mut words = line.split(' ');
    let written = words.next()?;
    let time = written.as_bytes();
    let is_time = time.len() >= 20 && time[4] == b'-' && time[10] == b'T' && time.ends_with(b"Z");
    let method = words.nth(1)?;
    let target = words.next()?;
    let status = words.next()?;
    let is_method = method.bytes().all(|byte| byte.is_ascii_uppercase());
    let status = match status {
        "-" => None,
        number => Some(number.parse().ok()?),
    };
    let at_s = access_time::rfc3339(written);
    (is_time && is_method).then(|| LoggedRequest { method: method.to_owned(), target: target.to_owned(), status, at_s })
}

/// Parses a JSON line, of foolsgold or of nginx, Caddy, Traefik, pino-http and other servers: the names of the fields
/// differ, the facts do not.
fn json(line: &str) -> Option<LoggedRequest> {
    let object: Object = serde_json::from_str(line).ok()?;
    let at_s = access_time::json(&object);
    // Caddy and pino-http nest the request in an object, pino-http the response as well.
    let part = |name: &str| object.get(name).and_then(serde_json::Value::as_object);
    let asked: Vec<&Object> = [Some(&object), part("request"), part("req")].into_iter().flatten().collect();
    let answered = part("res");
    let status = STATUSES.iter().find_map(|name| object.get(*name).or_else(|| answered?.get(*name)));
    let status = status.and_then(|status| match status {
        serde_json::Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|number| u16::try_from(number).ok()),
    });
    let text = |names: &[&str]| names.iter().find_map(|name| asked.iter().find_map(|part| part.get(*name)?.as_str()));
    if let (Some(method), Some(target)) = (text(&METHODS), text(&TARGETS)) {
        return Some(LoggedRequest { method: method.to_owned(), target: target.to_owned(), status, at_s });
    }
    Some(LoggedRequest { at_s, ..request_line(text(&["request"])?, status)? })
}

/// Undoes the escapes of quotes, backslashes and bytes that nginx and Apache write.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let digits = after.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let hex = digits.filter(|_| after[0] == b'x').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (hex, after.first()) {
            (Some(value), _) => {
                bytes.push(value);
                rest = &after[3..];
            }
            (None, Some(&plain)) => {
                bytes.push(plain);
                rest = &after[1..];
            }
            (None, None) => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{LoggedRequest, unescaped};

    /// Parses a line without its time, which has tests of its own.
    fn read(line: &str) -> Option<LoggedRequest> {
        super::read(line).map(|line| LoggedRequest { at_s: None, ..line })
    }

    fn line(method: &str, target: &str, status: impl Into<Option<u16>>) -> Option<LoggedRequest> {
        Some(LoggedRequest { method: method.to_owned(), target: target.to_owned(), status: status.into(), at_s: None })
    }

    #[test]
    fn lines_of_all_kinds_have_their_time() {
        let lines = [
            r#"127.0.0.1 - frank [09/Sep/2001:03:46:40 +0200] "GET /a.gif HTTP/1.0" 200 2326"#,
            "2001-09-09T01:46:40.496Z 127.0.0.1 GET /fools-gold 200 2878 2.811 0.004 6069",
            r#"{"time":"2001-09-09T01:46:40.123Z","method":"GET","target":"/a","status":200}"#,
            r#"{"msec":"1000000000.123","request":"GET /a HTTP/1.1","status":"200"}"#,
            r#"{"ts":1000000000.123,"request":{"method":"GET","uri":"/a"},"status":200}"#,
            r#"{"DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/a","StartUTC":"2001-09-09T01:46:40.1Z"}"#,
            r#"{"level":30,"time":1000000000123,"req":{"method":"GET","url":"/a"},"res":{"statusCode":200}}"#,
            r#"2001-09-09T01:46:40.677020+00:00 heroku[router]: at=info method=GET path="/a" status=200"#,
            r#"<158>1 2001-09-09T01:46:40.677020+00:00 host heroku router - at=info method=GET path="/a" status=200"#,
        ];
        for line in lines {
            assert_eq!(super::read(line).and_then(|line| line.at_s), Some(1_000_000_000), "{line}");
        }
        let without = super::read(r#"{"request":"GET /a HTTP/1.1","status":"200"}"#);
        assert_eq!(without.map(|line| line.at_s), Some(None));
    }

    #[test]
    fn common_and_combined_lines_are_read() {
        let common = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326"#;
        assert_eq!(read(common), line("GET", "/a.gif", 200));
        let combined =
            r#"::1 - - [10/Oct/2000:13:55:36 +0000] "HEAD /?q=a%20b HTTP/1.1" 304 0 "-" "curl \"x\"" rt=0.1"#;
        assert_eq!(read(combined), line("HEAD", "/?q=a%20b", 304));
        let host = r#"shop.example:80 1.2.3.4 - x [y] [10/Oct/2000:13:55:36 +0000] "GET /" 200 1"#;
        assert_eq!(read(host), line("GET", "/", 200));
        let escaped = r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET /\xC3\xBC\"x HTTP/1.1" 200 1"#;
        assert_eq!(read(escaped), line("GET", "/ü\"x", 200));
        let spaces = r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET /a b  c?q=x y HTTP/1.1" 200 1"#;
        assert_eq!(read(spaces), line("GET", "/a b  c?q=x y", 200));
    }

    #[test]
    fn our_own_lines_are_read() {
        let text = "2026-11-21T04:40:24.496Z 127.0.0.1 GET /fools-gold 200 2878 2.811 0.004 6069 app_error";
        assert_eq!(read(text), line("GET", "/fools-gold", 200));
        assert_eq!(read("2026-11-21T04:40:24.496Z unix GET /a - 0 1.0 0.0 id client_gone"), line("GET", "/a", None));
        assert_eq!(read("2026-11-21T04:40:24.496Z 127.0.0.1 - - 400 0 1.0 0.000 - refused"), None);
        let json = r#"{"time":"x","client":"::1","method":"GET","target":"/a","status":200,"bytes":1,"ms":1.0}"#;
        assert_eq!(read(json), line("GET", "/a", 200));
        assert_eq!(read(r#"{"method":"GET","target":"/a","status":null}"#), line("GET", "/a", None));
        assert_eq!(read(r#"{"time":"x","client":"::1","status":400,"fault":"refused"}"#), None);
        assert_eq!(read(r#"{"request":"GET /a HTTP/1.1","status":"200"}"#), line("GET", "/a", 200));
        let caddy = r#"{"level":"info","ts":1585597114.76,"logger":"http.log.access.log0","msg":"handled request",
            "request":{"remote_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"shop.example","uri":"/a?b=1",
            "headers":{"User-Agent":["curl/7.82.0"]}},"bytes_read":0,"duration":0.0009,"size":10900,"status":200}"#;
        assert_eq!(read(caddy), line("GET", "/a?b=1", 200));
        assert_eq!(read(r#"{"request":{"method":"GET"},"status":200}"#), None);
    }

    #[test]
    fn lines_of_herokus_router_are_read() {
        let all = |rest: &str| read(&format!("2026-11-21T04:40:24.677020+00:00 heroku[router]: {rest}"));
        let right = r#"at=info method=GET path="/a?b=1&c=\"2" host=shop.example request_id=8601b555-6a83 fwd="1.2.3.4,
            5.6.7.8" dyno=web.1 connect=1ms service=18ms status=200 bytes=13 protocol=https"#;
        assert_eq!(all(right), line("GET", "/a?b=1&c=\"2", 200));
        let old = r#"at=error code=H12 desc="Request timeout, not method=PUT path=/no" method=POST path=/a status=503"#;
        assert_eq!(all(old), line("POST", "/a", 503));
        assert_eq!(all(r#"at=error code=H27 desc="Client" method=GET path="/a" status="#), line("GET", "/a", None));
    }

    #[test]
    fn traefik_and_pino_are_read() {
        let traefik = r#"{"ClientAddr":"10.0.0.1:5","DownstreamStatus":404,"OriginStatus":200,
            "RequestAddr":"shop.example","RequestMethod":"HEAD","RequestPath":"/a?b=1","RequestProtocol":"HTTP/1.1",
            "StartUTC":"2026-11-21T04:40:24.49Z","level":"info","msg":"","time":"2026-11-21T04:40:24Z"}"#;
        assert_eq!(read(traefik), line("HEAD", "/a?b=1", 404));
        let pino = r#"{"level":30,"time":1795000000000,"pid":1,"req":{"id":1,"method":"GET","url":"/a?b=1","query":{},
            "headers":{"host":"shop.example"}},"res":{"statusCode":304,"headers":{}},"responseTime":3,"msg":"x"}"#;
        assert_eq!(read(pino), line("GET", "/a?b=1", 304));
        let aborted = r#"{"level":50,"req":{"method":"GET","url":"/a"},"res":{"statusCode":null},"msg":"aborted"}"#;
        assert_eq!(read(aborted), line("GET", "/a", None));
    }

    #[test]
    fn hostile_lines_are_no_requests() {
        let hostile = [
            "",
            " ",
            "{",
            "{}",
            "{\"method\":1,\"target\":[]}",
            "x y z",
            "2026-11-21T04:40:24.496Z server the port is 80",
            "2026-11-21T04:40:24.496Z a GET /a 99999999 1",
            "é é é é é",
            r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "\x16\x03\x01" 400 1"#,
            r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "-" 408 1"#,
            r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET /a b" 200 1"#,
            r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET  HTTP/1.1" 400 1"#,
            r#"2026-11-21T04:40:24.496Z app[web.1]: method=GET path="/a""#,
            r#"2026-11-21T04:40:24.496Z app[web.1]: method= path= status="#,
            r#"method=GET path="/a status=200"#,
            r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET /a\"#,
            r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "\" 200 1"#,
        ];
        for text in hostile {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["\\", "\\x", "\\x1", "\\xZZ", "\\x\u{fc}\u{fc}", "a\\"] {
            let _ = unescaped(text);
        }
        let deep = format!("{{\"a\":{}", "[".repeat(10_000));
        assert_eq!(read(&deep), None);
    }
}
