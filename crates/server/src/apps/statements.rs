//! Finds the statements in a line of Ruby that load other code: those that certainly run, and those that may.

/// A file that is required by name.
#[derive(Debug, PartialEq, Eq)]
pub enum Required {
    Library(String),
    /// By `require_relative`.
    Beside(String),
}

/// A file that may be required.
#[derive(Debug, PartialEq, Eq)]
pub enum Possible {
    Named(Required),
    /// By an expression with these quoted words; empty if it is more than a path.
    Computed(Vec<String>),
}

/// Methods that load code.
const LOADERS: [&str; 4] = ["require", "require_relative", "load", "autoload"];

/// Methods of Kernel that the embedded interpreter lacks.
const RUBYS_METHODS: [&str; 6] = ["fork", "spawn", "system", "exec", "trap", "syscall"];

/// Ruby's constants, and those of their methods that the embedded interpreter lacks; an empty list is all.
const RUBYS_CONSTANTS: [(&str, &[&str]); 24] = [
    ("Thread", &["new", "start", "fork"]),
    ("Process", &["fork", "spawn", "daemon", "detach", "kill", "wait", "wait2", "waitpid", "setproctitle"]),
    ("GC", &["stat", "count", "compact", "stress"]),
    ("Kernel", &["fork", "spawn", "system", "exec", "trap", "sleep"]),
    ("IO", &["popen", "pipe", "select", "write", "binwrite"]),
    ("File", &["write", "binwrite", "delete", "unlink", "rename", "symlink", "chmod", "mkfifo", "WRONLY", "RDWR"]),
    ("Dir", &["mkdir", "rmdir", "mktmpdir", "unlink", "chdir"]),
    ("ObjectSpace", &["each_object", "count_objects"]),
    ("FileUtils", &[]),
    ("Signal", &[]),
    ("Ractor", &[]),
    ("Socket", &[]),
    ("TCPSocket", &[]),
    ("TCPServer", &[]),
    ("UDPSocket", &[]),
    ("UNIXSocket", &[]),
    ("UNIXServer", &[]),
    ("Open3", &[]),
    ("OpenSSL", &["PKey", "OCSP", "BN"]),
    ("PTY", &[]),
    ("Etc", &["getpwuid", "getpwnam", "getgrgid", "getgrnam"]),
    ("YAML", &["dump"]),
    ("TracePoint", &[]),
    ("RubyVM", &[]),
];

/// Names in Rack that the embedded interpreter has without the gem. Other servers load the whole gem before the
/// application.
const EMBEDDED_RACK: [&str; 4] = ["Builder", "URLMap", "RELEASE", "release"];

/// Keys by which an application takes a connection over, as they stand in code.
const HIJACKS: [&str; 2] = ["'rack.hijack'", "\"rack.hijack\""];

/// Number of characters after a method's name in which the mode of a file is looked for: a line may have a megabyte,
/// and very many such calls.
const MODE_CHARS: usize = 200;

/// Words in an expression that joins quoted words to a path.
const PATH_WORDS: [&str; 10] =
    ["File", "expand_path", "join", "dirname", "__FILE__", "__dir__", "Dir", "pwd", "Pathname", "new"];

/// The files that a line certainly requires, and the rest of the line; a line may have several statements.
pub fn certain(line: &str) -> (Vec<Required>, &str) {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((required, after)) = first_required(rest) {
        found.push(required);
        rest = after;
    }
    (found, rest)
}

/// The require at the beginning of a text, and the rest.
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
    // With a condition or a rescue behind it, it may not run.
    if !(rest.is_empty() || rest.starts_with(['#', ';'])) {
        return None;
    }
    Some((named(is_beside, name), rest.trim_start_matches([';', ' '])))
}

fn named(is_beside: bool, name: &str) -> Required {
    if is_beside { Required::Beside(name.to_owned()) } else { Required::Library(name.to_owned()) }
}

/// The quoted text at the beginning, and the rest; `None` if it contains code.
fn literal(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, rest) = text[1..].split_once(quote)?;
    (!name.is_empty() && !name.contains(['#', '\\'])).then_some((name, rest))
}

/// Files that a line may require: in blocks, under conditions, by computed names.
pub fn possible(line: &str) -> Vec<Possible> {
    let mut loaders = words(line).0;
    loaders.retain(|word| LOADERS.contains(&word.text) && word.is_method);
    // The argument of each ends at the next at the latest: to look through the whole rest would take quadratic time.
    let ends = loaders.iter().skip(1).map(|next| next.text.len() + next.rest.len()).chain([0]);
    let calls = loaders.iter().zip(ends).map(|(word, end)| (word.text, &word.rest[..word.rest.len() - end]));
    calls.filter_map(|(word, rest)| by_loader(word, rest)).collect()
}

