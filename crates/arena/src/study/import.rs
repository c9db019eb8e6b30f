//! Imports loads that k6 made on other machines with a recorded script, as a run like any other. The arena has observed
//! neither the server nor the machines: the report shows what the user states about them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::context::Context;
use super::plan::Plan;
use super::recipe::Study;
use super::request::RunRequest;
use super::summarize::MeasuredRun;
use crate::record::folder::Folder;
use crate::record::summary::Who;
use crate::record::{ImportedFile, Sample, date, fingerprint};
use loadgen::k6_counted;

/// One load of one contender: the output files of all machines.
#[derive(Debug, Clone)]
pub struct Import {
    /// The request, which names the study.
    pub asked: RunRequest,
    /// Output file of each machine.
    pub files: Vec<PathBuf>,
    /// Name of the contender in the study.
    pub contender: String,
    /// Version of the server, as stated by the user.
    pub version: String,
    /// Ruby of the server, as stated by the user.
    pub ruby: String,
    /// Machine of the server, as stated by the user.
    pub machine: String,
}

impl Import {
    /// Checks everything before a folder is created, and returns the sample and its contender.
    pub fn sample(&self, study: &Study, context: &Context) -> Result<(Sample, Who), String> {
        let plan = Plan::of(study, &self.asked, context.figures)?;
        let entry = study.named("--contender", &self.contender)?;
        let (name, outcome) = k6_counted(&self.files)?;
        let imported = self.imported()?;
        if !plan.cases().any(|case| case.name == name && case.tool.is_for_k6()) {
            return Err(format!("these are numbers of {name}: {} has no such case for k6", study.name));
        }
        let is_silent = outcome.numbers.get("requests").is_none_or(|right| *right == 0.0);
        let silent = is_silent.then(|| "no right answer in the whole load".to_owned());
        let sample = Sample {
            case: name,
            contender: self.contender.clone(),
            started: date::now(),
            took_s: outcome.numbers.get("elapsed_s").copied().unwrap_or(0.0),
            command: outcome.command,
            disqualified: outcome.wrong.map(|wrong| format!("wrong answer: {wrong}")).or(silent),
            numbers: outcome.numbers,
            errors: outcome.errors,
            remarks: outcome.remarks,
            missing_numbers: outcome.missing_numbers,
            imported,
            ..Sample::default()
        };
        let title = context.catalogue.get(&entry.recipe).map_or(entry.name(), |recipe| recipe.title.as_str());
        let who = Who {
            name: self.contender.clone(),
            title: title.to_owned(),
            version: self.version.clone(),
            ruby: self.ruby.clone(),
            workers: entry.workers,
            threads: entry.threads,
            notes: vec![
                "version and Ruby are as they were stated, workers and threads those of the study: none was looked at"
                    .to_owned(),
            ],
            ..Who::default()
        };
        Ok((sample, who))
    }

    /// The files by their contents. An error if two of them are the same.
    fn imported(&self) -> Result<Vec<ImportedFile>, String> {
        let mut all: Vec<ImportedFile> = Vec::new();
        for path in &self.files {
            let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let file = ImportedFile { name, fingerprint: fingerprint(&bytes) };
            if let Some(at) = all.iter().position(|known| known.fingerprint == file.fingerprint) {
                return Err(format!(
                    "{}: it is a copy of {}: give the file of each machine once",
                    path.display(),
                    self.files[at].display()
                ));
            }
            all.push(file);
        }
        Ok(all)
    }

    /// An error if one of the files of this load is among those of the run's earlier loads.
    fn check_new(&self, sample: &Sample, earlier: &[Sample]) -> Result<(), String> {
        let known = || earlier.iter().flat_map(|one| one.imported.iter().map(move |file| (one, file)));
        for (path, file) in self.files.iter().zip(&sample.imported) {
            if let Some((load, as_file)) = known().find(|(_, known)| known.fingerprint == file.fingerprint) {
                return Err(format!(
                    "{}: this run already has its numbers, from {} as round {} of {} in {}: leave it out, or give the \
                     files of another load",
                    path.display(),
                    as_file.name,
                    load.round,
                    load.contender,
                    load.case
                ));
            }
        }
        Ok(())
    }

    /// Opens the folder of an earlier import, if this load may be added to it.
    pub fn joins(&self, path: &Path) -> Result<Folder, String> {
        let refused = |why: &str| format!("--into {}: {why}", path.display());
        let folder = Folder::open(path)?;
        let asked: RunRequest = serde_json::from_value(folder.plan()?)
            .map_err(|error| refused(&format!("its run.json is not that of a study: {error}")))?;
        match asked.machine {
            None => {
                Err(refused("it was measured here: loads of other machines have a run of their own (leave --into out)"))
            }
            Some(_) if asked.study != self.asked.study => Err(refused(&format!("it is a run of {}", asked.study))),
            Some(machine) if machine != self.machine => {
                Err(refused(&format!("its servers ran on {machine:?}, and this one on another machine: begin a run")))
            }
            Some(_) => Ok(folder),
        }
    }

    /// Adds the load as the contender's next round in its case.
    pub fn add(
        &self,
        folder: &Folder,
        mut sample: Sample,
        who: Who,
        study: &Study,
        context: &Context,
    ) -> Result<(), String> {
        let mut all = folder.read_who()?;
        match all.iter().find(|one| one.name == who.name) {
            None => all.push(who),
            Some(known) if (&known.version, &known.ruby) == (&who.version, &who.ruby) => {}
            Some(known) => {
                return Err(format!(
                    "in this run {} is {}, {}: another version is another run",
                    known.name, known.version, known.ruby
                ));
            }
        }
        let earlier = folder.samples()?.0;
        self.check_new(&sample, &earlier)?;
        let rounds = earlier.iter().filter(|one| one.is_of(&sample.case, &sample.contender)).count();
        sample.round = rounds as u32 + 1;
        folder.write_who(&all)?;
        folder.append(&sample)?;
        let samples = folder.samples()?.0;
        let took_s = samples.iter().map(|sample| sample.took_s).sum();
        let plan = Plan::of(study, &self.asked, context.figures)?;
        let machine = vec![("processor".to_owned(), self.machine.clone())];
        let measured = MeasuredRun {
            asked: &self.asked,
            study,
            plan: &plan,
            context,
            who: all,
            twin_of: None,
            machine,
            samples: &samples,
            took_s,
        };
        folder.write_summary(&measured.summary())
    }

    /// The request as JSON, for the run's folder.
    pub fn plan(&self) -> Result<Value, String> {
        serde_json::to_value(&self.asked).map_err(|error| error.to_string())
    }
}
