//! The libraries that an application may require by name: files of Ruby's own library, and those of the list BUILT_IN
//! in ruby/load/require.rb, which is read from that source so that there is one list.

use crate::prelude;

const SOURCE: &str = include_str!("../ruby/load/require.rb");

/// Whether `require "name"` finds a built-in library. Files of the application are not looked at.
pub fn provides(name: &str) -> bool {
    let name = name.strip_suffix(".rb").unwrap_or(name);
    built_in().any(|library| library == name) || prelude::is_ruby(name.as_bytes())
}

fn built_in() -> impl Iterator<Item = &'static str> {
    let list = SOURCE.split_once("BUILT_IN = %w[").and_then(|(_, after)| after.split_once(']'));
    list.map_or("", |(words, _)| words).split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_found_in_the_source() {
        for name in ["json", "json.rb", "json/ext", "set", "rack", "rack/lint", "rbconfig", "shellwords", "csv/row"] {
            assert!(provides(name), "{name}");
        }
        for name in ["", "sinatra", "jso", "json/pure", "]", "freeze"] {
            assert!(!provides(name), "{name}");
        }
    }
}
