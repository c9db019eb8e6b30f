//! Which engine runs the application: the one that was named, else the one it needs.

use std::path::Path;

use crate::requires;

/// The engines there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Interpreters inside this process.
    Mruby,
    /// Processes of the user's own Ruby.
    Ruby,
}

impl EngineKind {
    /// Its name in `--engine`.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Mruby => "mruby",
            EngineKind::Ruby => "ruby",
        }
    }

    /// The one that it is not.
    pub fn other(self) -> EngineKind {
        match self {
            EngineKind::Mruby => EngineKind::Ruby,
            EngineKind::Ruby => EngineKind::Mruby,
        }
    }
}

/// The engine, and a line for the log that says why. Bundler, which a Gemfile needs, is Ruby's.
pub fn choose(named: Option<EngineKind>, rackup: &Path, gemfile: Option<&Path>) -> (EngineKind, String) {
    let (engine, why) = match named {
        Some(engine) => (engine, "as asked for".to_owned()),
        None => needed(rackup, gemfile),
    };
    (engine, format!("engine: {}, {why}", engine.name()))
}

fn needed(rackup: &Path, gemfile: Option<&Path>) -> (EngineKind, String) {
    let file = rackup.file_name().unwrap_or_default().to_string_lossy();
    if let Some(gemfile) = gemfile {
        let why = match gemfile.file_name() {
            Some(name) if gemfile.parent() == rackup.parent() => format!("{} is beside {file}", name.display()),
            _ => format!("BUNDLE_GEMFILE is {}", gemfile.display()),
        };
        return (EngineKind::Ruby, format!("because {why}"));
    }
    match requires::unmet(rackup, &engine_mruby::provides) {
        Some(unmet) => (EngineKind::Ruby, format!("because {unmet}")),
        None => (EngineKind::Mruby, format!("because {file} has no Gemfile and requires nothing that mruby lacks")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn chosen(files: &[(&str, &str)]) -> (EngineKind, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let rackup = folder.path().join("config.ru");
        choose(None, &rackup, crate::rackup::gemfile(&rackup, None).as_deref())
    }

    #[test]
    fn an_application_gets_what_it_needs_and_is_told_why() {
        let plain = "engine: mruby, because config.ru has no Gemfile and requires nothing that mruby lacks";
        assert_eq!(chosen(&[("config.ru", "require \"json\"\nrun App\n")]), (EngineKind::Mruby, plain.into()));
        let ruby = |files: &[(&str, &str)], line: &str| assert_eq!(chosen(files), (EngineKind::Ruby, line.into()));
        let requires = "engine: ruby, because config.ru requires \"sinatra\" (config.ru:3)";
        ruby(&[("config.ru", "# app\n\nrequire 'sinatra'\n")], requires);
        ruby(&[("config.ru", ""), ("Gemfile", "")], "engine: ruby, because Gemfile is beside config.ru");
        ruby(&[("config.ru", ""), ("gems.rb", "")], "engine: ruby, because gems.rb is beside config.ru");
    }

    #[test]
    fn a_name_or_a_variable_decides_before_the_files() {
        let rackup = Path::new("/nowhere/config.ru");
        let gemfile = Some(Path::new("/srv/Gemfile"));
        let chosen = choose(Some(EngineKind::Mruby), rackup, gemfile);
        assert_eq!(chosen, (EngineKind::Mruby, "engine: mruby, as asked for".into()));
        let line = "engine: ruby, because BUNDLE_GEMFILE is /srv/Gemfile";
        assert_eq!(choose(None, rackup, gemfile), (EngineKind::Ruby, line.into()));
        assert_eq!(choose(None, rackup, None).0, EngineKind::Mruby);
    }
}
