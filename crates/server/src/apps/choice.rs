//! Chooses the engine of an application: the configured one, else the one that it needs.

use std::path::Path;

use crate::apps::requires;
use crate::config::engine_kind::EngineKind;
use crate::process::program;

/// Facts about an application before it is loaded, by which its engine is chosen.
pub struct AppTraits<'a> {
    pub rackup: &'a Path,
    /// The Gemfile that Bundler would use.
    pub gemfile: Option<&'a Path>,
    /// Settings that only one engine has, each with a text for the log.
    pub leanings: &'a [(EngineKind, String)],
    /// The Ruby program (`--ruby`).
    pub ruby: &'a Path,
}

/// The chosen engine.
#[derive(Debug)]
pub struct Choice {
    pub engine: EngineKind,
    /// Log line that says why.
    pub why: String,
    /// The same for the other engine, as the beginning of a log line, if that is tried when this one cannot load the
    /// application.
    pub although: Option<String>,
}

/// Chooses the engine. In any doubt it is Ruby, if there is one.
pub fn choose(named: Option<EngineKind>, traits: &AppTraits<'_>) -> Choice {
    if let Some(engine) = named {
        return Choice { engine, why: format!("engine: {}, as asked for", engine.name()), although: None };
    }
    let (engine, reason, may_be_other) = needed(traits);
    let (name, other) = (engine.name(), engine.other().name());
    let although = may_be_other.then(|| format!("engine: {other}, although {reason}"));
    Choice { engine, why: format!("engine: {name}, because {reason}; --engine {other} is the other one"), although }
}

/// The engine, the reason, and whether the other engine is tried if this one cannot load the application: reading its
/// files cannot show everything that loading them does.
fn needed(traits: &AppTraits<'_>) -> (EngineKind, String, bool) {
    let file = traits.rackup.file_name().unwrap_or_default().to_string_lossy();
    // Only Ruby has Bundler.
    if let Some(gemfile) = traits.gemfile {
        let why = match gemfile.file_name() {
            Some(name) if gemfile.parent() == traits.rackup.parent() => format!("{} is beside {file}", name.display()),
            Some(name) if gemfile.parent().is_some_and(|folder| traits.rackup.starts_with(folder)) => {
                format!("{} is above {file}, in {}", name.display(), gemfile.with_file_name("").display())
            }
            _ => format!("BUNDLE_GEMFILE is {}", gemfile.display()),
        };
        return (EngineKind::Ruby, why, false);
    }
    let found = requires::look(traits.rackup, &engine_mruby::provides);
    if let Some(unmet) = found.unmet {
        return (EngineKind::Ruby, unmet.to_string(), false);
    }
    let leaning = |engine| traits.leanings.iter().find(|(kind, _)| *kind == engine).map(|(_, why)| why.clone());
    if let Some(why) = leaning(EngineKind::Mruby) {
        return (EngineKind::Mruby, why, false);
    }
    let beside_source = leaning(EngineKind::Ruby).or_else(|| rails(traits.rackup));
    let is_in_source = beside_source.is_none();
    match (beside_source.or(found.doubt), program::find_program(traits.ruby)) {
        (None, ruby) => {
            let reason = format!("{file} has no Gemfile and requires nothing that mruby lacks");
            (EngineKind::Mruby, reason, ruby.is_some())
        }
        (Some(doubt), Some(_)) => (EngineKind::Ruby, doubt, is_in_source),
        (Some(doubt), None) => {
            let ruby = traits.ruby.display();
            (EngineKind::Mruby, format!("there is no Ruby ({ruby}), although {doubt}"), false)
        }
    }
}

