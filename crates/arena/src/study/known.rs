//! What the arena's own applications answer beyond what the studies say. Where a study says the length of a body alone,
//! a wrong file of that length would pass; no study says anything of header fields. A better rule in a study would make
//! all of its runs count as runs of another recipe, so what is known stands here.

use loadgen::{Known, Workload};
use regex::Regex;

/// The text of which bodies and files of *basics* consist.
const TEXT: &str = "FoolsGold\n";
/// Number of the header fields of *basics*.
const HEADERS: u32 = 80;
/// Pattern of a page of *rails-small* that has as many bytes as its path says.
const SIZED: &str = concat!(
    r"(?s)\A<!DOCTYPE html>.*<h1>Minerals</h1>.*<table>\s*",
    r"(<tr><td>[A-Z][a-z]+ *</td><td>[A-Z][A-Za-z0-9]* *</td></tr>\n)+",
    r"</table>\s*<p>\.*</p>.*</html>\s*\z"
);

/// The workload of a case, with what is known of the answers of this application.
pub fn with_knowledge(app: &str, mut workload: Workload) -> Workload {
    for ask in &mut workload.asks {
        ask.expect.known = of(app, &ask.path);
    }
    workload
}

fn of(app: &str, path: &str) -> Known {
    match (app, path) {
        ("basics", "/small" | "/large" | "/file") => Known { repeats: Some(TEXT.to_owned()), ..Known::default() },
        ("basics", "/headers") => {
            let field = |number: u32| (format!("x-number-{number}"), format!("value {number}"));
            Known { headers: (1..=HEADERS).map(field).collect(), ..Known::default() }
        }
        ("rails-small", path) if path.starts_with("/sized/") => {
            Known { matches: Regex::new(SIZED).ok(), ..Known::default() }
        }
        _ => Known::default(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Prints the header fields of an answer of a rackup file, an empty line, and the body.
    const PRINT: &str = r#"
        def run(app)
          $app = app
        end
        load ARGV[0]
        _, head, body = $app.call("PATH_INFO" => ARGV[1])
        head.each { |name, value| puts [name, value].join(": ") }
        puts
        body.each { |part| print part }
    "#;

    /// Header fields and body of an answer of *basics*, from the application itself.
    fn answer(path: &str) -> (Vec<(String, String)>, Vec<u8>) {
        let rackup = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/basics/config.ru");
        let output = Command::new("ruby").args(["--disable-gems", "-e", PRINT, rackup, path]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let end = output.stdout.windows(2).position(|two| two == b"\n\n").unwrap();
        let head = String::from_utf8_lossy(&output.stdout[..end]).into_owned();
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        (fields, output.stdout[end + 2..].to_vec())
    }

    #[test]
    fn what_is_known_of_basics_is_what_it_answers() {
        for (path, length) in [("/small", 100_000), ("/large", 10_000_000), ("/file", 10_000_000)] {
            let text = of("basics", path).repeats.unwrap();
            let (_, body) = answer(path);
            assert!(body == text.repeat(length / text.len()).as_bytes(), "{path}: {} bytes", body.len());
        }
        let (fields, _) = answer("/headers");
        let known = of("basics", "/headers").headers;
        assert!(known.len() == 80 && known.iter().all(|field| fields.contains(field)), "{fields:?}");
        assert!(of("basics", "/").is_empty() && of("other", "/small").is_empty());
    }

    #[test]
    fn a_sized_page_of_rails_is_known_by_its_lines() {
        let page = |rows: &str| {
            format!(
                "<!DOCTYPE html>\n<html lang=\"en\">\n<body>\n<header><h1>Minerals</h1></header>\n<main>\n<table>\n\
                 {rows}</table>\n<p>.....</p>\n\n</main>\n<footer>Served by Rails.</footer>\n</body>\n</html>\n"
            )
        };
        let known = of("rails-small", "/sized/8145").matches.unwrap();
        let row = "<tr><td>Pyrite        </td><td>FeS2  </td></tr>\n";
        assert!(known.is_match(&page(&row.repeat(3))) && of("rails-small", "/").is_empty());
        for other in [page(""), page(&row.replace("td", "th")), page(row).replace("Minerals", "Vegetables")] {
            assert!(!known.is_match(&other), "{other}");
        }
    }
}
