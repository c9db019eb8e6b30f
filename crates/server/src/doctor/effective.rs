//! `foolsgold config`: all resolved settings with their sources, as a table or as JSON; or just whether they can be
//! used.

use std::fmt::Write;
use std::path::Path;

use machine::Machine;
use serde_json::{Value, json};

use crate::apps::spec::{self, AppSpec, SpecError};
use crate::config::app_settings::{AppSettings, Ruby};
use crate::config::arguments::{Arguments, HIDDEN, Origin, Problem};
use crate::config::binds::ListenAddress;
use crate::config::engine_kind::EngineKind;
use crate::config::invocation::Invocation;
use crate::config::machine_defaults;
use crate::config::options::{Kind, Name, Row, TABLE};
use crate::config::rackup;
use crate::config::reader::SettingsReader;
use crate::config::settings::{Settings, read};
use crate::config::workers;
use crate::doctor::config_check;

/// A setting.
struct SettingLine {
    row: &'static Row,
    value: String,
    origin: Origin,
}

/// An application and its own settings.
struct AppLines {
    name: String,
    rackup: String,
    place: String,
    engine: String,
    lines: Vec<SettingLine>,
}

/// The output of `foolsgold config`.
pub struct Effective {
    file: Option<String>,
    server: Vec<SettingLine>,
    apps: Vec<AppLines>,
    notices: Vec<String>,
}

