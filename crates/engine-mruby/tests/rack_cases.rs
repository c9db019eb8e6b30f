//! Applications that use Rack and Roda, and requests to them with CRuby's answers (tests/rack_cases): those of the
//! embedded interpreter are the same. `bin/rack-cases` shows the percentages, and records the answers anew.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::{App, bytes_of, gems, settings};
use engine::{Fault, Input, Response};
use engine_mruby::Settings;
use http::{HeaderName, HeaderValue, Method};

/// Modification time of all files of an application, so that `last-modified` is the same everywhere.
const CHANGED: u64 = 1_704_164_645;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rack_cases")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, &copied).unwrap();
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(CHANGED);
            File::options().write(true).open(&copied).unwrap().set_modified(changed).unwrap();
        }
    }
}

/// Each line in quotation marks, with escapes for unprintable characters, as print.rb writes it.
fn quoted(bytes: &[u8]) -> Vec<String> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(quoted_line).collect()
}

fn quoted_line(line: &[u8]) -> String {
    let mut out = String::from("\"");
    let Ok(text) = std::str::from_utf8(line) else {
        line.iter().for_each(|byte| escape(&mut out, char::from(*byte), true));
        return out + "\"";
    };
    text.chars().for_each(|char| escape(&mut out, char, false));
    out + "\""
}

fn escape(out: &mut String, char: char, is_byte: bool) {
    match char {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '"' | '\\' => out.extend(['\\', char]),
        ' '..='~' => out.push(char),
        _ if is_byte || char.is_ascii() => write!(out, "\\x{:02x}", u32::from(char)).unwrap(),
        _ => out.push(char),
    }
}

fn unquoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text[1..text.len() - 1].bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next().unwrap() {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'x' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            other => out.push(other),
        }
    }
    out
}

/// Replaces texts that differ each time: the text behind each mask becomes a star, and is kept for later requests.
struct Masks {
    masks: Vec<String>,
    kept: HashMap<String, String>,
}

impl Masks {
    fn hide(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for mask in &self.masks {
            let mut hidden = String::new();
            let mut rest = text.as_str();
            let (name, stops) = mask.strip_suffix("...").map_or((mask.as_str(), " ;,\"'<>&\\"), |name| (name, ";\""));
            while let Some(at) = rest.find(name) {
                let (before, after) = rest.split_at(at + name.len());
                let ends = |char: char| stops.contains(char);
                let end = after.find(ends).unwrap_or(after.len());
                hidden.push_str(before);
                if end > 0 {
                    self.kept.insert(mask.clone(), after[..end].to_owned());
                    hidden.push('*');
                }
                rest = &after[end..];
            }
            hidden.push_str(rest);
            text = hidden;
        }
        text
    }

    fn fill(&self, text: &str) -> String {
        let fill = |text: String, (mask, kept): (&String, &String)| text.replace(&format!("{{{{{mask}}}}}"), kept);
        self.kept.iter().fold(text.to_owned(), fill)
    }
}

/// The cookies that answers have set so far.
#[derive(Default)]
struct Jar(Vec<(String, String)>);

