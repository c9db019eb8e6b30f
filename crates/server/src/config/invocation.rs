//! How the program was started. It is kept so that a reload can read the settings again: arguments and environment stay
//! the same, the settings file is read again.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use machine::Machine;

use crate::config::arguments::{self, Arguments, Command, Origin, Problem};
use crate::config::file;
use crate::config::operating;
use crate::config::options::{Kind, Name, Row, TABLE};
use crate::config::reader::SettingsReader;
use crate::config::settings::{Settings, resolve};
use crate::process::folder;

/// The arguments after the program's name, and the environment.
#[derive(Debug)]
pub struct Invocation {
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub machine: Machine,
    /// The working directory at the start.
    started_in: PathBuf,
    /// Start of relative paths when the settings were read first; the settings file may name another folder.
    home: OnceLock<PathBuf>,
    /// Settings of the start that cannot change while the program runs.
    first: OnceLock<Fixed>,
}

/// Settings that need a restart to change, with their values, which may be secret; and the applications with host and
/// prefix.
#[derive(Debug, PartialEq)]
struct Fixed {
    server: Vec<(&'static str, String)>,
    apps: Vec<(String, String)>,
}

impl Invocation {
    /// Does not read any file yet.
    pub fn new(arguments: Vec<OsString>, environment: Vec<(OsString, OsString)>, machine: Machine) -> Invocation {
        let (home, first) = (OnceLock::new(), OnceLock::new());
        Invocation { arguments, environment, machine, started_in: folder::current(), home, first }
    }

    /// The arguments of the command line and of the environment, without any file.
    pub fn typed(&self) -> Arguments {
        arguments::read(self.arguments.clone(), &self.environment)
    }

    /// Whether this process does not read the settings file because it starts another one in the background: code in
    /// another server's file must run only once.
    pub fn leaves_file_to_background(&self) -> bool {
        let asked = self.typed();
        let daemonize = SettingsReader::new(&asked, None, self.machine).flag(Name::Daemonize);
        daemonize && asked.problems.is_empty() && file::is_code(&asked)
    }

    /// The current arguments: command line, environment and, for commands that use settings, the file. The first call
    /// changes to the configured folder.
    pub fn asked(&self) -> Arguments {
        let mut asked = self.typed();
        if !matches!(asked.command, Command::Serve | Command::Native | Command::Config { .. }) {
            return asked;
        }
        // No file that Ruby reads names the Ruby that an extension is built for; and root may be the one who builds it.
        let skips_file = asked.command == Command::Native && file::is_read_by_ruby(&asked);
        match self.home.get() {
            None => asked.problems.extend(operating::enter(&asked).err()),
            // A symlink on the way, such as `current`, may point to another release by now.
            Some(home) => asked.problems.extend(operating::enter_again(&folder::there(home)).err()),
        }
        let home = self.home.get_or_init(|| {
            let dir = asked.values(Name::Dir).last().map(|given| given.value.clone());
            dir.map_or_else(folder::current, |dir| self.started_in.join(dir))
        });
        folder::note(home);
        let home = &folder::there(home);
        if !skips_file {
            file::add(&mut asked, home);
        }
        let is_in_file = asked.values(Name::Dir).iter().any(|given| matches!(given.origin, Origin::File(_)));
        let dir = asked.values(Name::Dir).last().filter(|_| is_in_file).map(|given| given.value.clone());
        asked.folder.clone_from(home);
        if let Some(dir) = dir {
            // A path on the command line is relative to where it was typed; or, as in Puma, to the folder that the
            // file names.
            asked.rackup = asked.rackup.map(|path| {
                let (typed, named) = (home.join(&path), home.join(&dir).join(&path));
                if !typed.exists() && named.exists() { named } else { typed }
            });
            asked.folder.push(dir);
            asked.problems.extend(operating::enter(&asked).err());
        }
        // Each of these may be the only one that was named through a symlink.
        let file = asked.file.as_ref().map(|path| home.join(path));
        let rackup = asked.rackup.as_deref().map(|path| asked.folder.join(path));
        let beside = file.iter().chain(&rackup).flat_map(|path| path.ancestors().take(3));
        [&*asked.folder].into_iter().chain(beside).for_each(folder::note);
        asked
    }

    /// Value of BUNDLE_GEMFILE.
    pub fn bundle_gemfile(&self) -> Option<OsString> {
        self.environment.iter().find(|(name, _)| name == "BUNDLE_GEMFILE").map(|(_, path)| path.clone())
    }

    /// Resolves the settings at the start.
    pub fn resolve(&self, asked: Arguments) -> Result<Settings, Vec<Problem>> {
        let fixed = Fixed::of(&asked, self.machine);
        let settings = resolve(asked, self.machine)?;
        let _ = self.first.set(fixed);
        Ok(settings)
    }

    /// Resolves the current settings, for a reload; `waiting` lists changes that need a restart.
    pub fn reload_settings(&self) -> Result<Settings, Vec<Problem>> {
        let asked = self.asked();
        let now = Fixed::of(&asked, self.machine);
        let mut settings = resolve(asked, self.machine)?;
        if let Some(first) = self.first.get() {
            settings.waiting = now.changed_from(first);
        }
        Ok(settings)
    }
}

impl Fixed {
    fn of(asked: &Arguments, machine: Machine) -> Fixed {
        let mut reader = SettingsReader::new(asked, None, machine);
        let binds: Vec<String> = reader.addresses().into_iter().map(|said| said.uri).collect();
        let of_server = |name| ![Name::Bind, Name::Port, Name::Host, Name::Config].contains(&name);
        let rows = TABLE.iter().filter(|row| !row.per_app && !matches!(row.kind, Kind::Refused(_)));
        let rows = rows.filter(|row| of_server(row.name));
        let mut server: Vec<(&'static str, String)> = rows.map(|row| (row.long, reader.all(row.name))).collect();
        server.push(("bind", binds.join(", ")));
        let place =
            |host: &Option<String>, prefix: &str| format!("{}{prefix}", host.as_deref().unwrap_or("every host "));
        let apps = asked.apps.iter().map(|app| (app.name.clone(), place(&app.host, &app.prefix))).collect();
        Fixed { server, apps }
    }

    /// A sentence for each change.
    fn changed_from(&self, first: &Fixed) -> Vec<String> {
        let next = "takes effect at the next start";
        let server = self.server.iter().zip(&first.server).filter(|(now, then)| now != then);
        let change = |name: &str, now: &str, then: &str| {
            if Row::called(name).is_some_and(|row| row.name.is_secret()) {
                format!("{name} has changed: {next}")
            } else {
                format!("{name} is {} now and was {}: {next}", shown(now), shown(then))
            }
        };
        let mut changes: Vec<String> = server.map(|((name, now), (_, then))| change(name, now, then)).collect();
        for (name, place) in &self.apps {
            match first.apps.iter().find(|(known, _)| known == name) {
                None => changes.push(format!("the application {name} is new: it {next}")),
                Some((_, then)) if then != place => {
                    changes.push(format!("the application {name} is at {place} now and was at {then}: {next}"));
                }
                Some(_) => {}
            }
        }
        let gone = first.apps.iter().filter(|(name, _)| !self.apps.iter().any(|(known, _)| known == name));
        changes.extend(gone.map(|(name, _)| format!("the application {name} is not in the file any more: {next}")));
        changes
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "nothing" } else { value }
}

#[cfg(test)]
#[path = "invocation_test.rs"]
mod tests;
