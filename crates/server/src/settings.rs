//! What was settled: every setting checked and final, made from what was asked and the number of cores.
//! All that cannot be used is refused at once. Reads no file and no environment; never changes after this.

use std::path::PathBuf;
use std::time::Duration;

use crate::admin::settings::AdminSettings;
use crate::app_settings::{AppSettings, Mruby, NOBODY_NAMED_IT, Reload, Ruby, RubyWorker};
use crate::asked::{Asked, Given, Origin, Problem};
use crate::choice::EngineKind;
use crate::logfilter::LogFilter;
use crate::misfits::{self, Misfits};
use crate::operating::Operating;
use crate::options::{Name, TABLE};
use crate::picker::Picker;
use crate::table::RAILS_THREADS;

/// Threads of a Ruby worker when nobody says anything, as in Puma.
const RUBY_THREADS: usize = 5;
/// More would not be seen in a list of processes.
const TAG_LETTERS: usize = 64;

/// The form of the log, and whether requests have a line in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    Text,
    Json,
    /// Text for all but requests, which have none.
    NoAccess,
}

/// Everything the program needs to know to start.
#[derive(Debug, Clone)]
pub struct Settings {
    pub binds: Vec<front::Bind>,
    pub trusted: Vec<front::Trusted>,
    /// The applications, one at least.
    pub apps: Vec<AppSettings>,
    /// Of the first application: it decides what error pages tell.
    #[allow(dead_code, reason = "each application has its own")]
    pub environment: String,
    pub io_threads: usize,
    pub limits: front::Limits,
    /// Between "not ready" and the end of accepting, when the server drains.
    pub drain_lag: Duration,
    pub log_form: LogForm,
    pub log_filter: LogFilter,
    pub operating: Operating,
    pub admin: AdminSettings,
    /// What somebody set, as it was written, for the log.
    pub chosen: Vec<String>,
    /// Things that are worth a warning at start.
    pub notices: Vec<String>,
}

/// Checks everything; the errors are all there are.
pub fn settle(mut asked: Asked, cores: usize) -> Result<Settings, Vec<Problem>> {
    let (problems, notices) = (std::mem::take(&mut asked.problems), std::mem::take(&mut asked.notices));
    let mut picker = Picker { asked: &asked, cores, problems, notices };
    let (engine, misfits) = picker.engine();
    let limits = picker.limits();
    let (interpreters, threads) = picker.threads();
    picker.preload();
    let environment = picker.environment();
    let app = AppSettings {
        name: NOBODY_NAMED_IT.to_owned(),
        rackup: asked.rackup.clone(),
        host: None,
        prefix: String::new(),
        environment: environment.clone(),
        engine,
        mruby: Mruby {
            interpreters,
            fresh: picker.flag(Name::Fresh),
            max_requests: picker.number(Name::MaxRequests),
            max_requests_jitter: picker.number(Name::MaxRequestsJitter),
            memory_bytes: picker.small(Name::MemoryLimit),
        },
        ruby: picker.ruby(threads),
        tag: picker.tag(),
        reload: picker.reload(),
        queue_places: picker.small(Name::Queue),
        slow_time: picker.time(Name::SlowTime),
        request_time: limits.request_time,
        queue_wait: limits.queue_wait,
        notices: Vec::new(),
        misfits,
    };
    let settings = Settings {
        binds: picker.binds(),
        trusted: picker.trusted(),
        apps: vec![app],
        environment,
        io_threads: picker.small(Name::IoThreads),
        limits,
        drain_lag: picker.time(Name::DrainLag),
        log_form: match picker.choice(Name::AccessLog).as_str() {
            "json" => LogForm::Json,
            "off" => LogForm::NoAccess,
            _ => LogForm::Text,
        },
        log_filter: picker.log_filter(),
        operating: picker.operating(),
        admin: picker.admin(),
        chosen: chosen(&asked),
        notices: picker.notices,
    };
    if picker.problems.is_empty() { Ok(settings) } else { Err(picker.problems) }
}