/// Something in a line that only Ruby has, as a text; a guess, since an object of the application may have the name.
pub fn only_ruby(line: &str) -> Option<String> {
    let (words, has_command) = words(line);
    let found = words.iter().find_map(|word| {
        let is_call = word.rest.starts_with(['(', ' ', ';']) || word.rest.is_empty();
        let argument = word.rest.trim_start();
        let is_assigned = argument.starts_with('=') && !argument.starts_with("==");
        if word.is_method && is_call && !is_assigned && RUBYS_METHODS.contains(&word.text) {
            // Without an argument it may be a variable, which may be compared.
            let has_one = !argument.is_empty()
                && !argument.starts_with([')', ',', '.', '&', '|', '?', '}', ']', ';', '='])
                && !["!=", "!~", "< ", "> ", "<=", ">="].iter().any(|operator| argument.starts_with(operator));
            return (has_one || word.text == "fork").then(|| word.text.to_owned());
        }
        if !word.is_constant {
            return None;
        }
        let method = word.rest.strip_prefix('.').or_else(|| word.rest.strip_prefix("::"))?;
        let end = method.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(method.len());
        let (name, arguments) = method.split_at(end);
        let shown = &word.rest[..word.rest.len() - arguments.len()];
        is_lacking(word.text, name, arguments).then(|| format!("{}{shown}", word.text))
    });
    let hijack = || {
        let is_there = !line.trim_start().starts_with('#') && HIJACKS.into_iter().any(|key| line.contains(key));
        is_there.then(|| "rack.hijack".to_owned())
    };
    found.or_else(|| has_command.then(|| "a command in backticks".to_owned())).or_else(hijack)
}

/// Whether the embedded interpreter lacks a method or a constant of this constant.
fn is_lacking(constant: &str, name: &str, arguments: &str) -> bool {
    match constant {
        "Rack" => !EMBEDDED_RACK.contains(&name),
        "File" | "CSV" if matches!(name, "open" | "new") => opens_to_write(arguments),
        _ => {
            let listed = RUBYS_CONSTANTS.iter().find(|(other, _)| *other == constant);
            listed.is_some_and(|(_, names)| names.is_empty() || names.contains(&name))
        }
    }
}

/// Whether one of the quoted words is the mode of a file that is opened for writing, such as "a+" or "w:utf-8".
fn opens_to_write(arguments: &str) -> bool {
    let end = arguments.char_indices().nth(MODE_CHARS).map_or(arguments.len(), |(at, _)| at);
    arguments[..end].split(['"', '\'']).skip(1).step_by(2).any(|word| {
        let mode = word.split(':').next().unwrap_or_default();
        ["w", "a", "w+", "a+", "r+", "wb", "ab", "wb+", "ab+", "rb+", "w+b", "a+b", "r+b", "wt", "at"].contains(&mode)
    })
}

fn by_loader(word: &str, rest: &str) -> Option<Possible> {
    let argument = rest.trim_start().trim_start_matches('(').trim_start();
    // A method of that name, an assignment, a variable, or a key.
    if argument.starts_with(['=', '}']) || (rest.starts_with(':') && !rest.starts_with("::")) {
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
            // The argument of `load` has its suffix, and may start at the current folder.
            let name = if word == "load" && !name.starts_with(['/', '.']) { format!("./{name}") } else { name.into() };
            return Some(Possible::Named(named(is_beside, &name)));
        }
    }
    Some(Possible::Computed(path_words(argument)))
}

/// The quoted words of an expression that does nothing but make a path.
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

/// A name in a line of code.
struct Word<'a> {
    text: &'a str,
    /// The rest of the line.
    rest: &'a str,
    /// Whether it may be a method of the object itself, by the character before it.
    is_method: bool,
    /// Whether it may be a constant that is looked up from the top level.
    is_constant: bool,
}

/// All names outside of comments and of the text of strings, and whether there is a command, in backticks or `%x`.
fn words(line: &str) -> (Vec<Word<'_>>, bool) {
    let mut found = Vec::new();
    let mut has_command = false;
    let (mut quote, mut before, mut at) = (None, ' ', 0);
    // Strings in which code is inserted here, each with the number of braces that are open in that code.
    let mut outer: Vec<(char, usize)> = Vec::new();
    while let Some(c) = line[at..].chars().next() {
        let next = at + c.len_utf8();
        match (quote, c) {
            (Some(_), '\\') => at = next + line[next..].chars().next().map_or(0, char::len_utf8),
            (Some(end @ ('"' | '`')), '#') if line[next..].starts_with('{') => {
                outer.push((end, 0));
                quote = None;
                at = next + 1;
            }
            (Some(end), c) => {
                quote = Some(end).filter(|end| *end != c);
                at = next;
            }
            (None, '#') if before.is_whitespace() => break,
            (None, '%') if !(before.is_alphanumeric() || matches!(before, '_' | ')' | ']' | '}')) => {
                at = next + literal_len(&line[next..]);
            }
            (None, '"' | '\'' | '`') => {
                has_command |= c == '`' && before != ':' && before != '.' && line[next..].contains('`');
                quote = Some(c);
                at = next;
            }
            (None, '{' | '}') => {
                match outer.pop() {
                    Some((end, 0)) if c == '}' => quote = Some(end),
                    Some((end, open)) => outer.push((end, if c == '{' { open + 1 } else { open - 1 })),
                    None => {}
                }
                at = next;
            }
            (None, c) if c.is_alphabetic() || c == '_' => {
                let rest = &line[at..];
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '?' || c == '!'));
                let (text, rest) = rest.split_at(end.unwrap_or(rest.len()));
                let is_method = before != '.' && before != '@' && before != '$' && !is_defined(&line[..at]);
                has_command |= text == "x" && before == '%' && rest.starts_with(['(', '{', '[', '|', '/']);
                found.push(Word { text, rest, is_method, is_constant: is_top(&line[..at]) });
                at += text.len();
            }
            (None, _) => at = next,
        }
        before = line[..at].chars().next_back().unwrap_or(' ');
    }
    (found, has_command)
}

