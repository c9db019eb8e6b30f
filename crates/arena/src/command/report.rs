//! `arena report`: writes the page of a run again, an index of several runs, or the tables of a README.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use clap::Args;

use super::home::Home;
use super::words::{print, say, write_page};
use crate::record::folder::Folder;
use crate::record::summary::Summary;
use crate::report;
use crate::report::splice::ShownRun;
use crate::study::shown;

/// Writes pages and tables of finished runs.
#[derive(Debug, Args)]
pub struct ReportCommand {
    /// Folders of runs.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Put each run's tables between the marks for its folder, or else its study, in this Markdown file.
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
    /// With --splice: change nothing, and fail where a table is not that of its run.
    #[arg(long, requires = "splice")]
    check: bool,
    /// Write a page that links to all of these runs.
    #[arg(long, value_name = "FILE", conflicts_with = "splice")]
    index: Option<PathBuf>,
}

impl ReportCommand {
    pub(super) fn obey(&self, home: &Home, out: &mut dyn Write) -> Result<(), String> {
        let mut all: Vec<ReportedRun> = Vec::new();
        for path in &self.runs {
            let folder = Folder::open(path)?;
            let _lock = (!self.check).then(|| folder.lock()).transpose()?;
            let summary = if self.check { shown(&home.0, &folder)? } else { write_page(home, &folder)? };
            all.push(ReportedRun { path: path.clone(), summary });
        }
        if let Some(file) = &self.splice {
            return self.splice(file, &all, out);
        }
        for run in &all {
            print(&run.summary, out)?;
        }
        let Some(file) = &self.index else { return Ok(()) };
        let links = all.iter().map(|run| (link(file, &run.path.join("report.html")), run.summary.clone()));
        let page = report::index::html(&links.collect::<Vec<_>>())?;
        std::fs::write(file, page).map_err(|error| format!("{}: {error}", file.display()))
    }

    fn splice(&self, file: &Path, all: &[ReportedRun], out: &mut dyn Write) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", file.display());
        let before = std::fs::read_to_string(file).map_err(failed)?;
        let mut text = before.clone();
        let mut places = BTreeMap::new();
        for run in all {
            let ReportedRun { path, summary } = run;
            if !summary.shortcomings.is_empty() {
                say(out, &format!("{}: shown with a mark: {}", path.display(), summary.shortcomings.join("; ")))?;
            }
            let link = link(file, path);
            for name in run.places(&text) {
                if let Some(other) = places.insert(name.clone(), path).filter(|other| !is_same(other, path)) {
                    return Err(format!(
                        "{}: the place {name:?} is for one run, and both {} and {} would stand there: give one of \
                         them, or name places by the folders of runs",
                        file.display(),
                        other.display(),
                        path.display()
                    ));
                }
                text = report::splice::splice(&text, &name, ShownRun { summary, link: &link })
                    .map_err(|why| format!("{}: {why}", file.display()))?;
            }
        }
        if text == before {
            return say(out, &format!("{}: its tables are those of the runs", file.display()));
        }
        if self.check {
            return Err(format!(
                "{}: its tables are not those of the runs; arena report --splice writes them",
                file.display()
            ));
        }
        std::fs::write(file, text).map_err(failed)?;
        say(out, &format!("{}: its tables are written anew", file.display()))
    }
}

/// A run that is reported.
struct ReportedRun {
    path: PathBuf,
    summary: Summary,
}

impl ReportedRun {
    /// Names of the places of a page that show this run: a page may show several metrics of it, as `round-3/p99_ms`.
    fn places(&self, page: &str) -> Vec<String> {
        // A path such as `.` does not name the folder.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let folder = path.file_name().unwrap_or_default().to_string_lossy();
        let names = report::splice::names_of(page, &self.summary.study, &folder);
        if names.is_empty() { vec![self.summary.study.clone()] } else { names }
    }
}

/// Whether two paths lead to the same file or folder.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Link from a page to a file: relative to the page's folder, or the path as given if there is none.
fn link(from: &Path, to: &Path) -> String {
    let beside = from.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (Ok(folder), Ok(target)) = (beside.canonicalize(), to.canonicalize()) else {
        return to.display().to_string();
    };
    let shared = folder.components().zip(target.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(target.components().skip(shared)).collect::<PathBuf>().display().to_string()
}
