//! The paths of the applications that a foolsgold.toml names, without the rest of it.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::config::file_text::text_of;

/// These paths; none of a file that cannot be read, or has no such values.
pub fn paths(file: &Path) -> Vec<PathBuf> {
    let Ok(text) = text_of(file) else { return Vec::new() };
    let (table, _) = DeTable::parse_recoverable(&text);
    let mut tables = vec![table.get_ref()];
    if let Some(DeValue::Array(apps)) = value(table.get_ref(), "app") {
        tables.extend(apps.iter().filter_map(|app| match app.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        }));
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    tables.into_iter().filter_map(|table| value(table, "path")?.as_str()).map(|path| folder.join(path)).collect()
}

fn value<'a>(table: &'a DeTable<'a>, wanted: &str) -> Option<&'a DeValue<'a>> {
    table.iter().find(|(key, _)| key.get_ref() == wanted).map(|(_, value)| value.get_ref())
}
