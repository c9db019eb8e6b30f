//! The checks of `foolsgold config --check` beside those of the settings: files, folders and programs, as a start would
//! find them. Nothing is created or written.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use front::Bind;

use crate::config::admin::Control;
use crate::config::arguments::Problem;
use crate::config::engine_kind::EngineKind;
use crate::config::settings::Settings;
use crate::process::pidfile::Pidfile;
use crate::process::program::find_program;
use crate::process::state_file::StateFile;

/// All problems that a start would meet. `engines` are those of the applications, if known.
pub fn look(settings: &Settings, engines: &[Option<EngineKind>]) -> Vec<Problem> {
    let operating = &settings.operating;
    let mut found: Vec<String> = Vec::new();
    // Files that do not exist yet are not checked if a start creates their folders.
    let is_checked = |path: &&Path| !operating.makes_folders || path.exists();
    let pidfile = operating.pidfile.as_deref().filter(is_checked);
    found.extend(pidfile.and_then(|path| file("the pid file", path, Some(Pidfile::check))));
    found.extend(operating.state.as_deref().and_then(|path| file("the state file", path, Some(StateFile::check))));
    let logs = [&operating.stdout, &operating.stderr].into_iter().filter_map(|log| log.as_deref());
    for log in logs.filter(is_checked) {
        found.extend(file("the log file", log, None));
    }
    let listeners = settings.binds.iter().map(|one| &one.bind).chain(&settings.admin.bind);
    let sockets = listeners.filter_map(|bind| if let Bind::Unix(path) = bind { Some(path) } else { None });
    let control = match &settings.admin.control {
        Control::Path(path) => Some(path),
        _ => None,
    };
    found.extend(sockets.chain(control).filter_map(|path| socket(path)));
    // A Ruby that is configured is probably wanted.
    let is_named = |program: &Path| program != Path::new("ruby");
    for (app, engine) in settings.apps.iter().zip(engines) {
        if *engine == Some(EngineKind::Ruby) || (engine.is_none() && is_named(&app.ruby.program)) {
            found.extend(ruby(&app.ruby.program));
        }
    }
    found.dedup();
    found.into_iter().map(Problem).collect()
}

/// A check of an existing file.
type Check = fn(&Path, &File) -> Result<(), String>;

/// Checks a file that is created at the start, or taken over with its contents.
fn file(what: &str, path: &Path, check: Option<Check>) -> Option<String> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Some(format!("{what} {shown} is a folder: name a file in it")),
        // Opening a pipe would wait for its other end.
        Ok(found) if check.is_some() && !found.is_file() => Some(format!("{what} {shown} is not a file")),
        Ok(_) => check.and_then(|check| File::open(path).ok().and_then(|file| check(path, &file).err())),
        Err(_) => folder(what, path),
    }
}

/// Checks that the folder of a file exists.
fn folder(what: &str, path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = (path.display(), folder.display());
    (!folder.is_dir()).then(|| format!("{what} {}: there is no folder {}: make it first", shown.0, shown.1))
}

fn socket(path: &Path) -> Option<String> {
    let what = "the Unix socket";
    let shown = path.display();
    if path.as_os_str().len() > front::SOCKET_PATH_BYTES {
        let most = front::SOCKET_PATH_BYTES;
        return Some(format!("{what} {shown}: its path may have at most {most} bytes; name a shorter one"));
    }
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => None,
        Ok(_) => Some(format!("{what} {shown}: there is something else of this name; name another path")),
        Err(_) => folder(what, path),
    }
}

/// Checks a Ruby, given by path or by name on PATH.
fn ruby(ruby: &Path) -> Option<String> {
    if find_program(ruby).is_some() {
        return None;
    }
    if ruby.components().count() > 1 {
        return Some(format!("--ruby {}: there is no such program; name another", ruby.display()));
    }
    Some(engine_ruby::no_ruby(ruby, &ErrorKind::NotFound.into()))
}
