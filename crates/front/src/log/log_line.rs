//! One line of the access log, formatted in a buffer of its thread.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Uri;
use jiff::Timestamp;

use crate::log::query_log::{FILTERED, QueryLog};

/// Most bytes of a method, and of a target, in the log.
const METHOD_BYTES: usize = 64;
const TARGET_BYTES: usize = 2048;

/// Format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Fields separated by spaces.
    Text,
    /// One JSON object per line.
    Json,
}

/// Content of a line.
pub(crate) struct Entry<'a> {
    /// Address of the peer; `None` for a Unix socket.
    pub(crate) client: Option<SocketAddr>,
    /// Empty if it could not be parsed.
    pub(crate) method: &'a [u8],
    pub(crate) target: LoggedTarget<'a>,
    /// 0 if there was no response.
    pub(crate) status: u16,
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
    pub(crate) queued: Duration,
    pub(crate) id: &'a str,
    /// Name of what went wrong, or empty.
    pub(crate) fault: &'a str,
    /// Description of what went wrong, without text of the client; or empty.
    pub(crate) reason: &'a str,
    /// Name of the application if the engine has several; else empty.
    pub(crate) app: &'a str,
}

/// Request target, as far as it is known.
#[derive(Clone, Copy)]
pub(crate) enum LoggedTarget<'a> {
    Whole(&'a Uri),
    /// The bytes as received; empty if nothing could be parsed.
    Raw(&'a [u8]),
}

/// Formats a line and passes it to `add`.
pub(crate) fn with(format: LogFormat, query: &QueryLog, entry: &Entry<'_>, add: impl FnOnce(&[u8])) {
    BUFFER.with_borrow_mut(|line| {
        line.text.clear();
        match format {
            LogFormat::Text => line.words(entry, query),
            LogFormat::Json => line.json(entry, query),
        }
        line.text.push('\n');
        add(line.text.as_bytes());
    });
}

thread_local! {
    static BUFFER: RefCell<LineBuffer> = const { RefCell::new(LineBuffer::new()) };
}

/// The buffer for a line, and the last line's date and address as text: they are formatted again only when they change.
struct LineBuffer {
    text: String,
    second: u64,
    /// [`LineBuffer::second`] as text.
    stamp: String,
    ip: Option<IpAddr>,
    /// [`LineBuffer::ip`] as text.
    client: String,
}

impl LineBuffer {
    const fn new() -> LineBuffer {
        LineBuffer { text: String::new(), second: 0, stamp: String::new(), ip: None, client: String::new() }
    }

    fn words(&mut self, entry: &Entry<'_>, query: &QueryLog) {
        self.stamp();
        self.text.push(' ');
        self.client(entry.client);
        self.text.push(' ');
        self.or_dash(|line| line.method(entry.method));
        self.text.push(' ');
        self.or_dash(|line| line.target(&entry.target, query));
        self.text.push(' ');
        match entry.status {
            0 => self.text.push('-'),
            status => self.number(status.into()),
        }
        self.text.push(' ');
        self.number(entry.bytes);
        self.text.push(' ');
        self.millis(entry.took);
        self.text.push(' ');
        self.millis(entry.queued);
        self.put(&[" ", entry.id]);
        if !entry.fault.is_empty() {
            self.put(&[" ", entry.fault]);
        }
        if !entry.reason.is_empty() {
            self.put(&[" \"", entry.reason, "\""]);
        }
        if !entry.app.is_empty() {
            self.put(&[" app=", entry.app]);
        }
    }

    fn json(&mut self, entry: &Entry<'_>, query: &QueryLog) {
        self.text.push_str("{\"time\":\"");
        self.stamp();
        self.text.push_str("\",\"client\":\"");
        self.client(entry.client);
        self.text.push_str("\",\"method\":");
        self.or_null(|line| line.method(entry.method));
        self.text.push_str(",\"target\":");
        self.or_null(|line| line.target(&entry.target, query));
        self.text.push_str(",\"status\":");
        match entry.status {
            0 => self.text.push_str("null"),
            status => self.number(status.into()),
        }
        self.text.push_str(",\"bytes\":");
        self.number(entry.bytes);
        self.text.push_str(",\"ms\":");
        self.millis(entry.took);
        self.text.push_str(",\"queue_ms\":");
        self.millis(entry.queued);
        self.put(&[",\"id\":\"", entry.id, "\""]);
        if !entry.fault.is_empty() {
            self.put(&[",\"fault\":\"", entry.fault, "\""]);
        }
        if !entry.reason.is_empty() {
            self.put(&[",\"reason\":\"", entry.reason, "\""]);
        }
        if !entry.app.is_empty() {
            self.put(&[",\"app\":\"", entry.app, "\""]);
        }
        self.text.push('}');
    }

    /// Runs `write`, and adds a dash if it wrote nothing.
    fn or_dash(&mut self, write: impl FnOnce(&mut LineBuffer)) {
        let before = self.text.len();
        write(self);
        if self.text.len() == before {
            self.text.push('-');
        }
    }

    /// Runs `write` within a JSON string, and writes null if it wrote nothing.
    fn or_null(&mut self, write: impl FnOnce(&mut LineBuffer)) {
        let before = self.text.len();
        self.text.push('"');
        write(self);
        if self.text.len() > before + 1 {
            self.text.push('"');
        } else {
            self.text.truncate(before);
            self.text.push_str("null");
        }
    }

    /// Adds the time: RFC 3339 in UTC, with milliseconds.
    fn stamp(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if now.as_secs() != self.second || self.stamp.is_empty() {
            self.second = now.as_secs();
            self.stamp = date_time(self.second);
        }
        self.text.push_str(&self.stamp);
        self.text.push('.');
        self.three_digits(now.subsec_millis());
        self.text.push('Z');
    }

    fn client(&mut self, client: Option<SocketAddr>) {
        let Some(ip) = client.map(|address| address.ip()) else { return self.text.push_str("unix") };
        if self.ip != Some(ip) {
            self.ip = Some(ip);
            self.client.clear();
            // Writing to a string cannot fail.
            let _ = write!(self.client, "{}", ip.to_canonical());
        }
        self.text.push_str(&self.client);
    }

    fn put(&mut self, parts: &[&str]) {
        parts.iter().for_each(|part| self.text.push_str(part));
    }

    fn number(&mut self, number: u64) {
        self.text.push_str(itoa::Buffer::new().format(number));
    }

    /// Adds a number below 1000 with leading zeros.
    fn three_digits(&mut self, number: u32) {
        for power in [100, 10, 1] {
            self.text.push(char::from_digit(number / power % 10, 10).unwrap_or('0'));
        }
    }

    /// Adds a time in milliseconds, to the nearest thousandth.
    fn millis(&mut self, time: Duration) {
        let time = time.saturating_add(Duration::from_nanos(500));
        self.number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self.text.push('.');
        self.three_digits(time.subsec_micros() % 1000);
    }

    fn method(&mut self, method: &[u8]) {
        let most = self.text.len() + METHOD_BYTES;
        escape(&mut self.text, most, method);
    }

    fn target(&mut self, target: &LoggedTarget<'_>, shown: &QueryLog) {
        let most = self.text.len() + TARGET_BYTES;
        let mut add = |bytes: &[u8]| escape(&mut self.text, most, bytes);
        let (path, query) = match target {
            LoggedTarget::Raw(bytes) => {
                // The parser of whole targets leaves a fragment out, too.
                let bytes = memchr::memchr(b'#', bytes).map_or(*bytes, |at| &bytes[..at]);
                let (path, query) = match memchr::memchr(b'?', bytes) {
                    Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
                    None => (bytes, None),
                };
                match userinfo(path) {
                    Some(hidden) => {
                        add(&path[..hidden.start]);
                        add(FILTERED);
                        (&path[hidden.end..], query)
                    }
                    None => (path, query),
                }
            }
            // Its authority has no userinfo: such a target is refused.
            LoggedTarget::Whole(uri) => {
                if let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) {
                    [scheme, "://", authority.as_str()].iter().for_each(|part| add(part.as_bytes()));
                }
                (uri.path().as_bytes(), uri.query().map(str::as_bytes))
            }
        };
        add(path);
        if let Some(query) = query {
            shown.show(query, add);
        }
    }
}

