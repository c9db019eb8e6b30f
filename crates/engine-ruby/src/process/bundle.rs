//! Bundler's variables in the environment of a Ruby process.

use std::path::Path;
use std::process::Command;

/// Sets BUNDLE_GEMFILE and BUNDLE_LOCKFILE for an application with this Gemfile; without one they stay as they are.
/// If no lock file is given, Bundler finds it by the Gemfile.
pub fn set_variables(command: &mut Command, gemfile: Option<&Path>, lockfile: Option<&Path>) {
    let Some(gemfile) = gemfile else { return };
    command.env("BUNDLE_GEMFILE", gemfile);
    match lockfile {
        Some(lockfile) => command.env("BUNDLE_LOCKFILE", lockfile),
        None => command.env_remove("BUNDLE_LOCKFILE"),
    };
}
