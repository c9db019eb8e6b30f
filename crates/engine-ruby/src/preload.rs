//! Where an application is loaded: in each worker, or once in the mold.

/// Where the application is loaded. A Ruby that cannot fork loads it in each worker in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preload {
    /// In each worker, after it has been forked.
    No,
    /// Once, in the mold, which then forks workers; if the application holds connections that the workers would share,
    /// as with [`Preload::No`].
    Yes,
    /// Once, in the mold, which forks workers whatever connections the application holds open.
    Force,
}

impl Preload {
    /// Returns the value for the SETUP frame.
    pub fn as_str(self) -> &'static str {
        match self {
            Preload::No => "no",
            Preload::Yes => "yes",
            Preload::Force => "force",
        }
    }
}
