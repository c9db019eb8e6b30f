//! Puts the arena's middleware in front of an application: a folder that looks like the application's own, except for
//! its rackup file. Nothing is written to the application's own folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use crate::environment::Environment;
use loadgen::HEADER;

/// Template of the rackup file with the middleware.
const MIDDLEWARE: &str = include_str!("middleware.rb");

/// Path of the new rackup file, for an application's folder and the rackup file in it (`config.ru`).
pub(super) fn middleware(environment: &Environment, app: &Path, start: &Path) -> Result<PathBuf, String> {
    let original = environment.bring(app)?;
    let (outside, _) = environment.scratch("timed")?;
    let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    // Folders above the rackup file are real folders here, with links to their contents: the application may use files
    // beside it.
    let mut below = PathBuf::new();
    for step in start.components() {
        if !matches!(step, Component::Normal(_)) {
            return Err(format!("{} is no path in the application's folder", start.display()));
        }
        let (here, there) = (outside.join(&below), original.join(&below));
        fs::create_dir_all(&here).map_err(|error| failed(&here, &error))?;
        let seen = environment.outside(&there);
        for entry in fs::read_dir(&seen).map_err(|error| failed(&seen, &error))?.flatten() {
            let name = entry.file_name();
            if name != step.as_os_str() {
                symlink(there.join(&name), here.join(&name)).map_err(|error| failed(&here.join(&name), &error))?;
            }
        }
        below.push(step);
    }
    let file = outside.join(&below);
    let path = original.join(start).display().to_string();
    if path.contains(['"', '\\', '#']) {
        return Err(format!("{path}: a path with such letters cannot be written into Ruby"));
    }
    let text = MIDDLEWARE.replace("{{ header }}", HEADER).replace("{{ path }}", &path);
    fs::write(&file, text).map_err(|error| failed(&file, &error))?;
    // The whole folder, not only the one of the rackup file.
    environment.bring(&outside)?;
    Ok(file)
}
