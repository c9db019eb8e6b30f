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
    /// Beginning of the log line for the other engine in its place, if only a sign in the source decided for Ruby.
    pub although: Option<String>,
}

/// Chooses the engine. In any doubt it is Ruby, if there is one.
pub fn choose(named: Option<EngineKind>, traits: &AppTraits<'_>) -> Choice {
    if let Some(engine) = named {
        return Choice { engine, why: format!("engine: {}, as asked for", engine.name()), although: None };
    }
    let (engine, why, sign) = needed(traits);
    let (name, other) = (engine.name(), engine.other().name());
    let why = format!("engine: {name}, {why}; --engine {other} is the other one");
    Choice { engine, why, although: sign.map(|sign| format!("engine: {other}, although {sign}")) }
}

/// Whether an application for which the embedded engine was chosen automatically is given to Ruby if it does not load:
/// reading its files cannot show everything that loading them does.
pub fn may_be_ruby(named: Option<EngineKind>, chosen: EngineKind, traits: &AppTraits<'_>) -> bool {
    let wants_mruby = traits.leanings.iter().any(|(kind, _)| *kind == EngineKind::Mruby);
    named.is_none() && chosen == EngineKind::Mruby && !wants_mruby && program::find_program(traits.ruby).is_some()
}

/// The engine, why it is that one, and the sign in the source if nothing else decided for Ruby.
fn needed(traits: &AppTraits<'_>) -> (EngineKind, String, Option<String>) {
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
        return (EngineKind::Ruby, format!("because {why}"), None);
    }
    let found = requires::look(traits.rackup, &engine_mruby::provides);
    if let Some(unmet) = found.unmet {
        return (EngineKind::Ruby, format!("because {unmet}"), None);
    }
    let leaning = |engine| traits.leanings.iter().find(|(kind, _)| *kind == engine).map(|(_, why)| why.clone());
    if let Some(why) = leaning(EngineKind::Mruby) {
        return (EngineKind::Mruby, format!("because {why}"), None);
    }
    let beside_source = leaning(EngineKind::Ruby).or_else(|| rails(traits.rackup));
    let sign = if beside_source.is_none() { found.doubt.clone() } else { None };
    match (beside_source.or(found.doubt), program::find_program(traits.ruby)) {
        (None, _) => {
            (EngineKind::Mruby, format!("because {file} has no Gemfile and requires nothing that mruby lacks"), None)
        }
        (Some(doubt), Some(_)) => (EngineKind::Ruby, format!("because {doubt}"), sign),
        (Some(doubt), None) => {
            let ruby = traits.ruby.display();
            (EngineKind::Mruby, format!("because there is no Ruby ({ruby}), although {doubt}"), None)
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
        // Only a sign in the source leaves the choice open.
        assert_eq!(although.is_some(), engine == EngineKind::Ruby && why.contains("known before it runs"), "{why}");
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
