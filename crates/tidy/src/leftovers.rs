//! Leftovers of work: notes to oneself, debugging output, tests that do not run, and paths of a particular machine.

use crate::tree::Tree;

const LEFTOVERS: [(&str, &str); 10] = [
    ("FIXME", "mend it, or open an issue"),
    ("dbg!(", "take it out, or log it with tracing"),
    ("todo!(", "write it, or leave it out"),
    ("unimplemented!(", "write it, or answer with an error"),
    ("#[ignore", "let it run, or take it out"),
    ("binding.irb", "take it out"),
    ("<<<<<<<", "finish the merge"),
    ("/work/", "no machine's paths: make it relative to the file or the root"),
    ("/root/", "no machine's paths: make it relative to the file or the root"),
    ("/home/", "no machine's paths: make it relative to the file or the root"),
];

/// Complaints about all files except those of this crate, which contain the forbidden words.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| !file.path.starts_with("crates/tidy/")) {
        for (at, line) in file.text.lines().enumerate() {
            for (word, instead) in LEFTOVERS.iter().filter(|(word, _)| stands(line, word)) {
                complaints.push(format!("{}:{}: {word}: {instead}", file.path, at + 1));
            }
        }
    }
    complaints
}

/// Whether a word occurs; a path counts only from the root: `docs/work/x` and `net/home/x` are harmless.
fn stands(line: &str, word: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || "._-$}".contains(c);
    line.match_indices(word).any(|(at, _)| !word.starts_with('/') || !line[..at].ends_with(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_found() {
        for (word, _) in LEFTOVERS {
            let found = check(&Tree::of(&[("a.md", &format!("x\nsee {word}x"))]));
            assert_eq!(found.len(), 1, "{word}");
            assert!(found[0].starts_with("a.md:2: "));
        }
        assert_eq!(check(&Tree::of(&[("a.md", "example.com/home/x $root/work/x")])), Vec::<String>::new());
    }
}
