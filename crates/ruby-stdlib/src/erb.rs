//! The ERB compiler: from a template to the text of a Ruby program that fills a String. Its lines are those of the
//! template behind a first one with the encoding, as in CRuby, so that backtraces name the template's lines.

use ruby_native::{Arg, Context, Outcome, Raise, Value, arg};

/// Most bytes of a String literal; the parser refuses those of 64 KiB.
const LITERAL_BYTES_MAX: usize = 16 << 10;

/// The options of a trim mode.
#[derive(Debug, Clone, Copy, Default)]
struct Trim {
    /// `-`: `<%-` removes the blanks before it, `-%>` the line feed behind it.
    dash: bool,
    /// `>`: `%>` removes the line feed behind it.
    end: bool,
    /// `<>`: `%>` removes the line feed behind it in a line that begins with `<%`.
    both: bool,
    /// `%`: lines that begin with `%` are code.
    percent: bool,
}

fn trim(mode: Arg<'_>) -> Result<Trim, Raise> {
    let mut trim = Trim::default();
    match mode {
        Arg::Nil | Arg::Bool(false) => {}
        Arg::Int(number) => (trim.end, trim.both) = (number == 1, number == 2),
        mode => {
            let text = mode.text()?;
            // As in CRuby the first of `-`, `<>` and `>` counts: "-<>" is "-".
            let dash = text.contains('-');
            trim = Trim {
                dash,
                both: !dash && text.contains("<>"),
                end: !dash && text.contains('>') && !text.contains("<>"),
                percent: text.contains('%'),
            };
        }
    }
    Ok(trim)
}

/// `erb_compile(template, trim_mode, variable)`: the source of a program that fills the String in `variable` and
/// returns it.
pub fn compile(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let template = arg(args, 0).bytes()?;
    let trim = trim(arg(args, 1))?;
    let variable = arg(args, 2).text()?.into_owned();
    let mut compiler = Compiler { out: Vec::new(), text: Vec::new(), variable };
    compiler.out.extend_from_slice(format!("#coding:UTF-8\n{} = +''; ", compiler.variable).as_bytes());
    let mut tag: Option<Tag> = None;
    for line in template.split_inclusive(|byte| *byte == b'\n') {
        compiler.line(line, trim, &mut tag);
    }
    // The content of a tag without an end is text.
    if let Some(open) = tag {
        compiler.text.extend_from_slice(&open.content);
    }
    compiler.flush();
    compiler.out.extend_from_slice(compiler.variable.as_bytes());
    Ok(Value::Str(compiler.out))
}

/// The kind of a tag: `<% %>`, `<%= %>` or `<%# %>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Value,
    Comment,
}

struct Tag {
    kind: Kind,
    content: Vec<u8>,
}

struct Compiler {
    out: Vec<u8>,
    text: Vec<u8>,
    variable: String,
}

impl Compiler {
    /// Compiles a line with its line feed; `tag` is the tag that is open at its beginning.
    fn line(&mut self, line: &[u8], trim: Trim, tag: &mut Option<Tag>) {
        if trim.percent && tag.is_none() && line.starts_with(b"%") {
            if line.starts_with(b"%%") {
                return self.parts(&line[1..], trim, tag);
            }
            self.flush();
            self.out.extend_from_slice(&line[1..]);
            if !line.ends_with(b"\n") {
                self.out.push(b'\n');
            }
            return;
        }
        self.parts(line, trim, tag);
    }

    fn parts(&mut self, line: &[u8], trim: Trim, tag: &mut Option<Tag>) {
        let begins_with_tag = line.starts_with(b"<%") && !line.starts_with(b"<%%") && tag.is_none();
        let mut rest = line;
        while !rest.is_empty() {
            rest = match tag {
                None => self.outside(line, rest, trim, tag),
                Some(open) => {
                    let Some((after, dashed)) = inside(open, rest, trim) else { return };
                    let closed = tag.take();
                    closed.into_iter().for_each(|closed| self.close(&closed));
                    let eats = (trim.dash && dashed) || trim.end || (trim.both && begins_with_tag);
                    if eats && (after == b"\n" || after == b"\r\n") {
                        self.flush();
                        self.out.push(b'\n');
                        return;
                    }
                    after
                }
            };
        }
    }

