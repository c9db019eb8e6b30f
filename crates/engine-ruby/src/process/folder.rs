//! The folder of the Ruby processes: the Ruby files that molds load, and the socket that all processes connect to.
//! Programs that clean temporary folders may remove it, or a part of it, at any time.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use files::TempFolder;

use super::scripts;
use super::user::User;
use crate::start_error::StartError;

/// The process folder, which other users of the machine cannot read.
pub struct ProcessFolder {
    folder: TempFolder,
    scripts: PathBuf,
    socket: PathBuf,
}

impl ProcessFolder {
    /// Creates the folder with its socket, accessible to processes of `user` if there is one.
    pub fn new(user: Option<&User>) -> Result<(ProcessFolder, UnixListener), StartError> {
        let (created, listener) = ProcessFolder::create().map_err(StartError::Machine)?;
        match user {
            Some(user) => created.give_to(user).map_err(|error| StartError::User(user.name.clone(), error))?,
            None => created.let_connect().map_err(StartError::Machine)?,
        }
        Ok((created, listener))
    }

    fn create() -> io::Result<(ProcessFolder, UnixListener)> {
        let (folder, (scripts, socket, listener)) = TempFolder::with("foolsgold-wire-", |folder| {
            let (scripts, socket) = (folder.join("ruby"), folder.join("wire.sock"));
            scripts::write(&scripts)?;
            let listener = UnixListener::bind(&socket)?;
            Ok((scripts, socket, listener))
        })?;
        listener.set_nonblocking(true)?;
        Ok((ProcessFolder { folder, scripts, socket }, listener))
    }

    /// Gives the folder to the user that runs the application; no other user may enter it.
    fn give_to(&self, user: &User) -> io::Result<()> {
        for entry in fs::read_dir(&self.scripts)? {
            user.own(&entry?.path())?;
        }
        [&self.socket, &self.scripts].into_iter().try_for_each(|path| user.own(path))?;
        self.folder.let_in(user.gid)
    }

    /// Lets workers connect whose user a hook has changed. They reach the socket by an inherited descriptor (wire.rb).
    /// Other users cannot reach it by its name, since they may not enter the folder.
    fn let_connect(&self) -> io::Result<()> {
        fs::set_permissions(&self.socket, Permissions::from_mode(0o777))
    }

    /// Returns whether everything is there that a new process needs, in the folder that was created and not in another
    /// one of the same name.
    pub fn is_whole(&self) -> bool {
        let is_socket = fs::symlink_metadata(&self.socket).is_ok_and(|found| found.file_type().is_socket());
        self.folder.is_there() && is_socket && scripts::are_in(&self.scripts)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of the server's Ruby files.
    pub fn scripts(&self) -> &Path {
        &self.scripts
    }

    /// Returns the path of the Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_whole_until_something_in_it_is_gone() {
        let new_folder = || ProcessFolder::new(None).unwrap().0;
        assert!(new_folder().is_whole());
        let removals: [fn(&ProcessFolder); 4] = [
            |folder| fs::remove_file(folder.socket()).unwrap(),
            |folder| fs::remove_file(folder.scripts().join("wire.rb")).unwrap(),
            |folder| fs::write(folder.scripts().join("mold.rb"), "").unwrap(),
            |folder| fs::rename(folder.path(), folder.path().with_extension("away")).unwrap(),
        ];
        for (number, remove) in removals.into_iter().enumerate() {
            let folder = new_folder();
            remove(&folder);
            assert!(!folder.is_whole(), "{number}");
            let _ = fs::remove_dir_all(folder.path().with_extension("away"));
        }
    }

    #[test]
    fn a_folder_of_the_same_name_is_another_one() {
        let (folder, _listener) = ProcessFolder::new(None).unwrap();
        let away = folder.path().with_extension("away");
        fs::rename(folder.path(), &away).unwrap();
        // Complete, and locked: other processes that start meanwhile sweep the temporary folder.
        let (theirs, _listener) = ProcessFolder::new(None).unwrap();
        fs::rename(theirs.path(), folder.path()).unwrap();
        assert!(scripts::are_in(folder.scripts()) && !folder.is_whole());
        fs::remove_dir_all(away).unwrap();
    }
}
