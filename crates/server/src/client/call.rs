//! The arguments of a command: its flags and value, and how to find its server.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::Arg;

use crate::client::outcome::Failure;
use crate::config::commands::{ClientCommand, Flag};
use crate::config::suggest::nearest;

/// Options of all commands.
const WHICH: [&str; 5] = ["control", "state", "dir", "config", "help"];

/// How the server is found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Which {
    pub control: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub dir: Option<PathBuf>,
    /// The settings file that the server was started with.
    pub config: Option<PathBuf>,
}

/// A command with its arguments.
#[derive(Debug, Clone, Default)]
pub struct Call {
    pub which: Which,
    pub app: Option<String>,
    pub value: Option<String>,
    /// An unexpected word, which may be meant as the name of an application.
    pub surplus: Option<String>,
    /// The environment of this program: a settings file may use it to name the socket.
    pub environment: Vec<(OsString, OsString)>,
    flags: Vec<Flag>,
}

impl Call {
    /// Parses the words after the command; `None` if help is requested.
    pub fn read(
        command: &ClientCommand,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> Result<Option<Call>, Failure> {
        let mut call = Call { environment: environment.to_vec(), ..Call::default() };
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(arg) = parser.next().map_err(|error| Failure::usage(error.to_string()))? {
            match arg {
                Arg::Short('h') | Arg::Long("help") => return Ok(None),
                Arg::Long("control") => call.which.control = Some(control(&value(&mut parser, "--control PATH")?)),
                Arg::Short('S') | Arg::Long("state") => {
                    call.which.state = Some(value(&mut parser, "--state FILE")?.into());
                }
                Arg::Short('c') | Arg::Long("dir" | "chdir") => {
                    call.which.dir = Some(value(&mut parser, "--dir DIR")?.into());
                }
                Arg::Short('P') | Arg::Long("pid" | "pidfile" | "pid-file") => return Err(names_none("a pid file")),
                // Passenger and Thin take these where they stop a server.
                Arg::Short('p') | Arg::Long("port") => return Err(names_none("a port")),
                Arg::Short('e' | 'E') | Arg::Long("env" | "environment") => return Err(names_none("an environment")),
                Arg::Short('C') | Arg::Long("config") => {
                    call.which.config = Some(value(&mut parser, "-C FILE")?.into());
                }
                // Thin's one by one, with the time for each server: requests are served all the time anyway.
                Arg::Short('O') | Arg::Long("onebyone") if replaces(command) => {}
                Arg::Short('w') | Arg::Long("wait") if replaces(command) => {
                    value(&mut parser, "--wait SECONDS")?;
                }
                Arg::Long("app") if command.flags.contains(&Flag::App) => {
                    call.app = Some(value(&mut parser, "--app NAME")?.to_string_lossy().into_owned());
                }
                Arg::Long(word) => match command.flags.iter().find(|flag| flag.word() == word) {
                    Some(flag) => call.flags.push(*flag),
                    None => return Err(unknown(command, word)),
                },
                Arg::Short(letter) => return Err(Failure::usage(format!("-{letter}: there is no such option"))),
                Arg::Value(value) if command.value.is_empty() || call.value.is_some() => {
                    let value = value.to_string_lossy().into_owned();
                    if !command.flags.contains(&Flag::App) || !command.value.is_empty() {
                        return Err(Failure::usage(format!("{value}: nothing is expected here")));
                    }
                    call.surplus.get_or_insert(value);
                }
                Arg::Value(value) => call.value = Some(value.to_string_lossy().into_owned()),
            }
        }
        if !command.value.is_empty() && call.value.is_none() {
            return Err(Failure::usage(format!("say foolsgold {} {}", command.word, command.value)));
        }
        let named = environment.iter().find(|(name, value)| name == "FOOLS_GOLD_CONTROL" && !value.is_empty());
        if call.which == Which::default()
            && let Some((_, path)) = named.filter(|(_, value)| value != "off" && value != "auto")
        {
            call.which.control = Some(control(path));
        }
        Ok(Some(call))
    }

    /// Whether a flag was given.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }

    /// The query of an API request, for the named application.
    pub fn query(&self) -> String {
        self.app.as_deref().map(|app| format!("?app={}", encoded(app))).unwrap_or_default()
    }
}

/// Whether a command replaces what serves, as a restart in other servers does.
fn replaces(command: &ClientCommand) -> bool {
    ["reload", "restart"].contains(&command.word)
}

fn control(path: &OsString) -> PathBuf {
    match path.to_str().and_then(|path| path.strip_prefix("unix://")) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(path),
    }
}

