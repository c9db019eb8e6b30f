//! Parses a line of an access log: the common and combined formats of nginx and Apache, the two of foolsgold, that of
//! Heroku's router and of Lograge, and JSON objects with the usual names, also behind a time and other words, or with
//! such a line as a message. Any other line is no request; none makes the parser panic.

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
/// Names of targets that nginx and others write without the query, and names of the query.
const WITHOUT_QUERY: [&str; 3] = ["uri", "path", "url"];
const QUERIES: [&str; 3] = ["args", "query_string", "query"];
/// Names under which an object has a whole line of another program: those of loggers, of Docker and of systemd's
/// journal.
const MESSAGES: [&str; 4] = ["message", "msg", "log", "MESSAGE"];
/// Names under which pairs have their time.
const TIMES: [&str; 3] = ["time", "timestamp", "ts"];

/// A name and its value, in quotes or without. A test compiles this constant pattern.
static PAIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:^|\s)([A-Za-z_]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))"#).ok());

/// Parses a line; `None` if it records no request.
pub fn read(line: &str) -> Option<LoggedRequest> {
    let line = line.trim();
    match object(line) {
        Some((before, object)) => {
            let found = of_object(&object).or_else(|| message(&object))?;
            Some(LoggedRequest { at_s: found.at_s.or_else(|| access_time::first(before)), ..found })
        }
        None if line.starts_with('{') => None,
        None => text(line),
    }
}

/// Parses a line that is no JSON.
fn text(line: &str) -> Option<LoggedRequest> {
    own_text(line).or_else(|| common(line)).or_else(|| pairs(line))
}

/// The JSON object of a line, and the text before it: a time, a severity, the name of a logger.
fn object(line: &str) -> Option<(&str, Object)> {
    let (before, text) = line.split_at(line.find('{')?);
    // A path or a browser's name in another format may have a brace, too.
    let is_apart = before.is_empty() || before.ends_with(char::is_whitespace);
    Some((before, serde_json::from_str(text).ok().filter(|_| is_apart)?))
}

