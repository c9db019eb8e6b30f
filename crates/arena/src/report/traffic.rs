//! Tables of a duel's results at the user's rate, beside the figures of its cases, for the page and the terminal.

use serde::Serialize;

use super::number;
use super::styles::{Chip, Styles};
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

/// Tables on what breaks first, on fewer processors, and on the cost of the rate.
pub fn facts(summary: &Summary, traffic: &Traffic, styles: &Styles) -> Vec<TrafficTable> {
    let mut all = vec![TrafficTable {
        title: "What breaks first when the rate doubles".to_owned(),
        note: String::new(),
        heads: vec![said("Carries"), said("Breaks at"), said("What broke, and why")],
        rows: rows(traffic, styles, &broken),
    }];
    if traffic.cores == 1 {
        let note = "This machine has one processor: there is no smaller one to model.".to_owned();
        all.push(TrafficTable { title: "A smaller machine".to_owned(), note, ..TrafficTable::default() });
    } else if !traffic.smaller_cases.is_empty() {
        all.push(smaller(summary, traffic, styles));
    }
    let mut heads = vec![number("Processors", "at the rate")];
    heads.extend(traffic.mean_per_s.map(|_| number("Processors", "at the mean rate")));
    heads.extend([
        number("Memory", "MiB, peak"),
        number("A million requests", "s of processor"),
        said("A machine that carries it"),
    ]);
    all.push(TrafficTable {
        title: "What the rate takes".to_owned(),
        note:
            "The machine has the fewest processors that were tried and held, and the next usual size of memory above \
               one and a half times the peak and 128 MiB for the system. Processors at the mean rate are worked out \
               from the processor time of a request."
                .to_owned(),
        heads,
        rows: rows(traffic, styles, &|one| cost(one, traffic)),
    });
    all
}

fn rows(traffic: &Traffic, styles: &Styles, cells: &dyn Fn(&Carried) -> Vec<String>) -> Vec<TrafficRow> {
    let row = |one: &Carried| TrafficRow { chip: styles.chip(&one.contender), cells: cells(one) };
    traffic.carried.iter().map(row).collect()
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
    let unsure = one.between().filter_map(|step| Some(format!("{} {}", rate(step), step.unsure()?)));
    let carries: Vec<String> = one.highest().map(rate).into_iter().chain(unsure).collect();
    let carries = if carries.is_empty() { "not the rate".to_owned() } else { carries.join("; ") };
    match one.breaks_at() {
        Some(step) => vec![carries, rate(step), step.what.clone()],
        None => {
            let cause = one.between().find(|step| step.broke > 0).map_or_else(String::new, |step| step.what.clone());
            let breaks = if cause.is_empty() { "not reached" } else { "not surely" };
            vec![carries, breaks.to_owned(), cause]
        }
    }
}

fn smaller(summary: &Summary, traffic: &Traffic, styles: &Styles) -> TrafficTable {
    let mut sizes: Vec<u32> = traffic.carried.iter().flat_map(|one| &one.smaller).map(|step| step.of).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    let head =
        |size: &u32| said(&if *size == 1 { "On one processor".to_owned() } else { format!("On {size} processors") });
    let cell = |one: &Carried, size: u32| {
        let Some(step) = one.smaller.iter().find(|step| step.of == size) else { return "not asked".to_owned() };
        let case = summary
            .cases
            .iter()
            .find(|case| traffic.smaller_cases.contains(&case.name) && case.name.ends_with(&format!("-{size}")));
        let found = case.and_then(|case| case.results.iter().find(|result| result.contender == one.contender));
        let p99 = found.and_then(|found| found.numbers.get(P99)).zip(Metric::of(P99));
        let p99 =
            p99.map_or_else(String::new, |(p99, metric)| format!(", p99 {}", number::with_unit(p99.median, metric)));
        match step.held() {
            Held::Yes => format!("holds{p99}"),
            Held::No => format!("does not hold{p99}: {}", step.what),
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
        rows: rows(traffic, styles, &|one| sizes.iter().map(|size| cell(one, *size)).collect()),
    }
}

fn cost(one: &Carried, traffic: &Traffic) -> Vec<String> {
    let columns = 4 + usize::from(traffic.mean_per_s.is_some());
    let Some(cost) = &one.cost else {
        return (1..columns).map(|_| number::NONE.to_owned()).chain(["none that was tried".to_owned()]).collect();
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

    fn cells(broke: &[u32]) -> Vec<String> {
        let step = |(of, broke): (u32, &u32)| Step {
            of,
            per_s: f64::from(of) * 100.0,
            rounds: 3,
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
    }
}
