//! The settings file: finds it, and adds its values to the parsed arguments. `toml_file.rs` reads foolsgold.toml,
//! `compat/` the files of other servers.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::config::app_settings::DEVELOPMENT;
use crate::config::arguments::{Arguments, Origin, RawValue};
use crate::config::compat;
use crate::config::file_text::text_of;
use crate::config::options::Name;
use crate::config::rackup;
use crate::config::toml_file;
use crate::process::folder::is_same;

/// Name of the file that is read by default.
pub const USUAL: &str = "foolsgold.toml";

/// Files that Puma and Passenger read by default: of Passenger's, the first that is there. This server does so, too, if
/// no other server's file is there.
const PUMA: &str = "config/puma.rb";
const PASSENGER: [&str; 2] = ["Passengerfile.json", "passenger-standalone.json"];

/// Files that other servers read only when they are named. If one is there, it is mentioned at the start.
const OF_OTHERS: [&str; 8] = [
    "config/unicorn.rb",
    "config/unicorn.conf.rb",
    "config/rainbows.rb",
    "config/rainbows.conf.rb",
    "config/pitchfork.rb",
    "config/pitchfork.conf.rb",
    "config/thin.yml",
    "thin.yml",
];

/// Adds the settings file, if there is one: the one of `--config`, or the default beside the application, or the one
/// that Puma or Passenger would read in `home`. Relative paths start at `home`.
pub fn add(asked: &mut Arguments, home: &Path) {
    let named = asked.values(Name::Config).last().map(|given| (*given).clone());
    if let Some(given) = &named
        && let Some(other) = asked.values(Name::Config).iter().find(|other| other.value != given.value)
    {
        // Puma reads all of several files, so none may be ignored silently.
        let how = if [&other.value, &given.value].iter().any(|value| *value == "-") {
            "- reads none: leave one of the two out".to_owned()
        } else {
            format!("one in Ruby takes in another by `instance_eval File.read(\"{}\")`", other.value)
        };
        return asked.refuse(format!(
            "{} and {}: one settings file is read; {how}",
            other.as_written(),
            given.as_written()
        ));
    }
    let path = match &named {
        Some(given) if given.value == "-" => return note_unread(asked, home),
        Some(given) => PathBuf::from(&given.value),
        None => only_folder(asked, home).join(USUAL),
    };
    match text_of(&home.join(&path)) {
        Ok(text) => read(asked, &path, home, &text),
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound && home.join(&path).is_symlink() => {
            let none = said(asked, "-C", Name::Config, "-");
            asked.refuse(format!(
                "{}: is a link to a file that is not there; - in its place ({none}) reads none",
                path.display()
            ));
        }
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => add_unnamed(asked, home),
        Err(error) => asked.refuse(unreadable(named.as_ref(), &path, &error)),
    }
    note_unread(asked, home);
    note_own_hooks(asked, home);
}

/// Whether the settings file is another server's, and Ruby code.
pub fn is_code(asked: &Arguments) -> bool {
    of_other_server(asked).is_some_and(|(kind, _)| kind.is_code())
}

/// Whether the settings file is read by Ruby: that may run code in it, and the file cannot name this Ruby.
pub fn is_read_by_ruby(asked: &Arguments) -> bool {
    of_other_server(asked).is_some_and(|(kind, _)| kind != compat::ServerKind::Passenger)
}

/// The text of the settings file, if that is Thin's and has ERB in it, which is code.
pub fn with_erb(asked: &Arguments) -> Option<String> {
    let (kind, text) = of_other_server(asked)?;
    (kind == compat::ServerKind::Thin && text.contains("<%")).then_some(text)
}

/// The server whose settings file is read, if it is another one, and the text of that file.
fn of_other_server(asked: &Arguments) -> Option<(compat::ServerKind, String)> {
    let home = asked.values(Name::Dir).last().map(|given| PathBuf::from(&given.value)).unwrap_or_default();
    let named = asked.values(Name::Config).last().map(|named| PathBuf::from(&named.value));
    let path = named.or_else(|| unnamed(asked, &home));
    let path = home.join(path?);
    let text = text_of(&path).ok()?;
    let kind = compat::ServerKind::of(&path, &text).ok()??;
    Some((kind, text))
}

fn read(asked: &mut Arguments, path: &Path, home: &Path, text: &str) {
    asked.file = Some(path.to_owned());
    match compat::ServerKind::of(path, text) {
        Ok(None) => toml_file::read(asked, path, home, text),
        Ok(Some(kind)) => compat::add(asked, kind, path, home, text),
        Err(why) => asked.refuse(why),
    }
}

