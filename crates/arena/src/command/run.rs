//! `arena run`: one study, several, or all of them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::home::Home;
use super::interrupt;
use super::progress::Progress;
use super::words::{above_0, print, say, seed, write_page};
use crate::contender::quoted;
use crate::environment::{Environment, EnvironmentOptions};
use crate::record::folder::Folder;
use crate::record::machine;
use crate::record::summary::Summary;
use crate::record::{Sample, TWIN};
use crate::study::{Context, Effort, Origin, ReadyRun, RunRequest, Studies, Study, check_tools, lost_samples};
use loadgen::k6_version;

/// Runs studies.
#[derive(Debug, Args)]
pub struct RunCommand {
    /// Names of studies, or all.
    #[arg(required_unless_present = "resume", value_name = "STUDY")]
    studies: Vec<String>,
    #[command(flatten)]
    how: How,
    /// Only contenders with this in their name; may be given several times.
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,
    /// Without the contenders with this in their name, also of those that --only names; may be given several times.
    #[arg(long, value_name = "WORD")]
    without: Vec<String>,
    /// Resume an interrupted run, with the options that it was started with.
    #[arg(long, value_name = "FOLDER")]
    #[arg(conflicts_with_all = ["studies", "quick", "only", "without", "cases", "rounds", "rounds_most", "seconds"])]
    #[arg(conflicts_with_all = ["out", "seed", "load"])]
    resume: Option<PathBuf>,
    /// A contender that must not be disqualified in any case; exit code 1 if it is. May be given several times.
    #[arg(long, value_name = "NAME")]
    must: Vec<String>,
}

/// How a study is run: the options of `arena run` and `arena challenge`.
#[derive(Debug, Default, Args)]
pub struct How {
    /// The form of minutes: shows that everything works; its figures are not reliable.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    pub(super) source: EnvironmentOptions,
    /// Only cases with this in their name, series as a whole (ladder, not ladder@80); may be given several times.
    #[arg(long = "case", value_name = "WORD")]
    cases: Vec<String>,
    /// Rounds in each of which every contender has a turn; no further ones without --rounds-most.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = rounds)]
    rounds: Option<u32>,
    /// Number of the last further round, in which only undecided cases are measured.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = rounds)]
    rounds_most: Option<u32>,
    /// Seconds of each timed load; wrk, ab and siege take whole ones.
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = above_0)]
    seconds: Option<f64>,
    /// Load generator in place of the study's own tools: k6. Loads that it cannot generate stay as they are.
    #[arg(long, value_name = "TOOL", value_parser = ["k6"])]
    load: Option<String>,
    /// Folder for run folders [default: arena/runs].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Seed of the random orders [default: a new one in every run].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    seed: Option<u64>,
}

impl RunCommand {
    pub(super) fn obey(&self, home: &Home, out: &mut dyn Write) -> Result<(), String> {
        let environment = Environment::open(&self.how.source)?;
        let (catalogue, studies, figures) = home.read()?;
        let apps = home.0.join("apps");
        let context = Context { catalogue: &catalogue, environment: &environment, apps: &apps, figures: &figures };
        if let Some(path) = &self.resume {
            return self.resume(path, &studies, &context, home, out);
        }
        let chosen: Vec<&Study> = match self.studies.iter().any(|name| name == "all") {
            true => studies.0.iter().collect(),
            false => self.studies.iter().map(|name| studies.get(name)).collect::<Result<_, _>>()?,
        };
        for name in &self.must {
            if !chosen.iter().any(|study| study.contenders.iter().any(|entry| entry.name() == name)) {
                return Err(format!("--must {name}: no chosen study has a contender of that name; see `arena list`"));
            }
        }
        self.check_choice(&chosen, &studies)?;
        let mut failed = Vec::new();
        for study in chosen {
            let only = self.only.iter().map(|word| format!(" --only {word}"));
            let choice: String = only.chain(self.without.iter().map(|word| format!(" --without {word}"))).collect();
            let command = format!("arena run {}{}{choice}", study.name, self.how.in_words());
            let begun = self.how.request(study, command).and_then(|asked| {
                let asked = RunRequest { only: self.only.clone(), without: self.without.clone(), ..asked };
                self.how.begin(asked, study, &context, home, &self.must, out)
            });
            match begun {
                Ok(more) => failed.extend(more),
                Err(error) => failed.push(format!("{}: {error}", study.name)),
            }
        }
        passed(failed)
    }

