//! Fingerprints of the parts of a study and of a recipe that decide what a run measures. Sentences, plots and verdicts
//! are for readers, and a further case or contender changes nothing for the others: earlier runs stay valid when these
//! change. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::record::fingerprint;

/// Prefix of the names of a study's fingerprints, which stand among those of contenders.
const STUDY: &str = "the study ";

/// Text between the name of a study and that of a contender.
pub(super) const CONTENDER: &str = ", contender ";
pub(super) const CASE: &str = ", case ";

/// Keys of a contender's recipe that are for readers and for those who install it.
const OF_RECIPE: [&str; 6] = ["about", "cannot", "get", "home", "notes", "title"];
/// Keys of a study that are for readers, or have fingerprints of their own; and its quick form.
const OF_STUDY: [&str; 10] =
    ["about", "case", "contenders", "metrics", "plot", "published", "question", "quick", "title", "verdict"];
/// Keys of a study's contender that are for readers.
const OF_ENTRY: [&str; 3] = ["in_quick", "note", "published"];
/// Keys of a case that are for readers.
const OF_CASE: [&str; 4] = ["in_quick", "metrics", "published", "title"];

/// Fingerprint of a contender's recipe.
pub(super) fn of_recipe(text: &str) -> String {
    parsed(text).map_or_else(|| fingerprint(text.as_bytes()), |recipe| print(recipe, &OF_RECIPE))
}

/// Fingerprints of a study by name: one for the keys that apply to all, one for each contender's settings, and one for
/// each case.
pub(super) fn of_study(name: &str, text: &str) -> BTreeMap<String, String> {
    let whole = format!("{STUDY}{name}");
    let Some(study) = parsed(text) else { return [(whole, fingerprint(text.as_bytes()))].into() };
    let mut prints = BTreeMap::new();
    for entry in tables(&study, "contenders") {
        let entry_name = text_of(&entry, "name").or_else(|| text_of(&entry, "recipe")).unwrap_or_default();
        prints.insert(format!("{whole}{CONTENDER}{entry_name}"), print(entry, &OF_ENTRY));
    }
    for case in tables(&study, "case") {
        let case_name = text_of(&case, "name").unwrap_or_default();
        prints.insert(format!("{whole}{CASE}{case_name}"), print(case, &OF_CASE));
    }
    prints.insert(whole, print(study, &OF_STUDY));
    prints
}

fn parsed(text: &str) -> Option<Map<String, Value>> {
    toml::from_str(text).ok()
}

fn tables(study: &Map<String, Value>, key: &str) -> Vec<Map<String, Value>> {
    let all = study.get(key).and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_object).cloned().collect()
}

fn text_of(table: &Map<String, Value>, key: &str) -> Option<String> {
    table.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Fingerprint of a table without some of its keys.
fn print(mut table: Map<String, Value>, without: &[&str]) -> String {
    table.retain(|key, _| !without.contains(&key.as_str()));
    // A map of serde_json is sorted by key, in whatever order the file has them.
    fingerprint(serde_json::to_string(&table).unwrap_or_default().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY_TEXT: &str = r#"
        title = "T"
        about = ["A."]
        app = "a"
        contenders = [{ recipe = "puma", workers = 2 }, { recipe = "puma", name = "puma-4", workers = 4 }]
        full = { rounds = 3 }
        [[case]]
        name = "hello"
        title = "Hello"
        path = "/"
    "#;

    /// The names of what differs from [`STUDY_TEXT`] when `from` is replaced in it.
    fn changed(from: &str, to: &str) -> Vec<String> {
        assert!(STUDY_TEXT.contains(from), "{from}");
        let then = of_study("s", STUDY_TEXT);
        let now = of_study("s", &STUDY_TEXT.replace(from, to));
        then.iter().filter(|(name, print)| now.get(*name) != Some(*print)).map(|(name, _)| name.clone()).collect()
    }

    #[test]
    fn words_and_further_contenders_and_cases_change_nothing() {
        assert_eq!(of_study("s", STUDY_TEXT).len(), 4);
        for (from, to) in [
            ("\"T\"", "\"Other\""),
            ("[\"A.\"]", "[\"B.\", \"C.\"]"),
            ("title = \"Hello\"", "title = \"Hi\" # words"),
            ("contenders = [", "contenders = [{ recipe = \"agoo\", workers = 2 }, "),
            ("workers = 4", "workers = 4, in_quick = false, note = \"Slow.\""),
            ("[[case]]", "[[case]]\nname = \"more\"\npath = \"/more\"\n[[case]]"),
        ] {
            assert_eq!(changed(from, to), Vec::<String>::new(), "{from}");
        }
    }

    #[test]
    fn what_is_measured_changes_what_it_is_of() {
        assert_eq!(changed("app = \"a\"", "app = \"b\""), ["the study s"]);
        assert_eq!(changed("rounds = 3", "rounds = 3, warm_up_s = 9"), ["the study s"]);
        assert_eq!(changed("workers = 4", "workers = 8"), ["the study s, contender puma-4"]);
        assert_eq!(changed("path = \"/\"", "path = \"/x\""), ["the study s, case hello"]);
        let recipe = "title = \"Puma\"\nnotes = []\n[[process]]\ncommand = [\"puma\"]\n";
        assert_eq!(of_recipe(recipe), of_recipe(&recipe.replace("notes = []", "notes = [\"Fast.\"]")));
        assert_ne!(of_recipe(recipe), of_recipe(&recipe.replace("[\"puma\"]", "[\"puma\", \"-q\"]")));
        assert_eq!(of_recipe("no [toml"), of_recipe("no [toml"));
    }
}
