//! Tables of a duel's results at the user's rate, beside the figures of its cases, for the page and the terminal.

use serde::Serialize;

use super::styles::{Chip, Styles};
use super::{number, twins};
use crate::record::machine;
use crate::record::summary::{Carried, Held, Step, Summary, Traffic};
use loadgen::metric::{Metric, P99, rate_in_words};

/// A table of text and figures.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrafficTable {
    /// Title above the table.
    pub title: String,
    /// Note below the table.
    pub note: String,
    /// Columns after that of the contenders.
    pub heads: Vec<TrafficHead>,
    /// Rows, one for each contender.
    pub rows: Vec<TrafficRow>,
}

/// Head of a column.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrafficHead {
    /// Title of the column.
    pub title: String,
    /// Unit of the column; empty for none.
    pub unit: String,
    /// Whether the column has figures.
    pub is_number: bool,
}

/// A contender's row.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrafficRow {
    /// Title and mark of the contender.
    pub chip: Chip,
    /// Cells, one for each head.
    pub cells: Vec<String>,
}

/// Tables on what breaks first, on fewer processors, and on the cost of the rate, if any contender carries it.
pub fn facts(summary: &Summary, traffic: &Traffic, styles: &Styles) -> Vec<TrafficTable> {
    let of_twin = match traffic.twin {
        Some(_) => " The twin is the same server once more: where the two differ, it is by chance.",
        None => "",
    };
    let mut all = vec![TrafficTable {
        title: "What breaks first when the rate doubles".to_owned(),
        note: format!(
            "From one load to the next the rate at least doubles: servers of nearly the same capacity may be a whole \
             step apart. Figures of what broke are medians of the rounds in which it did.{of_twin}"
        ),
        heads: vec![said("Carries"), said("Breaks at"), said("What broke, and why")],
        rows: rows(summary, traffic, styles, &broken),
    }];
    if traffic.cores == 1 {
        let note = "This machine has one processor: there is no smaller one to model.".to_owned();
        all.push(TrafficTable { title: "A smaller machine".to_owned(), note, ..TrafficTable::default() });
    } else if !traffic.smaller_cases.is_empty() {
        all.push(smaller(summary, traffic, styles));
    }
    if traffic.carried.iter().all(|one| one.cost.is_none()) {
        return all;
    }
    let of_mean = match traffic.mean_per_s {
        Some(_) => " Processors at the mean rate are worked out from the processor time of a request.",
        None => "",
    };
    let mut heads = vec![number("Processors", "at the rate")];
    heads.extend(traffic.mean_per_s.map(|_| number("Processors", "at the mean rate")));
    heads.extend([
        number("Memory, peak", "MiB"),
        number("A million requests", "s of processor"),
        said("A machine that carries it"),
    ]);
    all.push(TrafficTable {
        title: "What the rate takes".to_owned(),
        note: format!(
            "The machine has the fewest processors that were tried and held, and the next usual size of memory above \
             one and a half times the peak memory and 128 MiB for the system. Peak memory is the highest sum of the \
             PSS of all of a server's processes at the rate.{of_mean}"
        ),
        heads,
        rows: rows(summary, traffic, styles, &|one| cost(one, traffic)),
    });
    all
}

fn rows(
    summary: &Summary,
    traffic: &Traffic,
    styles: &Styles,
    cells: &dyn Fn(&Carried) -> Vec<String>,
) -> Vec<TrafficRow> {
    let row = |one: &Carried| TrafficRow { chip: styles.chip(&one.contender), cells: cells(one) };
    let twin = traffic.twin.iter().map(|one| TrafficRow { chip: twins::chip(summary, styles), cells: cells(one) });
    traffic.carried.iter().map(row).chain(twin).collect()
}

fn said(title: &str) -> TrafficHead {
    TrafficHead { title: title.to_owned(), ..TrafficHead::default() }
}

fn number(title: &str, unit: &str) -> TrafficHead {
    TrafficHead { title: title.to_owned(), unit: unit.to_owned(), is_number: true }
}

