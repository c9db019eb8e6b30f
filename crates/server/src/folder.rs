//! The working directory by the name that its user knows: perhaps by way of a symlink, such as `current` in a folder of
//! releases, which may lead elsewhere by the time it is looked at again.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The working directory as the shell calls it.
pub fn current() -> PathBuf {
    named(env::var_os("PWD"), env::current_dir().unwrap_or_default())
}

/// What the shell says, if it is absolute and leads to the real folder; else that.
fn named(said: Option<OsString>, real: PathBuf) -> PathBuf {
    said.map(PathBuf::from).filter(|said| said.is_absolute() && is_same(said, &real)).unwrap_or(real)
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
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
}
