//! Prints the table of options: as help for a terminal and as the page docs/options.md. Adds no facts of its own.

use std::fmt::Write;

use crate::config::commands;
use crate::config::compat::flags;
use crate::config::options::{Kind, Row, Section, TABLE};
use crate::config::paragraph;
use crate::config::size::{show_size, show_time};

const USAGE: &str = "\
Usage: foolsgold [OPTIONS] [CONFIG.RU]

Serves a Rack application, on embedded mruby or on your own Ruby. CONFIG.RU is a file, or a folder with a config.ru in
it (default: the current one).
";

const OTHERS: &str = "
Others:
  -h, --help                this text
  -V, --version             the versions of the program and of its engine
      config [--json]       the resolved settings, each with its source
      config --check        only whether the settings can be used
      explain FILE          another server's configuration in terms of this one
      doctor [CONFIG.RU]    whether the application can run embedded, and what it lacks
      native [--ruby PATH]  build the native worker for this Ruby
      options --markdown    these options as a page of Markdown

";

const FORMS: &str = "\
Sizes are whole numbers with B, KB, KiB, MB, MiB, GB or GiB (none: bytes), durations with ms, s, m or h (none: seconds).
Each option has a variable, FOOLS_GOLD_ and its name: FOOLS_GOLD_HEADER_BYTES=64KiB. Flags override variables, and
these override foolsgold.toml, where options have the same names: request-time = 5.
Exit code: 0 shut down as requested, 1 could not start, 2 cannot use the command line or the settings.
";

const CONFIG: &str = "\
Usage: foolsgold config [OPTIONS] [CONFIG.RU]

Shows the resolved settings, each with its source. A settings file in Ruby is run for it.

      --json        print them for programs
      --check       print only whether a server could start with them, after a look at the files,
                    folders, sockets and the Ruby that they name
  -h, --help        this text

The options of the server count here, too: foolsgold --help names them.
Exit code: 0 the settings can be used, 2 they cannot.
";

const EXPLAIN: &str = "\
Usage: foolsgold explain [OPTIONS] FILE

Prints a configuration file of Puma, Unicorn, Pitchfork, Thin or Passenger as a foolsgold.toml, with
comments on all that differs here. A file in Ruby is run for it.

  -h, --help        this text

The options of the server count here, too, such as --ruby and -e: foolsgold --help names them.
Exit code: 0 a server starts with the file, 1 it does not, 2 the file cannot be read.
";

const NATIVE: &str = "\
Usage: foolsgold native [OPTIONS]

Builds the native worker, with which Ruby processes need less processor time. The next start takes it.
It needs a C compiler and Ruby's headers.

      --ruby PATH   for this Ruby (default: ruby)
  -h, --help        this text

Exit code: 0 it is built, 1 it cannot be built, 2 the options cannot be used.
";

const OPTIONS: &str = "\
Usage: foolsgold options --markdown

Prints all options as a page of Markdown, which is docs/options.md.
";

/// Column at which the text about an option begins.
const INDENT: usize = 28;

/// The text of `--help` behind this word, which may be a command.
pub fn of(word: Option<&str>) -> String {
    match word {
        Some("config") => CONFIG.to_owned(),
        Some("explain") => EXPLAIN.to_owned(),
        Some("native") => NATIVE.to_owned(),
        Some("options") => OPTIONS.to_owned(),
        _ => help(),
    }
}

/// The text of `foolsgold --help`.
fn help() -> String {
    let mut out = String::from(USAGE);
    for (section, title) in Section::ALL {
        let _ = writeln!(out, "\n{title}:");
        for row in rows(section) {
            terminal_row(&mut out, row);
        }
    }
    out.push_str("\nCommands for a running server:\n");
    for (words, help) in commands::words() {
        let _ = writeln!(out, "{:INDENT$}{help}", format!("      {words}"));
    }
    out + OTHERS + FORMS
}

