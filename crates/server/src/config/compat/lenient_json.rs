//! A parser of JSON as Passenger accepts it: with comments, with extra or missing commas, and with anything after the
//! end. Keeps the line of each top-level key.

use serde_json::{Map, Number, Value};

/// Deepest nesting that is accepted.
const DEPTH_MAX: usize = 64;

/// A top-level key.
#[derive(Debug, PartialEq)]
pub struct Entry {
    pub name: String,
    pub line: usize,
    pub value: Value,
}

/// The keys of an object, in their order. The error names the line.
pub fn read(text: &str) -> Result<Vec<Entry>, String> {
    let mut reader = Reader { text: text.strip_prefix('\u{feff}').unwrap_or(text), at: 0 };
    let outcome = reader.outermost();
    outcome.map_err(|why| format!("is not JSON, as Passenger takes it: line {}: {why}", reader.line()))
}

struct Reader<'a> {
    text: &'a str,
    /// Offset in bytes, between two characters.
    at: usize,
}

impl<'a> Reader<'a> {
    fn outermost(&mut self) -> Result<Vec<Entry>, String> {
        self.space()?;
        if !self.take('{') {
            return Err("must be an object: { \"port\": 3000 }".to_owned());
        }
        let mut entries = Vec::new();
        while !self.ends_with('}')? {
            let line = self.line();
            let (name, value) = self.pair(1)?;
            entries.retain(|entry: &Entry| entry.name != name);
            entries.push(Entry { name, line, value });
        }
        Ok(entries)
    }

    /// Whether a list or an object ends here. Skips commas between elements.
    fn ends_with(&mut self, end: char) -> Result<bool, String> {
        self.space()?;
        while self.take(',') {
            self.space()?;
        }
        if self.rest().is_empty() { Err(format!("the end is missing: {end}")) } else { Ok(self.take(end)) }
    }

    fn pair(&mut self, depth: usize) -> Result<(String, Value), String> {
        if !self.take('"') {
            return Err(format!("{} stands where the name of a setting must be, in double quotes", self.shown()));
        }
        let name = self.string()?;
        self.space()?;
        // Passenger accepts a missing colon.
        if self.take(':') {
            self.space()?;
        }
        Ok((name, self.value(depth)?))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err(format!("is nested deeper than {DEPTH_MAX} times"));
        }
        if self.take('{') {
            let mut map = Map::new();
            while !self.ends_with('}')? {
                let (name, value) = self.pair(depth + 1)?;
                map.insert(name, value);
            }
            return Ok(Value::Object(map));
        }
        if self.take('[') {
            let mut list = Vec::new();
            while !self.ends_with(']')? {
                list.push(self.value(depth + 1)?);
            }
            return Ok(Value::Array(list));
        }
        if self.take('"') {
            return self.string().map(Value::String);
        }
        for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.number()
    }

    fn number(&mut self) -> Result<Value, String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(rest.len());
        let number: Option<Number> = serde_json::from_str(&rest[..end]).ok();
        let Some(number) = number else {
            return Err(format!("{} stands where a value must be", self.shown()));
        };
        self.at += end;
        Ok(Value::Number(number))
    }

    /// The rest of a string, after its first double quote.
    fn string(&mut self) -> Result<String, String> {
        let mut out = String::new();
        loop {
            match self.next().ok_or("a text has no end: a double quote is missing")? {
                '"' => return Ok(out),
                '\\' => out.push(self.escaped()?),
                c => out.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        Ok(match self.next().ok_or("a text has no end")? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.code()?;
                let is_high = (0xD800..0xDC00).contains(&first) && self.rest().starts_with("\\u");
                let code = if is_high {
                    self.at += 2;
                    0x10000 + ((first - 0xD800) << 10) + (self.code()?.wrapping_sub(0xDC00) & 0x3FF)
                } else {
                    first
                };
                char::from_u32(code).ok_or("\\u is followed by no character")?
            }
            c => c,
        })
    }

    fn code(&mut self) -> Result<u32, String> {
        let digits = self.rest().get(..4).ok_or("\\u needs four digits")?;
        let code = u32::from_str_radix(digits, 16).map_err(|_| "\\u needs four digits".to_owned())?;
        self.at += 4;
        Ok(code)
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest().trim_start();
            self.at = self.text.len() - rest.len();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.at += "/*".len() + comment.find("*/").ok_or("a comment has no end: */ is missing")? + "*/".len();
            } else {
                return Ok(());
            }
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.rest().starts_with(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }

    /// The next word, for messages.
    fn shown(&self) -> String {
        self.rest().split_whitespace().next().map_or("nothing".to_owned(), |word| {
            let short: String = word.chars().take(20).collect();
            format!("\"{short}\"").replace("\"\"", "\"")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(text: &str) -> Value {
        Value::Object(read(text).unwrap().into_iter().map(|entry| (entry.name, entry.value)).collect())
    }

    #[test]
    fn comments_and_commas_are_where_people_leave_them() {
        let text = "// first\n{\n  /* two\n  lines */ \"port\": 3000, // a port\n  \"list\": [1, 2 /* , 9 */, 3,],\n  \
                    \"envvars\": { \"A\": \"x // y\" \"B\": \"\\u00e9\\n\\ud83d\\ude00\" },\n  \"on\"  true ,\n}\nrest";
        let expected =
            json!({ "port": 3000, "list": [1, 2, 3], "envvars": { "A": "x // y", "B": "é\n😀" }, "on": true });
        assert_eq!(values(text), expected);
        let lines: Vec<_> = read(text).unwrap().into_iter().map(|entry| (entry.name, entry.line)).collect();
        let named = |name: &str, line| (name.to_owned(), line);
        assert_eq!(lines, [named("port", 4), named("list", 5), named("envvars", 6), named("on", 7)]);
    }

    #[test]
    fn what_comes_twice_counts_once() {
        assert_eq!(read("{\"a\": 1, \"b\": null, \"a\": -2.5e1}").unwrap().len(), 2);
        assert_eq!(values("{\"a\": 1, \"a\": -2.5e1}"), json!({ "a": -25.0 }));
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        for (text, words) in [
            ("", "line 1: must be an object"),
            ("[1]", "line 1: must be an object"),
            ("{\n", "line 2: the end is missing: }"),
            ("{\n\"a\": }", "line 2: \"}\" stands where a value must be"),
            ("{\nport: 1}", "line 2: \"port:\" stands where the name"),
            ("{\"a\": \"x}", "line 1: a text has no end"),
            ("{ /* \n", "a comment has no end"),
            ("{\"a\": \"\\uzzzz\"}", "four digits"),
            ("{\"a\": \"\\udc00\"}", "no character"),
            ("{ # x\n}", "line 1: \"#\" stands where the name"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let deep = format!("{{\"a\": {}", "[".repeat(100_000));
        assert!(read(&deep).unwrap_err().contains("nested"));
    }
}
