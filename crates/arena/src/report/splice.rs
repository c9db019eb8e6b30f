//! Puts a table made from a summary between two marks of a Markdown page, so that no figure in prose is typed by hand:
//!
//! ```text
//! <!-- arena:begin NAME -->
//! <!-- arena:end NAME -->
//! ```
//!
//! NAME is that of the run's study or of its folder. `NAME/METRIC` shows that metric instead of the one that ranks,
//! `NAME/METRIC/CASES` only the cases whose names begin with CASES, or with one of several beginnings separated by
//! commas (`traffic-1` is no beginning of `traffic-16`), and `NAME/METRIC/CASES/ROWS` only these contenders, in this
//! order:
//! `fools-gold/p99_ms/ladder@/foolsgold,puma`. Bold and ratios refer to all contenders of the run, also to those that
//! are not shown.
//!
//! `NAME/worse/BEGINNING` lists every figure in which entries whose names start with BEGINNING are significantly worse
//! than others.

use std::collections::BTreeSet;

use super::plot::pen;
use super::rows::{self, Cell, Row};
use super::rule::Rule;
use super::{grammar, heading, number, offered_rate, ranking, remarks, settings, twins, worse};
use crate::record::machine;
use crate::record::summary::{CHECKED_ENOUGH, Case, Measured, SETTLED_BEFORE, Summary};
use crate::report::styles::Styles;
use crate::stats::Beside;
use loadgen::metric::{CHECKED_FAILED_PPM, ELAPSED, FAILED, METRICS, Metric, counts_failures, is_of_latencies};

/// Beginnings and end of the marks.
const BEGINS: &str = "<!-- arena:begin ";
const ENDS: &str = "<!-- arena:end ";
const CLOSES: &str = " -->";
/// Markup before the small text below a number.
const SMALL: &str = "<br><sub>";
/// Word in place of a metric that asks for the list of figures that are worse.
const WORSE: &str = "worse";
/// Most metrics in a table of one case.
const MOST_METRICS: usize = 5;

/// A run to show.
#[derive(Debug, Clone, Copy)]
pub struct ShownRun<'a> {
    /// Summary of the run.
    pub summary: &'a Summary,
    /// Link from the page to its folder.
    pub link: &'a str,
}

/// The page with the table of this run at its marks. An error describes missing or wrong marks.
pub fn splice(markdown: &str, name: &str, shown: ShownRun) -> Result<String, String> {
    let (start, end) = place(markdown, name)?;
    let table = table(shown, &TableQuery::of(name)).map_err(|why| format!("the place {name:?}: {why}"))?;
    Ok(format!("{}\n{table}{}", &markdown[..start], &markdown[end..]))
}

/// The table that is wanted at a place of a page, parsed from the place's name.
#[derive(Debug, Default)]
struct TableQuery<'a> {
    /// Metric to show; `None` for the one that ranks.
    metric: Option<&'a str>,
    /// Beginnings of the names of the cases to show; a number at the end must be whole. Empty for all cases.
    begin: Vec<&'a str>,
    /// Contenders to show, in this order; empty for all, in the order of the run.
    rows: Vec<&'a str>,
}

impl<'a> TableQuery<'a> {
    fn of(name: &'a str) -> TableQuery<'a> {
        let mut parts = name.splitn(4, '/').skip(1);
        TableQuery {
            metric: parts.next(),
            begin: parts.next().filter(|begin| !begin.is_empty()).map(listed).unwrap_or_default(),
            rows: parts.next().map(listed).unwrap_or_default(),
        }
    }

    /// Whether this case is shown, if it has the metric.
    fn has_case(&self, name: &str) -> bool {
        self.begin.is_empty() || self.begin.iter().any(|begin| begins(name, begin))
    }

    /// Whether this contender has a row.
    fn has(&self, name: &str) -> bool {
        self.rows.is_empty() || self.rows.contains(&name)
    }

    /// Those of these rows that are to be shown, in the order of the query.
    fn pick(&self, rows: Vec<Row>) -> Vec<Row> {
        let mut rows: Vec<Row> = rows.into_iter().filter(|row| self.has(&row.name)).collect();
        rows.sort_by_key(|row| self.rows.iter().position(|name| *name == row.name));
        rows
    }

    /// An error if one of the beginnings of cases is empty, or if no case of the run begins with it.
    fn check_cases(&self, summary: &Summary) -> Result<(), String> {
        let known: Vec<&str> = summary.cases.iter().map(|case| case.name.as_str()).collect();
        let is_unknown = |begin: &&&str| begin.is_empty() || !known.iter().any(|name| begins(name, begin));
        match self.begin.iter().find(is_unknown) {
            Some(begin) => {
                Err(format!("no case of the run of {} begins with {begin:?}; {}", summary.study, listing(&known)))
            }
            None => Ok(()),
        }
    }

    /// An error if none of these cases, which have a figure for the metric, is one of a beginning of the query; `all`
    /// are those of the run that have it.
    fn check_figures(&self, cases: &[&Case], all: &[&Case], metric: &Metric) -> Result<(), String> {
        let has = |begin: &str| cases.iter().any(|case| begins(&case.name, begin));
        let missing =
            self.begin.iter().find(|begin| !has(begin)).map(|begin| format!("no case that begins with {begin:?}"));
        let missing = missing.or_else(|| cases.is_empty().then(|| "no case".to_owned()));
        let Some(what) = missing else { return Ok(()) };
        let known: Vec<&str> = all.iter().map(|case| case.name.as_str()).collect();
        Err(format!("{what} has a figure for {}; {}", metric.name, listing(&known)))
    }

    /// An error if a contender of the query is in none of these cases.
    fn check_rows(&self, cases: &[&Case]) -> Result<(), String> {
        let known = rows::names_in(cases);
        match self.rows.iter().find(|name| !known.contains(name)) {
            Some(name) => Err(format!("{name:?} is in none of these cases; {}", listing(&known))),
            None => Ok(()),
        }
    }

    /// The beginning of the names of the entries of which a list of worse figures is. An error if there is not exactly
    /// one, or if no name begins with it.
    fn entries(&self, summary: &Summary) -> Result<&'a str, String> {
        let known = rows::names_in(&summary.cases.iter().collect::<Vec<_>>());
        let wrong = |what: &str| format!("{what}: write NAME/{WORSE}/BEGINNING; {}", listing(&known));
        match (&self.begin[..], &self.rows[..]) {
            ([begin], []) if known.iter().any(|name| !begin.is_empty() && name.starts_with(begin)) => Ok(*begin),
            ([begin], []) => Err(wrong(&format!("no name of an entry begins with {begin:?}"))),
            _ => Err(wrong(&format!("{WORSE} lists the figures of entries with one beginning"))),
        }
    }
}