    /// An error if a word that chooses contenders or cases is in no name. Words of `--without` may be in a name of any
    /// study: what takes no part in this one is left out of it.
    fn check_choice(&self, chosen: &[&Study], studies: &Studies) -> Result<(), String> {
        let is_strange = |word: &&String| !studies.0.iter().any(|study| has(&study.names(), word));
        let strange: Vec<String> = self.without.iter().filter(is_strange).cloned().collect();
        check_words("--only", &self.only, chosen, Study::names)?;
        check_words("--without", &strange, chosen, Study::names)?;
        self.how.check_cases(chosen)
    }

    fn resume(
        &self,
        path: &Path,
        studies: &Studies,
        context: &Context,
        home: &Home,
        out: &mut dyn Write,
    ) -> Result<(), String> {
        let refused = |error: String| format!("--resume {}: {error}", path.display());
        let folder = Folder::open(path)?;
        let _lock = folder.lock().map_err(refused)?;
        let plan = folder.plan()?;
        if plan.get("study").is_some_and(|study| study == "duel") {
            return Err(refused("it is a duel, which cannot go on: begin anew with arena duel".to_owned()));
        }
        let asked: RunRequest = serde_json::from_value(plan)
            .map_err(|error| refused(format!("its run.json is not that of a study: {error}")))?;
        if asked.machine.is_some() {
            return Err(refused("it was loaded elsewhere: arena import --into adds to it".to_owned()));
        }
        if let Some(lost) = lost_samples(&folder)? {
            return Err(refused(format!(
                "{lost}, and a new summary would lose that. Put the whole raw.jsonl back; or remove summary.json, and \
                 --resume measures what is missing"
            )));
        }
        let earlier = folder.read_who()?;
        let study = studies.get(&asked.study)?;
        let joined = asked.challenge.as_ref().map(|challenge| challenge.join(study, context.catalogue)).transpose();
        let joined = joined.map_err(refused)?;
        let (study, catalogue) = joined.as_ref().map_or((study, context.catalogue), |(study, all)| (study, all));
        let context = &Context { catalogue, ..*context };
        let ready = ReadyRun::make(&asked, study, context, &earlier)?;
        let mut differences = ready.differences(&earlier);
        if !folder.is_whole() {
            differences.extend(ready.other_machine());
        }
        if !differences.is_empty() {
            let differences = differences.join("\n  ");
            // A new summary would put the figures of one server under the name and version of another.
            let why = match folder.is_whole() {
                true => "it is whole, and was measured with others than those that are here now",
                false => "what is left cannot be measured as the rest was",
            };
            return Err(refused(format!(
                "{why}:\n  {differences}\nGo on where it began, with the same --ring, --gemfile, --foolsgold and \
                 --yjit; or begin anew"
            )));
        }
        takes_part(&ready, self.must.iter()).map_err(refused)?;
        let must: Vec<String> = self.must.iter().cloned().chain(ready.challenger()).collect();
        let note = folder.mend()?;
        note.iter().try_for_each(|note| say(out, note))?;
        passed(self.how.measure(ready, &folder, home, &must, out)?)
    }
}

impl How {
    /// An error if a word of `--case` is in the name of no case of these studies.
    pub(super) fn check_cases(&self, studies: &[&Study]) -> Result<(), String> {
        check_words("--case", &self.cases, studies, |study| study.cases.iter().map(|case| &case.name[..]).collect())
    }

    /// The request to run a study by these options, for all its contenders.
    pub(super) fn request(&self, study: &Study, command: String) -> Result<RunRequest, String> {
        let mut effort: Effort = if self.quick { study.quick.clone() } else { study.full.clone() };
        if let Some(rounds) = self.rounds {
            (effort.rounds, effort.rounds_most) = (rounds, None);
        }
        effort.rounds_most = self.rounds_most.or(effort.rounds_most);
        effort.seconds = self.seconds.unwrap_or(effort.seconds);
        let complaints = effort.complaints("--rounds, --rounds-most, --seconds");
        if !complaints.is_empty() {
            return Err(complaints.join("\n"));
        }
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(RunRequest {
            study: study.name.clone(),
            is_quick: self.quick,
            effort,
            cases: self.cases.clone(),
            seed: self.seed.unwrap_or(clock.as_nanos() as u64 >> 10),
            command,
            k6: k6(self.load.as_ref())?,
            ..RunRequest::default()
        })
    }

