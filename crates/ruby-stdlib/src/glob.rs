//! File.fnmatch and Dir.glob in Ruby's dialect (`*`, `?`, `[a-z]`, `{a,b}`, `**/`), without the exponential time of a
//! naive matcher.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// File::FNM_NOESCAPE and its kin.
pub const NOESCAPE: i64 = 1;
pub const PATHNAME: i64 = 2;
pub const DOTMATCH: i64 = 4;
pub const CASEFOLD: i64 = 8;
pub const EXTGLOB: i64 = 16;

/// Patterns to which the braces of one pattern may expand.
const PATTERNS_MAX: usize = 4096;
/// Most bytes of all patterns that an expansion makes, intermediate ones included.
const BYTES_MAX: usize = 16 << 20;

/// Limits of a walk through folders.
pub struct Limits<'a> {
    /// The instant at which the walk must end.
    pub until: Instant,
    /// Most bytes of all paths found.
    pub bytes_max: usize,
    /// A function from a path to the one without symbolic links; None where it may not be read.
    pub may_see: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// The reason why a walk ended early.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time limit has passed.
    Late,
    /// Too many patterns, or too many bytes of paths.
    TooMuch,
}

/// Whether a pattern matches a path (File.fnmatch).
pub fn matches(pattern: &[u8], path: &[u8], flags: i64) -> bool {
    let patterns = if flags & EXTGLOB != 0 { braces(pattern).unwrap_or_default() } else { vec![pattern.to_vec()] };
    patterns.iter().any(|pattern| {
        if flags & PATHNAME == 0 {
            return segment(&letters(pattern), &letters(path), flags);
        }
        let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let wanted: Vec<&[u8]> = pattern.split(|byte| *byte == b'/').collect();
        // The parts of the pattern that may come next, as a set, so that nothing is tried twice.
        let mut next = follow(&[0], &wanted);
        for (at, part) in parts.iter().enumerate() {
            next = follow(&step(&next, &wanted, part, flags, at + 1 < parts.len()), &wanted);
        }
        next.contains(&wanted.len())
    })
}

/// Adds the states that are reached where `**` matches no folder.
fn follow(states: &[usize], wanted: &[&[u8]]) -> Vec<usize> {
    let mut out = Vec::new();
    for state in states {
        let mut state = *state;
        while !out.contains(&state) {
            out.push(state);
            if is_deep(wanted, state) {
                state += 1;
            }
        }
    }
    out
}

fn is_deep(wanted: &[&[u8]], at: usize) -> bool {
    wanted.get(at) == Some(&b"**".as_slice()) && at + 1 < wanted.len()
}

fn step(states: &[usize], wanted: &[&[u8]], name: &[u8], flags: i64, is_folder: bool) -> Vec<usize> {
    let mut out = Vec::new();
    for &state in states {
        let Some(pattern) = wanted.get(state) else { continue };
        let next = if is_deep(wanted, state) {
            let hidden = name.first() == Some(&b'.') && flags & DOTMATCH == 0;
            (is_folder && !hidden).then_some(state)
        } else {
            segment(&letters(pattern), &letters(name), flags).then_some(state + 1)
        };
        out.extend(next.filter(|next| !out.contains(next)));
    }
    out
}

/// The characters of a text; a byte that belongs to none has a code of its own above them.
fn letters(bytes: &[u8]) -> Vec<u32> {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.extend(chunk.valid().chars().map(u32::from));
        out.extend(chunk.invalid().iter().map(|byte| 0x0011_0000 + u32::from(*byte)));
    }
    out
}

