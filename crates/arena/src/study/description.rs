//! The line below a case's title: the load that all its contenders had. Numbers that differ between contenders, such as
//! a rate by each one's own capacity, are given as the share of that capacity; the table has each contender's own
//! figures. Pure.

use std::collections::BTreeSet;

use super::bad_day::overload_s;
use super::plan::{Family, PlannedCase};
use super::recipe::Tool;
use crate::record::Sample;
use loadgen::metric::GOODPUT_DEADLINE_MS;
use loadgen::scenario::overload::CALM;
use loadgen::scenario::stuck::TIMES;

/// Words in the command of a load before the number of clients that request what hangs.
const BESIDE: &str = "beside it ";
/// Most variants of a load that are listed, if the rounds did not all have the same; of more, it is only said that
/// there are several.
const VARIANTS: usize = 3;

/// Description of a case of this family: by the commands of its timed loads if they agree, and by the plan if their
/// numbers are each contender's own.
pub fn description(case: &PlannedCase, family: &Family, samples: &[Sample]) -> String {
    let path = &family.recipe.path;
    let own = || samples.iter().filter(|one| one.case == case.name && one.is_timed() && !one.command.is_empty());
    let commands: BTreeSet<String> = own().map(|one| in_common(&one.command, path)).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    // The numbers of an imported load are those that its user gave, whatever the plan has.
    let is_imported = own().any(|one| !one.imported.is_empty());
    match (as_planned(case, family, &commands).filter(|_| !is_imported), &commands[..]) {
        (_, []) => path.clone(),
        (Some(words), _) => words,
        (None, [one]) => (*one).to_owned(),
        (None, some) if some.len() <= VARIANTS => format!("not the same in all loads: {}", some.join("; or ")),
        (None, _) => format!("{path}, not by the same load in all rounds"),
    }
}

/// Description by the plan, for loads whose numbers are each contender's own; `None` for all others.
fn as_planned(case: &PlannedCase, family: &Family, commands: &[&str]) -> Option<String> {
    let is_by_k6 = commands.iter().any(|command| command.starts_with("k6 "));
    let seconds = case.seconds;
    let percent = case.load_pct;
    match case.tool {
        Tool::Ladder if percent > 0 && case.slowest_pct == 0 => {
            let most = case.open_connections();
            let who = if is_by_k6 { "k6, at even distances" } else { "open loop" };
            Some(format!(
                "{who}: {percent} % of each one’s own capacity in the same round, for {seconds} s, at most {most} \
                 connections, kept"
            ))
        }
        Tool::Overload if percent > 0 => {
            let (calm, over, after) = overload_s(case);
            let share = CALM * 100.0;
            Some(format!(
                "open loop: {percent} % of each one’s own capacity in the same round for {over} s, after {calm} s and \
                 before {after} s at {share:.0} % of it; of use is what comes within {GOODPUT_DEADLINE_MS} ms"
            ))
        }
        Tool::Stuck => {
            let hangs = family.recipe.stuck_path.as_deref().unwrap_or_default();
            let per_s = family.recipe.per_s.unwrap_or_default();
            let most = case.clients;
            let hanging = hanging_in(commands);
            Some(format!(
                "open loop: {per_s}/s for {seconds} s, or for {TIMES} times as long as {hangs} takes alone if that is \
                 longer, at most {most} connections, kept; {BESIDE}{hanging} clients in {hangs}"
            ))
        }
        _ => None,
    }
}

/// Number of clients that requested what hangs, by the commands of the loads. It is one number for all contenders, but
/// for runs from before 30 November 2026: `8 or 20`.
fn hanging_in(commands: &[&str]) -> String {
    let number = |command: &&str| command.split_once(BESIDE)?.1.split(' ').next()?.parse::<u32>().ok();
    let all: BTreeSet<u32> = commands.iter().filter_map(number).collect();
    all.iter().map(u32::to_string).collect::<Vec<_>>().join(" or ")
}

