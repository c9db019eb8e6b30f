//! The native worker, a C extension: its sources are part of this binary, and the user's Ruby finds or builds it.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::iter;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use files::TempFolder;

use super::kill_now;
use super::user::{User, command};

/// The name and text of each source file.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/native.rs"));

/// Time limits for finding and building the extension, generous for a slow machine.
const FIND_TIME: Duration = Duration::from_secs(5);
const BUILD_TIME: Duration = Duration::from_secs(300);
/// The most bytes that are read of what build.rb prints.
const OUTPUT_BYTES: u64 = 1 << 20;
/// The exit status of build.rb when there is no extension.
const NONE_THERE: i32 = 2;

/// Returns the path of the extension that fits this Ruby, in the first of the folders `caches` that has it whole; none
/// if no folder has. Takes as long as the start of a Ruby, which runs as `user` if one is given.
pub fn find(ruby: &Path, user: Option<&User>, caches: &[PathBuf]) -> Result<Option<PathBuf>, String> {
    let caches = caches.iter().map(|cache| cache.as_os_str());
    let arguments: Vec<&OsStr> = iter::once(OsStr::new("--find")).chain(caches).collect();
    let output = run(ruby, user, &arguments, FIND_TIME)?;
    if output.status.code() == Some(NONE_THERE) { Ok(None) } else { printed(&output).map(Some) }
}

/// Builds the extension in the folder `cache`, unless it is there already; returns its path. One that is there is
/// loaded for a trial, and built anew where it cannot be loaded, or ends the Ruby that loads it. Ruby and the compiler
/// run as `user` if one is given.
pub fn build(ruby: &Path, user: Option<&User>, cache: &Path) -> Result<PathBuf, String> {
    let output = run(ruby, user, &[cache.as_os_str()], BUILD_TIME)?;
    match output.status.signal() {
        Some(_) => printed(&run(ruby, user, &[OsStr::new("--anew"), cache.as_os_str()], BUILD_TIME)?),
        None => printed(&output),
    }
}

/// Runs build.rb with these arguments within a time limit.
fn run(ruby: &Path, user: Option<&User>, arguments: &[&OsStr], time: Duration) -> Result<Output, String> {
    let unwritten = |error: io::Error| format!("the sources of the native worker cannot be written: {error}");
    let folder = sources(user).map_err(unwritten)?;
    let mut command = command(ruby, user);
    command.arg("--disable-gems").arg(folder.path().join("build.rb")).args(arguments);
    // RubyGems and what Bundler puts into RUBYOPT are not needed, and take longer than all the rest.
    command.env_remove("RUBYOPT").stdin(Stdio::null());
    let told = |error: io::Error| format!("{} cannot be run: {error}", ruby.display());
    output_within(&mut command, folder.path(), time).map_err(told)
}

/// Runs a program within a time limit and returns its output. The output goes to files: a child of the program could
/// hold a pipe open.
fn output_within(command: &mut Command, folder: &Path, time: Duration) -> io::Result<Output> {
    let out = folder.join("out");
    let err = folder.join("err");
    let mut child = command.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?;
    let pid = child.id();
    let (sender, status) = mpsc::channel();
    let waiting = thread::Builder::new().name("native wait".into()).spawn(move || sender.send(child.wait()));
    waiting.inspect_err(|_| kill_now(pid))?;
    match status.recv_timeout(time) {
        Ok(status) => Ok(Output { status: status?, stdout: beginning(&out)?, stderr: beginning(&err)? }),
        Err(_) => {
            kill_now(pid);
            Err(io::Error::other(format!("it did not answer within {time:?}: is it a Ruby?")))
        }
    }
}

/// Returns the first bytes of a file: the Ruby may be another user's, and write what it likes.
fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(OUTPUT_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes the sources to a folder that only this user, and `user` if one is given, can enter.
fn sources(user: Option<&User>) -> io::Result<TempFolder> {
    let write = |folder: &Path| SOURCES.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text));
    let (folder, ()) = TempFolder::with("foolsgold-native-", write)?;
    if let Some(user) = user {
        SOURCES.iter().try_for_each(|(name, _)| user.own(&folder.path().join(name)))?;
        folder.let_in(user.gid)?;
        // build.rb lists the folder.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o750))?;
    }
    Ok(folder)
}

/// Returns the path that build.rb prints as its last line, or what it wrote to standard error, or how it ended.
fn printed(output: &Output) -> Result<PathBuf, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().last() {
        Some(path) if output.status.success() => Ok(path.into()),
        _ => match String::from_utf8_lossy(&output.stderr).trim_end() {
            "" => Err(format!("Ruby named no path, and ended with {}", output.status)),
            told => Err(told.to_owned()),
        },
    }
}
