//! Finds the files of an application: the named one, or config.ru in the named or current folder; its Gemfile and its
//! hooks. The folder also gives it its default name.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{self, Path, PathBuf};

use crate::config::commands;
use crate::config::suggest::nearest;
use crate::process::folder;

/// Commands that are no application; see arguments.rs.
const COMMANDS: [&str; 5] = ["config", "doctor", "explain", "native", "options"];

/// Commands of other programs, and their counterparts here.
const CALLED: [(&str, &str); 14] = [
    ("halt", "stop"),
    ("help", "--help"),
    ("hot-restart", "restart"),
    ("info", "status"),
    ("phased-restart", "reload"),
    ("quit", "stop"),
    ("refork", "recycle"),
    ("reload-worker-directory", "reload"),
    ("restart-app", "reload"),
    ("shutdown", "stop"),
    ("stats", "status"),
    ("thread-backtraces", "recorder --backtraces"),
    ("upgrade", "restart"),
    ("version", "--version"),
];

/// The absolute path of a readable file; the error says what to do.
pub fn find(named: Option<&Path>) -> Result<PathBuf, String> {
    let named = named.unwrap_or(Path::new("."));
    let is_folder = match fs::metadata(named) {
        Ok(metadata) => metadata.is_dir(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("{}: there is no such file; name the application's config.ru", named.display()));
        }
        Err(error) => return Err(format!("{}: cannot be looked at: {error}", named.display())),
    };
    if !is_folder && is_settings_file(named) {
        return Err(format!("{0}: is a settings file and no application: say -C {0}", named.display()));
    }
    let path = if is_folder { named.join("config.ru") } else { named.to_owned() };
    // Opening a pipe would wait for a writer.
    let is_file = fs::metadata(&path).map(|metadata| metadata.is_file());
    match is_file.and_then(|is_file| if is_file { File::open(&path).map(|_| true) } else { Ok(false) }) {
        Ok(true) => {}
        Ok(false) => return Err(format!("{}: is not a file", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = fs::canonicalize(named).unwrap_or_else(|_| named.to_owned());
            return Err(format!(
                "{}: there is no config.ru in this folder; go to the application's folder or name its config.ru",
                folder.display()
            ));
        }
        Err(error) => return Err(format!("{}: cannot be read: {error}", path.display())),
    }
    in_real_folder(&path).map_err(|error| format!("{}: cannot be found again: {error}", path.display()))
}

/// The absolute path of a file in its folder's real path. If the file itself is a symlink, its name and place are kept:
/// the files beside it are the application, and `__dir__` and `require_relative` in it mean that folder, as with other
/// servers.
pub fn in_real_folder(file: &Path) -> io::Result<PathBuf> {
    let file = path::absolute(file)?;
    fs::metadata(&file)?;
    match (file.parent(), file.file_name()) {
        (Some(folder), Some(name)) => Ok(fs::canonicalize(folder)?.join(name)),
        _ => fs::canonicalize(file),
    }
}

/// Whether a file is called as a settings file is, of this or of another server.
fn is_settings_file(path: &Path) -> bool {
    let text = |part: Option<&OsStr>| part.and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let (name, extension) = (text(path.file_name()), text(path.extension()));
    let servers = ["pitchfork", "puma", "rainbows", "unicorn"];
    let is_of_ruby = name.strip_suffix(".rb").is_some_and(|name| servers.contains(&name.trim_end_matches(".conf")));
    is_of_ruby || ["json", "toml", "yaml", "yml"].contains(&extension.as_str())
}

/// Whether a word is a command.
pub fn is_command(word: &str) -> bool {
    COMMANDS.into_iter().chain(commands::names()).any(|command| command == word)
}

/// The error about a named application that is not there and probably a command, which is wrong usage.
pub fn missing_command(named: &Path) -> Option<String> {
    let is_missing = fs::metadata(named).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    named.to_str().filter(|_| is_missing).and_then(no_command)
}

