//! `arena compare`: two runs of the same study.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::home::Home;
use super::report::is_same;
use super::words::{say, width};
use crate::record::folder::Folder;
use crate::report;
use crate::study::shown;

/// Compares two runs of the same study.
#[derive(Debug, Args)]
pub struct CompareCommand {
    /// The folder of the earlier run.
    before: PathBuf,
    /// The folder of the later run.
    after: PathBuf,
    /// Also write a page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl CompareCommand {
    pub(super) fn obey(&self, home: &Home, out: &mut dyn Write) -> Result<(), String> {
        let (before, after) = (Folder::open(&self.before)?, Folder::open(&self.after)?);
        if is_same(before.path(), after.path()) {
            return Err(format!("{}: that is one run, twice: name two", self.before.display()));
        }
        let (before, after) = (shown(&home.0, &before)?, shown(&home.0, &after)?);
        say(out, &report::compare::words(&before, &after, width())?)?;
        if let Some(file) = &self.html {
            let page = report::compare::html(&before, &after)?;
            std::fs::write(file, page).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(())
    }
}
