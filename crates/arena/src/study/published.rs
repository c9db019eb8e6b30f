//! Published figures of the original studies, from arena/published.toml.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use crate::record::summary::Published;
use loadgen::metric::Metric;

/// Figures of all studies.
#[derive(Debug, Clone, Default)]
pub struct Figures(Table);

/// Keys whose values are seconds in the file and milliseconds in records.
const IN_SECONDS: [(&str, &str); 3] =
    [("response_mean_s", "mean_ms"), ("longest_s", "max_ms"), ("shortest_s", "shortest_ms")];
/// Keys of the file that have another name in records.
const RENAMED: [(&str, &str); 4] =
    [("latency_mean_ms", "mean_ms"), ("errors", "failed"), ("used_mb", "rss_mib"), ("swap_mb", "swap_mib")];

impl Figures {
    /// Reads the file. An error has all mistakes.
    pub fn read(file: &Path) -> Result<Figures, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut all: Table = toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        match all.remove("study") {
            Some(Value::Table(studies)) => {
                let found: Vec<String> = studies.iter().flat_map(|(name, study)| complaints(name, study)).collect();
                let named = |words: &String| format!("{}: {words}", file.display());
                let named: Vec<String> = found.iter().map(named).collect();
                if named.is_empty() { Ok(Figures(studies)) } else { Err(named.join("\n")) }
            }
            _ => Err(format!("{}: it has no [study.NAME]", file.display())),
        }
    }

    /// Published figures of a study for the case that these keys describe. Keys that its rows do not have match
    /// nothing.
    pub fn of(&self, study: &str, keys: &Table) -> Vec<Published> {
        let rows = self.0.get(study).and_then(|study| study.get("result")).and_then(Value::as_array);
        let rows = rows.into_iter().flatten().filter_map(Value::as_table);
        let rows = rows.filter(|row| keys.iter().all(|(key, wanted)| row.get(key) == Some(wanted)));
        rows.filter_map(published).collect()
    }

    /// Names of the studies with figures.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Servers for which a study has figures.
    pub fn servers(&self, study: &str) -> Option<Vec<&str>> {
        let rows = self.0.get(study)?.get("result")?.as_array()?;
        let mut servers: Vec<&str> = rows.iter().filter_map(|row| row.get("server")?.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        Some(servers)
    }

    /// A fact of a study in words: its load, its machine.
    pub fn fact(&self, study: &str, key: &str) -> Option<&str> {
        self.0.get(study)?.get(key)?.as_str()
    }
}

/// Errors in rows, which would otherwise silently be missing.
fn complaints(name: &str, study: &Value) -> Vec<String> {
    let Some(rows) = study.get("result").and_then(Value::as_array) else {
        return vec![format!("study.{name}: it has no result = [ {{ server = \"…\", … }}, … ]")];
    };
    let is_named = |row: &Value| row.get("server").is_some_and(Value::is_str);
    let nameless = rows.iter().enumerate().filter(|(_, row)| !is_named(row));
    nameless.map(|(at, _)| format!("study.{name}: row {} of result has no server = \"…\"", at + 1)).collect()
}

fn published(row: &Table) -> Option<Published> {
    let server = row.get("server")?.as_str()?.to_owned();
    let mut numbers = BTreeMap::new();
    for (key, value) in row {
        let Some(number) = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)) else { continue };
        if let Some((_, name)) = IN_SECONDS.iter().find(|(there, _)| there == key) {
            numbers.insert((*name).to_owned(), number * 1000.0);
        } else if let Some((_, name)) = RENAMED.iter().find(|(there, _)| there == key) {
            numbers.insert((*name).to_owned(), number);
        } else if Metric::of(key).is_some() {
            numbers.insert(key.clone(), number);
        }
    }
    Some(Published { server, contender: None, numbers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_keys_and_told_in_our_units() {
        let text = r#"
            result = [
              { path = "/pi", server = "puma", requests_per_s = 8.61, response_mean_s = 6.15, failed = 1038 },
              { path = "/pi", server = "thin", requests_per_s = 11, load = "x" },
              { path = "/sleep", server = "thin", requests_per_s = 1 },
            ]"#;
        let figures = Figures(Table::from_iter([("a".to_owned(), Value::Table(toml::from_str(text).unwrap()))]));
        let keys = toml::from_str("path = '/pi'").unwrap();
        let found = figures.of("a", &keys);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].server, "puma");
        assert_eq!(found[0].numbers["mean_ms"], 6150.0);
        assert_eq!(found[1].numbers["requests_per_s"], 11.0);
        assert_eq!(found[1].numbers.len(), 1);
        assert!(figures.of("a", &toml::from_str("path = '/none'").unwrap()).is_empty());
        assert!(figures.of("b", &keys).is_empty());
    }
}
