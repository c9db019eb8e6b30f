//! The user that Ruby processes run as, if the server is root and they should not be.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{self, Gid, Group, Uid};

use crate::start_error::no_ruby;

/// The first argument that makes this program become another user and then execute another program.
pub const BECOME: &str = "--become";

/// The helper that becomes a user: this program, which calls [`become_user`] when its first argument is [`BECOME`].
const HELPER: &str = "/proc/self/exe";

/// Prefix of variables that the helper sets only for the program that it executes.
const HELD: &str = "FOOLS_GOLD_HELD_";

/// A user without the rights of root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The login name; the number of a user without an account.
    pub name: String,
    /// The user id.
    pub uid: u32,
    /// The primary group id.
    pub gid: u32,
    /// The supplementary group ids.
    pub groups: Vec<u32>,
    /// The home directory, for HOME.
    pub home: PathBuf,
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

/// Sets a variable for the program of a command that [`command`] has made for this user. The helper begins with the
/// rights of root, and the dynamic linker obeys variables such as LD_PRELOAD (ld.so(8)). So it gets the variable
/// under another name: otherwise, whoever may write to the file that sets it could become root.
pub(crate) fn set_variable(command: &mut Command, user: Option<&User>, name: &str, value: &str) {
    command.env(if user.is_some() { format!("{HELD}{name}") } else { name.to_owned() }, value);
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
    /// Looks a user up by name or number. `group`, a name or number, replaces the primary group. A number without an
    /// account needs a group, has no others, and its home directory is `/`, as in Docker.
    pub fn find(user: &str, group: Option<&str>) -> Result<User, String> {
        let (uid, account) = find_user(user)?;
        let group = group.map(find_group).transpose()?;
        let Some(account) = account else {
            let gid = group.ok_or_else(|| format!("is a number that has no account: say {user}:GROUP"))?.as_raw();
            let (name, uid) = (user.to_owned(), uid.as_raw());
            return Ok(User { name, uid, gid, groups: vec![gid], home: "/".into() });
        };
        let gid = group.unwrap_or(account.gid);
        let name = CString::new(account.name.as_str()).map_err(|error| format!("the user {user}: {error}"))?;
        let groups = unistd::getgrouplist(&name, gid).map_err(|error| format!("the groups of {user}: {error}"))?;
        let groups = groups.into_iter().map(Gid::as_raw).collect();
        let (uid, gid) = (uid.as_raw(), gid.as_raw());
        Ok(User { name: account.name, uid, gid, groups, home: account.dir })
    }

    /// Returns a command that runs a program as this user.
    fn command(&self, program: &Path) -> Command {
        let groups: Vec<String> = self.groups.iter().map(u32::to_string).collect();
        let mut command = Command::new(HELPER);
        command.arg(BECOME).arg(format!("{}:{}:{}", self.uid, self.gid, groups.join(","))).arg(program);
        command.env("HOME", &self.home).env("USER", &self.name).env("LOGNAME", &self.name);
        command
    }

    /// Makes the user the owner of a file or a folder.
    pub(crate) fn own(&self, path: &Path) -> io::Result<()> {
        chown(path, Some(self.uid), Some(self.gid))
    }
}

/// Looks a user up by name or number. A number need not have an account.
pub fn find_user(word: &str) -> Result<(Uid, Option<unistd::User>), String> {
    let failure = |error: nix::Error| format!("the users of this machine cannot be looked up: {error}");
    if let Some(account) = unistd::User::from_name(word).map_err(failure)? {
        return Ok((account.uid, Some(account)));
    }
    let Ok(number) = word.parse::<u32>() else { return Err("there is no such user".to_owned()) };
    let uid = Uid::from_raw(number);
    Ok((uid, unistd::User::from_uid(uid).map_err(failure)?))
}

/// Looks a group up by name or number. A number need not have an entry.
pub fn find_group(word: &str) -> Result<Gid, String> {
    let failure = |error: nix::Error| format!("the groups of this machine cannot be looked up: {error}");
    match (Group::from_name(word).map_err(failure)?, word.parse::<u32>()) {
        (Some(group), _) => Ok(group.gid),
        (None, Ok(number)) => Ok(Gid::from_raw(number)),
        (None, Err(_)) => Err("there is no such group".to_owned()),
    }
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
    let failure = |error: nix::Error| error.desc().to_owned();
    unistd::setgroups(&groups).map_err(failure)?;
    unistd::setgid(Gid::from_raw(number(gid)?)).map_err(failure)?;
    unistd::setuid(Uid::from_raw(number(uid)?)).map_err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_found_by_name_and_by_number() {
        let root = User::find("root", None).unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(User::find("0", None).unwrap().name, "root");
        let refusal = |user, group| User::find(user, group).unwrap_err();
        assert_eq!(refusal("nobody-of-that-name", None), "there is no such user");
        assert_eq!(refusal("root", Some("no-such-group")), "there is no such group");
    }

    /// As images have them, and as `USER 54321:54322` of a Dockerfile means it.
    #[test]
    fn a_number_without_an_account_needs_a_group() {
        let found = User::find("54321", Some("54322")).unwrap();
        assert_eq!((found.uid, found.gid, &found.groups[..], found.home), (54321, 54322, &[54322][..], "/".into()));
        assert!(User::find("54321", None).unwrap_err().contains("say 54321:GROUP"));
    }

    #[test]
    fn a_helper_says_what_it_lacks() {
        assert!(become_user(&[], &[]).contains("UID:GID"));
        assert!(become_user(&["1:2:3".into()], &[]).contains("a program"));
        assert!(become_user(&["one".into(), "true".into()], &[]).contains("must be UID:GID"));
    }

    #[test]
    fn a_variable_for_a_program_of_a_user_has_no_effect_in_the_helper_that_is_still_root() {
        let root = User::find("root", None).unwrap();
        let names = |user: Option<&User>| {
            let mut command = Command::new("ruby");
            set_variable(&mut command, user, "LD_PRELOAD", "theirs.so");
            command.get_envs().map(|(name, _)| name.to_owned()).collect::<Vec<OsString>>()
        };
        assert_eq!(names(Some(&root)), ["FOOLS_GOLD_HELD_LD_PRELOAD"]);
        assert_eq!(names(None), ["LD_PRELOAD"]);

        let mut command = Command::new("ruby");
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        release(&mut command, &[pair("FOOLS_GOLD_HELD_LD_PRELOAD", "theirs.so"), pair("PATH", "/bin")]);
        let set: Vec<_> = command.get_envs().collect();
        assert!(set.contains(&("FOOLS_GOLD_HELD_LD_PRELOAD".as_ref(), None)), "{set:?}");
        assert!(set.contains(&("LD_PRELOAD".as_ref(), Some("theirs.so".as_ref()))) && set.len() == 2, "{set:?}");
    }
}