/// A command without port, host and seed, which differ between servers or rounds.
fn in_common(command: &str, path: &str) -> String {
    let seed = command.split_once(", seed ").map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    let seed = seed.flatten().map_or_else(String::new, |digits| format!(", seed {digits}"));
    let words: Vec<&str> = command
        .split(' ')
        .map(|word| match word.contains("127.0.0.1:") {
            // A script of k6 knows its path.
            true if word.starts_with("URL=") => "URL=http://HOST:PORT",
            true => path,
            false if word.starts_with("SEED=") => "SEED=SEED",
            false => word,
        })
        .collect();
    words.join(" ").replace(&seed, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ImportedFile;
    use crate::study::expect::Expected;
    use crate::study::recipe::CaseRecipe;

    fn family(tool: &str, more: &str) -> Family {
        let text = format!(
            "name = \"c\"\ntitle = \"C\"\ntool = \"{tool}\"\npath = \"/a\"\nexpect = {{ exactly = \"x\" }}\n{more}"
        );
        let recipe: CaseRecipe = toml::from_str(&text).unwrap();
        Family { workload: Expected::default().workload("/a", None).unwrap(), recipe, cases: Vec::new() }
    }

    fn case(tool: Tool, load_pct: u32, slowest_pct: u32) -> PlannedCase {
        PlannedCase {
            name: "c".into(),
            family: "c".into(),
            title: "C".into(),
            tool,
            clients: 8,
            seconds: 10.0,
            requests: None,
            load_pct,
            slowest_pct,
            hanging: 20,
            x: None,
            metrics: Vec::new(),
            published: Vec::new(),
        }
    }

    fn sample(contender: &str, command: &str) -> Sample {
        Sample { case: "c".into(), contender: contender.into(), command: command.into(), ..Sample::default() }
    }

    #[test]
    fn a_rate_of_each_ones_own_is_told_as_a_share_and_not_as_that_of_the_first() {
        let samples = [
            sample("a", "open loop: 5383.0/s for 10 s, at most 512 connections, kept, seed 50"),
            sample("b", "open loop: 140.5/s for 10 s, at most 512 connections, kept, seed 50"),
        ];
        let steps = family("ladder", "load_pct = [50]");
        let own = description(&case(Tool::Ladder, 50, 0), &steps, &samples);
        assert_eq!(
            own,
            "open loop: 50 % of each one’s own capacity in the same round, for 10 s, at most 512 connections, kept"
        );
        let k6 = [sample("a", "k6 run -e URL=http://127.0.0.1:1 -e RATE=5383.000 -e SEED=4 c.js")];
        assert!(
            description(&case(Tool::Ladder, 50, 0), &steps, &k6).starts_with("k6, at even distances: 50 % of each")
        );
        // One that is the same for all stands there.
        let all =
            [sample("a", "open loop: 70.2/s for 10 s, seed 1"), sample("b", "open loop: 70.2/s for 10 s, seed 2")];
        assert_eq!(description(&case(Tool::Ladder, 50, 50), &steps, &all), "open loop: 70.2/s for 10 s");
        let differs = description(&case(Tool::Ladder, 50, 50), &steps, &samples);
        assert!(differs.starts_with("not the same in all loads: open loop: 140.5/s for 10 s"), "{differs}");
        // Of imported loads it is not known whether their rate was that share.
        let file = ImportedFile { name: "1.json".into(), fingerprint: "0".into() };
        let command = "k6 on one machine: open loop: 2000/s for 60 s, at even distances";
        let imported = [Sample { imported: vec![file], ..sample("a", command) }];
        assert_eq!(description(&case(Tool::Ladder, 50, 0), &steps, &imported), command);
        let many: Vec<Sample> = (0..9).map(|at| sample("a", &format!("open loop: {at}/s"))).collect();
        let differs = description(&case(Tool::Ladder, 50, 50), &steps, &many);
        assert_eq!(differs, "/a, not by the same load in all rounds");
    }

    #[test]
    fn what_a_scenario_asked_holds_for_all_its_contenders() {
        let samples = [
            sample("a", "open loop: 200.0/s for 10 s; beside it 20 clients in GET /sleep"),
            sample("b", "open loop: 200.0/s for 10.2 s; beside it 20 clients in GET /sleep"),
        ];
        let stuck = family("stuck", "per_s = 200\nstuck_path = \"/sleep\"");
        let words = description(&case(Tool::Stuck, 0, 0), &stuck, &samples);
        assert!(
            words.starts_with("open loop: 200/s for 10 s, or for 5 times as long as /sleep takes alone"),
            "{words}"
        );
        assert!(words.ends_with("; beside it 20 clients in /sleep"), "{words}");
        // In earlier runs each contender had a number of its own.
        let fewer = sample("c", "open loop: 200.0/s for 10 s; beside it 8 clients in GET /sleep");
        let words = description(&case(Tool::Stuck, 0, 0), &stuck, &[&samples[..], &[fewer]].concat());
        assert!(words.ends_with("; beside it 8 or 20 clients in /sleep"), "{words}");
        let over = family("overload", "load_pct = [200]");
        let samples = [sample("a", "open loop: 50.0/s for 3 s, 200.0/s for 10 s, 50.0/s for 10 s")];
        let words = description(&case(Tool::Overload, 200, 0), &over, &samples);
        assert!(words.starts_with("open loop: 200 % of each one’s own capacity in the same round for 10 s"), "{words}");
        assert!(words.contains("after 3 s and before 10 s at 50 % of it; of use is what comes within 1000 ms"));
    }

    #[test]
    fn ports_and_addresses_are_no_part_of_what_was_done() {
        assert_eq!(in_common("wrk -t2 http://127.0.0.1:4000/a", "/a"), "wrk -t2 /a");
        let k6 = "k6 run -e URL=http://127.0.0.1:4000 -e VUS=2 -e SEED=17 RUN/k6/a.js";
        let closed = "closed loop: 4 clients, 0.5 s, seed 81; a worker killed each 1 s";
        assert_eq!(in_common(closed, "/a"), "closed loop: 4 clients, 0.5 s; a worker killed each 1 s");
        assert_eq!(in_common(k6, "/a"), "k6 run -e URL=http://HOST:PORT -e VUS=2 -e SEED=SEED RUN/k6/a.js");
    }
}
