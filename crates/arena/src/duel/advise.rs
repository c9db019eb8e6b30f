//! Recommendation of a duel, from its summary alone: the server and settings to use, the reasons, and the caveats. It
//! knows no server by name: the best one is recommended, and a tie is called a tie. Pure.

use crate::record::folder::{TEMPORARY, masked};
use crate::record::summary::{Advice, Spread, Summary};
use crate::stats::{self, CONFIDENCE_PERCENT, Standing, are_apart, are_open, better, known_within, standing};
use loadgen::metric::{Direction, P99, RATE};

use super::advise_at_rate as at_rate;
use super::choice::{Because, Choice, Criteria, NO_GAIN};
use super::compare::{P99_OPEN, Rival, of_its_p99, ratio_of, rivals, server, times, value};

/// Multiple of the lowest p99 above which a p99 is out of bounds, if the user gives no bound.
const P99_TIMES_BEST: f64 = 3.0;
/// Milliseconds below which a p99 is never out of bounds, since users do not notice them.
const P99_UNNOTICED_MS: f64 = 10.0;
/// Difference of p99s, in milliseconds, below which they do not decide between contenders of equal rate.
const P99_NEAR_MS: f64 = 1.0;
/// Ratio of memory below which it does not decide between contenders of equal rate: a third more, since less is no
/// reason to change servers.
const MEMORY_NEAR: f64 = 4.0 / 3.0;

/// Share of the best rate that a setting must have reached to be recommended for its simplicity alone, where nothing
/// else decides.
const RATE_SHOWN: f64 = 0.9;

/// Recommends a contender from the results of a duel.
pub fn advise(summary: &Summary, criteria: &Criteria) -> Advice {
    let (rivals, out) = rivals(summary);
    let at_rate = summary.traffic.as_ref().and_then(|_| choose_at_rate(&rivals, criteria));
    let Some(choice) = at_rate.or_else(|| choose(&rivals, criteria)) else { return advice_of_none(out) };
    let best = choice.best;
    let other = against(&choice, &rivals, criteria);
    let mut reasons = reasons(&choice, &rivals, other);
    reasons.extend(out);
    let sentence = match summary.traffic.as_ref().filter(|_| choice.is_at_rate) {
        Some(traffic) => at_rate::sentence(&choice, other, criteria, traffic),
        None => sentence(&choice, other, criteria) + &at_rate::not_for_the_rate(summary.traffic.as_ref()),
    };
    Advice {
        contender: best.who.name.clone(),
        sentence,
        reasons,
        uncertainty: uncertainty(summary, &choice, criteria),
        command: for_users(&best.who.commands),
        rule: stats::rule(),
    }
}

/// The commands of a contender as a script for a shell. It writes the server's files into the working directory. In
/// `commands`, a text that begins with a line such as `# puma.rb` is a file of that name.
fn for_users(commands: &[String]) -> String {
    let file = |text: &String| {
        let (name, content) = text.strip_prefix("# ")?.split_once('\n')?;
        let is_name = name.contains('.') && !name.contains([' ', ':', '/']);
        is_name.then(|| format!("cat > {name} <<'END'\n{}\nEND", content.trim_end()))
    };
    let all: Vec<String> = commands.iter().map(|text| file(text).unwrap_or_else(|| text.clone())).collect();
    for_here(all.join("\n"))
}

/// Commands of a duel for the working directory, which takes the place of a server's own folder, and for port 9292,
/// Rack's default. Older duels advised some with `TMP` in the place of the folder around that one.
pub fn for_here(commands: String) -> String {
    let own = format!(r"(?:{TEMPORARY}|\bTMP)/[A-Za-z0-9-]+-[0-9]+");
    let within = format!("{own}/");
    let masks = [(r"127\.0\.0\.1:[0-9]+", "127.0.0.1:9292"), (within.as_str(), ""), (own.as_str(), ".")];
    masked(commands, &masks)
}

fn advice_of_none(out: Vec<String>) -> Advice {
    Advice {
        sentence: "no server can be recommended for this app on this machine: none got through the duel".to_owned(),
        reasons: if out.is_empty() { vec!["nobody was measured at full load".to_owned()] } else { out },
        uncertainty: vec![
            "the reasons above say why; what the servers said is in their logs, in the run's folder".to_owned(),
        ],
        rule: stats::rule(),
        ..Advice::default()
    }
}

