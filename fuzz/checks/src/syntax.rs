//! Ruby programs of any tokens, for the embedded interpreter's parser and code generator. A program is what the input's
//! bytes choose: single tokens, and pieces of the interpreter's own test programs. Each is compiled, and some are run
//! for a moment; whether they are Ruby does not matter, only that the process lives. FOOLSGOLD_SHOW=1 prints each
//! program.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use engine::Input;

use crate::support::{self, App};

/// Compiles what it is posted; runs it when the path is /run. The first statement keeps the rest from running.
const COMPILER: &str = r#"
run lambda { |env|
  text = env["rack.input"].read
  text = "Kernel.raise 'compiled'\n#{text}" unless env["PATH_INFO"] == "/run"
  begin
    Object.new.instance_eval(text)
  rescue Exception
    nil
  end
  [200, {}, []]
}
"#;

/// One program in so many is run.
const RUNS_ONE_IN: u64 = 8;
/// And for so long.
const RUN_TIME: Duration = Duration::from_millis(20);
const TOKENS_MAX: u64 = 60;

const SEEDS: &[&str] = &[
    include_str!("../../../crates/engine-mruby/tests/tables/language.txt"),
    include_str!("../../../crates/engine-mruby/tests/spec/core.txt"),
    include_str!("../../../crates/engine-mruby/tests/spec/blocks.txt"),
    include_str!("../../../crates/engine-mruby/tests/spec/parameters.txt"),
    include_str!("../../../crates/engine-mruby/tests/spec/strings.txt"),
    include_str!("../../../crates/engine-mruby/ruby/core/language.rb"),
    include_str!("../../../crates/engine-mruby/ruby/rack/builder.rb"),
];

/// What programs consist of, besides the tokens of the seeds. Those that stand close together open and close.
const TOKENS: &str = r##"
begin rescue ensure else elsif end retry if unless while until for in do then case when class module def undef alias
return break next redo yield super self nil true false not and or defined? BEGIN END __method__ __FILE__ __LINE__
( ) [ ] { } |a| |a,| |a,b=1,*c,d:,e:2,**f,&g| |(a,b),*| || | -> ->(x) lambda proc { |x; y|
= == === =~ != !~ ! < > <= >= <=> << >> + - * / % ** & && | || ^ ~ ? : :: . &. .. ... , ; => \
+= -= *= /= %= **= <<= >>= &= &&= |= ||= ^=
_1 _2 _9 _10 it a b x @a @@a $a $1 $~ $! $_ $& $stdout A A::B ::A a? a! a= foo foo( p puts
a: "a": a:1 :a :"a" :"a#{1}" :+ :[]= %w[ %i[ %q( %Q( %( %r{ %x( %s( %I[ %W[
1 0 -1 1.5 1r 2i 0x1f 1_000 1e3 9223372036854775807 99999999999999999999 ?a ?\n
"a" 'a' "#{" "a#{1}b" #{ #@a #$1 ` /a/ /a#{b}/i " ' `a`
<<A <<~A <<-'A' A <<~"B" B =begin =end __END__
*a **a &a *[] **{} &:a &nil ... *, **nil a=1 a=*b a,b=b,a *a,b= (a,b),c= a.b= a[0]= a&.b+= A::B||= @a||= a[0]||=
_1||= _1+=
private public attr_accessor require raise catch throw loop binding eval instance_eval send define_method
"##;

/// Beginnings of constructs.
const OPENINGS: [&str; 12] = [
    "[1].map { ",
    "->(a) { ",
    "def m(a, b = 1, *c, k: 2, &d)\n",
    "begin\n",
    "while a\n",
    "case a\nwhen ",
    "if a\n",
    "class A\n",
    "\"#{",
    "rescue => ",
    "for ",
    "x = ",
];

static APP: LazyLock<App> = LazyLock::new(|| {
    let mut settings = support::settings();
    settings.max_requests = 2_000;
    support::try_app(COMPILER, settings).unwrap_or_else(|error| panic!("{error}"))
});
static TABLE: LazyLock<Vec<&str>> = LazyLock::new(|| TOKENS.split_whitespace().collect());
static PIECES: LazyLock<Vec<&str>> = LazyLock::new(|| SEEDS.iter().flat_map(|seed| tokens(seed)).collect());
static SHOWS: LazyLock<bool> = LazyLock::new(|| std::env::var_os("FOOLSGOLD_SHOW").is_some());

/// Cuts a program into words, numbers, single characters, and the blanks between them. Results beside programs
/// (`#=> 1`) are tokens as well.
fn tokens(text: &'static str) -> Vec<&'static str> {
    let kind = |c: char| if c.is_alphanumeric() || "_@$?!".contains(c) { 1 } else { u8::from(c == ' ') * 2 };
    let mut found = Vec::new();
    let mut begin = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        let kind = kind(c);
        if last.is_some_and(|last| last != kind || kind == 0) {
            found.push(&text[begin..at]);
            begin = at;
        }
        last = Some(kind);
    }
    found.push(&text[begin..]);
    found
}

/// Numbers from the input's bytes; when these are over, from a generator that they seeded.
struct Choices<'a> {
    bytes: &'a [u8],
    state: u64,
}

impl Choices<'_> {
    fn of(bytes: &[u8]) -> Choices<'_> {
        let state = bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        Choices { bytes, state: state | 1 }
    }

    fn next(&mut self) -> u64 {
        if let Some((pair, rest)) = self.bytes.split_at_checked(2) {
            self.bytes = rest;
            return (u64::from(pair[0]) << 8) | u64::from(pair[1]);
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 20
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn program(choices: &mut Choices<'_>) -> String {
    let mut text = String::new();
    for _ in 0..1 + choices.below(TOKENS_MAX as usize) {
        match choices.below(8) {
            // A token of its own.
            0..=3 => {
                text.push_str(TABLE[choices.below(TABLE.len())]);
                text.push_str([" ", " ", " ", "", "\n"][choices.below(5)]);
            }
            // A piece of a seed.
            4 | 5 => {
                let begin = choices.below(PIECES.len());
                let end = (begin + 1 + choices.below(16)).min(PIECES.len());
                text.extend(PIECES[begin..end].iter().copied());
            }
            // A construct, so that what comes next stands inside of something.
            6 => text.push_str(OPENINGS[choices.below(OPENINGS.len())]),
            // And its end.
            _ => text.push_str(["}", "\nend\n", ")", "]", "}\"", "\n"][choices.below(6)]),
        }
    }
    text
}

/// Panics where the bytes find a fault.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let runs = choices.next().is_multiple_of(RUNS_ONE_IN);
    let text = program(&mut choices);
    if *SHOWS {
        eprintln!("--- {}\n{text}", if runs { "run" } else { "compiled" });
    }
    let mut request = support::get(if runs { "/run" } else { "/" });
    request.input = Input::Memory(Bytes::from(text));
    if runs {
        request.deadline = Instant::now() + RUN_TIME;
    }
    drop(APP.call(request));
}
