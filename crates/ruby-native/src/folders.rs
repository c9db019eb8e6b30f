//! The folders that an application may read and write. While it is loaded it may read whatever the process may; while
//! it answers requests it reads only below the folders known by then, so that a path from a client cannot lead
//! elsewhere. Symbolic links are resolved before the check.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::errno::exception;
use crate::value::{Raise, raise};

/// Advice for a file outside of the folders that may be read.
const READ_HINT: &str = "it is outside of the folders that may be read while requests are answered: say \
                         FoolsGold.allow_read(\"folder\") in config.ru (docs/data.md)";
const WRITE_HINT: &str = "it is in no folder that databases may be written to: say FoolsGold.allow_write(\"folder\") \
                          in config.ru (docs/data.md)";

/// The folders of one interpreter. Clones share one value.
#[derive(Clone, Default)]
pub struct Folders(Rc<RefCell<Known>>);

/// Paths of folders and files, all without symbolic links.
#[derive(Default)]
struct Known {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    /// Temporary files that the application has made.
    files: Vec<PathBuf>,
    is_sealed: bool,
}

/// The reason why a path cannot be used.
pub enum Refusal {
    /// An error of the operating system.
    Failed(io::Error),
    /// The path is outside of the folders that may be read.
    Outside,
}

impl Folders {
    /// Adds a folder that may be read; an error where it does not exist.
    pub fn allow_read(&self, folder: &Path) -> io::Result<()> {
        let folder = fs::canonicalize(folder)?;
        let mut known = self.0.borrow_mut();
        if !known.read.contains(&folder) {
            known.read.push(folder);
        }
        Ok(())
    }

    /// Adds a folder in which databases may be written; an error where it does not exist.
    pub fn allow_write(&self, folder: &Path) -> io::Result<()> {
        self.allow_read(folder)?;
        self.0.borrow_mut().write.push(fs::canonicalize(folder)?);
        Ok(())
    }

    /// Adds a temporary file that may be read.
    pub fn allow_file(&self, path: &Path) {
        if let Ok(path) = fs::canonicalize(path) {
            self.0.borrow_mut().files.push(path);
        }
    }

    /// Removes a temporary file that has been deleted, or is about to be.
    pub fn forget(&self, path: &Path) {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.0.borrow_mut().files.retain(|file| *file != path);
    }

    /// Ends the loading of the application: from now on the checks apply.
    pub fn seal(&self) {
        self.0.borrow_mut().is_sealed = true;
    }

    /// Whether the application has been loaded.
    pub fn is_sealed(&self) -> bool {
        self.0.borrow().is_sealed
    }

    /// The path without symbolic links, if it may be read. Unchanged and unchecked while the application is loaded.
    pub fn find(&self, path: &Path) -> Result<PathBuf, Refusal> {
        if !self.is_sealed() {
            return Ok(path.to_owned());
        }
        let found = fs::canonicalize(path).map_err(Refusal::Failed)?;
        let known = self.0.borrow();
        if is_below(&known.read, &found) || known.files.contains(&found) { Ok(found) } else { Err(Refusal::Outside) }
    }

    /// The path without symbolic links, if it may be read, else the exception for Ruby.
    pub fn readable(&self, path: &Path) -> Result<PathBuf, Raise> {
        self.find(path).map_err(|refusal| refusal.raise(path))
    }

    /// The path of a database without symbolic links, if it may be opened, else the exception for Ruby.
    pub fn database(&self, path: &Path, to_write: bool) -> Result<PathBuf, Raise> {
        let found = if to_write { self.place(path)? } else { self.readable(path)? };
        if !to_write || !self.is_sealed() || is_below(&self.0.borrow().write, &found) {
            return Ok(found);
        }
        Err(raise("Errno::EACCES", format!("{}: {WRITE_HINT}", path.display())))
    }

    /// The path without symbolic links of a file that need not exist yet; its folder must.
    fn place(&self, path: &Path) -> Result<PathBuf, Raise> {
        let error = match fs::canonicalize(path) {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        let name = path.file_name().filter(|_| error.kind() == io::ErrorKind::NotFound);
        // A dangling link would be followed when the file is created.
        if name.is_none() || fs::symlink_metadata(path).is_ok() {
            return Err(failed(&error, path));
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = fs::canonicalize(parent.unwrap_or(Path::new("."))).map_err(|error| failed(&error, path))?;
        Ok(folder.join(name.unwrap_or_default()))
    }
}

impl Refusal {
    /// The exception for Ruby.
    pub fn raise(&self, path: &Path) -> Raise {
        match self {
            Refusal::Failed(error) => failed(error, path),
            Refusal::Outside => raise("Errno::EACCES", format!("{}: {READ_HINT}", path.display())),
        }
    }
}

/// The exception for an error of the operating system, in CRuby's words.
pub fn failed(error: &io::Error, path: &Path) -> Raise {
    // CRuby names the function that failed: most often the one that opens a file. A folder can be opened, but not read.
    let function = if error.kind() == io::ErrorKind::IsADirectory { "io_fread" } else { "rb_sysopen" };
    exception(error, &format!(" @ {function} - {}", path.display()))
}

fn is_below(folders: &[PathBuf], path: &Path) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_leads_outside_is_refused_once_the_application_is_loaded() {
        let inside = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        fs::write(&secret, "s").unwrap();
        let path = |name: &str| inside.path().join(name);
        fs::write(path("page"), "p").unwrap();
        symlink(&secret, path("link")).unwrap();
        symlink("page", path("alias")).unwrap();
        symlink(outside.path().join("later"), path("dangling")).unwrap();
        let folders = Folders::default();
        assert!(folders.readable(&secret).is_ok());
        folders.allow_read(inside.path()).unwrap();
        folders.seal();
        for name in ["page", "alias", "."] {
            assert!(folders.readable(&path(name)).is_ok(), "{name}");
        }
        for refused in [secret.clone(), path("link"), path("../../etc/hostname")] {
            assert!(folders.readable(&refused).is_err(), "{}", refused.display());
        }
        symlink("circle", path("circle")).unwrap();
        let long = "x".repeat(300);
        for (name, class) in [
            ("nothing", "Errno::ENOENT"),
            ("page/x", "Errno::ENOTDIR"),
            ("circle", "Errno::ELOOP"),
            (long.as_str(), "Errno::ENAMETOOLONG"),
        ] {
            assert_eq!(folders.readable(&path(name)).unwrap_err().class, class);
        }
        assert!(folders.database(&path("page"), false).is_ok());
        assert!(folders.database(&path("new.db"), true).unwrap_err().message.contains("allow_write"));
        folders.allow_write(inside.path()).unwrap();
        assert!(folders.database(&path("new.db"), true).is_ok());
        for refused in [secret, path("link"), path("dangling"), path("../new.db"), path("..")] {
            assert!(folders.database(&refused, true).is_err(), "{}", refused.display());
        }
    }
}