fn choose<'a>(rivals: &'a [Rival<'a>], criteria: &Criteria) -> Option<Choice<'a>> {
    let lowest = lowest_p99(rivals);
    let usual = lowest.and_then(p99).map_or(f64::INFINITY, |lowest| (P99_TIMES_BEST * lowest).max(P99_UNNOTICED_MS));
    let bound_ms = criteria.p99_max_ms.unwrap_or(usual);
    // The user's bound is compared with the median. For the default bound a p99 must also be significantly worse than
    // the best: a wide range neither excuses a p99 far above the bound nor counts against one near it.
    let best = lowest.and_then(|one| one.p99);
    let is_worse = |spread: &Spread| best.is_some_and(|best| better(best, spread, Direction::Lower));
    let is_shown = |spread: &Spread| criteria.p99_max_ms.is_some() || is_worse(spread);
    let is_usual = criteria.p99_max_ms.is_none();
    let keeps = |one: &&Rival| {
        one.p99.is_none_or(|spread| spread.median <= bound_ms || !is_shown(spread))
            || (is_usual && half_within(one, lowest, bound_ms).is_some())
    };
    let mut within: Vec<&Rival> = rivals.iter().filter(keeps).collect();
    let out: Vec<&Rival> = rivals.iter().filter(|one| !keeps(one)).collect();
    let is_over = within.is_empty();
    if is_over {
        within = rivals.iter().min_by(|a, b| p99_order(a).total_cmp(&p99_order(b))).into_iter().collect();
    }
    let fastest = *within.first()?;
    let now = within.iter().copied().find(|one| is_now(one, criteria));
    let mut level: Vec<&Rival> = within.into_iter().filter(|one| level_rates(one, fastest)).collect();
    let (best, because) = decided(&level, now, criteria, Some(RATE_SHOWN))?;
    level.retain(|one| one.who.name != best.who.name && level_rates(one, best));
    Some(Choice { best, level, out, because, bound_ms, is_over, is_at_rate: false })
}

/// The contender with the lowest p99 at 80 % of its own capacity.
fn lowest_p99<'a>(rivals: &'a [Rival<'a>]) -> Option<&'a Rival<'a>> {
    rivals.iter().filter(|one| one.p99.is_some()).min_by(|a, b| p99_order(a).total_cmp(&p99_order(b)))
}

/// The p99 of a contender at half of its capacity, if it is within the bound there, and half of its capacity is no less
/// than 80 % of that of the contender with the lowest p99. At equal shares of capacity the fastest contender has the
/// highest rate, so that its p99 at 80 % alone would count its speed against it.
fn half_within<'a>(one: &Rival<'a>, lowest: Option<&Rival>, bound_ms: f64) -> Option<&'a Spread> {
    let serves_as_much = lowest.is_some_and(|lowest| one.rate.median * 0.5 >= lowest.rate.median * 0.8);
    one.half_p99.filter(|half| serves_as_much && half.median <= bound_ms)
}

/// At the user's rate spare capacity is only a reserve: p99 and memory decide between those that carry the rate, and
/// twice the rate if some do. `None` where the rounds show no contender that carries it.
fn choose_at_rate<'a>(rivals: &'a [Rival<'a>], criteria: &Criteria) -> Option<Choice<'a>> {
    let (mut level, out) = at_rate::carrying(rivals)?;
    let now = level.iter().copied().find(|one| is_now(one, criteria));
    // All of these carry the rate, so the rate favors none of them.
    let (best, because) = decided(&level, now, criteria, None)?;
    level.retain(|one| one.who.name != best.who.name);
    Some(Choice { best, level, out, because, bound_ms: f64::INFINITY, is_over: false, is_at_rate: true })
}

fn level_rates(one: &Rival, other: &Rival) -> bool {
    one.who.name == other.who.name || !are_apart(one.rate, other.rate)
}

/// Chooses between contenders with equal rates. Returns the recommended one and what decided. `now` is the user's
/// present server, if it is within bounds: it is kept unless another is shown to be better, even if it is level with
/// one that is better than all others. Where `rate_shown` is `None`, the rate decides nothing.
fn decided<'a>(
    level: &[&'a Rival<'a>],
    now: Option<&'a Rival<'a>>,
    criteria: &Criteria,
    rate_shown: Option<f64>,
) -> Option<(&'a Rival<'a>, Because)> {
    let (best, because) = broken_tie(level, criteria, rate_shown)?;
    let Some(now) = now else { return Some((best, because)) };
    let is_kept_for_a_figure = is_now(best, criteria) && because != Because::Now;
    if is_kept_for_a_figure || is_gain(best, now, rate_shown) {
        return Some((best, because));
    }
    let gains: Vec<&Rival> = level.iter().copied().filter(|one| is_gain(one, now, rate_shown)).collect();
    Some(match broken_tie(&gains, criteria, rate_shown) {
        None => (now, Because::Now),
        Some((alone, Because::Rate)) => (alone, Because::Shown),
        Some(other) => other,
    })
}

