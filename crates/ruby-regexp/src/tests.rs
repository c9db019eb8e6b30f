//! Patterns without Ruby: matches, error messages, interruption, and the absence of panics. engine-mruby/tests/spec
//! compares their meaning with CRuby's.

use super::*;

fn go_on() -> impl FnMut() -> Result<(), Stop> {
    || Ok(())
}

/// All positions of the first match of a pattern.
fn find(source: &str, text: &[u8]) -> Option<Vec<usize>> {
    find_from(source, text, 0)
}

fn find_from(source: &str, text: &[u8], start: usize) -> Option<Vec<usize>> {
    let pattern = Pattern::new(source.as_bytes(), 0).unwrap_or_else(|error| panic!("{source}: {error}"));
    let mut slots = vec![UNSET; (pattern.groups as usize + 1) * 2];
    let how = How { bytes: std::str::from_utf8(text).is_err(), anchored: false };
    pattern.search(text, start, how, &mut slots, &mut go_on()).unwrap().then_some(slots)
}

#[test]
fn the_example_of_the_readme_finds_what_it_says() {
    let pattern = Pattern::new(br"(?<year>\d{4})-\g<year>", 0).unwrap();
    let mut slots = [UNSET; 4];
    let is_found = pattern.search(b"in 2015-2019", 0, How::default(), &mut slots, &mut || Ok(()));
    assert_eq!((is_found, slots), (Ok(true), [3, 12, 8, 12]));
}

#[test]
fn both_ways_find_the_same() {
    let sources = [
        "a",
        "a|b",
        "(a)(b)?",
        "[a-c]+",
        "x*",
        "(a|ab)(c|bcd)(d*)",
        "a+?b",
        "(?:ab){2,3}",
        "^b",
        "b$",
        r"\bb",
        r"\Bb",
        "(?i)AB",
        "[^a]",
        ".",
        r"\w+\s*",
        "[[:alpha:]]",
        "(?<n>a)+",
        "ä|b",
        "[ä-ü]",
        "(a(b(c)))",
        "a{0,2}",
        "(?m).b",
        r"\Aa",
        r"c\z",
        "",
        "(?:)",
        "a||b",
        r"[\d\-]",
        "(b)*c",
    ];
    let texts = ["", "a", "b", "ab", "abc", "abcd", "aab\nb", "äöü", "xAbÄ", "aaaa bb", "\n", "b\n", "ab-12", "bbc"];
    for source in sources {
        let pattern = Pattern::new(source.as_bytes(), 0).unwrap();
        assert!(matches!(pattern.way(false), Ok(Way::Plain(_))), "{source} is regular");
        let program = program::compile(&pattern.parsed, false).unwrap();
        for text in texts {
            for start in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let ours = machine::search(&program, text.as_bytes(), start, false, &mut go_on()).unwrap();
                assert_eq!(find_from(source, text.as_bytes(), start), ours, "{source} {text:?} from {start}");
            }
        }
    }
}