/// The file by which a Rails application is recognised.
fn rails(rackup: &Path) -> Option<String> {
    let file = Path::new("config").join("application.rb");
    rackup.with_file_name(&file).is_file().then(|| format!("there is a {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn chosen_with(files: &[(&str, &str)], leanings: &[(EngineKind, String)], ruby: &str) -> (EngineKind, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        }
        let rackup = folder.path().join("config.ru");
        let gemfile = crate::config::rackup::gemfile(&rackup, None, None);
        let ruby = Path::new(ruby);
        let traits = AppTraits { rackup: &rackup, gemfile: gemfile.as_deref(), leanings, ruby };
        let Choice { engine, why, although } = choose(None, &traits);
        // Only what was read in the source, or not found there, leaves the choice open.
        let is_open = match engine {
            EngineKind::Ruby => why.contains("known before it runs"),
            EngineKind::Mruby => why.contains("requires nothing that mruby lacks"),
        };
        assert_eq!(although.is_some(), is_open, "{why}");
        (engine, why)
    }

    fn chosen(files: &[(&str, &str)]) -> (EngineKind, String) {
        // Any program will do.
        chosen_with(files, &[], "/bin/sh")
    }

    #[test]
    fn an_application_gets_what_it_needs_and_is_told_why() {
        let plain = "engine: mruby, because config.ru has no Gemfile and requires nothing that mruby lacks; --engine \
                     ruby is the other one";
        assert_eq!(chosen(&[("config.ru", "require \"json\"\nrun App\n")]), (EngineKind::Mruby, plain.into()));
        let ruby = |files: &[(&str, &str)], line: &str| {
            let line = format!("engine: ruby, because {line}; --engine mruby is the other one");
            assert_eq!(chosen(files), (EngineKind::Ruby, line));
        };
        ruby(&[("config.ru", "# app\n\nrequire 'sinatra'\n")], "config.ru requires \"sinatra\" (config.ru:3)");
        ruby(&[("config.ru", ""), ("Gemfile", "")], "Gemfile is beside config.ru");
        ruby(&[("config.ru", ""), ("gems.rb", "")], "gems.rb is beside config.ru");
        ruby(&[("config.ru", ""), ("config/application.rb", "")], "there is a config/application.rb");
        ruby(
            &[("config.ru", "files.each { |file| require file }\n")],
            "config.ru requires what is not known before it runs (config.ru:1)",
        );
    }

    #[test]
    fn a_doubt_counts_where_there_is_a_ruby() {
        let doubtful = [("config.ru", "files.each { |file| require file }\n")];
        let (engine, line) = chosen_with(&doubtful, &[], "/no/such/ruby");
        assert_eq!(engine, EngineKind::Mruby);
        assert!(line.contains("because there is no Ruby (/no/such/ruby), although config.ru requires"), "{line}");
        let workers = [(EngineKind::Ruby, "-w 2 is for it".to_owned())];
        let (engine, line) = chosen_with(&doubtful, &workers, "/bin/sh");
        assert!(engine == EngineKind::Ruby && line.contains("because -w 2 is for it"), "{line}");
        let fresh = [(EngineKind::Mruby, "--fresh is for it".to_owned())];
        let (engine, line) = chosen_with(&doubtful, &fresh, "/bin/sh");
        assert!(engine == EngineKind::Mruby && line.contains("because --fresh is for it"), "{line}");
        assert_eq!(chosen_with(&[("config.ru", "require 'sinatra'")], &fresh, "/bin/sh").0, EngineKind::Ruby);
    }

    #[test]
    fn a_name_or_a_variable_decides_before_the_files() {
        let rackup = Path::new("/nowhere/config.ru");
        let gemfile = Some(Path::new("/srv/Gemfile"));
        let traits = AppTraits { rackup, gemfile, leanings: &[], ruby: Path::new("/bin/sh") };
        let chosen = choose(Some(EngineKind::Mruby), &traits);
        assert_eq!((chosen.engine, &*chosen.why), (EngineKind::Mruby, "engine: mruby, as asked for"));
        let Choice { engine, why: line, .. } = choose(None, &traits);
        assert_eq!(engine, EngineKind::Ruby);
        assert!(line.starts_with("engine: ruby, because BUNDLE_GEMFILE is /srv/Gemfile"), "{line}");
        assert_eq!(choose(None, &AppTraits { gemfile: None, ..traits }).engine, EngineKind::Mruby);
    }
}
