//! The user that Ruby processes run as, if the server is root and they should not be.

use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{self, Gid, Group, Uid};

use crate::start_error::no_ruby;

/// The first argument that makes this program become another user and then execute another program.
pub const BECOME: &str = "--become";

/// Prefix of variables that the helper sets only for the program that it executes.
const HELD: &str = "FOOLS_GOLD_HELD_";

/// A user without the rights of root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The login name.
    pub name: String,
    /// The user id.
    pub uid: u32,
    /// The primary group id.
    pub gid: u32,
    /// The supplementary group ids.
    pub groups: Vec<u32>,
    /// The home directory, for HOME.
    pub home: PathBuf,
    /// A program that understands [`BECOME`] as [`become_user`] does. Without it the supplementary groups are not set.
    pub helper: Option<PathBuf>,
}

/// Returns a command that runs a program, such as a Ruby, as `user` if one is given, and without the server's secrets
/// in its environment.
pub fn command(program: &Path, user: Option<&User>) -> Command {
    let mut command = user.map_or_else(|| Command::new(program), |user| user.command(program));
    for name in engine::SECRET_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// Sets a variable for the program of a command that [`command`] has made for this user. A helper begins with the
/// rights of root, and the dynamic linker obeys variables such as LD_PRELOAD (ld.so(8)). So a helper gets the variable
/// under another name: otherwise, whoever may write to the file that sets it could become root.
pub(crate) fn set_variable(command: &mut Command, user: Option<&User>, name: &str, value: &str) {
    let is_held = user.is_some_and(|user| user.helper.is_some());
    command.env(if is_held { format!("{HELD}{name}") } else { name.to_owned() }, value);
}

/// Gives the variables of a helper's environment that were set for its program their own names.
fn release(command: &mut Command, environment: &[(OsString, OsString)]) {
    for (held, value) in environment {
        if let Some(name) = held.to_str().and_then(|held| held.strip_prefix(HELD)) {
            command.env_remove(held).env(name, value);
        }
    }
}

impl User {
    /// Looks a user up by name or number. `group`, a name or number, replaces the primary group.
    pub fn find(user: &str, group: Option<&str>) -> Result<User, String> {
        let number = user.parse::<u32>().ok().map(Uid::from_raw);
        let found = number.map_or_else(|| unistd::User::from_name(user), unistd::User::from_uid);
        let found = found.map_err(|error| format!("the user {user} cannot be looked up: {error}"))?;
        let found = found.ok_or_else(|| format!("there is no user {user} on this machine"))?;
        let gid = group.map_or(Ok(found.gid), gid_of)?;
        let name = CString::new(found.name.as_str()).map_err(|error| format!("the user {user}: {error}"))?;
        let groups = unistd::getgrouplist(&name, gid).map_err(|error| format!("the groups of {user}: {error}"))?;
        let groups = groups.into_iter().map(Gid::as_raw).collect();
        let (uid, gid) = (found.uid.as_raw(), gid.as_raw());
        Ok(User { name: found.name, uid, gid, groups, home: found.dir, helper: None })
    }

    /// Returns a command that runs a program as this user.
    fn command(&self, program: &Path) -> Command {
        let mut command = match &self.helper {
            Some(helper) => {
                let mut command = Command::new(helper);
                let groups: Vec<String> = self.groups.iter().map(u32::to_string).collect();
                command.arg(BECOME).arg(format!("{}:{}:{}", self.uid, self.gid, groups.join(","))).arg(program);
                command
            }
            None => {
                let mut command = Command::new(program);
                command.uid(self.uid).gid(self.gid);
                command
            }
        };
        command.env("HOME", &self.home).env("USER", &self.name).env("LOGNAME", &self.name);
        command
    }

    /// Makes the user the owner of a file or a folder.
    pub(crate) fn own(&self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }

    /// Returns whether a process belongs to this user. Process ids that its processes report must be checked before one
    /// is killed.
    pub(crate) fn runs(&self, pid: u32) -> bool {
        fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == self.uid)
    }
}

