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
pub struct RestartFile {
    app: String,
    /// `None` if the application has no restart file.
    path: Option<PathBuf>,
    touched: Option<SystemTime>,
    /// Time of the last check.
    checked: SystemTime,
}

impl RestartFile {
    fn new(app: String, path: Option<PathBuf>) -> RestartFile {
        let checked = SystemTime::now();
        let touched = path.as_deref().and_then(touched);
        RestartFile { app, path, touched, checked }
    }

    /// Watches the file that the settings name now, which a reload may have changed. A touch of another file than
    /// before counts if it came after the last check.
    fn follow(&mut self, path: Option<&Path>) {
        if self.path.as_deref() != path {
            self.path = path.map(Path::to_owned);
            self.touched = path.and_then(touched).filter(|at| *at <= self.checked);
        }
    }

    /// Whether the file was touched or replaced since the last check. A removed file does not count.
    fn is_touched(&mut self) -> bool {
        self.checked = SystemTime::now();
        let now = self.path.as_deref().and_then(touched);
        let before = std::mem::replace(&mut self.touched, now);
        now.is_some() && now != before
    }
}

fn touched(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// The restart files of all applications, with their last modification times. To be called before the applications are
/// loaded: a later touch may have changed code that was read.
pub fn note(settings: &Settings) -> Vec<RestartFile> {
    settings.apps.iter().map(|app| RestartFile::new(app.name.clone(), app.restart_file.clone())).collect()
}

/// Checks the files that the applications' current settings name each second, in a thread, until the server shuts down.
pub fn watch(mut files: Vec<RestartFile>, server: &ServerHandle) {
    let server = server.clone();
    let look = move || {
        while !server.is_draining() {
            for file in &mut files {
                let path = server.apps().get(&file.app).and_then(|app| app.current().settings.restart_file.clone());
                file.follow(path.as_deref());
                if let Some(path) = path.filter(|_| file.is_touched()) {
                    info!(target: "server", "{} was touched: reloading {}", path.display(), file.app);
                    // The reload logs its outcome itself.
                    drop(server.reload(Some(&file.app)));
                }
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
        let mut file = RestartFile::new("app".to_owned(), Some(path.clone()));
        assert!(!file.is_touched());
        touch(5);
        assert!(file.is_touched() && !file.is_touched());
        fs::remove_file(&path).unwrap();
        assert!(!file.is_touched());
        // An older file is another one, such as that of the previous release.
        touch(4);
        assert!(file.is_touched() && !file.is_touched());
        let mut file = RestartFile::new("app".to_owned(), Some(path.clone()));
        assert!(!file.is_touched(), "what was there at the start is no order");
    }

    #[test]
    fn another_file_counts_from_the_check_on_after_which_it_was_named() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        let touch = |path: &Path, time: SystemTime| fs::File::create(path).unwrap().set_modified(time).unwrap();
        let (before, after) = (SystemTime::UNIX_EPOCH, SystemTime::now() + Duration::from_secs(3600));
        touch(&second, before);
        let mut file = RestartFile::new("app".to_owned(), Some(first.clone()));
        assert!(!file.is_touched());
        touch(&first, after);
        file.follow(Some(&second));
        assert!(!file.is_touched());
        touch(&second, after);
        assert!(file.is_touched() && !file.is_touched());
        file.follow(None);
        assert!(!file.is_touched());
        file.follow(Some(&first));
        assert!(file.is_touched() && !file.is_touched(), "the touch came after a check, before the file was watched");
    }
}
