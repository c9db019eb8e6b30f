//! A request of the workload, before its right answer is known.

/// Longest path in bytes: most servers refuse longer ones.
const PATH_BYTES_MAX: usize = 8000;

/// A request of the workload: what is sent, its weight, and the status that the user or a log expects.
#[derive(Debug, Clone, PartialEq)]
pub struct DuelRequest {
    /// HTTP method, in capitals.
    pub method: String,
    /// Path with its query, percent-encoded, ready to be sent.
    pub path: String,
    /// Additional request headers, by name and value.
    pub headers: Vec<(String, String)>,
    /// Request body; empty for most.
    pub body: Vec<u8>,
    /// Relative frequency among all requests.
    pub weight: f64,
    /// Status that the answer must have, if the user or a log names one.
    pub status: Option<u16>,
}

impl DuelRequest {
    /// A request of weight 1 without headers or body.
    pub fn new(method: &str, path: &str) -> DuelRequest {
        let method = method.to_owned();
        let path = path.to_owned();
        DuelRequest { method, path, headers: Vec::new(), body: Vec::new(), weight: 1.0, status: None }
    }

    /// Method and path for messages: `GET /posts?page=2`.
    pub fn in_words(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether it asks for a compressed answer, which k6 unpacks before the answer can be checked.
    pub fn wants_packed(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"))
    }

    /// Whether it can be repeated a thousand times without changing anything, by its method.
    pub fn is_safe(&self) -> bool {
        is_safe(&self.method)
    }
}

/// Whether this method is safe (RFC 9110, section 9.2.1).
pub fn is_safe(method: &str) -> bool {
    ["GET", "HEAD", "OPTIONS"].contains(&method)
}

/// Checks that a duel can send this method. An error lists the known ones.
pub fn check_method(text: &str) -> Result<(), String> {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
    if KNOWN.contains(&text) {
        return Ok(());
    }
    let capitals = text.to_ascii_uppercase();
    if KNOWN.contains(&capitals.as_str()) {
        return Err(format!("`{text}`: methods are written in capitals: {capitals}"));
    }
    Err(format!("`{text}` is no method that can be asked: {}", KNOWN.join(", ")))
}

/// Turns a path or a whole URL into a path that can be sent, and percent-encodes what may not stand in it.
pub fn clean_path(text: &str) -> Result<String, String> {
    let (path, is_url) = match text.split_once("://") {
        Some((scheme, rest)) if ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) => {
            let start = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            if start == 0 {
                return Err(format!("`{}` has no host", shortened(text)));
            }
            // The host is left out, but a broken one is a sign of a mistake in the rest.
            if rest[..start].parse::<http::uri::Authority>().is_err() {
                return Err(format!("`{}` has no host that could be asked", shortened(text)));
            }
            (&rest[start..], true)
        }
        _ => (text, false),
    };
    // A fragment is for the browser; a URL may omit the slash of its path.
    let path = path.split('#').next().unwrap_or_default();
    let path = if is_url && !path.starts_with('/') { format!("/{path}") } else { path.to_owned() };
    if !path.starts_with('/') {
        let is_simple = !path.is_empty() && !path.contains(':');
        let right = if is_simple { format!("/{}", shortened(&path)) } else { "/posts?page=2".to_owned() };
        return Err(format!("`{}` is no path: it begins with /, as in {right}, or is a URL", shortened(text)));
    }
    let path = encoded(&path);
    if path.len() > PATH_BYTES_MAX {
        return Err(format!("a path of {} bytes: servers take at most {PATH_BYTES_MAX}", path.len()));
    }
    Ok(path)
}

fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=%".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The first 80 characters with escapes, for messages.
pub fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().count() <= MOST {
        return text.escape_debug().to_string();
    }
    let start: String = text.chars().take(MOST).collect();
    format!("{} …", start.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls_become_paths() {
        let clean = |text: &str| clean_path(text).unwrap();
        assert_eq!(clean("/a?b=1"), "/a?b=1");
        assert_eq!(clean("http://localhost:3000/a?b=1#top"), "/a?b=1");
        assert_eq!(clean("https://shop.example"), "/");
        assert_eq!(clean("https://shop.example?q=1"), "/?q=1");
        assert_eq!(clean("/a b/ü\"<"), "/a%20b/%C3%BC%22%3C");
        assert_eq!(clean("/100%25"), "/100%25");
        assert_eq!(clean("/go?to=http://x/y"), "/go?to=http://x/y");
    }

    #[test]
    fn what_is_no_path_is_refused_with_what_would_be() {
        assert!(clean_path("about-us").unwrap_err().contains("begins with /, as in /about-us, or is a URL"));
        assert!(clean_path("localhost:3000/a").unwrap_err().contains("as in /posts?page=2, or is a URL"));
        assert!(clean_path("").unwrap_err().contains("no path"));
        assert!(clean_path("http:///a").unwrap_err().contains("no host"));
        for broken in ["http://[::1", "http://[::1/a", "http://a b/c"] {
            assert!(clean_path(broken).unwrap_err().contains("no host that could be asked"), "{broken}");
        }
        assert_eq!(clean_path("http://[::1]:3000/a").unwrap(), "/a");
        assert!(clean_path("#x").is_err() && clean_path("ftp://x/y").is_err());
        assert!(clean_path(&format!("/{}", "x".repeat(9000))).unwrap_err().contains("at most"));
    }

    #[test]
    fn methods_are_known_or_refused() {
        assert!(check_method("PATCH").is_ok());
        assert!(check_method("get").unwrap_err().contains("GET"));
        assert!(check_method("CONNECT").unwrap_err().contains("POST"));
        assert!(is_safe("HEAD") && !is_safe("POST"));
    }

    #[test]
    fn long_text_is_shortened_between_characters() {
        assert_eq!(shortened("a\nb"), "a\\nb");
        assert_eq!(shortened(&"ü".repeat(200)).chars().count(), 82);
    }
}
