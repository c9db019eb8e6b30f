//! `arena duel`: the best server and settings for a user's own application.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::json;

use super::home::Home;
use super::progress::Progress;
use super::words::{above_0, print, say, seed, write_page};
use super::{interrupt, run};
use crate::duel::access_log::PATHS_MOST;
use crate::duel::pace::Rate;
use crate::duel::plan::{DuelPlan, RATE_LEAST, too_low};
use crate::duel::{DuelOptions, DuelWorkload, Listener, Now, ReadyDuel, TimeLeft};
use crate::environment::EnvironmentOptions;
use crate::record::folder::Folder;
use crate::record::{Sample, machine};
use crate::study::Watcher;
use loadgen::K6Here;

/// Highest --rate in requests per second: what one thread can send.
const RATE_MOST: f64 = 100_000.0;

/// Starts the application on every server that is installed, checks and loads it, and recommends one.
#[derive(Debug, Args)]
pub struct DuelCommand {
    /// The application's config.ru, or its folder.
    rackup: PathBuf,
    /// Requests to send: /path, '/path*3' (three times as often), 'POST /orders body=@file type=application/json'
    /// [default: /].
    #[arg(value_name = "REQUEST")]
    requests: Vec<String>,
    /// More requests, one per line.
    #[arg(long, value_name = "FILE")]
    urls: Option<PathBuf>,
    /// Requests of visitors and their rate, from an access log; - is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["urls", "requests"])]
    log: Option<PathBuf>,
    /// Also measures at this rate: p99 and memory, what breaks when it doubles, what fewer processors do, and what it
    /// costs [default: that of the busiest minute of --log].
    #[arg(long, value_name = "PER_S", value_parser = rate)]
    #[arg(allow_negative_numbers = true)]
    rate: Option<f64>,
    /// Only these contenders, separated by commas.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    contenders: Vec<String>,
    /// The server that runs the application today: puma, or "puma -w 2 -t 5" (of a server that has only one of the two,
    /// that one).
    #[arg(long, value_name = "SERVER", value_parser = Now::parse)]
    now: Option<Now>,
    /// The highest 99th percentile at 80 % load that is good enough, in milliseconds.
    #[arg(long, value_name = "MS", value_parser = above_0)]
    #[arg(allow_negative_numbers = true)]
    p99: Option<f64>,
    /// Turns of seconds: shows that everything works, and decides nothing.
    #[arg(long)]
    quick: bool,
    /// Most minutes that the whole duel may take.
    #[arg(long, value_name = "MINUTES", value_parser = above_0)]
    #[arg(allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Load generator in place of the arena's own loops: k6.
    #[arg(long, value_name = "TOOL", value_parser = ["k6"])]
    load: Option<String>,
    /// An environment variable for the application, or the name of one to pass on; may be given several times. The
    /// servers get no other variables of this environment but those that find their programs (PATH, HOME, LANG, GEM_*,
    /// BUNDLE_*).
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = setting)]
    env: Vec<(String, String)>,
    #[command(flatten)]
    source: EnvironmentOptions,
    /// Folder for the run folder [default: arena/runs].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Seed of the random orders.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    seed: Option<u64>,
}

