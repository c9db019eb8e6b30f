//! Tests with made-up samples.

use super::*;
use crate::record::summary::Advice;

use super::super::strain::{BOUND_TO, IDLE, SECONDS};
use super::super::summing;

const LIMITS: Limits = Limits { p99_ms: 100.0, cores: 2 };

fn rate() -> Rate {
    Rate { per_s: 120.0, mean_per_s: Some(45.0), origin: "the busiest minute of the log".into() }
}

fn sample(contender: &str, case: String, round: u32, p99: f64) -> Sample {
    let numbers = [
        ("requests", 1200.0),
        (FAILED, 0.0),
        (RATE, 120.0),
        ("offered_per_s", 120.0),
        (P50, p99 / 3.0),
        (P99, p99),
        (P999, p99 * 1.5),
        ("elapsed_s", 10.0),
        (SECONDS, 10.0),
        (IDLE, 50.0),
        (PROCESSORS, 0.3),
        (CPU, 2_500.0),
        (PSS_PEAK, 142.0),
    ];
    Sample { case, round, ..Sample::of(contender, &numbers) }
}

/// Samples of a contender that breaks at these multiples, one for each round.
fn samples(contender: &str, breaks: &[u32]) -> Vec<Sample> {
    let mut all = Vec::new();
    for (round, breaks) in (1..).zip(breaks) {
        for times in [1, 2, 4, 8] {
            let p99 = if times >= *breaks { 900.0 } else { 8.0 };
            all.push(sample(contender, cases::traffic(times), round, p99));
            if times >= *breaks {
                break;
            }
            if times == 1 {
                let mut small = sample(contender, cases::smaller(1), round, 12.0);
                small.numbers.insert(BOUND_TO.into(), 1.0);
                all.push(small);
            }
        }
    }
    all
}

fn summed_up(samples: &[Sample], recommended: &str) -> Traffic {
    let who = |name: &str| Who { name: name.into(), workers: 1, threads: 3, ..Who::default() };
    let traffic = summed(&rate(), &LIMITS, false, samples, &[who("a -w 1 -t 3")], Some("a -w 1 -t 3"));
    let cases = summing::cases(samples, 16, Some(120.0));
    let advice = Some(Advice { contender: recommended.into(), ..Advice::default() });
    let mut summary = Summary { cases, traffic, advice, ..Summary::default() };
    tell(&mut summary);
    summary.traffic.unwrap()
}

#[test]
fn one_that_carries_it_is_told_with_what_it_takes_and_what_breaks_it() {
    let traffic = summed_up(&samples("a -w 1 -t 3", &[4, 4, 4]), "a -w 1 -t 3");
    let one = &traffic.carried[0];
    assert_eq!((one.highest().map(|step| step.of), one.breaks_at().map(|step| step.of)), (Some(2), Some(4)));
    assert_eq!((one.holds(1), one.holds(2), one.holds(4)), (Held::Yes, Held::Yes, Held::No));
    let cost = one.cost.as_ref().unwrap();
    assert_eq!((cost.machine_processors, cost.machine_mib, cost.cpu_s_per_million), (1, 512, 2_500.0));
    assert!((cost.processors_mean.unwrap() - 0.1125).abs() < 1e-9);
    for part in [
        "At 120 requests/s (the busiest minute of the log; the mean is 45/s), a -w 1 -t 3 answers half",
        "99 % within 8.00 ms",
        "with 0.30 processors and a peak memory of 142 MiB",
        "It carries twice the rate with a p99 of 8.00 ms. 4 times the rate, 480/s, is too much: the p99 was 900 ms",
        "on one it holds the rate with a p99 of 12.00 ms",
        "It takes 2500 s of processor time for a million requests, and 0.11 processors at the mean rate. By these \
         loads a machine of one processor and 512 MiB carries it.",
    ] {
        assert!(traffic.answer.contains(part), "{part} in {}", traffic.answer);
    }
}

