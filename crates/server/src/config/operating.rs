//! Settings of the server's process: user, folder, background, files and signals.

use std::path::{Path, PathBuf};

use crate::config::arguments::{Arguments, Origin, Problem};
use crate::config::bind_query::permission_bits;
use crate::config::options::Name;
use crate::config::reader::SettingsReader;
use crate::config::signal_map::Habit;
use crate::process::folder::absolute;
use crate::process::identity::Identity;
use crate::process::sockets::Activated;
use crate::process::stream::Stream;

/// Settings of the process.
#[derive(Debug, Clone)]
pub struct Operating {
    pub signals: Habit,
    pub pidfile: Option<PathBuf>,
    pub state: Option<PathBuf>,
    /// Permissions of the state file.
    pub state_bits: Option<u32>,
    pub daemonize: bool,
    pub stdout: Option<PathBuf>,
    pub stderr: Option<PathBuf>,
    /// Without a log file, in the background: the log goes to `/dev/null`.
    pub is_silent: bool,
    /// The server's own log goes to the file of standard error, if there is one, as in Unicorn.
    pub logs_to_stderr: bool,
    pub identity: Option<Identity>,
    /// Permission bits that new files do not get.
    pub umask: Option<u32>,
    pub activated: Activated,
    /// Whether missing folders of log files and of the pid file are created, as in Thin.
    pub makes_folders: bool,
    /// No address is configured.
    pub is_default_bind: bool,
}

/// Changes to the configured folder, before any other file is looked for.
pub fn enter(asked: &Arguments) -> Result<(), Problem> {
    let Some(given) = asked.values(Name::Dir).last().copied() else { return Ok(()) };
    std::env::set_current_dir(&given.value).map_err(|error| Problem(format!("{}: {error}", given.as_written())))
}

/// Changes to that folder again, for a reload.
pub fn enter_again(folder: &Path) -> Result<(), Problem> {
    std::env::set_current_dir(folder).map_err(|error| Problem(format!("{}: {error}", folder.display())))
}

impl SettingsReader<'_> {
    /// Reads the settings of the process.
    pub fn operating(&mut self) -> Operating {
        let (stdout, stderr) = self.log_files();
        self.files_apart(&[stdout.as_deref(), stderr.as_deref()]);
        let daemonize = self.flag(Name::Daemonize);
        let lacks_log = daemonize && stdout.is_none() && stderr.is_none();
        // Unicorn and Puma write to /dev/null then.
        let is_silent = lacks_log && self.asked.compat.is_some();
        // If a file could not be read, it may name one.
        if lacks_log && !is_silent && self.asked.problems.is_empty() {
            self.refuse_value(Name::Daemonize, "needs --log-file FILE: in the background nobody reads standard output");
        }
        // In the background one file takes both.
        let or = |one: &Option<PathBuf>, other: &Option<PathBuf>| {
            let nowhere = || is_silent.then(|| PathBuf::from("/dev/null"));
            one.clone().or(other.clone().filter(|_| daemonize)).or_else(nowhere)
        };
        Operating {
            signals: Habit::named(&self.choice(Name::Signals)),
            pidfile: self.pidfile(),
            state: self.path(Name::State),
            state_bits: self.octal(Name::StatePermission, "0640"),
            daemonize,
            stdout: or(&stdout, &stderr),
            stderr: or(&stderr, &stdout),
            is_silent,
            logs_to_stderr: self.asked.reads_file_of(&["Unicorn", "Pitchfork"]),
            identity: self.identity(),
            umask: self.octal(Name::Umask, "027"),
            activated: self.activated(),
            makes_folders: self.asked.reads_file_of(&["Thin"]),
            is_default_bind: [Name::Bind, Name::Port, Name::Host].iter().all(|name| {
                let given = self.asked.values(*name);
                given.iter().all(|given| given.is_assumed() || given.origin == Origin::Default)
            }),
        }
    }

    fn path(&self, name: Name) -> Option<PathBuf> {
        self.optional(name).map(PathBuf::from)
    }

    /// The pid file. `/dev/null` means none: images of containers set it to switch the pid file off.
    fn pidfile(&self) -> Option<PathBuf> {
        self.path(Name::Pidfile).filter(|path| path != Path::new("/dev/null"))
    }

    fn log_files(&mut self) -> (Option<PathBuf>, Option<PathBuf>) {
        let names = [Name::LogFile, Name::RedirectStdout, Name::RedirectStderr];
        let [both, out, err] = names.map(|name| self.path(name));
        for (name, path) in names.into_iter().zip([&both, &out, &err]) {
            if path.as_ref().is_some_and(|path| is_folder(path)) {
                self.refuse_value(name, "is a folder; name a file in it");
            }
        }
        // A path that is the stream itself (/dev/stdout) is no log file; --daemonize, for instance, still needs one.
        let file = |path: Option<PathBuf>, own: Stream| path.filter(|path| Stream::at(path) != Some(own));
        (file(out.or(both.clone()), Stream::Output), file(err.or(both), Stream::Error))
    }

    /// Refuses log, pid and state files that are the same file: they would overwrite each other.
    fn files_apart(&mut self, logs: &[Option<&Path>]) {
        let logs: Vec<PathBuf> = logs.iter().flatten().map(|path| absolute(path)).collect();
        let [pidfile, state] = [self.pidfile(), self.path(Name::State)].map(|path| path.as_deref().map(absolute));
        for (name, path) in [(Name::Pidfile, &pidfile), (Name::State, &state)] {
            if path.as_ref().is_some_and(|path| logs.contains(path)) {
                self.refuse_value(name, "is the log file, too: name another");
            }
        }
        if state.as_ref().is_some_and(|path| path.extension().is_some_and(|ending| ending == "sock")) {
            let right = "looks like a socket to listen on, which is --bind unix://PATH; --state takes a file";
            self.refuse_value(Name::State, right);
        }
        if pidfile.is_some() && pidfile == state {
            self.refuse_value(Name::State, "is the pid file, too: name another");
        }
    }

    fn identity(&mut self) -> Option<Identity> {
        let (user, group) = (self.optional(Name::User), self.optional(Name::Group));
        Identity::find(user.as_deref(), group.as_deref()).unwrap_or_else(|[of_user, of_group]| {
            for (name, why) in [(Name::User, of_user), (Name::Group, of_group)] {
                why.iter().for_each(|why| self.refuse_value(name, why));
            }
            None
        })
    }

    fn octal(&mut self, name: Name, example: &str) -> Option<u32> {
        let given = self.pick(name);
        if given.value.is_empty() {
            return None;
        }
        let bits = permission_bits(&given.value);
        if bits.is_none() {
            self.refuse(&given, &format!("must be an octal number up to 777, such as {example}"));
        }
        bits
    }

    fn activated(&mut self) -> Activated {
        let given = self.pick(Name::BindToActivatedSockets);
        match given.value.as_str() {
            "only" => Activated::Only,
            // The flag alone means yes.
            "" | "yes" | "true" | "on" | "1" => Activated::All,
            "no" | "false" | "off" | "0" => Activated::Matching,
            _ => {
                self.refuse(&given, "must be yes, no or only");
                Activated::Matching
            }
        }
    }
}

/// Whether a path names a folder, which need not exist. (`Path::ends_with` knows no slash at the end.)
fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}
