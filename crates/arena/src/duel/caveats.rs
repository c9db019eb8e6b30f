//! Caveats of a duel: what it cannot know or did not check. Pure.

use crate::measure::{KEPT_UP, is_below_rate, share_in_time};
use crate::record::summary::{Who, requests_needed};
use crate::record::{Sample, TWIN, machine};
use crate::report::grammar;
use loadgen::metric::{P99, P999, REQUESTS};

use super::answer::KnownAnswer;
use super::capture::Capture;
use super::cases;

/// Caveats about the requests and about how far their answers are checked.
pub fn of_workload(capture: &Capture) -> Vec<String> {
    let mut caveats = Vec::new();
    let learned = &capture.learned;
    let loose: Vec<&str> = learned.iter().filter(|one| one.is_loose()).map(|one| one.asked.path.as_str()).collect();
    if let Some(first) = loose.first() {
        let count = loose.len();
        let all = grammar::count(learned.len(), "path", "paths");
        caveats.push(format!(
            "the pages of {count} of {all} vary so much that little of them was checked, such as {first}"
        ));
    }
    caveats.extend(of_pages_that_are_none(learned));
    let writes = learned.iter().filter(|one| !one.asked.is_safe()).count();
    if writes > 0 {
        let (write, they) = if writes == 1 { ("writes", "it") } else { ("write", "they") };
        caveats.push(format!(
            "{writes} of the requests {write}: what {they} wrote stayed, and those who came later may have had more to \
             read"
        ));
    }
    let left: f64 = capture.left_out.iter().map(|(weight, _)| *weight).sum();
    let kept: f64 = learned.iter().map(|one| one.asked.weight).sum();
    if left > 0.0 {
        let share = left / (left + kept) * 100.0;
        caveats.push(format!(
            "{share:.0} % of the recorded requests were left out because they are answered otherwise here"
        ));
    }
    caveats
}

/// Caveat about paths that are answered with a redirect or a refusal instead of a page: a redirect to a login is fast,
/// and shows nothing of the page behind it.
pub fn of_pages_that_are_none(learned: &[KnownAnswer]) -> Option<String> {
    let is_none = |one: &&KnownAnswer| (300..400).contains(&one.status) || [401, 403].contains(&one.status);
    let found: Vec<&KnownAnswer> = learned.iter().filter(is_none).collect();
    let first = found.first()?;
    let instead = match first.status {
        401 | 403 => "is refused".to_owned(),
        _ => format!("only leads to {}", String::from_utf8_lossy(first.location.longest()).escape_debug()),
    };
    let count = found.len();
    let is_all = count == learned.len();
    let what = if is_all { "no page of the application is measured at all" } else { "that page is not measured" };
    let all = grammar::count(learned.len(), "request", "requests");
    let get = if count == 1 { "gets" } else { "get" };
    Some(format!(
        "{count} of {all} {get} no page: {} {instead} ({}), so {what}; where a login is needed, send the cookie of \
         one: 'GET /page header=cookie:NAME=VALUE'",
        first.asked.in_words(),
        first.status
    ))
}

/// Caveats of every duel on one machine.
pub fn of_machine(cores: u32) -> Vec<String> {
    let processors = machine::processors(cores);
    vec![
        format!(
            "the load came from the same machine and shared its {processors} with the servers: with the clients \
             elsewhere all of them serve more, and close ones may change places"
        ),
        "a database or service that the app asks was measured as it is now, with its present data; if it runs on this \
         machine, it shared the processors, too"
            .to_owned(),
        "clients were on this machine and fast: slow networks, TLS and large uploads were not measured".to_owned(),
    ]
}

/// Caveat about contenders on JRuby, which were measured long before they were warm.
pub fn of_slow_starters(whos: &[Who], warm_s: f64) -> Option<String> {
    let names: Vec<&str> =
        whos.iter().filter(|who| who.ruby.starts_with("jruby")).map(|who| who.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} ran on JRuby, whose compiler makes a rate rise for minutes: {warm_s:.0} s of warm-up are too few, and \
             after ten minutes it may serve several times as much",
            names.join(", ")
        )
    })
}

/// Caveats about samples with too few requests, or with numbers that contradict each other.
pub fn of_samples(samples: &[Sample]) -> Vec<String> {
    let mut caveats = few_requests(samples);
    caveats.extend(below_rate(samples));
    caveats.extend(not_kept_up(samples));
    caveats
}

/// Caveat about a contender whose twin, which is the same server, was disqualified.
pub fn of_twin(samples: &[Sample], twin_of: Option<&str>) -> Option<String> {
    let original = twin_of?;
    let why = samples.iter().filter(|one| one.contender == TWIN).find_map(|one| one.disqualified.as_ref())?;
    Some(format!("{original} took part once more as its own twin, and was disqualified there: {why}"))
}

/// Caveat about loads whose rate the load generator could not keep.
fn below_rate(samples: &[Sample]) -> Option<String> {
    let names = names(samples.iter().filter(|sample| is_below_rate(sample)));
    (!names.is_empty()).then(|| {
        format!(
            "the load generator could not keep the rate in some loads of {}, for which no server is known to be to \
             blame: how they would have done there is not known; on a machine of its own it could send more",
            grammar::list(&names)
        )
    })
}

