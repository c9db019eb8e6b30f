//! The statements of a line of Ruby that load other code: those that run for certain, and those that may.

/// What is required by its name.
#[derive(Debug, PartialEq, Eq)]
pub enum Required {
    Library(String),
    /// With `require_relative`.
    Beside(String),
}

/// What may be required.
#[derive(Debug, PartialEq, Eq)]
pub enum Possible {
    Named(Required),
    /// By code, with these words in quotes; none where the code is more than a path.
    Computed(Vec<String>),
}

/// Methods that load code.
const LOADERS: [&str; 4] = ["require", "require_relative", "load", "autoload"];

/// In code that makes a path of words in quotes.
const PATH_WORDS: [&str; 10] =
    ["File", "expand_path", "join", "dirname", "__FILE__", "__dir__", "Dir", "pwd", "Pathname", "new"];

/// What a line requires for certain, and the rest of it; several statements may stand in it.
pub fn certain(line: &str) -> (Vec<Required>, &str) {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((required, after)) = first_required(rest) {
        found.push(required);
        rest = after;
    }
    (found, rest)
}

/// The statement that a text begins with, and what follows it.
fn first_required(text: &str) -> Option<(Required, &str)> {
    let (is_beside, rest) = match text.strip_prefix("require_relative") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("require")?),
    };
    if !rest.starts_with([' ', '\t', '(', '"', '\'']) {
        return None;
    }
    let (name, rest) = literal(rest.trim_start().trim_start_matches('(').trim_start())?;
    let rest = rest.trim_start().trim_start_matches(')').trim_start();
    // With a condition or a rescue behind it, it may be left out.
    if !(rest.is_empty() || rest.starts_with(['#', ';'])) {
        return None;
    }
    Some((named(is_beside, name), rest.trim_start_matches([';', ' '])))
}

fn named(is_beside: bool, name: &str) -> Required {
    if is_beside { Required::Beside(name.to_owned()) } else { Required::Library(name.to_owned()) }
}

/// The text in quotes that this begins with, and what follows. One with code in it is not known here.
fn literal(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, rest) = text[1..].split_once(quote)?;
    (!name.is_empty() && !name.contains(['#', '\\'])).then_some((name, rest))
}

/// What a line may require: in blocks, under conditions, by computed names.
pub fn possible(line: &str) -> Vec<Possible> {
    words(line).into_iter().filter_map(|(word, rest)| by_loader(word, rest)).collect()
}

fn by_loader(word: &str, rest: &str) -> Option<Possible> {
    let argument = rest.trim_start().trim_start_matches('(').trim_start();
    // A method of that name, an assignment, a key.
    if argument.starts_with('=') || (rest.starts_with(':') && !rest.starts_with("::")) {
        return None;
    }
    let argument = match word {
        // autoload :Name, "file"
        "autoload" => argument.split_once(',')?.1.trim_start(),
        _ => argument,
    };
    // `&method(:require)` and the like.
    if argument.is_empty() || argument.starts_with(')') {
        return Some(Possible::Computed(Vec::new()));
    }
    let is_beside = word == "require_relative";
    if let Some((name, after)) = literal(argument) {
        let after = after.trim_start().trim_start_matches(')').trim_start();
        if !after.starts_with(['+', '%', '.']) {
            // What `load` takes has its suffix, and begins at the current folder, too.
            let name = if word == "load" && !name.starts_with(['/', '.']) { format!("./{name}") } else { name.into() };
            return Some(Possible::Named(named(is_beside, &name)));
        }
    }
    Some(Possible::Computed(path_words(argument)))
}

