//! Reads foolsgold.toml: keys are the long names of options, values as on the command line; `[[app]]` begins an
//! application. All errors are reported at once, each with its line.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::app_settings::path_prefix;
use crate::config::arguments::{AppArguments, Arguments, HIDDEN, Origin, RawValue, SourcePosition};
use crate::config::options::{Kind, Name, Row, TABLE};
use crate::config::suggest::nearest;

const BRACKETS: &str = "write [[app]], with two brackets on each side";
const OF_ONE: &str = "is for one application: put it below [[app]]";

/// Number of errors that are reported: more have one common cause.
const MOST: usize = 50;

/// Keys of an application beside its options.
const OF_APPS: [&str; 4] = ["name", "path", "host", "prefix"];

type KeyValue<'a> = (&'a Spanned<std::borrow::Cow<'a, str>>, &'a Spanned<DeValue<'a>>);

struct Reader<'a> {
    asked: &'a mut Arguments,
    text: &'a str,
    /// Offsets of the line feeds.
    ends: Vec<usize>,
    shown: String,
    /// Folder of the file.
    folder: PathBuf,
    home: &'a Path,
}

/// Adds the file's values to the parsed arguments. `path` is relative to `home`.
pub fn read(asked: &mut Arguments, path: &Path, home: &Path, text: &str) {
    let shown = path.display().to_string();
    let folder = home.join(path.parent().unwrap_or(Path::new("")));
    let (table, errors) = DeTable::parse_recoverable(text);
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let mut reader = Reader { asked, text, ends, shown, folder, home };
    for error in errors.iter().take(MOST) {
        let line = error.span().map_or(1, |span| reader.line(span.start));
        let why = error.message().replace('\n', ", ");
        reader.asked.refuse(format!("{}:{line}: is not TOML: {why}", reader.shown));
    }
    if errors.len() > MOST {
        reader.and_more();
    }
    // The readable rest of a broken file would be misunderstood.
    if errors.is_empty() {
        reader.top(table.get_ref());
    }
}

