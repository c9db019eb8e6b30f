//! Tables of expressions with values that were printed by CRuby (tests/spec/print.rb), and the percentage of equal
//! values here. `bin/spec` prints it with all differences. A line `# agrees: 99.5` in a table is the percentage below
//! which the test fails; the code of `# before: code` runs before all expressions.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support;

/// The page that shows the figures.
const PAGE: &str = "../../docs/ruby-agreement.md";

/// An application that runs a whole table in one request: each expression in a method of its own, as print.rb does.
const RUN: &str = r#"
def __value(expression)
  eval("def __case\n#{expression}\nend")
  __case.inspect.split("\n", -1).join("\\n")
rescue Exception => error
  "!#{error.class}"
end
BEFORE
run ->(env) { [200, {}, File.readlines(__dir__ + "/expressions").map { |line| __value(line.chomp) + "\n" }] }
"#;

fn values(before: &str, expressions: &[&str]) -> Vec<String> {
    let files = [("config.ru", &*RUN.replace("BEFORE", before)), ("expressions", &*expressions.join("\n"))];
    let settings = engine_mruby::Settings { memory_bytes: 256 << 20, ..support::settings() };
    support::try_files(&files, settings).unwrap().body("/").lines().map(str::to_owned).collect()
}

/// The result of a table: its name, the number of expressions, and those that differ.
struct Outcome {
    name: String,
    count: usize,
    differ: Vec<String>,
    wanted: f64,
}

fn run(path: &Path) -> Outcome {
    let text = fs::read_to_string(path).unwrap();
    let rows: Vec<(&str, &str)> =
        text.lines().filter(|line| !line.starts_with("# ")).filter_map(|line| line.split_once(" #=> ")).collect();
    let before = text.lines().find_map(|line| line.strip_prefix("# before: ")).unwrap_or("");
    let found = values(before, &rows.iter().map(|(expression, _)| *expression).collect::<Vec<_>>());
    assert_eq!(found.len(), rows.len(), "{}: a value for each expression", path.display());
    let differ = rows.iter().zip(&found).filter(|((_, expected), found)| expected != found);
    let differ = differ.map(|((expression, expected), found)| {
        format!("    {expression}\n      CRuby: {expected}\n      here:  {found}")
    });
    let wanted = text.lines().find_map(|line| line.strip_prefix("# agrees: ")).and_then(|share| share.parse().ok());
    Outcome {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        count: rows.len(),
        differ: differ.collect(),
        wanted: wanted.unwrap_or(0.0),
    }
}

#[test]
fn tables_agree_with_cruby() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut tables: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    tables.sort();
    let mut report = String::new();
    let mut low = Vec::new();
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap();
    let mut stale = Vec::new();
    for table in tables {
        let outcome = run(&table);
        let agree = outcome.count - outcome.differ.len();
        let share = 100.0 * agree as f64 / outcome.count.max(1) as f64;
        writeln!(report, "{}: {agree} of {} agree with CRuby, {share:.1} %", outcome.name, outcome.count).unwrap();
        outcome.differ.iter().for_each(|line| writeln!(report, "{line}").unwrap());
        let figures = format!("| {} | {} |", outcome.count, format!("{share:.1} %").replace("100.0", "100"));
        let row = format!("| `{}` |", outcome.name);
        if !page.lines().any(|line| line.starts_with(&row) && line.ends_with(&figures)) {
            stale.push(format!("{row} … {figures}"));
        }
        if share < outcome.wanted {
            low.push(outcome.name);
        }
    }
    // Shown by bin/spec, and when the test fails.
    std::io::Write::write_all(&mut std::io::stdout(), report.as_bytes()).unwrap();
    assert!(stale.is_empty(), "the table in {PAGE} has other figures for these:\n{}", stale.join("\n"));
    assert!(low.is_empty(), "these agree less than they did: {low:?}\n{report}");
}
