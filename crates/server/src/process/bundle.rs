//! The variables of Bundler, which `bundle exec` sets for this process.

use std::env;
use std::ffi::OsStr;
use std::path::{self, Path, PathBuf};

use crate::process::folder;

/// The lock file that `BUNDLE_LOCKFILE` must name for an application with this Gemfile; `None` for the one that belongs
/// to it.
pub fn lockfile(gemfile: &Path) -> Option<PathBuf> {
    let [of, named] = ["BUNDLE_GEMFILE", "BUNDLE_LOCKFILE"].map(env::var_os);
    chosen(gemfile, of.as_deref(), named.as_deref())
}

/// The same, by the values of `BUNDLE_GEMFILE` (`of`) and `BUNDLE_LOCKFILE` (`named`). From version 4 on, Bundler sets
/// the latter also where the user has chosen no lock file: to the one that belongs to that Gemfile, and not to the
/// Gemfile of another release or application.
fn chosen(gemfile: &Path, of: Option<&OsStr>, named: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |value: &OsStr| path::absolute(value).ok();
    let named = named.filter(|named| !named.is_empty()).and_then(absolute)?;
    let Some(of) = of.filter(|of| !of.is_empty()).and_then(absolute) else { return Some(named) };
    let is_chosen = named != usual(&of) && folder::followed_file(&of) == gemfile;
    is_chosen.then(|| folder::followed_file(&named))
}

/// The lock file that belongs to a Gemfile.
fn usual(gemfile: &Path) -> PathBuf {
    if gemfile.file_name().is_some_and(|name| name == "gems.rb") {
        return gemfile.with_file_name("gems.locked");
    }
    let mut name = gemfile.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Advice about a Ruby process that has ended too early, if each Ruby process loads Bundler first, as under `bundle
/// exec`: Bundler ends a process whose gems are missing. `None` without Bundler in RUBYOPT, or without a Gemfile.
pub fn remedy(gemfile: Option<&Path>) -> Option<String> {
    let folder = gemfile?.parent()?.display();
    let options = env::var_os("RUBYOPT").unwrap_or_default();
    options.to_string_lossy().contains("bundler/setup").then(|| {
        format!(
            "probably because of Bundler, which `bundle exec` makes it load first (RUBYOPT). The server's output has \
             Bundler's message; `bundle install` in {folder} gets missing gems"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_counts_for_its_gemfile_and_only_where_it_was_chosen() {
        let found = |gemfile: &str, of: &str, named: &str| {
            let [of, named] = [of, named].map(OsStr::new);
            chosen(Path::new(gemfile), Some(of), Some(named)).map(|path| path.display().to_string())
        };
        let next = || Some("/srv/1/next.lock".to_owned());
        for (gemfile, of, named, expected) in [
            ("/srv/1/Gemfile", "/srv/1/Gemfile", "/srv/1/Gemfile.lock", None),
            ("/srv/2/Gemfile", "/srv/1/Gemfile", "/srv/1/Gemfile.lock", None),
            ("/srv/2/gems.rb", "/srv/1/gems.rb", "/srv/1/gems.locked", None),
            ("/srv/1/Gemfile", "/srv/1/Gemfile", "/srv/1/next.lock", next()),
            ("/srv/2/Gemfile", "/srv/1/Gemfile", "/srv/1/next.lock", None),
            // Without `bundle exec`.
            ("/srv/2/Gemfile", "", "/srv/1/next.lock", next()),
            ("/srv/2/Gemfile", "/srv/1/Gemfile", "", None),
        ] {
            assert_eq!(found(gemfile, of, named), expected, "{gemfile} {of} {named}");
        }
        assert_eq!(chosen(Path::new("/srv/1/Gemfile"), None, None), None);
    }
}
