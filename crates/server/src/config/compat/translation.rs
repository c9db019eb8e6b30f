//! The translation of another server's configuration: our settings, and remarks on everything that differs.

use std::path::{Path, PathBuf};

use engine_ruby::Evaluated;
use serde_json::Value;

use super::ServerKind;
use super::leftover::LeftoverProcess;
use super::record::Directive;
use crate::config::arguments::SourcePosition;
use crate::config::options::DAY_MS;
use crate::config::options::{Kind as Takes, Row};
use crate::config::size::{parse_time, show_time};
use crate::config::suggest::nearest;

/// How a directive of another server is translated.
#[derive(Clone, Copy)]
pub enum Rule {
    /// To our option of this name, with the same value.
    Same(&'static str),
    /// To our option of this name, from a number of seconds.
    Seconds(&'static str),
    /// To our option of this name, from a number of seconds; 0 is no limit.
    SecondsOrNone(&'static str),
    /// To our option of this name: the first value if the directive is on, the second one if it is off.
    Switch(&'static str, &'static str, &'static str),
    /// A hook, which runs here, too; with a remark if it differs.
    Hook(&'static str),
    /// To nothing: what it asks for is so anyway, or not needed here; with the reason.
    Needless(&'static str),
    /// To nothing, since there is no counterpart; with a remark on what happens instead.
    Missing(&'static str),
    /// For what is always off here: as [`Rule::Missing`] where the file turns it on, and to nothing where that turns it
    /// off.
    Off(&'static str),
    /// To nothing; with a remark on the difference, which the log has in full.
    Differs(&'static str),
    /// To an error, since going on without it would be wrong; with the reason.
    Refused(&'static str),
    /// With others, once all are known: in the `finish` of its server.
    Later,
    /// By a function.
    Custom(fn(&mut Translation, &Directive)),
}

/// A directive's name, and how it is translated.
pub type DirectiveRule = (&'static str, Rule);

/// What a remark says about its directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemarkKind {
    /// The server does not start with it.
    Refused,
    /// It has no counterpart here.
    Missing,
    /// It does not mean quite the same here.
    Differs,
    /// It is a hook, which runs here, too.
    Hook,
    /// It has no effect, and none is needed.
    Needless,
}

/// A remark on a directive.
#[derive(Debug, Clone)]
pub struct Remark {
    pub place: SourcePosition,
    pub kind: RemarkKind,
    pub why: String,
}

impl Remark {
    /// Short name of its subject: the directive, with the name of a plugin, or the key.
    pub fn name(&self) -> String {
        let mut words = self.place.written.split(' ');
        let name = words.next().unwrap_or_default().trim_matches(['"', ':']);
        match words.next() {
            Some(plugin) if name == "plugin" => format!("{name} {plugin}"),
            _ => name.to_owned(),
        }
    }
}

/// A setting of this server, translated from a directive.
#[derive(Debug, Clone)]
pub struct Setting {
    pub row: &'static Row,
    pub value: String,
    pub place: SourcePosition,
}

/// What counts beside the file, and changes what the file means.
#[derive(Debug, Default)]
pub struct Beside {
    /// The host of Puma's `port` directives until `set_default_host` names another.
    pub host: Option<String>,
    /// A number of workers that counts more than the file's.
    pub workers: Option<String>,
    /// A number of workers that counts if the file has none.
    pub usual_workers: Option<String>,
}

/// A translated configuration.
#[derive(Debug)]
pub struct Translation {
    pub kind: ServerKind,
    /// Path of the file, as messages show it.
    pub shown: String,
    pub settings: Vec<Setting>,
    pub remarks: Vec<Remark>,
    /// The application's file or folder, if it is configured.
    pub rackup: Option<PathBuf>,
    /// Start of relative paths, if it is configured; itself relative to `home`.
    folder: Option<PathBuf>,
    home: PathBuf,
    beside: Beside,
    calls: Vec<Directive>,
    /// The host for Puma's `port` directives that follow: that of the last `set_default_host`, if there is one.
    pub default_host: Option<String>,
    /// The configured host and port: a flag that sets only one of them leaves the other as it is here.
    pub host: Option<String>,
    pub port: Option<u16>,
    /// Variables that the file sets for the application.
    pub variables: Vec<(String, String)>,
    /// The process that has evaluated the file, if it is to go on.
    pub evaluated: Option<Evaluated>,
    /// Processes that it has started and that still run, if only the settings are wanted.
    pub left: Vec<LeftoverProcess>,
}

impl Translation {
    /// Why the server does not start with the file, each with its position.
    pub fn refused(&self) -> impl Iterator<Item = String> {
        let refused = self.remarks.iter().filter(|remark| remark.kind == RemarkKind::Refused);
        refused.map(|remark| format!("{}: {}: {}", remark.place, remark.place.written, remark.why))
    }

    /// Translates these calls.
    pub fn of(kind: ServerKind, shown: String, home: &Path, calls: Vec<Directive>) -> Translation {
        Translation::with(Beside::default(), kind, shown, home, calls)
    }

    /// Translates these calls of a file beside which something else counts, too.
    pub fn with(beside: Beside, kind: ServerKind, shown: String, home: &Path, calls: Vec<Directive>) -> Translation {
        let mut translation = Translation {
            kind,
            shown,
            settings: Vec::new(),
            remarks: Vec::new(),
            rackup: None,
            folder: None,
            home: home.to_owned(),
            default_host: beside.host.clone(),
            beside,
            calls,
            host: None,
            port: None,
            variables: Vec::new(),
            evaluated: None,
            left: Vec::new(),
        };
        let calls = translation.calls.clone();
        // First, since paths are relative to it.
        let folders = ["directory", "worker_directory", "working_directory", "chdir", "app_root"];
        let folder = calls.iter().rev().find(|call| folders.contains(&call.name.as_str()));
        translation.folder = folder.and_then(|call| text(call.args.first())).map(PathBuf::from);
        if kind == ServerKind::Passenger && translation.folder.is_none() {
            // In Passenger, paths and the search for the application start at the file's folder.
            let beside = Path::new(&translation.shown).parent().filter(|folder| !folder.as_os_str().is_empty());
            translation.folder = beside.map(Path::to_owned);
        }
        for call in &calls {
            translation.apply_rule(call);
        }
        kind.finish(&mut translation);
        if translation.rackup.is_none() {
            translation.rackup.clone_from(&translation.folder);
        }
        translation
    }

    /// Translates a call by the rule for its directive.
    fn apply_rule(&mut self, call: &Directive) {
        let found = self.kind.rules().iter().find(|(name, _)| *name == call.name);
        let Some((_, rule)) = found else { return self.unknown(call) };
        match *rule {
            Rule::Same(key) => self.copy(call, key),
            Rule::Seconds(key) => self.seconds(call, key),
            Rule::SecondsOrNone(key) => self.seconds_or_no_limit(call, key),
            Rule::Switch(key, on, off) => self.set(call, key, if is_no(call) { off } else { on }.to_owned()),
            Rule::Hook("") => self.remark(call, RemarkKind::Hook, "runs as it stands"),
            Rule::Hook(how) => self.remark(call, RemarkKind::Hook, how),
            Rule::Needless(why) => self.remark(call, RemarkKind::Needless, why),
            Rule::Refused(_) | Rule::Off(_) if call.args == [Value::Bool(false)] => {
                self.remark(call, RemarkKind::Needless, "is off, as always here");
            }
            Rule::Missing(why) | Rule::Off(why) => self.remark(call, RemarkKind::Missing, why),
            Rule::Differs(how) => self.remark(call, RemarkKind::Differs, how),
            Rule::Refused(why) => self.remark(call, RemarkKind::Refused, why),
            Rule::Later => {}
            Rule::Custom(translate) => translate(self, call),
        }
    }

    /// Adds a remark on a directive that the server does not have.
    pub fn unknown(&mut self, call: &Directive) {
        let names = self.kind.rules().iter().map(|(name, _)| *name);
        let near = nearest(&call.name, names);
        let hint = near.map(|near| format!("; {near} is the nearest")).unwrap_or_default();
        let name = self.kind.name();
        match self.kind {
            ServerKind::Puma if may_be_of_plugin(&self.calls, &call.name, near.is_some()) => {
                self.remark(call, RemarkKind::Missing, "a directive of a plugin; plugins of Puma are not loaded");
            }
            // These servers go on, Passenger with a warning.
            ServerKind::Passenger | ServerKind::Thin => {
                self.remark(call, RemarkKind::Missing, &format!("{name} has no such setting either{hint}"))
            }
            _ => self.remark(call, RemarkKind::Refused, &format!("{name} has no such directive{hint}")),
        }
    }

    /// Position of a call.
    pub fn place(&self, call: &Directive) -> SourcePosition {
        let shown = Path::new(&self.shown);
        let own = |file: &String| shown.ends_with(file) || Path::new(file).ends_with(shown);
        let file = call.file.clone().filter(|file| !own(file)).unwrap_or_else(|| self.shown.clone());
        SourcePosition { file, line: call.line, written: call.written.clone(), is_compat: true, is_assumed: false }
    }

    /// A position in the file that has no line.
    fn position_without_line(&self, written: String) -> SourcePosition {
        SourcePosition { file: self.shown.clone(), line: None, written, is_compat: true, is_assumed: false }
    }

    /// Adds a remark on a directive.
    pub fn remark(&mut self, call: &Directive, kind: RemarkKind, why: &str) {
        let place = self.place(call);
        self.remarks.push(Remark { place, kind, why: why.to_owned() });
    }

    /// Sets an option to the first argument.
    pub fn copy(&mut self, call: &Directive, key: &str) {
        let takes = Row::called(key).map(|row| row.kind);
        // As in `@options[:pidfile] = false`, whatever was said before.
        if let (Some(Takes::Path | Takes::Text), Some(Value::Bool(false))) = (takes, call.args.first()) {
            self.unset(key);
            return self.remark(call, RemarkKind::Needless, "means none, as if it were not there");
        }
        let value = match (takes, call.args.first()) {
            (Some(Takes::Flag), None | Some(Value::Bool(true))) => Some("yes".to_owned()),
            (Some(Takes::Flag), Some(Value::Bool(false) | Value::Null)) => Some("no".to_owned()),
            (_, argument) => text(argument),
        };
        match value {
            Some(value) => self.set(call, key, value),
            // As of a variable that is not set.
            None => self.remark(call, RemarkKind::Needless, "says nothing, and changes nothing"),
        }
    }

    /// Sets an option to a number of seconds. More than our longest time counts as no limit.
    pub fn seconds(&mut self, call: &Directive, key: &str) {
        match seconds(call.args.first()) {
            Some(time) if parse_time(&time) > Some(DAY_MS) => self.set(call, key, no_limit(key).to_owned()),
            Some(time) => self.set(call, key, time),
            None => self.copy(call, key),
        }
    }

    /// Sets an option to a number of seconds, of which the other server takes 0 for no limit.
    pub fn seconds_or_no_limit(&mut self, call: &Directive, key: &str) {
        match seconds(call.args.first()) {
            Some(time) if parse_time(&time) == Some(0) => self.set(call, key, no_limit(key).to_owned()),
            _ => self.seconds(call, key),
        }
    }

    /// Sets an option. Values of `bind` add up; of everything else the last counts.
    pub fn set(&mut self, call: &Directive, key: &str, value: String) {
        let place = self.place(call);
        let is_path = Row::called(key).is_some_and(|row| row.kind == Takes::Path);
        let value = match key {
            "dir" => self.home.join(&value).display().to_string(),
            _ if is_path => self.path_of(call, &value),
            _ => value,
        };
        self.put(place, key, value);
    }

    /// Sets an option to a default of the other server, unless it is set. It counts less than any variable if the other
    /// server would read the environment, too. Paths are taken as they are.
    pub fn assume(&mut self, key: &str, value: &str, asks_environment: bool) {
        if Row::called(key).is_none() || self.settings.iter().any(|setting| setting.row.long == key) {
            return;
        }
        let written = format!("{key} {value}, which is what {} does", self.kind.name());
        let is_assumed = self.kind.is_code();
        let place = SourcePosition { is_compat: !asks_environment, is_assumed, ..self.position_without_line(written) };
        self.put(place, key, value.to_owned());
    }

    /// Sets limits that the other server does not have to none.
    pub fn assume_none(&mut self, keys: &[&str]) {
        keys.iter().for_each(|key| self.assume(key, "none", false));
    }

    /// Sets an option to a value that was inferred from the file's code, instead of the other server's default.
    pub fn set_inferred(&mut self, key: &str, value: &str, written: &str) {
        self.put(self.position_without_line(written.to_owned()), key, value.to_owned());
    }

    /// Adds a default of an option whose values add up.
    pub fn assume_more(&mut self, key: &str, value: &str) {
        let written = format!("{key} {value}, which is what {} does", self.kind.name());
        self.put(self.position_without_line(written), key, value.to_owned());
    }

    fn put(&mut self, place: SourcePosition, key: &str, value: String) {
        let row = Row::called(key).filter(|row| !matches!(row.kind, Takes::Refused(_)));
        let Some(row) = row else {
            let why = format!("{key} is not in this version");
            self.remarks.push(Remark { place, kind: RemarkKind::Missing, why });
            return;
        };
        if key != "bind" {
            self.unset(key);
        }
        if !self.settings.iter().any(|setting| setting.row.long == key && setting.value == value) {
            self.settings.push(Setting { row, value, place });
        }
    }

    /// Takes back all that was set for an option.
    pub fn unset(&mut self, key: &str) {
        self.settings.retain(|setting| setting.row.long != key);
    }

    /// A path relative to the configured folder.
    pub fn in_folder(&self, path: &str) -> String {
        let joined = self.home.join(self.folder.as_deref().unwrap_or(Path::new(""))).join(path);
        joined.to_str().map_or_else(|| path.to_owned(), str::to_owned)
    }

    /// A path that a call names: relative to the configured folder, or, in a variable of Passenger, to where the server
    /// was started.
    pub fn path_of(&self, call: &Directive, path: &str) -> String {
        if self.kind == ServerKind::Passenger && call.line.is_none() {
            return self.home.join(path).display().to_string();
        }
        self.in_folder(path)
    }

    /// Path of the file itself.
    pub fn own_path(&self) -> String {
        self.home.join(&self.shown).display().to_string()
    }

    /// The value of an option so far.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|setting| setting.row.long == key).map(|setting| setting.value.as_str())
    }

    /// The number of workers that counts, of the file or beside it.
    pub fn workers(&self) -> Option<&str> {
        let Beside { workers, usual_workers, .. } = &self.beside;
        workers.as_deref().or_else(|| self.value("workers")).or(usual_workers.as_deref())
    }

    /// The last call of this name.
    pub fn call(&self, name: &str) -> Option<&Directive> {
        self.calls.iter().rev().find(|call| call.name == name)
    }

    /// The first argument of the last call of this name, as text.
    pub fn word(&self, name: &str) -> Option<String> {
        self.call(name).and_then(|call| text(call.args.first()))
    }

    /// Whether a directive is there with a true value.
    pub fn says_yes(&self, name: &str) -> bool {
        self.call(name).is_some_and(|call| !is_no(call))
    }
}

/// Whether the first argument of a call is `false` or `nil`.
pub fn is_no(call: &Directive) -> bool {
    matches!(call.args.first(), Some(Value::Bool(false) | Value::Null))
}

/// The value with which an option for a time sets no limit, or the longest time where there must be a limit.
fn no_limit(key: &str) -> &'static str {
    match (key, Row::called(key).map(|row| row.kind)) {
        ("worker-timeout", _) => "0s",
        (_, Some(Takes::TimeOrNone(..))) => "none",
        _ => "24h",
    }
}

/// A difference from all other servers.
pub const HEADERS_OF_PROXIES: &str = "of headers with an underscore in their names, those that could pass for a \
                                      proxy's are left out; and headers that only a proxy may say, from all but \
                                      --trust-proxy (docs/deploying.md)";

/// A text, a number or a boolean as text.
pub fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        _ => None,
    }
}

/// A number of seconds, perhaps with a fraction, in the syntax of our options.
pub fn seconds(value: Option<&Value>) -> Option<String> {
    let seconds: f64 = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    let ms = (seconds * 1000.0).round();
    // A day, the longest time of any option, is far below the integers that a float has exactly.
    (0.0..=1e12).contains(&ms).then(|| show_time(ms as u64))
}

/// Plugins whose directives are known, most of which have none.
const PLUGINS: [(&str, &[&str]); 3] = [("tmp_restart", &[]), ("systemd", &[]), ("solid_queue", &["solid_queue_mode"])];

/// Whether a directive that Puma does not have may belong to a plugin, whose directives are unknown.
fn may_be_of_plugin(calls: &[Directive], name: &str, has_near: bool) -> bool {
    calls.iter().filter(|call| call.name == "plugin").filter_map(|call| text(call.args.first())).any(|plugin| {
        match PLUGINS.iter().find(|(known, _)| *known == plugin) {
            Some((_, directives)) => directives.contains(&name),
            None => !has_near,
        }
    })
}
