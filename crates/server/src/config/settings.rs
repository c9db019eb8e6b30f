//! The resolved settings: checked and final, made from parsed arguments and the machine. All errors are reported at
//! once. Reads no file and no environment; never changes afterwards.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use engine_ruby::Preload;
use machine::Machine;

use crate::config::admin::AdminSettings;
use crate::config::app_settings::{
    AppSettings, DEFAULT_NAME, EnvironmentSource, Mruby, Probe, Reload, Ruby, RubyWorker, WorkerBounds, path_prefix,
};
use crate::config::arguments::{Arguments, Origin, Problem, RawValue};
use crate::config::engine_kind::EngineKind;
use crate::config::incompatible::{self, Incompatible};
use crate::config::log_filter::LogFilter;
use crate::config::operating::Operating;
use crate::config::options::{Kind, Name, TABLE};
use crate::config::reader::SettingsReader;
use crate::process::links::Links;
use crate::process::open_files;
use crate::process::sockets::Activated;

/// Default number of threads of a Ruby worker, as in Puma.
const RUBY_THREADS: usize = 5;
/// Default of their greatest number, where neither threads nor workers are configured.
const MAX_RUBY_THREADS: usize = 64;
/// Longest tag; more would not be visible in a list of processes.
const TAG_LETTERS: usize = 64;

/// Format of the log, and whether it has an access log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogForm {
    #[default]
    Text,
    Json,
    /// Text without an access log.
    NoAccess,
}

/// All settings of the server.
#[derive(Debug, Clone)]
pub struct Settings {
    pub binds: Vec<front::Endpoint>,
    pub trusted: Vec<front::Trusted>,
    /// Whether headers with an underscore in their names reach applications.
    pub passes_underscores: bool,
    pub remote_address: front::RemoteAddress,
    /// Value of rack.url_scheme, if it is configured and does not follow from the request.
    pub scheme: Option<engine::Scheme>,
    /// The applications, at least one.
    pub apps: Vec<AppSettings>,
    pub io_threads: usize,
    pub limits: front::Limits,
    /// Limit of the workers of all applications together.
    pub total_workers: Option<usize>,
    /// Time between "not ready" and the end of accepting connections.
    pub drain_lag: Duration,
    pub log_form: LogForm,
    pub log_query: front::QueryLog,
    pub log_filter: LogFilter,
    pub admin: AdminSettings,
    pub operating: Operating,
    /// Configured values, as they were written, for the log.
    pub chosen: Vec<String>,
    /// Warnings for the log at the start.
    pub notices: Vec<String>,
    /// Changes that a reload cannot apply, since they need a restart.
    pub waiting: Vec<String>,
}

impl Settings {
    /// Whose symbolic links are followed: those of root only, if this process is root and the application another user.
    pub fn links(&self) -> Links {
        let has_user = self.operating.identity.is_some() || self.apps.iter().any(|app| app.ruby.user.is_some());
        if has_user { Links::OfRoot } else { Links::All }
    }
}

/// Resolves all settings; the error lists all problems.
pub fn resolve(asked: Arguments, machine: Machine) -> Result<Settings, Vec<Problem>> {
    let (settings, problems) = read(asked, machine);
    if problems.is_empty() { Ok(settings) } else { Err(problems) }
}

