//! Common parts of several bodies, in order, with gaps where they vary: tokens, dates, random numbers. Pure.

use std::collections::HashMap;

/// Shortest common piece between two gaps that is kept; shorter ones are common by chance: a space, a bracket, a short
/// word.
const ISLAND_BYTES: usize = 16;
/// Most edits, in words, of a full comparison; bodies with more are only compared at their ends. It keeps the table of
/// edits below 10 MiB.
const STEPS_MAX: usize = 1500;

/// Common pieces with a gap between each two. The first and the last are the start and the end of the body; they may be
/// empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    fixed: Vec<Vec<u8>>,
}

/// A word of a piece, and whether a gap precedes it.
struct Word<'a> {
    bytes: &'a [u8],
    after_gap: bool,
}

impl Glob {
    /// A glob of one body, without gaps.
    pub fn of(body: &[u8]) -> Glob {
        Glob { fixed: vec![body.to_vec()] }
    }

    /// Whether the glob has no gap.
    pub fn is_exact(&self) -> bool {
        self.fixed.len() == 1
    }

    /// Number of gaps.
    pub fn gaps(&self) -> usize {
        self.fixed.len() - 1
    }

    /// Number of bytes in the common pieces.
    pub fn fixed_bytes(&self) -> usize {
        self.fixed.iter().map(Vec::len).sum()
    }

    /// The longest common piece.
    pub fn longest(&self) -> &[u8] {
        self.fixed.iter().max_by_key(|piece| piece.len()).map_or(&[], Vec::as_slice)
    }

    /// The common piece at the beginning; empty if that varies.
    pub fn start(&self) -> &[u8] {
        self.fixed.first().map_or(&[], Vec::as_slice)
    }

    /// The last characters before the first gap, for messages.
    pub fn before_first_gap(&self) -> String {
        end_in_words(self.start())
    }

    /// The last characters before the first difference to this body, for messages: those of the first piece, or of the
    /// last piece that the body has.
    pub fn before_first_difference(&self, body: &[u8]) -> String {
        let first = self.start();
        let same = first.iter().zip(body).take_while(|(a, b)| a == b).count();
        if same < first.len() || self.is_exact() {
            return end_in_words(&first[..same]);
        }
        let mut rest = &body[same..];
        let mut last_found = first;
        for piece in &self.fixed[1..] {
            let Some(at) = find(rest, piece) else { break };
            rest = &rest[at + piece.len()..];
            last_found = piece;
        }
        end_in_words(last_found)
    }