fn unreadable(named: Option<&RawValue>, path: &Path, error: &std::io::Error) -> String {
    let what = match named {
        Some(RawValue { origin: Origin::Default, .. }) | None => path.display().to_string(),
        Some(given) => given.as_written(),
    };
    match error.kind() {
        ErrorKind::NotFound => format!("{what}: there is no such file; - in its place reads none"),
        ErrorKind::IsADirectory => format!("{what}: is a folder; name the file in it"),
        ErrorKind::InvalidData => format!("{what}: is not a text in UTF-8"),
        ErrorKind::FileTooLarge => format!("{what}: is too large for a settings file, which has at most 1 MiB"),
        _ => format!("{what}: cannot be read: {error}"),
    }
}

/// The folder of the only application, beside which settings files are.
fn only_folder(asked: &Arguments, home: &Path) -> PathBuf {
    asked.app_folder.clone().unwrap_or_else(|| folder(asked.rackup.as_deref(), home))
}

/// An application's folder: the named one, or that of the named file, or the current one.
fn folder(rackup: Option<&Path>, home: &Path) -> PathBuf {
    match rackup {
        None => PathBuf::new(),
        Some(path) if home.join(path).is_dir() => path.to_owned(),
        Some(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
    }
}

/// Reads a file of Puma or Passenger if it is the only one here.
fn add_unnamed(asked: &mut Arguments, home: &Path) {
    let Some(path) = unnamed(asked, home) else { return };
    match text_of(&home.join(&path)) {
        Ok(text) => read(asked, &path, home, &text),
        Err(error) => asked.refuse(unreadable(None, &path, &error)),
    }
}

/// Notes other servers' files beside the applications that are not read: each speaks for Ruby. There is a notice about
/// them, unless the user has chosen what is read: by a foolsgold.toml or by `--config`.
fn note_unread(asked: &mut Arguments, home: &Path) {
    if asked.compat.is_some() {
        return;
    }
    if asked.apps.is_empty() {
        let unread = unread(asked, &folder_of_others(asked, home), None, home);
        if let Some(first) = unread.first()
            && asked.file.is_none()
            && asked.values(Name::Config).is_empty()
        {
            let is = if unread.len() == 1 { "is there and is not read" } else { "are there, and none is read" };
            let how = said(asked, "-C", Name::Config, first);
            asked.notices.push(format!(
                "{} {is}: `{how}` reads it, `foolsgold explain {first}` shows what comes of it",
                unread.join(" and ")
            ));
        }
        asked.unread = unread.into_iter().next();
        note_variables(asked);
    }
    for at in 0..asked.apps.len() {
        let folder = folder(Some(&asked.apps[at].path), home);
        asked.apps[at].unread = unread(asked, &folder, Some(at), home).into_iter().next();
    }
}

/// Notes this program's own file of hooks where another server's file has some: those run in its place.
fn note_own_hooks(asked: &mut Arguments, home: &Path) {
    let own = only_folder(asked, home).join("config").join("foolsgold.rb");
    let has_theirs = asked.values(Name::Hooks).last().is_some_and(|given| given.is_assumed());
    let Some((theirs, _)) = asked.compat.as_ref().filter(|_| has_theirs && home.join(&own).is_file()) else { return };
    let own = own.strip_prefix(home).unwrap_or(&own).display().to_string();
    let how = said(asked, "--hooks", Name::Hooks, &own);
    let notice = format!(
        "{own} is there and is not read, since {theirs} has hooks: register its own in the application's code, as in \
         FoolsGold.after_fork {{ ... }}, or say {how}, with which those of {theirs} do not run"
    );
    asked.notices.push(notice);
}

/// How a user sets this option: by the flag; for a script by a variable, since the gem starts its server and passes no
/// flags on.
fn said(asked: &Arguments, flag: &str, name: Name, value: &str) -> String {
    let variable = name.row().variables().into_iter().next().filter(|_| asked.app_folder.is_some());
    variable.map_or_else(|| format!("{flag} {value}"), |variable| format!("{variable}={value}"))
}

/// Notes variables of Passenger that do not count, unless the user has chosen what is read: Passenger reads them
/// without a file, too, and its containers are configured by them.
fn note_variables(asked: &mut Arguments) {
    let names = compat::variables_of_passenger(asked);
    if !names.is_empty() && asked.file.is_none() && asked.values(Name::Config).is_empty() {
        let does = if names.len() == 1 { "is set and does not count" } else { "are set and do not count" };
        let names = names.join(", ");
        asked.notices.push(format!(
            "{names} {does}: variables of Passenger are read beside a Passengerfile.json, which may be {{}}"
        ));
    }
}

/// These files in an application's folder, as messages show them. One whose hooks run is read.
fn unread(asked: &Arguments, folder: &Path, app: Option<usize>, home: &Path) -> Vec<String> {
    let hooks: Vec<PathBuf> = asked.values_for(app, Name::Hooks).iter().map(|given| home.join(&given.value)).collect();
    let mut unread = present(asked, folder, home);
    unread.retain(|path| !hooks.iter().any(|hooks| is_same(hooks, &home.join(path))));
    unread.iter().map(|path| path.strip_prefix(home).unwrap_or(path).display().to_string()).collect()
}

/// Another server's file that is read without `-C`, if there is one: in the working directory, where Puma looks for its
/// file, without `--engine mruby`, and if there is no foolsgold.toml and no second such file: Rails writes a
/// config/puma.rb whatever server is used.
fn unnamed(asked: &Arguments, home: &Path) -> Option<PathBuf> {
    let folder = folder_of_others(asked, home);
    // Each may be empty, which is no path.
    let is_here = is_same(&home.join(&folder).join("."), &home.join("."));
    let is_embedded = asked.values(Name::Engine).last().is_some_and(|given| given.value == "mruby");
    let mut found = present(asked, &folder, home);
    let others = of_others(environment(asked));
    let is_read = |path: &PathBuf| !others.iter().any(|name| path.ends_with(name));
    let is_only_one = found.len() == 1 && found.iter().all(is_read);
    (is_here && !is_embedded && !has_own(&folder, home) && is_only_one).then(|| found.remove(0))
}

/// The folder with other servers' files for the only application: its own; or the working directory, if Puma's file is
/// there, and the application is a file below it, as in `puma lib/config.ru`, and no project of its own.
fn folder_of_others(asked: &Arguments, home: &Path) -> PathBuf {
    let folder = only_folder(asked, home);
    let is_file = asked.rackup.as_ref().is_some_and(|path| home.join(path).is_file());
    let has_settings = || has_own(&folder, home) || !present(asked, &folder, home).is_empty();
    let is_meant = is_file && of_puma(asked, Path::new(""), home).is_some() && is_part(&home.join(&folder), home);
    if is_meant && !has_settings() { PathBuf::new() } else { folder }
}

/// Whether a foolsgold.toml is in this folder, even if it is a link to a missing file.
fn has_own(folder: &Path, home: &Path) -> bool {
    home.join(folder).join(USUAL).symlink_metadata().is_ok()
}

/// Whether a folder is below this one, without a Gemfile of its own.
fn is_part(folder: &Path, home: &Path) -> bool {
    let (Ok(folder), Ok(home)) = (folder.canonicalize(), home.join(".").canonicalize()) else { return false };
    let gemfile = rackup::gemfile(&folder.join("config.ru"), None, Some(&home));
    folder != home && folder.starts_with(&home) && gemfile.is_none_or(|gemfile| gemfile.parent() == Some(&*home))
}

/// Other servers' files in this folder; of Puma's the one that it would read.
fn present(asked: &Arguments, folder: &Path, home: &Path) -> Vec<PathBuf> {
    let is_file = |path: &PathBuf| home.join(path).is_file();
    let passenger = PASSENGER.map(|name| folder.join(name)).into_iter().find(is_file);
    let others = of_others(environment(asked)).into_iter().map(|name| folder.join(name)).filter(is_file);
    of_puma(asked, folder, home).into_iter().chain(others).chain(passenger).collect()
}

/// The file in this folder that Puma would read.
fn of_puma(asked: &Arguments, folder: &Path, home: &Path) -> Option<PathBuf> {
    let names = [format!("config/puma/{}.rb", environment(asked)), PUMA.to_owned()];
    names.map(|name| folder.join(name)).into_iter().find(|path| home.join(path).is_file())
}

/// The environment that is asked for; of Puma's and Unicorn's files each may have one.
fn environment(asked: &Arguments) -> &str {
    asked.values(Name::Environment).last().map_or(DEVELOPMENT, |given| &given.value)
}

/// [`OF_OTHERS`], and the file of Unicorn for this environment, as Capistrano's recipes name it.
fn of_others(environment: &str) -> Vec<String> {
    OF_OTHERS.map(str::to_owned).into_iter().chain([format!("config/unicorn/{environment}.rb")]).collect()
}