#[test]
fn a_percentile_of_few_requests_is_told_as_the_slowest_one() {
    let answer = |requests: [f64; 3]| {
        let mut all = samples("a -w 1 -t 3", &[4, 4, 4]);
        for (one, requests) in all.iter_mut().filter(|one| one.case == cases::traffic(1)).zip(requests) {
            let numbers = [(P999, 15.0), (LONGEST, 16.0), (REQUESTS, requests)];
            one.numbers.extend(numbers.map(|(name, number)| (name.to_owned(), number)));
        }
        summed_up(&all, "a -w 1 -t 3").answer
    };
    for (requests, part) in [
        ([4000.0; 3], "within 2.67 ms, 99 % within 8.00 ms and 99.9 % within 15.00 ms, with 0.30 processors"),
        ([820.0, 771.0, 783.0], "99 % within 8.00 ms and the slowest of 771–820 in a round within 16.0 ms, with"),
        ([20.0; 3], "half of the requests within 2.67 ms and the slowest of 20 in a round within 16.0 ms, with"),
    ] {
        assert!(answer(requests).contains(part), "{part} in {}", answer(requests));
    }
    assert!(!answer([820.0, 771.0, 783.0]).contains("99.9 %"));
}

#[test]
fn latencies_that_are_not_known_are_not_shown_as_a_question_mark() {
    let mut samples = samples("a -w 1 -t 3", &[4, 4, 4]);
    for one in samples.iter_mut().filter(|one| one.case == cases::traffic(1) || one.case == cases::smaller(1)) {
        one.numbers.retain(|name, _| ![P50, P99, P999].contains(&name.as_str()));
    }
    let answer = summed_up(&samples, "a -w 1 -t 3").answer;
    assert!(
        answer.contains("a -w 1 -t 3 needs 0.30 processors and a peak memory of 142 MiB; its latencies are not"),
        "{answer}"
    );
    assert!(answer.contains("on one it holds the rate") && !answer.contains('?'), "{answer}");
}

#[test]
fn a_noisy_round_decides_nothing() {
    let one = &summed_up(&samples("a -w 1 -t 3", &[8, 1, 8, 8, 8]), "").carried[0];
    assert_eq!((one.holds(1), one.holds(4), one.holds(8)), (Held::Yes, Held::Yes, Held::No));
    let two = &summed_up(&samples("a -w 1 -t 3", &[4, 2]), "").carried[0];
    assert_eq!((two.holds(1), two.holds(2), two.holds(4)), (Held::Yes, Held::Unsure, Held::No));
    let alone = &summed_up(&samples("a -w 1 -t 3", &[2]), "").carried[0];
    assert_eq!((alone.holds(1), alone.holds(2)), (Held::Unsure, Held::Unsure));
}

#[test]
fn one_that_does_not_carry_it_has_no_cost() {
    let traffic = summed_up(&samples("a -w 1 -t 3", &[1, 1, 1]), "a -w 1 -t 3");
    assert_eq!(traffic.carried[0].cost, None);
    assert!(traffic.answer.contains("a -w 1 -t 3 does not carry it: the p99 was 900 ms"), "{}", traffic.answer);
}

#[test]
fn the_others_are_told_by_what_the_rounds_tell_apart() {
    let mut all = samples("a -w 1 -t 3", &[4, 4, 4]);
    all.extend(samples("b -w 1 -t 3", &[8, 8, 8]));
    let heavy = samples("c -w 1 -t 3", &[8, 8, 8]).into_iter().map(|mut sample| {
        sample.numbers.insert(PSS_PEAK.into(), 400.0);
        sample
    });
    all.extend(heavy);
    all.extend(samples("d -w 1 -t 3", &[1, 1, 1]));
    let answer = summed_up(&all, "a -w 1 -t 3").answer;
    for part in [
        "b -w 1 -t 3 is not told apart from it at this rate",
        "c -w 1 -t 3 has a higher peak memory (400 MiB)",
        "d -w 1 -t 3 does not carry the rate",
    ] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
    assert_eq!(summed(&rate(), &LIMITS, false, &[], &[], None), None);
}