/// The entries of a table in the order of the file.
fn entries<'a>(table: &'a DeTable<'a>) -> Vec<KeyValue<'a>> {
    let mut entries: Vec<KeyValue<'a>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        self.ends.partition_point(|end| *end < at) + 1
    }

    fn has_enough(&self) -> bool {
        self.asked.problems.len() >= MOST
    }

    fn and_more(&mut self) {
        self.asked.refuse(format!("{}: and more of the kind, which are not shown", self.shown));
    }

    /// Position and text of an entry; without its value if that is secret.
    fn place(&self, (key, value): &KeyValue<'_>) -> SourcePosition {
        let is_shown = |text: &&str| !text.contains('\n') && !is_secret(key.get_ref());
        let written = self.text.get(key.span().start..value.span().end).filter(is_shown);
        let written = written.map_or_else(|| format!("{} = {HIDDEN}", key.get_ref()), str::to_owned);
        self.position(key.span().start, written)
    }

    fn position(&self, at: usize, written: String) -> SourcePosition {
        let (file, line) = (self.shown.clone(), Some(self.line(at)));
        SourcePosition { file, line, written, is_compat: false, is_assumed: false }
    }

    fn refuse(&mut self, entry: &KeyValue<'_>, why: &str) {
        let place = self.place(entry);
        self.asked.refuse(format!("{place}: {}: {why}", place.written));
    }

    fn refuse_section(&mut self, (key, _): &KeyValue<'_>, why: &str) {
        let line = self.line(key.span().start);
        self.asked.refuse(format!("{}:{line}: [{}]: {why}", self.shown, key.get_ref()));
    }

    fn top(&mut self, table: &DeTable<'_>) {
        let mut seen = Vec::new();
        let has_apps = table.keys().any(|key| key.get_ref() == "app");
        for entry in entries(table) {
            if self.has_enough() {
                return self.and_more();
            }
            let name = entry.0.get_ref().as_ref();
            match (name, entry.1.get_ref()) {
                ("app", DeValue::Array(apps)) => self.apps(apps.iter().collect(), &entry),
                ("app", _) => self.refuse_section(&entry, BRACKETS),
                ("path", value) => self.path(&entry, value),
                ("name" | "host", _) => self.refuse(&entry, OF_ONE),
                ("prefix", _) if has_apps => self.refuse(&entry, OF_ONE),
                (_, DeValue::Table(_)) => {
                    let why = "there is no such section: settings stand above the first [[app]], without one";
                    self.refuse_section(&entry, why);
                }
                _ => self.option(&entry, None, &mut seen),
            }
        }
    }

    /// Whether the command line names an application's file, and not just the current folder.
    fn names_a_file(&self) -> bool {
        self.asked.rackup.as_ref().is_some_and(|path| !self.home.join(path).is_dir())
    }

    /// The only application's path, without `[[app]]`. A file on the command line counts more.
    fn path(&mut self, entry: &KeyValue<'_>, value: &DeValue<'_>) {
        match value.as_str().filter(|path| !path.is_empty()) {
            Some(_) if self.names_a_file() => {}
            Some(path) => self.asked.rackup = Some(self.folder.join(path)),
            None => self.refuse(entry, "must be a config.ru, or the folder of one"),
        }
    }

    fn apps(&mut self, apps: Vec<&Spanned<DeValue<'_>>>, entry: &KeyValue<'_>) {
        if self.names_a_file() {
            let named = self.asked.rackup.take().unwrap_or_default();
            let (named, shown) = (named.display(), &self.shown);
            let why = match &self.asked.app_folder {
                // The file was made by the gem, whose users type no flags of this program.
                Some(_) => format!(
                    "{shown} names the applications, and a script is not among them: FOOLS_GOLD_CONFIG=- in the \
                     environment reads no settings file"
                ),
                None => format!("{named}: {shown} names the applications: leave it out, or say --no-config"),
            };
            self.asked.refuse(why);
        }
        let several = apps.len() > 1;
        for (at, app) in apps.into_iter().enumerate() {
            if self.has_enough() {
                return self.and_more();
            }
            let DeValue::Table(table) = app.get_ref() else {
                self.refuse(entry, BRACKETS);
                return;
            };
            let place = self.position(app.span().start, "[[app]]".to_owned());
            self.app(table, at, several, place);
        }
    }

    fn app(&mut self, table: &DeTable<'_>, at: usize, several: bool, place: SourcePosition) {
        let mut seen = Vec::new();
        let path = self.folder.clone();
        let mut app =
            AppArguments { name: String::new(), path, host: None, prefix: String::new(), place, unread: None };
        for entry in entries(table) {
            if self.has_enough() {
                return self.and_more();
            }
            let key = entry.0.get_ref().as_ref();
            if !OF_APPS.contains(&key) {
                self.option(&entry, Some(at), &mut seen);
                continue;
            }
            let Some(word) = entry.1.get_ref().as_str() else {
                self.refuse(&entry, "must be a text between quotes");
                continue;
            };
            if word.is_empty() && key != "prefix" {
                self.refuse(&entry, "needs a value, or must be left out");
                continue;
            }
            let checked = match key {
                "name" => self.app_name(word).map(|name| app.name = name),
                "path" => {
                    app.path = self.folder.join(word);
                    Ok(())
                }
                "host" => host(word).map(|host| app.host = Some(host)),
                _ => path_prefix(word).map(|prefix| app.prefix = prefix),
            };
            if let Err(why) = checked {
                self.refuse(&entry, &why);
            }
        }
        if !table.keys().any(|key| key.get_ref() == "name") {
            self.name_by_default(&mut app, several);
        }
        self.add_app(app);
    }

    fn app_name(&self, word: &str) -> Result<String, String> {
        if let Some(other) = self.asked.apps.iter().find(|other| other.name == word) {
            return Err(format!("the application at {} has this name", other.place));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        match word.chars().all(plain) && word.len() <= 64 {
            true => Ok(word.to_owned()),
            false => Err("must be at most 64 letters, digits and _ - .".to_owned()),
        }
    }

    /// Gives an application without a name the default one. Among several, each needs its own.
    fn name_by_default(&mut self, app: &mut AppArguments, several: bool) {
        if several {
            self.asked.refuse(format!("{}: [[app]]: needs a name, such as name = \"shop\"", app.place));
        } else {
            "app".clone_into(&mut app.name);
        }
    }

    fn add_app(&mut self, app: AppArguments) {
        let same = |other: &&AppArguments| (&other.host, &other.prefix) == (&app.host, &app.prefix);
        if let Some(other) = self.asked.apps.iter().find(same) {
            let why = "has the same host and prefix, and would get its requests: give one of them another";
            self.asked.refuse(format!("{}: [[app]]: the application at {} {why}", app.place, other.place));
        }
        self.asked.apps.push(app);
    }

    fn option(&mut self, entry: &KeyValue<'_>, app: Option<usize>, seen: &mut Vec<Name>) {
        let key = entry.0.get_ref().as_ref();
        let mut place = self.place(entry);
        let Some(row) = Row::called(key) else { return self.refuse(entry, &unknown(key, app.is_some())) };
        if seen.contains(&row.name) {
            return self.refuse(entry, &format!("{} is said twice here", row.long));
        }
        seen.push(row.name);
        if key != row.long {
            self.asked.notices.push(format!("{place}: {key}: is written {}", row.long));
        }
        let values = match words(row, entry.1.get_ref()) {
            _ if row.name == Name::Config => return self.refuse(entry, "a settings file cannot name another"),
            _ if app.is_some() && !row.per_app => {
                return self.refuse(entry, "is one for the whole server: put it above the first [[app]]");
            }
            Ok(values) => values,
            Err(why) => return self.refuse(entry, &why),
        };
        if place.written.ends_with("= ...") && !row.name.is_secret() {
            place.written = format!("{key} = {}", values.join(", "));
        }
        let given = |value: String| {
            let value = self.in_folder(row, value);
            RawValue { name: row.name, value, origin: Origin::File(place.clone()), app }
        };
        let values: Vec<RawValue> = values.into_iter().map(given).collect();
        self.asked.given.extend(values);
    }

    /// A relative path starts at the file's folder. A Ruby without a slash is a name on PATH.
    fn in_folder(&self, row: &Row, value: String) -> String {
        let is_path = row.kind == Kind::Path || (row.name == Name::Ruby && value.contains('/'));
        if !is_path {
            return value;
        }
        self.folder.join(&value).to_str().map_or(value, str::to_owned)
    }
}