/// Whether a contender is shown to be better than the user's present server, by the first of rate, p99 and memory that
/// tells the two apart.
fn is_gain(one: &Rival, now: &Rival, rate_shown: Option<f64>) -> bool {
    if rate_shown.is_some() && are_apart(one.rate, now.rate) {
        return better(one.rate, now.rate, Direction::Higher);
    }
    if let Some((own, other)) = one.p99.zip(now.p99) {
        if beats_in_p99(own, other) {
            return true;
        }
        if beats_in_p99(other, own) {
            return false;
        }
    }
    one.memory.zip(now.memory).is_some_and(|(own, other)| beats_in_memory(own, other))
}

/// The best of those with equal rates, and what decided. The user's present server wins unless another is significantly
/// better by a noticeable amount: a figure that is lower by chance is no reason to change. With a `rate_shown`, the
/// simplest one must have reached this share of the best rate.
fn broken_tie<'a>(
    tied: &[&'a Rival<'a>],
    criteria: &Criteria,
    rate_shown: Option<f64>,
) -> Option<(&'a Rival<'a>, Because)> {
    let mut left: Vec<&Rival> = tied.to_vec();
    if left.len() == 1 {
        return Some((left.pop()?, Because::Rate));
    }
    let p99: fn(&'a Rival<'a>) -> Option<&'a Spread> = |one| one.p99;
    let memory: fn(&'a Rival<'a>) -> Option<&'a Spread> = |one| one.memory;
    for (because, of, beats) in
        [(Because::P99, p99, beats_in_p99 as fn(&Spread, &Spread) -> bool), (Because::Memory, memory, beats_in_memory)]
    {
        let figures: Vec<&Spread> = left.iter().filter_map(|one| of(one)).collect();
        let is_beaten = |own: &Spread| figures.iter().any(|other| beats(other, own));
        let unbeaten: Vec<&Rival> = left.iter().copied().filter(|one| !of(one).is_some_and(is_beaten)).collect();
        // Not every contender can be beaten by another, so at least one remains.
        if let [one] = unbeaten[..] {
            return Some((one, because));
        }
        left = unbeaten;
    }
    if let Some(now) = left.iter().find(|one| is_now(one, criteria)) {
        return Some((now, Because::Now));
    }
    // A contender whose wide range only may include the best rate has not shown that it reaches it.
    let top = left.iter().max_by(|a, b| a.rate.median.total_cmp(&b.rate.median))?.rate;
    let reaches = |one: &&Rival, share: f64| stats::ratio(one.rate, top).is_some_and(|ratio| ratio.median >= share);
    left.retain(|one| rate_shown.is_none_or(|share| reaches(one, share)));
    // Of several with the smallest setting it is the first, which has the highest median rate.
    Some((left.into_iter().min_by_key(|one| one.size())?, Because::Simpler))
}

/// Whether one p99 is significantly and noticeably lower than the other.
fn beats_in_p99(one: &Spread, other: &Spread) -> bool {
    better(one, other, Direction::Lower) && other.median - one.median >= P99_NEAR_MS
}

fn beats_in_memory(one: &Spread, other: &Spread) -> bool {
    better(one, other, Direction::Lower) && other.median >= one.median * MEMORY_NEAR
}

fn p99(one: &Rival) -> Option<f64> {
    one.p99.map(|spread| spread.median)
}

