//! Finds the server that a command is for: the named one, or the one that serves the current folder.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::Machine;
use serde_json::Value;

use crate::client::call::{Call, Which};
use crate::client::control_client::{ClientError, ControlClient, silent};
use crate::client::outcome::Failure;
use crate::client::text::plain;
use crate::config::arguments::Arguments;
use crate::config::compat;
use crate::config::control_path::{self, Candidate};
use crate::config::file;
use crate::config::invocation::Invocation;
use crate::config::options::Name;
use crate::process::folder;
use crate::process::identity;

/// A server that answers, or one that has a socket but does not answer.
struct Living {
    line: ControlClient,
    pid: u64,
    folder: String,
    started_in: String,
    /// The time within which it did not answer.
    silent: Option<Duration>,
    /// The user whose folder its socket is in, if its answers are not believed ([`Candidate::stranger`]).
    stranger: Option<u32>,
}

/// The server that this command is for.
pub fn server(call: &Call) -> Result<ControlClient, Failure> {
    let Which { control, state, dir, config } = &call.which;
    if let Some(path) = control {
        return ControlClient::to(path);
    }
    if let Some(path) = state {
        return ControlClient::to(&in_state(path)?);
    }
    let (here, asked) = if let Some(file) = config {
        let asked = by_file(file, dir.as_deref(), call)?;
        (Here::of(Some(&asked.folder))?, Some(asked))
    } else {
        let here = Here::of(dir.as_deref())?;
        let asked = by_folder(&here, call);
        (here, asked)
    };
    if let Some(path) = asked.as_ref().and_then(|asked| in_settings(&here, asked)) {
        return ControlClient::to(&path);
    }
    let mut others = Vec::new();
    let mut ours = Vec::new();
    let user = asked.as_ref().and_then(user_in_settings);
    for Candidate { path, stranger } in control_path::candidates(&here.real, user) {
        let is_named_after_us = stranger.is_none() && control_path::is_of(&path, &here.real);
        let living = match stranger {
            None => look(&path)?,
            Some(user) => Living::of_stranger(&path, user)?,
        };
        match living {
            Some(living) if is_named_after_us || here.is(&living) => ours.push(living),
            Some(living) => others.push(living),
            None => {}
        }
        // Another server of this folder has such a name, too, and those come first.
        if !is_named_after_us && !ours.is_empty() {
            break;
        }
    }
    match ours.len() {
        1 => match ours.remove(0) {
            Living { line, silent: Some(time), .. } => Err(Failure::failed(silent(&line.socket, time))),
            Living { line, .. } => Ok(line),
        },
        0 => Err(Failure::no_server(none(&here, &others))),
        _ => Err(Failure::usage(several(&here, &ours))),
    }
}

/// The folder whose server is wanted: by the shell's name, and its real path.
struct Here {
    said: PathBuf,
    real: PathBuf,
}

impl Here {
    fn of(dir: Option<&Path>) -> Result<Here, Failure> {
        let said = dir.map_or_else(folder::current, folder::absolute);
        let real = fs::canonicalize(&said);
        let real = real.map_err(|error| Failure::usage(format!("{}: {error}", said.display())))?;
        // A config.ru stands for its folder.
        if real.is_file() {
            let parent = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
            return Ok(Here { said: parent(&said), real: parent(&real) });
        }
        Ok(Here { said, real })
    }

    fn is(&self, living: &Living) -> bool {
        let is_one = |folder: &str| [&self.said, &self.real].iter().any(|ours| ours.as_path() == Path::new(folder));
        living.stranger.is_none() && (is_one(&living.folder) || is_one(&living.started_in))
    }
}

/// The server on a socket, if there is one.
fn look(socket: &Path) -> Result<Option<Living>, Failure> {
    let line = ControlClient::to(socket)?;
    let status = match line.glance() {
        Ok(status) => status,
        // It is starting: the request itself will report that.
        Err(ClientError::Refused(..)) => Value::Null,
        Err(ClientError::Silent(time)) => return Ok(Some(Living::silent(line, time))),
        Err(_) => return Ok(None),
    };
    let server = &status["server"];
    let text = |name: &str| server[name].as_str().unwrap_or_default().to_owned();
    let pid = server["pid"].as_u64().unwrap_or_default();
    let (folder, started_in) = (text("folder"), text("started_in"));
    Ok(Some(Living { line, pid, folder, started_in, silent: None, stranger: None }))
}

impl Living {
    /// A server that does not answer, with what the kernel knows of it.
    fn silent(line: ControlClient, time: Duration) -> Living {
        let pid = front::listener_of(&line.socket).map_or(0, u64::from);
        Living { silent: Some(time), ..Living::seen(line, pid) }
    }

    /// A server in a folder of another user, which is not asked: what the kernel knows of it. `None` if there is none.
    fn of_stranger(socket: &Path, user: u32) -> Result<Option<Living>, Failure> {
        let Ok(pid) = front::listener_of(socket).map(u64::from) else { return Ok(None) };
        Ok(Some(Living { stranger: Some(user), ..Living::seen(ControlClient::to(socket)?, pid) }))
    }

    /// A server that is not asked, or does not answer: its process, and that process's working directory.
    fn seen(line: ControlClient, pid: u64) -> Living {
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default().display().to_string();
        Living { line, pid, started_in: folder.clone(), folder, silent: None, stranger: None }
    }
}

/// Settings from the file beside the application in this folder. Code in it is not run for this: no other server's file
/// can name a control socket.
fn by_folder(here: &Here, call: &Call) -> Option<Arguments> {
    let invocation = Invocation::new(vec![here.real.clone().into()], call.environment.clone(), Machine::here());
    let typed = invocation.typed();
    // Errors in other settings do not matter here.
    (!file::is_code(&typed) && file::with_erb(&typed).is_none()).then(|| invocation.asked())
}

