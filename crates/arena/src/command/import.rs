//! `arena import`: makes a run of loads that k6 generated on other machines.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::home::Home;
use super::run::How;
use super::words::{one_line, print, say, write_page};
use crate::environment::{Environment, EnvironmentOptions};
use crate::record::folder::Folder;
use crate::study::{Context, Import, RunRequest, lost_samples};

/// Makes a run of what k6 counted on other machines with a run's script (k6/CASE.js).
///
/// One load of one server at a time: give the files (OUT) of all machines that made it together. The next load of the
/// same server and case is its next round; --into adds it to the run.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ImportCommand {
    /// The study of the script.
    study: String,
    /// Output files of the script, one for each machine.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The contender that was loaded.
    #[arg(long, value_name = "NAME")]
    contender: String,
    /// Version of the server.
    #[arg(long = "server-version", value_name = "VERSION", value_parser = one_line)]
    version: String,
    /// Ruby on which it ran.
    #[arg(long, value_name = "RUBY", value_parser = one_line)]
    ruby: String,
    /// Machine on which it ran, in words: "4 × Graviton 3, 8 GiB".
    #[arg(long, value_name = "WORDS", value_parser = one_line)]
    machine: String,
    /// The folder of an import of the same study, to which this load is added.
    #[arg(long, value_name = "RUN", conflicts_with = "out")]
    into: Option<PathBuf>,
    /// Folder for run folders [default: arena/runs].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl ImportCommand {
    pub(super) fn obey(&self, home: &Home, out: &mut dyn Write) -> Result<(), String> {
        let (catalogue, studies, figures) = home.read()?;
        let study = studies.get(&self.study)?;
        let environment = Environment::open(&EnvironmentOptions::default())?;
        let apps = home.0.join("apps");
        let context = Context { catalogue: &catalogue, environment: &environment, apps: &apps, figures: &figures };
        let asked = How::default().request(study, format!("arena import {} …", study.name))?;
        let import = Import {
            asked: RunRequest { machine: Some(self.machine.clone()), ..asked },
            files: self.files.clone(),
            contender: self.contender.clone(),
            version: self.version.clone(),
            ruby: self.ruby.clone(),
            machine: self.machine.clone(),
        };
        let (sample, who) = import.sample(study, &context)?;
        let folder = match &self.into {
            Some(path) => import.joins(path)?,
            None => {
                let parent = self.out.clone().unwrap_or_else(|| home.runs());
                Folder::create(&parent, &study.name, &import.plan()?)?
            }
        };
        let _lock = folder.lock()?;
        if let Some(lost) = lost_samples(&folder)? {
            let path = folder.path().display();
            let back = "and a new summary would lose that. Put the whole raw.jsonl back";
            return Err(format!("--into {path}: {lost}, {back}"));
        }
        let note = folder.mend()?;
        note.iter().try_for_each(|note| say(out, note))?;
        import.add(&folder, sample, who, study, &context)?;
        let summary = write_page(home, &folder)?;
        print(&summary, out)?;
        say(out, &format!("\nrun folder: {} (report.html shows it)", folder.path().display()))
    }
}