impl Jar {
    fn take(&mut self, line: &str) {
        let mut parts = line.split(';').map(str::trim);
        let (name, value) = parts.next().and_then(|pair| pair.split_once('=')).unwrap();
        let gone = |part: &str| {
            let part = part.to_ascii_lowercase();
            part == "max-age=0" || part.starts_with("expires=thu, 01 jan 1970")
        };
        let is_gone = parts.any(gone);
        let held = self.0.iter_mut().find(|(held, _)| held == name);
        match held {
            _ if is_gone => self.0.retain(|(held, _)| held != name),
            Some(pair) => pair.1 = value.to_owned(),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
    }

    fn header(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }
}

/// An application under test.
struct Case {
    app: App,
    path: String,
    masks: Masks,
    jar: Jar,
}

impl Case {
    fn ask(&mut self, rows: &[&str]) -> Vec<String> {
        let (method, target) = rows[0].split_once(' ').unwrap();
        let mut request =
            engine::Request::sample(Method::from_bytes(method.as_bytes()).unwrap(), &self.masks.fill(target));
        let mut body = Vec::new();
        for row in &rows[1..] {
            if row.starts_with('"') {
                let part = String::from_utf8_lossy(&unquoted(row)).into_owned();
                let filled = self.masks.fill(&part);
                body.extend(if filled == part { unquoted(row) } else { filled.into_bytes() });
                continue;
            }
            let (name, value) = row.split_once(": ").unwrap();
            let value = if *row == "cookie: *" { self.jar.header() } else { self.masks.fill(value) };
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        if !body.is_empty() {
            request.headers.insert("content-length", HeaderValue::from(body.len()));
            request.input = Input::Memory(body.into());
        }
        // A body may raise before or after its head is sent, depending on its speed.
        let said = match self.app.call(request).result.and_then(|response| self.answer(response)) {
            Ok(said) => said,
            Err(Fault::App(error)) => {
                println!("{}: {} {}\n  {}", rows[0], error.class, error.message, error.backtrace.join("\n  "));
                vec![format!("! {}", error.class)]
            }
            Err(other) => vec![format!("! {other:?}")],
        };
        said.iter().map(|row| self.masks.hide(&row.replace(&self.path, "FOLDER"))).collect()
    }

    fn answer(&mut self, response: Response) -> Result<Vec<String>, Fault> {
        let mut said = vec![response.head.status.as_u16().to_string()];
        let mut names: Vec<&HeaderName> = response.head.headers.keys().collect();
        names.sort_by_key(|name| name.as_str().to_owned());
        for name in names {
            for value in response.head.headers.get_all(name) {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                if name == "set-cookie" {
                    self.jar.take(&value);
                }
                said.push(format!("{name}: {value}"));
            }
        }
        said.extend(quoted(&bytes_of(response.body)?));
        Ok(said)
    }
}

/// The number of requests in a folder, and those with other answers than on CRuby.
fn run(given: &Path) -> (usize, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    copy(given, place.path());
    std::os::unix::fs::symlink(gems(), place.path().join("vendor")).unwrap();
    let text = fs::read_to_string(given.join("cases.txt")).unwrap();
    let blocks: Vec<(Vec<&str>, Vec<&str>)> =
        text.split("\n\n").map(sides).filter(|(asked, _)| !asked.is_empty()).collect();
    let path = place.path().to_string_lossy().into_owned();
    let settings = Settings { interpreters: 1, memory_bytes: 128 << 20, ..settings() };
    let app = App::start(place, settings).unwrap_or_else(|error| panic!("does not load: {error}"));
    let masks = text.lines().filter_map(|line| line.strip_prefix("# mask ")).map(str::to_owned).collect();
    let mut case = Case { app, path, masks: Masks { masks, kept: HashMap::new() }, jar: Jar::default() };
    let mut differ = Vec::new();
    for (asked, expected) in &blocks {
        let said = case.ask(asked);
        if said != *expected {
            differ.push(format!("> {}\n{}", asked.join("\n> "), difference(expected, &said)));
        }
    }
    (blocks.len(), differ)
}

fn sides(block: &str) -> (Vec<&str>, Vec<&str>) {
    let side = |mark: &str| block.lines().filter_map(|line| line.strip_prefix(mark)).collect();
    (side("> "), side("< "))
}

fn difference(expected: &[&str], said: &[String]) -> String {
    let missing =
        expected.iter().filter(|row| !said.iter().any(|said| said == *row)).map(|row| format!("  CRuby: {row}"));
    let other = said.iter().filter(|row| !expected.contains(&row.as_str())).map(|row| format!("  here:  {row}"));
    let lines: Vec<String> = missing.chain(other).collect();
    if lines.is_empty() { format!("  the order:  {said:?}") } else { lines.join("\n") }
}

/// One test for each folder of cases.
macro_rules! folders {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let (count, differ) = run(&folder().join(stringify!($name)));
            println!("{}: {} of {count} agree with CRuby", stringify!($name), count - differ.len());
            assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
        })*
        const FOLDERS: &[&str] = &[$(stringify!($name)),*];
    };
}

folders! {
    rack_builder
    rack_encoding
    rack_errors
    rack_files
    rack_lint
    rack_middleware
    rack_multipart
    rack_request
    rack_response
    rack_sessions
    rack_urlmap
    rack_utils
    roda_answers
    roda_branches
    roda_headers
    roda_matchers
    roda_routing
    roda_sessions
    roda_views
    sinatra
    sinatra_classic
}

#[test]
fn every_folder_is_tested() {
    let folders = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|path| path.join("config.ru").is_file());
    let names = folders.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let mut missing: Vec<String> = names.filter(|name| !FOLDERS.contains(&name.as_str())).collect();
    missing.sort();
    assert!(missing.is_empty(), "add to folders!: {missing:?}");
}
