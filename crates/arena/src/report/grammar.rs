//! Counted nouns and lists of names, as English sentences have them.

/// A number with its noun: `1 round`, `3 rounds`.
pub fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// The distinct ones of these values, in the order in which each occurs first.
pub fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Joins names: A, B and C.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        // A name may contain a comma itself.
        [first @ .., last] if names.iter().any(|name| name.contains(", ")) => {
            format!("{}; and {last}", first.join("; "))
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
