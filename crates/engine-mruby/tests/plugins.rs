//! The files of Rack, Roda and Sinatra that load on the embedded interpreter, and the plugins of Roda that work: the
//! tables of docs/frameworks.md, which `bin/frameworks` prints.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{App, folder, gems, single};

/// The folder of a gem, of which one version is installed.
fn gem(name: &str) -> PathBuf {
    let all = fs::read_dir(gems().join("gems")).unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        file.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()))
    };
    all.into_iter().find(is_it).unwrap_or_else(|| panic!("{name} is not among the gems: bin/gems"))
}

fn ruby_files(folder: &Path, below: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{below}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            ruby_files(&path, &format!("{name}/"), found);
        } else if let Some(name) = name.strip_suffix(".rb") {
            found.push(name.to_owned());
        }
    }
    found.sort();
}

/// The results of these lines of Ruby, which run one after the other in one interpreter.
fn said(prelude: &str, lines: &[String]) -> Vec<String> {
    let list = lines.iter().map(|line| format!("{line:?}")).collect::<Vec<_>>().join(",\n  ");
    let config = format!(
        "{prelude}\nLINES = [\n  {list}\n]\n\
         SAID = LINES.map do |line|\n  eval(line).to_s\nrescue Exception => error\n  \
         \"#{{error.class}}: #{{error.message}}\"\nend\n\
         run ->(_) {{ [200, {{}}, [SAID.map {{ |one| one.tr(\"\\n\", \" \") }}.join(\"\\n\")]] }}\n"
    );
    let place = folder(&[("config.ru", &config)]);
    std::os::unix::fs::symlink(gems(), place.path().join("vendor")).unwrap();
    let body = App::start(place, single()).unwrap().body("/");
    let said: Vec<String> = body.split('\n').map(str::to_owned).collect();
    assert_eq!(said.len(), lines.len(), "{body}");
    said
}

/// The reason of an error in a few words.
fn why(said: &str) -> String {
    let file = said.split_once("cannot load such file -- ");
    let missing = file.map(|(_, rest)| rest.split(". ").next().unwrap_or(rest));
    let words = said.split(": files are").next().unwrap_or(said).replace('|', "/");
    missing.map_or(words, |name| format!("`{name}` is not there"))
}

/// Files that are left out, since they need another gem or a terminal.
fn files() -> String {
    let mut table = String::from("| gem | files | load | do not |\n| --- | --- | --- | --- |\n");
    for name in ["rack", "rack-session", "rack-protection", "roda", "tilt", "erubi", "mustermann", "sinatra"] {
        let mut found = Vec::new();
        ruby_files(&gem(name).join("lib"), "", &mut found);
        let lines: Vec<String> = found.iter().map(|file| format!("require {file:?}; :loads")).collect();
        let said = said("require \"rack\"\nrequire \"roda\" if false", &lines);
        let bad: Vec<String> = found
            .iter()
            .zip(&said)
            .filter(|(_, said)| *said != "loads")
            .map(|(file, said)| format!("`{file}`: {}", why(said)))
            .collect();
        let version = gem(name).file_name().unwrap().to_string_lossy().into_owned();
        writeln!(table, "| {version} | {} | {} | {} |", found.len(), found.len() - bad.len(), bad.join("; ")).unwrap();
    }
    table
}

/// The applications in tests/rack_cases that use a plugin: as `plugin :name`, or by its name in a list.
fn cases_of(plugin: &str) -> Vec<String> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rack_cases")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(path.join("config.ru")) else { continue };
        let symbol = format!(":{plugin}");
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '?');
        if name.starts_with("roda") && text.match_indices(&symbol).any(|(at, _)| ends(&text[at + symbol.len()..])) {
            cases.push(name);
        }
    }
    cases.sort();
    cases
}

fn plugins() -> String {
    let mut names = Vec::new();
    ruby_files(&gem("roda").join("lib/roda/plugins"), "", &mut names);
    names.retain(|name| !name.starts_with('_'));
    let lines: Vec<String> =
        names.iter().map(|name| format!("Class.new(Roda).plugin({:?}.to_sym); :loads", name)).collect();
    let said = said("require \"roda\"", &lines);
    let mut table = String::from("| plugin | here | cases |\n| --- | --- | --- |\n");
    let mut counts = [0; 3];
    for (name, said) in names.iter().zip(&said) {
        let cases = cases_of(name);
        // A plugin that needs arguments says so only after it was loaded.
        let wants =
            ["ArgumentError", "Roda::RodaError", "TypeError", "KeyError"].iter().any(|class| said.starts_with(class));
        let (at, here) = match () {
            () if !cases.is_empty() => (0, "runs".to_owned()),
            () if said == "loads" || wants || said.starts_with("NoMethodError: undefined method 'lambda?'") => {
                (1, "loads".to_owned())
            }
            () => (2, format!("stops: {}", why(said))),
        };
        counts[at] += 1;
        writeln!(table, "| `{name}` | {here} | {} |", cases.join(", ")).unwrap();
    }
    format!("{} run, {} load, {} stop.\n\n{table}", counts[0], counts[1], counts[2])
}

#[test]
fn the_tables_of_frameworks_are_true() {
    let tables = format!("{}\n### Roda's plugins\n\n{}", files(), plugins());
    println!("{tables}");
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/frameworks.md")).unwrap();
    let shown = page.split_once("<!-- bin/frameworks -->\n").and_then(|(_, rest)| rest.split_once("<!-- end -->"));
    let shown = shown.map_or("", |(shown, _)| shown);
    assert!(shown.trim() == tables.trim(), "docs/frameworks.md says something else: bin/frameworks writes it anew");
}