impl DuelCommand {
    pub(super) fn obey(&self, home: &Home, out: &mut dyn Write) -> Result<(), String> {
        let rackup = if self.rackup.is_dir() { self.rackup.join("config.ru") } else { self.rackup.clone() };
        if !rackup.is_file() {
            return Err(format!("{}: there is no such file; give the application's config.ru", rackup.display()));
        }
        if rackup.extension().is_none_or(|ending| ending != "ru") {
            return Err(format!("{}: it is no rackup file, whose name ends in .ru", rackup.display()));
        }
        if self.log.as_ref().is_some_and(|log| log.as_os_str() == "-") {
            let _ = writeln!(std::io::stderr(), "reading the access log from standard input (Ctrl-D ends it)");
        }
        let source =
            DuelWorkload::gather(&self.requests, Path::new("."), self.urls.as_deref(), self.log.as_deref(), PATHS_MOST)
                .map_err(|errors| errors.join("\n"))?;
        let parent = self.out.clone().unwrap_or_else(|| home.runs());
        let command = self.in_words();
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut options = DuelOptions {
            rackup,
            environment: self.source.clone(),
            recipes: home.0.join("arena/contenders"),
            contenders: self.contenders.clone(),
            asked: source.asked,
            workload: source.words,
            is_recorded: source.is_recorded,
            rate: self.rate.map(Rate::said).or(source.rate),
            now: self.now.clone(),
            p99_max_ms: self.p99,
            plan: if self.quick { DuelPlan::QUICK } else { DuelPlan::FULL },
            is_quick: self.quick,
            budget_minutes: self.budget,
            env: self.env.iter().cloned().collect::<BTreeMap<_, _>>(),
            k6: None,
            logs: PathBuf::new(),
            seed: self.seed.unwrap_or(clock.as_nanos() as u64 >> 10),
            command,
        };
        // A duel that cannot begin leaves no folder behind.
        let k6 = run::k6(self.load.as_ref())?;
        if let Some(packed) = options.asked.iter().find(|asked| k6.is_some() && asked.wants_packed()) {
            let what = packed.in_words();
            return Err(format!(
                "--load k6: {what}: k6 unpacks answers unchecked: leave accept-encoding out, or --load"
            ));
        }
        let ready = ReadyDuel::make(&options)?;
        if let Some(words) = machine::company() {
            let _ = writeln!(std::io::stderr(), "{words}");
        }
        let asked = json!({ "study": "duel", "command": options.command });
        let folder = Folder::create(&parent, "duel", &asked)?;
        options.logs = folder.logs();
        options.k6 = k6.map(|version| K6Here::with(version, folder.path().join("k6")));
        let _lock = folder.lock()?;
        interrupt::measures(folder.path(), None);
        let mut recorder = Recorder { folder: &folder, progress: Progress::new() };
        let fought = ready.run(&options, &mut recorder);
        recorder.progress.ends();
        let path = folder.path().display();
        let has_samples = folder.samples().is_ok_and(|(samples, _)| !samples.is_empty());
        let what = if has_samples { "what was measured is" } else { "nothing was measured; the servers' logs are" };
        let summary = fought.map_err(|error| format!("{error}\n{what} in {path}"))?;
        folder.write_summary(&summary)?;
        let summary = write_page(home, &folder)?;
        print(&summary, out)?;
        say(out, &format!("\nrun folder: {path} (report.html shows it)"))
    }

    /// The command line as text, without folders of this machine.
    fn in_words(&self) -> String {
        let mut words = vec!["arena duel config.ru".to_owned()];
        words.extend(self.requests.iter().map(|request| format!("'{request}'")));
        words.extend(self.urls.as_ref().map(|_| "--urls FILE".into()));
        words.extend(self.log.as_ref().map(|_| "--log FILE".into()));
        words.extend(self.rate.map(|per_s| format!("--rate {per_s}")));
        words.extend((!self.contenders.is_empty()).then(|| format!("--contenders {}", self.contenders.join(","))));
        words.extend(self.now.as_ref().map(|now| format!("--now '{}'", now.name())));
        words.extend(self.p99.map(|ms| format!("--p99 {ms}")));
        words.extend(self.load.as_ref().map(|tool| format!("--load {tool}")));
        words.extend(self.quick.then(|| "--quick".into()));
        words.extend(self.budget.map(|minutes| format!("--budget {minutes}")));
        words.extend(self.env.iter().map(|(name, _)| format!("--env {name}=…")));
        words.join(" ") + &self.source.without_folders()
    }
}

/// Stores the samples, and shows the progress.
struct Recorder<'a> {
    folder: &'a Folder,
    progress: Progress,
}

impl Listener for Recorder<'_> {
    fn says(&mut self, words: &str) {
        self.progress.said(words);
    }

    fn left(&mut self, left: &TimeLeft) {
        self.progress.stands_at(left.done, left.of, left.seconds);
        self.progress.doing(&left.what);
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), String> {
        self.folder.append(sample)
    }
}

fn rate(word: &str) -> Result<f64, String> {
    let number =
        above_0(word).map_err(|_| "it is a number of requests per second above 0, such as 120 or 0.5".to_owned())?;
    match number {
        most if most > RATE_MOST => {
            Err(format!("the load generator cannot send more than {RATE_MOST:.0} requests per second"))
        }
        least if least < RATE_LEAST => Err(too_low()),
        _ => Ok(number),
    }
}

fn setting(word: &str) -> Result<(String, String), String> {
    let wrong = || "a setting has the form NAME=VALUE, such as DATABASE_URL=postgresql://user@host/shop".to_owned();
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        None if !word.is_empty() && !word.contains('\0') => match std::env::var(word) {
            Ok(value) => Ok((word.to_owned(), value)),
            Err(_) => Err(format!("there is no {word} here to be taken over; {}", wrong())),
        },
        _ => Err(wrong()),
    }
}
