//! The table of commands for a running server: parsing, running and help are read from it.

use std::fmt::Write;

/// A flag of some commands. All commands have the flags that name a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    App,
    Json,
    Watch,
    Now,
    NoWait,
    Backtraces,
}

/// The action of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Status,
    Workers,
    Recorder,
    Deploys,
    /// The order of the API that has the name of the command, and no parameters but the application.
    Plain,
    Scale,
    KillWorker,
    Drain,
    Stop,
    Control,
}

/// A command for a running server.
pub struct ClientCommand {
    pub word: &'static str,
    /// Name of its value, if it takes one.
    pub value: &'static str,
    pub flags: &'static [Flag],
    pub help: &'static str,
    /// Further text for its own help.
    pub more: &'static str,
    pub action: Action,
}

use Flag::{App, Backtraces, Json, NoWait, Now, Watch};

const fn command(word: &'static str, flags: &'static [Flag], action: Action, help: &'static str) -> ClientCommand {
    ClientCommand { word, value: "", flags, help, more: "", action }
}

/// All commands.
pub static COMMANDS: [ClientCommand; 15] = [
    ClientCommand {
        more: "Load, times, workers and the last deploy. With --watch it is redrawn each second.",
        ..command("status", &[App, Watch, Json], Action::Status, "show what a running server does")
    },
    command("workers", &[App, Json], Action::Workers, "show the workers and what each of them runs"),
    ClientCommand {
        help: "show what runs now, and the last slow, failed and refused requests",
        more: "With --backtraces also the current backtraces of busy workers.",
        ..command("recorder", &[App, Json, Backtraces], Action::Recorder, "")
    },
    command("deploys", &[App, Json], Action::Deploys, "show the last deploys and their outcomes"),
    ClientCommand {
        more: "Waits until the new code serves. If it does not load, or fails its probe, the old code goes on, the \
               error is shown, and the exit code is 1.",
        ..command("reload", &[App], Action::Plain, "load new code and settings, without losing a request")
    },
    ClientCommand {
        more: "For a new version of foolsgold, and for settings that a reload cannot change. For new code, reload is \
               enough.",
        ..command("restart", &[], Action::Plain, "start the program again, with the same sockets")
    },
    command("recycle", &[App], Action::Plain, "replace the workers by new ones with the same code"),
    ClientCommand { value: "N|MIN:MAX", ..command("scale", &[App], Action::Scale, "set the number of workers") },
    ClientCommand {
        more: "For example while a database is moved. A request that waits too long gets 503, as always.",
        ..command("pause", &[App], Action::Plain, "make requests wait, within the limits of the queue")
    },
    command("resume", &[App], Action::Plain, "end a pause"),
    ClientCommand {
        value: "N",
        more: "It finishes what it runs; with --now it is killed at once.",
        ..command("kill-worker", &[App, Now], Action::KillWorker, "stop a worker; another one takes its place")
    },
    ClientCommand {
        more: "/readyz answers 503 at once; after --drain-lag the server accepts no connections, and finishes running \
               requests. Waits until it has exited.",
        ..command("drain", &[NoWait], Action::Drain, "shut down after load balancers have noticed")
    },
    ClientCommand {
        more: "Waits until the server has exited. With --now, running requests are cut off.",
        ..command("stop", &[Now, NoWait], Action::Stop, "shut down when running requests are finished")
    },
    command("reopen-logs", &[], Action::Plain, "reopen log files, after they were renamed"),
    command("control", &[], Action::Control, "print the path of the control socket, for curl --unix-socket"),
];

impl Flag {
    /// The flag without its dashes.
    pub fn word(self) -> &'static str {
        let (flag, _) = self.help();
        flag.trim_start_matches('-').split(' ').next().unwrap_or(flag)
    }

    /// The flag with the name of its value, and what it does.
    fn help(self) -> (&'static str, &'static str) {
        match self {
            App => ("--app NAME", "only this application, where there are several"),
            Json => ("--json", "as JSON, in the format of the API"),
            Watch => ("--watch", "redraw it each second, until Ctrl-C"),
            Now => ("--now", "at once, even if requests are running"),
            NoWait => ("--no-wait", "do not wait until it has exited"),
            Backtraces => ("--backtraces", "with the backtraces of busy workers"),
        }
    }
}

/// Commands and their values, with their help, for `foolsgold --help`.
pub fn words() -> impl Iterator<Item = (String, &'static str)> {
    COMMANDS.iter().map(|command| (format!("{} {}", command.word, command.value).trim().to_owned(), command.help))
}

/// The names of all commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|command| command.word)
}

/// Whether a flag, with its dashes, is one that only commands have.
pub fn is_flag(spelt: &str) -> bool {
    let of_clients = COMMANDS.iter().flat_map(|command| command.flags).map(|flag| flag.word());
    // Those of `config` first.
    ["check", "json"].into_iter().chain(of_clients).any(|word| spelt.strip_prefix("--") == Some(word))
}

/// Whether a flag, with its dashes, is one that only commands have, and has a value.
pub fn is_flag_with_value(spelt: &str) -> bool {
    spelt.strip_prefix("--") == Some(App.word())
}

/// The text of `foolsgold COMMAND --help`.
pub fn help(command: &ClientCommand) -> String {
    let ClientCommand { word, value, flags, help, more, .. } = command;
    let value = if value.is_empty() { String::new() } else { format!(" {value}") };
    let mut out = format!("Usage: foolsgold {word}{value} [OPTIONS]\n\n{help}\n");
    let mut line = |text: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{text}");
    };
    if !more.is_empty() {
        line("");
        line(more);
    }
    line("");
    let servers = [
        ("--control PATH", "the control socket of the server (FOOLS_GOLD_CONTROL)"),
        ("-S, --state FILE", "the state file of the server"),
        ("-c, --dir DIR", "the server that serves this folder (default: the current one)"),
        ("-C, --config FILE", "the server with this settings file"),
        ("-h, --help", "this text"),
    ];
    for (flag, what) in flags.iter().map(|flag| flag.help()).chain(servers) {
        line(&format!("  {flag:18}{what}"));
    }
    line("");
    line("Exit code: 0 done, 1 failed, 2 the command line is wrong, 3 there is no such server.");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_commands_names_each_with_its_flags() {
        let page = include_str!("../../../../docs/control.md");
        for command in &COMMANDS {
            let start = format!("| `foolsgold {}", command.word);
            let is_of = |line: &&str| line.strip_prefix(&start).is_some_and(|rest| rest.starts_with(['`', ' ']));
            let row = page.lines().find(is_of);
            let row = row.unwrap_or_else(|| panic!("docs/control.md does not name {}", command.word));
            for flag in command.flags.iter().filter(|flag| **flag != App) {
                assert!(row.contains(&format!("--{}", flag.word())), "{}: --{}", command.word, flag.word());
            }
        }
    }
}
