//! Functions have at most 60 lines. The list of exceptions is a ratchet: its numbers only go down.
//! Ends are found by indentation, which the formatters of all three languages guarantee.

use crate::tree::{SourceFile, Tree};

const MOST: usize = 60;
/// Functions that may be longer, with how long they are: (path, name, lines).
const LONGER: [(&str, &str, usize); 0] = [];

/// The length of functions.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.ending(&[".rs", ".rb", ".c"]).filter(|file| !file.is_test()) {
        for (line, name, length) in functions(file) {
            let most = LONGER.iter().find(|row| row.0 == file.path && row.1 == name).map_or(MOST, |row| row.2);
            if length > most {
                let path = &file.path;
                complaints
                    .push(format!("{path}:{line}: `{name}` has {length} lines, at most {most}: split it by steps"));
            }
        }
    }
    complaints
}

/// Each function's first line, name and length.
fn functions(file: &SourceFile) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = file.product().lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((name, close)) = opening(&file.path, line, &lines[at..]) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}{close}");
        let length = lines[at..].iter().position(|line| *line == end).map(|ends| ends + 1);
        // A function on one line, or a declaration, has no end of its own.
        if let Some(length) = length.filter(|_| !is_whole(line)) {
            found.push((at + 1, name, length));
        }
    }
    found
}

fn is_whole(line: &str) -> bool {
    line.ends_with(';') || line.ends_with('}') || line.ends_with(" end")
}

/// The name of the function that starts on this line, and what closes it.
fn opening(path: &str, line: &str, rest: &[&str]) -> Option<(String, &'static str)> {
    let name =
        |text: &str| text.split(|c: char| !(c.is_alphanumeric() || "_?!.=".contains(c))).next().map(str::to_owned);
    if path.ends_with(".rs") {
        let before = line.split("fn ").next()?.trim();
        let words = ["pub", "pub(crate)", "pub(super)", "async", "const", "unsafe", "extern", "\"C\""];
        let starts = before.split_whitespace().all(|word| words.contains(&word));
        return (starts && line.contains("fn "))
            .then(|| line.split("fn ").nth(1).and_then(name).map(|name| (name, "}")))?;
    }
    if path.ends_with(".rb") {
        let after = line.trim_start().strip_prefix("def ")?;
        return name(after).map(|name| (name, "end"));
    }
    // C: a definition starts in the first column and its body is opened on this line or the next ones.
    let starts = line.starts_with(|c: char| c.is_alphabetic()) && line.contains('(') && !line.ends_with(';');
    let opens = rest.iter().take(4).any(|line| line.ends_with('{'));
    (starts && opens).then(|| (line.split('(').next().unwrap_or(line).to_owned(), "}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_functions_are_found_in_all_three_languages() {
        let body = "  x\n".repeat(59);
        let rust =
            format!("impl A {{\n    pub async fn long(\n        self,\n    ) {{\n{body}    }}\n}}\nfn f() {{}}\n");
        let ruby = format!("class A\n  def long?(x)\n{body}{}  end\nend\n", "  x\n");
        let c = format!("static int\nnot(void);\nint long(int x) {{\n{body}}}\n");
        let tree = Tree::of(&[("a.rs", &rust), ("b.rb", &ruby), ("c.c", &c)]);
        let found = check(&tree);
        assert!(found[0].starts_with("a.rs:2: `long` has 63 lines"), "{found:?}");
        assert!(found[1].starts_with("b.rb:2: `long?` has 62 lines"), "{found:?}");
        assert!(found[2].starts_with("c.c:3: `int long` has 61 lines"), "{found:?}");
    }
}
