//! Date._parse: the fields of a date and time in a text of any order and form. Rules are tried one after the other;
//! each removes from the text the part that it understands (`guess_rules.rs`).

use super::guess_rules::{Found, Text, rules};
use super::known::{Known, offset};
use ruby_native::Tree;
use ruby_native::{Arg, Context, Outcome, arg};
use ruby_native::{Raise, raise};

/// Most bytes of a text where `limit: nil` says none: the rules look at a text many times, and cannot be interrupted.
const LENGTH_MAX: usize = 64 << 10;

/// `date_guess(text, complete, limit)`: a Hash of the fields. With `complete`, a year of two digits gets its century:
/// 69 to 99 are in the 1900s. `limit` is the most bytes of the text, or nil.
pub fn guess(_: &mut Context<'_>, args: &[Arg<'_>]) -> Outcome {
    let text = arg(args, 0).text()?;
    let limit = match arg(args, 2) {
        Arg::Nil => LENGTH_MAX,
        limit => usize::try_from(limit.int()?).unwrap_or(0),
    };
    if text.len() > limit {
        let message = format!("string length ({}) exceeds the limit {limit}", text.len());
        return Err(raise("ArgumentError", message));
    }
    Ok(guessed(&text, arg(args, 1).truthy())?.hash())
}

fn guessed(text: &str, complete: bool) -> Result<Known, Raise> {
    // Characters that no rule uses separate words, as blanks do.
    let kept = |char: char| char.is_ascii_alphanumeric() || "-+',./:@[]".contains(char);
    let plain: String = text.chars().map(|char| if kept(char) { char } else { ' ' }).collect();
    let mut state = Found { text: Text::new(plain), known: Known::default(), before_christ: false };
    for rule in rules().map_err(|error| raise("RuntimeError", error))? {
        rule.apply(&mut state);
    }
    let mut known = state.known;
    if let Some(zone) = known.text("zone") {
        known.put("offset", offset(&zone).map_or(Tree::Nil, Tree::Int));
    }
    if state.before_christ {
        for name in ["cwyear", "year"] {
            if let Some(year) = known.get(name) {
                known.set(name, 1 - year);
            }
        }
    }
    let whole = known.get("_whole") == Some(1);
    known.remove("_whole");
    known.remove("_date");
    if complete && !whole && !state.before_christ {
        for name in ["cwyear", "year"] {
            match known.get(name) {
                Some(year @ 0..=68) => known.set(name, year + 2000),
                Some(year @ 69..=99) => known.set(name, year + 1900),
                _ => {}
            }
        }
    }
    Ok(known)
}