/// The values, as they would be written on the command line.
fn words(row: &Row, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    if let Kind::Refused(why) = row.kind {
        return Err(why.to_owned());
    }
    let is_list = row.kind == Kind::List || row.name == Name::Bind;
    match value {
        DeValue::Array(values) if is_list => {
            let inner = values.iter().map(|value| words(row, value.get_ref()));
            let words = inner.collect::<Result<Vec<_>, _>>()?.concat();
            if words.is_empty() { Err("must not be empty".to_owned()) } else { Ok(words) }
        }
        DeValue::Array(_) => Err("takes one value, and no list".to_owned()),
        DeValue::Table(_) => Err("takes a value, and no table".to_owned()),
        DeValue::String(text) if text.trim().is_empty() => Err("needs a value, or must be left out".to_owned()),
        DeValue::String(text) if row.kind == Kind::List => {
            Ok(text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
        }
        DeValue::String(text) => Ok(vec![text.trim().to_owned()]),
        DeValue::Integer(number) if matches!(row.name, Name::Umask | Name::StatePermission) => match number.radix() {
            // Written as permission bits are; and 27 is read as on the command line, since TOML has no 027.
            8 => Ok(vec![format!("0{}", number.as_str().trim_start_matches("0o"))]),
            10 => Ok(vec![number.as_str().to_owned()]),
            _ => Err("must be octal, such as 0o027 or \"027\"".to_owned()),
        },
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix());
            number.map(|number| vec![number.to_string()]).map_err(|_| "is too large".to_owned())
        }
        DeValue::Float(number) => Ok(vec![number.as_str().to_owned()]),
        DeValue::Boolean(yes) => Ok(vec![boolean(row, *yes).to_owned()]),
        DeValue::Datetime(date) => Ok(vec![date.to_string()]),
    }
}

/// The word for a boolean: `false` is `off` if that is one of the option's words.
fn boolean(row: &Row, yes: bool) -> &'static str {
    match (row.kind, yes) {
        (Kind::Choice(words), false) if words.contains(&"off") => "off",
        (_, false) => "no",
        (_, true) => "yes",
    }
}

/// Whether the value of a key is secret: of that option, or of the one that is probably meant.
fn is_secret(key: &str) -> bool {
    let meant = || nearest(&key.replace('_', "-"), TABLE.iter().map(|row| row.long)).and_then(Row::called);
    Row::called(key).or_else(meant).is_some_and(|row| row.name.is_secret())
}

fn unknown(key: &str, in_app: bool) -> String {
    let known = TABLE.iter().filter(|row| !in_app || row.per_app).map(|row| row.long);
    let more = OF_APPS.into_iter().filter(|_| in_app);
    match nearest(&key.replace('_', "-"), known.chain(more)) {
        Some(near) => format!("there is no such setting; {near} is the nearest"),
        None => "there is no such setting; see foolsgold --help".to_owned(),
    }
}

/// In lower case and without port, as the router compares it.
fn host(word: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_address = word.starts_with('[') && word.ends_with(']');
    match is_address || word.chars().all(plain) {
        // A name with the dot of the root is the same name.
        true => Ok(word.strip_suffix('.').unwrap_or(word).to_ascii_lowercase()),
        false => Err("must be a name such as shop.example.org, without a scheme or a port".to_owned()),
    }
}

#[cfg(test)]
#[path = "toml_file_test.rs"]
mod tests;