fn p99_order(one: &Rival) -> f64 {
    p99(one).unwrap_or(f64::INFINITY)
}

fn is_now(one: &Rival, criteria: &Criteria) -> bool {
    criteria.now.as_ref().is_some_and(|now| *now == one.who.name || *now == one.server())
}

/// The contender with which the choice is compared: the user's present one, else the best other server, else the next
/// best settings of the same server.
fn against<'a>(choice: &Choice<'a>, rivals: &'a [Rival<'a>], criteria: &Criteria) -> Option<&'a Rival<'a>> {
    let best = choice.best;
    let others = || rivals.iter().filter(|one| one.who.name != best.who.name);
    if let Some(now) = &criteria.now {
        // Exactly today's settings, if they were measured in full; else the best ones of today's server.
        let exact = others().find(|one| one.who.name == *now);
        let found = exact.or_else(|| others().find(|one| one.server() == server(now)));
        if found.is_some() && best.who.name != *now {
            return found;
        }
    }
    let in_bounds = |one: &&Rival| !choice.out.iter().any(|out| out.who.name == one.who.name);
    let foreign = || others().filter(|one| one.server() != best.server());
    foreign().find(in_bounds).or_else(|| foreign().next()).or_else(|| others().next())
}

fn sentence(choice: &Choice, other: Option<&Rival>, criteria: &Criteria) -> String {
    let best = choice.best;
    let start = choice.start(criteria, "");
    let Some(other) = other else { return format!("{start}; nobody else got through to be compared with") };
    let whom = &other.who.name;
    let rate = match standing(best.rate, other.rate) {
        Standing::Apart => format!("it serves {} what {whom} does", times(best.rate, other.rate)),
        Standing::Level => format!("it serves as much as {whom}"),
        Standing::Open => format!("its rate does not differ significantly from that of {whom}"),
    };
    let p99 = match (best.p99, other.p99) {
        (Some(a), Some(b)) if are_open(a, b) => format!(", {P99_OPEN}"),
        (Some(a), Some(b)) => format!(" at {}", of_its_p99(a, b)),
        _ => String::new(),
    };
    format!("{start}; {rate}{p99}")
}

fn reasons(choice: &Choice, rivals: &[Rival], other: Option<&Rival>) -> Vec<String> {
    let best = choice.best;
    let mut reasons = vec![format!("{}: {}", best.who.name, best.figures())];
    reasons.extend(other.map(|other| format!("{}: {}{}", other.who.name, other.figures(), beside(other, best))));
    if choice.is_over {
        let bound = value(P99, choice.bound_ms);
        reasons.push(format!("nobody keeps a p99 of {bound} at 80 % load; {} comes closest", best.who.name));
    }
    let lowest = lowest_p99(rivals).filter(|_| !choice.is_over && p99_order(best) > choice.bound_ms);
    if let (Some(lowest), Some(half)) = (lowest, half_within(best, lowest, choice.bound_ms)) {
        let half = value(P99, half.median);
        let rate = value(RATE, best.rate.median * 0.5);
        let name = &best.who.name;
        let other = &lowest.who.name;
        reasons.push(format!(
            "{name} has a p99 of {half} at half of its capacity, {rate}, which is no less than {other} had at 80 %"
        ));
    }
    reasons.extend(because(choice));
    reasons.extend(choice.out.iter().filter(|_| choice.is_at_rate).filter_map(|one| at_rate::not_carried(one)));
    let faster =
        |one: &&&Rival| !choice.is_at_rate && one.rate.median > best.rate.median && one.who.name != best.who.name;
    for fast in choice.out.iter().filter(faster) {
        let name = &fast.who.name;
        let rate = value(RATE, fast.rate.median);
        let bound = value(P99, choice.bound_ms);
        let p99 = value(P99, p99_order(fast));
        reasons.push(format!("{name} serves more, {rate}, but its p99 of {p99} at 80 % load is above {bound}"));
    }
    // The best of each other server, so that a reader finds every server among the reasons.
    let mut named = vec![best.server(), other.map_or("", |other| other.server())];
    for one in rivals {
        if !named.contains(&one.server()) {
            named.push(one.server());
            reasons.push(format!("{}: {}{}", one.who.name, one.figures(), beside(one, best)));
        }
    }
    reasons
}

