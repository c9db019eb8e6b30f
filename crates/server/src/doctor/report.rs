//! What the doctor says, as text and as JSON.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Answer;
use super::examine::Finding;
use super::sources::Doubt;
use super::verdict::Verdict;

/// So many places of one finding are shown.
const PLACES: usize = 3;
/// What is said of a finding stands here.
const COLUMN: usize = 12;

/// All about one application.
#[derive(Debug, Default)]
pub struct Report {
    pub rackup: PathBuf,
    pub gemfile: Option<PathBuf>,
    /// All Ruby files that were loaded.
    pub files: Vec<String>,
    /// How long it took to load, where it did.
    pub loaded: Option<Duration>,
    /// Why it did not load.
    pub refusal: Option<String>,
    pub findings: Vec<Finding>,
    pub doubts: Vec<Doubt>,
    pub asked: Vec<Asked>,
    /// The Ruby that it was compared with.
    pub ruby: Option<String>,
    /// Why it was not.
    pub not_compared: Option<String>,
}

/// One path.
#[derive(Debug)]
pub struct Asked {
    pub path: String,
    pub here: Result<Answer, String>,
    pub there: There,
}

/// What the user's Ruby makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum There {
    NotAsked,
    Same,
    /// Where it differs.
    Other(String),
    /// It has no answer either.
    Failed(String),
}

impl Report {
    /// The recommendation.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self)
    }

    fn folder(&self) -> &Path {
        self.rackup.parent().unwrap_or(Path::new("/"))
    }

    /// As `name-version`, by the folders of files.
    fn gems(&self) -> BTreeSet<&str> {
        let gem = |file: &'_ str| file.rsplit_once("/gems/").map(|(_, rest)| rest.len());
        let names = self.files.iter().filter_map(|file| {
            let from = file.len() - gem(file)?;
            file[from..].split('/').next()
        });
        names.collect()
    }

    fn own_files(&self) -> usize {
        self.files.iter().filter(|file| Path::new(file).starts_with(self.folder()) && !file.contains("/gems/")).count()
    }

    /// A place as the application's folder sees it.
    fn short<'a>(&self, place: &'a str) -> &'a str {
        place.strip_prefix(&format!("{}/", self.folder().display())).unwrap_or(place)
    }
}

/// For people.
pub fn text(reports: &[Report]) -> String {
    reports.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(report: &Report) -> String {
    let mut out = format!("{}, on {}\n\n", report.rackup.display(), engine_mruby::version());
    match report.loaded {
        Some(time) => row(&mut out, "loads", &format!("yes, in {:.0?}", time)),
        None => row(&mut out, "loads", "no"),
    }
    if let (None, Some(why)) = (report.findings.first(), &report.refusal) {
        row(&mut out, "", why);
    }
    let gems: Vec<&str> = report.gems().into_iter().collect();
    let gems = if gems.is_empty() { "no gems".to_owned() } else { format!("gems: {}", gems.join(", ")) };
    row(&mut out, "files", &format!("config.ru and {} of the application; {gems}", report.own_files()));
    for finding in &report.findings {
        let what = match finding.kind.as_str() {
            "library" => format!("the library \"{}\"", finding.name),
            "constant" => format!("the constant {}", finding.name),
            _ => finding.words.clone(),
        };
        row(&mut out, "missing", &format!("{what}{}", places(report, &finding.places)));
    }
    for doubt in &report.doubts {
        let what = format!("`{}` (of {} in CRuby){}", doubt.method, doubt.classes, places(report, &doubt.places));
        row(&mut out, "may lack", &what);
    }
    for asked in &report.asked {
        row(&mut out, "answers", &asked_words(asked, report.ruby.as_deref()));
    }
    match (&report.not_compared, report.loaded) {
        (Some(why), _) => row(&mut out, "on ruby", &format!("not compared: {why}")),
        (None, None) => row(&mut out, "on ruby", &format!("loads, on {}", report.ruby.as_deref().unwrap_or("ruby"))),
        (None, Some(_)) => {}
    }
    let gemfile = report.gemfile.as_ref().filter(|_| report.verdict().is_good());
    let _ = writeln!(out, "\n{}", report.verdict().sentence());
    if let Some(gemfile) = gemfile {
        let gemfile = gemfile.file_name().unwrap_or_default().display();
        let _ = writeln!(out, "Without --engine, {gemfile} would be a reason to take ruby.");
    }
    out
}

fn asked_words(asked: &Asked, ruby: Option<&str>) -> String {
    let here = match &asked.here {
        Ok(answer) => format!("{}, {} bytes", answer.status, answer.body.len()),
        Err(why) => why.replace('\n', &format!("\n{:COLUMN$}", "")),
    };
    let ruby = ruby.unwrap_or("ruby");
    match &asked.there {
        There::NotAsked => format!("GET {}: {here}", asked.path),
        There::Same => format!("GET {}: {here}; the same on {ruby}", asked.path),
        There::Other(how) => format!("GET {}: {here}; on {ruby} otherwise: {how}", asked.path),
        There::Failed(why) => format!("GET {}: {here}; on {ruby}: {why}", asked.path),
    }
}

fn places(report: &Report, places: &[String]) -> String {
    let known: Vec<&str> = places.iter().filter(|place| !place.is_empty()).map(|place| report.short(place)).collect();
    let shown = known.iter().take(PLACES).copied().collect::<Vec<_>>().join(", ");
    match known.len() {
        0 => String::new(),
        few if few <= PLACES => format!(", at {shown}"),
        many => format!(", at {shown} and {} more", many - PLACES),
    }
}

fn row(out: &mut String, name: &str, words: &str) {
    let words = words.trim_end().replace('\n', &format!("\n{:COLUMN$}", ""));
    let _ = writeln!(out, "{:COLUMN$}{words}", format!("  {name}"));
}

/// For programs; docs/doctor.md describes it.
pub fn json(reports: &[Report]) -> String {
    let all: Vec<Value> = reports.iter().map(value).collect();
    format!("{:#}\n", Value::from(all))
}

fn value(report: &Report) -> Value {
    let asked: Vec<Value> = report.asked.iter().map(asked_value).collect();
    json!({
        "rackup": report.rackup,
        "interpreter": engine_mruby::version(),
        "recommended": report.verdict().word(),
        "loads": report.loaded.is_some(),
        "load_ms": report.loaded.map(|time| time.as_secs_f64() * 1e3),
        "refusal": report.refusal,
        "gems": report.gems(),
        "missing": report.findings,
        "may_lack": report.doubts,
        "answers": asked,
        "ruby": report.ruby,
        "not_compared": report.not_compared,
    })
}

fn asked_value(asked: &Asked) -> Value {
    let (there, words) = match &asked.there {
        There::NotAsked => ("not asked", None),
        There::Same => ("same", None),
        There::Other(how) => ("other", Some(how)),
        There::Failed(why) => ("failed", Some(why)),
    };
    json!({
        "path": asked.path,
        "status": asked.here.as_ref().ok().map(|answer| answer.status),
        "bytes": asked.here.as_ref().ok().map(|answer| answer.body.len()),
        "error": asked.here.as_ref().err(),
        "on_ruby": there,
        "on_ruby_words": words,
    })
}