fn gid_of(group: &str) -> Result<Gid, String> {
    if let Ok(number) = group.parse::<u32>() {
        return Ok(Gid::from_raw(number));
    }
    let found = Group::from_name(group).map_err(|error| format!("the group {group} cannot be looked up: {error}"))?;
    found.map(|found| found.gid).ok_or_else(|| format!("there is no group {group} on this machine"))
}

/// Becomes the user and executes the program that the arguments after [`BECOME`] name; `environment` is that of this
/// process. Returns only on failure, with a message.
pub fn become_user(arguments: &[OsString], environment: &[(OsString, OsString)]) -> String {
    let Some((who, program)) = arguments.split_first().and_then(|(who, rest)| Some((who.to_str()?, rest))) else {
        return format!("{BECOME} needs UID:GID:GROUP,... and a program");
    };
    let Some((program, arguments)) = program.split_first() else {
        return format!("{BECOME} needs a program after UID:GID:GROUP,...");
    };
    if let Err(why) = change(who) {
        return format!("cannot become {who}: {why}");
    }
    let mut command = Command::new(program);
    command.args(arguments);
    release(&mut command, environment);
    let error = command.exec();
    no_ruby(Path::new(program), &error)
}

fn change(who: &str) -> Result<(), String> {
    let numbers: Vec<&str> = who.splitn(3, ':').collect();
    let [uid, gid, groups] = numbers[..] else { return Err("it must be UID:GID:GROUP,...".to_owned()) };
    let number = |text: &str| text.parse::<u32>().map_err(|error| format!("{text}: {error}"));
    let groups = groups.split(',').filter(|group| !group.is_empty()).map(|group| number(group).map(Gid::from_raw));
    let groups: Vec<Gid> = groups.collect::<Result<_, _>>()?;
    let told = |error: nix::Error| error.desc().to_owned();
    unistd::setgroups(&groups).map_err(told)?;
    unistd::setgid(Gid::from_raw(number(gid)?)).map_err(told)?;
    unistd::setuid(Uid::from_raw(number(uid)?)).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_found_by_name_and_by_number() {
        let root = User::find("root", None).unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(User::find("0", None).unwrap().name, "root");
        let unknown = User::find("nobody-of-that-name", None).unwrap_err();
        assert_eq!(unknown, "there is no user nobody-of-that-name on this machine");
        assert!(User::find("root", Some("no-such-group")).unwrap_err().contains("there is no group no-such-group"));
    }

    #[test]
    fn a_helper_says_what_it_lacks() {
        assert!(become_user(&[], &[]).contains("UID:GID"));
        assert!(become_user(&["1:2:3".into()], &[]).contains("a program"));
        assert!(become_user(&["one".into(), "true".into()], &[]).contains("must be UID:GID"));
    }

    #[test]
    fn a_variable_for_a_program_of_a_user_has_no_effect_in_the_helper_that_is_still_root() {
        let of_helper = User { helper: Some("helper".into()), ..User::find("root", None).unwrap() };
        let names = |user: Option<&User>| {
            let mut command = Command::new("ruby");
            set_variable(&mut command, user, "LD_PRELOAD", "theirs.so");
            command.get_envs().map(|(name, _)| name.to_owned()).collect::<Vec<OsString>>()
        };
        assert_eq!(names(Some(&of_helper)), ["FOOLS_GOLD_HELD_LD_PRELOAD"]);
        assert_eq!(names(Some(&User { helper: None, ..of_helper })), ["LD_PRELOAD"]);
        assert_eq!(names(None), ["LD_PRELOAD"]);

        let mut command = Command::new("ruby");
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        release(&mut command, &[pair("FOOLS_GOLD_HELD_LD_PRELOAD", "theirs.so"), pair("PATH", "/bin")]);
        let set: Vec<_> = command.get_envs().collect();
        assert!(set.contains(&("FOOLS_GOLD_HELD_LD_PRELOAD".as_ref(), None)), "{set:?}");
        assert!(set.contains(&("LD_PRELOAD".as_ref(), Some("theirs.so".as_ref()))) && set.len() == 2, "{set:?}");
    }
}
