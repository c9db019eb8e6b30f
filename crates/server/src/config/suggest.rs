//! Did you mean: finds the known name nearest to a misspelt one.

/// Longest name that is compared.
const LONGEST: usize = 64;

/// The candidate that differs from `word` in the fewest characters, if few enough for a slip.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    if letters > LONGEST {
        return None;
    }
    let allowed = (letters / 3).clamp(1, 3);
    candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed || (word.len() > 3 && candidate.starts_with(word)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Number of insertions, deletions, changes and swaps of neighbours (Damerau-Levenshtein, each character once). Keeps
/// the last three rows of the table.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before = vec![0; to.len() + 1];
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut next = vec![at + 1; to.len() + 1];
        for (column, other) in to.iter().enumerate() {
            let changed = row[column] + usize::from(letter != other);
            next[column + 1] = changed.min(row[column + 1] + 1).min(next[column] + 1);
            if at > 0 && column > 0 && *letter == to[column - 1] && from[at - 1] == *other {
                next[column + 1] = next[column + 1].min(before[column - 1] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_slips() {
        for (from, to, expected) in
            [("", "", 0), ("abc", "abc", 0), ("kitten", "sitting", 3), ("", "ab", 2), ("ab", "", 2), ("ba", "ab", 1)]
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
        assert_eq!(near("bnid"), Some("bind"));
        assert_eq!(near("env"), None);
        assert_eq!(near("envi"), Some("environment"));
        assert_eq!(near("zebra"), None);
    }
}
