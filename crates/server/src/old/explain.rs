//! `foolsgold explain FILE`: the translation, as a foolsgold.toml with a comment for all that is not in it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::translation::{Remark, Setting, Translation, What};
use super::{Kind, translate};
use crate::asked::{Asked, Problem};
use crate::options::{Kind as Takes, Row};

/// Comments are aligned here, where the setting leaves room.
const COLUMN: usize = 40;

/// The text, or why there is none.
pub fn explain(asked: &Asked, path: &Path) -> Result<String, Vec<Problem>> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| vec![Problem(format!("{shown}: cannot be read: {error}"))])?;
    match Kind::of(path, &text) {
        Err(why) => Err(vec![Problem(why)]),
        Ok(None) => {
            Err(vec![Problem(format!("{shown}: is this program's own: `foolsgold config -C {shown}` shows it"))])
        }
        Ok(Some(kind)) => {
            let translation = translate(asked, kind, path, &text);
            translation.map(|translation| page(&translation)).map_err(|whys| whys.into_iter().map(Problem).collect())
        }
    }
}

fn page(translation: &Translation) -> String {
    let (kind, shown) = (translation.kind.name(), &translation.shown);
    let mut out = format!("# {shown}, a configuration of {kind}, as a foolsgold.toml.\n\n");
    if let Some(rackup) = &translation.rackup {
        let _ = writeln!(out, "path = {}", quoted(&rackup.display().to_string()));
    }
    let mut binds = translation.settings.iter().filter(|setting| setting.row.long == "bind").peekable();
    if binds.peek().is_some() {
        let all: Vec<&Setting> = binds.collect();
        let values: Vec<String> = all.iter().map(|setting| quoted(&setting.value)).collect();
        line(
            &mut out,
            &format!("bind = [{}]", values.join(", ")),
            all.iter().map(|setting| setting.place.line).next().flatten(),
            &all[0].place.written,
        );
    }
    for setting in translation.settings.iter().filter(|setting| setting.row.long != "bind") {
        let text = format!("{} = {}", setting.row.long, value(setting.row, &setting.value));
        line(&mut out, &text, setting.place.line, &setting.place.written);
    }
    for (what, title) in [
        (What::Refused, "The server does not start with these:"),
        (What::Missing, "These have no counterpart:"),
        (What::Differs, "These do not mean quite the same:"),
        (What::Runs, "These hooks run:"),
        (What::Needless, "These are not needed:"),
    ] {
        section(
            &mut out,
            title,
            translation.remarks.iter().filter(|remark| remark.what == what && !remark.why.is_empty()),
        );
    }
    let _ = writeln!(out, "\n# In any case:");
    for why in translation.kind.always() {
        let _ = writeln!(out, "#   {why}");
    }
    out
}

fn line(out: &mut String, text: &str, line: Option<usize>, written: &str) {
    let place = line.map_or_else(String::new, |line| format!("line {line}: "));
    let _ = writeln!(out, "{text:COLUMN$} # {place}{}", written.replace('\n', " "));
}

fn section<'a>(out: &mut String, title: &str, remarks: impl Iterator<Item = &'a Remark>) {
    let mut remarks = remarks.peekable();
    if remarks.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "\n# {title}");
    for remark in remarks {
        let written = remark.place.written.replace('\n', " ");
        let _ = writeln!(out, "#   {}: {written}\n#       {}", remark.place, remark.why);
    }
}

/// A value as TOML has it.
fn value(row: &Row, value: &str) -> String {
    let is_number =
        value.parse::<i64>().is_ok() && matches!(row.kind, Takes::Count(..) | Takes::CountOrAuto(..) | Takes::Size(..));
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
