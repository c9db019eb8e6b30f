//! Finds the name somebody probably meant. Pure.

/// The candidate that differs from `word` in the fewest letters, if it is few enough to be a slip.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed || (word.len() > 3 && candidate.starts_with(word)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be put in, taken out or changed (Levenshtein), keeping one row of the table.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (from, to, expected) in
            [("", "", 0), ("abc", "abc", 0), ("kitten", "sitting", 3), ("", "ab", 2), ("ab", "", 2)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn a_slip_is_recognised_and_nonsense_is_not() {
        let names = ["threads", "io-threads", "environment", "bind"];
        let near = |word| nearest(word, names.into_iter());
        assert_eq!(near("thread"), Some("threads"));
        assert_eq!(near("therads"), Some("threads"));
        assert_eq!(near("env"), None);
        assert_eq!(near("envi"), Some("environment"));
        assert_eq!(near("zebra"), None);
    }
}