/// Whether a pattern without slashes matches a name. After a mismatch only the last `*` is extended, which is
/// sufficient and takes at most quadratic time.
fn segment(pattern: &[u32], name: &[u32], flags: i64) -> bool {
    let hidden = name.first() == Some(&u32::from('.')) && flags & DOTMATCH == 0;
    if hidden && pattern.first().is_some_and(|first| ['*', '?', '['].map(u32::from).contains(first)) {
        return false;
    }
    let (mut at, mut pos) = (0, 0);
    let mut star = None;
    while pos < name.len() {
        let taken = match pattern.get(at) {
            Some(42) => {
                star = Some((at + 1, pos));
                at += 1;
                continue;
            }
            Some(_) => one(&pattern[at..], name[pos], flags),
            None => None,
        };
        match (taken, star) {
            (Some(length), _) => (at, pos) = (at + length, pos + 1),
            (None, Some((after, from))) => {
                star = Some((after, from + 1));
                (at, pos) = (after, from + 1);
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|letter| *letter == 42)
}

/// Length of the part of the pattern that matches this character; None where it does not.
fn one(pattern: &[u32], letter: u32, flags: i64) -> Option<usize> {
    let same = |left: u32, right: u32| left == right || (flags & CASEFOLD != 0 && fold(left) == fold(right));
    match char::from_u32(*pattern.first()?) {
        Some('?') => (flags & PATHNAME == 0 || letter != u32::from('/')).then_some(1),
        Some('[') => bracket(pattern, letter, flags),
        Some('\\') if flags & NOESCAPE == 0 && pattern.len() > 1 => same(pattern[1], letter).then_some(2),
        _ => same(pattern[0], letter).then_some(1),
    }
}

fn fold(letter: u32) -> u32 {
    char::from_u32(letter).map_or(letter, |letter| letter.to_lowercase().next().map_or(letter as u32, u32::from))
}

fn bracket(pattern: &[u32], letter: u32, flags: i64) -> Option<usize> {
    let mut at = 1;
    let negated = pattern.get(1).is_some_and(|first| *first == u32::from('!') || *first == u32::from('^'));
    at += usize::from(negated);
    let mut found = false;
    let begin = at;
    loop {
        let mut low = *pattern.get(at)?;
        if low == u32::from(']') && at > begin {
            return (found != negated).then_some(at + 1);
        }
        if low == u32::from('\\') && flags & NOESCAPE == 0 {
            at += 1;
            low = *pattern.get(at)?;
        }
        at += 1;
        let is_range = pattern.get(at) == Some(&u32::from('-')) && pattern.get(at + 1) != Some(&u32::from(']'));
        let high = if is_range { *pattern.get(at + 1)? } else { low };
        at += if is_range { 2 } else { 0 };
        let folded = flags & CASEFOLD != 0 && (fold(low)..=fold(high)).contains(&fold(letter));
        found |= folded || (low..=high).contains(&letter);
    }
}

/// Expands the braces of a pattern. The order is that of the shell: `{a,b}{c,d}` is ac, ad, bc, bd.
fn braces(pattern: &[u8]) -> Result<Vec<Vec<u8>>, Stop> {
    let mut out = Vec::new();
    let mut made = 0;
    // A stack: the last one is expanded next.
    let mut waiting = vec![pattern.to_vec()];
    while let Some(pattern) = waiting.pop() {
        let Some((open, commas, close)) = first_braces(&pattern) else {
            out.push(pattern);
            continue;
        };
        let begins = std::iter::once(open).chain(commas.iter().copied());
        let ends = commas.iter().copied().chain(std::iter::once(close));
        let parts: Vec<Vec<u8>> = begins
            .zip(ends)
            .map(|(begin, end)| [&pattern[..open], &pattern[begin + 1..end], &pattern[close + 1..]].concat())
            .collect();
        made += parts.iter().map(Vec::len).sum::<usize>();
        waiting.extend(parts.into_iter().rev());
        if out.len() + waiting.len() > PATTERNS_MAX || made > BYTES_MAX {
            return Err(Stop::TooMuch);
        }
    }
    Ok(out)
}

/// The positions of the first pair of braces that is complete, and of the commas between its alternatives.
fn first_braces(pattern: &[u8]) -> Option<(usize, Vec<usize>, usize)> {
    let mut depth = 0;
    let mut open = 0;
    let mut commas = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' => at += 1,
            b'{' => {
                if depth == 0 {
                    open = at;
                }
                depth += 1;
            }
            b',' if depth == 1 => commas.push(at),
            b'}' if depth == 1 => return Some((open, commas, at)),
            b'}' if depth > 0 => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The paths that a pattern matches (Dir.glob), in the order of their names, relative where the pattern is.
pub fn walk(pattern: &[u8], flags: i64, base: Option<&Path>, limits: &Limits<'_>) -> Result<Vec<Vec<u8>>, Stop> {
    let mut out = Vec::new();
    for pattern in braces(pattern)? {
        let rooted = pattern.first() == Some(&b'/');
        let folders_only = pattern.last() == Some(&b'/');
        let wanted: Vec<&[u8]> = pattern.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
        let wanted = if folders_only { [wanted.as_slice(), &[b""]].concat() } else { wanted };
        let shown = if rooted { b"/".to_vec() } else { Vec::new() };
        let mut walk = Walk { wanted: &wanted, flags: flags | PATHNAME, base, limits, bytes: 0, out: &mut out };
        if !wanted.is_empty() {
            walk.folder(&shown, &follow(&[0], &wanted), 0)?;
        }
    }
    Ok(out)
}

struct Walk<'a> {
    wanted: &'a [&'a [u8]],
    flags: i64,
    base: Option<&'a Path>,
    limits: &'a Limits<'a>,
    bytes: usize,
    out: &'a mut Vec<Vec<u8>>,
}

/// Most levels of folders, more than a path of the system may have.
const DEPTH_MAX: usize = 512;

impl Walk<'_> {
    fn path(&self, shown: &[u8]) -> PathBuf {
        let shown = if shown.is_empty() { b".".as_slice() } else { shown };
        self.base.unwrap_or(Path::new("")).join(OsStr::from_bytes(shown))
    }

    fn folder(&mut self, shown: &[u8], states: &[usize], depth: usize) -> Result<(), Stop> {
        if depth > DEPTH_MAX {
            return Ok(());
        }
        // Folders of plain names are entered without being listed.
        if let [only] = states
            && let Some(name) = self.wanted.get(*only).filter(|name| is_plain(name))
        {
            return self.entry(shown, name, &self.path(shown), states, depth);
        }
        let Some(path) = (self.limits.may_see)(&self.path(shown)) else { return Ok(()) };
        // A pattern with a trailing slash matches the folder itself.
        if states.iter().any(|state| self.wanted.get(*state) == Some(&b"".as_slice())) && depth > 0 {
            self.push([shown, b"/"].concat())?;
        }
        let Ok(listed) = fs::read_dir(&path) else { return Ok(()) };
        let mut names: Vec<Vec<u8>> = listed.flatten().map(|entry| entry.file_name().as_bytes().to_vec()).collect();
        names.sort();
        names.iter().try_for_each(|name| self.entry(shown, name, &path, states, depth))
    }

    fn entry(&mut self, shown: &[u8], name: &[u8], folder: &Path, states: &[usize], depth: usize) -> Result<(), Stop> {
        if Instant::now() >= self.limits.until {
            return Err(Stop::Late);
        }
        let Ok(meta) = fs::symlink_metadata(folder.join(OsStr::from_bytes(name))) else { return Ok(()) };
        let slash: &[u8] = if shown.is_empty() || shown.ends_with(b"/") { b"" } else { b"/" };
        let shown = [shown, slash, name].concat();
        // `**` does not follow symbolic links, which could form a circle; a name does.
        let next = step(states, self.wanted, name, self.flags, meta.is_dir());
        if next.is_empty() {
            return Ok(());
        }
        let is_end = next.contains(&self.wanted.len());
        let is_known = !meta.is_symlink() && states.iter().all(|at| !is_plain(self.wanted[*at]));
        if is_end && !is_known && (self.limits.may_see)(&self.path(&shown)).is_none() {
            return Ok(());
        }
        let more: Vec<usize> = follow(&next, self.wanted).into_iter().filter(|at| *at < self.wanted.len()).collect();
        if is_end {
            self.push(shown.clone())?;
        }
        let is_folder = meta.is_dir() || (meta.is_symlink() && self.path(&shown).is_dir());
        if is_folder && !more.is_empty() { self.folder(&shown, &more, depth + 1) } else { Ok(()) }
    }

    fn push(&mut self, shown: Vec<u8>) -> Result<(), Stop> {
        self.bytes += shown.len() + 32;
        self.out.push(shown);
        if self.bytes > self.limits.bytes_max { Err(Stop::TooMuch) } else { Ok(()) }
    }
}

fn is_plain(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(|byte| b"*?[\\".contains(byte))
}