/// Settings from the named file: the server's folder and user, and perhaps its control socket. No code in it is run.
fn by_file(file: &Path, dir: Option<&Path>, call: &Call) -> Result<Arguments, Failure> {
    let with = |file: &Path, dir: Option<&Path>, user: Option<String>| {
        let dir = dir.map(|dir| [OsString::from("--dir"), dir.into()]);
        let user = user.map(|user| [OsString::from("--user"), user.into()]);
        let more = [dir, user].into_iter().flatten().flatten();
        let words = [OsString::from("-C"), file.into()].into_iter().chain(more).collect();
        Invocation::new(words, call.environment.clone(), Machine::here())
    };
    let not_run = |what: &str| {
        let file = file.display();
        Failure::usage(format!(
            "-C {file}: {what}, which is not run to find its server: name the served folder by --dir, or go there"
        ))
    };
    let mut invocation = with(file, dir, None);
    let typed = invocation.typed();
    if file::is_code(&typed) {
        return Err(not_run("is Ruby"));
    }
    if let Some(text) = file::with_erb(&typed) {
        let word = |key: &str| compat::word_without_erb(&text, key);
        let of_file = match dir {
            Some(_) => None,
            None => word("chdir").map_err(|why| not_run(&why))?.map(PathBuf::from),
        };
        // Without it, root's command finds the server by the owner of its folder.
        let user = word("user").ok().flatten();
        invocation = with(Path::new("-"), dir.or(of_file.as_deref()), user);
    }
    let asked = invocation.asked();
    // Errors in other settings do not matter. Without a folder, the error may be that the file cannot be read.
    match asked.problems.first().filter(|_| asked.values(Name::Dir).is_empty()) {
        Some(problem) => Err(Failure::usage(problem.to_string())),
        None => Ok(asked),
    }
}

/// The control socket in these settings; a relative path starts at the served folder.
fn in_settings(here: &Here, asked: &Arguments) -> Option<PathBuf> {
    let given = asked.values(Name::Control).last().copied()?;
    let path = given.value.strip_prefix("unix://").unwrap_or(&given.value);
    (!["off", "auto", ""].contains(&path)).then(|| here.real.join(path))
}

/// The user that these settings name for the server.
fn user_in_settings(asked: &Arguments) -> Option<u32> {
    let given = asked.values(Name::User).last().copied()?;
    identity::user_number(&given.value).ok()
}

/// The control socket that a state file names.
fn in_state(path: &Path) -> Result<PathBuf, Failure> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| Failure::no_server(format!("the state file {}: {error}", path.display())))?;
    let value = text.lines().find_map(|line| line.strip_prefix("foolsgold_control:"));
    let value = value.map(|value| value.trim().trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\"));
    let missing = || Failure::no_server(format!("{} names no control socket of FoolsGold", path.display()));
    let value = value.filter(|value| !value.is_empty()).ok_or_else(missing)?;
    Ok(PathBuf::from(value.strip_prefix("unix://").unwrap_or(&value)))
}

fn none(here: &Here, others: &[Living]) -> String {
    let more = if others.is_empty() {
        "--control PATH names the control socket of one (servers of other users are seen by root only)".to_owned()
    } else {
        format!("these run, and --control or --dir names one of them:{}", list(others))
    };
    format!("no server of {} was found; {more}", here.said.display())
}

fn several(here: &Here, ours: &[Living]) -> String {
    format!("several servers of {} run; say which one with --control:{}", here.said.display(), list(ours))
}

fn list(servers: &[Living]) -> String {
    let lines = servers.iter().map(|Living { line, pid, folder, silent, stranger, .. }| {
        let more = match (silent, stranger) {
            (Some(_), _) => ", does not answer".to_owned(),
            (None, Some(user)) => format!(", of user {user}: only by --control"),
            (None, None) => String::new(),
        };
        // Any user can make a socket, or a folder, of any name.
        let (socket, folder) = (plain(&line.socket.display().to_string()), plain(folder));
        format!("\n  --control {socket}  (process {pid}, {folder}{more})")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root's commands use sockets in the folders of that user.
    #[test]
    fn the_user_in_a_file_of_thin_is_known_without_its_erb() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("thin.yml");
        for (user, expected) in [("root # and no other", Some(0)), ("<%= raise 'it is run' %>", None)] {
            fs::write(&path, format!("port: <%= raise 'it is run' %>\nuser: {user}\n")).unwrap();
            let asked = by_file(&path, None, &Call::default()).unwrap();
            assert_eq!(user_in_settings(&asked), expected, "{user}");
        }
    }

    /// Root's commands show the servers of all users.
    #[test]
    fn names_that_users_have_chosen_do_not_control_the_terminal() {
        let socket = Path::new("/tmp/foolsgold-1000/a\u{1b}]0;b.sock");
        let seen = Living::seen(ControlClient::to(socket).unwrap(), 0);
        let living = Living { folder: "/tmp/\u{1b}[2J\n".to_owned(), ..seen };
        let text = list(&[living]);
        assert!(!text.trim_start().contains(char::is_control) && text.contains("a\u{fffd}]0;b.sock"), "{text:?}");
    }

    #[test]
    fn a_state_file_names_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        fs::write(&path, "---\npid: 12\nfoolsgold_control: \"unix:///run/a b.sock\"\n").unwrap();
        assert_eq!(in_state(&path).unwrap(), PathBuf::from("/run/a b.sock"));
        fs::write(&path, "---\npid: 12\n").unwrap();
        assert!(in_state(&path).unwrap_err().why.contains("names no control socket"));
    }
}
