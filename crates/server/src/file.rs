//! The settings file: which one is read, and what it adds to what was asked. foolsgold.toml is read by toml_file.rs,
//! the files of other servers by old/.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::asked::{Asked, Given, Origin};
use crate::old;
use crate::options::Name;
use crate::toml_file;

/// The file that is read without being named.
pub const USUAL: &str = "foolsgold.toml";

/// Nobody has so many settings.
const FILE_BYTES: u64 = 1024 * 1024;

/// What other servers read, which is only mentioned.
const OF_OTHERS: [&str; 7] = [
    "config/puma.rb",
    "config/unicorn.rb",
    "config/unicorn.conf.rb",
    "config/pitchfork.rb",
    "config/thin.yml",
    "thin.yml",
    "Passengerfile.json",
];

/// Adds what the settings file says, if there is one: what `--config` names, or the usual one beside the application.
/// Relative paths begin at `home`.
pub fn add(asked: &mut Asked, home: &Path) {
    let named = asked.values(Name::Config).last().map(|given| (*given).clone());
    if let Some(given) = &named
        && let Some(other) = asked.values(Name::Config).iter().find(|other| other.value != given.value)
    {
        // Puma reads several, and who says so counts on all of them.
        let why = format!(
            "{} and {}: one settings file is read; one in Ruby takes in another by `instance_eval File.read(\"{}\")`",
            other.as_written(),
            given.as_written(),
            other.value
        );
        return asked.refuse(why);
    }
    let folder = folder(asked.rackup.as_deref(), home);
    let path = match &named {
        Some(given) if given.value == "-" => return,
        Some(given) => PathBuf::from(&given.value),
        None => folder.join(USUAL),
    };
    match text_of(&home.join(&path)) {
        Ok(text) => read(asked, &path, home, &text),
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound && home.join(&path).is_symlink() => {
            asked.refuse(format!(
                "{}: is a link to a file that is not there; - in its place (-C -) reads none",
                path.display()
            ));
        }
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => mention_others(asked, &folder, home),
        Err(error) => asked.refuse(unreadable(named.as_ref(), &path, &error)),
    }
}

/// Whether the settings file that was named is another server's, and Ruby.
pub fn is_code(asked: &Asked) -> bool {
    let Some(named) = asked.values(Name::Config).last().copied() else { return false };
    let folder = asked.values(Name::Dir).last().map(|given| PathBuf::from(&given.value)).unwrap_or_default();
    let path = folder.join(&named.value);
    text_of(&path).is_ok_and(|text| old::Kind::of(&path, &text).is_ok_and(|kind| kind.is_some_and(old::Kind::is_code)))
}

/// The text of a settings file: nothing else than a file, and none that is too large for one.
pub fn text_of(path: &Path) -> io::Result<String> {
    let (file, _) = engine::regular::open(path)?;
    let mut text = String::new();
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > FILE_BYTES { Err(ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

fn read(asked: &mut Asked, path: &Path, home: &Path, text: &str) {
    asked.file = Some(path.to_owned());
    match old::Kind::of(path, text) {
        Ok(None) => toml_file::read(asked, path, home, text),
        Ok(Some(kind)) => old::add(asked, kind, path, home, text),
        Err(why) => asked.refuse(why),
    }
}

fn unreadable(named: Option<&Given>, path: &Path, error: &std::io::Error) -> String {
    let what = match named {
        Some(Given { origin: Origin::Default, .. }) | None => path.display().to_string(),
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

/// Where the application is: the folder that was named, or that of the file that was named, or the current one.
fn folder(rackup: Option<&Path>, home: &Path) -> PathBuf {
    match rackup {
        None => PathBuf::new(),
        Some(path) if home.join(path).is_dir() => path.to_owned(),
        Some(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
    }
}

fn mention_others(asked: &mut Asked, folder: &Path, home: &Path) {
    let found = OF_OTHERS.iter().map(|name| folder.join(name)).find(|path| home.join(path).is_file());
    if let Some(path) = found {
        let path = path.display();
        asked.notices.push(format!(
            "{path} is there and is not read: `-C {path}` reads it, `foolsgold explain {path}` shows what comes of it"
        ));
    }
}