/// The text of docs/options.md.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Options\n\n<!-- Printed by `foolsgold options --markdown` from crates/server/src/config/options.rs. To \
         print it again: `bin/docs`. -->\n\n`foolsgold [OPTIONS] [CONFIG.RU]`\n\n\
         An option on the command line overrides its variable in the environment, which overrides the same name in\n\
         [foolsgold.toml](settings.md); a blank variable counts as absent. `foolsgold config` shows the result.\n\
         The server lists all settings that cannot be used at once, each with its source and what would be \
         right.\nSizes are whole numbers with `B`, `KB`, `KiB`, `MB`, `MiB`, `GB` or `GiB` (none: bytes),\n\
         durations with \
         `ms`, `s`, `m` or `h` (none: seconds).\n",
    );
    for (section, title) in Section::ALL {
        let _ = writeln!(out, "\n## {title}\n");
        if section == Section::Elsewhere {
            for row in rows(section) {
                let _ = writeln!(out, "- {}: {}", flags(row, "`"), row.help);
            }
            continue;
        }
        out.push_str("| option | in the environment | default | may be | meaning |\n| --- | --- | --- | --- | --- |\n");
        for row in rows(section) {
            let variables: Vec<String> = row.variables().iter().map(|name| format!("`{name}`")).collect();
            let variables = variables.join(", ");
            let default = row.default_words();
            let _ =
                writeln!(out, "| {} | {variables} | {default} | {} | {} |", flags(row, "`"), range(row.kind), row.help);
        }
    }
    other_flags(&mut out);
    out.push_str("\n## Exit codes\n\n| code | meaning |\n| --- | --- |\n| 0 | shut down as requested |\n");
    out.push_str("| 1 | could not start: the application fails to load, an address is in use |\n");
    out.push_str("| 2 | the command line or a setting cannot be used: a misspelt command or flag, a wrong value |\n");
    out
}

/// The table of other servers' flags.
fn other_flags(out: &mut String) {
    out.push_str("\n## Flags of other servers\n\n| flag | of | here |\n| --- | --- | --- |\n");
    for one in flags::ALL {
        let value = if one.value.is_empty() { String::new() } else { format!(" {}", one.value) };
        let flags: Vec<String> = one.flags.iter().map(|flag| format!("`{flag}{value}`")).collect();
        let _ = writeln!(out, "| {} | {} | {} |", flags.join(", "), one.of, one.here());
    }
}

fn rows(section: Section) -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(move |row| row.section == section)
}

fn flags(row: &Row, quote: &str) -> String {
    let value = match row.kind {
        Kind::Switch(_) => row.value.to_owned(),
        _ if row.takes_value() => format!(" {}", row.value),
        _ => String::new(),
    };
    let long = format!("{quote}--{}{value}{quote}", row.long);
    match row.short {
        Some(letter) => format!("{quote}-{letter}{quote}, {long}"),
        None => long,
    }
}

fn range(kind: Kind) -> String {
    match kind {
        Kind::Flag => "yes, no".into(),
        Kind::Switch(words) => format!("yes, no, {}", words.join(", ")),
        Kind::Text | Kind::List | Kind::Refused(_) => "text".into(),
        Kind::Path => "a path".into(),
        Kind::Choice(words) => words.join(", "),
        Kind::Count(least, u64::MAX) => format!("{least} or more"),
        Kind::Count(least, most) => format!("{least} to {most}"),
        Kind::CountOrAuto(least, most) => format!("auto, {least} to {most}"),
        Kind::Size(least, u64::MAX) => format!("{} or more", show_size(least)),
        Kind::Size(least, most) => format!("{} to {}", show_size(least), show_size(most)),
        Kind::SizeOrNone(least, _) => format!("none, {} or more", show_size(least)),
        Kind::Time(least, most) => format!("{} to {}", show_time(least), show_time(most)),
        Kind::TimeOrNone(least, most) => format!("none, {} to {}", show_time(least), show_time(most)),
    }
}

fn terminal_row(out: &mut String, row: &Row) {
    let names = flags(row, "");
    let names = if row.short.is_some() { format!("  {names}") } else { format!("      {names}") };
    let default = match row.default_words() {
        "" => String::new(),
        words => format!(" [{words}]"),
    };
    let mut text = String::new();
    paragraph::append(&mut text, &" ".repeat(INDENT), &format!("{}{default}", row.help));
    if names.len() < INDENT {
        text.replace_range(..names.len(), &names);
    } else {
        let _ = writeln!(out, "{names}");
    }
    out.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_option_and_fits_the_terminal() {
        let help = help();
        for row in &TABLE {
            assert!(help.contains(&format!("--{}", row.long)), "--{} is missing", row.long);
        }
        assert_eq!(help.lines().find(|line| line.len() > 120), None);
        for text in [CONFIG, EXPLAIN, NATIVE, OPTIONS] {
            assert_eq!(text.lines().find(|line| line.len() > 102), None);
        }
    }

    #[test]
    fn the_options_page_is_the_table() {
        let page = include_str!("../../../../docs/options.md");
        assert!(page == markdown(), "docs/options.md is not what the table says: run bin/docs");
    }
}
