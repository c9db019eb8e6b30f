//! `tmp/restart.txt`: touching it reloads the application, as with Passenger and with Puma's plugin tmp_restart.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use tracing::{info, warn};

use crate::config::settings::Settings;
use crate::control::handle::ServerHandle;

const LOOK: Duration = Duration::from_secs(1);

/// The restart file of one application.
#[derive(Debug)]
struct Watched {
    app: String,
    path: PathBuf,
    touched: Option<SystemTime>,
}

impl Watched {
    fn new(app: String, path: PathBuf) -> Watched {
        let touched = touched(&path);
        Watched { app, path, touched }
    }

    /// Whether the file was touched or replaced since the last check. A removed file does not count.
    fn is_touched(&mut self) -> bool {
        let now = touched(&self.path);
        let before = std::mem::replace(&mut self.touched, now);
        now.is_some() && now != before
    }
}

fn touched(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// The restart files of all applications, with their last modification times.
#[derive(Debug)]
pub struct RestartFiles(Vec<Watched>);

impl RestartFiles {
    /// Records the files before the applications are loaded: a later touch may have changed code that was read.
    pub fn note(settings: &Settings) -> RestartFiles {
        let files = settings.apps.iter().filter_map(|app| Some((app.name.clone(), app.restart_file.clone()?)));
        RestartFiles(files.map(|(app, path)| Watched::new(app, path)).collect())
    }
}

/// Checks the files each second, in a thread, until the server shuts down.
pub fn watch(RestartFiles(mut files): RestartFiles, server: &ServerHandle) {
    if files.is_empty() {
        return;
    }
    let server = server.clone();
    let look = move || {
        while !server.is_draining() {
            for file in files.iter_mut().filter_map(|file| file.is_touched().then_some(&*file)) {
                info!(target: "server", "{} was touched: reloading {}", file.path.display(), file.app);
                // The reload logs its outcome itself.
                drop(server.reload(Some(&file.app)));
            }
            thread::park_timeout(LOOK);
        }
    };
    if let Err(error) = thread::Builder::new().name("restart files".into()).spawn(look) {
        warn!(target: "server", "no thread to look at restart files: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touch_counts_once_and_that_the_file_goes_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("restart.txt");
        let touch = |seconds: u64| {
            let file = fs::File::create(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        };
        let mut file = Watched::new("app".to_owned(), path.clone());
        assert!(!file.is_touched());
        touch(5);
        assert!(file.is_touched() && !file.is_touched());
        fs::remove_file(&path).unwrap();
        assert!(!file.is_touched());
        // An older file is another one, such as that of the previous release.
        touch(4);
        assert!(file.is_touched() && !file.is_touched());
        assert!(!Watched::new("app".to_owned(), path.clone()).is_touched(), "what was there at the start is no order");
    }
}
