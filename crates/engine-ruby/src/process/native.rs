//! The native worker, a C extension: its sources are part of this binary, and the user's Ruby finds or builds it.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use files::TempFolder;

use super::kill_now;

/// The name and text of each source file.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/native.rs"));

/// Time limits for finding and building the extension, generous for a slow machine.
const FIND_TIME: Duration = Duration::from_secs(5);
const BUILD_TIME: Duration = Duration::from_secs(300);
/// The exit status of build.rb when there is no extension.
const NONE_THERE: i32 = 2;

/// Returns the path of the extension in the folder `cache` that fits this Ruby, if there is one. Takes as long as the
/// start of a Ruby.
pub fn find(ruby: &Path, cache: &Path) -> Result<Option<PathBuf>, String> {
    let output = run(ruby, &["--find"], cache)?;
    if output.status.code() == Some(NONE_THERE) { Ok(None) } else { printed(&output).map(Some) }
}

/// Builds the extension in the folder `cache`, unless it is there already; returns its path. One that is there is
/// loaded for a trial, and built anew where it cannot be loaded, or ends the Ruby that loads it.
pub fn build(ruby: &Path, cache: &Path) -> Result<PathBuf, String> {
    let output = run(ruby, &[], cache)?;
    match output.status.signal() {
        Some(_) => printed(&run(ruby, &["--anew"], cache)?),
        None => printed(&output),
    }
}

fn run(ruby: &Path, arguments: &[&str], cache: &Path) -> Result<Output, String> {
    let folder = sources().map_err(|error| format!("the sources of the native worker cannot be written: {error}"))?;
    // RubyGems and what Bundler puts into RUBYOPT are not needed, and take longer than all the rest.
    let mut command = Command::new(ruby);
    command.arg("--disable-gems").arg(folder.path().join("build.rb")).args(arguments).arg(cache);
    command.env_remove("RUBYOPT").stdin(Stdio::null());
    let time = if arguments.contains(&"--find") { FIND_TIME } else { BUILD_TIME };
    let told = |error: io::Error| format!("{} cannot be run: {error}", ruby.display());
    output_within(&mut command, folder.path(), time).map_err(told)
}

/// Runs a program within a time limit and returns its output. The output goes to files: a child of the program could
/// hold a pipe open.
fn output_within(command: &mut Command, folder: &Path, time: Duration) -> io::Result<Output> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let mut child = command.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?;
    let pid = child.id();
    let (told, telling) = mpsc::channel();
    let waiting = thread::Builder::new().name("native wait".into()).spawn(move || told.send(child.wait()));
    waiting.inspect_err(|_| kill_now(pid))?;
    match telling.recv_timeout(time) {
        Ok(status) => Ok(Output { status: status?, stdout: fs::read(&out)?, stderr: fs::read(&err)? }),
        Err(_) => {
            kill_now(pid);
            Err(io::Error::other(format!("it did not answer within {time:?}: is it a Ruby?")))
        }
    }
}

fn sources() -> io::Result<TempFolder> {
    let folder = TempFolder::new("foolsgold-native-")?;
    SOURCES.iter().try_for_each(|(name, text)| fs::write(folder.path().join(name), text))?;
    Ok(folder)
}

/// Returns the path that build.rb prints as its last line, or what it wrote to standard error.
fn printed(output: &Output) -> Result<PathBuf, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().last() {
        Some(path) if output.status.success() => Ok(path.into()),
        _ => Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()),
    }
}