#[test]
fn one_that_did_not_keep_up_is_not_called_level_in_its_p99() {
    let mut all = samples("a -w 1 -t 3", &[4, 4, 4]);
    // A tenth of the answers came after the end of the load, but soon: that does not break it.
    all.extend(samples("b -w 1 -t 3", &[8, 8, 8]).into_iter().map(|mut sample| {
        sample.numbers.insert(RATE.into(), 108.0);
        sample
    }));
    let answer = summed_up(&all, "a -w 1 -t 3").answer;
    let words =
        "b -w 1 -t 3 is not told apart from it in peak memory at this rate, and the p99 of the two is not compared";
    assert!(answer.contains(words), "{answer}");
}

#[test]
fn two_rounds_of_three_decide_nothing_and_all_of_the_page_says_so() {
    // Twice the rate broke in one of three rounds: more than half held it, but that does not decide.
    let traffic = summed_up(&samples("a -w 1 -t 3", &[4, 2, 4]), "a -w 1 -t 3");
    let one = &traffic.carried[0];
    let of = |step: Option<&Step>| step.map(|step| step.of);
    assert_eq!((of(one.highest()), of(one.breaks_at()), one.holds(2)), (Some(1), Some(4), Held::Unsure));
    assert_eq!(one.between().map(|step| step.of).collect::<Vec<_>>(), [2]);
    for part in [
        "Twice the rate, 240/s, held in 2 of 3 rounds, not sure; where not: the p99 was 900 ms",
        "4 times the rate, 480/s, is too much",
        "By these loads a machine of one processor and 512 MiB carries it.",
    ] {
        assert!(traffic.answer.contains(part), "{part} in {}", traffic.answer);
    }
    assert!(!traffic.answer.contains("It carries"), "{}", traffic.answer);
}

#[test]
fn what_k6_could_not_send_breaks_no_server() {
    let with = |times: u32| {
        let mut all = samples("a -w 1 -t 3", &[8, 8, 8]);
        all.retain(|one| cases::times_of(&one.case).is_none_or(|of| of <= times));
        for one in all.iter_mut().filter(|one| one.case == cases::traffic(times)) {
            one.numbers.insert(NOT_SENT.into(), 700.0);
            one.numbers.insert(P99.into(), 900.0);
        }
        summed_up(&all, "a -w 1 -t 3")
    };
    let traffic = with(2);
    let one = &traffic.carried[0];
    assert_eq!((one.holds(1), one.holds(2), one.breaks_at()), (Held::Yes, Held::Unsure, None));
    assert_eq!((one.steps[1].rounds, one.steps[1].not_kept), (0, 3));
    let words = "Whether it carries 240/s is not known: in 3 rounds the load generator could not keep the rate";
    assert!(traffic.answer.contains(words), "{}", traffic.answer);
    let traffic = with(1);
    assert_eq!((traffic.carried[0].holds(1), traffic.carried[0].cost.clone()), (Held::Unsure, None));
    let words = "it is not known whether a -w 1 -t 3 carries it, since in 3 rounds the load generator could not keep";
    assert!(traffic.answer.contains(words) && !traffic.answer.contains("does not carry"), "{}", traffic.answer);
}