#[test]
fn what_is_not_regular_works() {
    let cases = [
        (r"(a|b)\1", "abba", Some((1, 3))),
        ("(?<=a)b", "bab", Some((2, 3))),
        ("(?<!a)b", "ab b", Some((3, 4))),
        ("a(?=b)", "aab", Some((1, 2))),
        ("a(?!b)", "aba", Some((2, 3))),
        ("(?>a+)b", "aab", Some((0, 3))),
        ("(?>a+)ab", "aaab", None),
        ("a++b", "aab", Some((0, 3))),
        ("a++a", "aaa", None),
        (r"(?<p>\((?:[^()]|\g<p>)*\))", "x(a(b)c)(", Some((1, 8))),
        (r"foo\Kbar", "foobar", Some((3, 6))),
        (r"a\Z", "ba\n", Some((1, 2))),
        (r"^$", "a\n", None),
        ("a\n^", "a\n", None),
        (r"\Ga", "ba", None),
        (r"(?i)(a)\1", "aA", Some((0, 2))),
        (r"(a)?(?(1)b|c)", "ab", Some((0, 2))),
        (r"(a)?(?(1)b|c)", "xc", Some((1, 2))),
        (r"\R", "a\r\nb", Some((1, 3))),
        (r"(?<=ab|c)d", "abd", Some((2, 3))),
        (r"(?:(?<=b)|a){5,}c", "bac", None),
        (r"(?<!\\)(?:\\\\)*$", "a\\\\", Some((1, 3))),
        (r"(?<p>\((?:(?!x)[^()]|\g<p>)*\))", "(a(x)b)(c)", Some((7, 10))),
        (r"(?<p>\((?>[^()]|\g<p>)*\))", "(a(b)c)", Some((0, 7))),
        (r"(?<a>b|(?=c\g<a>d|ce)c)", "ce", Some((0, 1))),
        (r"(?:(?=(a|ab))\1(?!b)|.)+", "aab", Some((0, 3))),
        (r"(?:(?<=a)b|(?!b).)*", "aabb", Some((0, 3))),
        (r"(?:(?>ab?)(?!c)|b|c)+", "abcab", Some((1, 5))),
    ];
    for (source, text, expected) in cases {
        let found = find(source, text.as_bytes()).map(|slots| (slots[0], slots[1]));
        assert_eq!(found, expected, "{source} in {text:?}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        ("(", "end pattern with unmatched parenthesis"),
        (")", "unmatched close parenthesis"),
        ("[a", "premature end of char-class"),
        ("*", "target of repeat operator is not specified"),
        ("[z-a]", "empty range in char class"),
        ("(?z)", "undefined group option"),
        (r"\1", "invalid backref number/name"),
        (r"\k<x>", "undefined name <x> reference"),
        (r"\p{Foo}", "invalid character property name {Foo}"),
        (r"\xff", "invalid multibyte escape"),
        ("(?<=a*)b", "invalid pattern in look-behind"),
        ("(?~a)", "the absence operator (?~ at 0 is not supported here"),
        ("a{100001}", "too big number {,}"),
        (r"(?<n>a)\1", "numbered backref/call is not allowed. (use name)"),
    ];
    for (source, message) in cases {
        assert_eq!(Pattern::new(source.as_bytes(), 0).map(|_| ()), Err(message.to_owned()), "{source}");
    }
    assert!(Pattern::new("(".repeat(1000).as_bytes(), 0).is_err());
}

#[test]
fn bytes_that_are_no_text_are_matched_as_bytes() {
    assert_eq!(find("a.b", b"xa\xffb"), Some(vec![1, 4]));
    assert_eq!(find("[^a]+", b"a\xff\xfe"), Some(vec![1, 3]));
    assert_eq!(find(r"(.)\1", b"a\xff\xff"), Some(vec![1, 3, 1, 2]));
    let pattern = Pattern::new(br"[\x80-\xff]+", NOENCODING).unwrap();
    let mut slots = [UNSET; 2];
    assert_eq!(pattern.search("aä".as_bytes(), 0, How::default(), &mut slots, &mut go_on()), Ok(true));
    assert_eq!(slots, [1, 3]);
}

#[test]
fn a_search_that_takes_too_long_is_stopped() {
    let pattern = Pattern::new(br"(?=(a+))\1*(?:a|a)*(?:a|a)*(?:a|a)*\1b", 0).unwrap();
    let text = vec![b'a'; 100];
    let mut ticks = 0;
    let mut tick = || {
        ticks += 1;
        if ticks == 50 { Err(Stop::Timeout) } else { Ok(()) }
    };
    assert_eq!(pattern.search(&text, 0, How::default(), &mut [], &mut tick), Err(Stop::Timeout));
    let endless = Pattern::new(br"(?<a>\g<a>?x|\g<a>)", 0);
    if let Ok(endless) = endless {
        let outcome = endless.search(b"yyyy", 0, How::default(), &mut [], &mut go_on());
        assert!(matches!(outcome, Err(Stop::Stack) | Ok(false)), "{outcome:?}");
    }
}

#[test]
fn a_search_piece_by_piece_finds_the_same() {
    let sources = [
        "a",
        "a|b",
        "(a)(b)?",
        "(a|ab)(c|bcd)(d{0,3})",
        "a{1,3}?b",
        "^b",
        "b$",
        r"\bb",
        r"\Bb",
        r"\Aa",
        r"b\n\z",
        "ä{1,2}",
        "",
        "(?m).b",
        r"\w{2,3}",
        "[^a]{2}",
        "x{0,2}",
    ];
    let texts = ["", "xxxxxxxxab", "aaaaaaaaaaaaaaab\nb\n", "äöüäöüäöä b ab abc abcd", "ccccccc\n", "x\nx\nx\nx\nb"];
    for source in sources {
        let pattern = Pattern::new(source.as_bytes(), 0).unwrap();
        let mut plain = plain::compile(&pattern.parsed, false).unwrap();
        plain.piece = 5;
        let width = plain.width.unwrap();
        for text in texts {
            for start in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                for anchored in [false, true] {
                    let mut ours = vec![UNSET; (pattern.groups as usize + 1) * 2];
                    let mut whole = ours.clone();
                    let bytes = text.as_bytes();
                    let found = search_in_pieces(&plain, width, bytes, start, anchored, &mut ours, &mut go_on());
                    let is_there = plain_search(&plain, bytes, start..text.len(), anchored, &mut whole);
                    assert_eq!(found, Ok(is_there), "{source} {text:?} from {start}");
                    assert!(!is_there || ours == whole, "{source} {text:?} from {start}: {ours:?}, not {whole:?}");
                }
            }
        }
    }
}

#[test]
fn automata_of_many_copies_can_be_stopped_in_long_texts() {
    let text = vec![b'a'; 1_000_000];
    // In pieces, and on the machine.
    for source in [".{0,1000}foo", ".{0,1000}foo.*"] {
        let pattern = Pattern::new(source.as_bytes(), 0).unwrap();
        assert!(pattern.is_linear(), "{source}");
        let stopped = pattern.search(&text, 0, How::default(), &mut [], &mut some_ticks(1));
        assert_eq!(stopped, Err(Stop::Timeout), "{source}");
    }
    let text = format!("{}xäfoobar", "ä".repeat(100_000));
    assert_eq!(find("x.{0,1000}foo", text.as_bytes()), Some(vec![200_000, 200_006]));
    assert_eq!(find("x.{0,1000}foo.*", text.as_bytes()), Some(vec![200_000, 200_009]));
    assert_eq!(find("(x)ä.{0,1000}foo", text.as_bytes()), Some(vec![200_000, 200_006, 200_000, 200_001]));
    assert_eq!(find("(x)ä.{0,1000}foo.*", text.as_bytes()), Some(vec![200_000, 200_009, 200_000, 200_001]));
    // The machine has too few places for this one.
    let text = format!("{}d", "ab".repeat(1_200_000));
    assert_eq!(find("(?:ab|ba)*c{0,200}d", text.as_bytes()), Some(vec![0, 2_400_001]));
}

/// The number of calls of the tick in a search that begins at the start of the text, and whether it found a match.
fn ticks_of(source: &str, options: u32, text: &[u8]) -> (u32, Result<bool, Stop>) {
    let pattern = Pattern::new(source.as_bytes(), options).unwrap_or_else(|error| panic!("{error}"));
    let mut ticks = 0;
    let mut tick = || {
        ticks += 1;
        Ok::<(), Stop>(())
    };
    let found = pattern.search(text, 0, How { anchored: true, bytes: false }, &mut [], &mut tick);
    (ticks, found)
}

#[test]
fn comparisons_that_fail_are_counted_by_their_length() {
    let (long, other) = ("a".repeat(8000), "a".repeat(7999) + "x");
    let (ticks, found) = ticks_of(r"(a+)b.*?\1!", 0, format!("{long}b{other}{other}").as_bytes());
    assert_eq!(found, Ok(false));
    assert!(ticks > 1000, "{ticks}");
    let (ticks, found) = ticks_of(&format!("(?>a)*?{long}b"), 0, other.repeat(2).as_bytes());
    assert_eq!(found, Ok(false));
    assert!(ticks > 1000, "{ticks}");
    let (ticks, found) = ticks_of(r"(?:a(?<!b.{2000}))*x", 0, long.as_bytes());
    assert_eq!(found, Ok(false));
    assert!(ticks > 100, "{ticks}");
}

#[test]
fn finished_look_arounds_leave_nothing_on_the_stack() {
    let comment = |length: usize| format!("<!--{}-->", "x".repeat(length));
    assert_eq!(ticks_of("<!--(?:(?!-->).)*-->", MULTILINE, comment(1_000_000).as_bytes()).1, Ok(true));
    assert_eq!(ticks_of("<!--(?:(?!-->).)*-->", MULTILINE, comment(1_100_000).as_bytes()).1, Err(Stop::Stack));
    assert_eq!(ticks_of("(?:(?=x)(?>x))*y", 0, ("x".repeat(1_000_000) + "y").as_bytes()).1, Ok(true));
}

#[test]
fn calls_do_not_keep_more_registers_than_fit() {
    let source = format!("(?<a>x{}\\g<a>?y)", "(?=.)".repeat(2000));
    assert_eq!(ticks_of(&source, 0, "x".repeat(20_000).as_bytes()).1, Err(Stop::Stack));
    assert_eq!(ticks_of(&source, 0, b"xxyyy").1, Ok(true));
}

#[test]
fn large_patterns_compile_in_time_or_are_refused() {
    let begin = std::time::Instant::now();
    let literal = "a".repeat(1_000_000);
    let text = format!("{literal}b");
    assert_eq!(find(&format!("{literal}(?=b)"), text.as_bytes()), Some(vec![0, 1_000_000]));
    // Small sources: 3 to the power of 20 copies, and 400 references to each of 400 groups.
    let copies = format!("(?:ab){}", "{3}".repeat(20));
    assert_eq!(Pattern::new(copies.as_bytes(), 0).map(|_| ()), Err("the pattern is too large".into()));
    let named = "(?<n>)".repeat(400) + &r"\k<n>".repeat(400);
    let refused = Err("too many references to groups of the same name".into());
    assert_eq!(Pattern::new(named.as_bytes(), 0).map(|_| ()), refused);
    let names: String = (0..32_000).map(|number| format!("(?<n{number}>)")).collect();
    assert!(Pattern::new(names.as_bytes(), 0).is_ok());
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn repetitions_that_can_be_empty_take_no_exponential_time() {
    let text = "a".repeat(60) + "!";
    for source in [
        "^(a*)*$",
        r"\A(\s*\w*)*\z",
        "^(a?b?)+$",
        "^(a|b*)*$",
        r"(\s*\w*)*;",
        r"^([0-9a-zA-Z\-/]*){1,256}$",
        r"^(a*)*\Z",
        r"^(?:a|a?)+?\Z",
        r"^(a?){3,40}\Z",
        r"\Ga*?a*?a*?a*?a*?a*?$",
    ] {
        let pattern = Pattern::new(source.as_bytes(), 0).unwrap();
        let mut slots = vec![UNSET; (pattern.groups as usize + 1) * 2];
        let found = pattern.search(text.as_bytes(), 0, How::default(), &mut slots, &mut some_ticks(100));
        assert_eq!(found, Ok(false), "{source}");
        let on_machine = pattern.search_on_machine(text.as_bytes(), 0, How::default(), &mut some_ticks(100));
        assert_eq!(on_machine, Ok(None), "{source}");
    }
    assert!(Pattern::new(b"^(a*)*$", 0).unwrap().is_linear());
    assert!(Pattern::new(b"(a){0}b", 0).unwrap().is_linear());
    // CRuby's positions. The last match is found behind many failures, which it remembers.
    assert_eq!(find("(a*)*", b"aab"), Some(vec![0, 2, 2, 2]));
    assert_eq!(find("(a|b*)*", b"aab"), Some(vec![0, 3, 3, 3]));
    assert_eq!(find("((a)|b?)+c", b"abc"), Some(vec![0, 3, 2, 2, 0, 1]));
    assert_eq!(find("(?:(a*)*!|(a*)*)$", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaa"), Some(vec![0, 28, UNSET, UNSET, 28, 28]));
    assert_eq!(find("(?:((.*)*|){2,5}|){4,}c", b"bcc").map(|slots| slots[0]), Some(0));
}

/// A generator of random numbers, so that each run has the same patterns.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn pick(&mut self, parts: &[&str], most: usize) -> String {
        (0..self.below(most)).map(|_| parts[self.below(parts.len())]).collect()
    }
}

fn some_ticks(mut left: u32) -> impl FnMut() -> Result<(), Stop> {
    move || {
        left = left.saturating_sub(1);
        if left == 0 { Err(Stop::Timeout) } else { Ok(()) }
    }
}

/// Pieces of patterns; many combinations are no valid pattern.
#[rustfmt::skip]
const ODD: &[&str] = &[
    "a", "b", ".", "*", "+", "?", "(", ")", "[", "]", "^", "$", "|", "\\", "{2}", "{1,}", "(?:", "(?=", "(?!", "(?<=",
    "(?<!", "(?>", "(?<n>", "\\1", "\\k<n>", "\\g<n>", "\\b", "\\w", "[^", "&&", "-", "(?i)", "ä", "\\d", "\\x",
    "\\u", "\\A", "\\z", "\\Z", "\\K", "\\R", "[:digit:]", "(?(1)", "\n", "#", "+?", "\\G", "{,3}", "\\c", "\\M-",
    "\\0",
];

#[test]
fn no_pattern_and_no_text_make_it_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..10_000 {
        let source = random.pick(ODD, 12);
        let Ok(pattern) = Pattern::new(source.as_bytes(), random.below(8) as u32) else { continue };
        let text: Vec<u8> = (0..random.below(12)).map(|_| b"ab\n\xc3\xa4\xffA #"[random.below(9)]).collect();
        let mut slots = vec![UNSET; (pattern.groups as usize + 1) * 2];
        let how = How { anchored: random.below(2) == 0, bytes: std::str::from_utf8(&text).is_err() };
        for start in 0..=text.len() {
            if pattern.search(&text, start, how, &mut slots, &mut some_ticks(100)) == Ok(true) {
                assert!(slots[0] <= text.len() && slots[1] <= text.len(), "{source:?} {text:?}");
            }
        }
    }
}

#[test]
fn both_ways_agree_on_patterns_of_chance() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let parts = [
        "a", "b", "c", ".", "*", "+", "?", "(", ")", "(?:", "|", "[ab]", "[^a]", "{2}", "{1,2}", "*?", "+?", "??", "^",
        "$", "\\b", "\\B", "\\w", "ä", "(?i:A)", "\\A", "\\z", "",
    ];
    let mut compared = 0;
    for _ in 0..10_000 {
        let source = random.pick(&parts, 9);
        let Ok(pattern) = Pattern::new(source.as_bytes(), 0) else { continue };
        let text = random.pick(&["a", "b", "c", "ä", "A", "\n"], 8);
        let mut slots = vec![UNSET; (pattern.groups as usize + 1) * 2];
        let found = pattern.search(text.as_bytes(), 0, How::default(), &mut slots, &mut go_on()).unwrap();
        let other = pattern.search_on_machine(text.as_bytes(), 0, How::default(), &mut some_ticks(1000));
        let Ok(other) = other else { continue };
        assert_eq!(found.then_some(slots), other, "{source:?} in {text:?}");
        compared += usize::from(pattern.is_linear());
    }
    assert!(compared > 1000, "{compared}");
}