/// Words that list the known names.
fn listing(known: &[&str]) -> String {
    if known.is_empty() { "there is none".to_owned() } else { format!("there are {}", known.join(", ")) }
}

/// The entries of a list with commas.
fn listed(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).collect()
}

/// Whether a name has this beginning. A number at its end must be whole: `traffic-1` is no beginning of `traffic-16`.
fn begins(name: &str, begin: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    name.strip_prefix(begin).is_some_and(|rest| !(begin.ends_with(is_digit) && rest.starts_with(is_digit)))
}

/// Names of the places of a page that show a run: by the name of its folder, or else of its study.
pub fn names_of(markdown: &str, study: &str, folder: &str) -> Vec<String> {
    let all = names(markdown);
    let of =
        |run: &str| -> Vec<String> { all.iter().filter(|name| name.split('/').next() == Some(run)).cloned().collect() };
    let own = of(folder);
    if own.is_empty() { of(study) } else { own }
}

/// Names of all places of a page, in their order.
pub fn names(markdown: &str) -> Vec<String> {
    let name = |(_, mark): (usize, &str)| Some(mark.strip_prefix(BEGINS)?.strip_suffix(CLOSES)?.to_owned());
    marks(markdown).into_iter().filter_map(name).collect()
}

/// Byte range between the mark that begins a table and the one that ends it.
fn place(markdown: &str, name: &str) -> Result<(usize, usize), String> {
    let (begins, ends) = (format!("<!-- arena:begin {name} -->"), format!("<!-- arena:end {name} -->"));
    let marks = marks(markdown);
    let mut found = (0..marks.len()).filter(|at| marks[*at].1 == begins);
    let Some(first) = found.next() else {
        let known = names(markdown);
        let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        return Err(format!("the page has no place {name:?} (a line {begins:?}); {known}"));
    };
    if found.next().is_some() {
        return Err(format!("the page has the place {name:?} twice: give the second another name"));
    }
    let start = marks[first].0 + begins.len();
    let later = &marks[first + 1..];
    match later.iter().position(|(_, mark)| *mark == ends) {
        Some(at) if !later[..at].iter().any(|(_, mark)| mark.starts_with(BEGINS)) => Ok((start, later[at].0)),
        Some(_) => Err(format!("another place begins before {name:?} ends: put {ends:?} before it")),
        None => Err(format!("the place {name:?} never ends: put a line {ends:?} after it")),
    }
}

/// Marks of a page, each with its place. A mark is a whole line, but for spaces: a name or a command in a table may
/// contain the text of one.
fn marks(markdown: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in markdown.split_inclusive('\n') {
        let mark = line.trim();
        if [BEGINS, ENDS].iter().any(|word| mark.starts_with(word)) && mark.ends_with(CLOSES) {
            found.push((at + line.len() - line.trim_start().len(), mark));
        }
        at += line.len();
    }
    found
}