/// Resolves the settings as far as possible, and lists all problems.
pub fn read(mut asked: Arguments, machine: Machine) -> (Settings, Vec<Problem>) {
    let problems = asked.problems.clone();
    let notices = std::mem::take(&mut asked.notices);
    let mut reader = SettingsReader { asked: &asked, app: None, machine, problems, notices };
    let mut limits = reader.limits();
    let apps = reader.apps();
    // Each application has its own; these are for connections, which belong to all.
    limits.request_time = apps.iter().map(|app| app.request_time).max().unwrap_or(limits.request_time);
    limits.queue_wait = apps.iter().map(|app| app.queue_wait).max().unwrap_or(limits.queue_wait);
    // Each thread that a worker gets later is a connection to this process.
    limits.spare_files = apps.iter().fold(limits.spare_files, |files, app| files.saturating_add(app.later_threads()));
    let mut settings = Settings {
        binds: reader.binds(),
        trusted: reader.trusted(),
        remote_address: reader.remote_address(),
        scheme: match reader.choice(Name::UrlScheme).as_str() {
            "http" => Some(engine::Scheme::Http),
            "https" => Some(engine::Scheme::Https),
            _ => None,
        },
        passes_underscores: reader.choice(Name::UnderscoreHeaders) == "pass",
        total_workers: reader.total_workers(&apps),
        apps,
        io_threads: reader.small(Name::IoThreads),
        limits,
        drain_lag: reader.time(Name::DrainLag),
        log_form: match reader.choice(Name::AccessLog).as_str() {
            "json" => LogForm::Json,
            "off" => LogForm::NoAccess,
            _ => LogForm::Text,
        },
        log_query: reader.parsed(Name::LogQuery),
        log_filter: reader.parsed(Name::Log),
        admin: reader.admin(),
        operating: reader.operating(),
        chosen: chosen(&asked, machine),
        notices: Vec::new(),
        waiting: Vec::new(),
    };
    // Where systemd may hand sockets over in place of the configured addresses, these need not be free.
    if settings.operating.activated == Activated::Matching {
        reader.listeners_apart(&settings.binds, &settings.admin);
    }
    settings.notices = once_each(reader.notices);
    // A problem that several applications share is listed once.
    let problems = once_each(reader.problems);
    (settings, problems)
}

fn once_each<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

/// The configured values that count, as they were written.
fn chosen(asked: &Arguments, machine: Machine) -> Vec<String> {
    let of = |app: Option<usize>| {
        let mut reader = SettingsReader::new(asked, app, machine);
        TABLE.iter().flat_map(|row| reader.counting(row.name)).collect::<Vec<RawValue>>()
    };
    let apps = (0..asked.apps.len()).map(Some);
    // Of an application, only its own.
    let own = apps.flat_map(|app| of(app).into_iter().filter(move |given| given.app == app));
    // A list in a file is one place with several values.
    once_each(of(None).into_iter().chain(own).map(|given| given.as_written()).collect())
}

