//! Parses a workload written by the user: `/a`, `GET /b?x=1*3`, `POST /orders body=@order.json type=application/json`;
//! from the command line or from a file with one request per line.

use std::path::Path;

use super::bounded;
use super::request::{DuelRequest, check_method, clean_path, shortened};

/// Largest request body; larger ones would measure the network.
const BODY_BYTES_MAX: u64 = 16 << 20;
/// Largest file of requests.
const LIST_BYTES_MAX: u64 = 16 << 20;
/// Form of a request, quoted in error messages.
const FORM: &str = "[METHOD] PATH[*WEIGHT] [body=TEXT or body=@FILE] [type=TYPE] [header=NAME:VALUE] [status=NUMBER]";

/// Parses requests of the command line, one per word. Body files are looked up in `folder`. Returns all errors at once.
pub fn from_words(words: &[String], folder: &Path) -> Result<Vec<DuelRequest>, Vec<String>> {
    let named = words.iter().map(|word| (format!("`{}`", shortened(word)), word.as_str()));
    gather(named, folder)
}

/// Parses a file with one request per line; empty lines and lines that begin with # do not count. Body files are looked
/// up beside it. Returns all errors at once, each with its line number.
pub fn from_file(path: &Path) -> Result<Vec<DuelRequest>, Vec<String>> {
    let bytes = bounded::file(path, "the requests in", LIST_BYTES_MAX).map_err(|error| vec![error])?;
    let text = String::from_utf8(bytes)
        .map_err(|error| vec![format!("cannot read the requests in {}: {error}", path.display())])?;
    from_text(&text, &path.display().to_string(), path.parent().unwrap_or(Path::new(".")))
}

fn from_text(text: &str, name: &str, folder: &Path) -> Result<Vec<DuelRequest>, Vec<String>> {
    let lines = text.lines().enumerate().map(|(at, line)| (format!("{name}:{}", at + 1), line.trim()));
    let asked = gather(lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')), folder)?;
    if asked.is_empty() {
        return Err(vec![format!("{name} holds no request: write one on each line, such as GET /")]);
    }
    Ok(asked)
}

fn gather<'a>(lines: impl Iterator<Item = (String, &'a str)>, folder: &Path) -> Result<Vec<DuelRequest>, Vec<String>> {
    let mut asked = Vec::new();
    let mut errors = Vec::new();
    for (place, line) in lines {
        match read(line, folder) {
            Ok(one) => asked.push(one),
            Err(error) => errors.push(format!("{place}: {error}")),
        }
    }
    if errors.is_empty() { Ok(asked) } else { Err(errors) }
}

/// Parses one request in the form of [`FORM`].
fn read(line: &str, folder: &Path) -> Result<DuelRequest, String> {
    let all = words(line)?;
    let mut words = all.iter().map(String::as_str).peekable();
    let first = *words.peek().ok_or_else(|| format!("nothing is asked: write {FORM}"))?;
    let has_method = first.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_target = |word: &String| word.starts_with('/') || word.contains("://");
    if has_method && check_method(first).is_err() && !all.get(1).is_some_and(is_target) {
        let word = shortened(first);
        return Err(format!(
            "`{word}` is neither a method in capitals, such as GET, nor a path, which begins with /: write /{word}"
        ));
    }
    let method = if has_method { words.next().unwrap_or("GET") } else { "GET" };
    check_method(method)?;
    let target = words.next().ok_or_else(|| format!("no path after {method}: write {FORM}"))?;
    let (target, weight) = weighed(target)?;
    let mut asked = DuelRequest { weight, ..DuelRequest::new(method, &clean_path(target)?) };
    for word in words {
        add(&mut asked, word, folder)?;
    }
    if asked.is_safe() && !asked.body.is_empty() {
        return Err(format!("{method} carries no body: leave body= out, or write POST"));
    }
    Ok(asked)
}

/// Splits a path from its weight (`/a*3`). The asterisk of a path that ends like a weight is written as %2A.
fn weighed(target: &str) -> Result<(&str, f64), String> {
    let Some((path, weight)) = target.rsplit_once('*') else { return Ok((target, 1.0)) };
    let digits = weight.trim_start_matches(['.', '-']);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok((target, 1.0));
    }
    match weight.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e9 => Ok((path, number)),
        _ => Err(format!("a weight of `{weight}`: it is a number above 0, as in {path}*3 (write %2A for a plain *)")),
    }
}

