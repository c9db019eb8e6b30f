//! Kind of a response body (HTML, JSON, text, …), by its content type and its first bytes. An error page in place of
//! data has another kind, even when its status is 200.

use serde::de::IgnoredAny;

/// Bytes at the start of a body that are examined.
const SNIFFED_BYTES: usize = 512;

/// Kind of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An empty body.
    Empty,
    /// An HTML page.
    Html,
    /// A JSON document, or several one after the other, as NDJSON has one on each line.
    Json,
    /// XML other than HTML.
    Xml,
    /// Text in UTF-8 of any other kind.
    Text,
    /// Anything that is not text in UTF-8.
    Binary,
}

impl Kind {
    /// Describes the kind for a report or message: `a page of HTML`.
    pub fn in_words(self) -> &'static str {
        match self {
            Kind::Empty => "nothing",
            Kind::Html => "a page of HTML",
            Kind::Json => "JSON",
            Kind::Xml => "XML",
            Kind::Text => "text",
            Kind::Binary => "data",
        }
    }

    /// Determines the kind of a body. The bytes count more than the content type, which some servers add or drop.
    pub fn of(content_type: &str, body: &[u8]) -> Kind {
        if body.is_empty() {
            return Kind::Empty;
        }
        let sniffed = body.get(..SNIFFED_BYTES).unwrap_or(body);
        if !is_text(sniffed) {
            return Kind::Binary;
        }
        let start = String::from_utf8_lossy(sniffed).trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
        let claims = |part: &str| content_type.to_ascii_lowercase().contains(part);
        if start.starts_with("<!doctype html") || start.starts_with("<html") {
            Kind::Html
        } else if start.starts_with("<?xml") && !claims("html") {
            Kind::Xml
        } else if (claims("json") || is_compound(&start)) && is_json(body) {
            Kind::Json
        } else if claims("html") {
            Kind::Html
        } else if claims("xml") && start.starts_with('<') {
            Kind::Xml
        } else {
            Kind::Text
        }
    }
}

fn is_compound(start: &str) -> bool {
    start.starts_with(['{', '['])
}

/// Whether the body is one JSON document or more.
fn is_json(body: &[u8]) -> bool {
    let mut documents = serde_json::Deserializer::from_slice(body).into_iter::<IgnoredAny>().peekable();
    documents.peek().is_some() && documents.all(|document| document.is_ok())
}

/// Whether these bytes are UTF-8 without a zero byte. A character cut off at the end is accepted.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).err().is_none_or(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        let rows: [(&str, &[u8], Kind); 14] = [
            ("text/html", b"", Kind::Empty),
            ("text/html; charset=utf-8", b"<p>a", Kind::Html),
            ("", b"\n<!DOCTYPE html><html>", Kind::Html),
            ("application/json", b"<!DOCTYPE html>", Kind::Html),
            ("application/json", b"{\"a\":1}", Kind::Json),
            ("", b"[1]", Kind::Json),
            ("application/json", b"12", Kind::Json),
            ("text/plain", b"12", Kind::Text),
            ("application/json", b"{\"a\":", Kind::Text),
            ("application/x-ndjson", b"{\"a\":1}\n{\"a\":2}\n", Kind::Json),
            ("text/plain", b"[note] {not JSON}", Kind::Text),
            ("image/svg+xml", b"<?xml version='1.0'?><svg/>", Kind::Xml),
            ("image/png", b"\x89PNG\x00", Kind::Binary),
            ("text/plain", b"\xff\xfe", Kind::Binary),
        ];
        for (content_type, body, kind) in rows {
            assert_eq!(Kind::of(content_type, body), kind, "{content_type} {body:?}");
        }
        let cut = "ü".repeat(400);
        assert_eq!(Kind::of("text/plain", format!("x{cut}").as_bytes()), Kind::Text);
        assert!(!Kind::Empty.in_words().is_empty());
    }
}