impl SettingsReader<'_> {
    /// The applications of the settings file, or the only one.
    fn apps(&mut self) -> Vec<AppSettings> {
        let asked = self.asked;
        if asked.apps.is_empty() {
            return vec![AppSettings { prefix: self.prefix(), ..self.app(DEFAULT_NAME, asked.rackup.clone()) }];
        }
        if let Some(given) = asked.values(Name::Prefix).last() {
            self.refuse(given, "is for a single application: the settings file has prefix below each [[app]]");
        }
        let mut apps = Vec::new();
        for (at, one) in asked.apps.iter().enumerate() {
            self.app = Some(at);
            let app = self.app(&one.name, Some(one.path.clone()));
            apps.push(AppSettings { host: one.host.clone(), prefix: one.prefix.clone(), ..app });
        }
        self.app = None;
        apps
    }

    /// The prefix of the only application.
    fn prefix(&mut self) -> String {
        let given = self.pick(Name::Prefix);
        path_prefix(&given.value).unwrap_or_else(|why| {
            self.refuse(&given, &why);
            String::new()
        })
    }

    /// The configured values of an option that count.
    fn counting(&mut self, name: Name) -> Vec<RawValue> {
        let mut values: Vec<RawValue> = match name {
            Name::Bind => self.addresses().into_iter().map(|said| said.given).collect(),
            Name::Port | Name::Host if !self.has_port_address() => Vec::new(),
            Name::MinWorkers | Name::MaxWorkers if self.is_outdone(name) => Vec::new(),
            // A variable for Ruby's threads does not hide what counts for interpreters.
            Name::Threads => vec![self.pick(name), self.pick_for_interpreters(name)],
            _ if name.row().kind == Kind::List => self.asked.values_for(self.app, name).into_iter().cloned().collect(),
            _ => vec![self.pick(name)],
        };
        values.retain(|given| given.name == name && given.origin != Origin::Default);
        values
    }

    /// Settings of the application of this reader.
    fn app(&mut self, name: &str, rackup: Option<PathBuf>) -> AppSettings {
        let (engine, incompatible) = self.engine();
        let (interpreters, threads) = self.threads();
        let restart_file = self.restart_file(rackup.as_deref());
        AppSettings {
            name: name.to_owned(),
            rackup,
            host: None,
            prefix: String::new(),
            environment: self.environment(),
            environment_source: self.environment_source(),
            engine,
            leanings: incompatible::leanings(self.asked, self.app),
            mruby: Mruby { interpreters, fresh: self.flag(Name::Fresh), memory_bytes: self.small(Name::MemoryLimit) },
            ruby: self.ruby(threads),
            tag: self.tag(),
            reload: self.reload(),
            restart_file,
            queue_places: self.small(Name::Queue),
            max_requests: self.number(Name::MaxRequests),
            max_requests_jitter: self.number(Name::MaxRequestsJitter),
            slow_time: self.time(Name::SlowTime),
            request_time: self.time_or_none(Name::RequestTime),
            has_request_time: self.pick(Name::RequestTime).origin != Origin::Default,
            queue_wait: self.time_or_none(Name::QueueWait),
            notices: Vec::new(),
            incompatible,
        }
    }

    /// The engine, if it is configured; otherwise what does not fit each engine.
    fn engine(&mut self) -> (Option<EngineKind>, Vec<(EngineKind, Incompatible)>) {
        let engine = match self.choice(Name::Engine).as_str() {
            "mruby" => EngineKind::Mruby,
            "ruby" => EngineKind::Ruby,
            _ => {
                let of = |kind| (kind, incompatible::find(self.asked, self.app, kind, false));
                return (None, vec![of(EngineKind::Mruby), of(EngineKind::Ruby)]);
            }
        };
        let incompatible = incompatible::find(self.asked, self.app, engine, true);
        self.problems.extend(incompatible.problems);
        self.notices.extend(incompatible.notices);
        (Some(engine), Vec::new())
    }

    fn environment(&mut self) -> String {
        let given = self.pick(Name::Environment);
        let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if given.value.is_empty() || !given.value.chars().all(plain) {
            self.refuse(&given, "must be one word, such as development or production");
        }
        given.value
    }

    /// The source of the environment's name. Of the servers whose files are read, only Passenger sets RAILS_ENV and
    /// APP_ENV, too: to what its file says, or to its default.
    fn environment_source(&self) -> EnvironmentSource {
        let given = self.pick(Name::Environment);
        let is_passenger = self.asked.reads_file_of(&["Passenger"]);
        match &given.origin {
            _ if given.is_for_this_program() && !given.is_for_middleware() => EnvironmentSource::OwnSetting,
            Origin::File(_) if is_passenger => EnvironmentSource::OwnSetting,
            Origin::Default if !is_passenger => EnvironmentSource::Default,
            _ => EnvironmentSource::OtherSetting,
        }
    }

    /// The number of interpreters, and of threads of a Ruby worker.
    fn threads(&mut self) -> (usize, usize) {
        let given = self.pick(Name::Threads);
        let number = self.thread_count(&given);
        match &given.origin {
            // An application that never ran in several threads must not begin here.
            Origin::Default if self.asked.has_single_threads() => (number, 1),
            Origin::Default => (number, RUBY_THREADS),
            _ if given.is_for_ruby_threads() => {
                let of_interpreters = self.pick_for_interpreters(Name::Threads);
                (self.thread_count(&of_interpreters), number)
            }
            _ => (number, number),
        }
    }

    /// Parses a number of threads. Of Puma's `MIN:MAX` only MAX counts, since all threads start at once.
    fn thread_count(&mut self, given: &RawValue) -> usize {
        let (least, most) = given.value.split_once(':').unwrap_or(("0", &given.value));
        let before = self.problems.len();
        let number = self.number_of(given, most);
        if self.problems.len() == before {
            match least.parse::<u64>() {
                Err(_) => self.refuse(given, "must be a whole number, or two such as 1:5"),
                Ok(least) if least > number => self.refuse(given, "of MIN:MAX, MIN must not be more than MAX"),
                // The notice about another server's file says it already.
                Ok(_) if given.is_of_compat_file() => {}
                Ok(least) if least < number && given.value.contains(':') => {
                    let what = match number {
                        1 => "the thread is".to_owned(),
                        _ => format!("all {number} threads are"),
                    };
                    self.notices.push(format!("{}: {what} started at once", given.as_written()));
                }
                Ok(_) => {}
            }
        }
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    /// The greatest number of threads of a worker; `None` is the default for an application of which nothing is known.
    /// A configured number of threads or workers is a limit, such as that of a pool of connections.
    fn most_threads(&mut self, threads: usize, has_free_workers: bool) -> Option<usize> {
        if self.optional(Name::MaxThreads).is_some() {
            let before = self.problems.len();
            let most = self.small(Name::MaxThreads);
            if most < threads && self.problems.len() == before {
                let right = format!("must be at least {threads}, the number with which a worker begins (--threads)");
                self.refuse_value(Name::MaxThreads, &right);
            }
            return Some(most);
        }
        let is_free = has_free_workers && self.pick(Name::Threads).origin == Origin::Default;
        if is_free && !self.asked.has_single_threads() { None } else { Some(threads) }
    }

    fn ruby(&mut self, threads: usize) -> Ruby {
        let WorkerBounds { min: min_workers, max: max_workers, is_for_computing } = self.workers();
        let max_threads = self.most_threads(threads, is_for_computing);
        Ruby {
            program: PathBuf::from(self.pick(Name::Ruby).value),
            user: self.ruby_user(),
            min_workers,
            max_workers,
            computing_bounds: is_for_computing.then_some((min_workers, max_workers)),
            preload: self.preload(min_workers, max_workers),
            idle_time: self.time(Name::IdleTime),
            worker_memory: self.optional(Name::WorkerMemory).map(|_| self.number(Name::WorkerMemory)),
            worker_timeout: self.time(Name::WorkerTimeout),
            oob_gc: self.flag(Name::OobGc),
            early_hints: self.flag(Name::EarlyHints),
            is_batch: self.choice(Name::Scheduling) == "batch",
            threads,
            max_threads: max_threads.unwrap_or(MAX_RUBY_THREADS),
            spares_databases: max_threads.is_none(),
            worker: match self.choice(Name::RubyWorker).as_str() {
                "plain" => RubyWorker::Plain,
                "native" => RubyWorker::Native,
                _ => RubyWorker::Auto,
            },
            hooks: self.optional(Name::Hooks).map(PathBuf::from),
            script_folder: self.script_folder().cloned(),
            evaluated: self.asked.evaluated.clone(),
            variables: self.asked.variables.clone(),
            is_single: self.is_puma_single(),
            is_passenger: self.asked.reads_file_of(&["Passenger"]),
            boot_time: self.time_or_none(Name::BootTime),
            kill_time: self.time(Name::KillTime),
        }
    }

    fn tag(&mut self) -> Option<String> {
        let given = self.pick(Name::Tag);
        if given.value.chars().count() > TAG_LETTERS || given.value.chars().any(char::is_control) {
            self.refuse(&given, &format!("must be at most {TAG_LETTERS} letters, without line feeds and the like"));
        }
        let tag = self.optional(Name::Tag)?;
        Some(if tag == "none" { String::new() } else { tag })
    }

    fn reload(&mut self) -> Reload {
        let given = self.pick(Name::Probe);
        let probe = match given.value.as_str() {
            "auto" => Probe::Usual,
            "none" => Probe::None,
            path => Probe::Path(path.to_owned()),
        };
        if let Probe::Path(path) = &probe
            && (!path.starts_with('/') || path.parse::<http::Uri>().is_err())
        {
            self.refuse(&given, "must be a path of the application, such as /up, or auto, or none");
        }
        let (surge, batch) = (self.count_or_all(Name::ReloadSurge), self.count_or_all(Name::ReloadBatch));
        Reload { probe, surge, batch }
    }

    /// Path of the restart file, in the application's folder by the user's name for it: perhaps a symlink.
    fn restart_file(&self, rackup: Option<&Path>) -> Option<PathBuf> {
        let file = self.optional(Name::RestartFile).filter(|file| file != "none")?;
        if let Some(folder) = self.script_folder() {
            return Some(folder.join(file));
        }
        let named = rackup.unwrap_or(Path::new(""));
        let is_file = named.extension().is_some_and(|extension| extension == "ru");
        let folder = if is_file { named.parent().unwrap_or(named) } else { named };
        Some(self.asked.folder.join(folder).join(file))
    }

    fn script_folder(&self) -> Option<&PathBuf> {
        self.asked.app_folder.as_ref().filter(|_| self.app.is_none())
    }

    fn count_or_all(&mut self, name: Name) -> Option<usize> {
        if self.pick(name).value == "auto" { None } else { Some(self.small(name)) }
    }

    /// Whether the application is preloaded. A single worker shares memory with no other, so a fork gains nothing, and
    /// what a fork breaks (threads, databases in memory) works in it. A worker that comes and goes is forked, since
    /// that is quick.
    fn preload(&mut self, min_workers: usize, max_workers: usize) -> Preload {
        // Puma's single mode forks nothing, and runs no hooks of workers, whatever its file says.
        if self.pick(Name::Preload).is_of_compat_file() && max_workers == 1 && self.is_puma_single() {
            return Preload::No;
        }
        match self.switch(Name::Preload).as_str() {
            "yes" => Preload::Yes,
            "no" => Preload::No,
            "force" => Preload::Force,
            _ if max_workers > 1 || min_workers == 0 => Preload::Yes,
            _ => Preload::No,
        }
    }

    fn trusted(&mut self) -> Vec<front::Trusted> {
        let mut given: Vec<RawValue> = self.asked.values(Name::TrustProxy).into_iter().cloned().collect();
        if given.is_empty() {
            given.push(self.pick(Name::TrustProxy));
        }
        let mut trusted = Vec::new();
        for one in &given {
            match one.value.parse::<front::Trusted>() {
                Ok(front::Trusted::None) if given.len() > 1 => self.refuse(one, "must stand alone"),
                Ok(word) => trusted.push(word),
                Err(why) => self.refuse(one, &why),
            }
        }
        trusted
    }

    fn remote_address(&mut self) -> front::RemoteAddress {
        let given = self.pick(Name::RemoteAddress);
        let (word, name) = given.value.split_once(':').unwrap_or((&given.value, ""));
        let wrong = match (word, name.parse::<http::HeaderName>()) {
            ("socket", _) if name.is_empty() => return front::RemoteAddress::Socket,
            ("header", Ok(name)) => return front::RemoteAddress::Header(name),
            ("header", Err(_)) => "needs the name of a header behind header:, such as header:X-Real-IP",
            ("value", _) if !name.is_empty() && !name.contains(char::is_control) => {
                return front::RemoteAddress::Value(name.into());
            }
            ("value", _) => "needs a text behind value:, without line feeds and the like",
            _ if given.value.parse::<std::net::IpAddr>().is_ok() => {
                return front::RemoteAddress::Value(given.value.into());
            }
            _ => "must be socket, header:NAME, an IP address, or value:TEXT for any other text",
        };
        self.refuse(&given, wrong);
        front::RemoteAddress::Socket
    }

    fn parsed<T: FromStr<Err = String> + Default>(&mut self, name: Name) -> T {
        let given = self.pick(name);
        given.value.parse().unwrap_or_else(|why: String| {
            self.refuse(&given, &why);
            T::default()
        })
    }

    fn limits(&mut self) -> front::Limits {
        front::Limits {
            header_bytes: self.small(Name::HeaderBytes),
            header_count: self.small(Name::HeaderCount),
            header_time: self.time(Name::HeaderTime),
            body_bytes: self.size_or_none(Name::BodyBytes),
            body_memory_bytes: self.small(Name::BodyMemory),
            body_time: self.time(Name::BodyTime),
            keep_alive: self.time(Name::KeepAlive),
            connections: self.small(Name::Connections),
            connections_per_client: self
                .optional(Name::ConnectionsPerClient)
                .map(|_| self.small(Name::ConnectionsPerClient)),
            spare_files: open_files::BESIDE,
            write_time: self.time(Name::WriteTime),
            spool_bytes: self.number(Name::SpoolBytes),
            queue_wait: self.time_or_none(Name::QueueWait),
            request_time: self.time_or_none(Name::RequestTime),
            drain_time: self.time(Name::DrainTime),
            websocket_drain: self.time(Name::WebsocketDrain),
        }
    }
}

#[cfg(test)]
#[path = "settings_test.rs"]
mod tests;