/// Parses the line that an object has as its message, which may have a time of its own.
fn message(object: &Object) -> Option<LoggedRequest> {
    let line = MESSAGES.iter().find_map(|name| object.get(*name)?.as_str())?.trim();
    let found = match self::object(line) {
        Some((before, inner)) => {
            let found = of_object(&inner)?;
            LoggedRequest { at_s: found.at_s.or_else(|| access_time::first(before)), ..found }
        }
        None => text(line)?,
    };
    Some(LoggedRequest { at_s: found.at_s.or_else(|| access_time::json(object)), ..found })
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

/// Parses pairs of names and values behind a time, or with one, as Heroku's router and Lograge write them:
/// `2026-11-21T04:40:24.496+00:00 heroku[router]: at=info method=GET path="/a" host=shop.example status=200 bytes=13`.
fn pairs(line: &str) -> Option<LoggedRequest> {
    let pattern = PAIR.as_ref()?;
    let (mut method, mut target, mut status) = (None, None, None);
    let mut own_time = None;
    for found in pattern.captures_iter(line) {
        let value = found.get(2).or_else(|| found.get(3));
        if let Some(value) = value.filter(|_| TIMES.contains(&&found[1]) && own_time.is_none()) {
            // Without quotes it may go on behind a space.
            own_time = access_time::begin(if found.get(2).is_some() { value.as_str() } else { &line[value.start()..] });
        }
        let value = value.map_or("", |value| value.as_str());
        match &found[1] {
            "method" => method.get_or_insert(value),
            "path" => target.get_or_insert(value),
            "status" => status.get_or_insert(value),
            _ => continue,
        };
    }
    let (method, target, status) = (method?, target?, status?.parse().ok());
    let at_s = access_time::first(line).or(own_time);
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

/// Parses the object of a JSON line, of foolsgold or of nginx, Caddy, Traefik, pino-http and other servers: the names
/// of the fields differ, the facts do not.
fn of_object(object: &Object) -> Option<LoggedRequest> {
    let at_s = access_time::json(object);
    // Caddy and pino-http nest the request in an object, pino-http the response as well, and loggers all of it.
    let part = |name: &str| object.get(name).and_then(serde_json::Value::as_object);
    // Where a logger has no status, the request only begins; its end has a line of its own.
    let payload = part("payload").filter(|part| STATUSES.iter().any(|name| part.contains_key(*name)));
    let asked: Vec<&Object> = [Some(object), part("request"), part("req"), payload].into_iter().flatten().collect();
    let answered = [Some(object), part("res"), payload];
    let status = STATUSES.iter().find_map(|name| answered.iter().flatten().find_map(|part| part.get(*name)));
    let status = status.and_then(|status| match status {
        serde_json::Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|number| u16::try_from(number).ok()),
    });
    let text = |name: &str| asked.iter().find_map(|part| part.get(name)?.as_str());
    let request = text("request");
    let Some(method) = METHODS.iter().find_map(|name| text(name)) else {
        return Some(LoggedRequest { at_s, ..request_line(request?, status)? });
    };
    let target = TARGETS.iter().find_map(|name| Some((*name, text(name)?)));
    // Apache's `%U` often has the name of the whole request line.
    let path = || request.filter(|path| path.starts_with('/')).map(|path| (WITHOUT_QUERY[0], path));
    let Some((name, target)) = target.or_else(path) else {
        return Some(LoggedRequest { at_s, ..request_line(request?, status)? });
    };
    let query = QUERIES.iter().find_map(|name| text(name)).map(|query| query.trim_start_matches('?'));
    let query = query.filter(|query| !matches!(*query, "" | "-") && WITHOUT_QUERY.contains(&name));
    let target = match query.filter(|_| !target.contains('?')) {
        Some(query) => format!("{target}?{query}"),
        None => target.to_owned(),
    };
    Some(LoggedRequest { method: method.to_owned(), target, status, at_s })
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
            r#"{"ts":"2001/09/09 01:46:40.123","request":{"method":"GET","uri":"/a"},"status":200}"#,
            r#"2001/09/09 01:46:40.123	INFO	http.log.access	handled	{"request":{"method":"GET","uri":"/a"}}"#,
            "I, [2001-09-09T01:46:40.496123 #42]  INFO -- : method=GET path=/a format=html status=200 duration=1.2",
            r#"I, [2001-09-09T01:46:40.496123 #42]  INFO -- : [id] {"method":"GET","path":"/a","status":200}"#,
            "method=GET path=/a status=200 time=2001-09-09 03:46:40 +0200 host=x",
            r#"method=GET path=/a status=200 time="2001-09-09T01:46:40Z""#,
            r#"{"method":"GET","path":"/a","status":200,"@timestamp":"2001-09-09T01:46:40Z","message":"[200]"}"#,
            r#"{"log":"method=GET path=/a status=200\n","stream":"stdout","time":"2001-09-09T01:46:40.1Z"}"#,
            r#"{"MESSAGE":"{\"method\":\"GET\",\"path\":\"/a\"}","__REALTIME_TIMESTAMP":"1000000000123456"}"#,
            r#"{"timestamp":"2001-09-09T01:46:40Z","payload":{"method":"GET","path":"/a","status":200}}"#,
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
    fn a_query_beside_the_path_belongs_to_the_target() {
        let of = |rest: &str| read(&format!(r#"{{"request_method":"GET","status":"200",{rest}}}"#));
        assert_eq!(of(r#""uri":"/a","args":"b=1&c=2""#), line("GET", "/a?b=1&c=2", 200));
        assert_eq!(of(r#""uri":"/a","query_string":"b=1""#), line("GET", "/a?b=1", 200));
        assert_eq!(of(r#""request":"/a","query":"?b=1""#), line("GET", "/a?b=1", 200));
        for without in ["", "-", "?"] {
            assert_eq!(of(&format!(r#""uri":"/a","args":"{without}""#)), line("GET", "/a", 200));
        }
        // The whole target is there already.
        assert_eq!(of(r#""request_uri":"/a?b=1","uri":"/index.php","args":"x=/a&b=1""#), line("GET", "/a?b=1", 200));
        assert_eq!(of(r#""url":"/a?b=1","query":"b=1""#), line("GET", "/a?b=1", 200));
        assert_eq!(of(r#""url":"/a","query":{"b":1}"#), line("GET", "/a", 200));
        let whole = r#"{"method":"GET","request":"GET /a?b=1 HTTP/1.1","args":"b=1","status":200}"#;
        assert_eq!(read(whole), line("GET", "/a?b=1", 200));
    }

    #[test]
    fn lines_of_lograge_are_read_whatever_is_around_them() {
        let pairs = "method=GET path=/a?b=1 format=html controller=A action=b status=200 duration=1.20 view=0.50";
        assert_eq!(read(pairs), line("GET", "/a?b=1", 200));
        assert_eq!(read(&format!("[request-id] {pairs}")), line("GET", "/a?b=1", 200));
        let message = serde_json::json!({ "level": "INFO", "message": pairs });
        assert_eq!(read(&message.to_string()), line("GET", "/a?b=1", 200));
        let common = r#"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 23"#;
        let docker = serde_json::json!({ "log": format!("{common}\n"), "time": "2026-11-21T04:40:24Z" });
        let found = super::read(&docker.to_string()).unwrap();
        assert_eq!((found.target.as_str(), found.at_s), ("/a", Some(971_211_336)), "the time of the request itself");
        let logger = r#"{"message":"Completed #show","payload":{"method":"GET","path":"/a","status":200}}"#;
        assert_eq!(read(logger), line("GET", "/a", 200));
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
            r#"{"message":"hello","status":200}"#,
            r#"{"message":"{\"message\":\"method=GET path=/a status=200\"}"}"#,
            r#"{"method":"GET","status":200}"#,
            "hello {}",
            r#"{"message":"Started","payload":{"method":"GET","path":"/a"}}"#,
        ];
        for text in hostile {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["\\", "\\x", "\\x1", "\\xZZ", "\\x\u{fc}\u{fc}", "a\\"] {
            let _ = unescaped(text);
        }
        let braces = r#"1.2.3.4 - - [10/Oct/2000:13:55:36 +0000] "GET /a{b} HTTP/1.1" 200 1 "-" "x {\"y\":1}""#;
        assert_eq!(read(braces), line("GET", "/a{b}", 200));
        let deep = format!("{{\"a\":{}", "[".repeat(10_000));
        assert_eq!(read(&deep), None);
    }
}
