//! Options that one engine does not have: most cause a warning, some an error.

use crate::config::arguments::{Arguments, Problem, RawValue};
use crate::config::engine_kind::EngineKind;
use crate::config::options::{Name, Section, TABLE};

/// Options that do not fit an engine.
#[derive(Debug, Clone, Default)]
pub struct Incompatible {
    pub problems: Vec<Problem>,
    pub notices: Vec<String>,
}

const WORKERS_WHY: &str = "the embedded engine has threads and no worker processes: say --threads N for N \
                           interpreters (workers x threads of your old setting is a good N), or --engine ruby";
const FRESH_WHY: &str = "only the embedded engine can give each request an interpreter of its own: say --engine \
                         mruby, or leave it out";

const USER_WHY: &str = "the embedded engine runs in the server's own process, and so as its user: say --user, or \
                        --engine ruby";
const USER_OF_ALL_WHY: &str = "it is for all applications, and one would run on the embedded engine, which is in the \
                               server's own process, and so as its user: name the engine of that application";

/// Checks the options of an application against an engine. `is_named`: the engine is configured, too, so one of the two
/// must go.
pub fn find(asked: &Arguments, app: Option<usize>, engine: EngineKind, is_named: bool) -> Incompatible {
    let mut incompatible = Incompatible::default();
    let said = TABLE.iter().flat_map(|row| asked.values_for(app, row.name));
    for given in said.filter(|given| is_meant_for(given, app) && !fits(given, engine)) {
        let written = given.as_written();
        match given.name {
            Name::Fresh => incompatible.problems.push(Problem(format!("{written}: {FRESH_WHY}"))),
            // It is meant for the other applications.
            Name::RubyUser if is_named && given.app != app => {}
            Name::RubyUser if given.app != app => {
                incompatible.problems.push(Problem(format!("{written}: {USER_OF_ALL_WHY}")));
            }
            Name::RubyUser => incompatible.problems.push(Problem(format!("{written}: {USER_WHY}"))),
            // Platforms set WEB_CONCURRENCY for all applications.
            Name::Workers if is_named && given.is_for_this_program() => {
                incompatible.problems.push(Problem(format!("{written}: {WORKERS_WHY}")));
            }
            Name::Workers => incompatible.notices.push(format!("{written}: {WORKERS_WHY}")),
            _ => {
                let other = engine.other().name();
                incompatible.notices.push(format!("{written}: has no meaning here; it is for --engine {other}"));
            }
        }
    }
    incompatible
}

/// Settings that suggest an engine, each with a text for the log: another server's file, read or not, and options of
/// this program that only one engine has, unless they have their default.
pub fn leanings(asked: &Arguments, app: Option<usize>) -> Vec<(EngineKind, String)> {
    let mut leanings = Vec::new();
    if let Some((file, server)) = &asked.compat {
        leanings.push((EngineKind::Ruby, format!("{file} is a configuration of {server}")));
    }
    let unread = app.map_or(&asked.unread, |app| &asked.apps[app].unread);
    if let Some(file) = unread {
        leanings.push((EngineKind::Ruby, format!("there is a {file}")));
    }
    let said = TABLE.iter().flat_map(|row| asked.values_for(app, row.name));
    for given in said.filter(|given| given.is_for_this_program() && is_meant_for(given, app)) {
        let engine = [EngineKind::Ruby, EngineKind::Mruby].into_iter().find(|engine| !fits(given, engine.other()));
        if let Some(engine) = engine {
            let name = engine.name();
            leanings.push((engine, format!("{} is for --engine {name}", given.as_written())));
        }
    }
    leanings
}

/// Whether an option is meant for this application. Of several, what is set for all need not be, but for the user of
/// the Ruby processes: an application that comes to fit the embedded engine, say without its Gemfile, would run as root
/// from its next reload on, and its author can do both.
fn is_meant_for(given: &RawValue, app: Option<usize>) -> bool {
    app.is_none() || given.app == app || (given.name == Name::RubyUser && !given.value.is_empty())
}