/// The words in quotes of code that makes a path of nothing else.
fn path_words(code: &str) -> Vec<String> {
    let code =
        code.match_indices(" #").find(|(at, _)| !code[at + 2..].starts_with('{')).map_or(code, |(at, _)| &code[..at]);
    let end = code.find([';', '{']).filter(|at| !code[..*at].ends_with('#')).unwrap_or(code.len());
    let code = &code[..end];
    let code = code.split(" if ").next().and_then(|code| code.split(" unless ").next()).unwrap_or(code);
    let parts: Vec<&str> = code.split(['"', '\'']).collect();
    let is_plain = parts.iter().step_by(2).flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let quoted = || parts.iter().skip(1).step_by(2);
    let has_code = quoted().any(|word| word.replace("#{__dir__}", "").contains("#{"));
    if has_code || is_plain.clone().any(|word| !word.is_empty() && !PATH_WORDS.contains(&word)) {
        return Vec::new();
    }
    quoted().map(|word| (*word).to_owned()).collect()
}

/// The names of loaders outside of texts and comments, each with what follows it.
fn words(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let (mut quote, mut before, mut at) = (None, ' ', 0);
    while let Some(c) = line[at..].chars().next() {
        let next = at + c.len_utf8();
        match (quote, c) {
            (Some(_), '\\') => at = next + line[next..].chars().next().map_or(0, char::len_utf8),
            (Some(end), c) => {
                quote = Some(end).filter(|end| *end != c);
                at = next;
            }
            (None, '#') if before.is_whitespace() => break,
            (None, '"' | '\'' | '`') => {
                quote = Some(c);
                at = next;
            }
            (None, c) if c.is_alphabetic() || c == '_' => {
                let rest = &line[at..];
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '?' || c == '!'));
                let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
                let is_method = before != '.' && before != '@' && before != '$' && !is_defined(&line[..at]);
                if LOADERS.contains(&word) && is_method {
                    found.push((word, rest));
                }
                at += word.len();
            }
            (None, _) => at = next,
        }
        before = line[..at].chars().next_back().unwrap_or(' ');
    }
    found
}

/// `def load` defines a method, and `:load` is a symbol, unless it is handed on as one: `&method(:require)`.
fn is_defined(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with("def") || (before.ends_with(':') && !before.ends_with("method(:") && !before.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_required_is_seen_wherever_it_stands() {
        let library = |name: &str| vec![Possible::Named(Required::Library(name.to_owned()))];
        let computed = |words: &[&str]| vec![Possible::Computed(words.iter().map(|word| (*word).to_owned()).collect())];
        for (line, expected) in [
            ("  require \"roda\"", library("roda")),
            ("require 'roda' if ENV['X'] # maybe", library("roda")),
            ("begin; require(\"roda\") ; rescue LoadError; end", library("roda")),
            ("autoload :Roda, \"roda\"", library("roda")),
            ("load \"tasks.rb\"", library("./tasks.rb")),
            ("  require_relative 'b'", vec![Possible::Named(Required::Beside("b".to_owned()))]),
            ("require name", computed(&[])),
            ("require \"roda/#{kind}\"", computed(&[])),
            ("require 'roda/' + kind", computed(&[])),
            ("Dir['lib/*.rb'].each { |file| require file }", computed(&[])),
            ("Dir['lib/*.rb'].each(&method(:require))", computed(&[])),
            ("require File.expand_path('../app', __FILE__)", computed(&["../app"])),
            ("require File.join(File.dirname(__FILE__), 'lib', 'app') # it", computed(&["lib", "app"])),
            ("require \"#{__dir__}/app\"", computed(&["#{__dir__}/app"])),
            ("require __dir__ + '/app'", computed(&["/app"])),
            ("require_relative File.join('..', 'app')", computed(&["..", "app"])),
        ] {
            assert_eq!(possible(line), expected, "{line}");
        }
        for line in [
            "",
            "# require \"roda\"",
            "x = \"require 'roda'\"",
            "params.require(:user)",
            "def require(name)",
            "def load",
            "required \"roda\"",
            "rule :require",
            "load = 3",
            "{ load: 3 }",
            "YAML.load File.read('x') # load",
        ] {
            assert_eq!(possible(line), [], "{line}");
        }
    }
}
