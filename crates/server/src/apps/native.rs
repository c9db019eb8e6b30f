//! Which worker reads the requests of the Ruby engine: the native one where it has been built, or plain Ruby.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use engine_ruby::native;
use rustix::process::geteuid;

use crate::config::app_settings::RubyWorker;

/// Where what root builds is kept, for all users.
const OF_ALL: &str = "/var/cache/foolsgold/native";

/// `foolsgold native`: builds it, and says where it is.
pub fn build(ruby: &Path) -> Result<PathBuf, String> {
    if !geteuid().is_root() || set("XDG_CACHE_HOME").is_some() {
        return native::build(ruby, &cache()?);
    }
    let told = |error: io::Error| format!("{OF_ALL}: {error}");
    let folder = Path::new(OF_ALL);
    fs::create_dir_all(folder).map_err(told)?;
    // Whatever the umask is: it is for all users.
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

/// The extension that workers are to load. `auto` never builds: that would make a start slow. `for_other`: workers run
/// as another user, who cannot read what is kept for this one.
pub fn choose(wanted: RubyWorker, ruby: &Path, for_other: bool) -> Result<Option<PathBuf>, String> {
    let told = |error| format!("the native worker cannot be built: {error}; say --ruby-worker plain to go without it");
    match wanted {
        RubyWorker::Plain => Ok(None),
        RubyWorker::Native => build(ruby).map(Some).map_err(told),
        // Without a word about what is wrong: the engine will find it out, too, and say it better.
        RubyWorker::Auto => {
            let own = cache().ok().filter(|cache| cache.is_dir() && !for_other);
            let of_all = Some(PathBuf::from(OF_ALL)).filter(|folder| is_of_root(folder));
            Ok(own.into_iter().chain(of_all).find_map(|cache| found(ruby, &cache)))
        }
    }
}

/// What there is to say about what workers have become, from what the Ruby says of itself.
pub fn advice(wanted: RubyWorker, is_native: bool, description: &str) -> Option<String> {
    if wanted != RubyWorker::Auto || is_native || !description.starts_with("ruby ") {
        return None;
    }
    let ruby: Vec<&str> = description.split(' ').take(2).collect();
    Some(format!("worker: plain Ruby; `foolsgold native` builds the faster native one for {}", ruby.join(" ")))
}

/// Rubies that are slow to start have no use for it, and are not asked.
fn found(ruby: &Path, cache: &Path) -> Option<PathBuf> {
    let name = ruby.file_name()?.to_string_lossy();
    if name.starts_with("jruby") || name.starts_with("truffleruby") {
        return None;
    }
    native::find(ruby, cache).ok().flatten()
}

/// Whether nobody but root can have put something there.
fn is_of_root(folder: &Path) -> bool {
    let is_roots = |found: fs::Metadata| found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0;
    let folders = [Some(folder), folder.parent()];
    folders.into_iter().flatten().all(|folder| fs::symlink_metadata(folder).is_ok_and(is_roots))
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| Path::new(value).is_absolute())
}

/// Where built ones are kept, for each user.
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
