//! Opening of files in folders that other users may write to: a user who can put a symbolic link there could otherwise
//! make root create or change any file of the machine.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The level at which the kernel protects files of others from being opened.
const PROTECTED_REGULAR: &str = "/proc/sys/fs/protected_regular";
/// Maximum number of symbolic links followed for one path, as in Linux.
pub const LINKS_MOST: usize = 40;
/// Mode of a folder in which everybody can make files, and change only their own, such as /tmp.
const OPEN_TO_ALL: u32 = 0o1002;
/// Flags to open a file, or a link itself, neither for reading nor for writing.
const UNREAD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

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
    /// path may be links of any user, such as `current` of a deploy tool, unless they lead to a folder of root's.
    pub fn open(self, path: &Path, options: &OpenOptions, flags: OFlags) -> io::Result<File> {
        self.try_to_open(path, options, flags).map_err(|error| {
            // An error about a link, which may be in such a folder, too, is our own and has no number.
            let is_of_kernel = Errno::from_io_error(&error) == Some(Errno::ACCESS);
            match is_of_kernel.then(|| protected(path)).flatten() {
                Some(why) => io::Error::new(error.kind(), why),
                None => error,
            }
        })
    }

    fn try_to_open(self, path: &Path, options: &OpenOptions, flags: OFlags) -> io::Result<File> {
        let with = |path: &Path, flags: OFlags| options.clone().custom_flags(flags.bits().cast_signed()).open(path);
        if self == Links::All || !geteuid().is_root() {
            return with(path, flags);
        }
        let mut path = path.to_owned();
        for _ in 0..LINKS_MOST {
            let (folder, name) = folder_of(&path)?;
            match with(&within(&folder, name, &path), flags | OFlags::NOFOLLOW) {
                Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => path = target(&path)?,
                opened => return opened,
            }
        }
        Err(Errno::LOOP.into())
    }
}

/// The file at a path, opened neither for reading nor for writing. Follows symbolic links as [`Links::OfRoot`] says.
pub fn found(path: &Path) -> io::Result<OwnedFd> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MOST {
        let (file, is_link) = look(&path)?;
        if !is_link {
            return Ok(file);
        }
        path = led_to(&file, &path)?;
    }
    Err(Errno::LOOP.into())
}

