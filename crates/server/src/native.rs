//! Which worker reads the requests of the Ruby engine: the native one where it has been built, or plain Ruby.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use engine_ruby::native;

use crate::app_settings::RubyWorker;

/// `foolsgold native`: builds it, and says where it is.
pub fn build(ruby: &Path) -> Result<PathBuf, String> {
    native::build(ruby, &cache()?)
}

/// The extension that workers are to load. `auto` never builds: that would make a start slow.
pub fn choose(wanted: RubyWorker, ruby: &Path) -> Result<Option<PathBuf>, String> {
    let told = |error| format!("the native worker cannot be built: {error}; say --ruby-worker plain to go without it");
    match wanted {
        RubyWorker::Plain => Ok(None),
        RubyWorker::Native => build(ruby).map(Some).map_err(told),
        // Without a word about what is wrong: the engine will find it out, too, and say it better.
        RubyWorker::Auto => Ok(cache().ok().filter(|cache| cache.is_dir()).and_then(|cache| found(ruby, &cache))),
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

/// Where built ones are kept, for each user.
fn cache() -> Result<PathBuf, String> {
    let set = |name: &str| env::var_os(name).filter(|value: &OsString| Path::new(value).is_absolute());
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