/// Place of name and password in a target that is a URL, or the authority alone as with CONNECT. A path has none.
fn userinfo(target: &[u8]) -> Option<Range<usize>> {
    if target.starts_with(b"/") {
        return None;
    }
    let scheme = memchr::memchr2(b':', b'/', target).filter(|at| target[*at..].starts_with(b"://"));
    let start = scheme.map_or(0, |at| at + 3);
    let end = memchr::memchr(b'/', &target[start..]).map_or(target.len(), |length| start + length);
    memchr::memrchr(b'@', &target[start..end]).map(|length| start..start + length)
}

/// A path as the log shows it: percent-encoded and cut, like the targets in the access log.
pub(crate) fn escaped(path: &str) -> String {
    let mut text = String::new();
    escape(&mut text, TARGET_BYTES, path.as_bytes());
    text
}

/// Appends the bytes until the text has `most` bytes, and percent-encodes everything that could end a word, a string or
/// a line, or control a terminal. Percent-encoding suits both formats, and is what the client should have sent.
fn escape(text: &mut String, most: usize, bytes: &[u8]) {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'"' && *byte != b'\\';
    if let Ok(plain) = std::str::from_utf8(bytes)
        && text.len() + plain.len() <= most
        && bytes.iter().all(is_plain)
    {
        return text.push_str(plain);
    }
    for byte in bytes {
        if text.len() >= most {
            return;
        }
        if is_plain(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
}

fn date_time(second: u64) -> String {
    let stamp = i64::try_from(second).ok().and_then(|second| Timestamp::from_second(second).ok());
    stamp.unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(date_time(0), "1970-01-01T00:00:00");
        assert_eq!(date_time(951_782_400), "2000-02-29T00:00:00");
        assert_eq!(date_time(1_735_689_599), "2024-12-31T23:59:59");
        assert_eq!(date_time(4_107_542_400), "2100-03-01T00:00:00");
    }

    #[test]
    fn times_are_rounded_to_thousandths_of_a_millisecond() {
        let of = |nanos| {
            let mut line = LineBuffer::new();
            line.millis(Duration::from_nanos(nanos));
            line.text
        };
        for (nanos, text) in [
            (0, "0.000"),
            (499, "0.000"),
            (500, "0.001"),
            (1_234_567, "1.235"),
            (999_999_500, "1000.000"),
            (61_000_007_000, "61000.007"),
        ] {
            assert_eq!(of(nanos), text);
        }
    }

    #[test]
    fn each_line_has_the_address_of_its_own_client() {
        let mut line = LineBuffer::new();
        for client in ["127.0.0.1:1", "[::ffff:192.0.2.1]:2", "192.0.2.1:3", "[2001:db8::1]:4", "127.0.0.1:5"] {
            line.client(client.parse().ok());
            line.client(None);
        }
        assert_eq!(line.text, "127.0.0.1unix192.0.2.1unix192.0.2.1unix2001:db8::1unix127.0.0.1unix");
    }

    #[test]
    fn targets_cannot_break_a_line_or_a_string() {
        let mut text = String::new();
        escape(&mut text, 2048, "/a\"b\\c\n\u{1b}é d".as_bytes());
        assert_eq!(text, "/a%22b%5Cc%0A%1B%C3%A9%20d");
        let mut text = String::new();
        escape(&mut text, 10, format!("/{}", "a".repeat(100)).as_bytes());
        assert_eq!(text.len(), 10);
    }

    #[test]
    fn the_time_is_that_of_the_line_also_when_the_last_one_was_written_long_ago() {
        let mut line = LineBuffer::new();
        (line.second, line.stamp) = (5, date_time(5));
        let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let before = seconds();
        line.stamp();
        let stamp = line.text.parse::<Timestamp>().unwrap().as_second();
        assert!((before..=seconds()).contains(&u64::try_from(stamp).unwrap()), "{}", line.text);
        assert_eq!((line.text.len(), line.text.as_bytes()[19]), (24, b'.'), "{}", line.text);
        line.three_digits(7);
        line.three_digits(120);
        assert!(line.text.ends_with("Z007120"), "{}", line.text);
    }

    #[test]
    fn a_client_cannot_make_a_line_longer_than_it_may_be() {
        let uri: Uri = format!("/{}?{}", "a".repeat(1000), "b".repeat(3000)).parse().unwrap();
        let long = "x".repeat(9000);
        for target in [LoggedTarget::Whole(&uri), LoggedTarget::Raw(long.as_bytes())] {
            for before in ["", "what the line has already "] {
                let mut line = LineBuffer::new();
                line.text.push_str(before);
                line.target(&target, &QueryLog::Full);
                assert_eq!(line.text.len() - before.len(), TARGET_BYTES);
                line.method(long.as_bytes());
                assert_eq!(line.text.len() - before.len(), TARGET_BYTES + METHOD_BYTES);
            }
        }
        assert_eq!(escaped(&format!("/é{long}")).len(), TARGET_BYTES);
    }

    #[test]
    fn queries_are_shown_without_secrets() {
        let uri: Uri = "http://h:80/a?b=c&token=d%20e".parse().unwrap();
        let mut line = LineBuffer::new();
        line.target(&LoggedTarget::Whole(&uri), &QueryLog::default());
        line.target(&LoggedTarget::Raw(b"/a?token=\xff&c=\""), &QueryLog::default());
        line.target(&LoggedTarget::Whole(&uri), &QueryLog::None);
        line.target(&LoggedTarget::Raw(b"/b#token=c?d"), &QueryLog::Full);
        assert_eq!(line.text, "http://h:80/a?b=c&token=[FILTERED]/a?token=[FILTERED]&c=%22http://h:80/a/b");
    }

    /// Simple clients of a proxy send it a URL as it was typed.
    #[test]
    fn a_password_in_a_refused_target_is_hidden() {
        for (target, shown) in [
            ("http://user:secret@h:80/a@b?c=d@e", "http://[FILTERED]@h:80/a@b?c=d@e"),
            ("http://user@name:se:cret@h", "http://[FILTERED]@h"),
            ("ftp://user@h/a", "ftp://[FILTERED]@h/a"),
            ("user:secret@h:443", "[FILTERED]@h:443"),
            ("http://h:80/a:b@c", "http://h:80/a:b@c"),
            ("/a://b:c@d", "/a://b:c@d"),
            ("h/a://b:c@d", "h/a://b:c@d"),
        ] {
            for shown_queries in [QueryLog::Full, QueryLog::default()] {
                let mut line = LineBuffer::new();
                line.target(&LoggedTarget::Raw(target.as_bytes()), &shown_queries);
                assert_eq!(line.text, shown);
            }
        }
    }

    #[test]
    fn a_line_says_what_was_refused_and_why() {
        let entry = Entry {
            client: None,
            method: b"GET",
            target: LoggedTarget::Raw(b"/a\xe9\" "),
            status: 400,
            bytes: 7,
            took: Duration::from_millis(2),
            queued: Duration::ZERO,
            id: "the-id",
            fault: "refused",
            reason: "a header has no colon",
            app: "",
        };
        let of = |format, entry: &Entry<'_>| {
            let mut line = String::new();
            with(format, &QueryLog::default(), entry, |bytes| line = String::from_utf8(bytes.to_vec()).unwrap());
            line
        };
        let said = "unix GET /a%E9%22%20 400 7 2.000 0.000 the-id refused \"a header has no colon\"\n";
        assert!(of(LogFormat::Text, &entry).ends_with(said), "{}", of(LogFormat::Text, &entry));
        let said = "\"client\":\"unix\",\"method\":\"GET\",\"target\":\"/a%E9%22%20\",\"status\":400,\"bytes\":7,\
                    \"ms\":2.000,\"queue_ms\":0.000,\"id\":\"the-id\",\"fault\":\"refused\",\
                    \"reason\":\"a header has no colon\"}\n";
        assert!(of(LogFormat::Json, &entry).ends_with(said), "{}", of(LogFormat::Json, &entry));
        let entry = Entry { method: b"", target: LoggedTarget::Raw(b""), status: 0, reason: "", app: "shop", ..entry };
        assert!(of(LogFormat::Text, &entry).ends_with("unix - - - 7 2.000 0.000 the-id refused app=shop\n"));
        assert!(of(LogFormat::Json, &entry).contains("\"method\":null,\"target\":null,\"status\":null,"));
        assert!(of(LogFormat::Json, &entry).ends_with(",\"fault\":\"refused\",\"app\":\"shop\"}\n"));
    }
}
