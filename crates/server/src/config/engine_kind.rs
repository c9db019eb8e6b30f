//! The kinds of engines.

/// The kinds of engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Interpreters inside this process.
    Mruby,
    /// Processes of the user's own Ruby.
    Ruby,
}

impl EngineKind {
    /// Name in `--engine`.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Mruby => "mruby",
            EngineKind::Ruby => "ruby",
        }
    }

    /// The other kind.
    pub fn other(self) -> EngineKind {
        match self {
            EngineKind::Mruby => EngineKind::Ruby,
            EngineKind::Ruby => EngineKind::Mruby,
        }
    }
}
