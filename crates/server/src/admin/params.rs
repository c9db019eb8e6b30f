//! Parameters of a control API request, from its query or from a JSON object in its body.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::suggest::nearest;

/// Names and values; all values as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// Parses query and body; the error says what would be right.
    pub fn read(query: &str, body: &[u8]) -> Result<Params, String> {
        let mut params = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            params.insert(decoded(name)?, decoded(value)?);
        }
        if body.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let object = serde_json::from_slice(body);
            let Ok(Value::Object(object)) = object else {
                let why = object.err().map(|error| format!(" ({error})")).unwrap_or_default();
                return Err(format!("the body must be a JSON object, such as {{\"app\":\"shop\"}}{why}"));
            };
            for (name, value) in object {
                let value = match value {
                    Value::String(text) => text,
                    Value::Number(number) => number.to_string(),
                    Value::Bool(truth) => truth.to_string(),
                    Value::Null => continue,
                    _ => return Err(format!("{name}: must be text, a number, true or false")),
                };
                params.insert(name, value);
            }
        }
        Ok(Params(params))
    }

    /// Refuses unknown names.
    pub fn only(&self, known: &[&str]) -> Result<(), String> {
        let Some(name) = self.0.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
        let right = match (nearest(name, known.iter().copied()), known) {
            (Some(near), _) => format!("{near} is the nearest"),
            (None, []) => "there are none here".to_owned(),
            (None, _) => format!("there are {}", known.join(", ")),
        };
        Err(format!("{name}: there is no such parameter; {right}"))
    }

    /// A parameter as it was sent.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A parameter as a whole number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("{name}: {text:?} must be a whole number"));
        self.text(name).map(number).transpose()
    }

    /// A parameter as a boolean; absent is false.
    pub fn is(&self, name: &str) -> Result<bool, String> {
        match self.text(name) {
            Some("true" | "yes" | "1") => Ok(true),
            None | Some("false" | "no" | "0") => Ok(false),
            Some(other) => Err(format!("{name}: {other:?} must be true or false")),
        }
    }

    /// Sets a parameter that is part of the path.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }
}

/// Decodes `%41` and `+`.
fn decoded(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} in the query is not rightly written: % must be followed by two digits, as in %20");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else { return Err(wrong()) };
                u8::try_from(high * 16 + low).map_err(|_| wrong())?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_and_body_say_the_same_things() {
        let query = Params::read("app=my%20shop&now&min=2", b"").unwrap();
        let body = Params::read("", br#" {"app":"my shop","now":true,"min":2,"max":null}"#).unwrap();
        assert_eq!(query, body);
        assert_eq!((query.number("min"), query.is("now")), (Ok(Some(2)), Ok(true)));
        assert_eq!((query.number("max"), query.is("json")), (Ok(None), Ok(false)));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_would_be_right() {
        let error = |query: &str, body: &[u8]| Params::read(query, body).unwrap_err();
        assert!(error("", b"[1]").contains("JSON object"));
        assert!(error("", b"{").contains("EOF"));
        assert!(error("", br#"{"app":[]}"#).contains("app: must be text"));
        assert!(error("a=%4", b"").contains("%20"));
        let params = Params::read("ap=x&min=two", b"").unwrap();
        assert!(params.only(&["app", "min"]).unwrap_err().contains("app is the nearest"));
        assert!(params.only(&[]).unwrap_err().contains("none here"));
        assert!(params.number("min").unwrap_err().contains("whole number"));
        assert!(params.is("min").is_err());
    }
}