    /// Takes text up to the next tag and opens that. Returns the rest of the line.
    fn outside<'a>(&mut self, line: &[u8], rest: &'a [u8], trim: Trim, tag: &mut Option<Tag>) -> &'a [u8] {
        let Some(at) = find(rest, b"<%") else {
            self.text.extend_from_slice(rest);
            return &[];
        };
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        if let Some(after) = after.strip_prefix(b"%") {
            self.text.extend_from_slice(before);
            self.text.extend_from_slice(b"<%");
            return after;
        }
        let is_first = line.len() == rest.len();
        let blank = before.iter().all(|byte| *byte == b' ' || *byte == b'\t');
        let (kind, after) = match after.first() {
            Some(b'=') => (Kind::Value, &after[1..]),
            Some(b'#') => (Kind::Comment, &after[1..]),
            Some(b'-') if trim.dash => (Kind::Code, &after[1..]),
            _ => (Kind::Code, after),
        };
        let strips = trim.dash && rest[at..].starts_with(b"<%-") && is_first && blank;
        if !strips {
            self.text.extend_from_slice(before);
        }
        self.flush();
        *tag = Some(Tag { kind, content: Vec::new() });
        after
    }

    fn close(&mut self, tag: &Tag) {
        match tag.kind {
            Kind::Code => {
                self.out.extend_from_slice(&tag.content);
                // A line feed ends the statement.
                if !tag.content.ends_with(b"\n") {
                    self.out.extend_from_slice(b"; ");
                }
            }
            Kind::Value => {
                self.out.extend_from_slice(format!("{}.<<((", self.variable).as_bytes());
                self.out.extend_from_slice(&tag.content);
                self.out.extend_from_slice(b").to_s); ");
            }
            Kind::Comment => {
                let lines = tag.content.iter().filter(|byte| **byte == b'\n').count();
                self.out.extend(std::iter::repeat_n(b'\n', lines));
            }
        }
    }

    /// Writes the text so far as String literals.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            let (part, after) = rest.split_at(literal_length(rest));
            self.literal(part);
            rest = after;
        }
    }

    /// Writes a text as a String literal, followed by as many line feeds as it has.
    fn literal(&mut self, text: &[u8]) {
        self.out.extend_from_slice(format!("{}.<< \"", self.variable).as_bytes());
        let mut lines = 0;
        for byte in text {
            match byte {
                b'\n' => {
                    self.out.extend_from_slice(b"\\n");
                    lines += 1;
                }
                b'\r' => self.out.extend_from_slice(b"\\r"),
                // Not `\0`, which a digit behind it would make another character.
                0 => self.out.extend_from_slice(b"\\x00"),
                b'"' | b'\\' | b'#' => self.out.extend_from_slice(&[b'\\', *byte]),
                _ => self.out.push(*byte),
            }
        }
        self.out.extend_from_slice(b"\"; ");
        self.out.extend(std::iter::repeat_n(b'\n', lines));
    }
}

/// The length in bytes of the next literal of a text, which ends at no place within a character.
fn literal_length(text: &[u8]) -> usize {
    let most = text.len().min(LITERAL_BYTES_MAX);
    let is_within = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (most.saturating_sub(3)..=most).rev().find(|at| !is_within(at)).unwrap_or(most)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Takes the content of an open tag. Returns the rest of the line behind its end, and whether the end was `-%>`; None
/// where the tag goes on in the next line.
fn inside<'a>(tag: &mut Tag, mut rest: &'a [u8], trim: Trim) -> Option<(&'a [u8], bool)> {
    loop {
        let Some(at) = find(rest, b"%>") else {
            tag.content.extend_from_slice(rest);
            return None;
        };
        let after = &rest[at + 2..];
        if at > 0 && rest[at - 1] == b'%' {
            tag.content.extend_from_slice(&rest[..at - 1]);
            tag.content.extend_from_slice(b"%>");
            rest = after;
            continue;
        }
        let dashed = trim.dash && at > 0 && rest[at - 1] == b'-';
        tag.content.extend_from_slice(&rest[..if dashed { at - 1 } else { at }]);
        return Some((after, dashed));
    }
}