/// Markdown, with a line of its date, machine and folder below.
fn table(shown: ShownRun, query: &TableQuery) -> Result<String, String> {
    let ShownRun { summary, link } = shown;
    let styles = Styles::of(summary);
    if query.metric == Some(WORSE) {
        return Ok(worse_list(shown, &styles, query.entries(summary)?));
    }
    let chosen = match query.metric {
        Some(name) => Some(Metric::of(name).ok_or_else(|| {
            let known: Vec<&str> = METRICS.iter().map(|one| one.name).filter(|one| has_figure(summary, one)).collect();
            format!("{name:?} is no metric; of those in this run {}", listing(&known))
        })?),
        None => None,
    };
    let first = summary.cases.first().ok_or_else(|| format!("the run of {} has no cases", summary.study))?;
    let metric = chosen.or(ranking::metric_of(first)).ok_or("the first case has no metric to show")?;
    let has = |case: &&Case| case.results.iter().any(|result| result.numbers.contains_key(metric.name));
    // A metric that is not named explicitly is only shown for the cases that it ranks.
    let ranks = |case: &&Case| chosen.is_some() || ranking::metric_of(case).is_some_and(|one| one.name == metric.name);
    query.check_cases(summary)?;
    let all: Vec<&Case> = summary.cases.iter().filter(has).filter(ranks).collect();
    let cases: Vec<&Case> = all.iter().copied().filter(|case| query.has_case(&case.name)).collect();
    query.check_figures(&cases, &all, metric)?;
    query.check_rows(&cases)?;
    let lines = match (&cases[..], chosen) {
        ([case], None) => one_case(case, &styles, query),
        _ => many_cases(&cases, metric, &styles, query),
    };
    let quick = if summary.is_quick { " **Quick run: not to be believed.**" } else { "" };
    let shown_results = || cases.iter().flat_map(|case| &case.results).filter(|one| query.has(&one.contender));
    let failed = shown_results().any(|result| result.failed_share() > 0.0);
    let counted = shown_results().any(|result| result.numbers.contains_key(FAILED));
    // Requests of a server that ended during its load are in no figure.
    let all_counted = shown_results().all(|result| result.disqualified.is_none());
    let failures = match (failed, counted, all_counted) {
        (true, ..) => {
            let by_whom = counted_by(&cases, &styles, query);
            format!("{} {by_whom}", for_failures(&cases, metric))
        }
        (false, true, true) => "No request failed. ".to_owned(),
        (false, true, false) => "Except for disqualified entries, no request failed. ".to_owned(),
        (false, false, _) => String::new(),
    };
    let twins = twins::compared(summary, &styles).filter(|twins| twins.is_alarm);
    let twins = twins.map_or_else(String::new, |twins| format!("{}. ", twins.words));
    let short = match &summary.shortcomings[..] {
        [] => String::new(),
        all => format!(" **Not a run as METHOD.md wants it: {}.**", all.join("; ")),
    };
    let beside = match lines.iter().any(|line| line.contains(SMALL)) {
        true => format!(
            "; below a median stands the median of its rounds' ratios to the best (1×), with the {} % interval by \
             which they are told apart",
            Rule::now().confidence
        ),
        false => String::new(),
    };
    let undecided = match lines.iter().any(|line| line.contains(number::UNDECIDED)) {
        true => "?: undecided, neither shown to be worse than the best nor within a quarter of it. ",
        false => "",
    };
    let has_latencies = match (&cases[..], chosen) {
        ([case], None) => case.metrics.iter().any(|name| is_of_latencies(name)),
        _ => is_of_latencies(metric.name),
    };
    let waited = remarks::waited_in(&cases, &styles, &|name| query.has(name)).filter(|_| has_latencies);
    let waited = waited.map_or_else(String::new, |words| format!("{words} "));
    let among = if query.rows.is_empty() { "" } else { ", among all entries of the run" };
    let place = format!(
        "{}; {}; {}{}; medians{beside}; bold: the best, and what is within a quarter of it and does not \
         differ significantly{among} (nothing where no difference is significant). \
         {undecided}{failures}{}{}{}{waited}{twins}[Run]({link}){}.{quick}{short}",
        heading::day(summary),
        heading::machine(summary).replace(" · ", ", "),
        rounds(&cases, metric, query),
        loads(&cases),
        checked_too_little(&cases, query),
        not_settled(&cases, query),
        unseen(&cases, metric, &styles, query),
        further(&cases, query),
    );
    let table = lines.join("\n");
    let settings = settings(summary, &styles, query);
    let command = match summary.command.as_str() {
        "" => String::new(),
        // On one line, so that nothing in it is a mark.
        command => format!(" Made by `{}`.", command.replace('`', "'").replace(char::is_control, " ")),
    };
    let place = escaped(&place).replace("\\[Run\\]", "[Run]");
    Ok(format!("\n{table}\n\n{settings}{place}{command}{}\n\n", busy(summary)))
}

/// Whether a contender of the run has a figure for this metric.
fn has_figure(summary: &Summary, metric: &str) -> bool {
    summary.cases.iter().flat_map(|case| &case.results).any(|result| result.numbers.contains_key(metric))
}

/// Folded list of every figure in which entries whose names start with `begin` are significantly worse than another.
fn worse_list(ShownRun { summary, link }: ShownRun, styles: &Styles, begin: &str) -> String {
    let all = worse::list(summary, styles, begin);
    let heads = ["Figure", "Entry", "Significantly better: ratio of the entry's figure to this one's"];
    let row = |one: &worse::Worse| {
        let cells = [one.metric.clone(), escaped(&one.entry), escaped(&one.rivals.join("; "))];
        (one.case.clone(), cells.to_vec())
    };
    let table = lines("Case", heads.map(str::to_owned).to_vec(), all.iter().map(row)).join("\n");
    let table = if all.is_empty() { "None.".to_owned() } else { table.replace("--: ", "--- ") };
    let figures = grammar::count(all.len(), "figure", "figures");
    let day = heading::day(summary);
    format!(
        "\n<details>\n<summary>{}, {day}: {figures}</summary>\n\n{table}\n\n[Run]({link}).\n\n</details>\n\n",
        escaped(&summary.title)
    )
}

/// Remark on a machine that was busy when the run began.
fn busy(summary: &Summary) -> &'static str {
    match machine::company_then(&summary.machine) {
        Some(_) => " The machine was busy with other work when the run began.",
        None => "",
    }
}

/// Number of rounds of the figures: `3 rounds`, or `2–3 rounds` where they have different numbers.
fn rounds(cases: &[&Case], metric: &Metric, query: &TableQuery) -> String {
    let shown = || cases.iter().flat_map(|case| &case.results).filter(|one| query.has(&one.contender));
    let counts = || shown().filter_map(|one| Some(one.numbers.get(metric.name)?.all.len()));
    let (least, most) = (counts().min().unwrap_or_default(), counts().max().unwrap_or_default());
    let most_in_words = grammar::count(most, "round", "rounds");
    if least == most { most_in_words } else { format!("{least}–{most_in_words}") }
}

/// Words for the duration of the loads, from the shortest to the longest median: ` of loads of 3.0–3.3 s`. Empty for
/// cases without a load, such as a first start.
fn loads(cases: &[&Case]) -> String {
    let all = || cases.iter().flat_map(|case| &case.results).filter_map(|one| one.numbers.get(ELAPSED));
    let seconds = |number: f64| if number < 10.0 { format!("{number:.1}") } else { format!("{number:.0}") };
    let least = all().map(|spread| spread.median).min_by(f64::total_cmp).map(seconds);
    let most = all().map(|spread| spread.median).max_by(f64::total_cmp).map(seconds);
    match (least, most) {
        (Some(least), Some(most)) if least == most => format!(" of loads of {least} s"),
        (Some(least), Some(most)) => format!(" of loads of {least}–{most} s"),
        _ => String::new(),
    }
}

/// Sentence on who is not ranked by this metric for its failed requests.
fn for_failures(cases: &[&Case], metric: &Metric) -> &'static str {
    let are_the_figure = cases.iter().all(|case| case.is_about_failures) && counts_failures(metric.name);
    match are_the_figure && metric.name != FAILED {
        true => {
            "In cases about failures, whoever failed more than 1 request in 100 is ranked by the figures that count \
             failures, and by no others."
        }
        false => "Whoever failed more than 1 request in 100 is not ranked.",
    }
}

