//! Tests with made-up summaries.

use crate::record::summary::{Carried, Case, Measured, Step, Traffic, Who};
use loadgen::metric::{FAILED, PSS_PEAK};

use super::super::cases;
use super::*;

/// Server, workers, threads, rates of three rounds, p99 at 80 % load, and memory.
struct Results(&'static str, u32, u32, [f64; 3], f64, f64);

fn near(number: f64) -> [f64; 3] {
    [number * 0.99, number, number * 1.01]
}

fn summary(rows: &[Results]) -> Summary {
    let mut summary = Summary { rounds: 3, ..Summary::default() };
    let mut capacity = Case { name: cases::CAPACITY.into(), ..Case::default() };
    let mut loaded = Case { name: cases::load(80), x: Some(80.0), ..Case::default() };
    for &Results(server, workers, threads, rates, p99, memory) in rows {
        let name = format!("{server} -w {workers} -t {threads}");
        let commands = vec![format!("{server} --start")];
        capacity.results.push(Measured::of(&name, &[(RATE, rates), (PSS_PEAK, near(memory))]));
        loaded.results.push(Measured::of(&name, &[(P99, near(p99)), (PSS_PEAK, near(memory))]));
        summary.contenders.push(Who { name, workers, threads, commands, ..Who::default() });
    }
    summary.cases = vec![capacity, loaded];
    summary
}

fn now(name: &str) -> Criteria {
    Criteria { now: Some(name.into()), ..Criteria::default() }
}

/// With the paths that a server was started with: only the files of a run have `TMP` in their place.
#[test]
fn the_advised_commands_can_be_given_to_a_shell() {
    let folder = "/srv/arena-77-0/puma-4x1-19";
    let commands = [
        "# puma.rb\nmax_keep_alive Float::INFINITY if true\n".to_owned(),
        format!("RAILS_MAX_THREADS=5 puma -b 'tcp://127.0.0.1:28123?backlog=4096' -C {folder}/puma.rb config.ru"),
        format!("nginx -p {folder} -c {folder}/nginx.conf"),
        "# environment: RACK_ENV=production; the ring's own HOME".to_owned(),
    ];
    let expected = "cat > puma.rb <<'END'\nmax_keep_alive Float::INFINITY if true\nEND\nRAILS_MAX_THREADS=5 puma -b \
                    'tcp://127.0.0.1:9292?backlog=4096' -C puma.rb config.ru\nnginx -p . -c nginx.conf\n# environment: \
                    RACK_ENV=production; the ring's own HOME";
    assert_eq!(for_users(&commands), expected);
    assert_eq!(for_here("unicorn -c TMP/unicorn-3/unicorn.rb".to_owned()), "unicorn -c unicorn.rb", "of a shown run");
}

#[test]
fn the_fastest_within_bounds_is_recommended_against_what_the_user_has() {
    let summary = summary(&[
        Results("puma", 2, 5, [990.0, 1000.0, 1010.0], 24.0, 200.0),
        Results("foolsgold", 2, 3, [1390.0, 1400.0, 1410.0], 12.0, 150.0),
        Results("thin", 4, 1, [690.0, 700.0, 710.0], 20.0, 300.0),
    ]);
    let advice = advise(&summary, &now("puma"));
    assert_eq!(
        advice.sentence,
        "for this app on this machine, use foolsgold with -w 2 -t 3; it serves 1.4× what puma -w 2 -t 5 does at half \
         its p99"
    );
    assert_eq!(advice.command, "foolsgold --start");
    assert!(advice.reasons[0].contains("1400 requests/s at full load, p99 12.00 ms"), "{:?}", advice.reasons);
    let thin = advice.reasons.iter().find(|reason| reason.contains("thin -w 4 -t 1")).expect("a reason");
    assert!(thin.ends_with("; 0.50× (0.48–0.52) the rate of foolsgold -w 2 -t 3"), "{thin}");
    // Wider than the lowest and the highest of three rounds, which were 1390 and 1410.
    let interval = "3 rounds; the 98 % interval of the rate of foolsgold -w 2 -t 3 is 13";
    let said = advice.uncertainty.iter().find(|words| words.starts_with(interval)).expect("an interval");
    assert!(!said.contains("is 139") && said.contains(" requests/s to 14") && !said.contains("± "), "{said}");
}

#[test]
fn memory_is_that_of_one_load_which_is_named() {
    let mut one = summary(&[Results("a", 2, 3, [1000.0; 3], 12.0, 118.0)]);
    one.cases[1].results[0].add(&[(PSS_PEAK, near(142.0))]);
    let words = "a -w 2 -t 3: 1000 requests/s at full load, p99 12.00 ms at 80 % load, peak memory 118 MiB at full \
                 load";
    assert_eq!(advise(&one, &Criteria::default()).reasons[0], words);
    let with_rate = at_rate(one, &[("a -w 2 -t 3", WELL, 6.0, 105.0)]);
    let words = "a -w 2 -t 3: 1000 requests/s at full load, p99 6.00 ms at your rate, peak memory 105 MiB at your \
                 rate";
    assert_eq!(advise(&with_rate, &Criteria::default()).reasons[0], words);
}

#[test]
fn whoever_is_best_is_said_to_be() {
    let summary = summary(&[
        Results("foolsgold", 2, 3, [990.0, 1000.0, 1010.0], 12.0, 150.0),
        Results("puma", 2, 5, [1990.0, 2000.0, 2010.0], 12.0, 200.0),
    ]);
    let advice = advise(&summary, &now("foolsgold"));
    assert!(advice.sentence.contains("use puma with -w 2 -t 5; it serves 2.0× what foolsgold"), "{}", advice.sentence);
    assert!(advice.sentence.ends_with("at the same p99"));
    let advice = advise(&summary, &now("puma"));
    assert!(advice.sentence.contains("stay with puma"), "{}", advice.sentence);
}

#[test]
fn a_p99_out_of_bounds_is_no_recommendation() {
    let rows = [
        Results("fast", 2, 16, [1990.0, 2000.0, 2010.0], 400.0, 150.0),
        Results("steady", 2, 1, [990.0, 1000.0, 1010.0], 20.0, 200.0),
    ];
    let advice = advise(&summary(&rows), &Criteria::default());
    assert!(advice.sentence.contains("use steady"), "{}", advice.sentence);
    assert!(
        advice
            .reasons
            .iter()
            .any(|reason| reason.contains("fast -w 2 -t 16 serves more") && reason.contains("above 60.00 ms"))
    );
    let loose = Criteria { p99_max_ms: Some(500.0), ..Criteria::default() };
    assert!(advise(&summary(&rows), &loose).sentence.contains("use fast"));
    let strict = Criteria { p99_max_ms: Some(5.0), ..Criteria::default() };
    let advice = advise(&summary(&rows), &strict);
    assert!(advice.sentence.contains("use steady"));
    assert!(advice.reasons.iter().any(|reason| reason.contains("nobody keeps a p99 of 5.00 ms")));
}

#[test]
fn that_the_p99_of_the_recommended_one_is_not_known_is_said() {
    let mut late = summary(&[
        Results("fast", 2, 1, [1990.0, 2000.0, 2010.0], 12.0, 150.0),
        Results("steady", 2, 1, [990.0, 1000.0, 1010.0], 20.0, 150.0),
    ]);
    let strict = Criteria { p99_max_ms: Some(50.0), ..Criteria::default() };
    let words = "the p99 of fast -w 2 -t 1 at 80 % load is not known, and may be above 50.00 ms";
    let is_said = |summary: &Summary| advise(summary, &strict).uncertainty.iter().any(|one| one == words);
    assert!(!is_said(&late));
    late.cases[1].results[0].numbers.remove(P99);
    assert!(advise(&late, &strict).sentence.contains("use fast") && is_said(&late), "{:?}", advise(&late, &strict));
}

#[test]
fn the_speed_of_the_fastest_does_not_count_against_it() {
    let rows = [
        Results("foolsgold", 2, 5, [1990.0, 2000.0, 2010.0], 80.0, 150.0),
        Results("puma", 2, 5, [990.0, 1000.0, 1010.0], 20.0, 200.0),
    ];
    let slow = advise(&summary(&rows), &now("puma"));
    assert!(slow.sentence.contains("stay with puma"), "{}", slow.sentence);
    // At 1000 requests/s, where puma at 80 % has 800, it has a p99 of 15 ms.
    let mut with_half = summary(&rows);
    let of = |name: &str, p99| Measured::of(&format!("{name} -w 2 -t 5"), &[(P99, near(p99))]);
    let results = vec![of("foolsgold", 15.0), of("puma", 10.0)];
    with_half.cases.push(Case { name: cases::load(50), x: Some(50.0), results, ..Case::default() });
    let quick = advise(&with_half, &now("puma"));
    assert!(quick.sentence.contains("use foolsgold"), "{}", quick.sentence);
    let half = "foolsgold -w 2 -t 5 has a p99 of 15.00 ms at half of its capacity, 1000 requests/s, which is no less \
                than puma -w 2 -t 5 had at 80 %";
    assert!(quick.reasons.iter().any(|reason| reason.starts_with(half)), "{:?}", quick.reasons);
    // The user's own bound is for 80 % of each one's capacity.
    let bounded = Criteria { p99_max_ms: Some(60.0), ..now("puma") };
    assert!(advise(&with_half, &bounded).sentence.contains("stay with puma"));
}

#[test]
fn ties_are_called_ties_and_broken_in_order() {
    let row = |server, p99, memory| Results(server, 2, 3, [980.0, 1000.0, 1020.0], p99, memory);
    let by_p99 = advise(&summary(&[row("a", 12.0, 90.0), row("b", 9.0, 200.0)]), &now("a"));
    assert!(
        by_p99.sentence.contains("use b with -w 2 -t 3; it serves as much as a -w 2 -t 3 at 0.8× its p99"),
        "{by_p99:?}"
    );
    assert!(
        by_p99.reasons.iter().any(
            |reason| reason.contains("not differ significantly in rate from a -w 2 -t 3") && reason.contains("p99")
        )
    );
    assert!(by_p99.uncertainty.iter().any(|words| words.contains("may turn")));
    let by_memory = advise(&summary(&[row("a", 9.0, 200.0), row("b", 9.0, 90.0)]), &Criteria::default());
    assert!(by_memory.sentence.contains("use b"), "{by_memory:?}");
    let little = advise(&summary(&[row("a", 9.0, 110.0), row("b", 9.9, 90.0)]), &now("a"));
    assert!(little.sentence.contains("stay with a"), "a tenth of the memory, or of a few ms, moves nobody: {little:?}");
    let by_habit = advise(&summary(&[row("a", 9.0, 90.0), row("b", 9.0, 90.0)]), &now("b"));
    let words = "stay with b with -w 2 -t 3, since no other is shown to be clearly better; it serves as much as a";
    assert!(by_habit.sentence.contains(words), "{by_habit:?}");
    let words = "it was chosen because it serves the app now, and none of these is shown to have a p99 lower by";
    assert!(by_habit.reasons.iter().any(|reason| reason.contains(words)), "{by_habit:?}");
    let larger = || Results("a", 4, 3, [980.0, 1000.0, 1020.0], 9.0, 90.0);
    let by_size = advise(&summary(&[larger(), row("b", 9.0, 90.0)]), &Criteria::default());
    assert!(by_size.sentence.contains("use b"), "{by_size:?}");
    let reason = by_size.reasons.iter().find(|reason| reason.contains("no setting is smaller")).expect("a reason");
    assert!(reason.ends_with("and nothing else tells them apart"), "{reason}");
    // One of two with the same setting does not run fewer threads than the other.
    let by_chance = advise(&summary(&[larger(), row("b", 9.0, 90.0), row("c", 9.0, 90.0)]), &Criteria::default());
    assert!(by_chance.sentence.contains("use b"), "{by_chance:?}");
    let words = "; as small: c -w 2 -t 3, behind it by the median of the capacity alone, which may be chance";
    assert!(by_chance.reasons.iter().any(|reason| reason.ends_with(words)), "{by_chance:?}");
}

#[test]
fn the_noisiest_setting_is_not_recommended_for_its_noise() {
    // As seen on a busy machine: rates, and p99 at 80 % load; equal memory.
    let rows = |now: [f64; 2], noisy: [f64; 2]| {
        let mut seen = summary(&[
            Results("puma", 2, 5, [now[0], now[0], now[1]], 0.0, 48.0),
            Results("puma", 2, 16, [noisy[0], noisy[0], noisy[1]], 0.0, 60.0),
        ]);
        for (at, p99) in [[479.0, 2738.0], [258.0, 3047.0]].into_iter().enumerate() {
            seen.cases[0].results[at].add(&[(RATE, [now, noisy][at])]);
            seen.cases[1].results[at].add(&[(P99, p99)]);
        }
        seen
    };
    let seen = rows([700.0, 1192.0], [217.0, 1249.0]);
    let advice = advise(&seen, &now("puma -w 2 -t 5"));
    assert!(advice.sentence.contains("stay with puma with -w 2 -t 5"), "{advice:?}");
    // Without a present server only the rates count, and it is not chosen either, even if it were the simpler one.
    let advice = advise(&seen, &Criteria::default());
    assert!(advice.sentence.contains("use puma with -w 2 -t 5"), "{advice:?}");
    let simpler = rows([217.0, 1249.0], [700.0, 1192.0]);
    let advice = advise(&simpler, &Criteria::default());
    assert!(advice.sentence.contains("use puma with -w 2 -t 16"), "{advice:?}");
}

/// Server, workers and as many threads, rates of five rounds, p99 at 80 % load, and memory.
type OfFive = (&'static str, u32, [f64; 5], f64, f64);

fn five(rows: &[OfFive]) -> Summary {
    let figures = |&(server, size, rates, p99, memory): &OfFive| {
        Results(server, size, size, [rates[0], rates[1], rates[2]], p99, memory)
    };
    let mut seen = summary(&rows.iter().map(figures).collect::<Vec<_>>());
    for (result, (_, _, rates, ..)) in seen.cases[0].results.iter_mut().zip(rows) {
        result.add(&[(RATE, rates)]);
    }
    seen
}

#[test]
fn what_is_not_shown_to_beat_the_present_server_is_not_recommended_for_being_level_with_one_that_is() {
    // Its rounds differ so much that it differs significantly from none; its median is nine tenths of the best one.
    const NOISY: [f64; 5] = [700.0, 905.0, 960.0, 1150.0, 1300.0];
    let rows = |p99: [f64; 3], memory: [f64; 3]| {
        five(&[
            ("wide", 4, [1000.0; 5], p99[0], memory[0]),
            ("puma", 2, [930.0; 5], p99[1], memory[1]),
            ("noisy", 1, NOISY, p99[2], memory[2]),
        ])
    };
    // By its fewer processes, by a p99 and by less memory than the one that beats the present server.
    for (p99, memory) in [([9.0; 3], [90.0; 3]), ([20.0, 10.0, 10.0], [90.0; 3]), ([9.0; 3], [200.0, 90.0, 90.0])] {
        let seen = rows(p99, memory);
        let advice = advise(&seen, &now("puma -w 2 -t 2"));
        assert_eq!(advice.contender, "wide -w 4 -t 4", "{advice:?}");
        assert!(advice.sentence.contains("it serves 1.1× what puma -w 2 -t 2 does"), "{advice:?}");
        let why = "wide -w 4 -t 4 does not differ significantly in rate from noisy -w 1 -t 1; it was chosen because it \
                   alone is shown to be";
        assert!(advice.reasons.iter().any(|reason| reason.starts_with(why)), "{advice:?}");
        assert_eq!(advise(&seen, &Criteria::default()).contender, "noisy -w 1 -t 1");
    }
    // It is shown to be better itself: by its p99, or its memory.
    for (p99, memory) in [([20.0, 20.0, 10.0], [90.0; 3]), ([9.0; 3], [200.0, 200.0, 90.0])] {
        assert_eq!(advise(&rows(p99, memory), &now("puma")).contender, "noisy -w 1 -t 1");
    }
    // The present server is level with a noisy one that has the highest median, and not with another one.
    let seen = five(&[
        ("noisy", 1, [700.0, 905.0, 1010.0, 1150.0, 1300.0], 9.0, 90.0),
        ("wide", 4, [1000.0; 5], 9.0, 90.0),
        ("puma", 2, [930.0; 5], 9.0, 90.0),
    ]);
    let advice = advise(&seen, &now("puma"));
    assert_eq!(advice.contender, "wide -w 4 -t 4", "{advice:?}");
    assert!(!advice.reasons.iter().any(|reason| reason.contains("noisy -w 1 -t 1, puma")), "{advice:?}");
}

#[test]
fn the_disqualified_and_the_failing_do_not_count() {
    let mut both = summary(&[
        Results("liar", 2, 3, [1990.0, 2000.0, 2010.0], 1.0, 90.0),
        Results("dropper", 2, 3, [1490.0, 1500.0, 1510.0], 1.0, 90.0),
        Results("honest", 2, 3, [990.0, 1000.0, 1010.0], 9.0, 90.0),
    ]);
    both.cases[1].results[0].disqualified = Some("GET / is answered with 404".into());
    // The same rule as in all studies: more than 1 of 100 failed, not 1 of 1000.
    both.cases[0].results[1].add(&[(FAILED, near(50.0)), ("requests", near(9000.0))]);
    assert!(advise(&both, &Criteria::default()).sentence.contains("use dropper"));
    both.cases[0].results[1].add(&[(FAILED, near(150.0))]);
    let advice = advise(&both, &Criteria::default());
    assert!(advice.sentence.contains("use honest") && advice.sentence.contains("nobody else"), "{}", advice.sentence);
    assert!(advice.reasons.iter().any(|reason| reason.contains("liar -w 2 -t 3 does not count: GET / is")));
    assert!(advice.reasons.iter().any(|reason| reason.contains("dropper") && reason.ends_with("requests failed")));
    both.cases[0].results[1].errors = [("status 503".to_owned(), 450)].into();
    let reasons = advise(&both, &Criteria::default()).reasons;
    assert!(reasons.iter().any(|reason| reason.ends_with("requests failed (450 × status 503)")), "{reasons:?}");
    for result in &mut both.cases[0].results {
        result.disqualified = Some("it died".into());
    }
    let advice = advise(&both, &Criteria::default());
    assert!(advice.sentence.starts_with("no server can be recommended"), "{advice:?}");
    assert!(advice.command.is_empty() && advice.reasons.len() == 3);
    assert!(advise(&Summary::default(), &Criteria::default()).reasons[0].contains("nobody was measured"));
}

#[test]
fn whoever_has_no_rate_does_not_count_and_why_is_said() {
    let reasons = |rate: Option<f64>, right: f64| {
        let mut one = summary(&[Results("a", 1, 1, [100.0; 3], 5.0, 50.0)]);
        let result = &mut one.cases[0].results[0];
        result.numbers.remove(RATE);
        if let Some(rate) = rate {
            result.add(&[(RATE, near(rate)), ("requests", near(right))]);
        }
        let of_rounds = advise(&one, &Criteria::default()).reasons;
        // It never came to the rounds.
        one.cases[0].name = cases::SETTINGS.into();
        assert_eq!(advise(&one, &Criteria::default()).reasons, of_rounds);
        of_rounds.join("; ")
    };
    let too_short = "a -w 1 -t 1 does not count: the load was too short: no answer came before its end";
    assert_eq!(reasons(Some(0.0), 16.0), too_short);
    assert_eq!(reasons(Some(0.0), 0.0), "a -w 1 -t 1 does not count: it answered nothing");
    assert_eq!(reasons(None, 0.0), "a -w 1 -t 1 does not count: its capacity could not be measured");
}

#[test]
fn alone_or_with_itself_only() {
    let one = summary(&[Results("puma", 2, 5, [990.0, 1000.0, 1010.0], 24.0, 200.0)]);
    assert!(advise(&one, &now("puma")).sentence.contains("stay with puma with -w 2 -t 5; nobody else"));
    let own = summary(&[
        Results("puma", 2, 5, [990.0, 1000.0, 1010.0], 24.0, 200.0),
        Results("puma", 4, 5, [1490.0, 1500.0, 1510.0], 24.0, 200.0),
    ]);
    let advice = advise(&own, &now("puma -w 2 -t 5"));
    assert!(advice.sentence.contains("stay with puma with -w 4 -t 5; it serves 1.5× what puma -w 2 -t 5 does"));
    assert!(advice.uncertainty.iter().any(|words| words.contains("larger ones may be better")), "{advice:?}");
}

#[test]
fn caveats_and_the_quick_form_are_told() {
    let mut quick = summary(&[Results("a", 1, 1, [100.0; 3], 5.0, 50.0), Results("b", 1, 1, [50.0; 3], 5.0, 50.0)]);
    quick.is_quick = true;
    for result in quick.cases.iter_mut().flat_map(|case| &mut case.results) {
        for spread in result.numbers.values_mut() {
            spread.all.truncate(1);
        }
    }
    let criteria = Criteria { caveats: vec!["the database runs here, too".into()], ..Criteria::default() };
    let advice = advise(&quick, &criteria);
    for part in ["quick form", "one round only", "the database"] {
        assert!(advice.uncertainty.iter().any(|words| words.contains(part)), "{part}: {advice:?}");
    }
}

#[test]
fn a_missing_p99_is_survived() {
    let mut odd = summary(&[Results("a", 1, 1, [100.0; 3], 5.0, 50.0), Results("b", 1, 1, [100.0; 3], 5.0, 50.0)]);
    odd.cases.truncate(1);
    let advice = advise(&odd, &Criteria::default());
    assert!(advice.sentence.contains("it serves as much as"), "{advice:?}");
}

#[test]
fn what_is_undecided_is_not_called_level() {
    let wide = [Results("a", 2, 3, [400.0, 1000.0, 2500.0], 9.0, 90.0), Results("b", 2, 3, [980.0; 3], 9.0, 90.0)];
    let advice = advise(&summary(&wide), &Criteria::default());
    let said = format!("{} {}", advice.sentence, advice.reasons.join(" "));
    assert!(said.contains("does not differ significantly from that of") && said.contains(", no significant"), "{said}");
    assert!(!said.contains("as much as") && !said.contains("level"), "{said}");
}

#[test]
fn who_was_not_shown_to_carry_the_rate_is_not_said_to() {
    let mut summary = at_rate(two(), &[("quick -w 2 -t 3", WELL, 6.0, 90.0), ("small -w 1 -t 3", WELL, 6.0, 90.0)]);
    let advice = advise(&summary, &now("quick"));
    assert!(advice.sentence.contains("small -w 1 -t 3 carries it as well, and the two do not differ"), "{advice:?}");
    for one in summary.traffic.iter_mut().flat_map(|traffic| &mut traffic.carried) {
        one.steps.retain(|_| one.contender.starts_with("quick"));
    }
    let advice = advise(&summary, &now("quick"));
    assert!(advice.sentence.contains("it is not decided whether small -w 1 -t 3 carries it"), "{advice:?}");
}

/// A name; multiples of the rate, each with the number of rounds of three that broke; p99 and memory at the rate.
type CarriedRow<'a> = (&'a str, &'a [(u32, u32)], f64, f64);

/// Carries the rate and twice of it, and breaks at four times.
const WELL: &[(u32, u32)] = &[(1, 0), (2, 0), (4, 3)];

/// Adds what each contender carries of 120 requests/s, and its p99 and memory there.
fn at_rate(mut summary: Summary, rows: &[CarriedRow]) -> Summary {
    let mut traffic = Traffic { per_s: 120.0, cores: 2, ..Traffic::default() };
    let mut case = Case { name: cases::traffic(1), x: Some(120.0), ..Case::default() };
    for &(name, steps, p99, memory) in rows {
        let step = |(of, broke): &(u32, u32)| Step {
            of: *of,
            rounds: 3,
            not_kept: 0,
            broke: *broke,
            per_s: 120.0 * f64::from(*of),
            what: "the p99 was 900 ms: its process was full".into(),
        };
        let steps = steps.iter().map(step).collect();
        traffic.carried.push(Carried { contender: name.into(), steps, ..Carried::default() });
        case.results.push(Measured::of(name, &[(P99, near(p99)), (PSS_PEAK, near(memory))]));
    }
    summary.cases.push(case);
    summary.traffic = Some(traffic);
    summary
}

fn two() -> Summary {
    summary(&[
        Results("quick", 2, 3, [1990.0, 2000.0, 2010.0], 8.0, 300.0),
        Results("small", 1, 3, [790.0, 800.0, 810.0], 9.0, 90.0),
    ])
}

#[test]
fn at_a_rate_that_all_carry_memory_decides_and_capacity_does_not() {
    assert!(advise(&two(), &Criteria::default()).sentence.contains("use quick"));
    let summary = at_rate(two(), &[("quick -w 2 -t 3", WELL, 6.0, 300.0), ("small -w 1 -t 3", WELL, 6.2, 90.0)]);
    let advice = advise(&summary, &now("quick"));
    assert_eq!(advice.contender, "small -w 1 -t 3");
    assert_eq!(
        advice.sentence,
        "for this app at your 120 requests/s on this machine, use small with -w 1 -t 3; it needs 0.3× the memory of \
         quick -w 2 -t 3, and the p99 of the two does not differ significantly"
    );
    let reason = "carries your rate and twice that, as does quick -w 2 -t 3; capacity beyond that decides nothing";
    assert!(advice.reasons.iter().any(|one| one.contains(reason)), "{advice:?}");
    // Where the rounds of the other one differ, that is not known.
    let unsure: &[(u32, u32)] = &[(1, 0), (2, 1)];
    let unsure = at_rate(two(), &[("quick -w 2 -t 3", unsure, 6.0, 300.0), ("small -w 1 -t 3", WELL, 6.2, 90.0)]);
    let reasons = advise(&unsure, &now("quick")).reasons;
    assert!(reasons.iter().any(|one| one.contains("as may quick -w 2 -t 3; capacity")), "{reasons:?}");
    assert!(advice.reasons[0].contains("at your rate"), "{advice:?}");
    assert!(advice.uncertainty.iter().any(|words| words.contains("each for itself")), "{advice:?}");
}

#[test]
fn only_those_that_are_not_shown_to_carry_the_rate_may() {
    let three = || {
        summary(&[
            Results("quick", 2, 3, [1990.0, 2000.0, 2010.0], 8.0, 300.0),
            Results("small", 1, 3, [790.0, 800.0, 810.0], 9.0, 90.0),
            Results("other", 1, 3, [690.0, 700.0, 710.0], 9.0, 200.0),
        ])
    };
    let unsure: &[(u32, u32)] = &[(1, 0), (2, 1)];
    let reasons = |quick: &[(u32, u32)], small: &[(u32, u32)]| {
        let rows = [
            ("quick -w 2 -t 3", quick, 6.0, 300.0),
            ("small -w 1 -t 3", small, 6.2, 90.0),
            ("other -w 1 -t 3", WELL, 6.2, 200.0),
        ];
        advise(&at_rate(three(), &rows), &now("quick")).reasons
    };
    let has = |reasons: &[String], part: &str| reasons.iter().any(|one| one.contains(part));
    let found = reasons(WELL, WELL);
    assert!(has(&found, "twice that, as do quick -w 2 -t 3 and other -w 1 -t 3; capacity"), "{found:?}");
    let found = reasons(unsure, WELL);
    assert!(has(&found, "twice that, as does other -w 1 -t 3, and as may quick -w 2 -t 3; capacity"), "{found:?}");
    // The recommended one is not shown to carry the rate itself.
    let found = reasons(&[(1, 1)], &[(1, 1)]);
    let words = "small -w 1 -t 3 may carry your rate, but the rounds do not show it, as may quick -w 2 -t 3, while \
                 other -w 1 -t 3 carries it; capacity";
    assert!(has(&found, words), "{found:?}");
}

#[test]
fn the_present_server_is_kept_with_a_reason_that_is_one() {
    let rows = [("quick -w 2 -t 3", WELL, 6.0, 133.0), ("small -w 1 -t 3", WELL, 6.0, 102.0)];
    let mut summary = at_rate(two(), &rows);
    let start = "for this app at your 120 requests/s on this machine, stay with quick with -w 2 -t 3, since no other \
                 is shown to be clearly better; it needs 1.3× the memory of small -w 1 -t 3";
    let advice = advise(&summary, &now("quick"));
    assert_eq!(advice.sentence, format!("{start}, and the p99 of the two does not differ significantly"));
    assert!(advice.reasons.iter().any(|reason| reason.ends_with("to need a quarter less memory")), "{advice:?}");
    // Of a p99 that is not shown, since the load generator was late, nothing is said.
    let own = summary.cases.iter_mut().filter(|case| case.name == cases::traffic(1));
    for result in own.flat_map(|case| &mut case.results) {
        result.numbers.remove(P99);
    }
    assert_eq!(advise(&summary, &now("quick")).sentence, start);
}

#[test]
fn at_a_rate_too_only_what_is_shown_to_beat_the_present_server_is_recommended() {
    let three = summary(&[
        Results("quick", 2, 3, [1990.0, 2000.0, 2010.0], 8.0, 300.0),
        Results("small", 1, 3, [790.0, 800.0, 810.0], 9.0, 90.0),
        Results("noisy", 1, 1, [790.0, 800.0, 810.0], 9.0, 90.0),
    ]);
    let rows = [
        ("quick -w 2 -t 3", WELL, 8.0, 200.0),
        ("small -w 1 -t 3", WELL, 10.0, 90.0),
        ("noisy -w 1 -t 1", WELL, 9.0, 90.0),
    ];
    let mut summary = at_rate(three, &rows);
    // Less memory than the one whose p99 beats the present server's; its own p99 differs significantly from none.
    let noisy = summary.cases.last_mut().and_then(|case| case.results.last_mut()).unwrap();
    noisy.add(&[(P99, [4.0, 10.0, 25.0])]);
    assert_eq!(advise(&summary, &Criteria::default()).contender, "noisy -w 1 -t 1");
    let advice = advise(&summary, &now("small"));
    assert_eq!(advice.contender, "quick -w 2 -t 3", "{advice:?}");
    let why = "it alone is shown to be better at this rate than what serves the app now";
    assert!(advice.reasons.iter().any(|reason| reason.ends_with(why)), "{advice:?}");
}

#[test]
fn one_that_breaks_at_the_rate_or_at_twice_of_it_is_not_recommended() {
    for breaks in [&[(1, 3)][..], &[(1, 0), (2, 3)]] {
        let summary = at_rate(two(), &[("quick -w 2 -t 3", WELL, 6.0, 300.0), ("small -w 1 -t 3", breaks, 6.2, 90.0)]);
        let advice = advise(&summary, &now("small"));
        assert!(advice.sentence.contains("use quick with -w 2 -t 3; small -w 1 -t 3 does not carry"), "{advice:?}");
        assert!(advice.reasons.iter().any(|reason| reason.contains("its process was full")), "{advice:?}");
    }
    // Where the rounds differ a contender is not ruled out, and the user's present one is kept.
    let summary =
        at_rate(two(), &[("quick -w 2 -t 3", WELL, 6.0, 90.0), ("small -w 1 -t 3", &[(1, 0), (2, 1)], 6.2, 90.0)]);
    assert!(advise(&summary, &now("small")).sentence.contains("stay with small"));
    // Where no contender carries the rate, the choice is made as without one.
    let none: &[(u32, u32)] = &[(1, 3)];
    let summary = at_rate(two(), &[("quick -w 2 -t 3", none, 900.0, 90.0), ("small -w 1 -t 3", none, 950.0, 90.0)]);
    assert!(advise(&summary, &Criteria::default()).sentence.contains("nobody carries your 120 requests/s"));
}