fn rate(step: &Step) -> String {
    let times = if step.of == 1 { "the rate".to_owned() } else { format!("{} ×", step.of) };
    format!("{times} ({}/s)", rate_in_words(step.per_s))
}

fn broken(one: &Carried) -> Vec<String> {
    let unknown = |step: &Step| step.unknown().map(|why| format!("not known: {why}"));
    let unsure =
        one.between().filter_map(|step| Some(format!("{} {}", rate(step), unknown(step).or_else(|| step.unsure())?)));
    let carries: Vec<String> = one.highest().map(rate).into_iter().chain(unsure).collect();
    let carries = if carries.is_empty() { "not the rate".to_owned() } else { carries.join("; ") };
    match one.breaks_at() {
        Some(step) => vec![carries, rate(step), step.too_much()],
        None => {
            let cause = one.between().find(|step| step.broke > 0).map_or_else(String::new, |step| step.what.clone());
            let breaks = if cause.is_empty() { "not reached" } else { "not surely" };
            vec![carries, breaks.to_owned(), cause]
        }
    }
}

fn smaller(summary: &Summary, traffic: &Traffic, styles: &Styles) -> TrafficTable {
    let all = traffic.carried.iter().chain(&traffic.twin);
    let mut sizes: Vec<u32> = all.flat_map(|one| &one.smaller).map(|step| step.of).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let head = |size: &u32| said(&format!("On {}", machine::processors(*size)));
    let cell = |one: &Carried, size: u32| {
        let Some(step) = one.smaller.iter().find(|step| step.of == size) else { return "not asked".to_owned() };
        let case = summary
            .cases
            .iter()
            .find(|case| traffic.smaller_cases.contains(&case.name) && case.name.ends_with(&format!("-{size}")));
        let mut results = case.into_iter().flat_map(|case| case.results.iter().chain(&case.twin));
        let found = results.find(|result| result.contender == one.contender);
        let p99 = found.and_then(|found| found.numbers.get(P99)).zip(Metric::of(P99));
        let p99 =
            p99.map_or_else(String::new, |(p99, metric)| format!(", p99 {}", number::with_unit(p99.median, metric)));
        if let Some(why) = step.unknown() {
            return format!("not known: {why}");
        }
        match step.held() {
            Held::Yes => format!("holds{p99}"),
            Held::No => format!("does not hold{p99}: {}", step.too_much()),
            Held::Unsure => {
                let what = if step.broke == 0 { String::new() } else { format!("; where not: {}", step.what) };
                format!("held {}{p99}{what}", step.unsure().unwrap_or_default())
            }
        }
    };
    TrafficTable {
        title: format!("A smaller machine than this one of {} processors", traffic.cores),
        note: "A model: the server, all of its threads, was bound to fewer processors of this machine. The load \
               generator was not, and memory and caches stayed as they are."
            .to_owned(),
        heads: sizes.iter().map(head).collect(),
        rows: rows(summary, traffic, styles, &|one| sizes.iter().map(|size| cell(one, *size)).collect()),
    }
}