/// Sentence on the source of the shares of failed requests: of the load of a tool and of the load after it, which
/// checks all answers, the larger share counts. Names the entries for which it is that of the checks, and in how many
/// cases.
fn counted_by(cases: &[&Case], styles: &Styles, query: &TableQuery) -> String {
    let shown = || cases.iter().flat_map(|case| &case.results).filter(|one| query.has(&one.contender));
    if !shown().any(|one| one.numbers.contains_key(CHECKED_FAILED_PPM)) {
        return String::new();
    }
    let by_checks = |name: &str| {
        let own = shown().filter(|one| one.contender == name && one.fails_more_when_checked());
        let count = own.count();
        (count > 0).then(|| format!("{} in {}", styles.title(name), grammar::count(count, "case", "cases")))
    };
    let found: Vec<String> = rows::names_in(cases).into_iter().filter_map(by_checks).collect();
    match &found[..] {
        [] => "The shares that failed are by the load tool's own count. ".to_owned(),
        some => format!(
            "The shares that failed are by the load tool's own count or, where that is larger, by the load after it, \
             which checks all answers: so of {}. ",
            grammar::list(some)
        ),
    }
}

/// Sentence on how many of the shown entries could have given one wrong answer in a thousand unnoticed in one of these
/// cases, because few answers were checked after the load of a tool that checks none.
fn checked_too_little(cases: &[&Case], query: &TableQuery) -> String {
    match of_entries(cases, query, Measured::is_checked_too_little) {
        (0, _) => String::new(),
        (few, all) => format!("{few} of {all} entries had fewer than {CHECKED_ENOUGH} answers checked in a case. "),
    }
}

/// Sentence on how many of the shown entries may have had a rate that still changed when the loads of one of these
/// cases began.
fn not_settled(cases: &[&Case], query: &TableQuery) -> String {
    match of_entries(cases, query, Measured::is_unsettled) {
        (0, _) => String::new(),
        (some, all) => format!(
            "For {some} of {all} entries it is not shown that the rate had {SETTLED_BEFORE} in most rounds of a case. "
        ),
    }
}

/// Number of shown entries for which `is_so` holds in one or more of these cases, and number of all shown entries.
fn of_entries(cases: &[&Case], query: &TableQuery, is_so: fn(&Measured) -> bool) -> (usize, usize) {
    let shown = cases.iter().flat_map(|case| &case.results).filter(|one| query.has(&one.contender));
    let with_answers: Vec<&Measured> = shown.filter(|one| one.disqualified.is_none()).collect();
    let names = |is: fn(&Measured) -> bool| -> BTreeSet<&str> {
        with_answers.iter().filter(|one| is(one)).map(|one| one.contender.as_str()).collect()
    };
    (names(is_so).len(), names(|_| true).len())
}

/// Sentence on the best of each case that is not shown here: without it, all rows would be compared with a contender
/// that is not seen.
fn unseen(cases: &[&Case], metric: &Metric, styles: &Styles, query: &TableQuery) -> String {
    let best = |case: &&Case| {
        let beside = Beside::of(case, metric);
        let best = case.results.iter().find(|result| beside.is_first(&result.contender))?;
        let figure = number::with_unit(best.numbers.get(metric.name)?.median, metric);
        let is_seen = query.has(&best.contender);
        (!is_seen).then(|| format!("{} with {figure} ({})", styles.title(&best.contender), case.title))
    };
    let all: Vec<String> = cases.iter().filter_map(best).collect();
    if all.is_empty() { String::new() } else { format!("**The best is not among these rows:** {}. ", all.join("; ")) }
}

/// Words for the number of entries of the run that are not shown here.
fn further(cases: &[&Case], query: &TableQuery) -> String {
    match rows::names_in(cases).into_iter().filter(|name| !query.has(name)).count() {
        0 => String::new(),
        more => format!(
            ", which has {} that {} not shown here",
            grammar::count(more, "further entry", "further entries"),
            if more == 1 { "is" } else { "are" }
        ),
    }
}

/// Folded table of each contender's settings, without which a reader cannot judge the figures.
fn settings(summary: &Summary, styles: &Styles, query: &TableQuery) -> String {
    let mut all = settings::all(summary, styles);
    all.retain(|one| query.has(&one.name));
    all.sort_by_key(|one| query.rows.iter().position(|name| *name == one.name));
    if all.is_empty() {
        return String::new();
    }
    let mut rubies: Vec<String> = all.iter().map(|one| one.ruby.clone()).collect();
    rubies.sort();
    rubies.dedup();
    let heads = ["Workers × threads", "Version", "Allocator, where not the C library's", "Ruby", "Limits that are set"];
    let cells = |one: &settings::Settings| {
        [&one.size, &one.version, &one.allocator, &one.ruby, &one.limits].map(|text| escaped(text))
    };
    let rows = all.iter().map(|one| (one.title.clone(), cells(one).into()));
    let table = lines("Contender", heads.map(str::to_owned).into(), rows).join("\n").replace(" --: |", " --- |");
    let rubies = pen::escaped(&grammar::list(&rubies));
    format!(
        "<details>\n<summary>Workers × threads, versions, allocators and limits; on {rubies}</summary>\n\n{table}\n\n\
         </details>\n\n"
    )
}

/// Table of one case: contenders as rows, metrics as columns.
fn one_case(case: &Case, styles: &Styles, query: &TableQuery) -> Vec<String> {
    let mut data = rows::table(case, styles, None);
    data.rows = query.pick(data.rows);
    let count = data.columns.len().min(MOST_METRICS);
    let unit = |column: &rows::Column| match column.unit.as_str() {
        "" => column.title.clone(),
        unit => format!("{}, {unit}", column.title),
    };
    let heads = data.columns.iter().take(count).map(unit).collect();
    let name = |row: &Row| match row.rounds {
        rounds if data.rounds_differ && rounds > 0 => {
            format!("{}, {}", title(row), grammar::count(rounds, "round", "rounds"))
        }
        _ => title(row),
    };
    lines("", heads, data.rows.iter().map(|row| (name(row), numbers(row, count))))
}

