//! What was settled: every setting checked and final, made from what was asked and the number of cores.
//! All that cannot be used is refused at once. Reads no file and no environment; never changes after this.

use std::time::Duration;

use crate::asked::{Asked, Given, Origin, Problem};
use crate::logfilter::LogFilter;
use crate::options::{Default, Kind, Name, TABLE};
use crate::size::{SIZE_FORM, TIME_FORM, parse_size, parse_time, show_size, show_time};

/// The form of the log, and whether requests have a line in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    Text,
    Json,
    /// Text for all but requests, which have none.
    NoAccess,
}

/// Everything the program needs to know to start.
#[derive(Debug)]
pub struct Settings {
    pub binds: Vec<front::Bind>,
    pub environment: String,
    pub threads: usize,
    pub fresh: bool,
    /// Zero means never.
    pub max_requests: u64,
    pub memory_bytes: usize,
    pub queue_places: usize,
    pub io_threads: usize,
    pub limits: front::Limits,
    pub log_form: LogForm,
    pub log_filter: LogFilter,
    /// What somebody set, as it was written, for the log.
    pub chosen: Vec<String>,
    /// Things that are worth a warning at start.
    pub notices: Vec<String>,
}

/// Checks everything; the errors are all there are.
pub fn settle(mut asked: Asked, cores: usize) -> Result<Settings, Vec<Problem>> {
    let (problems, notices) = (std::mem::take(&mut asked.problems), std::mem::take(&mut asked.notices));
    let mut picker = Picker { asked: &asked, cores, problems, notices };
    picker.choice(Name::Engine, ENGINE_HINT);
    let limits = picker.limits();
    let settings = Settings {
        binds: picker.binds(),
        environment: picker.environment(),
        threads: picker.threads(),
        fresh: picker.flag(Name::Fresh),
        max_requests: picker.number(Name::MaxRequests),
        memory_bytes: picker.small(Name::MemoryLimit),
        queue_places: picker.small(Name::Queue),
        io_threads: picker.small(Name::IoThreads),
        limits,
        log_form: match picker.choice(Name::AccessLog, "").as_str() {
            "json" => LogForm::Json,
            "off" => LogForm::NoAccess,
            _ => LogForm::Text,
        },
        log_filter: picker.log_filter(),
        chosen: chosen(&asked),
        notices: picker.notices,
    };
    if picker.problems.is_empty() { Ok(settings) } else { Err(picker.problems) }
}

const ENGINE_HINT: &str = "; the engine for CRuby (--engine ruby) is not in this version";

/// The values that count, as they were written.
fn chosen(asked: &Asked) -> Vec<String> {
    TABLE.iter().flat_map(|row| asked.values(row.name)).map(Given::as_written).collect()
}

/// Takes settings out of what was asked and collects what is wrong with them. What it gives for a wrong one is of no
/// account, since [`settle`] then gives no settings at all.
struct Picker<'a> {
    asked: &'a Asked,
    cores: usize,
    problems: Vec<Problem>,
    notices: Vec<String>,
}

impl Picker<'_> {
    /// The value that counts: the last of the command line's, the environment's, or the default.
    fn pick(&self, name: Name) -> Given {
        if let Some(given) = self.asked.values(name).last() {
            return (*given).clone();
        }
        let value = match name.row().default {
            Default::Text(text) => text.to_owned(),
            Default::Cores(_, of) => of(self.cores).to_string(),
            Default::None => String::new(),
        };
        Given { name, value, origin: Origin::Default }
    }

    fn refuse(&mut self, given: &Given, right: &str) {
        self.problems.push(Problem(format!("{}: {right}", given.as_written())));
    }

    /// A count, bytes or milliseconds, within the bounds of its row.
    fn number(&mut self, name: Name) -> u64 {
        let given = self.pick(name);
        self.number_of(&given, &given.value.clone())
    }

    fn number_of(&mut self, given: &Given, text: &str) -> u64 {
        let (parsed, form, least, most, show): (_, _, _, _, fn(u64) -> String) = match given.name.row().kind {
            Kind::Size(least, most) => (parse_size(text), SIZE_FORM, least, most, show_size),
            Kind::Time(least, most) => (parse_time(text), TIME_FORM, least, most, show_time),
            Kind::Count(least, most) => (text.parse().ok(), "a whole number", least, most, |number| number.to_string()),
            _ => (None, "a number", 0, 0, |number| number.to_string()),
        };
        match parsed {
            Some(number) if (least..=most).contains(&number) => return number,
            Some(_) if most == u64::MAX => self.refuse(given, &format!("must be at least {}", show(least))),
            Some(_) => self.refuse(given, &format!("must be from {} to {}", show(least), show(most))),
            None => self.refuse(given, &format!("must be {form}")),
        }
        0
    }

    /// A number that fits the machine's own size, which is 64 bits wide wherever this runs.
    fn small(&mut self, name: Name) -> usize {
        usize::try_from(self.number(name)).unwrap_or(usize::MAX)
    }

    fn time(&mut self, name: Name) -> Duration {
        Duration::from_millis(self.number(name))
    }

    fn flag(&mut self, name: Name) -> bool {
        let given = self.pick(name);
        match given.value.to_lowercase().as_str() {
            "yes" | "true" | "on" | "1" => true,
            "no" | "false" | "off" | "0" => false,
            // On the command line the flag alone says yes.
            "" => matches!(given.origin, Origin::Flag(_)),
            _ => {
                self.refuse(&given, "must be yes or no");
                false
            }
        }
    }

    fn choice(&mut self, name: Name, hint: &str) -> String {
        let given = self.pick(name);
        if let Kind::Choice(words) = name.row().kind
            && !words.contains(&given.value.as_str())
        {
            self.refuse(&given, &format!("must be {}{hint}", words.join(", ")));
        }
        given.value
    }

    fn environment(&mut self) -> String {
        let given = self.pick(Name::Environment);
        let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        if given.value.is_empty() || !given.value.chars().all(plain) {
            self.refuse(&given, "must be one word, such as development or production");
        }
        given.value
    }

    /// Puma takes `MIN:MAX`; here all threads exist from the start, so only the second number means something.
    fn threads(&mut self) -> usize {
        let given = self.pick(Name::Threads);
        let most = match given.value.split_once(':') {
            Some((least, most)) => {
                self.number_of(&given, least);
                self.notices.push(format!("{}: all {most} threads are started at once", given.as_written()));
                most
            }
            None => &given.value,
        };
        usize::try_from(self.number_of(&given, most)).unwrap_or(usize::MAX)
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
