//! `arena challenge`: a study with a user's recipe beside the arena's own ones, in the same rounds.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::home::Home;
use super::run::{How, passed};
use super::words::one_line;
use crate::environment::Environment;
use crate::study::{Challenge, Context, RunRequest};

/// Runs a study with a contender of your own settings, against ours of the same server and FoolsGold.
///
/// RECIPE is a file such as those in arena/contenders, whose README says what stands in it. Take ours, change what you
/// hold to be wrong, and send us both the file and the run folder.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ChallengeCommand {
    /// The recipe: NAME.toml.
    recipe: PathBuf,
    /// The study that it takes part in.
    study: String,
    /// Whose settings these are, for the report.
    #[arg(long, value_name = "WHO", value_parser = one_line)]
    by: Option<String>,
    /// Its workers; as many as ours of the same server, or as FoolsGold's, by default.
    #[arg(short, long, value_name = "N")]
    workers: Option<u32>,
    /// Threads per worker.
    #[arg(short, long, value_name = "N")]
    threads: Option<u32>,
    /// A contender of the study that takes part as well; may be given several times [default: ours of the same server,
    /// and FoolsGold].
    #[arg(long, value_name = "NAME")]
    against: Vec<String>,
    #[command(flatten)]
    how: How,
}

impl ChallengeCommand {
    pub(super) fn obey(&self, home: &Home, out: &mut dyn Write) -> Result<(), String> {
        let environment = Environment::open(&self.how.source)?;
        let (catalogue, studies, figures) = home.read()?;
        let path = self.recipe.display();
        let is_recipe = self.recipe.extension().is_some_and(|extension| extension == "toml");
        let stem = self.recipe.file_stem().filter(|_| is_recipe);
        let stem = stem.ok_or_else(|| format!("{path}: a recipe is a file NAME.toml; see arena/contenders"))?;
        let challenge = Challenge {
            name: stem.to_string_lossy().into_owned(),
            text: fs::read_to_string(&self.recipe).map_err(|error| format!("{path}: {error}"))?,
            by: self.by.clone(),
            workers: self.workers,
            threads: self.threads,
            against: self.against.clone(),
        };
        let study = studies.get(&self.study)?;
        self.how.check_cases(&[study])?;
        let (study, catalogue) = challenge.join(study, &catalogue)?;
        let apps = home.0.join("apps");
        let context = Context { catalogue: &catalogue, environment: &environment, apps: &apps, figures: &figures };
        let command = format!("arena challenge {}.toml {}{}", challenge.name, study.name, self.in_words());
        let must = [challenge.name_in(&study)];
        let asked = RunRequest { challenge: Some(challenge), ..self.how.request(&study, command)? };
        passed(self.how.begin(asked, &study, &context, home, &must, out)?)
    }

    /// The options as text, without folders of this machine.
    fn in_words(&self) -> String {
        let mut words: String = self.by.iter().map(|by| format!(" --by {by:?}")).collect();
        words.extend(self.workers.map(|workers| format!(" --workers {workers}")));
        words.extend(self.threads.map(|threads| format!(" --threads {threads}")));
        words.extend(self.against.iter().map(|name| format!(" --against {name}")));
        words + &self.how.in_words()
    }
}