    /// Whether this body has all pieces in order, and nothing else where there is no gap.
    pub fn matches(&self, body: &[u8]) -> bool {
        let (Some(first), Some(last)) = (self.fixed.first(), self.fixed.last()) else { return false };
        if self.is_exact() {
            return body == first.as_slice();
        }
        let Some(middle) = body.strip_prefix(first.as_slice()).and_then(|rest| rest.strip_suffix(last.as_slice()))
        else {
            return false;
        };
        // The earliest position of each piece leaves most room for the next.
        let mut rest = middle;
        for piece in &self.fixed[1..self.fixed.len() - 1] {
            let Some(at) = find(rest, piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        true
    }

    /// Adds gaps until this body matches, too.
    pub fn widen(&mut self, body: &[u8]) {
        if self.matches(body) {
            return;
        }
        let (old, ends_open) = self.words();
        let new = words(body);
        let pairs = common(&old, &new);
        let mut fixed: Vec<Vec<u8>> = vec![Vec::new()];
        let mut next_old = 0;
        let mut next_new = 0;
        for (at, there) in pairs {
            let has_gap = at > next_old || there > next_new || old[at].after_gap;
            if has_gap {
                fixed.push(Vec::new());
            }
            if let Some(piece) = fixed.last_mut() {
                piece.extend_from_slice(old[at].bytes);
            }
            (next_old, next_new) = (at + 1, there + 1);
        }
        if ends_open || next_old < old.len() || next_new < new.len() {
            fixed.push(Vec::new());
        }
        self.fixed = without_islands(fixed);
    }

    fn words(&self) -> (Vec<Word<'_>>, bool) {
        let mut list = Vec::new();
        let mut after_gap = false;
        for (at, piece) in self.fixed.iter().enumerate() {
            after_gap |= at > 0;
            for bytes in words(piece) {
                list.push(Word { bytes, after_gap });
                after_gap = false;
            }
        }
        (list, after_gap)
    }
}

fn end_in_words(bytes: &[u8]) -> String {
    const CHARACTERS: usize = 32;
    let text = String::from_utf8_lossy(bytes).into_owned();
    let skipped = text.chars().count().saturating_sub(CHARACTERS);
    text.chars().skip(skipped).collect::<String>().escape_debug().to_string()
}

fn without_islands(fixed: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let last = fixed.len() - 1;
    let stays = |(at, piece): (usize, Vec<u8>)| (at == 0 || at == last || piece.len() >= ISLAND_BYTES).then_some(piece);
    fixed.into_iter().enumerate().filter_map(stays).collect()
}

fn find(bytes: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    bytes.windows(piece.len()).position(|window| window == piece)
}

/// Splits a body into runs of the characters of numbers, names and tokens; every other byte is a word of its own.
fn words(body: &[u8]) -> Vec<&[u8]> {
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80 || b"_+/=.%-".contains(byte);
    let mut list = Vec::new();
    let mut rest = body;
    while !rest.is_empty() {
        let length = rest.iter().position(|byte| !is_inner(byte)).unwrap_or(rest.len()).max(1);
        let (word, after) = rest.split_at(length);
        list.push(word);
        rest = after;
    }
    list
}

/// Positions of the words common to both, in order.
fn common(old: &[Word<'_>], new: &[&[u8]]) -> Vec<(usize, usize)> {
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut number = |bytes| {
        let next = numbers.len() as u32;
        *numbers.entry(bytes).or_insert(next)
    };
    let a: Vec<u32> = old.iter().map(|word| number(word.bytes)).collect();
    let b: Vec<u32> = new.iter().map(|bytes| number(bytes)).collect();
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|at| (at, at)).collect();
    pairs.extend(shortest_edit(a, b).into_iter().map(|(x, y)| (start + x, start + y)));
    pairs.extend((0..end).map(|at| (start + a.len() + at, start + b.len() + at)));
    pairs
}

/// Myers' greedy algorithm for the shortest edit script (1986): what it leaves alone is common. Empty when there are
/// more than `STEPS_MAX` edits.
fn shortest_edit(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let n = a.len() as isize;
    let m = b.len() as isize;
    let most = (a.len() + b.len()).min(STEPS_MAX) as isize;
    let place = |k: isize| (k + most + 1) as usize;
    // The furthest x of each diagonal, and its values before each step.
    let mut far: Vec<isize> = vec![0; 2 * most as usize + 3];
    let mut before: Vec<Vec<isize>> = Vec::new();
    for d in 0..=most {
        before.push(far[place(-d - 1)..=place(d + 1)].to_vec());
        for k in (-d..=d).step_by(2) {
            let goes_down = k == -d || (k != d && far[place(k - 1)] < far[place(k + 1)]);
            let mut x = if goes_down { far[place(k + 1)] } else { far[place(k - 1)] + 1 };
            while x < n && x - k < m && a[x as usize] == b[(x - k) as usize] {
                x += 1;
            }
            far[place(k)] = x;
            if x >= n && x - k >= m {
                return way_back(&before, n, m);
            }
        }
    }
    Vec::new()
}

fn way_back(before: &[Vec<isize>], n: isize, m: isize) -> Vec<(usize, usize)> {
    let (mut x, mut y) = (n, m);
    let mut pairs = Vec::new();
    for (d, far) in before.iter().enumerate().rev() {
        let d = d as isize;
        let at = |k: isize| far[(k + d + 1) as usize];
        let k = x - y;
        let came_down = k == -d || (k != d && at(k - 1) < at(k + 1));
        let old_k = if came_down { k + 1 } else { k - 1 };
        let old_x = at(old_k);
        let old_y = at(old_k) - old_k;
        while x > old_x.max(0) && y > old_y.max(0) {
            x -= 1;
            y -= 1;
            pairs.push((x as usize, y as usize));
        }
        (x, y) = (old_x, old_y);
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(bodies: &[&str]) -> Glob {
        let mut glob = Glob::of(bodies[0].as_bytes());
        for body in &bodies[1..] {
            glob.widen(body.as_bytes());
        }
        for body in bodies {
            assert!(glob.matches(body.as_bytes()), "{glob:?} does not match {body}");
        }
        glob
    }

    #[test]
    fn the_same_again_stays_exact() {
        let exact = glob(&["<p>a</p>", "<p>a</p>"]);
        assert!(exact.is_exact() && exact.gaps() == 0);
        assert!(!exact.matches(b"<p>a</p>x") && !exact.matches(b""));
        assert!(glob(&["", ""]).is_exact());
    }

    #[test]
    fn tokens_become_gaps_and_the_rest_is_held() {
        let page = |token: &str, time: &str| {
            format!("<html><meta content=\"{token}\"><p>the whole of the page</p><i>{time}</i></html>")
        };
        let found = glob(&[&page("aB3+/=", "10:11:12"), &page("Xy_9-z", "10:11:13"), &page("q", "11:00:00.5")]);
        assert_eq!(found.gaps(), 2);
        assert!(found.matches(page("other", "23:59:59").as_bytes()));
        assert!(!found.matches(page("other", "23:59:59").replace("whole", "half").as_bytes()));
        assert!(String::from_utf8_lossy(found.longest()).contains("the whole of the page"));
        assert!(found.before_first_gap().ends_with("<meta content=\\\""), "{}", found.before_first_gap());
    }

    #[test]
    fn lines_that_come_and_go_are_gaps() {
        let found =
            glob(&["one long line here\nx\nthe other long line\n", "one long line here\nthe other long line\n"]);
        assert_eq!(found.gaps(), 1);
        assert!(found.matches(b"one long line here\nvery new\nthe other long line\n"));
    }

    #[test]
    fn nothing_in_common_matches_everything() {
        let found = glob(&["alpha", "beta gamma", "delta(epsilon)"]);
        assert_eq!(found.fixed_bytes(), 0);
        assert!(found.matches(b"") && found.matches(b"zeta"));
    }

    #[test]
    fn chance_pieces_between_gaps_are_dropped() {
        let found = glob(&["{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":4,\"b\":5,\"c\":6}"]);
        assert_eq!((found.gaps(), found.fixed_bytes()), (1, 6));
    }

    #[test]
    fn long_bodies_with_few_or_many_differences_end_soon() {
        let long: String = (0..60_000).map(|n| format!("word{n} ")).collect();
        let few = long.replace("word700 ", "").replace("word59000 ", "word59000 more ");
        let found = glob(&[&long, &few]);
        assert_eq!(found.gaps(), 2);
        let other: String = (0..60_000).map(|n| format!("other{n} ")).collect();
        assert!(glob(&[&long, &other]).fixed_bytes() <= 1);
    }

    #[test]
    fn edits_are_found_whatever_the_order() {
        // Pairs must rise and be equal, for all short sequences of three letters.
        let sequences: Vec<Vec<u32>> = (0..729).map(|n| (0..6).map(|at| n / 3_u32.pow(at) % 3).collect()).collect();
        for (at, a) in sequences.iter().enumerate().step_by(7) {
            let b = &sequences[(at * 31 + 5) % 729][..at % 7];
            let pairs = shortest_edit(a, b);
            assert!(pairs.iter().all(|(x, y)| a[*x] == b[*y]), "{a:?} {b:?} {pairs:?}");
            assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
        }
        assert_eq!(shortest_edit(&[1, 2, 3], &[2, 3]), [(1, 0), (2, 1)]);
    }
}