/// Caveat about contenders that served less than was offered, although the offered rate was a share of their own
/// capacity, measured just before.
fn not_kept_up(samples: &[Sample]) -> Option<String> {
    let loads = [cases::load(50), cases::load(80)];
    let behind =
        |sample: &&Sample| share_in_time(|name| sample.numbers.get(name).copied()).is_some_and(|share| share < KEPT_UP);
    let counting = samples.iter().filter(|one| loads.contains(&one.case) && one.disqualified.is_none());
    let names = names(counting.filter(behind));
    let (it, serves) = if names.len() == 1 { ("it", "serves") } else { ("they", "serve") };
    (!names.is_empty()).then(|| {
        format!(
            "{} did not keep up in some turns at 50 or 80 % of what {it} had served just before: something else wanted \
             the machine, or the load generator did, or {it} {serves} less over more connections; the p99 there is \
             that of an overload",
            grammar::list(&names)
        )
    })
}

/// Names of the contenders of these samples.
fn names<'a>(samples: impl Iterator<Item = &'a Sample>) -> Vec<String> {
    let name = |sample: &Sample| match sample.contender.as_str() {
        TWIN => "the twin".to_owned(),
        own => own.to_owned(),
    };
    let mut names: Vec<String> = samples.map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Adds to the caveats of a recorded duel those about few requests that its program did not have.
pub fn add_few_requests(caveats: &mut Vec<String>, samples: &[Sample]) {
    for words in few_requests(samples) {
        // That of a p99 had other words after these.
        let start = words.split(" rests on ").next().unwrap_or_default();
        if !caveats.iter().any(|known| known.starts_with(start)) {
            caveats.push(words);
        }
    }
}

/// Caveats about percentiles that need more requests: the p99, by which a duel decides, and at the user's rate the
/// p99.9, which is not shown then.
fn few_requests(samples: &[Sample]) -> Vec<String> {
    let loads = [(cases::load(80), "80 % load", P99), (cases::traffic(1), "your rate", P999)];
    let of = |(case, load, highest): (String, &str, &str)| {
        let counting = samples.iter().filter(|one| one.case == case && one.disqualified.is_none());
        let made = counting.filter(|one| !one.numbers.is_empty());
        let least = made.map(|sample| sample.number(REQUESTS)).min_by(f64::total_cmp)?;
        let requests = if least == 1.0 { "request" } else { "requests" };
        let needed = requests_needed(P99);
        if least < needed {
            return Some(format!(
                "in some rounds the p99 at {load} rests on {least:.0} {requests} only, where {needed:.0} are needed: \
                 longer turns would tell more"
            ));
        }
        let needed = requests_needed(highest);
        (least < needed).then(|| {
            format!(
                "some rounds at {load} have {least:.0} requests only, and a p99.9 needs {needed:.0}: in its place \
                 stands the longest request of a round, which a single pause of the machine decides, and by which \
                 nobody is compared"
            )
        })
    };
    loads.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use loadgen::metric::{FAILED, NOT_SENT, OFFERED, RATE};

    use super::super::answer::Answer;
    use super::super::request::DuelRequest;
    use super::*;

    #[test]
    fn loose_writing_and_lost_requests_are_told() {
        let learned = vec![KnownAnswer::of_bodies("GET", &["x", "y"]), KnownAnswer::of_bodies("POST", &["x"])];
        let caveats = of_workload(&Capture { learned, left_out: vec![(2.0, "why".into())] });
        for part in ["1 of 2 paths", "1 of the requests writes: what it wrote", "50 % of the recorded"] {
            assert!(caveats.iter().any(|caveat| caveat.contains(part)), "{part}: {caveats:?}");
        }
        let sure = Capture { learned: vec![KnownAnswer::of_bodies("GET", &["x"])], left_out: Vec::new() };
        assert!(of_workload(&sure).is_empty());
    }

    #[test]
    fn who_is_not_warm_for_minutes_is_told() {
        let who = |name: &str, ruby: &str| Who { name: name.into(), ruby: ruby.into(), ..Who::default() };
        assert_eq!(of_slow_starters(&[who("puma", "ruby 3.3.8")], 10.0), None);
        let both = [who("puma", "ruby 3.3.8"), who("puma-jruby -w 1 -t 5", "jruby 10.1.2.0")];
        let words = of_slow_starters(&both, 10.0).unwrap();
        assert!(words.starts_with("puma-jruby -w 1 -t 5 ran on JRuby") && words.contains("10 s of"), "{words}");
    }

    #[test]
    fn a_page_that_only_asks_for_a_login_is_told() {
        let answered = |path: &str, status: u16, location: &str| {
            let answer = Answer { status, location: location.into(), ..Answer::default() };
            KnownAnswer::from_answers(&DuelRequest::new("GET", path), &[answer.clone(), answer]).unwrap()
        };
        let words = of_pages_that_are_none(&[answered("/", 302, "/login")]).unwrap();
        assert!(words.contains("1 of 1 request gets no page: GET / only leads to /login (302)"), "{words}");
        assert!(words.contains("no page of the application is measured at all"), "{words}");
        let words = of_pages_that_are_none(&[answered("/ok", 200, ""), answered("/x", 403, "")]).unwrap();
        assert!(words.contains("1 of 2") && words.contains("GET /x is refused (403)"), "{words}");
        assert_eq!(of_pages_that_are_none(&[answered("/ok", 200, "")]), None);
        let capture = Capture { learned: vec![answered("/", 302, "/login")], left_out: Vec::new() };
        assert!(of_workload(&capture).iter().any(|caveat| caveat.contains("gets no page")));
    }

    #[test]
    fn a_wrong_answer_of_the_twin_is_told_of_its_original() {
        let twin = |why: Option<&str>| Sample { disqualified: why.map(str::to_owned), ..Sample::of(TWIN, &[]) };
        let wrong = [twin(None), twin(Some("it lied"))];
        let words = "a -w 1 -t 1 took part once more as its own twin, and was disqualified there: it lied";
        assert_eq!(of_twin(&wrong, Some("a -w 1 -t 1")).as_deref(), Some(words));
        assert_eq!((of_twin(&wrong[..1], Some("a -w 1 -t 1")), of_twin(&wrong, None)), (None, None));
    }

    #[test]
    fn few_requests_are_told() {
        let of = |case: String, requests: f64| {
            let numbers = [("requests", requests), (FAILED, 2.0)];
            Sample { case, ..Sample::of("", &numbers) }
        };
        let loaded = |requests: f64| of_samples(&[of(cases::load(80), requests)]);
        assert!(loaded(40.0)[0].contains("at 80 % load rests on 40 requests only, where 400 are needed"));
        assert!(loaded(400.0).is_empty(), "{:?}", loaded(400.0));
        // At half a request per second a load at the user's rate has some twenty.
        let found = of_samples(&[of(cases::load(80), 40.0), of(cases::traffic(1), 20.0)]);
        assert!(found.len() == 2 && found[1].contains("the p99 at your rate rests on 20 requests only"), "{found:?}");
        // As seen in a run that was shown: the p99.9 of 771 requests was the longest one, without a word.
        let at_rate = |requests: f64| of_samples(&[of(cases::traffic(1), 4e3), of(cases::traffic(1), requests)]);
        let words = "some rounds at your rate have 771 requests only, and a p99.9 needs 4000: in its place stands";
        assert!(at_rate(771.0)[0].starts_with(words), "{:?}", at_rate(771.0));
        assert!(at_rate(4e3).is_empty());
        // A recorded duel gets what it lacks, once.
        let samples = [of(cases::load(80), 40.0), of(cases::traffic(1), 771.0)];
        let older = "in some rounds the p99 at 80 % load rests on 40 requests only: longer turns would tell more";
        let mut caveats = vec![older.to_owned()];
        for _ in 0..2 {
            add_few_requests(&mut caveats, &samples);
        }
        assert!(caveats.len() == 2 && caveats[0] == older && caveats[1].starts_with(words), "{caveats:?}");
        assert!(of_samples(&[]).is_empty() && of_machine(2)[0].contains("2 processors"));
        assert!(of_machine(1)[0].contains("shared its one processor with"), "{:?}", of_machine(1));
    }

    #[test]
    fn a_load_generator_that_could_not_keep_the_rate_is_told() {
        let of = |not_sent: f64| {
            let numbers = [(REQUESTS, 4e3), (OFFERED, 400.0), (NOT_SENT, not_sent)];
            of_samples(&[Sample::of("a -w 1 -t 1", &numbers)])
        };
        let words = "the load generator could not keep the rate in some loads of a -w 1 -t 1, for which no server";
        assert!(of(900.0)[0].starts_with(words) && of(9.0).is_empty(), "{:?}", of(900.0));
    }

    #[test]
    fn who_did_not_keep_up_is_told() {
        let at = |rate: f64| {
            let numbers = [(REQUESTS, 4e3), (RATE, rate), (OFFERED, 1e3)];
            Sample { case: "load-50".into(), ..Sample::of("a -w 1 -t 1", &numbers) }
        };
        assert!(of_samples(&[at(980.0)]).is_empty());
        assert!(of_samples(&[at(980.0), at(700.0), at(600.0)])[0].starts_with("a -w 1 -t 1 did not keep up"));
        let twin = Sample { contender: TWIN.into(), ..at(700.0) };
        let words = "a -w 1 -t 1 and the twin did not keep up in some turns at 50 or 80 % of what they had served";
        assert!(of_samples(&[twin, at(700.0)])[0].starts_with(words));
        // Each answer takes half a second of the four that the load took.
        let slow = |rate: f64| {
            let mut slow = at(rate);
            slow.numbers.insert("shortest_ms".to_owned(), 500.0);
            slow
        };
        assert!(of_samples(&[slow(870.0)]).is_empty() && !of_samples(&[slow(700.0)]).is_empty());
    }
}
