//! The commands of the program, a file each.

mod challenge;
mod compare;
mod duel;
mod import;
mod interrupt;
mod list;
mod progress;
mod report;
mod ring;
mod run;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::contender::Catalogue;
use crate::place::{Place, PlaceOptions};
use crate::study::{Figures, Recipe, Recipes, surroundings};
use loadgen::process::gate;

/// Compares Ruby application servers on real work.
#[derive(Debug, Parser)]
#[command(name = "arena", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Arena {
    #[command(subcommand)]
    command: Command,
    /// The folder that has apps/ and arena/ in it. By default found from where the program is.
    #[arg(long, global = true, value_name = "FOLDER")]
    home: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Says which contenders and studies there are, and what is missing.
    List(list::List),
    /// Runs a study, several, or all of them.
    Run(run::Run),
    /// Runs a study with your own settings of a server, beside ours.
    Challenge(challenge::Request),
    /// Finds the best server and settings for your own application.
    Duel(duel::Duel),
    /// Makes a run of what k6 counted on other machines.
    Import(import::Request),
    /// Sets two runs of the same study side by side.
    Compare(compare::Compare),
    /// Makes the page of a run again, an index of several, or the tables of a README.
    Report(report::Report),
    /// Builds a root folder with today's Ruby servers, entered by chroot (Debian, as root).
    Ring(ring::Ring),
    /// Ends what another arena has started, when that is gone.
    #[command(name = interrupt::GUARD, hide = true)]
    Guard {
        /// Its process id.
        owner: u32,
    },
}

/// Where contenders come from.
#[derive(Debug, Clone, Default, Args)]
pub struct Source {
    /// Take Ruby and the servers from this root folder (see `arena ring`).
    #[arg(long, value_name = "FOLDER", conflicts_with = "gemfile")]
    ring: Option<PathBuf>,
    /// Take the servers from this bundle.
    #[arg(long, value_name = "GEMFILE")]
    gemfile: Option<PathBuf>,
    /// The foolsgold to take part; by default the one beside this program, or that of PATH.
    #[arg(long, value_name = "PROGRAM")]
    foolsgold: Option<PathBuf>,
}

impl Source {
    fn options(&self) -> PlaceOptions {
        let Source { ring, gemfile, foolsgold } = self.clone();
        PlaceOptions { ring, gemfile, foolsgold }
    }

    /// The options again, for a command that goes on with a run.
    fn in_words(&self) -> String {
        let options = [("--ring", &self.ring), ("--gemfile", &self.gemfile), ("--foolsgold", &self.foolsgold)];
        let given =
            options.into_iter().filter_map(|(name, path)| Some(format!(" {name} {}", path.as_ref()?.display())));
        given.collect()
    }

    fn open(&self) -> Result<Place, String> {
        Place::open(&self.options())
    }
}

/// The folders that come with the program.
struct Home(PathBuf);

impl Home {
    fn find(given: Option<PathBuf>) -> Result<Home, String> {
        let Some(folder) = given else { return crate::study::home().map(Home) };
        let is_home = folder.join("arena/contenders").is_dir() && folder.join("apps").is_dir();
        if is_home {
            Ok(Home(folder))
        } else {
            Err(format!("--home {}: it has no arena/contenders and apps", folder.display()))
        }
    }

    /// All contenders, studies and published figures; all that is wrong with them is told at once.
    fn read(&self) -> Result<(Catalogue, Recipes, Figures), String> {
        let contenders = Catalogue::read(&self.0.join("arena/contenders"));
        let folder = self.0.join("arena/studies");
        let (studies, mut complaints) = Recipes::read(&folder);
        let figures = Figures::read(&self.0.join("arena/published.toml"));
        let (apps, none) = (self.0.join("apps"), Figures::default());
        for study in &studies.0 {
            // Without figures every name of theirs would be said to be wrong.
            let study = Recipe { published: study.published.clone().filter(|_| figures.is_ok()), ..study.clone() };
            let found = surroundings(&study, &apps, figures.as_ref().unwrap_or(&none), contenders.as_ref().ok());
            let file = folder.join(format!("{}.toml", study.name));
            complaints.extend(found.into_iter().map(|words| format!("{}: {words}", file.display())));
        }
        match (contenders, figures) {
            (Ok(contenders), Ok(figures)) if complaints.is_empty() => Ok((contenders, studies, figures)),
            (contenders, figures) => {
                complaints.extend(contenders.err().into_iter().flatten());
                complaints.extend(figures.err());
                Err(complaints.join("\n"))
            }
        }
    }

    fn runs(&self) -> PathBuf {
        self.0.join("arena/runs")
    }
}

impl Arena {
    /// Does what the command line says. Ends with whether it went well.
    pub fn obey(self, out: &mut dyn Write) -> Result<(), String> {
        if let Command::Guard { owner } = self.command {
            loadgen::process::stand(owner, std::io::stdin().lock());
            return Ok(());
        }
        let home = Home::find(self.home)?;
        if matches!(self.command, Command::List(_) | Command::Run(_) | Command::Challenge(_) | Command::Duel(_)) {
            interrupt::prepare()?;
        }
        match self.command {
            Command::List(list) => list.obey(&home, out),
            Command::Run(run) => run.obey(&home, out),
            Command::Challenge(challenge) => challenge.obey(&home, out),
            Command::Duel(duel) => duel.obey(&home, out),
            Command::Import(import) => import.obey(&home, out),
            Command::Compare(compare) => compare.obey(out),
            Command::Report(report) => report.obey(out),
            Command::Ring(ring) => ring.obey(out),
            Command::Guard { .. } => Ok(()),
        }
    }
}

fn above_0(word: &str) -> Result<f64, String> {
    let number = word.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "it is a number above 0".to_owned())
}

fn seed(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| "it is a whole number, 0 or more".to_owned())
}

/// A line for whoever reads.
fn say(out: &mut dyn Write, words: &str) -> Result<(), String> {
    let _gate = gate();
    writeln!(out, "{words}").map_err(|error| format!("standard output: {error}"))
}
