//! Common parts of most commands: where contenders come from, and the folders that come with the program.

use std::path::PathBuf;

use crate::contender::{Catalogue, quoted};
use crate::environment::EnvironmentOptions;
use crate::study::{Figures, Studies, Study, surroundings};

impl EnvironmentOptions {
    /// The options as text, for a command that resumes a run.
    pub(super) fn in_words(&self) -> String {
        let options = [("--ring", &self.ring), ("--gemfile", &self.gemfile), ("--foolsgold", &self.foolsgold)];
        let in_words = |(name, path): (&str, &Option<PathBuf>)| {
            let path = path.as_ref()?.display().to_string();
            Some(format!(" {name} {}", quoted(&path)))
        };
        let given = options.into_iter().filter_map(in_words);
        given.chain(self.yjit.then(|| " --yjit".to_owned())).collect()
    }

    /// The options as text for the record, each with a space before it, without folders of this machine.
    pub(super) fn without_folders(&self) -> String {
        let options = [
            (self.ring.is_some(), " --ring RING"),
            (self.gemfile.is_some(), " --gemfile Gemfile"),
            (self.yjit, " --yjit"),
        ];
        options.into_iter().filter_map(|(is_given, words)| is_given.then_some(words)).collect()
    }
}

/// The folders that come with the program.
pub struct Home(pub PathBuf);

impl Home {
    pub fn find(given: Option<PathBuf>) -> Result<Home, String> {
        let Some(folder) = given else { return crate::study::home().map(Home) };
        let is_home = folder.join("arena/contenders").is_dir() && folder.join("apps").is_dir();
        if is_home {
            Ok(Home(folder))
        } else {
            Err(format!("--home {}: it has no arena/contenders and apps", folder.display()))
        }
    }

    /// The option that names this folder, for a command that resumes a run; empty if the program finds the folder
    /// without it.
    pub fn in_words(&self) -> String {
        let is_found = crate::study::home().is_ok_and(|found| found == self.0);
        if is_found { String::new() } else { format!(" --home {}", quoted(&self.0.display().to_string())) }
    }

    /// Reads all contenders, studies and published figures. All errors are reported at once.
    pub fn read(&self) -> Result<(Catalogue, Studies, Figures), String> {
        let contenders = Catalogue::read(&self.0.join("arena/contenders"));
        let folder = self.0.join("arena/studies");
        let (studies, mut complaints) = Studies::read(&folder);
        let figures = Figures::read(&self.0.join("arena/published.toml"));
        let apps = self.0.join("apps");
        let none = Figures::default();
        for study in &studies.0 {
            // Without figures every name of a published figure would be reported as wrong.
            let study = Study { published: study.published.clone().filter(|_| figures.is_ok()), ..study.clone() };
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

    pub fn runs(&self) -> PathBuf {
        self.0.join("arena/runs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_resumes_a_run_can_be_typed_as_it_stands() {
        let path = |text: &str| Some(PathBuf::from(text));
        let (ring, foolsgold) = (path("/srv/my ring"), path("/a/foolsgold"));
        let source = EnvironmentOptions { ring, foolsgold, ..EnvironmentOptions::default() };
        assert_eq!(source.in_words(), " --ring '/srv/my ring' --foolsgold /a/foolsgold");
        assert_eq!(Home("/no such".into()).in_words(), " --home '/no such'");
        assert_eq!(crate::study::home().map(|found| Home(found).in_words()), Ok(String::new()));
    }
}
