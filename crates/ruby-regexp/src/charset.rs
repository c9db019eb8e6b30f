//! Sets of characters by name: `\w`, `[[:alpha:]]`, `\p{Greek}`. The tables of Unicode are those of regex-syntax.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The alphabet of named sets: `(?d)`, `(?a)`, `(?u)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    /// `\w`, `\d` and `\s` are ASCII sets, all others Unicode sets.
    Default,
    /// All are ASCII sets.
    Ascii,
    /// All are Unicode sets.
    Unicode,
}

/// The set of the characters in these ranges, both ends included.
pub fn ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(low, high)| ClassUnicodeRange::new(*low, *high)))
}

/// The complement of a set.
pub fn negated(mut set: ClassUnicode) -> ClassUnicode {
    set.negate();
    set
}

/// The set of `.`: all characters, or all but the line feed.
pub fn dot(newline: bool) -> ClassUnicode {
    negated(if newline { ClassUnicode::empty() } else { ranges(&[('\n', '\n')]) })
}

/// The set of an expression such as `\p{Alphabetic}`, from the Unicode tables of regex-syntax.
fn table(expression: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(expression).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            Some(ranges(&text.chars().map(|c| (c, c)).collect::<Vec<_>>()))
        }
        _ => None,
    }
}

fn union(expressions: &[&str]) -> Option<ClassUnicode> {
    let mut all = ClassUnicode::empty();
    for expression in expressions {
        all.union(&table(expression)?);
    }
    Some(all)
}

/// The set of `\w`, `\d`, `\s` or `\h`; `letter` is in lower case.
pub fn shorthand(letter: char, letters: Letters) -> ClassUnicode {
    let name = match letter {
        'w' => "word",
        'd' => "digit",
        's' => "space",
        _ => "xdigit",
    };
    let ascii = letters != Letters::Unicode;
    posix(name, ascii).unwrap_or_else(ClassUnicode::empty)
}

/// The set of a POSIX bracket such as `[[:alpha:]]`; None for an unknown name.
pub fn posix(name: &str, ascii: bool) -> Option<ClassUnicode> {
    Some(match name {
        "xdigit" => ranges(&[('0', '9'), ('a', 'f'), ('A', 'F')]),
        "ascii" => ranges(&[('\0', '\x7f')]),
        _ if ascii => return ascii_posix(name),
        "alpha" => table(r"\p{Alphabetic}")?,
        "digit" => table(r"\p{Nd}")?,
        "alnum" => union(&[r"\p{Alphabetic}", r"\p{Nd}"])?,
        "upper" => table(r"\p{Uppercase}")?,
        "lower" => table(r"\p{Lowercase}")?,
        "space" => table(r"\p{White_Space}")?,
        "blank" => union(&[r"\p{Zs}", r"[\t]"])?,
        "cntrl" => table(r"\p{Cc}")?,
        "punct" => union(&[r"\p{P}", r"[$+<=>^`|~]"])?,
        "graph" => negated(union(&[r"\p{White_Space}", r"\p{Cc}", r"\p{Cn}"])?),
        "print" => negated(union(&[r"\p{Cc}", r"\p{Cn}", r"[\u{2028}\u{2029}]"])?),
        "word" => union(&[r"\p{Alphabetic}", r"\p{M}", r"\p{Nd}", r"\p{Pc}"])?,
        _ => return None,
    })
}

fn ascii_posix(name: &str) -> Option<ClassUnicode> {
    let class = match name {
        "space" => r"[\t-\r ]".to_owned(),
        "alpha" | "digit" | "alnum" | "upper" | "lower" | "blank" | "cntrl" | "punct" | "graph" | "print" | "word" => {
            format!("[[:{name}:]]")
        }
        _ => return None,
    };
    table(&class)
}

/// The set of a property such as `\p{Greek}`; None for an unknown name. As in Ruby, case, spaces, hyphens and
/// underscores in the name do not count.
pub fn property(name: &str, ascii: bool) -> Option<ClassUnicode> {
    let plain: String = name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).collect::<String>().to_lowercase();
    if let Some(set) = posix(&plain, ascii) {
        return Some(set);
    }
    match plain.as_str() {
        "any" => return Some(ranges(&[('\0', char::MAX)])),
        "assigned" => return table(r"\P{Cn}"),
        _ => {}
    }
    if plain.is_empty() || !plain.chars().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    table(&format!(r"\p{{{plain}}}"))
}

/// The set of all characters that differ from `c` only in case, with `c` itself.
pub fn folded(c: char) -> ClassUnicode {
    let mut set = ranges(&[(c, c)]);
    // Fails only where Unicode's tables are left out of the build; then case is not ignored.
    let _ = set.try_case_fold_simple();
    set
}
