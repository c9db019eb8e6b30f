//! Division of a request's time, for a page: the plot, a table, and sentences on the winner and the loser of a case.

use serde::Serialize;

use super::number;
use super::plot::{self, Drawing, in_order};
use super::rows::{self, Table};
use super::styles::Styles;
use crate::record::summary::{Case, Measured};
use loadgen::metric::{
    AFTER_APP, APP_PROCESSOR, APP_WAITING, DIVIDED, DIVIDED_REQUESTS, IN_ACCEPT_QUEUE, IN_GENERATOR, IN_SERVER, PARTS,
    RUN_QUEUE,
};

/// Sentences, plot and table of a case.
#[derive(Serialize)]
pub struct DivisionView {
    words: String,
    drawing: Drawing,
    table: Table,
}

/// The division in a case; `None` if none was measured.
pub fn of(case: &Case, styles: &Styles, id: &str) -> Option<DivisionView> {
    let drawing = plot::division(case, styles, id)?;
    let mut metrics = vec![DIVIDED];
    metrics.extend(PARTS);
    metrics.extend([RUN_QUEUE, DIVIDED_REQUESTS]);
    let shown = Case {
        metrics: metrics.into_iter().map(str::to_owned).collect(),
        published: Vec::new(),
        ranking: case.ranking.clone(),
        undecided: case.undecided.clone(),
        results: case.results.iter().filter(|result| plot::is_divided(result)).map(of_one_round).collect(),
        ..Case::default()
    };
    Some(DivisionView { words: in_words(case, styles), drawing, table: rows::table(&shown, styles, None) })
}

/// The result with the figures of the shown round in place of the medians.
fn of_one_round(result: &Measured) -> Measured {
    let mut shown = result.clone();
    for (name, spread) in &mut shown.numbers {
        spread.median = plot::in_middle_round(result, name).unwrap_or(spread.median);
    }
    shown
}

/// Sentences on the first and the last ranked contender.
fn in_words(case: &Case, styles: &Styles) -> String {
    let ranked = case.ranking.iter().flatten().count();
    let known: Vec<&Measured> = in_order(case).into_iter().take(ranked).filter(|one| plot::is_divided(one)).collect();
    let shown = match known[..] {
        [] => Vec::new(),
        [one] => vec![one],
        [first, .., last] => vec![first, last],
    };
    shown.into_iter().filter_map(|one| sentence(one, styles)).collect::<Vec<_>>().join(" ")
}

/// Sentence on the largest part, and on the processor time of the application.
fn sentence(result: &Measured, styles: &Styles) -> Option<String> {
    let ms = |name: &str| plot::in_middle_round(result, name).unwrap_or(0.0);
    let all: f64 = PARTS.into_iter().map(ms).sum();
    let largest = PARTS.into_iter().max_by(|one, other| ms(one).total_cmp(&ms(other)))?;
    let place = match largest {
        IN_GENERATOR => "in the load generator itself",
        IN_ACCEPT_QUEUE => "in the accept queue",
        IN_SERVER => "in the server before the application",
        APP_PROCESSOR => "on a processor in the application",
        APP_WAITING => "waiting in the application",
        AFTER_APP => "on their way back from the application",
        _ => return None,
    };
    let used = match number::significant(ms(APP_PROCESSOR)) {
        _ if largest == APP_PROCESSOR => String::new(),
        used => format!(", {used} on a processor in the application"),
    };
    let title = styles.title(&result.contender);
    let part = number::significant(ms(largest));
    let all = number::significant(all);
    Some(format!("{title}: requests spent {part} of {all}\u{202f}ms {place}{used}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_shown_are_of_one_round_and_add_up() {
        // The medians are 10, 3 and 4.
        let numbers = [(DIVIDED, [10.0, 30.0, 5.0]), (IN_SERVER, [8.0, 3.0, 1.0]), (APP_WAITING, [2.0, 27.0, 4.0])];
        let shown = of_one_round(&Measured::of("", &numbers));
        assert_eq!([IN_SERVER, APP_WAITING].map(|name| shown.numbers[name].median), [8.0, 2.0]);
    }
}