/// Length of a literal in which nothing is code, as in `%w[fork exec]`, from the letter after the percent sign on; zero
/// if none begins there. One that does not end in this line takes the rest of it.
fn literal_len(text: &str) -> usize {
    let mut chars = text.char_indices();
    let is_plain = chars.next().is_some_and(|(_, kind)| matches!(kind, 'w' | 'i' | 'q'));
    let Some((_, open)) = chars.next().filter(|_| is_plain) else { return 0 };
    let end = match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        '|' | '/' | '!' => open,
        _ => return 0,
    };
    let mut depth = 0;
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == end && depth == 0 {
            return at + c.len_utf8();
        } else if c == end {
            depth -= 1;
        } else if c == open {
            depth += 1;
        }
    }
    text.len()
}

/// Whether a constant after this text is looked up from the top level: `Socket` and `::Socket`, but not `My::Socket`.
fn is_top(before: &str) -> bool {
    let before = before.strip_suffix("::").unwrap_or(before);
    !before.ends_with(|c: char| matches!(c, '.' | ':' | ')' | '_') || c.is_alphanumeric())
}

/// Whether the next name is only defined or a symbol: `def load` and `:load`, but not `&method(:require)`.
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
            "\"the load is #{load}\"",
            "YAML.load File.read('x') # load",
        ] {
            assert_eq!(possible(line), [], "{line}");
        }
    }

    #[test]
    fn what_only_a_ruby_has_is_seen_in_code_and_nowhere_else() {
        for (line, expected) in [
            ("pid = fork { exit! }", "fork"),
            ("fork do", "fork"),
            ("%w[a b].each { |name| fork { name } }", "fork"),
            ("x = y %w; system('true')", "system"),
            ("system 'true' or raise", "system"),
            ("trap('USR1') { }", "trap"),
            ("Thread.new { poll }", "Thread.new"),
            ("@socket ||= TCPSocket.new(host, 6379)", "TCPSocket.new"),
            ("Process.daemon(true)", "Process.daemon"),
            ("run ->(e) { [200, {}, [`uptime`]] }", "a command in backticks"),
            ("File.write(\"x\", \"y\")", "File.write"),
            ("rescue Socket::ResolutionError", "Socket::ResolutionError"),
            ("request = Rack::Request.new(env)", "Rack::Request"),
            ("run ::Rack::Directory.new('.')", "Rack::Directory"),
            ("Rack::Builder.new { use Rack::Lint }", "Rack::Lint"),
            ("io = env['rack.hijack'].call", "rack.hijack"),
            ("text = \"#{`uptime`}\"", "a command in backticks"),
            ("text = \"#{{ a: { b: 1 } }} #{fork { 1 }}\"", "fork"),
            ("text = %x(uptime)", "a command in backticks"),
            ("File.open(path, 'a+') { |file| file.puts 1 }", "File.open"),
            ("CSV.open(\"x.csv\", \"w:utf-8\")", "CSV.open"),
            ("GC.stat[:count]", "GC.stat"),
            ("key = OpenSSL::PKey::RSA.new(File.read(path))", "OpenSSL::PKey"),
        ] {
            assert_eq!(only_ruby(line).as_deref(), Some(expected), "{line}");
        }
        for line in [
            "Thread.current[:x] = 1",
            "# fork { }",
            "\"`uptime`\"",
            "def system(name)",
            "system = 1",
            "stop if system == other || system != name",
            "NAMES = %w[fork [system x] exec\\] trap].map(&:to_s)",
            "%i(fork trap).each { |name| alias_method name, :x }",
            "%w[fork ",
            "{ system: 1, fork: 2 }",
            "return system",
            "git.fork(x)",
            "My::Socket.new",
            "class Socket",
            "File.read('x')",
            "Process.clock_gettime(1)",
            "Timeout.timeout(1) { }",
            "http.verify_mode = OpenSSL::SSL::VERIFY_PEER",
            "Rack::Builder.new { map('/') { run Rack::URLMap.new({}) } }",
            "module Rack",
            "env[\"rack.hijack?\"]",
            "# io = env['rack.hijack']",
            "\"a }\" + '#{`uptime`}'",
            "n %x",
            "File.open('a.txt', 'rb')",
            "File.open(path, File::RDONLY)",
        ] {
            assert_eq!(only_ruby(line), None, "{line}");
        }
    }
}
