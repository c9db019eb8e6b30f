//! The part of query strings that the log shows, since they may contain secrets.

use std::str::FromStr;

/// The part of a query string that the log shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryLog {
    /// The whole query.
    Full,
    /// Nothing.
    None,
    /// The query without the values of parameters whose names contain one of these words, in any case.
    Filtered(Vec<String>),
}

/// The words that Rails filters from its log by default, and those for numbers of payment cards.
const WORDS: [&str; 12] =
    ["passw", "email", "secret", "token", "_key", "crypt", "salt", "certificate", "otp", "ssn", "cvv", "cvc"];
/// What the log shows in the place of a secret.
pub(crate) const FILTERED: &[u8] = b"[FILTERED]";

impl Default for QueryLog {
    fn default() -> QueryLog {
        QueryLog::Filtered(WORDS.map(str::to_owned).to_vec())
    }
}

impl FromStr for QueryLog {
    type Err = String;

    fn from_str(text: &str) -> Result<QueryLog, String> {
        let (mode, more) = text.split_once(':').map_or((text, None), |(mode, more)| (mode, Some(more)));
        let more: Option<Vec<&str>> = more.map(|more| more.split(',').map(str::trim).collect());
        match (mode, more) {
            ("full", None) => Ok(QueryLog::Full),
            ("none", None) => Ok(QueryLog::None),
            ("filtered", None) => Ok(QueryLog::default()),
            ("filtered", Some(more)) if !more.iter().any(|word| word.is_empty()) => {
                Ok(QueryLog::Filtered(WORDS.into_iter().chain(more).map(str::to_owned).collect()))
            }
            _ => Err("must be filtered, filtered:NAME,NAME, full or none".to_owned()),
        }
    }
}

impl QueryLog {
    /// Passes the visible part of a query to `show`, in pieces, with its question mark.
    pub(crate) fn show(&self, query: &[u8], mut show: impl FnMut(&[u8])) {
        let words = match self {
            QueryLog::None => return,
            QueryLog::Full => {
                show(b"?");
                return show(query);
            }
            QueryLog::Filtered(words) => words,
        };
        let mut mark: &[u8] = b"?";
        for pair in query.split_inclusive(|byte| *byte == b'&') {
            show(std::mem::take(&mut mark));
            let end = pair.len() - usize::from(pair.ends_with(b"&"));
            match secret(&pair[..end], words) {
                Some(start) => {
                    show(&pair[..start]);
                    show(FILTERED);
                    show(&pair[end..]);
                }
                None => show(pair),
            }
        }
        show(mark);
    }
}

/// Start of what must be hidden of a pair of name and value, up to its end. A semicolon is part of a name or value, or
/// separates two pairs as in Rack 2: so a name may begin behind it, and a secret does not end there.
fn secret(pair: &[u8], words: &[String]) -> Option<usize> {
    let (mut name, mut at) = (0, 0);
    for part in pair.split_inclusive(|byte| *byte == b';') {
        let equals = memchr::memchr(b'=', part).map(|equals| at + equals);
        if let Some(equals) = equals
            && is_secret(&pair[name..equals], words)
        {
            return Some(equals + 1);
        }
        at += part.len();
        if equals.is_some() {
            name = at;
        }
    }
    None
}

/// Whether the name of a parameter contains one of the words, in any case, even if percent-encoded.
fn is_secret(name: &[u8], words: &[String]) -> bool {
    let decoded = if name.contains(&b'%') { Some(decoded(name)) } else { None };
    let name = decoded.as_deref().unwrap_or(name);
    words.iter().any(|word| {
        let word = word.as_bytes();
        name.windows(word.len().max(1)).any(|part| part.eq_ignore_ascii_case(word))
    })
}

/// Decodes percent-encoding; invalid sequences stay as they are.
fn decoded(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, behind)) = rest.split_first() {
        // The parser of numbers takes a sign, too.
        let digits = behind.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                out.push(byte);
                rest = &behind[2..];
            }
            _ => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mode: &str, query: &str) -> String {
        let mut all = Vec::new();
        mode.parse::<QueryLog>().unwrap().show(query.as_bytes(), |piece| all.extend_from_slice(piece));
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn values_of_secrets_are_hidden_by_the_names_of_their_parameters() {
        for (query, wanted) in [
            ("", "?"),
            ("a=b&c", "?a=b&c"),
            ("token=abc", "?token=[FILTERED]"),
            ("a=1&user%5Bpassword%5D=x=y&b=2", "?a=1&user%5Bpassword%5D=[FILTERED]&b=2"),
            ("ACCESS_TOKEN=a;b=2&c=3", "?ACCESS_TOKEN=[FILTERED]&c=3"),
            ("a=1;b;c=2;token=d;e=3&f;g", "?a=1;b;c=2;token=[FILTERED]&f;g"),
            ("token;a=b", "?token;a=[FILTERED]"),
            // The value before a semicolon is no part of the next name.
            ("q=token;x=1", "?q=token;x=1"),
            (";=;", "?;=;"),
            ("%74%6Fken=a", "?%74%6Fken=[FILTERED]"),
            // Letters that could be digits of an encoding, without its sign.
            ("x%2Dsecret=a", "?x%2Dsecret=[FILTERED]"),
            ("api_key=&x", "?api_key=[FILTERED]&x"),
            ("token&token", "?token&token"),
            ("q=token", "?q=token"),
            ("card=4111", "?card=4111"),
            ("%zz=%&&==&", "?%zz=%&&==&"),
        ] {
            assert_eq!(shown("filtered", query), wanted, "{query}");
        }
        assert_eq!(
            shown("filtered:card, Pin", "card=4111&pin=1&token=2"),
            "?card=[FILTERED]&pin=[FILTERED]&token=[FILTERED]"
        );
        assert_eq!(shown("full", "token=abc"), "?token=abc");
        assert_eq!(shown("none", "token=abc"), "");
    }

    #[test]
    fn a_sign_is_no_digit_of_a_percent_encoding() {
        for (name, expected) in [("%41%+6%2b", "A%+6+"), ("%-1%", "%-1%"), ("%4", "%4"), ("%4g", "%4g")] {
            assert_eq!(decoded(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }

    #[test]
    fn other_modes_are_refused_with_what_would_be_right() {
        for text in ["", "all", "filtered:", "filtered:a,,b", "full:a", "none:", "Filtered"] {
            assert!(text.parse::<QueryLog>().is_err(), "{text}");
        }
    }
}
