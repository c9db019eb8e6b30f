//! User and group that the server switches to once ports are bound and files are open, so that no application code runs
//! as root.

use std::ffi::CString;
use std::fmt;
use std::io;
use std::path::Path;

use engine_ruby::user::{find_group, find_user};
use nix::unistd::{Gid, Group, Uid, User, getgid, getuid, initgroups, setgid, setgroups, setuid};
use rustix::fs::{AtFlags, FileType, chownat, fstat};

use crate::process::links::found;

/// A user and a group that exist, and that this process may become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    uid: Uid,
    gid: Gid,
    /// The account's name, if it has one: supplementary groups are looked up by it.
    name: Option<String>,
}

impl Identity {
    /// Looks up user and group, each a name or a number. The group is the user's own unless given, or that of this
    /// process if it is the user already. The errors, of the user and of the group, do not say where these were set.
    pub fn find(user: Option<&str>, group: Option<&str>) -> Result<Option<Identity>, [Option<String>; 2]> {
        let (account, given) = match (user.map(find_user).transpose(), group.map(find_group).transpose()) {
            (Ok(account), Ok(given)) => (account, given),
            (account, given) => return Err([account.err(), given.err()]),
        };
        let of_given = |why: String| if user.is_some() { [Some(why), None] } else { [None, Some(why)] };
        let (uid, own, name) = match account {
            Some((uid, account)) => {
                let own = usual_group(uid, account.as_ref().map(|account| account.gid), (getuid(), getgid()));
                (uid, own, account.map(|account| account.name))
            }
            None if given.is_none() => return Ok(None),
            None => (getuid(), None, None),
        };
        let gid =
            given.or(own).ok_or_else(|| of_given("is a number that has no account: say --group too".to_owned()))?;
        let identity = Identity { uid, gid, name };
        if !getuid().is_root() && !identity.is_current() {
            let who = show_user(getuid());
            return Err(of_given(format!(
                "only root can become {identity}, and this process runs as {who}: start it as root, or leave it out"
            )));
        }
        Ok(Some(identity))
    }

    fn is_current(&self) -> bool {
        (self.uid, self.gid) == (getuid(), getgid())
    }

    /// Changes the owner of these files to this user and group: files made as root could not be written or removed
    /// later.
    pub fn own<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Result<(), String> {
        if !getuid().is_root() {
            return Ok(());
        }
        for path in paths {
            self.own_one(path).map_err(|error| format!("{} cannot be given to {self}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Refuses paths to which root must not follow symbolic links of another user. To be called before root opens or
    /// creates these files: otherwise, a user who can write to their folder could make root create a file anywhere, or
    /// change the owner of any file.
    pub fn check_links<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Result<(), String> {
        if !getuid().is_root() {
            return Ok(());
        }
        for path in paths {
            // A missing file is created later; any other error is reported when the file is opened.
            if let Err(error) = found(path)
                && error.kind() == io::ErrorKind::PermissionDenied
            {
                return Err(format!("{} cannot be given to {self}: {error}", path.display()));
            }
        }
        Ok(())
    }

    /// Changes the owner of a file or a socket, and follows a symbolic link only if it is root's. Anything else
    /// (`/dev/null` for a log, a pipe) is not the server's.
    fn own_one(&self, path: &Path) -> io::Result<()> {
        // By its descriptor: another file may have taken its place.
        let file = found(path)?;
        let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
        let uid = rustix::fs::Uid::from_raw(self.uid.as_raw());
        let gid = rustix::fs::Gid::from_raw(self.gid.as_raw());
        if kind.is_file() || kind.is_socket() {
            chownat(&file, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }

    /// Switches to this user and group, irrevocably.
    pub fn assume(&self) -> Result<(), String> {
        if self.is_current() && !getuid().is_root() {
            return Ok(());
        }
        self.try_to_assume().map_err(|error| format!("cannot become {self}: {error}"))
    }

    fn try_to_assume(&self) -> nix::Result<()> {
        match self.name.as_deref().map(CString::new) {
            Some(Ok(name)) => initgroups(&name, self.gid)?,
            _ => setgroups(&[self.gid])?,
        }
        setgid(self.gid)?;
        setuid(self.uid)?;
        // Root must not be reachable again.
        if !self.uid.is_root() && setuid(Uid::from_raw(0)).is_ok() {
            return Err(nix::Error::EPERM);
        }
        Ok(())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = Group::from_gid(self.gid).ok().flatten().map_or_else(|| self.gid.to_string(), |group| group.name);
        write!(f, "user {}, group {group}", show_user(self.uid))
    }
}

fn show_user(uid: Uid) -> String {
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}

/// The group for a user alone: the account's. A process that is the user already, and not root, keeps its own (uid and
/// gid are `own`): a unit of systemd may have another `Group=`, and Unicorn changes no group then either.
fn usual_group(uid: Uid, of_account: Option<Gid>, own: (Uid, Gid)) -> Option<Gid> {
    if uid == own.0 && !uid.is_root() { Some(own.1) } else { of_account }
}

/// The uid of a user, given by name or number.
pub fn user_number(word: &str) -> Result<u32, String> {
    find_user(word).map(|(uid, _)| uid.as_raw())
}

/// The gid of a group, given by name or number.
pub fn group_number(word: &str) -> Result<u32, String> {
    find_group(word).map(Gid::as_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_with_what_is_wrong() {
        let refusal = |user, group| Identity::find(user, group).unwrap_err();
        let [no_user, no_group] = ["user", "group"].map(|what| Some(format!("there is no such {what}")));
        assert_eq!(refusal(Some("no-such-user"), None), [no_user.clone(), None]);
        assert_eq!(refusal(None, Some("no-such-group")), [None, no_group.clone()]);
        assert_eq!(refusal(Some("no-such-user"), Some("no-such-group")), [no_user, no_group]);
        assert_eq!(Identity::find(None, None), Ok(None));
        if getuid().is_root() {
            let [of_user, of_group] = refusal(Some("54321"), None);
            assert!(of_user.is_some_and(|why| why.contains("say --group too")) && of_group.is_none());
            let found = Identity::find(Some("54321"), Some("54322")).unwrap().unwrap();
            assert_eq!(found.to_string(), "user 54321, group 54322");
        }
    }

    #[test]
    fn who_is_the_user_already_keeps_the_group() {
        let own = |uid: u32| (Uid::from_raw(uid), Gid::from_raw(33));
        let group = |uid: u32, of: u32| usual_group(Uid::from_raw(uid), Some(Gid::from_raw(uid)), own(of));
        assert_eq!(group(1000, 1000), Some(Gid::from_raw(33)));
        assert_eq!(group(1000, 0), Some(Gid::from_raw(1000)), "root becomes the user with its group");
        assert_eq!(group(1000, 1001), Some(Gid::from_raw(1000)));
        assert_eq!(group(0, 0), Some(Gid::from_raw(0)));
    }

    #[test]
    fn one_may_be_what_one_is() {
        let (uid, gid) = (getuid().to_string(), getgid().to_string());
        let found = Identity::find(Some(&uid), Some(&gid)).unwrap().unwrap();
        assert!(found.is_current());
    }
}
