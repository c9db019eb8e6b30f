//! The command line.

use std::path::{Path, PathBuf};

use bench_kit::options::number;

/// Upper bound of numbers, to catch typing errors.
const MOST: u32 = 10_000_000;

/// The text of `--help`.
pub const HELP: &str = "\
bench-ruby-engine: the Ruby engine of foolsgold against Puma on the same Ruby

  --quick             two short rounds: to see that it works, not to believe
  --rounds N          rounds (5)
  --seconds N         seconds of each wrk run (5)
  --uneven-seconds N  seconds of each uneven run (20)
  --warm-up N         requests to each server before the first round (2000)
  --only NAME         only this contender (foolsgold, foolsgold-native, puma); may be given several times
  --load TEXT         only loads with this in their name; may be given several times
  --memory            instead: memory of an application with 4 workers
  --app PATH          the config.ru for --memory (apps/rails-small/config.ru)
  --path PATH         what --memory requests there (/)
  --requests N        how many requests --memory makes (2000)
  --kill              instead: requests while workers are killed
  --kill-requests N   how many requests --kill makes, of each kind (100000)
  --ring PATH         run all servers in this root, by chroot (as root)
  --foolsgold PATH    the program to measure (the one built beside this)
  --with WORD         one more word for foolsgold's command line; may be given several times
  --stand-in          Puma in foolsgold's place: how far apart two equals seem
  --runs PATH         where records go (bench/ruby-engine/runs)
  -h, --help          this
";

/// The kind of benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Help,
    Speed,
    Memory,
    Kill,
}

/// All settings of a run.
#[derive(Debug, Clone)]
pub struct Options {
    pub part: Part,
    pub rounds: u32,
    pub seconds: u32,
    pub uneven_seconds: u32,
    pub warm_up: u32,
    /// Empty for all contenders.
    pub only: Vec<String>,
    /// Empty for all loads.
    pub loads: Vec<String>,
    pub app: PathBuf,
    pub path: String,
    pub requests: u32,
    pub kill_requests: u32,
    pub ring: Option<PathBuf>,
    pub foolsgold: PathBuf,
    pub with: Vec<String>,
    pub stand_in: bool,
    /// Folder of this benchmark's applications.
    pub apps: PathBuf,
    pub runs: PathBuf,
}

impl Options {
    /// Parses the words of the command line.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Options, String> {
        let here = std::env::current_exe().map_err(|error| error.to_string())?;
        let beside = here.parent().map(Path::to_path_buf).unwrap_or_default();
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut options = Options {
            part: Part::Speed,
            rounds: 5,
            seconds: 5,
            uneven_seconds: 20,
            warm_up: 2_000,
            only: Vec::new(),
            loads: Vec::new(),
            app: crate_folder.join("../../apps/rails-small/config.ru"),
            path: "/".to_owned(),
            requests: 2_000,
            kill_requests: 100_000,
            ring: None,
            foolsgold: beside.join("foolsgold"),
            with: Vec::new(),
            stand_in: false,
            apps: crate_folder.join("apps"),
            runs: crate_folder.join("runs"),
        };
        let mut words = words;
        while let Some(word) = words.next() {
            options.take(&word, &mut words)?;
        }
        Ok(options)
    }

    fn take(&mut self, word: &str, rest: &mut dyn Iterator<Item = String>) -> Result<(), String> {
        let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
        match word {
            "-h" | "--help" => self.part = Part::Help,
            "--memory" => self.part = Part::Memory,
            "--kill" => self.part = Part::Kill,
            "--quick" => (self.rounds, self.seconds, self.uneven_seconds, self.warm_up) = (2, 1, 5, 500),
            "--rounds" => self.rounds = number(word, &value()?, MOST)?,
            "--seconds" => self.seconds = number(word, &value()?, MOST)?,
            "--uneven-seconds" => self.uneven_seconds = number(word, &value()?, MOST)?,
            "--warm-up" => self.warm_up = number(word, &value()?, MOST)?,
            "--only" => self.only.push(value()?),
            "--load" => self.loads.push(value()?),
            "--app" => self.app = PathBuf::from(value()?),
            "--path" => self.path = value()?,
            "--requests" => self.requests = number(word, &value()?, MOST)?,
            "--kill-requests" => self.kill_requests = number(word, &value()?, MOST)?,
            "--ring" => self.ring = Some(PathBuf::from(value()?)),
            "--foolsgold" => self.foolsgold = PathBuf::from(value()?),
            "--with" => self.with.push(value()?),
            "--stand-in" => self.stand_in = true,
            "--runs" => self.runs = PathBuf::from(value()?),
            _ => return Err(format!("{word} is not an option; see --help")),
        }
        Ok(())
    }
}
