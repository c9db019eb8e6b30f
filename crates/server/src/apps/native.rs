//! Chooses how workers read requests: with the C extension, if it has been built, or in plain Ruby.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use engine_ruby::native;
use rustix::process::geteuid;

use crate::config::app_settings::RubyWorker;

/// Folder of extensions that root builds, for all users.
const OF_ALL: &str = "/var/cache/foolsgold/native";

/// `foolsgold native`: builds the extension and returns its path.
pub fn build(ruby: &Path) -> Result<PathBuf, String> {
    if !geteuid().is_root() || set("XDG_CACHE_HOME").is_some() {
        return native::build(ruby, &cache()?);
    }
    let told = |error: io::Error| format!("{OF_ALL}: {error}");
    let folder = Path::new(OF_ALL);
    fs::create_dir_all(folder).map_err(told)?;
    // Independent of the umask, since it is for all users.
    [folder.parent(), Some(folder)]
        .into_iter()
        .flatten()
        .try_for_each(|folder| fs::set_permissions(folder, Permissions::from_mode(0o755)))
        .map_err(told)?;
    let built = native::build(ruby, folder)?;
    for path in [built.parent(), Some(&*built)].into_iter().flatten() {
        fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(told)?;
    }
    Ok(built)
}

/// The extension that workers load. `auto` never builds one: that would make a start slow. With `for_other`, workers
/// run as another user, who cannot read this user's cache.
pub fn choose(wanted: RubyWorker, ruby: &Path, for_other: bool) -> Result<Option<PathBuf>, String> {
    let told = |error| format!("the native worker cannot be built: {error}; say --ruby-worker plain to go without it");
    match wanted {
        RubyWorker::Plain => Ok(None),
        RubyWorker::Native => build(ruby).map(Some).map_err(told),
        // Errors are ignored: the engine will find them, too, and report them better.
        RubyWorker::Auto => {
            let own = cache().ok().filter(|cache| cache.is_dir() && !for_other);
            let of_all = Some(PathBuf::from(OF_ALL)).filter(|folder| is_of_root(folder));
            Ok(own.into_iter().chain(of_all).find_map(|cache| found(ruby, &cache)))
        }
    }
}

/// Advice to build the extension, given the Ruby's description, if workers run without it.
pub fn advice(wanted: RubyWorker, is_native: bool, description: &str) -> Option<String> {
    if wanted != RubyWorker::Auto || is_native || !description.starts_with("ruby ") {
        return None;
    }
    let ruby: Vec<&str> = description.split(' ').take(2).collect();
    Some(format!("worker: plain Ruby; `foolsgold native` builds the faster native one for {}", ruby.join(" ")))
}

/// An extension that is built for this Ruby. Rubies that cannot use one, and are slow to start, are not asked.
fn found(ruby: &Path, cache: &Path) -> Option<PathBuf> {
    let name = ruby.file_name()?.to_string_lossy();
    if name.starts_with("jruby") || name.starts_with("truffleruby") {
        return None;
    }
    native::find(ruby, cache).ok().flatten()
}

/// Whether only root can have put a file there.
fn is_of_root(folder: &Path) -> bool {
    let is_roots = |found: fs::Metadata| found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0;
    let folders = [Some(folder), folder.parent()];
    folders.into_iter().flatten().all(|folder| fs::symlink_metadata(folder).is_ok_and(is_roots))
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| Path::new(value).is_absolute())
}

/// The current user's folder of built extensions.
fn cache() -> Result<PathBuf, String> {
    let base = set("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(Path::new(&set("HOME")?).join(".cache")));
    let base = base.ok_or("neither HOME nor XDG_CACHE_HOME says where to keep it")?;
    Ok(base.join("foolsgold").join("native"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_where_it_can_be_followed() {
        let line = "worker: plain Ruby; `foolsgold native` builds the faster native one for ruby 3.3.8";
        let description = "ruby 3.3.8 (2025-04-09 revision b200bad6cd) [x86_64-linux-gnu]";
        assert_eq!(advice(RubyWorker::Auto, false, description).as_deref(), Some(line));
        assert_eq!(advice(RubyWorker::Auto, true, description), None);
        assert_eq!(advice(RubyWorker::Plain, false, description), None);
        assert_eq!(advice(RubyWorker::Auto, false, "jruby 9.4.5.0 (3.1.4)"), None);
    }

    #[test]
    fn other_rubies_are_not_asked() {
        assert_eq!(found(Path::new("/opt/jruby/bin/jruby"), Path::new("/")), None);
    }
}