    /// Runs one study from its beginning. Returns the reasons why it has not passed.
    pub(super) fn begin(
        &self,
        asked: RunRequest,
        study: &Study,
        context: &Context,
        home: &Home,
        must: &[String],
        out: &mut dyn Write,
    ) -> Result<Vec<String>, String> {
        // A study that cannot run leaves no folder behind.
        check_tools(&asked, study, context.figures)?;
        let asked = RunRequest { origin: Some(Origin::of(study, context)), ..asked };
        let ready = ReadyRun::make(&asked, study, context, &[])?;
        // With several studies each has some of them.
        let own = must.iter().filter(|name| study.contenders.iter().any(|entry| entry.name() == **name));
        takes_part(&ready, own)?;
        let plan = serde_json::to_value(&asked).map_err(|error| error.to_string())?;
        if let Some(words) = machine::company() {
            let _ = writeln!(std::io::stderr(), "{words}");
        }
        let parent = self.out.clone().unwrap_or_else(|| home.runs());
        let folder = Folder::create(&parent, &study.name, &plan)?;
        let _lock = folder.lock()?;
        self.measure(ready, &folder, home, must, out)
    }

    fn measure(
        &self,
        ready: ReadyRun,
        folder: &Folder,
        home: &Home,
        must: &[String],
        out: &mut dyn Write,
    ) -> Result<Vec<String>, String> {
        let path = folder.path().display();
        let resume = quoted(&path.to_string());
        let challenger = ready.challenger();
        // The run's record names the challenger, and of several studies each has only some of the other contenders.
        let is_own = |name: &&String| challenger.as_ref() != Some(*name) && ready.names().contains(&name.as_str());
        let own: String = must.iter().filter(is_own).map(|name| format!(" --must {}", quoted(name))).collect();
        let goes_on = format!("arena run --resume {resume}{own}{}{}", home.in_words(), self.source.in_words());
        interrupt::measures(folder.path(), Some(goes_on.clone()));
        let progress = Progress::new();
        let ran = ready.run(folder, &progress);
        progress.ends();
        ran.map_err(|error| format!("{error}\nwhat was measured is in {path}\nto go on: {goes_on}"))?;
        let summary = write_page(home, folder)?;
        print(&summary, out)?;
        say(out, &format!("\nrun folder: {path} (report.html shows it)"))?;
        verdict(&summary, folder, must)
    }

    /// The options as text, without folders of this machine.
    pub(super) fn in_words(&self) -> String {
        let mut words = if self.quick { " --quick".to_owned() } else { String::new() };
        words += &self.source.without_folders();
        words.extend(self.load.iter().map(|tool| format!(" --load {tool}")));
        words.extend(self.cases.iter().map(|word| format!(" --case {word}")));
        words.extend(self.rounds.iter().map(|rounds| format!(" --rounds {rounds}")));
        words.extend(self.rounds_most.iter().map(|rounds| format!(" --rounds-most {rounds}")));
        words.extend(self.seconds.iter().map(|seconds| format!(" --seconds {seconds}")));
        words
    }
}

/// Whether a word is part of one of these names. An empty word, which is part of each, chooses nothing.
fn has(names: &[&str], word: &str) -> bool {
    !word.is_empty() && names.iter().any(|name| name.contains(word))
}

/// An error if one of the words of an option is part of no name that these studies have; it lists the names.
fn check_words(
    option: &str,
    words: &[String],
    studies: &[&Study],
    names: fn(&Study) -> Vec<&str>,
) -> Result<(), String> {
    let is_known = |word: &str| studies.iter().any(|study| has(&names(study), word));
    let Some(word) = words.iter().find(|word| !is_known(word)) else { return Ok(()) };
    let known = studies.iter().map(|study| format!("{} has {}", study.name, names(study).join(", ")));
    let empty = if word.is_empty() { "an empty word is part of each name: " } else { "" };
    Err(format!("{option} {}: {empty}{}", quoted(word), known.collect::<Vec<_>>().join("; ")))
}

/// An error if one of these contenders, which must not be disqualified, takes no part in the run.
fn takes_part<'a>(ready: &ReadyRun, mut must: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let names = ready.names();
    match must.find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(format!("--must {name}: it takes no part in this run, which has {}", names.join(", "))),
        None => Ok(()),
    }
}

