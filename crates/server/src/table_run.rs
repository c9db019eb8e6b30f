//! The rows of the table of options that say as which process the server runs.

use crate::options::{Default, Kind, Name, Row, Section};
use crate::signal_map::Habit;
use crate::table::row;

pub const LOG_FILE: Row = Row {
    kind: Kind::Path,
    help: "append what is written to this file, the application's output too; a signal opens it anew after a rotation \
           (default: standard output)",
    ..row(Name::LogFile, "log-file", "FILE", Section::Log)
};

pub const REDIRECT_STDOUT: Row = Row {
    kind: Kind::Path,
    help: "the same for standard output alone, which the log is part of",
    ..row(Name::RedirectStdout, "redirect-stdout", "FILE", Section::Log)
};

pub const REDIRECT_STDERR: Row = Row {
    kind: Kind::Path,
    help: "the same for standard error alone",
    ..row(Name::RedirectStderr, "redirect-stderr", "FILE", Section::Log)
};

pub const DAEMONIZE: Row = Row {
    short: Some('d'),
    kind: Kind::Flag,
    default: Default::Text("no"),
    help: "serve in the background, with --log-file: the command ends when the server serves, or says why it does not",
    ..row(Name::Daemonize, "daemonize", "", Section::Run)
};

pub const PIDFILE: Row = Row {
    kind: Kind::Path,
    also: &["PIDFILE"],
    help: "write the process id to this file as long as the server serves; refused while a running server has it",
    ..row(Name::Pidfile, "pidfile", "FILE", Section::Run)
};

pub const STATE: Row = Row {
    short: Some('S'),
    kind: Kind::Path,
    help: "write process id and control address to this file, in the form of Puma's",
    ..row(Name::State, "state", "FILE", Section::Run)
};

pub const STATE_PERMISSION: Row = Row {
    help: "permissions of the state file, in octal, such as 0640 (default: 0644 without those of --umask)",
    ..row(Name::StatePermission, "state-permission", "BITS", Section::Run)
};

pub const USER: Row = Row {
    help: "become this user, a name or a number, when addresses are bound and files are open, before the application \
           is loaded",
    ..row(Name::User, "user", "USER", Section::Run)
};

pub const GROUP: Row =
    Row { help: "become this group (default: that of --user)", ..row(Name::Group, "group", "GROUP", Section::Run) };

pub const DIR: Row = Row {
    kind: Kind::Path,
    help: "go to this folder first: all other paths are seen from there",
    ..row(Name::Dir, "dir", "FOLDER", Section::Run)
};

pub const UMASK: Row = Row {
    help: "permissions that new files and Unix sockets do not get, in octal, such as 027",
    ..row(Name::Umask, "umask", "BITS", Section::Run)
};

pub const SIGNALS: Row = Row {
    kind: Kind::Choice(Habit::WORDS),
    default: Default::Text("puma"),
    help: "what signals mean: as in this server",
    ..row(Name::Signals, "signals", "SERVER", Section::Run)
};

pub const ACTIVATED: Row = Row {
    kind: Kind::Choice(&["no", "yes", "only"]),
    default: Default::Text("no"),
    help: "listen on all sockets that systemd hands over, beside --bind or, with =only, instead of it (where none is \
           handed over, --bind counts); without this, on those that --bind names",
    ..row(Name::BindToActivatedSockets, "bind-to-activated-sockets", "", Section::Run)
};