/// Ratio of a contender's rate to that of the recommended one, from the rounds that both have.
fn beside(one: &Rival, best: &Rival) -> String {
    let level = match standing(one.rate, best.rate) {
        Standing::Apart => "",
        Standing::Level => ", level",
        Standing::Open => ", no significant difference",
    };
    let ratio = ratio_of(one.rate, best.rate);
    ratio.map_or_else(String::new, |ratio| format!("; {ratio} the rate of {}{level}", best.who.name))
}

fn because(choice: &Choice) -> Option<String> {
    if choice.is_at_rate {
        return Some(at_rate::because(choice));
    }
    if choice.level.is_empty() {
        return None;
    }
    let names: Vec<&str> = choice.level.iter().map(|one| one.who.name.as_str()).collect();
    let names = names.join(", ");
    let name = &choice.best.who.name;
    let why = match choice.because {
        Because::Rate => return None,
        Because::P99 => "its p99 at 80 % load is lowest",
        Because::Memory => "it holds clearly less memory, and p99 does not tell them apart",
        Because::Now => NO_GAIN,
        Because::Simpler => {
            "no setting is smaller (threads of all workers, then workers) among those whose rate was at least nine \
             tenths of the best, and nothing else tells them apart"
        }
        Because::Shown => "it alone is shown to be better than what serves the app now",
    };
    let others = choice.as_small();
    Some(format!("{name} does not differ significantly in rate from {names}; it was chosen because {why}{others}"))
}

fn uncertainty(summary: &Summary, choice: &Choice, criteria: &Criteria) -> Vec<String> {
    let best = choice.best;
    let mut words = Vec::new();
    if summary.is_quick {
        words.push(
            "this was the quick form, with turns of seconds: repeat it without --quick before you act".to_owned(),
        );
    }
    words.push(match best.rate.all.len() {
        0 | 1 => "there was one round only, so nothing is known of the spread".to_owned(),
        rounds => {
            let interval = known_within(best.rate).map_or_else(String::new, |(low, high)| {
                let name = &best.who.name;
                let (low, high) = (value(RATE, low), value(RATE, high));
                format!(
                    "; the {CONFIDENCE_PERCENT} % interval of the rate of {name} is {low} to {high}: it includes how \
                     the machine changed from round to round, most of which the ratios leave out"
                )
            });
            format!("{rounds} rounds{interval}")
        }
    });
    let level_servers = choice.level.iter().filter(|one| one.server() != best.server() && !choice.is_at_rate);
    words.extend(level_servers.map(|one| {
        format!("{} does not differ significantly from it in rate: the order may turn in another run", one.who.name)
    }));
    if is_at_the_edge(summary, best) {
        words.push(format!(
            "of all settings of {} that were tried, none has more threads than {}: larger ones may be better",
            best.server(),
            best.options()
        ));
    }
    words.push(match choice.is_at_rate {
        true => at_rate::CAVEAT.to_owned(),
        false => {
            "each p99 was measured at a share of that server's own capacity: who serves more had more to serve there"
                .to_owned()
        }
    });
    words.extend(without_p99(choice));
    words.extend(criteria.caveats.iter().cloned());
    words
}

/// Caveat about a recommended contender whose p99 at 80 % of its capacity is not shown, as where the load generator was
/// late: no bound has excluded it.
fn without_p99(choice: &Choice) -> Option<String> {
    let best = choice.best;
    let bound = Some(choice.bound_ms).filter(|bound| bound.is_finite());
    let bound = bound.map_or_else(String::new, |bound| format!(", and may be above {}", value(P99, bound)));
    let is_unknown = best.p99.is_none() && !choice.is_at_rate;
    is_unknown.then(|| format!("the p99 of {} at 80 % load is not known{bound}", best.who.name))
}

fn is_at_the_edge(summary: &Summary, best: &Rival) -> bool {
    let at_once = |workers: u32, threads: u32| workers.saturating_mul(threads);
    let own = at_once(best.who.workers, best.who.threads);
    let mut same = summary.contenders.iter().filter(|who| who.missing.is_empty() && server(&who.name) == best.server());
    same.clone().count() > 1 && same.all(|who| at_once(who.workers, who.threads) <= own)
}

#[cfg(test)]
#[path = "advise_test.rs"]
mod tests;
