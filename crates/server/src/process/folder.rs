//! Folders by the names that users give them: perhaps a symlink, such as `current` in a folder of releases, which may
//! point elsewhere when it is read again.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// The name that deploy tools give the symlink to the newest release.
const CURRENT: &str = "current";

/// Folder names in use, each with the real path that it had at first.
static NAMED: Mutex<Vec<(PathBuf, PathBuf)>> = Mutex::new(Vec::new());

/// The working directory by the name that the shell has for it.
pub fn current() -> PathBuf {
    let real = env::current_dir().unwrap_or_default();
    let said = env::var_os("PWD");
    // A service manager changes to a folder by its name without setting PWD; a shell below it knows no better.
    let is_service = env::var_os("INVOCATION_ID").is_some() && !io::stdin().is_terminal();
    let has_no_name = said.is_none() || is_service;
    let folder = named(said, real);
    if has_no_name { by_release(&folder).unwrap_or(folder) } else { folder }
}

/// An absolute path, which stays valid when the working directory changes.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The reason why the file at a path could not be opened, with the folder of that path that does not exist, if one does
/// not.
pub fn with_missing(why: String, path: &Path) -> String {
    match files::missing_folder(path) {
        Some(folder) => format!("{why}: there is no folder {}: make it, or name another path", folder.display()),
        None => why,
    }
}

/// Records the real path that a folder name has now.
pub fn note(name: &Path) {
    let Ok(real) = fs::canonicalize(name) else { return };
    let mut all = NAMED.lock();
    if real != name && !all.iter().any(|(known, _)| known == name) {
        all.push((name.to_owned(), real));
    }
}

/// The real path, by now, of the name that was used for this folder.
pub fn followed(folder: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let all = NAMED.lock();
    let name = all.iter().find(|(_, first)| *first == real || first == folder).map(|(name, _)| name)?;
    fs::canonicalize(name).ok()
}

/// The file of the same name in the current release. `bundle exec` sets the Gemfile by its real path; if the folder was
/// named by a symlink that now points to another release, such as Capistrano's `current`, the file there counts, if it
/// exists.
pub fn followed_file(named: &Path) -> PathBuf {
    let there = || Some(followed(named.parent()?)?.join(named.file_name()?));
    there().filter(|path| path.is_file()).unwrap_or_else(|| named.to_owned())
}

/// The same folder or, if it is gone as old releases are, the one that has replaced it.
pub fn there(folder: &Path) -> PathBuf {
    let moved = if folder.is_dir() { None } else { followed(folder) };
    moved.unwrap_or_else(|| folder.to_owned())
}

/// PWD, if it is absolute and is the real folder; else the real folder.
fn named(said: Option<OsString>, real: PathBuf) -> PathBuf {
    said.map(PathBuf::from).filter(|said| said.is_absolute() && is_same(said, &real)).unwrap_or(real)
}

/// The same folder through `current`, if that symlink is beside its release, or beside the folder of all releases.
fn by_release(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|release| {
        let links = release.ancestors().skip(1).take(2).map(|place| place.join(CURRENT));
        let link = links.into_iter().find(|link| link.is_symlink() && is_same(link, release))?;
        let rest = folder.strip_prefix(release).ok()?;
        // Joining an empty path would add a slash, and so make another name.
        Some(if rest.as_os_str().is_empty() { link } else { link.join(rest) })
    })
}

/// Whether two paths lead to the same file or folder, which must be there.
pub fn is_same(one: &Path, other: &Path) -> bool {
    inode(fs::metadata(one)).is_some_and(|one| inode(fs::metadata(other)) == Some(one))
}

/// Device and inode, which identify a file; `None` if it cannot be looked at.
pub fn inode(found: io::Result<fs::Metadata>) -> Option<(u64, u64)> {
    found.ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symlink_keeps_its_name_and_what_the_shell_says_of_elsewhere_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap();
        let (release, current) = (real.join("release"), real.join("current"));
        fs::create_dir(&release).unwrap();
        std::os::unix::fs::symlink(&release, &current).unwrap();
        let of = |said: Option<&Path>| named(said.map(|said| said.as_os_str().to_owned()), release.clone());
        assert_eq!(of(Some(&current)), current);
        assert_eq!(of(Some(&real)), release);
        assert_eq!(of(Some(Path::new("current"))), release);
        assert_eq!(of(None), release);
    }

    #[test]
    fn a_release_is_known_by_the_link_to_the_current_one() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap();
        let at = |name: &str| real.join(name);
        for name in ["releases/1/web", "releases/2/web", "one"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink("releases/1", at("current")).unwrap();
        assert_eq!(by_release(&at("releases/1")).unwrap().as_os_str(), at("current").as_os_str());
        assert_eq!(by_release(&at("releases/1/web")), Some(at("current/web")));
        assert_eq!(
            (by_release(&at("releases/2")), by_release(&at("releases")), by_release(&at("one"))),
            (None, None, None)
        );
    }

    #[test]
    fn a_folder_is_followed_by_the_name_that_was_used_for_it_even_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(folder.path()).unwrap();
        let at = |name: &str| real.join(name);
        fs::create_dir(at("1")).unwrap();
        fs::create_dir(at("2")).unwrap();
        std::os::unix::fs::symlink("1", at("now")).unwrap();
        note(&at("now"));
        note(&at("2"));
        fs::remove_file(at("now")).unwrap();
        std::os::unix::fs::symlink("2", at("now")).unwrap();
        fs::remove_dir(at("1")).unwrap();
        note(&at("now"));
        assert_eq!(followed(&at("1")), Some(at("2")));
        assert_eq!((followed(&at("2")), followed(&at("nowhere"))), (None, None));
    }
}