fn cost(one: &Carried, traffic: &Traffic) -> Vec<String> {
    let columns = 4 + usize::from(traffic.mean_per_s.is_some());
    let Some(cost) = &one.cost else {
        let is_unknown = one.steps.first().is_some_and(|step| step.unknown().is_some());
        let machine = if is_unknown { "not known" } else { "none that was tried" };
        return (1..columns).map(|_| number::NONE.to_owned()).chain([machine.to_owned()]).collect();
    };
    let mut cells = vec![format!("{:.2}", cost.processors)];
    if traffic.mean_per_s.is_some() {
        cells.push(cost.processors_mean.map_or_else(|| number::NONE.to_owned(), |mean| format!("{mean:.2}")));
    }
    cells.extend([format!("{:.0}", cost.memory_mib), format!("{:.0}", cost.cpu_s_per_million), cost.machine()]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::Cost;

    fn cells(broke: &[u32]) -> Vec<String> {
        let step = |(of, broke): (u32, &u32)| Step {
            of,
            per_s: f64::from(of) * 100.0,
            rounds: 3,
            not_kept: 0,
            broke: *broke,
            what: if *broke > 0 { "the p99 was 900 ms".to_owned() } else { String::new() },
        };
        broken(&Carried { steps: [1, 2, 4].into_iter().zip(broke).map(step).collect(), ..Carried::default() })
    }

    #[test]
    fn what_the_rounds_do_not_tell_is_said_in_how_many() {
        let slow = "the p99 was 900 ms";
        assert_eq!(
            cells(&[0, 1, 3]),
            ["the rate (100/s); 2 × (200/s) in 2 of 3 rounds, not sure", "4 × (400/s)", slow]
        );
        assert_eq!(cells(&[0, 0, 0]), ["4 × (400/s)", "not reached", ""]);
        assert_eq!(cells(&[0, 0, 2]), ["2 × (200/s); 4 × (400/s) in 1 of 3 rounds, not sure", "not surely", slow]);
        assert_eq!(cells(&[3, 3, 3]), ["not the rate", "the rate (100/s)", slow]);
        let step = Step { of: 2, per_s: 200.0, rounds: 4, broke: 3, what: slow.to_owned(), ..Step::default() };
        let most = broken(&Carried { steps: vec![step], ..Carried::default() });
        assert_eq!(most[1..], ["2 × (200/s)", "in 3 of 4 rounds the p99 was 900 ms"]);
    }

    #[test]
    fn the_twin_has_a_row_of_its_own() {
        let of = |name: &str| Carried { contender: name.into(), ..Carried::default() };
        let traffic = Traffic { carried: vec![of("a")], twin: Some(of("twin")), cores: 2, ..Traffic::default() };
        let summary = Summary { twin_of: Some("a".into()), ..Summary::default() };
        let table = facts(&summary, &traffic, &Styles::default()).remove(0);
        let titles: Vec<&str> = table.rows.iter().map(|row| row.chip.title.as_str()).collect();
        assert_eq!(titles, ["a", "the twin of a"]);
        assert!(table.note.contains("The twin is the same server"), "{}", table.note);
    }

    #[test]
    fn what_the_rate_takes_has_a_table_only_if_somebody_carries_it() {
        let titles = |costs: &[Option<Cost>]| -> Vec<String> {
            let carried = costs.iter().map(|cost| Carried { cost: cost.clone(), ..Carried::default() }).collect();
            let traffic = Traffic { carried, ..Traffic::default() };
            let all = facts(&Summary::default(), &traffic, &Styles::default());
            all.into_iter().map(|table| table.title).collect()
        };
        let (breaks, takes) = ("What breaks first when the rate doubles", "What the rate takes");
        assert_eq!(titles(&[None, None]), [breaks]);
        assert_eq!(titles(&[None, Some(Cost::default())]), [breaks, takes]);
    }

    #[test]
    fn a_rate_that_the_load_generator_could_not_keep_is_not_one_that_broke() {
        let step = |of: u32, rounds: u32, not_kept: u32| Step {
            of,
            per_s: f64::from(of) * 100.0,
            rounds,
            not_kept,
            ..Step::default()
        };
        let of = |steps: Vec<Step>| {
            let one = Carried { steps, ..Carried::default() };
            (broken(&one), cost(&one, &Traffic::default()).pop())
        };
        let (cells, _) = of(vec![step(1, 3, 0), step(2, 1, 2), step(4, 0, 1)]);
        let unsure = "2 × (200/s) in 1 of 1 round, not sure (in 2 more the load generator could not keep the rate)";
        let unknown = "4 × (400/s) not known: in 1 round the load generator could not keep the rate";
        assert_eq!(cells, [format!("the rate (100/s); {unsure}; {unknown}").as_str(), "not reached", ""]);
        let (cells, machine) = of(vec![step(1, 0, 3)]);
        let unknown = "the rate (100/s) not known: in 3 rounds the load generator could not keep the rate";
        assert_eq!((cells[0].as_str(), machine.as_deref()), (unknown, Some("not known")));
    }
}