/// The error about a word that is no file and probably a command: that of another program, a misspelt one, or one that
/// does not stand first.
pub fn no_command(word: &str) -> Option<String> {
    let error = |hint: String| Some(format!("{word}: there is no such file; {hint}"));
    if let Some((_, ours)) = CALLED.iter().find(|(other, _)| *other == word) {
        return error(format!("that is `foolsgold {ours}` here"));
    }
    // No command looks like `config.ru`, `config/x` or `--help`.
    let is_word = !word.starts_with('-') && !word.contains(['.', '/']);
    let near = nearest(word, COMMANDS.into_iter().chain(commands::names())).filter(|_| is_word)?;
    error(match near == word {
        true => format!("as a command it comes first: `foolsgold {near}`"),
        false => format!("`foolsgold {near}` is the nearest command"),
    })
}

/// The absolute path of the Gemfile that Bundler would use: that of `BUNDLE_GEMFILE`, or the one beside config.ru, or
/// the nearest one above it, up to and including the folder `top`; none above it if it is not below `top`.
pub fn gemfile(rackup: &Path, bundle_gemfile: Option<&OsStr>, top: Option<&Path>) -> Option<PathBuf> {
    if let Some(named) = bundle_gemfile.filter(|named| !named.is_empty()) {
        return path::absolute(named).ok().map(|named| folder::followed_file(&named));
    }
    let beside = rackup.parent()?;
    let above = beside.ancestors().skip(1).take_while(|folder| top.is_some_and(|top| folder.starts_with(top)));
    let in_folder = |folder: &Path| ["Gemfile", "gems.rb"].map(|name| folder.join(name)).into_iter();
    [beside].into_iter().chain(above).flat_map(in_folder).find(|path| path.is_file())
}

/// The hooks file: the named one, or config/foolsgold.rb in this folder if it exists.
pub fn hooks(folder: &Path, named: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let usual = || folder.join("config").join("foolsgold.rb");
    match named {
        None => Ok(Some(usual()).filter(|path| path.is_file())),
        Some(path) => match in_real_folder(path) {
            Ok(path) if path.is_file() => Ok(Some(path)),
            Ok(path) => Err(format!("{}: is not a file; --hooks must name a Ruby file", path.display())),
            Err(error) => Err(format!("{}: the hooks file cannot be found: {error}", path.display())),
        },
    }
}

/// The application's default name: that of its folder; of a release of Capistrano or the like, and of its `current`,
/// that of the folder with all releases.
pub fn tag(rackup: &Path) -> String {
    let folder = rackup.parent().unwrap_or(Path::new(""));
    let name = deploy_to(folder).and_then(Path::file_name).or(folder.file_name()).unwrap_or_default();
    name.to_string_lossy().chars().filter(|c| !c.is_control()).collect()
}