#[test]
fn what_broke_is_told_with_the_medians_of_the_table() {
    let mut all = samples("a -w 1 -t 3", &[4, 4, 4, 4]);
    let seen = [(949.0, 54.0, 120.0), (733.0, 52.0, 100.0), (552.0, 50.0, 110.0), (544.0, 58.0, 120.0)];
    let broken = all.iter_mut().filter(|one| one.case == cases::traffic(4));
    for (one, (p99, rate, offered)) in broken.zip(seen) {
        let numbers = [(P99, p99), (RATE, rate), (OFFERED, offered), ("elapsed_s", 20.0)];
        one.numbers.extend(numbers.map(|(name, number)| (name.to_owned(), number)));
    }
    let what = summed_up(&all, "a -w 1 -t 3").carried[0].steps[2].what.clone();
    let words = "the p99 was 643 ms and only 47 % of the rate was served in time: requests queued";
    assert!(what.starts_with(words), "{what}");
    let list = summing::cases(&all, 16, Some(120.0));
    let result = &list.iter().find(|case| case.name == cases::traffic(4)).unwrap().results[0];
    assert_eq!(result.numbers[P99].median, 642.5);
    assert!(result.served_share.is_some_and(|share| format!("{:.0}", share * 100.0) == "47"), "{result:?}");
    // One round of four held: its figures are in the table, and not among those of what broke.
    for one in all.iter_mut().filter(|one| one.case == cases::traffic(4) && one.round == 1) {
        one.numbers.extend([(P99.to_owned(), 8.0), ("elapsed_s".to_owned(), 10.0)]);
    }
    let traffic = summed_up(&all, "a -w 1 -t 3");
    assert_eq!((traffic.carried[0].steps[2].broke, traffic.carried[0].holds(4)), (3, Held::No));
    let words = "4 times the rate, 480/s, is too much: in 3 of 4 rounds the p99 was 552 ms";
    assert!(traffic.answer.contains(words), "{}", traffic.answer);
}

#[test]
fn what_broke_in_each_round_otherwise_is_told_of_one_of_them() {
    let mut all = samples("a -w 1 -t 3", &[2, 2, 2]);
    for one in all.iter_mut().filter(|one| one.case == cases::traffic(2) && one.round > 1) {
        let behind = if one.round == 2 { (FAILED, 20.0) } else { (RATE, 60.0) };
        let numbers = [(P99, 8.0), behind, ("elapsed_s", 20.0)];
        one.numbers.extend(numbers.map(|(name, number)| (name.to_owned(), number)));
    }
    let step = summed_up(&all, "").carried[0].steps[1].clone();
    assert!(step.broke == 3 && !step.what.is_empty(), "{step:?}");
}

#[test]
fn the_twin_is_judged_as_well_and_is_no_contender() {
    let own = samples("a -w 1 -t 3", &[4, 4, 4, 4]);
    let all = [own, samples(TWIN, &[8, 4, 8, 4])].concat();
    let traffic = summed_up(&all, "a -w 1 -t 3");
    assert_eq!(traffic.carried.len(), 1);
    assert_eq!((traffic.carried[0].holds(4), traffic.carried[0].breaks_at().map(|step| step.of)), (Held::No, Some(4)));
    let twin = traffic.twin.unwrap();
    assert_eq!((twin.holds(2), twin.holds(4), twin.holds(8)), (Held::Yes, Held::Unsure, Held::No));
    assert_eq!(summed_up(&samples("a -w 1 -t 3", &[4, 4]), "").twin, None);
}

#[test]
fn what_breaks_at_less_breaks_at_more() {
    let one = &summed_up(&samples("a -w 1 -t 3", &[2, 2, 2]), "").carried[0];
    assert_eq!((one.holds(2), one.holds(8), one.holds(1)), (Held::No, Held::No, Held::Yes));
}

#[test]
fn what_an_easier_load_met_is_not_told_of_a_harder_one() {
    let what = |breaks: &[u32], of: u32| {
        let mut all = samples("a -w 1 -t 3", breaks);
        for one in all.iter_mut().filter(|one| one.case == cases::traffic(8) && one.number(P99) > 100.0) {
            one.numbers.insert(P99.into(), 2500.0);
        }
        let step = summed_up(&all, "").carried[0].steps.iter().find(|step| step.of == of).cloned();
        step.unwrap().what
    };
    // As seen once: what two rounds met at a lower multiple stood beside the higher one, which the third was asked.
    assert!(what(&[4, 4, 8], 4).starts_with("the p99 was 900 ms"));
    assert!(what(&[4, 4, 8], 8).starts_with("the p99 was 2500 ms"), "{}", what(&[4, 4, 8], 8));
    let easier = what(&[4, 4, 16], 8);
    assert!(easier.starts_with("at 4 times the rate already, the p99 was 900 ms"), "{easier}");
}