fn fits(given: &RawValue, engine: EngineKind) -> bool {
    let value = given.value.to_lowercase();
    match (given.name.row().section, engine) {
        // The embedded engine has one process; `auto` allows that.
        (Section::Ruby, EngineKind::Mruby) if given.name == Name::Workers => ["auto", "0", "1"].contains(&&*value),
        // It loads the application before the first request anyway.
        (Section::Ruby, EngineKind::Mruby) if given.name == Name::Preload => value != "force",
        (Section::Mruby, EngineKind::Ruby) if given.name == Name::Fresh => given.yes_or_no() == Some(false),
        (Section::Ruby, EngineKind::Mruby) | (Section::Mruby, EngineKind::Ruby) => false,
        (_, EngineKind::Mruby) => !given.is_for_ruby_threads(),
        (_, EngineKind::Ruby) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::arguments::ask;

    fn found(arguments: &[&str], environment: &[(&str, &str)], engine: EngineKind, named: bool) -> [Vec<String>; 2] {
        let incompatible = find(&ask(arguments, environment), None, engine, named);
        [incompatible.problems.iter().map(Problem::to_string).collect(), incompatible.notices]
    }

    #[test]
    fn several_workers_are_refused_where_mruby_was_asked_for_and_explained_elsewhere() {
        let [problems, notices] = found(&["-w", "2"], &[], EngineKind::Mruby, true);
        assert!(problems[0].starts_with("-w 2: the embedded engine has threads and no worker processes"));
        assert!(notices.is_empty());
        for (arguments, environment, named) in
            [(&["-w", "2"][..], &[][..], false), (&[][..], &[("WEB_CONCURRENCY", "2")][..], true)]
        {
            let [problems, notices] = found(arguments, environment, EngineKind::Mruby, named);
            assert!(problems.is_empty() && notices[0].contains("no worker processes"), "{problems:?} {notices:?}");
        }
        for workers in ["0", "1", "auto"] {
            assert_eq!(found(&["-w", workers], &[], EngineKind::Mruby, true).concat(), Vec::<String>::new());
        }
        assert_eq!(found(&["-w", "2"], &[], EngineKind::Ruby, true).concat(), Vec::<String>::new());
    }

    #[test]
    fn options_of_the_other_engine_are_named() {
        let rails = [("RAILS_MAX_THREADS", "5")];
        let [problems, notices] = found(&["--ruby", "jruby", "-t", "3"], &rails, EngineKind::Mruby, true);
        assert!(problems.is_empty());
        assert_eq!(notices, ["--ruby jruby: has no meaning here; it is for --engine ruby"]);
        let [_, notices] = found(&[], &rails, EngineKind::Mruby, false);
        assert_eq!(notices, ["RAILS_MAX_THREADS=5: has no meaning here; it is for --engine ruby"]);
        let [problems, notices] = found(&["--memory-limit", "8MiB"], &rails, EngineKind::Ruby, true);
        assert!(problems.is_empty());
        assert_eq!(notices, ["--memory-limit 8MiB: has no meaning here; it is for --engine mruby"]);
    }

    #[test]
    fn a_user_for_all_applications_keeps_each_from_the_embedded_engine_unless_that_is_named() {
        let problems = |engine, is_named| {
            let asked = ask(&["--ruby-user", "deploy", "--ruby", "jruby"], &[]);
            find(&asked, Some(0), engine, is_named).problems.iter().map(Problem::to_string).collect::<Vec<_>>()
        };
        let found = problems(EngineKind::Mruby, false);
        let start = "--ruby-user deploy: it is for all applications";
        assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
        assert!(problems(EngineKind::Mruby, true).is_empty() && problems(EngineKind::Ruby, false).is_empty());
    }

    #[test]
    fn what_only_one_engine_has_speaks_for_it() {
        let leanings = |arguments: &[&str], environment: &[(&str, &str)]| {
            let mut asked = ask(arguments, environment);
            asked.compat = (arguments.first() == Some(&"-C")).then(|| ("puma.rb".to_owned(), "Puma"));
            leanings(&asked, None)
        };
        assert_eq!(leanings(&["-t", "3", "-w", "1"], &[("WEB_CONCURRENCY", "3"), ("RAILS_MAX_THREADS", "3")]), []);
        let one = |engine, words: &str| vec![(engine, words.to_owned())];
        assert_eq!(leanings(&["-w", "2"], &[]), one(EngineKind::Ruby, "-w 2 is for --engine ruby"));
        let fresh = [("FOOLS_GOLD_FRESH", "yes")];
        assert_eq!(leanings(&[], &fresh), one(EngineKind::Mruby, "FOOLS_GOLD_FRESH=yes is for --engine mruby"));
        assert_eq!(leanings(&["-C", "puma.rb"], &[]), one(EngineKind::Ruby, "puma.rb is a configuration of Puma"));
    }

    #[test]
    fn fresh_interpreters_are_a_promise_that_ruby_cannot_keep() {
        assert!(
            found(&["--fresh"], &[], EngineKind::Ruby, false)[0][0].starts_with("--fresh: only the embedded engine")
        );
        assert_eq!(found(&["--fresh=no"], &[], EngineKind::Ruby, true).concat(), Vec::<String>::new());
    }
}