/// Why the kernel lets not even root open a file with O_CREAT: it protects the files of other users in folders such as
/// /tmp (`fs.protected_regular` in proc_sys_fs(5)). `None` if that is not the reason.
fn protected(path: &Path) -> Option<String> {
    let level: u32 = fs::read_to_string(PROTECTED_REGULAR).ok()?.trim().parse().ok()?;
    let file = fs::metadata(path).ok()?;
    let folder = fs::metadata(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    let folder = folder.ok()?;
    let is_open = match level {
        0 => false,
        1 => folder.mode() & 0o002 != 0,
        _ => folder.mode() & 0o022 != 0,
    };
    let is_sticky = folder.mode() & 0o1000 != 0;
    let is_of_another = ![geteuid().as_raw(), folder.uid()].contains(&file.uid());
    (is_open && is_sticky && is_of_another && file.is_file()).then(|| {
        format!(
            "it belongs to the user with the number {}, in a folder where everyone may make files, and the kernel lets \
             no other user open it there, not even root (fs.protected_regular): name a file in another folder, or \
             remove this one",
            file.uid()
        )
    })
}

/// The path to which a symbolic link of root leads, or the same path if there is no link any more. A link of another
/// user is an error.
fn target(path: &Path) -> io::Result<PathBuf> {
    let (link, is_link) = look(path)?;
    if is_link { led_to(&link, path) } else { Ok(path.to_owned()) }
}

/// The path to which an open link leads, which was at this path; by now another file may be there.
fn led_to(link: &OwnedFd, path: &Path) -> io::Result<PathBuf> {
    let words = readlinkat(link, "", Vec::<u8>::new())?;
    // An absolute target replaces the whole path.
    Ok(path.parent().unwrap_or(Path::new("")).join(OsStr::from_bytes(words.as_bytes())))
}

/// The file at a path, opened neither for reading nor for writing, and whether it is a symbolic link, which must be
/// root's.
fn look(path: &Path) -> io::Result<(OwnedFd, bool)> {
    let (folder, name) = folder_of(path)?;
    let file = openat(&folder, name, UNREAD, Mode::empty())?;
    let found = fstat(&file)?;
    let is_link = FileType::from_raw_mode(found.st_mode).is_symlink();
    if is_link && found.st_uid != 0 {
        let why = "it is a symbolic link that does not belong to root, so a server started as root does not follow it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok((file, is_link))
}

/// The folder of a path, opened neither for reading nor for writing, and the name in it. An error if the folder is
/// root's, and a symbolic link of another user leads to it: that user could choose which of root's folders that is.
fn folder_of(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let mut left = Vec::new();
    put_before(&mut left, path.parent().unwrap_or(Path::new("")));
    let mut folder = openat(CWD, ".", UNREAD, Mode::empty())?;
    let (mut links, mut is_led_by_others) = (0, false);
    while let Some(word) = left.pop() {
        let next = openat(&folder, word.as_os_str(), UNREAD, Mode::empty())?;
        let found = fstat(&next)?;
        if !FileType::from_raw_mode(found.st_mode).is_symlink() {
            folder = next;
            continue;
        }
        links += 1;
        if links > LINKS_MOST {
            return Err(Errno::LOOP.into());
        }
        if found.st_uid != 0 {
            is_led_by_others = true;
            let around = fstat(&folder)?;
            // The kernel does not follow it, either (fs.protected_symlinks in proc_sys_fs(5)).
            if around.st_mode & OPEN_TO_ALL == OPEN_TO_ALL && around.st_uid != found.st_uid {
                let why = "a symbolic link to its folder does not belong to root, in a folder where everyone may make \
                           files, so a server started as root does not follow it";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        }
        put_before(&mut left, &led_to(&next, Path::new(""))?);
    }
    if is_led_by_others && fstat(&folder)?.st_uid == 0 {
        let why = "its folder is root's, and a symbolic link that does not belong to root leads there, so a server \
                   started as root does not use it: name that folder itself";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok((folder, name))
}

/// Pushes the parts of a path on a stack, so that the first one is on top. The root folder is a part, too.
fn put_before(left: &mut Vec<OsString>, path: &Path) {
    left.extend(path.components().rev().map(|word| word.as_os_str().to_owned()));
}

/// The path by which a file in an open folder is reached, whatever is at the folder's own path by now; the file's own
/// path where there is no /proc.
fn within(folder: &OwnedFd, name: &OsStr, path: &Path) -> PathBuf {
    files::opened_path(folder).map_or_else(|| path.to_owned(), |folder| folder.join(name))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

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

    /// A user may lead root to folders of users, but could otherwise choose any folder of the machine.
    #[test]
    fn a_link_of_a_user_leads_root_to_no_folder_of_its_own() {
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, owner) in [("roots", 0), ("users", 65_534)] {
            fs::create_dir(at(name)).unwrap();
            lchown(at(name), Some(owner), Some(owner)).unwrap();
        }
        let lead_to = |name: &str, owner: u32| {
            let _ = fs::remove_file(at("log"));
            symlink(at(name), at("log")).unwrap();
            lchown(at("log"), Some(owner), Some(owner)).unwrap();
            append(Links::OfRoot, &at("log/file"))
        };
        let why = lead_to("roots", 65_534).unwrap_err().to_string();
        assert!(why.contains("a symbolic link that does not belong to root leads there"), "{why}");
        assert!(!at("roots/file").exists());
        assert!(lead_to("users", 65_534).is_ok() && at("users/file").is_file());
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        let why = lead_to("users", 65_534).unwrap_err().to_string();
        assert!(why.contains("in a folder where everyone may make files"), "{why}");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        assert!(lead_to("roots", 0).is_ok() && at("roots/file").is_file());
        assert!(found(&at("log/file")).is_ok());
        drop(lead_to("roots", 65_534));
        assert_eq!(found(&at("log/file")).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }

    /// As a pid file in /tmp that was made by a server which has become another user, and was killed.
    #[test]
    fn a_file_that_the_kernel_protects_even_from_root_is_refused_with_what_would_be_right() {
        let is_protected = fs::read_to_string(PROTECTED_REGULAR).is_ok_and(|level| level.trim() != "0");
        if !geteuid().is_root() || !is_protected {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let link = folder.path().join("link");
        symlink("file", &link).unwrap();
        for made in [&path, &link] {
            lchown(made, Some(65_534), Some(65_534)).unwrap();
        }
        for links in [Links::All, Links::OfRoot] {
            assert!(append(links, &path).is_ok());
            fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
            let why = append(links, &path).unwrap_err().to_string();
            assert!(why.contains("the number 65534") && why.contains("name a file in another folder"), "{why}");
            let why = append(Links::OfRoot, &link).unwrap_err().to_string();
            assert!(why.contains("a symbolic link that does not belong to root"), "{why}");
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        }
    }
}
