//! Opening of files in folders that other users may write to: a user who can put a symbolic link there could otherwise
//! make root create or change any file of the machine.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Maximum number of symbolic links followed for one path, as in Linux.
const LINKS_MOST: usize = 40;

/// Whose symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Those of all users: the application has the rights of this process anyway.
    All,
    /// Those of root only, as long as this process is root: the application is not.
    OfRoot,
}

impl Links {
    /// Opens a file. Check and opening are one step, so that no link can be put there in between. The folders of the
    /// path are not checked: they may be links of any user.
    pub fn open(self, path: &Path, options: &OpenOptions, flags: OFlags) -> io::Result<File> {
        let with = |path: &Path, flags: OFlags| options.clone().custom_flags(flags.bits().cast_signed()).open(path);
        if self == Links::All || !geteuid().is_root() {
            return with(path, flags);
        }
        let mut path = path.to_owned();
        for _ in 0..LINKS_MOST {
            match with(&path, flags | OFlags::NOFOLLOW) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => path = target(&path)?,
                opened => return opened,
            }
        }
        Err(Errno::LOOP.into())
    }
}

/// The file at a path, opened neither for reading nor for writing; `None` if it is a symbolic link of root. A link of
/// another user is an error.
pub fn unfollowed(path: &Path) -> io::Result<Option<OwnedFd>> {
    let (file, is_link) = look(path)?;
    Ok((!is_link).then_some(file))
}

/// The path to which a symbolic link of root leads, or the same path if there is no link any more. A link of another
/// user is an error.
fn target(path: &Path) -> io::Result<PathBuf> {
    let (link, is_link) = look(path)?;
    if !is_link {
        return Ok(path.to_owned());
    }
    // Through the open link: another one may be at the path by now.
    let words = readlinkat(&link, "", Vec::<u8>::new())?;
    // An absolute target replaces the whole path.
    Ok(path.parent().unwrap_or(Path::new("")).join(OsStr::from_bytes(words.as_bytes())))
}

/// The file at a path, opened neither for reading nor for writing, and whether it is a symbolic link, which must be
/// root's.
fn look(path: &Path) -> io::Result<(OwnedFd, bool)> {
    let file = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&file)?;
    let is_link = FileType::from_raw_mode(found.st_mode).is_symlink();
    if is_link && found.st_uid != 0 {
        let why = "it is a symbolic link that does not belong to root, so a server started as root does not follow it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok((file, is_link))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    fn append(links: Links, path: &Path) -> io::Result<File> {
        links.open(path, OpenOptions::new().append(true).create(true), OFlags::empty())
    }

    #[test]
    fn root_follows_its_own_links_and_makes_nothing_where_others_lead_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("second", at("first")).unwrap();
        symlink(at("file"), at("second")).unwrap();
        append(Links::All, &at("first")).unwrap();
        fs::remove_file(at("file")).unwrap();
        assert!(append(Links::OfRoot, &at("first")).is_ok() && at("file").is_file());
        assert!(append(Links::OfRoot, &at("file")).is_ok());
        symlink("loop", at("loop")).unwrap();
        assert!(append(Links::OfRoot, &at("loop")).is_err());
        if !geteuid().is_root() {
            return;
        }
        fs::remove_file(at("file")).unwrap();
        for link in ["second", "first"] {
            lchown(at(link), Some(65_534), Some(65_534)).unwrap();
            let why = append(Links::OfRoot, &at("first")).unwrap_err().to_string();
            assert!(why.contains("a symbolic link that does not belong to root"), "{why}");
            assert!(!at("file").exists(), "{link}");
        }
        assert!(append(Links::All, &at("first")).is_ok() && at("file").is_file());
    }
}