fn value(parser: &mut lexopt::Parser, usage: &str) -> Result<OsString, Failure> {
    parser
        .value()
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Failure::usage(format!("needs a value: {usage}")))
}

/// The error about an option that names a server in other programs, and none here.
fn names_none(what: &str) -> Failure {
    Failure::usage(format!("{what} names no server here: say --dir DIR, its folder"))
}

fn unknown(command: &ClientCommand, word: &str) -> Failure {
    let known = command.flags.iter().map(|flag| flag.word()).chain(WHICH);
    Failure::usage(match nearest(word, known) {
        Some(near) => format!("--{word}: there is no such option; --{near} is the nearest"),
        None => format!("--{word}: there is no such option"),
    })
}

/// Percent-encodes a text for a query.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::commands::COMMANDS;

    fn read(words: &[&str], environment: &[(&str, &str)]) -> Result<Option<Call>, String> {
        let command = COMMANDS.iter().find(|command| command.word == words[0]).unwrap();
        let words: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
        let environment: Vec<_> = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Call::read(command, &words, &environment).map_err(|failure| failure.why)
    }

    #[test]
    fn flags_values_and_the_server_are_read() {
        let call = read(&["scale", "2:4", "--app", "my shop", "--control", "unix:///x"], &[]).unwrap().unwrap();
        assert_eq!(call.value.as_deref(), Some("2:4"));
        assert_eq!(call.query(), "?app=my%20shop");
        assert_eq!(call.which.control, Some(PathBuf::from("/x")));
        let as_puma = read(&["stop", "-S", "tmp/puma.state"], &[]).unwrap().unwrap();
        assert_eq!(as_puma.which.state, Some(PathBuf::from("tmp/puma.state")));
        let as_thin = read(&["stop", "-c", "/srv/shop"], &[]).unwrap().unwrap();
        assert_eq!(as_thin.which.dir, Some(PathBuf::from("/srv/shop")));
        let one_by_one = ["restart", "-C", "config/thin.yml", "-O", "-w", "30"];
        let as_thin = read(&one_by_one, &[]).unwrap().unwrap();
        assert_eq!(as_thin.which.config, Some(PathBuf::from("config/thin.yml")));
        assert!(read(&["reload", "--onebyone", "--wait=30"], &[]).unwrap().is_some());
        assert!(read(&["stop", "--now"], &[]).unwrap().unwrap().has(Flag::Now));
        assert!(read(&["status", "-h"], &[]).unwrap().is_none());
        let from_environment = read(&["status"], &[("FOOLS_GOLD_CONTROL", "/run/x")]).unwrap().unwrap();
        assert_eq!(from_environment.which.control, Some(PathBuf::from("/run/x")));
        assert_eq!(read(&["status"], &[("FOOLS_GOLD_CONTROL", "off")]).unwrap().unwrap().which, Which::default());
    }

    #[test]
    fn what_is_wrong_is_told_with_what_would_be_right() {
        for (words, right) in [
            (&["status", "--wach"][..], "--watch is the nearest"),
            (&["scale"], "say foolsgold scale N|MIN:MAX"),
            (&["stop", "shop"], "shop: nothing is expected here"),
            (&["kill-worker", "1", "2"], "2: nothing is expected here"),
            (&["stop", "--app", "x"], "--app: there is no such option"),
            (&["status", "--app"], "needs a value: --app NAME"),
            (&["status", "-x"], "-x: there is no such option"),
            (&["stop", "-O"], "-O: there is no such option"),
            (&["stop", "-P", "tmp/thin.pid"], "a pid file names no server here: say --dir DIR, its folder"),
            (&["stop", "-p", "5011"], "a port names no server here: say --dir DIR, its folder"),
            (&["stop", "--port=5011"], "a port names no server here: say --dir DIR, its folder"),
            (&["restart", "-e", "production"], "an environment names no server here: say --dir DIR, its folder"),
        ] {
            let why = read(words, &[]).unwrap_err();
            assert!(why.contains(right), "{words:?}: {why}");
        }
        // A word that may be an application is answered with the names of the server's applications.
        assert_eq!(read(&["status", "shop"], &[]).unwrap().unwrap().surplus.as_deref(), Some("shop"));
    }
}
