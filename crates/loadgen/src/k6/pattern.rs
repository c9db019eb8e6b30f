//! Converts a regular expression of the arena to JavaScript. The conversion starts from the parsed expression and not
//! from its text, which means other things in JavaScript (`(?s)`, `\d`, `\z`).

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// The expression that matches the same texts, with the flag `u`. The error names what JavaScript lacks.
pub fn javascript(pattern: &str) -> Result<String, String> {
    let refused = |why: String| format!("the pattern {pattern} cannot be said in JavaScript: {why}");
    let hir = regex_syntax::parse(pattern).map_err(|error| refused(error.to_string()))?;
    let mut text = String::new();
    write(&hir, &mut text).map_err(refused)?;
    Ok(text)
}

fn write(hir: &Hir, out: &mut String) -> Result<(), String> {
    match hir.kind() {
        HirKind::Empty => out.push_str("(?:)"),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| "it is about bytes that are no text")?;
            text.chars().for_each(|one| character(one, out));
        }
        HirKind::Class(one) => class(one, out)?,
        HirKind::Look(look) => out.push_str(place(*look)?),
        HirKind::Repetition(repetition) => repeated(repetition, out)?,
        // The content of groups is not used.
        HirKind::Capture(capture) => group(&capture.sub, out)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| match part.kind() {
            HirKind::Alternation(_) => group(part, out),
            _ => write(part, out),
        })?,
        HirKind::Alternation(ways) => {
            for (at, way) in ways.iter().enumerate() {
                if at > 0 {
                    out.push('|');
                }
                write(way, out)?;
            }
        }
    }
    Ok(())
}

fn group(hir: &Hir, out: &mut String) -> Result<(), String> {
    out.push_str("(?:");
    write(hir, out)?;
    out.push(')');
    Ok(())
}

fn repeated(repetition: &Repetition, out: &mut String) -> Result<(), String> {
    group(&repetition.sub, out)?;
    match (repetition.min, repetition.max) {
        (0, None) => out.push('*'),
        (1, None) => out.push('+'),
        (0, Some(1)) => out.push('?'),
        (least, None) => out.push_str(&format!("{{{least},}}")),
        (least, Some(most)) => out.push_str(&format!("{{{least},{most}}}")),
    }
    // Greediness changes the extent of a match, not whether there is one.
    Ok(())
}

fn class(class: &Class, out: &mut String) -> Result<(), String> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) if class.is_ascii() => {
            class.iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
        }
        Class::Bytes(_) => return Err("it is about bytes that are no text".to_owned()),
    };
    out.push('[');
    for (start, end) in ranges {
        character(start, out);
        if end > start {
            out.push('-');
            character(end, out);
        }
    }
    out.push(']');
    Ok(())
}

fn character(one: char, out: &mut String) {
    if one.is_ascii_alphanumeric() || " _<>\"'=:;@,!%&#~`".contains(one) {
        out.push(one);
    } else {
        out.push_str(&format!("\\u{{{:x}}}", u32::from(one)));
    }
}

fn place(look: Look) -> Result<&'static str, String> {
    match look {
        Look::Start => Ok("^"),
        Look::End => Ok("$"),
        Look::StartLF => Ok(r"(?<![^\n])"),
        Look::EndLF => Ok(r"(?![^\n])"),
        Look::WordAscii => Ok(r"\b"),
        Look::WordAsciiNegate => Ok(r"\B"),
        Look::StartCRLF | Look::EndCRLF => Err("it has lines that end in CRLF: leave (?R) out".to_owned()),
        _ => Err(r"it has a border of a word of any alphabet: write (?-u:\b)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_said_in_the_other_language() {
        for (rust, javascript_has) in [
            ("^a.c$", r"^a[\u{0}-\u{9}\u{b}-\u{10ffff}]c$"),
            ("(?s)a.*", r"a(?:[\u{0}-\u{10ffff}])*"),
            ("(?i)ab", "[Aa][Bb]"),
            ("[0-9a-f]{8}-4", r"(?:[0-9a-f]){8,8}\u{2d}4"),
            ("x(?P<n>yy|z)+?", "x(?:(?:yy|z))+"),
            ("(?m)^a$", r"(?<![^\n])a(?![^\n])"),
            (r"\Aé\z", r"^\u{e9}$"),
            (r"a(b|cd)e", "a(?:b|cd)e"),
            (r"(?-u:\bx\B)", r"\bx\B"),
            ("", "(?:)"),
        ] {
            assert_eq!(javascript(rust).unwrap(), javascript_has, "{rust}");
        }
        assert_eq!(javascript(r"\d").unwrap().matches('-').count(), regex_ranges(), "digits of all alphabets");
        for (rust, says) in [(r"\bword", r"(?-u:\b)"), ("(?Rm)^a", "(?R)"), ("(", "cannot be said")] {
            assert!(javascript(rust).unwrap_err().contains(says), "{rust}");
        }
    }

    fn regex_ranges() -> usize {
        match regex_syntax::parse(r"\d").unwrap().kind() {
            HirKind::Class(Class::Unicode(class)) => class.iter().count(),
            _ => 0,
        }
    }
}
