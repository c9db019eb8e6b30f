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
use sha2::{Digest, Sha256};

use super::kill_now;
use super::user::{User, command};

/// The name and text of each source file.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/native.rs"));

/// Time limits for finding and building the extension, generous for a slow machine.
const FIND_TIME: Duration = Duration::from_secs(5);
const BUILD_TIME: Duration = Duration::from_secs(300);
/// The most bytes that are read of what build.rb prints.
const OUTPUT_BYTES: u64 = 1 << 20;
/// The most bytes of an extension.
const EXTENSION_BYTES: u64 = 64 << 20;
/// Files of the folder of an extension, as build.rb names them: itself, and its digest.
const EXTENSION: &str = "foolsgold_native.so";
const DIGEST: &str = "foolsgold_native.sha256";
/// Digits of the digest of the sources in the name of that folder.
const NAMED_DIGITS: usize = 16;
/// The exit status of build.rb when there is no extension.
const NONE_THERE: i32 = 2;

/// Returns the paths of the extensions of this program in the folders `caches`, in the order of these: each is for
/// another Ruby, and a mold takes that of its own. One that is not as it was built is left out.
pub fn built(caches: &[PathBuf]) -> Vec<PathBuf> {
    let ending = format!("-{}", &sources_digest()[..NAMED_DIGITS]);
    let folders = caches.iter().flat_map(|cache| fs::read_dir(cache).into_iter().flatten().flatten());
    let ours = folders.filter(|folder| folder.file_name().as_encoded_bytes().ends_with(ending.as_bytes()));
    ours.map(|folder| folder.path()).filter(|folder| is_whole(folder)).map(|folder| folder.join(EXTENSION)).collect()
}

/// The digest that build.rb puts into the name of an extension's folder: of all that it is compiled from.
fn sources_digest() -> String {
    let compiled = SOURCES.iter().filter(|(name, _)| *name != "build.rb");
    hexadecimal(compiled.map(|(_, text)| *text).collect::<Vec<&str>>().join("\0").as_bytes())
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the extension in a folder is as it was built: one that a crash has cut off may end the Ruby that loads it.
fn is_whole(folder: &Path) -> bool {
    let read = |name: &str| first_bytes(files::open(&folder.join(name))?.0, EXTENSION_BYTES);
    let (Ok(extension), Ok(digest)) = (read(EXTENSION), read(DIGEST)) else { return false };
    hexadecimal(&extension).as_bytes() == digest
}

/// Returns the path of the extension that fits this Ruby, in the first of the folders `caches` that has it whole; none
/// if no folder has. Takes as long as the start of a Ruby, which runs as `user`: this process may not see that user's
/// folders.
pub fn find(ruby: &Path, user: &User, caches: &[PathBuf]) -> Result<Option<PathBuf>, String> {
    let caches = caches.iter().map(|cache| cache.as_os_str());
    let arguments: Vec<&OsStr> = iter::once(OsStr::new("--find")).chain(caches).collect();
    let output = run(ruby, Some(user), &arguments, FIND_TIME)?;
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
    let failed = |error: io::Error| format!("{} cannot be run: {error}", ruby.display());
    output_within(&mut command, folder.path(), time).map_err(failed)
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
        Ok(status) => {
            // The Ruby may be another user's, and write what it likes.
            let written = |path: &Path| first_bytes(File::open(path)?, OUTPUT_BYTES);
            Ok(Output { status: status?, stdout: written(&out)?, stderr: written(&err)? })
        }
        Err(_) => {
            kill_now(pid);
            Err(io::Error::other(format!("it did not answer within {time:?}: is it a Ruby?")))
        }
    }
}

fn first_bytes(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
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
            other => Err(other.to_owned()),
        },
    }
}
