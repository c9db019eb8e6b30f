//! Checks whether a run meets the requirements of METHOD.md for figures that are shown on pages about the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::origin::{Origin, STUDY};
use crate::measure::{leave_out, strays};
use crate::record::folder::Folder;
use crate::record::summary::Summary;
use crate::record::{Sample, fingerprint};
use crate::stats;

/// Rounds that a run needs; fewer show hardly any difference.
const ROUNDS_LEAST: u32 = 3;
/// Study name of a duel, which has no study and no fixed settings: its recipes are not compared with the present ones.
const DUEL: &str = "duel";
/// Most contenders that are named as measured apart from their rounds.
const NAMED_MOST: usize = 3;

/// Summary of a run by the present rules, and the requirements of METHOD.md that it does not meet, in parts of
/// sentences; none if it may be shown. `home` has the present recipes.
pub fn shown(home: &Path, folder: &Folder) -> Result<(Summary, Vec<String>), String> {
    let mut summary = folder.read_summary()?;
    let plan = folder.plan().unwrap_or_default();
    let origin = plan.get("origin").and_then(|origin| serde_json::from_value(origin.clone()).ok());
    let is_elsewhere = plan.get("machine").is_some_and(|machine| !machine.is_null());
    // Loads of other machines have the time of their import, not of the load.
    let samples = if is_elsewhere { Vec::new() } else { folder.samples()?.0 };
    by_rules(&mut summary, &samples);
    let shortcomings = shortcomings(&summary, &samples, origin.as_ref(), &of_tree(home));
    Ok((summary, shortcomings))
}

/// Applies the present rules to the figures of an older run.
fn by_rules(summary: &mut Summary, samples: &[Sample]) {
    let strays = strays(samples);
    for case in &mut summary.cases {
        leave_out(case, &strays);
        case.ranking = stats::ranking_of(case);
    }
}

fn shortcomings(
    summary: &Summary,
    samples: &[Sample],
    origin: Option<&Origin>,
    tree: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut found = Vec::new();
    if summary.rounds < ROUNDS_LEAST {
        let rounds = if summary.rounds == 1 { "round" } else { "rounds" };
        found.push(format!("{} {rounds} of at least {ROUNDS_LEAST}", summary.rounds));
    }
    found.extend(summary.twin_of.is_none().then(|| "no contender took part twice (no twin)".to_owned()));
    match origin {
        None if summary.study == DUEL => {}
        None => found.push("with which recipes it was made is not known".to_owned()),
        Some(origin) => {
            let is_other = |(name, print): &(&String, &String)| tree.get(*name) != Some(*print);
            let others: Vec<&str> = origin.recipes.iter().filter(is_other).map(|(name, _)| name.as_str()).collect();
            found.extend(
                (!others.is_empty()).then(|| format!("these recipes are others by now: {}", others.join(", "))),
            );
        }
    }
    found.extend(apart(samples));
    found
}

/// Sentence part on rounds that were not measured in one go.
fn apart(samples: &[Sample]) -> Option<String> {
    let strays = strays(samples);
    let away_s = strays.iter().map(|stray| stray.away_s).max()?;
    let mut names: Vec<&str> = strays.iter().map(|stray| stray.contender.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let more = match names.len().saturating_sub(NAMED_MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(NAMED_MOST);
    Some(format!(
        "not measured in one go: {}{more}, up to {} min apart from the others of their rounds",
        names.join(", "),
        away_s / 60
    ))
}

/// Fingerprints of the present recipes, under the names that a run records.
fn of_tree(home: &Path) -> BTreeMap<String, String> {
    let of = |folder: &str, prefix: &str| {
        let files = fs::read_dir(home.join(folder)).into_iter().flatten().flatten().map(|entry| entry.path());
        let recipes = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml"));
        let known = recipes.filter_map(|file| {
            let name = file.file_stem()?.to_string_lossy().into_owned();
            Some((format!("{prefix}{name}"), fingerprint(&fs::read(&file).ok()?)))
        });
        known.collect::<Vec<(String, String)>>()
    };
    of("arena/contenders", "").into_iter().chain(of("arena/studies", STUDY)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::date;

    fn sample(contender: &str, minute: u64) -> Sample {
        let started = date::written(1_000_000_000 + minute * 60);
        Sample { case: "c".into(), contender: contender.into(), round: 1, started, took_s: 9.0, ..Sample::default() }
    }

    #[test]
    fn a_run_as_the_method_wants_it_lacks_nothing_and_each_lack_is_said() {
        let prints: BTreeMap<String, String> = [("puma".to_owned(), "1".to_owned())].into();
        let origin = Origin { recipes: prints.clone(), ..Origin::default() };
        let run = Summary { rounds: 3, twin_of: Some("puma".into()), ..Summary::default() };
        let samples = [sample("puma", 0), sample("thin", 2)];
        let of = |run: &Summary, samples: &[Sample], origin: Option<&Origin>, tree: &BTreeMap<String, String>| {
            shortcomings(run, samples, origin, tree).join("; ")
        };
        assert_eq!(of(&run, &samples, Some(&origin), &prints), "");
        let few = of(&Summary { rounds: 2, twin_of: None, ..run.clone() }, &samples, None, &prints);
        assert_eq!(
            few,
            "2 rounds of at least 3; no contender took part twice (no twin); with which recipes it was made is not \
             known"
        );
        let late = [sample("puma", 0), sample("puma", 1), sample("thin", 40)];
        let found = of(&run, &late, Some(&origin), &BTreeMap::new());
        assert_eq!(
            found,
            "these recipes are others by now: puma; not measured in one go: thin, up to 38 min apart from the others \
             of their rounds"
        );
    }

    #[test]
    fn recipes_of_the_tree_have_the_names_that_a_run_keeps() {
        let tree = of_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        assert!(tree.contains_key("puma") && tree.contains_key("the study prime-sums"), "{tree:?}");
    }
}
