//! Detects which server a configuration file is for.

use std::path::Path;

/// Servers whose files can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    Puma,
    Unicorn,
    Pitchfork,
    Thin,
    Passenger,
}

/// Directives by which a Ruby file is recognised if its name does not tell. None of them is a word of our own hooks
/// files.
const TRAITS: [(ServerKind, &[&str]); 3] = [
    (ServerKind::Pitchfork, &["refork_after", "after_mold_fork", "spawn_timeout", "refork_max_unavailable"]),
    (
        ServerKind::Unicorn,
        &["worker_processes", "stderr_path", "stdout_path", "working_directory", "before_exec", "listen", "Rainbows!"],
    ),
    (ServerKind::Puma, &["threads", "workers", "preload_app!", "plugin", "bind", "port", "before_worker_boot"]),
];

impl ServerKind {
    /// The server that a file is for; `None` for our own format.
    pub fn of(path: &Path, text: &str) -> Result<Option<ServerKind>, String> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("toml") => Ok(None),
            Some("json") => Ok(Some(ServerKind::Passenger)),
            Some("yml" | "yaml") => Ok(Some(ServerKind::Thin)),
            // TOML in a file without a known name is our own.
            None if ServerKind::by_name(path).is_none() && toml::de::DeTable::parse(text).is_ok() => Ok(None),
            _ => match ServerKind::by_name(path).or_else(|| ServerKind::by_content(text)) {
                Some(kind) => Ok(Some(kind)),
                None => Err(format!(
                    "{}: cannot be told apart: call it *.toml, puma.rb, unicorn.rb, pitchfork.rb, thin.yml or \
                     Passengerfile.json",
                    path.display()
                )),
            },
        }
    }

    /// The server by the name of a Ruby file, or of its folder, as in `config/puma/production.rb`. A folder with a
    /// longer name may be the application's. Files of Rainbows! are Unicorn's but for one block.
    pub fn by_name(path: &Path) -> Option<ServerKind> {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let (file, folder) = (name(path), path.parent().map(name).unwrap_or_default());
        let words = [
            ("puma", ServerKind::Puma),
            ("unicorn", ServerKind::Unicorn),
            ("pitchfork", ServerKind::Pitchfork),
            ("rainbows", ServerKind::Unicorn),
        ];
        let of_file = words.iter().find(|(word, _)| file.contains(word));
        of_file.or_else(|| words.iter().find(|(word, _)| folder == *word)).map(|(_, kind)| *kind)
    }

    /// The server by the directives in a Ruby file.
    pub fn by_content(text: &str) -> Option<ServerKind> {
        let words: Vec<&str> =
            text.lines().filter_map(|line| line.split([' ', '(', '\t']).find(|w| !w.is_empty())).collect();
        let score = |traits: &[&str]| traits.iter().filter(|name| words.contains(name)).count();
        let best = TRAITS.iter().map(|(kind, traits)| (score(traits), *kind)).max_by_key(|(score, _)| *score)?;
        (best.0 > 0).then_some(best.1)
    }

    /// Whether it is Ruby code, which may do anything.
    pub fn is_code(self) -> bool {
        matches!(self, ServerKind::Puma | ServerKind::Unicorn | ServerKind::Pitchfork)
    }

    /// Name of the server.
    pub fn name(self) -> &'static str {
        match self {
            ServerKind::Puma => "Puma",
            ServerKind::Unicorn => "Unicorn",
            ServerKind::Pitchfork => "Pitchfork",
            ServerKind::Thin => "Thin",
            ServerKind::Passenger => "Passenger",
        }
    }

    /// Name for the Ruby side, and for `--signals`.
    pub fn word(self) -> &'static str {
        match self {
            ServerKind::Puma => "puma",
            ServerKind::Unicorn => "unicorn",
            ServerKind::Pitchfork => "pitchfork",
            ServerKind::Thin => "thin",
            ServerKind::Passenger => "passenger",
        }
    }
}
