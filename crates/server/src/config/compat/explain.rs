//! `foolsgold explain FILE`: the translation of another server's file, as a foolsgold.toml with comments on everything
//! else.

use std::fmt::Write;
use std::path::Path;

use machine::Machine;

use super::translation::{RemarkKind, Setting, Translation};
use super::{ServerKind, leftover, translate};
use crate::config::arguments::{Arguments, OWN_VARIABLES, Origin, Problem, RawValue, SourcePosition};
use crate::config::file_text::text_of;
use crate::config::options::{Kind as Takes, Row};
use crate::config::paragraph;
use crate::config::settings::resolve;

/// Column of comments, if the setting is short enough.
const COLUMN: usize = 40;

/// Output of `explain`.
pub struct Explained {
    pub page: String,
    /// Why the server does not start with the file; empty if it does.
    pub problems: Vec<Problem>,
}

/// The explanation, or why there is none.
pub fn explain(asked: &Arguments, path: &Path) -> Result<Explained, Vec<Problem>> {
    let shown = path.display();
    let text = text_of(path).map_err(|error| vec![Problem(format!("{shown}: cannot be read: {error}"))])?;
    match ServerKind::of(path, &text) {
        Err(why) => Err(vec![Problem(why)]),
        Ok(None) => {
            Err(vec![Problem(format!("{shown}: is this program's own: `foolsgold config -C {shown}` shows it"))])
        }
        Ok(Some(kind)) => {
            let mut translation = translate(asked, kind, path, Path::new(""), &text)
                .map_err(|whys| whys.into_iter().map(Problem).collect::<Vec<_>>())?;
            take_variables(&mut translation, asked);
            name_silence(&mut translation);
            let unusable = unusable(&translation);
            let page = page(&translation, &unusable);
            Ok(Explained { page, problems: translation.refused().map(Problem).chain(unusable).collect() })
        }
    }
}

/// Replaces defaults by variables that the other server would read: a settings file counts less there, so the output
/// has the same values.
fn take_variables(translation: &mut Translation, asked: &Arguments) {
    let is_assumed = |setting: &&mut Setting| setting.place.line.is_none() && !setting.place.is_compat;
    for setting in translation.settings.iter_mut().filter(is_assumed) {
        let given = asked.values(setting.row.name).into_iter().next_back();
        if let Some(RawValue { value, origin: Origin::Variable(variable), .. }) = given
            && !variable.starts_with(OWN_VARIABLES)
            && !value.is_empty()
        {
            setting.value.clone_from(value);
            setting.place.written = format!("{variable}={value} in the environment");
        }
    }
}

/// Names where the log goes in the background if the file names none, which a settings file has to.
fn name_silence(translation: &mut Translation) {
    let is_in_background = matches!(translation.value("daemonize"), Some("yes" | "true"));
    let logs = ["log-file", "redirect-stdout", "redirect-stderr"];
    if is_in_background && logs.iter().all(|key| translation.value(key).is_none()) {
        translation.assume("log-file", "/dev/null", false);
    }
}

/// Errors that the server would report for these settings, except for users, who may exist only on the machine that
/// serves.
fn unusable(translation: &Translation) -> Vec<Problem> {
    let is_of_machine = |setting: &&Setting| ["user", "group"].contains(&setting.row.long);
    let given = translation.settings.iter().filter(|setting| !is_of_machine(setting)).map(|setting| {
        let name = setting.row.name;
        let value = setting.value.clone();
        let origin = Origin::File(setting.place.clone());
        RawValue { name, value, origin, app: None }
    });
    resolve(Arguments { given: given.collect(), ..Arguments::default() }, Machine::here()).err().unwrap_or_default()
}

fn page(translation: &Translation, unusable: &[Problem]) -> String {
    let kind = translation.kind.name();
    let shown = &translation.shown;
    let mut out = format!("# {shown}, a configuration of {kind}, as a foolsgold.toml.\n");
    if translation.kind.is_code() {
        out.push_str("# Its code was run for this, with all that it does.\n");
    }
    if !translation.left.is_empty() {
        paragraph::append(&mut out, "# ", &format!("Take care: {}.", leftover::in_words(&translation.left)));
    }
    out.push('\n');
    let _ = writeln!(out, "{:COLUMN$} # {kind} runs it on Ruby", "engine = \"ruby\"");
    if let Some(rackup) = &translation.rackup {
        let _ = writeln!(out, "path = {}", quoted(&rackup.display().to_string()));
    }
    let binds: Vec<&Setting> = translation.settings.iter().filter(|setting| setting.row.long == "bind").collect();
    match binds.as_slice() {
        [] => {}
        [one] => line(&mut out, &format!("bind = {}", quoted(&one.value)), &one.place, shown),
        several => {
            out.push_str("bind = [\n");
            for one in several {
                line(&mut out, &format!("  {},", quoted(&one.value)), &one.place, shown);
            }
            out.push_str("]\n");
        }
    }
    for setting in translation.settings.iter().filter(|setting| setting.row.long != "bind") {
        let text = format!("{} = {}", setting.row.long, value(setting.row, &setting.value));
        line(&mut out, &text, &setting.place, shown);
    }
    if !unusable.is_empty() {
        let _ = writeln!(out, "\n# The server does not start with these values:");
        unusable.iter().for_each(|problem| paragraph::append(&mut out, "#   ", &problem.0));
    }
    for (kind, title) in [
        (RemarkKind::Refused, "The server does not start with these:"),
        (RemarkKind::Missing, "These have no counterpart:"),
        (RemarkKind::Differs, "These do not mean quite the same:"),
        (RemarkKind::Hook, "These hooks run:"),
        (RemarkKind::Needless, "These are not needed:"),
    ] {
        let remarks = translation.remarks.iter().filter(|remark| remark.kind == kind && !remark.why.is_empty());
        for (at, remark) in remarks.enumerate() {
            if at == 0 {
                let _ = writeln!(out, "\n# {title}");
            }
            let written = remark.place.written.replace('\n', " ");
            let _ = writeln!(out, "#   {}: {written}", remark.place);
            paragraph::append(&mut out, "#       ", &remark.why);
        }
    }
    let _ = writeln!(out, "\n# In any case:");
    for why in translation.kind.always() {
        paragraph::append(&mut out, "#   ", why);
    }
    out
}

/// Appends a setting with its place in the explained file, `shown`, or in another one that this evaluates.
fn line(out: &mut String, text: &str, place: &SourcePosition, shown: &str) {
    let at = match place.line {
        None => String::new(),
        Some(line) if place.file == shown => format!("line {line}: "),
        Some(_) => format!("{place}: "),
    };
    let _ = writeln!(out, "{text:COLUMN$} # {at}{}", place.written.replace('\n', " "));
}

/// A value in TOML's syntax.
fn value(row: &Row, value: &str) -> String {
    let is_number = value.parse::<i64>().is_ok()
        && matches!(row.kind, Takes::Count(..) | Takes::CountOrAuto(..) | Takes::Size(..) | Takes::SizeOrNone(..));
    match (row.kind, value) {
        (Takes::Flag, "yes") => "true".to_owned(),
        (Takes::Flag, "no") => "false".to_owned(),
        _ if is_number => value.to_owned(),
        _ => quoted(value),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
