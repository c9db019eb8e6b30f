//! Chooses how workers read requests: with the C extension, if it has been built, or in plain Ruby.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use engine_ruby::{User, native};
use rustix::process::geteuid;
use tracing::warn;

use crate::config::app_settings::RubyWorker;
use crate::process::program::find_program;

/// Folder of extensions that root builds, for all users.
const OF_ALL: &str = "/var/cache/foolsgold/native";

/// `foolsgold native`: builds the extension and returns its path.
pub fn build(ruby: &Path) -> Result<PathBuf, String> {
    if !geteuid().is_root() || set("XDG_CACHE_HOME").is_some() {
        return native::build(ruby, None, &cache()?);
    }
    let failed = |error: io::Error| format!("{OF_ALL}: {error}");
    let folder = Path::new(OF_ALL);
    fs::create_dir_all(folder).map_err(failed)?;
    [folder.parent(), Some(folder)].into_iter().flatten().try_for_each(let_all_read).map_err(failed)?;
    let built = native::build(ruby, None, folder)?;
    [built.parent(), Some(&*built)].into_iter().flatten().try_for_each(let_all_read).map_err(failed)?;
    Ok(built)
}

/// Lets all users enter a folder, or load a file, whatever the umask was. Writes nothing where they may already, since
/// the file system may be read-only.
fn let_all_read(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.mode() & 0o777 == 0o755 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(0o755))
}

/// The extensions for the workers of a start.
#[derive(Debug, Default)]
pub struct Extensions {
    /// Each is for another Ruby.
    pub paths: Vec<PathBuf>,
    /// Whether the start needs one for the workers' Ruby. If none of these is, the start fails, and [`build_wanted`]
    /// makes one for the next.
    pub is_needed: bool,
}

/// The extensions that are there for workers. `native` needs one for this Ruby: where there is none at all it is built
/// now. `auto` never builds one: that would make a start slow. With a `user`, workers run as that user, and so does the
/// Ruby that finds or builds it: it may belong to that user, and must not run as root.
pub fn choose(wanted: RubyWorker, ruby: &Path, user: Option<&User>) -> Result<Extensions, String> {
    if wanted == RubyWorker::Plain {
        return Ok(Extensions::default());
    }
    let (paths, is_for_ruby) = search(ruby, user);
    if paths.is_empty() && wanted == RubyWorker::Native {
        return Ok(Extensions { paths: vec![build_wanted(ruby, user)?], is_needed: false });
    }
    Ok(Extensions { paths, is_needed: wanted == RubyWorker::Native && !is_for_ruby })
}

/// Builds the extension that `native` asks for, and returns its path.
pub fn build_wanted(ruby: &Path, user: Option<&User>) -> Result<PathBuf, String> {
    let built = match user {
        Some(user) => native::build(ruby, Some(user), &cache_in(user.home.join(".cache"))),
        None => build(ruby),
    };
    built.map_err(|error| {
        let by = user.map_or_else(String::new, |user| format!(" by {}", user.name));
        let remedy = remedy(ruby, user);
        format!("the native worker cannot be built{by}: {error}; {remedy}say --ruby-worker plain to go without it")
    })
}

/// What root can do where another user, who may have no home to write to, cannot build the extension.
fn remedy(ruby: &Path, user: Option<&User>) -> String {
    if user.is_none() && geteuid().is_root() {
        return String::new();
    }
    let ruby = ruby.display();
    format!("if only root can change that Ruby, let root run `foolsgold native --ruby {ruby}`, once for all users, or ")
}

/// Advice to build the extension, given the Ruby's description, if workers run without it.
pub fn advice(wanted: RubyWorker, is_native: bool, description: &str) -> Option<String> {
    if wanted != RubyWorker::Auto || is_native || !description.starts_with("ruby ") {
        return None;
    }
    let ruby: Vec<&str> = description.split(' ').take(2).collect();
    Some(format!("worker: plain Ruby; `foolsgold native` builds the faster native one for {}", ruby.join(" ")))
}

/// The extensions in the folder of the workers' user, then those in that of all users; and whether they are known to be
/// for this Ruby. Ruby itself is asked for its extension, as that user, only where workers have a user of their own who
/// has such a folder, and this process cannot read it.
fn search(ruby: &Path, user: Option<&User>) -> (Vec<PathBuf>, bool) {
    let own = user.map_or_else(cache, |user| Ok(cache_in(user.home.join(".cache"))));
    let own = own.ok().filter(|folder| folder.is_dir());
    let asking = user.filter(|_| own.as_deref().is_some_and(|folder| fs::read_dir(folder).is_err()));
    let of_all = Some(PathBuf::from(OF_ALL)).filter(|folder| is_of_root(folder));
    let caches: Vec<PathBuf> = own.into_iter().chain(of_all).collect();
    if caches.is_empty() || !may_have_one(ruby) {
        return (Vec::new(), false);
    }
    let Some(user) = asking else { return (native::built(&caches), false) };
    let found = native::find(ruby, user, &caches).unwrap_or_else(|why| {
        // About a Ruby that is not there the engine says more.
        if find_program(ruby).is_some() {
            warn!(target: "server", "whether the native worker has been built cannot be found out: {why}");
        }
        None
    });
    (found.into_iter().collect(), true)
}

/// Whether a Ruby of this name may have an extension. Those that cannot use one are slow to start.
fn may_have_one(ruby: &Path) -> bool {
    let name = ruby.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with("jruby") && !name.starts_with("truffleruby")
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
    Ok(cache_in(base))
}

/// The folder of built extensions in a user's folder of caches.
fn cache_in(base: PathBuf) -> PathBuf {
    base.join("foolsgold").join("native")
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

    /// Nobody can be asked where there is no Ruby. Root may read everything.
    #[test]
    fn ruby_is_asked_only_for_extensions_in_a_folder_that_is_closed_to_this_process() {
        let home = tempfile::tempdir().unwrap();
        let user = User {
            name: "shop".to_owned(),
            uid: geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: Vec::new(),
            home: home.path().to_owned(),
        };
        let folder = cache_in(home.path().join(".cache"));
        fs::create_dir_all(&folder).unwrap();
        for (mode, is_asked) in [(0o000, !geteuid().is_root()), (0o755, false)] {
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            assert_eq!(search(Path::new("/no/such/ruby"), Some(&user)).1, is_asked, "{mode:o}");
        }
    }

    #[test]
    fn other_rubies_are_not_asked() {
        assert!(!may_have_one(Path::new("/opt/jruby/bin/jruby")));
        assert!(["ruby", "/opt/ruby-3.4/bin/ruby"].into_iter().all(|ruby| may_have_one(Path::new(ruby))));
    }
}
