//! Prints the doctor's report, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::answer::End;
use super::recommendation::{self, Recommendation};
use super::report::{Asked, OnRuby, Report, There};

/// Positions of a finding that are shown.
const PLACES: usize = 3;
/// Column of the text about a finding.
const COLUMN: usize = 12;

/// The report as text.
pub fn text(reports: &[Report]) -> String {
    reports.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(report: &Report) -> String {
    let mut out = format!("{}, on {}\n\n", report.rackup.display(), engine_mruby::version());
    match report.loaded {
        Some(time) => row(&mut out, "loads", &format!("yes, in {:.0?}", time)),
        None => row(&mut out, "loads", "no"),
    }
    if let (None, Some(why)) = (report.findings.first(), &report.refusal) {
        row(&mut out, "", why);
    }
    let gems = report.gem_names();
    let gems = if gems.is_empty() { "no gems".to_owned() } else { format!("gems: {}", gems.join(", ")) };
    row(&mut out, "files", &format!("config.ru and {} of the application; {gems}", report.own_files()));
    for finding in &report.findings {
        let what = match finding.kind.as_str() {
            "library" => format!("the library \"{}\"", finding.name),
            "constant" => format!("the constant {}", finding.name),
            _ => finding.words.clone(),
        };
        row(&mut out, "missing", &format!("{what}{}", places(report, &finding.places)));
        if let Some(remark) = &finding.remark {
            row(&mut out, "", remark);
        }
    }
    if let Some(why) = &report.unfinished {
        row(&mut out, "and more", why);
    }
    if !report.did_without.is_empty() {
        let names = report.did_without.join(", ");
        row(&mut out, "remark", &format!("asked for these libraries, and did without: {names}"));
    }
    for doubt in &report.doubts {
        let what = format!("`{}` (of {} in CRuby){}", doubt.method, doubt.classes, places(report, &doubt.places));
        row(&mut out, "may lack", &what);
    }
    for asked in &report.asked {
        row(&mut out, "answers", &asked_words(asked, report.ruby.as_deref()));
    }
    match (&report.on_ruby, report.loaded) {
        (OnRuby::Fails(why), _) => row(&mut out, "on ruby", &format!("does not load: {why}")),
        (OnRuby::Absent(why), _) => row(&mut out, "on ruby", &format!("not compared: {why}")),
        (OnRuby::Loads, None) => {
            row(&mut out, "on ruby", &format!("loads, on {}", report.ruby.as_deref().unwrap_or("ruby")))
        }
        (OnRuby::Loads, Some(_)) | (OnRuby::NotTried, _) => {}
    }
    let gemfile = report.gemfile.as_ref().filter(|_| Recommendation::of(report).is_good());
    let _ = writeln!(out, "\n{}", Recommendation::of(report).sentence(report));
    if let Some(gemfile) = gemfile {
        let gemfile = gemfile.file_name().unwrap_or_default().display();
        let _ = writeln!(out, "Without --engine, {gemfile} would be a reason to take ruby.");
    }
    out
}

fn asked_words(asked: &Asked, ruby: Option<&str>) -> String {
    let here = match &asked.here {
        Ok(answer) => format!("{}, {}", answer.status, answer.body.size()),
        Err(why) => why.replace('\n', &format!("\n{:COLUMN$}", "")),
    };
    let ruby = ruby.unwrap_or("ruby");
    match &asked.there {
        There::NotAsked => format!("GET {}: {here}", asked.path),
        There::Same(changing) => format!("GET {}: {here}; the same on {ruby}{}", asked.path, but_for(changing)),
        There::Other { found, .. } => {
            let how = found.real.join("; ");
            let changing = but_for(&found.changing);
            format!("GET {}: {here}; on {ruby} otherwise: {how}{changing}", asked.path)
        }
        There::Failed(why) => format!("GET {}: {here}; on {ruby}: {why}", asked.path),
    }
}

fn but_for(changing: &[String]) -> String {
    if changing.is_empty() {
        String::new()
    } else {
        format!(" (not compared: {}, other each time)", changing.join(", "))
    }
}

fn places(report: &Report, places: &[String]) -> String {
    let known: Vec<&str> = places.iter().filter(|place| !place.is_empty()).map(|place| report.short(place)).collect();
    let shown = known.iter().take(PLACES).copied().collect::<Vec<_>>().join(", ");
    match known.len() {
        0 => String::new(),
        few if few <= PLACES => format!(", at {shown}"),
        many => format!(", at {shown} and {} more", many - PLACES),
    }
}

fn row(out: &mut String, name: &str, words: &str) {
    let words = words.trim_end().replace('\n', &format!("\n{:COLUMN$}", ""));
    let _ = writeln!(out, "{:COLUMN$}{words}", format!("  {name}"));
}

/// The report as JSON; docs/doctor.md describes it.
pub fn json(reports: &[Report]) -> String {
    let all: Vec<Value> = reports.iter().map(value).collect();
    format!("{:#}\n", Value::from(all))
}

fn value(report: &Report) -> Value {
    let asked: Vec<Value> = report.asked.iter().map(asked_value).collect();
    let (on_ruby, words) = match &report.on_ruby {
        OnRuby::NotTried => ("not tried", None),
        OnRuby::Loads => ("loads", None),
        OnRuby::Fails(why) => ("fails", Some(why)),
        OnRuby::Absent(why) => ("absent", Some(why)),
    };
    json!({
        "rackup": report.rackup.display().to_string(),
        "interpreter": engine_mruby::version(),
        "recommended": Recommendation::of(report).word(),
        "loads": report.loaded.is_some(),
        "load_ms": report.loaded.map(|time| time.as_secs_f64() * 1e3),
        "refusal": report.refusal,
        "gems": report.gem_names(),
        "missing": report.findings,
        "missing_more": report.unfinished,
        "did_without": report.did_without,
        "may_lack": report.doubts,
        "answers": asked,
        "ruby": report.ruby,
        "on_ruby": on_ruby,
        "on_ruby_words": words,
        "install_for_ruby": recommendation::not_installed(report),
    })
}

fn asked_value(asked: &Asked) -> Value {
    let (there, words, changing): (_, _, &[String]) = match &asked.there {
        There::NotAsked => ("not asked", None, &[]),
        There::Same(changing) => ("same", None, changing),
        There::Other { found, .. } => ("other", Some(found.real.join("; ")), &found.changing),
        There::Failed(why) => ("failed", Some(why.clone()), &[]),
    };
    let here = asked.here.as_ref().ok();
    json!({
        "path": asked.path,
        "status": here.map(|answer| answer.status),
        "bytes": here.map(|answer| answer.body.length),
        "whole": here.map(|answer| answer.body.end == End::Whole),
        "error": asked.here.as_ref().err(),
        "on_ruby": there,
        "on_ruby_words": words,
        "changing": changing,
    })
}
