//! Recommendation for the user's own request rate: which contenders carry it, and the sentences about it. Pure.

use crate::record::summary::{Held, Traffic};
use crate::report::grammar;
use crate::stats::are_apart;
use loadgen::metric::rate_in_words;

use super::choice::{Because, Choice, Criteria, NO_GAIN};
use super::compare::{P99_OPEN, Rival, SAME_P99, of_its_p99, times};

/// Caveat for every recommendation that rests on loads at the user's rate.
pub const CAVEAT: &str = "requests came at your rate, each for itself: visitors who come in bursts, or all on the \
                          hour, wait longer";

/// Multiple of the user's rate that counts as a useful reserve if a contender carries it.
const ROOM: u32 = 2;

/// Divides the contenders into those that carry the rate and the others. Not shown to break at the rate is enough; if a
/// contender is shown to carry twice the rate, those that break at it are among the others. `None` where no contender
/// carries the rate, or it was not measured.
pub fn carrying<'a>(rivals: &'a [Rival<'a>]) -> Option<(Vec<&'a Rival<'a>>, Vec<&'a Rival<'a>>)> {
    let asked: Vec<&Rival> = rivals.iter().filter(|one| one.carried.is_some()).collect();
    let holds = |one: &Rival, times: u32| one.carried.map_or(Held::Unsure, |carried| carried.holds(times));
    let is_room = asked.iter().any(|one| holds(one, 1) == Held::Yes && holds(one, ROOM) == Held::Yes);
    let is_in = |one: &&Rival| holds(one, 1) != Held::No && !(is_room && holds(one, ROOM) == Held::No);
    let (level, out): (Vec<&Rival>, Vec<&Rival>) = asked.into_iter().partition(is_in);
    (!level.is_empty()).then_some((level, out))
}

/// Sentence of the recommendation at the user's rate, with p99, memory and what the contender carries beyond the rate.
pub fn sentence(choice: &Choice, other: Option<&Rival>, criteria: &Criteria, traffic: &Traffic) -> String {
    let best = choice.best;
    let at = format!(" at your {} requests/s", rate_in_words(traffic.per_s));
    let start = choice.start(criteria, &at);
    let Some(other) = other else { return format!("{start}; nobody else got through to be compared with") };
    let whom = &other.who.name;
    if choice.out.iter().any(|out| out.who.name == *whom) {
        let what = match other.carried.map(|carried| carried.holds(1)) {
            Some(Held::No) => "it",
            _ => "twice that",
        };
        return format!("{start}; {whom} does not carry {what}");
    }
    let both = best.p99.zip(other.p99);
    let p99 = both.filter(|(a, b)| are_apart(a, b));
    let p99 = p99.map(|(a, b)| of_its_p99(a, b)).filter(|words| words != SAME_P99);
    // Where the load generator was late, one of the two has none.
    let open = both.map_or_else(String::new, |_| format!(", {P99_OPEN}"));
    let memory = best.memory.zip(other.memory).filter(|(a, b)| are_apart(a, b));
    let memory = memory.map(|(a, b)| format!("{} the memory", times(a, b)));
    match (p99, memory) {
        (Some(p99), Some(memory)) => format!("{start}; against {whom} it has {p99} and needs {memory}"),
        (Some(p99), None) => format!("{start}; against {whom} it has {p99}"),
        (None, Some(memory)) => format!("{start}; it needs {memory} of {whom}{open}"),
        (None, None) => format!("{start}; {}", beside(best, other)),
    }
}

/// What is known of a contender whose p99 and memory do not differ significantly from the recommended one's.
fn beside(best: &Rival, other: &Rival) -> String {
    let whom = &other.who.name;
    let carries = match other.carried.map_or(Held::Unsure, |carried| carried.holds(1)) {
        Held::Yes => format!("{whom} carries it as well"),
        Held::Unsure | Held::No => format!("it is not decided whether {whom} carries it"),
    };
    let compared = [("p99", best.p99.zip(other.p99)), ("memory", best.memory.zip(other.memory))];
    let compared: Vec<&str> = compared.into_iter().filter_map(|(name, both)| both.map(|_| name)).collect();
    match compared.is_empty() {
        true => carries,
        false => format!("{carries}, and the two do not differ significantly in {}", compared.join(" and ")),
    }
}

/// Reason why a contender was chosen among those that carry the rate.
pub fn because(choice: &Choice) -> String {
    let name = &choice.best.who.name;
    let is_held = |one: &Rival, times: u32| one.carried.map_or(Held::Unsure, |carried| carried.holds(times));
    let holds = |times: u32| is_held(choice.best, times);
    let room = match (holds(1), holds(ROOM)) {
        (Held::Yes, Held::Yes) => "carries your rate and twice that",
        (Held::Yes, _) => "carries your rate",
        // The rounds differ, or there was only one, or the load generator could not keep the rate.
        _ => "may carry your rate, but the rounds do not show it",
    };
    if choice.level.is_empty() {
        let alone = if choice.out.is_empty() { "" } else { ", and no other does" };
        return format!("{name} {room}{alone}");
    }
    let why = match choice.because {
        Because::P99 => "its p99 there is lowest",
        Because::Memory => "it holds clearly less memory there, and p99 does not tell them apart",
        Because::Now => NO_GAIN,
        Because::Rate | Because::Simpler => {
            "no setting is smaller (threads of all workers, then workers), and nothing else tells them apart"
        }
        Because::Shown => "it alone is shown to be better at this rate than what serves the app now",
    };
    // What the recommended one carries, the others are said to carry only where that is shown.
    let times = if holds(ROOM) == Held::Yes { ROOM } else { 1 };
    let is_shown = |one: &&Rival| is_held(one, 1) == Held::Yes && is_held(one, times) == Held::Yes;
    let (shown, unsure): (Vec<&Rival>, Vec<&Rival>) = choice.level.iter().copied().partition(is_shown);
    let (does, carries) = if shown.len() == 1 { ("does", "carries") } else { ("do", "carry") };
    let others = match (holds(1) == Held::Yes, shown.is_empty(), unsure.is_empty()) {
        (_, true, _) => format!("as may {}", listed(&unsure)),
        (true, false, true) => format!("as {does} {}", listed(&shown)),
        (true, false, false) => format!("as {does} {}, and as may {}", listed(&shown), listed(&unsure)),
        (false, false, true) => format!("while {} {carries} it", listed(&shown)),
        (false, false, false) => format!("as may {}, while {} {carries} it", listed(&unsure), listed(&shown)),
    };
    format!(
        "{name} {room}, {others}; capacity beyond that decides nothing, and it was chosen because {why}{}",
        choice.as_small()
    )
}

/// Names of contenders: A, B and C.
fn listed(some: &[&Rival]) -> String {
    grammar::list(&some.iter().map(|one| one.who.name.clone()).collect::<Vec<String>>())
}

/// Sentence on what broke a contender that does not carry the rate.
pub fn not_carried(one: &Rival) -> Option<String> {
    let step = one.carried?.breaks_at()?;
    let of = match step.of {
        1 => "your rate".to_owned(),
        2 => "twice your rate".to_owned(),
        more => format!("{more} times your rate"),
    };
    Some(format!("{} breaks at {of}, {}/s: {}", one.who.name, rate_in_words(step.per_s), step.too_much()))
}

/// Addition to the recommendation where no contender carries the rate.
pub fn not_for_the_rate(traffic: Option<&Traffic>) -> String {
    let words = |traffic: &Traffic| format!("; nobody carries your {} requests/s", rate_in_words(traffic.per_s));
    traffic.map_or_else(String::new, words)
}
