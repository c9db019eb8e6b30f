//! Tables of whole programs (tests/programs) with the trace of each on CRuby: that on the embedded interpreter is the
//! same. `ruby tests/programs/record.rb TABLE` records CRuby's traces anew.

use std::fs;
use std::path::Path;

use crate::support;
use crate::support::get;

/// A program with its title and its trace on CRuby.
struct Program {
    title: String,
    code: String,
    expected: Vec<String>,
}

fn programs(table: &str) -> Vec<Program> {
    let parts = table.split("\n## ").skip(1);
    parts
        .map(|part| {
            let (title, body) = part.split_once('\n').unwrap();
            let is_answer = |line: &&str| line.starts_with("#=> ");
            Program {
                title: title.to_owned(),
                code: body.lines().filter(|line| !is_answer(line)).map(|line| format!("{line}\n")).collect(),
                expected: body.lines().filter(is_answer).map(|line| line[4..].to_owned()).collect(),
            }
        })
        .collect()
}

fn agree(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(table);
    let programs = programs(&fs::read_to_string(path).unwrap());
    assert!(programs.len() > 10, "{} programs", programs.len());
    let folder = tempfile::tempdir().unwrap();
    let app = support::programs(folder.path());
    let mut others = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        let name = format!("p{index}.rb");
        fs::write(folder.path().join(&name), &program.code).unwrap();
        let body = match app.call(get(&format!("/{name}"))).result {
            Ok(response) => support::read(response.body),
            Err(fault) => format!("{fault:?}"),
        };
        let noted: Vec<&str> = body.lines().collect();
        if noted != program.expected {
            let Program { title, expected, .. } = program;
            others.push(format!("{title}\n  CRuby: {expected:?}\n  here:  {noted:?}"));
        }
    }
    assert!(others.is_empty(), "{} differ:\n{}", others.len(), others.join("\n"));
}

#[test]
fn control_flow_is_as_on_cruby() {
    agree("control.txt");
}

#[test]
fn constants_and_core_objects_are_as_on_cruby() {
    agree("objects.txt");
}

#[test]
fn names_and_scopes_are_as_on_cruby() {
    agree("scopes.txt");
}
