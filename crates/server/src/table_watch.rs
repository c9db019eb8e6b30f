//! The rows of the table of options that say how the server is watched and told what to do.

use crate::options::{Default, Name, Row, Section};
use crate::table::row;

pub const CONTROL: Row = Row {
    default: Default::Text("auto"),
    help: "the Unix socket by which commands such as status and reload talk to this server: a path; auto takes a name \
           made of the application's folder, which the commands find when they are called there; off",
    ..row(Name::Control, "control", "PATH", Section::Watch)
};

pub const ADMIN: Row = Row {
    default: Default::Text("off"),
    help: "show a live page, /metrics for Prometheus, /healthz and /readyz on this address: a port of this machine, \
           tcp://HOST:PORT or unix:///PATH",
    ..row(Name::Admin, "admin", "URI", Section::Watch)
};

pub const ADMIN_TOKEN: Row = Row {
    help: "what whoever looks there must say, as a bearer token or as the password of any user; none lets everybody \
           look; must be said for addresses that other machines can reach (better as a variable than as an option, \
           which others on this machine can see)",
    ..row(Name::AdminToken, "admin-token", "TOKEN", Section::Watch)
};
