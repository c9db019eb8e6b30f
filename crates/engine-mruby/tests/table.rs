//! Tables of expressions with CRuby's answers (tests/tables): those of the embedded interpreter are the same, except
//! for the known differences listed here. With `--nocapture` the percentage is printed.

use crate::support::{app, get};

const RUN: &str = r##"
ANSWERS = lambda do |table|
  lines = table.split("\n")
  given = []
  lines.each_with_index do |line, at|
    next unless line.start_with?("#=> ")
    code = lines[at - 1]
    said = begin
      "#=> #{FoolsGold.run_source(code, "(table)", FoolsGold::TOP).inspect}"
    rescue Exception => error
      "#=> ! #{error.class}"
    end
    given << "#{said == line ? 'same' : 'other'}\t#{code}\t#{line}\t#{said}"
  end
  given.join("\n")
end
run ->(env) { [200, {}, [ANSWERS.call(TABLE)]] }
"##;

/// Runs a table and returns the expressions with other answers than on CRuby.
fn others(table: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{}/tests/tables/{table}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let config = format!("TABLE = <<'END_OF_TABLE'\n{text}END_OF_TABLE\n{RUN}");
    let got = app(&config).got(get("/"));
    let all: Vec<&str> = got.body.lines().collect();
    let others: Vec<String> =
        all.iter().filter(|line| line.starts_with("other")).map(|line| line.replace('\t', "\n  ")).collect();
    println!("{table}: {} of {} agree", all.len() - others.len(), all.len());
    assert!(all.len() > 100, "{}", got.body);
    others
}

/// Beginnings of expressions that differ on purpose, or cannot be supported.
const KNOWN: [&str; 5] = [
    "[[1, 2]].each { |a, *b| return", // here `return` outside of a method ends the file
    "{ a: [1, 2] }.each { |k, (x, y)| return", // here `return` in a block at the top level ends the file
    "[__FILE__.class, __LINE__",      // __dir__ differs for text that is not in a file
    "OuterC.class_eval { self::V }",  // private_constant is accepted and has no effect
    "(1..10) % 4",                    // returns an Enumerator, not an arithmetic sequence
];

#[test]
fn the_language_answers_as_on_cruby() {
    let others = others("language.txt");
    let code = |other: &str| other.lines().nth(1).unwrap_or_default().trim().to_owned();
    let known = |other: &&String| KNOWN.iter().any(|known| code(other).starts_with(known));
    let new: Vec<&str> = others.iter().filter(|other| !known(other)).map(String::as_str).collect();
    assert!(new.is_empty(), "{} differ:\n{}", new.len(), new.join("\n"));
    for known in KNOWN {
        assert!(others.iter().any(|other| code(other).starts_with(known)), "{known} agrees now: take it off the list");
    }
}