/// Table of one metric over several cases: contenders as rows and cases as columns, or the other way round if there are
/// more cases. Where requests failed, a further column has their share over all of these cases.
fn many_cases(cases: &[&Case], metric: &Metric, styles: &Styles, query: &TableQuery) -> Vec<String> {
    let mut matrix = rows::matrix(cases, metric, styles);
    matrix.rows = query.pick(matrix.rows);
    let mut heads: Vec<String> = cases.iter().map(|case| offered_rate::with_rate(&case.title, case)).collect();
    let failures: Vec<String> = matrix.rows.iter().map(|row| failed(cases, &row.name)).collect();
    let has_failures = failures.iter().any(|share| !share.is_empty());
    let rows = || {
        matrix.rows.iter().zip(&failures).map(|(row, share)| {
            let share = has_failures.then(|| if share.is_empty() { "0".to_owned() } else { share.clone() });
            (title(row), numbers(row, cases.len()).into_iter().chain(share).collect::<Vec<String>>())
        })
    };
    heads.extend(has_failures.then(|| "Failed, of all".to_owned()));
    if cases.len() <= matrix.rows.len() {
        return lines(&matrix.what, heads, rows());
    }
    let columns: Vec<(String, Vec<String>)> = rows().collect();
    let titles = columns.iter().map(|(title, _)| title.clone()).collect();
    let across = heads.iter().enumerate();
    let turned = across.map(|(at, head)| (head.clone(), columns.iter().map(|(_, all)| all[at].clone()).collect()));
    lines(&matrix.what, titles, turned)
}

/// Share of a contender's failed requests over all of these cases: the mean of the cases' shares, weighted by the
/// requests of each load. The share of a case may be that of the load after it, which checks all answers.
fn failed(cases: &[&Case], name: &str) -> String {
    let own = cases.iter().flat_map(|case| &case.results).filter(|result| result.contender == name);
    // Of a load in which the tool counted nothing, the share counts all the same.
    let requests = |result: &Measured| (result.failed() + result.right()).max(1.0);
    let all: f64 = own.clone().map(requests).sum();
    let failed: f64 = own.map(|result| result.failed_share() * requests(result)).sum();
    number::failed(failed / all.max(1.0))
}

fn title(row: &Row) -> String {
    match &row.disqualified {
        Some(_) => format!("{} (disqualified)", row.chip.title),
        None if row.is_apart => format!("{} (at another time: not compared)", row.chip.title),
        None if !row.unranked.is_empty() => format!("{} ({})", row.chip.title, row.unranked),
        None => row.chip.title.clone(),
    }
}

fn numbers(row: &Row, count: usize) -> Vec<String> {
    let number = |cell: &Cell| {
        let number = match (&row.disqualified, cell.is_best) {
            (Some(_), _) => return "–".to_owned(),
            (None, true) => format!("**{}**", cell.text),
            (None, false) if cell.is_apart => format!("{} (at another time)", cell.text),
            (None, false) if cell.unranked.is_empty() => cell.text.clone(),
            (None, false) => format!("{} ({})", cell.text, cell.unranked),
        };
        match cell.beside.as_str() {
            "" => number,
            ratio => format!("{number}{SMALL}{ratio}</sub>"),
        }
    };
    row.cells.iter().take(count).map(number).collect()
}

fn lines(corner: &str, heads: Vec<String>, rows: impl Iterator<Item = (String, Vec<String>)>) -> Vec<String> {
    let line = |first: &str, cells: &[String]| format!("| {} | {} |", escaped(first), cells.join(" | "));
    let escaped_heads: Vec<String> = heads.iter().map(|head| escaped(head)).collect();
    let mut out = vec![line(corner, &escaped_heads), format!("| --- |{}", " --: |".repeat(heads.len()))];
    out.extend(rows.map(|(first, cells)| line(&first, &cells)));
    out
}

