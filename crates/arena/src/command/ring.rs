//! `arena ring`: a root folder with today's Ruby servers.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::environment::ring;

/// Builds a ring.
#[derive(Debug, Args)]
pub struct RingCommand {
    /// The root folder; what is there already is kept.
    #[arg(default_value = "/opt/ring")]
    folder: PathBuf,
    /// Also build the library of its Ruby with YJIT, the just-in-time compiler, for `arena run --yjit`: ten minutes.
    #[arg(long)]
    yjit: bool,
}

impl RingCommand {
    pub(super) fn obey(&self, out: &mut dyn Write) -> Result<(), String> {
        ring::build(&self.folder, self.yjit, out)
    }
}