/// The values that count, as they were written.
fn chosen(asked: &Asked) -> Vec<String> {
    TABLE.iter().flat_map(|row| asked.values(row.name)).map(Given::as_written).collect()
}

impl Picker<'_> {
    /// The engine, if one was named; and what does not fit which one, unless that could be told at once.
    fn engine(&mut self) -> (Option<EngineKind>, Vec<(EngineKind, Misfits)>) {
        let engine = match self.choice(Name::Engine).as_str() {
            "mruby" => EngineKind::Mruby,
            "ruby" => EngineKind::Ruby,
            _ => {
                let of = |kind| (kind, misfits::find(self.asked, kind, false));
                return (None, vec![of(EngineKind::Mruby), of(EngineKind::Ruby)]);
            }
        };
        let misfits = misfits::find(self.asked, engine, true);
        self.problems.extend(misfits.problems);
        self.notices.extend(misfits.notices);
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

    /// For interpreters, and for the threads of a Ruby worker.
    fn threads(&mut self) -> (usize, usize) {
        let given = self.pick(Name::Threads);
        let number = self.thread_count(&given);
        match &given.origin {
            Origin::Default => (number, RUBY_THREADS),
            Origin::Variable(name) if name == RAILS_THREADS => {
                (self.default(Name::Threads).parse().unwrap_or(number), number)
            }
            _ => (number, number),
        }
    }

    /// Puma takes `MIN:MAX`; here all threads exist from the start, so only the second number means something.
    fn thread_count(&mut self, given: &Given) -> usize {
        let (least, most) = given.value.split_once(':').unwrap_or(("0", &given.value));
        let before = self.problems.len();
        let number = self.number_of(given, most);
        if self.problems.len() == before {
            match least.parse::<u64>() {
                Err(_) => self.refuse(given, "must be a whole number, or two such as 1:5"),
                Ok(least) if least > number => self.refuse(given, "of MIN:MAX, MIN must not be more than MAX"),
                Ok(least) if least < number && given.value.contains(':') => {
                    self.notices.push(format!("{}: all {number} threads are started at once", given.as_written()));
                }
                Ok(_) => {}
            }
        }
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    fn ruby(&mut self, threads: usize) -> Ruby {
        let (min_workers, max_workers) = self.workers();
        Ruby {
            program: PathBuf::from(self.pick(Name::Ruby).value),
            user: None,
            min_workers,
            max_workers,
            idle_time: self.time(Name::IdleTime),
            max_requests: self.number(Name::MaxRequests),
            max_requests_jitter: self.number(Name::MaxRequestsJitter),
            worker_memory: self.optional(Name::WorkerMemory).map(|_| self.number(Name::WorkerMemory)),
            worker_timeout: self.time(Name::WorkerTimeout),
            oob_gc: self.flag(Name::OobGc),
            threads,
            worker: match self.choice(Name::RubyWorker).as_str() {
                "plain" => RubyWorker::Plain,
                "native" => RubyWorker::Native,
                _ => RubyWorker::Auto,
            },
            hooks: self.optional(Name::Hooks).map(PathBuf::from),
            boot_time: self.time(Name::BootTime),
            kill_time: self.time(Name::KillTime),
        }
    }

    fn tag(&mut self) -> Option<String> {
        let given = self.pick(Name::Tag);
        if given.value.chars().count() > TAG_LETTERS || given.value.chars().any(char::is_control) {
            self.refuse(&given, &format!("must be at most {TAG_LETTERS} letters, without line feeds and the like"));
        }
        self.optional(Name::Tag)
    }

    fn reload(&mut self) -> Reload {
        let probe = self.pick(Name::Probe);
        if !probe.value.is_empty() && (!probe.value.starts_with('/') || probe.value.parse::<http::Uri>().is_err()) {
            self.refuse(&probe, "must be a path of the application, such as /up");
        }
        let (surge, batch) = (self.count_or_all(Name::ReloadSurge), self.count_or_all(Name::ReloadBatch));
        Reload { probe: self.optional(Name::Probe), surge, batch }
    }

    fn count_or_all(&mut self, name: Name) -> Option<usize> {
        if self.pick(name).value == "auto" { None } else { Some(self.small(name)) }
    }

    /// Puma's option, which asks for what is always done.
    fn preload(&mut self) {
        let given = self.pick(Name::Preload);
        let always = "the application is always loaded before the first request";
        match self.flag(Name::Preload) {
            _ if given.origin == Origin::Default => {}
            true => self.notices.push(format!("{}: {always}, with or without this", given.as_written())),
            false => self.refuse(&given, &format!("must be left out or yes: {always}")),
        }
    }

    fn trusted(&mut self) -> Vec<front::Trusted> {
        let mut given: Vec<Given> = self.asked.values(Name::TrustProxy).into_iter().cloned().collect();
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

    fn log_filter(&mut self) -> LogFilter {
        let given = self.pick(Name::Log);
        given.value.parse().unwrap_or_else(|why: String| {
            self.refuse(&given, &why);
            LogFilter::default()
        })
    }

    /// `--bind` and `--port` add up, as in Puma; but addresses of the command line replace those of the environment,
    /// where `FOOLS_GOLD_BIND` replaces a `PORT` that the platform may always set.
    fn binds(&mut self) -> Vec<front::Bind> {
        let flagged = |name| self.asked.values(name).iter().any(|given| matches!(given.origin, Origin::Flag(_)));
        let (bind, port) = (flagged(Name::Bind), flagged(Name::Port) || flagged(Name::Host));
        let said = |name| !self.asked.values(name).is_empty();
        let use_bind = bind || (!port && said(Name::Bind));
        let use_port = port || (!use_bind && (said(Name::Port) || said(Name::Host)));
        let mut wanted: Vec<(Given, String)> = Vec::new();
        if use_bind {
            let given = self.asked.values(Name::Bind).into_iter().cloned();
            wanted.extend(given.map(|given| (given.clone(), given.value)));
        }
        if use_port {
            wanted.extend(self.port_bind());
        }
        if !use_bind && !use_port {
            let given = self.pick(Name::Bind);
            wanted.push((given.clone(), given.value));
        }
        let mut binds: Vec<front::Bind> = Vec::new();
        for (given, uri) in wanted {
            match uri.parse::<front::Bind>() {
                Ok(bind) if binds.iter().any(|other| other.to_string() == bind.to_string()) => {}
                Ok(bind) => binds.push(bind),
                Err(error) => self.refuse(&given, &error.to_string()),
            }
        }
        binds
    }

    /// The address that `--host` and `--port` make together.
    fn port_bind(&mut self) -> Option<(Given, String)> {
        let (host, port) = (self.pick(Name::Host), self.pick(Name::Port));
        let shown = if host.value.is_empty() { port.clone() } else { host.clone() };
        let name = match host.value.as_str() {
            "" => "0.0.0.0".to_owned(),
            // An IPv6 address has brackets in a URI.
            address if address.contains(':') && !address.starts_with('[') => format!("[{address}]"),
            name => name.to_owned(),
        };
        let before = self.problems.len();
        let number = if port.value.is_empty() { 9292 } else { self.number_of(&port, &port.value) };
        (self.problems.len() == before).then(|| (shown, format!("tcp://{name}:{number}")))
    }

    fn limits(&mut self) -> front::Limits {
        front::Limits {
            header_bytes: self.small(Name::HeaderBytes),
            header_count: self.small(Name::HeaderCount),
            header_time: self.time(Name::HeaderTime),
            body_bytes: self.number(Name::BodyBytes),
            body_memory_bytes: self.small(Name::BodyMemory),
            body_time: self.time(Name::BodyTime),
            keep_alive: self.time(Name::KeepAlive),
            connections: self.small(Name::Connections),
            write_time: self.time(Name::WriteTime),
            spool_bytes: self.number(Name::SpoolBytes),
            queue_wait: self.time(Name::QueueWait),
            request_time: self.time(Name::RequestTime),
            drain_time: self.time(Name::DrainTime),
        }
    }
}

#[cfg(test)]
#[path = "settings_test.rs"]
mod tests;