fn add(asked: &mut DuelRequest, word: &str, folder: &Path) -> Result<(), String> {
    let unknown = || format!("`{}` is not understood: write {FORM}", shortened(word));
    let (name, value) = word.split_once('=').ok_or_else(unknown)?;
    match name {
        "body" => asked.body = body(value, folder)?,
        "type" => asked.headers.push(("content-type".to_owned(), header_value(value)?)),
        "header" => {
            let (name, value) = value.split_once(':').ok_or("a header is written header=NAME:VALUE")?;
            let is_name = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
            if !is_name {
                return Err(format!("`{}` is no name of a header: letters, digits and -", shortened(name)));
            }
            if ["connection", "content-length", "host", "transfer-encoding"].contains(&&*name.to_ascii_lowercase()) {
                return Err(format!("the header {name} is set by the load generator: leave it out"));
            }
            asked.headers.push((name.to_ascii_lowercase(), header_value(value.trim())?));
        }
        "status" => {
            let status = value.parse().ok().filter(|status| (200..500).contains(status));
            asked.status = Some(status.ok_or_else(|| format!("status={value}: it is a number from 200 to 499"))?);
        }
        _ => return Err(unknown()),
    }
    Ok(())
}

fn header_value(text: &str) -> Result<String, String> {
    if text.chars().all(|c| c == '\t' || (' '..='~').contains(&c)) {
        return Ok(text.to_owned());
    }
    Err(format!("`{}` cannot stand in a header: plain characters only", shortened(text)))
}

fn body(value: &str, folder: &Path) -> Result<Vec<u8>, String> {
    let Some(name) = value.strip_prefix('@') else { return Ok(value.as_bytes().to_vec()) };
    bounded::file(&folder.join(name), "the body", BODY_BYTES_MAX)
}

/// Splits a line at spaces; quotes of either kind keep spaces together.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("a {quote} is opened and not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn one(line: &str) -> Result<DuelRequest, String> {
        read(line, Path::new("."))
    }

    #[test]
    fn requests_are_read_in_their_short_and_long_form() {
        assert_eq!(one("/a").unwrap(), DuelRequest::new("GET", "/a"));
        assert_eq!(one("HEAD http://x:3000/a").unwrap(), DuelRequest::new("HEAD", "/a"));
        assert_eq!(one("/b?x=1*3").unwrap(), DuelRequest { weight: 3.0, ..DuelRequest::new("GET", "/b?x=1") });
        assert_eq!(one("/b*0.5").unwrap().weight, 0.5);
        assert_eq!(one("/files/*.rb").unwrap().path, "/files/*.rb");
        assert_eq!(one("/old status=404").unwrap().status, Some(404));
        let post = one("POST /c body='a b' type=text/plain header=\"X-Two: 2 words\"").unwrap();
        assert_eq!((post.body.as_slice(), post.headers.len()), (b"a b".as_slice(), 2));
        assert_eq!(post.headers[1], ("x-two".to_owned(), "2 words".to_owned()));
    }

    #[test]
    fn each_mistake_says_what_would_be_right() {
        let wrong = [
            ("", "nothing is asked"),
            ("GET", "no path after GET"),
            ("get /a", "in capitals: GET"),
            ("FETCH /a", "GET, HEAD"),
            ("GET a", "begins with /, as in /a"),
            ("about", "nor a path, which begins with /: write /about"),
            ("about status=404", "nor a path, which begins with /: write /about"),
            ("posts?page=2*3", "begins with /, as in /posts?page=2,"),
            ("/a*0", "above 0"),
            ("/a*-1", "above 0"),
            ("/a*3x", "above 0"),
            ("/a body=x", "write POST"),
            ("POST /a boody=x", "body=@FILE"),
            ("POST /a body", "body=@FILE"),
            ("POST /a body=@/no/such/file", "cannot read the body"),
            ("POST /a body=@/dev/zero", "cannot read the body /dev/zero: it is no plain file"),
            ("/a header=x", "NAME:VALUE"),
            ("/a header=Host:x", "leave it out"),
            ("/a header=é:x", "no name"),
            ("/a type=\u{7}", "plain characters"),
            ("/a status=500", "200 to 499"),
            ("/a 'x", "not closed"),
        ];
        for (line, part) in wrong {
            let error = one(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn a_file_has_comments_and_names_its_bad_lines() {
        let text = "# the shop\n\n  GET /a*2\n/b\n";
        let asked = from_text(text, "urls", Path::new(".")).unwrap();
        assert_eq!(asked.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["/a", "/b"]);
        let errors = from_text("/a\nb\n/c\nPUT\n", "urls", Path::new(".")).unwrap_err();
        assert_eq!(errors.len(), 2);
        assert!(errors[0].starts_with("urls:2: ") && errors[1].starts_with("urls:4: "), "{errors:?}");
        assert!(from_text("# none\n", "urls", Path::new(".")).unwrap_err()[0].contains("holds no request"));
    }

    #[test]
    fn bodies_come_from_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("order.json"), "{}").unwrap();
        let file = folder.path().join("urls");
        fs::write(&file, "POST /orders body=@order.json type=application/json\n").unwrap();
        assert_eq!(from_file(&file).unwrap()[0].body, b"{}");
        assert!(from_file(&folder.path().join("none")).unwrap_err()[0].contains("cannot read"));
        let words = ["/a".to_owned(), "x".to_owned()];
        assert!(from_words(&words, folder.path()).unwrap_err()[0].starts_with("`x`: "));
    }
}