/// Resolves the settings and finds the applications; with `check`, also checks the files and folders that they name.
/// The error lists all problems.
pub fn find(asked: Arguments, invocation: &Invocation, check: bool) -> Result<Effective, Vec<Problem>> {
    let (mut settings, mut problems) = read(asked.clone(), invocation.machine);
    if !problems.is_empty() && !check {
        return Err(problems);
    }
    let mut apps = Vec::new();
    let mut engines = Vec::new();
    let is_only_one = settings.apps.len() == 1;
    for (at, app) in settings.apps.iter_mut().enumerate() {
        match look(app, invocation, is_only_one) {
            Ok(AppSpec { engine, why, rackup, .. }) => {
                engines.push(Some(engine));
                let (name, rackup) = (app.name.clone(), rackup.display().to_string());
                let lines = if asked.apps.is_empty() {
                    Vec::new()
                } else {
                    lines(&asked, invocation.machine, Some(at), (engine, &app.ruby))
                };
                let place = match (&app.host, app.prefix.as_str()) {
                    (None, "") => String::new(),
                    (None, prefix) => format!(", at {prefix} of every host"),
                    (Some(host), prefix) => format!(", at {host}{prefix}"),
                };
                apps.push((engine, AppLines { name, rackup, place, engine: why, lines }));
            }
            Err(whys) => {
                engines.push(app.engine);
                problems.extend(whys);
            }
        }
    }
    if problems.is_empty() {
        let engines: Vec<EngineKind> = apps.iter().map(|(engine, _)| *engine).collect();
        problems.extend(workers::fit(&settings, &engines).err());
    }
    if check {
        problems.extend(config_check::look(&settings, &engines));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // At least one application was found.
    let engine = apps.first().map_or(EngineKind::Mruby, |(engine, _)| *engine);
    let mut server = lines(&asked, invocation.machine, None, (engine, &settings.apps[0].ruby));
    put_binds(&mut server, &asked, &settings, invocation.machine);
    let notices = settings.notices.into_iter().chain(settings.apps.into_iter().flat_map(|app| app.notices)).collect();
    let file = asked.file.map(|file| file.display().to_string());
    Ok(Effective { file, server, apps: apps.into_iter().map(|(_, app)| app).collect(), notices })
}

/// Finds an application as a start would.
fn look(app: &mut AppSettings, invocation: &Invocation, is_only_one: bool) -> Result<AppSpec, Vec<Problem>> {
    let found = spec::find(app, invocation.bundle_gemfile().as_deref(), is_only_one).map_err(|missing| match missing {
        SpecError::Options(problems) => problems,
        SpecError::File(why) => vec![Problem(why)],
    });
    // Without an application, a configured file may be missing, too.
    let rackup = found.as_ref().map_or(Path::new(""), |found| &found.rackup);
    match (found.as_ref().err(), rackup::hooks(app.ruby.hooks_folder(rackup), app.ruby.hooks.as_deref())) {
        (_, Ok(_)) => found,
        (before, Err(why)) => Err(before.cloned().unwrap_or_default().into_iter().chain([Problem(why)]).collect()),
    }
}

/// Settings of the server, or of one of several applications.
fn lines(
    asked: &Arguments,
    machine: Machine,
    app: Option<usize>,
    (engine, ruby): (EngineKind, &Ruby),
) -> Vec<SettingLine> {
    let reader = SettingsReader::new(asked, app, machine);
    let several = !asked.apps.is_empty();
    let rows = TABLE.iter().filter(|row| !matches!(row.kind, Kind::Refused(_)) && row.name != Name::Config);
    let is_shown = |row: &&Row| !several || (row.per_app == app.is_some() && row.name != Name::Prefix);
    let rows = rows.filter(is_shown);
    rows.map(|row| {
        let is_bound = matches!(row.name, Name::MinWorkers | Name::MaxWorkers);
        let is_outdone = is_bound && reader.is_outdone(row.name);
        let given = match engine {
            _ if is_outdone => reader.pick(Name::Workers),
            EngineKind::Mruby => reader.pick_for_interpreters(row.name),
            EngineKind::Ruby => reader.pick(row.name),
        };
        let origin = given.origin;
        let all = reader.all(row.name);
        let is_default = origin == Origin::Default;
        let is_default_of_ruby = is_default && engine == EngineKind::Ruby;
        let is_bare_flag = matches!(origin, Origin::Flag(_)) && matches!(row.kind, Kind::Flag | Kind::Switch(_));
        let value = match row.name {
            Name::Threads if engine == EngineKind::Mruby => given.value,
            Name::Threads if is_default_of_ruby => ruby.threads.to_string(),
            Name::RequestTime if is_default_of_ruby && reader.is_development() => "none".to_owned(),
            Name::MinWorkers if is_outdone || is_default_of_ruby => ruby.min_workers.to_string(),
            Name::MaxWorkers if is_outdone || is_default_of_ruby => ruby.max_workers.to_string(),
            Name::MaxThreads if is_default_of_ruby => ruby.max_threads.to_string(),
            Name::Workers if is_default_of_ruby && ruby.min_workers != ruby.max_workers => {
                let range = format!("{} to {}", ruby.min_workers, ruby.max_workers);
                if ruby.computing_bounds.is_some() { format!("auto ({range})") } else { range }
            }
            Name::Workers if all == "auto" => format!("auto ({})", machine_defaults::workers(machine)),
            _ if is_bare_flag && all.is_empty() => "yes".to_owned(),
            name if name.is_secret() && !is_default => HIDDEN.to_owned(),
            _ => all,
        };
        SettingLine { row, value, origin }
    })
    .collect()
}

/// Sets the row of `--bind` to what `--bind`, `--host` and `--port` make together.
fn put_binds(lines: &mut [SettingLine], asked: &Arguments, settings: &Settings, machine: Machine) {
    let mut reader = SettingsReader::new(asked, None, machine);
    let binds: Vec<String> = settings.binds.iter().map(ToString::to_string).collect();
    if let (Some(line), Some(ListenAddress { given, .. })) =
        (lines.iter_mut().find(|line| line.row.name == Name::Bind), reader.addresses().into_iter().next())
    {
        (line.value, line.origin) = (binds.join(", "), given.origin);
    }
}

impl Effective {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut out = match &self.file {
            Some(file) => format!("settings file: {file}\n\n"),
            None => "settings file: none\n\n".to_owned(),
        };
        let lines = || self.server.iter().chain(self.apps.iter().flat_map(|app| &app.lines));
        let width = |of: fn(&SettingLine) -> usize| lines().map(of).max().unwrap_or(0);
        let (names, values) = (width(|line| line.row.long.len()), width(|line| line.value.len()).min(40));
        let rows = |out: &mut String, lines: &[SettingLine]| {
            for SettingLine { row, value, origin } in lines {
                let value = if value.is_empty() { "-" } else { value };
                let _ = writeln!(out, "  {:names$}  {value:values$}  {}", row.long, short(origin));
            }
        };
        rows(&mut out, &self.server);
        for app in &self.apps {
            let _ = writeln!(out, "\n{}: {}{}\n  {}", app.name, app.rackup, app.place, app.engine);
            rows(&mut out, &app.lines);
        }
        for notice in &self.notices {
            let _ = writeln!(out, "\nnote: {notice}");
        }
        out
    }

    /// JSON for programs.
    pub fn json(&self) -> String {
        let lines = |lines: &[SettingLine]| lines.iter().map(as_json).collect::<Vec<Value>>();
        let apps = self.apps.iter().map(|app| {
            let place = app.place.trim_start_matches(", at ");
            json!({ "name": app.name, "path": app.rackup, "at": place, "engine": app.engine,
                    "settings": lines(&app.lines) })
        });
        let all = json!({ "file": self.file, "settings": lines(&self.server), "apps": apps.collect::<Vec<Value>>(),
                          "notices": self.notices });
        format!("{all:#}\n")
    }

    /// A sentence that the settings can be used.
    pub fn summary(&self) -> String {
        let apps: Vec<&str> = self.apps.iter().map(|app| app.name.as_str()).collect();
        let notes: String = self.notices.iter().map(|notice| format!("note: {notice}\n")).collect();
        let file = self.file.as_deref().unwrap_or("no settings file");
        format!("{notes}the settings can be used: {file}, application {}\n", apps.join(", "))
    }
}

/// A setting as JSON, with the parts of its source.
fn as_json(line: &SettingLine) -> Value {
    let (kind, file, at) = match &line.origin {
        Origin::Flag(_) => ("flag", None, None),
        Origin::Variable(_) => ("variable", None, None),
        Origin::File(place) => ("file", Some(place.file.as_str()), place.line),
        Origin::Default => ("default", None, None),
    };
    json!({ "name": line.row.long, "value": line.value,
            "from": { "kind": kind, "words": short(&line.origin), "file": file, "line": at } })
}

fn short(origin: &Origin) -> String {
    match origin {
        Origin::Flag(flag) => flag.clone(),
        Origin::Variable(name) => format!("${name}"),
        Origin::File(place) if place.line.is_none() => format!("{place}: {}", place.written),
        Origin::File(place) => place.to_string(),
        Origin::Default => "default".to_owned(),
    }
}