/// Escapes text for a Markdown table, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '<' | '`' | '[' | ']' => out.extend(['\\', c]),
            c if c.is_whitespace() && c != '\u{202f}' => out.push(' '),
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::{ALLOCATED_BY, Who};
    use crate::report::sample_case::case;

    fn shown<'a>(summary: &'a Summary, link: &'a str) -> ShownRun<'a> {
        ShownRun { summary, link }
    }

    /// A page whose only place has this name, with what this run shows there.
    fn placed(name: &str, run: &Summary) -> Result<String, String> {
        let page = format!("<!-- arena:begin {name} -->\n<!-- arena:end {name} -->");
        splice(&page, name, shown(run, "x"))
    }

    fn summary() -> Summary {
        let case = case("requests_per_s", &[("a|b", &[100.0; 3]), ("c", &[50.0; 3])], &[&["a|b"], &["c"]]);
        let who = Who { name: "a".into(), version: "1.2".into(), workers: 2, threads: 3, ..Who::default() };
        let tuned = Who {
            name: "b".into(),
            title: "tuned, jemalloc".into(),
            version: "1.3".into(),
            ruby: "ruby 3.3 (2024)".into(),
            notes: vec![format!("{ALLOCATED_BY}jemalloc")],
            commands: vec!["b -b 'tcp://127.0.0.1:9292?backlog=4096'".into()],
            ..who.clone()
        };
        let contenders = vec![who, tuned];
        Summary {
            contenders,
            study: "s".into(),
            started: "2026-01-02T".into(),
            rounds: 3,
            cases: vec![case],
            ..Summary::default()
        }
    }

    #[test]
    fn a_table_is_put_in_once_and_stays() {
        let page = "# T\n<!-- arena:begin s -->\nstale\n<!-- arena:end s -->\nafter\n";
        let run = summary();
        let new = splice(page, "s", shown(&run, "runs/x")).expect("a page");
        assert!(new.contains("| a\\|b | **100**<br><sub>1×</sub> |"), "{new}");
        assert!(new.contains("| c | 50.0<br><sub>0.50×</sub> |"), "{new}");
        assert!(
            new.contains("2 January 2026; machine not recorded; 3 rounds")
                && new.contains("; on its own and ruby 3.3</summary>\n\n| Contender |")
                && new.contains("| its own |  |\n| tuned, jemalloc | 2 × 3 | 1.3 | jemalloc | ruby 3.3 | ")
                && new.contains("| ruby 3.3 | backlog 4096 |\n")
                && new.contains("\n\n</details>\n\n2 January 2026")
                && new.contains("[Run](runs/x).")
        );
        assert!(new.starts_with("# T\n") && new.ends_with("<!-- arena:end s -->\nafter\n") && !new.contains("stale"));
        assert_eq!(splice(&new, "s", shown(&run, "runs/x")), Ok(new.clone()));
    }

    #[test]
    fn what_a_run_lacks_and_who_was_measured_at_another_time_is_said_and_not_bold() {
        let mut run = summary();
        run.cases[0].results[0].not_compared = Some("measured an hour later".into());
        run.shortcomings = vec!["2 rounds of at least 3".to_owned(), "no twin".to_owned()];
        let new = placed("s", &run).expect("a page");
        assert!(new.contains("| a\\|b (at another time: not compared) | 100 |"), "{new}");
        assert!(new.contains("**Not a run as METHOD.md wants it: 2 rounds of at least 3; no twin.**"), "{new}");
        run.cases.push(run.cases[0].clone());
        run.shortcomings.clear();
        let new = placed("s", &run).expect("a page");
        assert!(new.contains("| a\\|b | 100 (at another time) | 100 (at another time) |"), "{new}");
        assert!(!new.contains("METHOD.md"), "{new}");
    }

    #[test]
    fn a_mark_in_a_name_or_a_command_is_none() {
        let mut run = summary();
        run.contenders[0].title = "Puma, as x <!-- arena:end s --> sets it".into();
        run.command = "arena challenge --by \"x\n<!-- arena:end s -->\n<!-- arena:begin s -->\"".into();
        let page = "# T\n<!-- arena:begin s -->\n<!-- arena:end s -->\nafter\n";
        let new = splice(page, "s", shown(&run, "x")).expect("a page");
        assert!(new.matches("<!-- arena:end s -->").count() > 1 && new.ends_with("\n<!-- arena:end s -->\nafter\n"));
        assert_eq!(names(&new), ["s"]);
        assert_eq!(splice(&new, "s", shown(&run, "x")), Ok(new.clone()));
        // Spaces around a mark are none of it.
        let page = "<!-- arena:begin s -->  \r\nstale\n  <!-- arena:end s -->\n";
        let new = splice(page, "s", shown(&summary(), "x")).expect("a page");
        assert!(!new.contains("stale") && new.ends_with("<!-- arena:end s -->\n"), "{new}");
    }

    #[test]
    fn what_is_wrong_with_the_page_is_said() {
        let error = |page: &str| splice(page, "s", shown(&summary(), "x")).expect_err("a complaint");
        assert!(error("").contains("no place \"s\"") && error("").contains("it has none"));
        assert!(error("<!-- arena:begin t -->").contains("it has t"));
        assert!(error("<!-- arena:begin s -->").contains("never ends"));
        let twice = "<!-- arena:begin s -->\n<!-- arena:end s -->\n".repeat(2);
        assert!(error(&twice).contains("twice"));
        let knot = "<!-- arena:begin s -->\n<!-- arena:begin t -->\n<!-- arena:end s -->";
        assert!(error(knot).contains("another place begins"));
        assert!(placed("s/nonsense", &summary()).is_err_and(|text| text.contains("no metric")));
        assert!(placed("s/nonsense", &Summary::default()).is_err());
    }

    #[test]
    fn whoever_fails_is_never_bold_and_errors_are_a_column() {
        let mut run = summary();
        for (result, failed) in run.cases[0].results.iter_mut().zip([2.0, 0.0]) {
            result.add(&[("failed", [failed]), ("requests", [98.0])]);
        }
        run.cases.push(run.cases[0].clone());
        let new = placed("s", &run).expect("a page");
        assert!(new.contains("| a\\|b | 100 (2.0 % failed) | 100 (2.0 % failed) | 2.0 % |"), "{new}");
        assert!(new.contains("Failed, of all |") && new.contains("| c | 50.0 | 50.0 | 0 |"), "{new}");
        assert!(new.contains("not ranked. [Run]"), "{new}");
    }

    #[test]
    fn where_failures_are_in_the_figure_nobody_is_said_to_be_unranked_for_them() {
        let mut run = summary();
        run.cases[0].is_about_failures = true;
        for result in &mut run.cases[0].results {
            let rate = result.numbers["requests_per_s"].clone();
            result.numbers.insert("goodput_per_s".into(), rate);
            result.add(&[("failed", [50.0; 3]), ("requests", [100.0; 3]), ("p99_ms", [9.0; 3])]);
        }
        let of = |name: &str| placed(name, &run).expect("a page");
        let ranked = of("s/goodput_per_s");
        assert!(ranked.contains("| a\\|b | **100**<br><sub>1×</sub> | 33.3 % |"), "{ranked}");
        assert!(ranked.contains("is ranked by the figures that count failures, and by no others. [Run]"), "{ranked}");
        assert!(!ranked.contains("is not ranked"), "{ranked}");
        let unranked = of("s/p99_ms");
        assert!(unranked.contains("| a\\|b | 9.00 (33.3 % failed) | 33.3 % |"), "{unranked}");
        assert!(unranked.contains("more than 1 request in 100 is not ranked. [Run]"), "{unranked}");
    }

    #[test]
    fn failures_that_only_the_load_which_checks_all_answers_found_are_in_the_column_of_errors() {
        let mut run = summary();
        for result in &mut run.cases[0].results {
            result.add(&[("failed", [4.0]), ("requests", [96.0]), ("checked_failed_ppm", [10_000.0])]);
        }
        run.cases.push(run.cases[0].clone());
        // As seen once: too few answers in a second case for a rate, and failures that the tool took for right answers.
        let slow = &mut run.cases[1].results[0];
        slow.numbers.remove("requests_per_s");
        slow.add(&[("failed", [0.0]), ("requests", [200.0]), ("checked_failed_ppm", [130_000.0])]);
        let of = |run: &Summary| placed("s", run).expect("a page");
        let new = of(&run);
        // 4 of 100 by the tool, and 26 of 200 by the checks.
        assert!(new.contains("| a\\|b | 100 (4.0 % failed) | – (13.0 % failed) | 10.0 % |"), "{new}");
        assert!(new.contains("| c | 50.0 (4.0 % failed) | 50.0 (4.0 % failed) | 4.0 % |"), "{new}");
        assert!(new.contains("by the load after it, which checks all answers: so of a\\|b in 1 case. [Run]"), "{new}");
        run.cases.truncate(1);
        run.cases.push(run.cases[0].clone());
        assert!(of(&run).contains("is not ranked. The shares that failed are by the load tool's own count. [Run]"));
    }

    #[test]
    fn below_latencies_the_wait_of_the_load_generator_is_told() {
        let mut run = summary();
        for (result, waited) in run.cases[0].results.iter_mut().zip([3.0, 61.8]) {
            result.add(&[("p99_ms", [9.0; 3]), ("generator_waited_pct", [waited; 3])]);
        }
        run.cases.push(run.cases[0].clone());
        let of = |name: &str| placed(name, &run).expect("a page");
        let words = "include that: c 62 % (less than 5 % with the others). [Run]";
        assert!(of("s/p99_ms").contains(words), "{}", of("s/p99_ms"));
        assert!(!of("s").contains("include that"), "a rate is no latency: {}", of("s"));
        assert!(!of("s/p99_ms//a|b").contains("include that"), "c has no row: {}", of("s/p99_ms//a|b"));
    }

    #[test]
    fn that_no_request_failed_is_said_where_failures_were_counted() {
        let mut run = summary();
        assert!(!placed("s", &run).expect("a page").contains("No request failed"));
        for result in &mut run.cases[0].results {
            result.add(&[("failed", [0.0])]);
        }
        assert!(placed("s", &run).expect("a page").contains(" No request failed. "));
        // The failures of a server that ended are not known.
        run.cases[0].results[1].disqualified = Some("the server ended in the middle of it".into());
        run.cases[0].results[1].numbers.clear();
        let new = placed("s", &run).expect("a page");
        assert!(new.contains(" Except for disqualified entries, no request failed. "), "{new}");
        assert!(!new.contains("No request failed"), "{new}");
    }

    #[test]
    fn what_is_worse_is_listed_with_who_is_better() {
        let run = summary();
        let new = placed("s/worse/c", &run).expect("a page");
        assert!(new.contains("2 January 2026: 1 figure</summary>"), "{new}");
        assert!(new.contains(" | c: 50.0") && new.contains(" | a\\|b 0.50× |"), "{new}");
        assert!(placed("s/worse/a", &run).expect("a page").contains("0 figures</summary>\n\nNone."));
    }

    #[test]
    fn unknown_names_of_a_place_are_refused_with_those_that_there_are() {
        let mut run = summary();
        let case = |name: &str| Case { name: name.into(), title: name.into(), ..run.cases[0].clone() };
        run.cases = vec![case("hello"), case("start"), case("traffic-1"), case("traffic-16")];
        run.cases[1].results.iter_mut().for_each(|one| one.numbers.clear());
        let cases = |begin: &str| {
            format!("no case of the run of s begins with \"{begin}\"; there are hello, start, traffic-1, traffic-16")
        };
        let entries = "no name of an entry begins with \"TYPO\": write NAME/worse/BEGINNING; there are a|b, c";
        let one = "worse lists the figures of entries with one beginning: write NAME/worse/BEGINNING; there are a|b, c";
        let figures = "has a figure for requests_per_s; there are hello, traffic-1, traffic-16";
        for (name, says) in [
            ("s/worse/TYPO", entries.to_owned()),
            ("s/worse/", one.to_owned()),
            ("s/worse", one.to_owned()),
            ("s/worse/a,c", one.to_owned()),
            ("s/worse/a/c", one.to_owned()),
            ("s/requests_per_s/hello,TYPO", cases("TYPO")),
            ("s/requests_per_s/traffic-", String::new()),
            ("s/requests_per_s/traffic-2,hello", cases("traffic-2")),
            ("s/requests_per_s/hello,", cases("")),
            ("s/requests_per_s/hello,start", format!("no case that begins with \"start\" {figures}")),
            // The case is what is wrong, and not the row.
            ("s/requests_per_s/start/a", format!("no case that begins with \"start\" {figures}")),
            ("s/p99_ms//a", "no case has a figure for p99_ms; there is none".to_owned()),
            ("s/requests_per_s/hello/c,TYPO", "\"TYPO\" is in none of these cases; there are a|b, c".to_owned()),
            ("s/nonsense", "\"nonsense\" is no metric; of those in this run there are requests_per_s".to_owned()),
        ] {
            match placed(name, &run) {
                Err(error) => assert_eq!(error, format!("the place {name:?}: {says}"), "{name}"),
                Ok(page) => assert!(says.is_empty(), "{name}: {page}"),
            }
        }
    }

    #[test]
    fn cases_are_chosen_by_the_start_of_their_names() {
        let mut run = summary();
        let case = |name: &str| Case { name: name.into(), title: name.into(), ..run.cases[0].clone() };
        run.cases = vec![case("ladder"), case("ladder@50"), case("ladder@80")];
        let new = placed("s/requests_per_s/ladder@", &run).expect("a page");
        assert!(new.contains("| Rate, requests/s | ladder@50 | ladder@80 |"), "{new}");
        let mut run = summary();
        let case = |name: &str| Case { name: name.into(), title: name.into(), ..run.cases[0].clone() };
        run.cases = vec![case("ladder"), case("ladder=50"), case("ladder=80")];
        for result in run.cases.iter_mut().flat_map(|case| &mut case.results) {
            result.add(&[("offered_per_s", [1414.0; 3])]);
        }
        let new = placed("s/requests_per_s/ladder=", &run).expect("a page");
        assert!(new.contains("| Rate, requests/s | ladder=50 (1414/s) | ladder=80 (1414/s) |"), "{new}");
    }

    #[test]
    fn chosen_rows_hide_no_better_rival_and_are_counted() {
        let mut run = summary();
        let mut slowest = run.cases[0].results[1].clone();
        slowest.contender = "d".into();
        slowest.add(&[("requests_per_s", [25.0; 3]), ("elapsed_s", [3.04, 3.3, 3.26])]);
        run.cases[0].results.push(slowest);
        run.cases[0].title = "Page".into();
        run.cases.push(run.cases[0].clone());
        run.contenders[0].name = "a|b".into();
        run.contenders[1].name = "c".into();
        let new = placed("s/requests_per_s//d,c", &run).expect("a page");
        let rows: Vec<&str> = new.lines().filter(|line| line.contains("<sub>")).collect();
        assert!(rows.len() == 2 && rows[0].starts_with("| d | 25.0<br><sub>0.25×"), "{new}");
        assert!(rows[1].contains("| 50.0<br><sub>0.50×") && !new.contains("**50"), "beside the best of the run: {new}");
        assert!(new.contains("not among these rows:** a\\|b with 100\u{202f}requests/s (Page); a"), "{new}");
        assert!(new.contains("[Run](x), which has 1 further entry that is not shown here."), "{new}");
        assert!(new.contains("3 rounds of loads of 3.3 s; medians"), "{new}");
        assert!(new.contains("| tuned, jemalloc |") && !new.contains("| its own |"), "settings of others: {new}");
        let error = placed("s/requests_per_s//e", &run).expect_err("a complaint");
        assert!(error.contains("\"e\" is in none of these cases; there are a|b, c, d"), "{error}");
    }

    #[test]
    fn the_mark_of_who_is_undecided_is_explained_once_where_it_stands() {
        let mut run = summary();
        run.cases.push(run.cases[0].clone());
        let new = placed("s", &run).expect("a page");
        assert!(!new.contains("undecided"), "{new}");
        for case in &mut run.cases {
            case.results[1].add(&[("requests_per_s", [50.0, 300.0, 5.0])]);
        }
        let new = placed("s", &run).expect("a page");
        assert!(new.matches("\u{202f}?</sub> |").count() == 2 && new.matches("?: undecided, ").count() == 1, "{new}");
    }

    #[test]
    fn how_many_entries_were_checked_too_little_is_said() {
        let mut run = summary();
        let of = |run: &Summary| placed("s", run).expect("a page");
        assert!(!of(&run).contains("checked"), "a load that checks all answers itself");
        for (result, checked) in run.cases[0].results.iter_mut().zip([1535.0, 307.0]) {
            result.add(&[("checked", [checked; 3])]);
        }
        assert!(of(&run).contains(" 1 of 2 entries had fewer than 4603 answers checked in a case. "), "{}", of(&run));
        run.cases[0].results[1].add(&[("checked", [1535.0; 3])]);
        assert!(!of(&run).contains("checked"), "{}", of(&run));
    }

    #[test]
    fn how_many_entries_had_perhaps_not_settled_is_said() {
        let mut run = summary();
        let of = |run: &Summary| placed("s", run).expect("a page");
        assert!(!of(&run).contains("settled"), "{}", of(&run));
        let not = format!("its rate had not {SETTLED_BEFORE} in 2 of 3 rounds");
        run.cases[0].results[1].remarks.push(not);
        let words = "For 1 of 2 entries it is not shown that the rate had settled before the load in most rounds";
        assert!(of(&run).contains(words), "{}", of(&run));
        // In any of the cases of the table.
        run.cases.push(run.cases[0].clone());
        run.cases[0].results[1].remarks.clear();
        assert!(of(&run).contains(words), "{}", of(&run));
    }

    #[test]
    fn a_place_is_that_of_a_folder_or_else_of_a_study() {
        let of = |page: &str| names_of(page, "s", "2026-s");
        assert_eq!(of("<!-- arena:begin s/a -->\n<!-- arena:begin t -->"), ["s/a"]);
        assert_eq!(of("<!-- arena:begin s/a -->\n<!-- arena:begin 2026-s/b -->"), ["2026-s/b"]);
    }

    #[test]
    fn cases_are_named_by_how_they_begin() {
        let query = TableQuery::of("s/p99_ms/a,bc");
        assert_eq!(["a", "a-1", "bc=2", "b", "c"].map(|case| query.has_case(case)), [true, true, true, false, false]);
        assert!(TableQuery::of("s/p99_ms//x").has_case("any") && TableQuery::of("s").has_case("any"));
        let query = TableQuery::of("s/p99_ms/traffic-1,hello");
        let shown = ["traffic-1", "traffic-16", "traffic-1-b", "hello@16"].map(|case| query.has_case(case));
        assert_eq!(shown, [true, false, true, true], "a number is whole");
    }

    #[test]
    fn more_cases_than_contenders_go_down() {
        let mut run = summary();
        let case = run.cases[0].clone();
        run.cases = (1..=3).map(|x| Case { title: format!("{x} users"), ..case.clone() }).collect();
        let new = placed("s", &run).expect("a page");
        assert!(
            new.contains("| Rate, requests/s | a\\|b | c |")
                && new.contains("| 3 users | **100**<br><sub>1×</sub> | 50.0<br>"),
            "{new}"
        );
    }
}