/// The folder with all releases of an application, Capistrano's `deploy_to`: `shop` of `shop/releases/20261130` and of
/// `shop/current`; none for other folders.
fn deploy_to(folder: &Path) -> Option<&Path> {
    let (above, name) = (folder.parent()?, folder.file_name()?);
    if name == "current" {
        return Some(above);
    }
    let is_numbered = name.as_bytes().first().is_some_and(u8::is_ascii_digit);
    let is_release = above.file_name()? == "releases" && (is_numbered || above.with_file_name("current").is_symlink());
    if is_release { above.parent() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_folder_with_one_are_found_and_all_else_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let refusal = |path: PathBuf| find(Some(&path)).unwrap_err();
        assert!(
            refusal(at("nothing.ru")).ends_with("nothing.ru: there is no such file; name the application's config.ru")
        );
        assert!(refusal(at("")).contains("there is no config.ru in this folder"));
        let not_here = find(Some(Path::new("config.ru"))).unwrap_err();
        assert_eq!(not_here, "config.ru: there is no such file; name the application's config.ru");
        let missing = |word: &str| missing_command(Path::new(word)).unwrap_or_default();
        assert_eq!(missing("natve"), "natve: there is no such file; `foolsgold native` is the nearest command");
        assert_eq!(missing("stop"), "stop: there is no such file; as a command it comes first: `foolsgold stop`");
        let of_pumactl = missing("thread-backtraces");
        assert!(of_pumactl.ends_with("; that is `foolsgold recorder --backtraces` here"), "{of_pumactl}");
        assert_eq!((missing("nothing.ru"), missing("/")), (String::new(), String::new()));
        for name in ["foolsgold.toml", "puma.rb", "thin.yml", "Passengerfile.json"] {
            fs::write(at(name), "").unwrap();
            let path = at(name).display().to_string();
            let expected = format!("{path}: is a settings file and no application: say -C {path}");
            assert_eq!(refusal(at(name)), expected);
        }
        fs::create_dir(at("sub")).unwrap();
        fs::create_dir(at("sub/config.ru")).unwrap();
        assert!(refusal(at("sub")).ends_with("config.ru: is not a file"));
        let made = std::process::Command::new("mkfifo").arg(at("pipe.ru")).status().unwrap();
        assert!(made.success() && refusal(at("pipe.ru")).ends_with("pipe.ru: is not a file"));
        fs::write(at("config.ru"), "run {}").unwrap();
        let real = fs::canonicalize(at("config.ru")).unwrap();
        assert_eq!(find(Some(&at("config.ru"))), Ok(real.clone()));
        assert_eq!(find(Some(&at(""))), Ok(real));
    }

    #[test]
    fn the_gemfile_is_the_one_of_bundler() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let found = |named| gemfile(&at("config.ru"), named, None);
        assert_eq!((found(None), found(Some(OsStr::new("")))), (None, None));
        fs::write(at("gems.rb"), "").unwrap();
        assert_eq!(found(None), Some(at("gems.rb")));
        fs::write(at("Gemfile"), "").unwrap();
        assert_eq!(found(None), Some(at("Gemfile")));
        assert_eq!(found(Some(OsStr::new("/srv/Gemfile"))), Some(PathBuf::from("/srv/Gemfile")));
        assert!(found(Some(OsStr::new("Gemfile.next"))).unwrap().is_absolute());
    }

    #[test]
    fn hooks_are_found_beside_the_application_and_a_named_file_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let hooks = |named: Option<&Path>| hooks(folder.path(), named);
        let usual = folder.path().join("config/foolsgold.rb");
        assert_eq!(hooks(None), Ok(None));
        fs::create_dir(folder.path().join("config")).unwrap();
        fs::write(&usual, "").unwrap();
        assert_eq!(hooks(None), Ok(Some(usual.clone())));
        assert_eq!(hooks(Some(&usual)), Ok(Some(fs::canonicalize(&usual).unwrap())));
        assert!(hooks(Some(folder.path())).unwrap_err().contains("is not a file"));
        assert!(hooks(Some(&folder.path().join("no.rb"))).unwrap_err().contains("cannot be found"));
    }

    #[test]
    fn the_tag_is_the_name_of_the_folder() {
        assert_eq!(tag(Path::new("/srv/shop/config.ru")), "shop");
        assert_eq!(tag(Path::new("/config.ru")), "");
    }

    #[test]
    fn the_tag_of_a_release_is_the_name_of_the_folder_with_all_of_them() {
        for (folder, name) in [
            ("/srv/shop/releases/20261130031502", "shop"),
            ("/srv/shop/releases/7", "shop"),
            ("/srv/shop/current", "shop"),
            ("/srv/shop/releases/7/web", "web"),
            ("/srv/me/releases/shop", "shop"),
            ("/srv/shop/releases", "releases"),
            ("/releases/7", "7"),
            ("/current", "current"),
        ] {
            assert_eq!(tag(&Path::new(folder).join("config.ru")), name, "{folder}");
        }
        let folder = tempfile::tempdir().unwrap();
        let shop = folder.path().join("shop");
        fs::create_dir_all(shop.join("releases/f3a9")).unwrap();
        assert_eq!(tag(&shop.join("releases/f3a9/config.ru")), "f3a9");
        std::os::unix::fs::symlink("releases/f3a9", shop.join("current")).unwrap();
        assert_eq!(tag(&shop.join("releases/f3a9/config.ru")), "shop");
    }
}