/// Reasons why a run has not passed: installed contenders that could never be loaded, cases in which none could be, a
/// run without a load at all, and contenders of --must that were disqualified. The failure of any other contender under
/// load is a result, and is in the report.
fn verdict(summary: &Summary, folder: &Folder, must: &[String]) -> Result<Vec<String>, String> {
    let mut samples = folder.samples()?.0;
    samples.retain(Sample::is_timed);
    let missing = summary.contenders.iter().filter(|who| must.contains(&who.name) && !who.missing.is_empty());
    let mut failed: Vec<String> =
        missing.map(|who| format!("{}: {} is missing: {}", summary.study, who.name, who.missing.join("; "))).collect();
    for who in summary.contenders.iter().filter(|who| who.missing.is_empty()) {
        let own = || samples.iter().filter(|sample| sample.contender == who.name);
        let was_loaded = own().any(|sample| !sample.numbers.is_empty());
        if was_loaded && !must.contains(&who.name) {
            continue;
        }
        // Its twin is the same server.
        let is_original = summary.twin_of.as_ref() == Some(&who.name);
        let is_of = |sample: &&Sample| sample.contender == who.name || (is_original && sample.contender == TWIN);
        let mut all = samples.iter().filter(is_of);
        let reason = all.find_map(|sample| Some((&sample.case, sample.disqualified.as_ref()?)));
        let unfinished = || own().find_map(|sample| Some((&sample.case, void(sample)?)));
        let reason = if was_loaded { reason } else { reason.or_else(unfinished) };
        failed.extend(reason.map(|(case, why)| format!("{}: {} in {case}: {why}", summary.study, who.name)));
    }
    let here = |name: &str| summary.contenders.iter().any(|who| who.name == name && who.missing.is_empty());
    for case in &summary.cases {
        let own = || samples.iter().filter(|sample| sample.case == case.name && here(&sample.contender));
        let was_loaded = own().any(|sample| !sample.numbers.is_empty());
        let why = own().find_map(|sample| sample.disqualified.as_ref()).or_else(|| own().find_map(void));
        let why = why.filter(|_| !was_loaded);
        failed.extend(why.map(|why| format!("{}: nothing was measured in {}: {why}", summary.study, case.name)));
    }
    if failed.is_empty() && samples.iter().all(|sample| sample.numbers.is_empty()) {
        failed.push(format!("{}: no contender could be loaded in any case", summary.study));
    }
    Ok(failed)
}

/// Reason why a load has no figures although its server is not to blame: its tool did not finish in any attempt.
fn void(sample: &Sample) -> Option<&String> {
    sample.remarks.last().filter(|_| sample.numbers.is_empty())
}

/// Version of k6, if `--load` names it; k6 is the only tool there is.
pub(super) fn k6(load: Option<&String>) -> Result<Option<String>, String> {
    load.map(|tool| k6_version().map_err(|error| format!("--load {tool}: {error}"))).transpose()
}

fn rounds(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|number| (1..=100).contains(number));
    number.ok_or_else(|| "it is a whole number from 1 to 100".to_owned())
}

pub(super) fn passed(failed: Vec<String>) -> Result<(), String> {
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::{Case, Who};

    #[test]
    fn a_tool_that_never_finished_a_load_fails_the_run() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path(), "tiny", &serde_json::json!({})).unwrap();
        let summary = Summary {
            study: "tiny".into(),
            contenders: vec![Who { name: "good".into(), ..Who::default() }],
            cases: vec![Case { name: "page".into(), ..Case::default() }],
            ..Summary::default()
        };
        let why = "siege ended after 0 s instead of 8 s";
        let remarks = vec![why.to_owned()];
        let void = Sample { case: "page".into(), contender: "good".into(), round: 1, remarks, ..Sample::default() };
        // As where no contender can have a load of the cases that were chosen.
        assert_eq!(verdict(&summary, &folder, &[]).unwrap(), ["tiny: no contender could be loaded in any case"]);
        folder.append(&void).unwrap();
        let failed = verdict(&summary, &folder, &[]).unwrap();
        let nothing = format!("tiny: nothing was measured in page: {why}");
        assert_eq!(failed, [format!("tiny: good in page: {why}"), nothing]);
        // In one round of two: the figures are those of the other.
        let numbers = [("requests_per_s".to_owned(), 9.0)].into();
        folder.append(&Sample { round: 2, numbers, remarks: Vec::new(), ..void }).unwrap();
        assert_eq!(verdict(&summary, &folder, &["good".to_owned()]), Ok(Vec::new()));
    }

    #[test]
    fn a_wrong_answer_of_its_twin_is_one_of_a_contender_that_must_not_be_disqualified() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path(), "tiny", &serde_json::json!({})).unwrap();
        let who = |name: &str| Who { name: name.into(), ..Who::default() };
        let of = |twin_of: &str| Summary {
            study: "tiny".into(),
            contenders: vec![who("good"), who("other")],
            twin_of: Some(twin_of.into()),
            ..Summary::default()
        };
        for name in ["good", "other", TWIN] {
            let disqualified = (name == TWIN).then(|| "a wrong answer".to_owned());
            let sample = Sample { case: "page".into(), round: 1, ..Sample::of(name, &[("requests_per_s", 9.0)]) };
            folder.append(&Sample { disqualified, ..sample }).unwrap();
        }
        let must = ["good".to_owned()];
        let failed = |twin_of: &str, must: &[String]| verdict(&of(twin_of), &folder, must).unwrap();
        assert_eq!(failed("good", &must), ["tiny: good in page: a wrong answer"]);
        assert!(failed("good", &[]).is_empty() && failed("other", &must).is_empty());
    }
}
