//! Environments in which the servers run, so that all of them have the same Ruby: this machine as it is, this machine
//! with a user's Bundler, or a ring, which is a root folder with its own Ruby and servers, entered by chroot. Files
//! copied there are removed at the end.

mod own_folder;
pub mod ring;

pub use own_folder::OwnFolder;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::Args;
use parking_lot::Mutex;

use crate::record::fingerprint;
use loadgen::process::{RUN, output_within, sweep};

/// Counter that makes the folders of several environments of one process distinct.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Time limit of a program that prints its version or shows that it is installed. One of these programs compiles first,
/// which may take a minute on a busy machine.
const SAID_LIMIT: Duration = Duration::from_secs(180);

/// Time limit of a program that the user names as foolsgold to print its version, which takes it milliseconds.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// Most characters of what a program prints that an error about it quotes.
const SAID_MOST: usize = 100;

/// Environment variables of the caller that programs on this machine get, so that they find their home, language, gems
/// and Ruby. Servers get no others: none that a server, its Ruby or its allocator would read as a setting, and no
/// library to preload.
const PASSED_ON: [&str; 7] = ["HOME", "LANG", "TMPDIR", "JAVA_HOME", "RBENV_ROOT", "RBENV_VERSION", "ASDF_DATA_DIR"];

/// Prefixes of further variables that are passed on.
const PASSED_ON_ALL: [&str; 3] = ["BUNDLE_", "GEM_", "LC_"];

/// Exceptions from those prefixes: a caller under `bundle exec` names another Gemfile than the servers'.
const NOT_PASSED_ON: [&str; 2] = ["BUNDLE_GEMFILE", "BUNDLE_BIN_PATH"];

/// Environment variables of the programs in a ring.
const RING_VARIABLES: [(&str, &str); 3] = [("PATH", RING_PATH), ("HOME", "/root"), ("LANG", "C.UTF-8")];
const RING_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Environment variables of all servers: production mode. Rails requires a secret in production.
const FOR_ALL: [(&str, &str); 4] = [
    ("RACK_ENV", "production"),
    ("APP_ENV", "production"),
    ("RAILS_ENV", "production"),
    ("SECRET_KEY_BASE_DUMMY", "1"),
];

/// Name and value of the environment variable that turns YJIT on in a CRuby that is built with it.
const YJIT: (&str, &str) = ("RUBY_YJIT_ENABLE", "1");

/// Our own server, which is copied to the environment of the others; with `-` and a word behind it another build of it.
const OURS: &str = "foolsgold";

/// Options that choose where contenders come from.
#[derive(Debug, Clone, Default, Args)]
pub struct EnvironmentOptions {
    /// Take Ruby and the servers from this root folder (see `arena ring`).
    #[arg(long, value_name = "FOLDER", conflicts_with = "gemfile")]
    pub ring: Option<PathBuf>,
    /// Take the servers from this bundle.
    #[arg(long, value_name = "GEMFILE")]
    pub gemfile: Option<PathBuf>,
    /// The program foolsgold that takes part [default: the one beside this program, or on PATH].
    #[arg(long, value_name = "PROGRAM")]
    pub foolsgold: Option<PathBuf>,
    /// Run CRuby with its just-in-time compiler YJIT, under all servers.
    #[arg(long)]
    pub yjit: bool,
}

/// This machine, a Bundler on it, or a ring on it. Clones share one temporary folder, which is removed with the last of
/// them.
#[derive(Debug, Clone)]
pub struct Environment {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ring: Option<PathBuf>,
    gemfile: Option<PathBuf>,
    foolsgold: Option<PathBuf>,
    yjit: bool,
    /// Temporary folder of this run for copied and written files, as seen from outside a ring.
    own: OwnFolder,
    /// Environment variables of all programs there.
    variables: BTreeMap<OsString, OsString>,
    /// Outputs of programs that run only once, by their command lines.
    said: Mutex<BTreeMap<Vec<String>, String>>,
}

impl Environment {
    /// Checks that the environment exists, and creates a temporary folder in it.
    pub fn open(options: &EnvironmentOptions) -> Result<Environment, String> {
        if options.ring.is_some() && options.gemfile.is_some() {
            return Err("a ring and a Gemfile exclude each other: name one of them".into());
        }
        let absolute = |path: &PathBuf| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
        let ring = options.ring.as_ref().map(absolute).transpose();
        let ring = ring.map_err(|error| format!("ring {error} (arena ring builds one)"))?;
        let gemfile = options.gemfile.as_ref().map(absolute).transpose();
        let gemfile = gemfile.map_err(|error| format!("--gemfile {error}"))?;
        if let Some(gemfile) = gemfile.as_ref().filter(|gemfile| !gemfile.is_file()) {
            return Err(format!("{} is no Gemfile: name the file itself", gemfile.display()));
        }
        if let Some(ring) = ring.as_ref().filter(|ring| !ring.join("proc/self").exists()) {
            return Err(format!(
                "ring {ring}: it is no ring, or its /proc is not mounted, as after a restart of this machine: \
                 `arena ring {ring}` mounts it again",
                ring = ring.display()
            ));
        }
        let foolsgold = find_foolsgold(options.foolsgold.as_deref())?;
        let name = format!("arena-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let parent = ring.as_ref().map_or_else(|| PathBuf::from("/tmp"), |ring| ring.join("srv"));
        let own = parent.join(name);
        [parent, std::env::temp_dir()].iter().for_each(|folder| sweep(folder));
        let own = OwnFolder::create(own.clone()).map_err(|error| not_made(&own, &error, ring.is_some()))?;
        let mut variables = if ring.is_some() { variables_of_ring() } else { variables_here()? };
        let yjit = options.yjit;
        if yjit {
            variables.extend(variables_of_yjit(ring.as_deref()));
        }
        let said = Mutex::default();
        let inner = Inner { ring, gemfile, foolsgold, yjit, own, variables, said };
        let environment = Environment { inner: Arc::new(inner) };
        if let Some(named) = &options.foolsgold {
            environment.check_foolsgold(named)?;
        }
        environment.check_bundle()?;
        environment.check_yjit()?;
        Ok(environment)
    }

    /// An error if the program that the user names as foolsgold does not run here, or is another one.
    fn check_foolsgold(&self, named: &Path) -> Result<(), String> {
        let refused = |why: String| format!("--foolsgold {}: {why}", named.display());
        let program = self.program(OURS).map_err(refused)?;
        let output = output_within(self.command(&program, Path::new("/")).arg("--version"), VERSION_LIMIT);
        let output = output.map_err(|error| refused(format!("--version: {error}")))?;
        let line = |bytes: &[u8]| -> String {
            String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().chars().take(SAID_MOST).collect()
        };
        if !output.status.success() {
            return Err(refused(format!("it is no foolsgold: --version fails: {}", line(&output.stderr))));
        }
        let said = line(&output.stdout);
        match said.split(' ').next() {
            Some(OURS) => Ok(()),
            _ => Err(refused(format!("it is no foolsgold: --version prints {said:?}"))),
        }
    }

    /// An error if YJIT is asked for and this Ruby is built without it: such a Ruby ignores the variable silently.
    fn check_yjit(&self) -> Result<(), String> {
        if !self.inner.yjit {
            return Ok(());
        }
        let ask = "puts RUBY_DESCRIPTION; puts defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? 'compiles' : 'not'";
        let said = self.said(&["ruby", "-e", ask]).ok_or("--yjit: there is no ruby that runs")?;
        if said.ends_with("compiles") {
            return Ok(());
        }
        let way = match &self.inner.ring {
            Some(ring) => format!("`arena ring --yjit {}` builds it for this ring", ring.display()),
            None => {
                "put one that has it first on PATH (Ruby 3.1 or later; from 3.2 on its build needs rustc), or name a \
                     ring that has it (`arena ring --yjit FOLDER`)"
                    .to_owned()
            }
        };
        Err(format!("--yjit: {} is built without YJIT: {way}", said.lines().next().unwrap_or_default()))
    }

    /// Runs Bundler once. An error has its message about an unusable Gemfile; without this check each server would only
    /// count as missing.
    fn check_bundle(&self) -> Result<(), String> {
        let Some(gemfile) = &self.inner.gemfile else { return Ok(()) };
        let mut command = self.command("bundle", Path::new("/"));
        let output = output_within(command.args(["exec", "ruby", "-e", "0"]), SAID_LIMIT);
        let output = output.map_err(|error| format!("bundle: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("--gemfile {}: Bundler says:\n{}", gemfile.display(), said.trim()))
    }

    /// Names the environment for the record.
    pub fn in_words(&self) -> String {
        let place = match (&self.inner.ring, &self.inner.gemfile) {
            (Some(_), _) => "a ring (a root folder with its own Ruby and servers)",
            (_, Some(_)) => "this machine, with the gems of a Gemfile",
            _ => "this machine",
        };
        format!("{place}{}", if self.inner.yjit { ", with YJIT" } else { "" })
    }

    /// Describes the environment variables of all programs for the record: those that are set, the names of those that
    /// are passed on, and those by which servers and their processes are found again.
    pub fn variables_in_words(&self) -> String {
        let mut set: Vec<String> = FOR_ALL.iter().map(|(name, value)| format!("{name}={value}")).collect();
        set.extend(self.inner.gemfile.as_ref().map(|_| "BUNDLE_GEMFILE=Gemfile".to_owned()));
        set.extend(self.inner.yjit.then(|| format!("{}={}", YJIT.0, YJIT.1)));
        let names: Vec<_> = self.inner.variables.keys().map(|name| name.to_string_lossy()).collect();
        let of = if self.inner.ring.is_some() { "the ring's own" } else { "the caller's" };
        let found_by = "TMPDIR, an empty folder for each server, and ARENA_RUN and ARENA_SERVER, by which the arena \
                        finds its processes";
        format!("{}; {of} {}; beside these only {found_by}", set.join(" "), names.join(", "))
    }

    /// Replaces the home folder of the user that runs the servers by `~`: reports are read by others.
    pub fn without_home(&self, text: &str) -> String {
        let home = self.inner.variables.get(OsStr::new("HOME")).and_then(|home| home.to_str());
        with_tilde(text, home.unwrap_or_default())
    }

    /// Fingerprint of the path of the ring or Gemfile. The path itself is this machine's and is not recorded.
    pub fn fingerprint(&self) -> String {
        let path = self.inner.ring.as_ref().or(self.inner.gemfile.as_ref());
        path.map_or_else(String::new, |path| fingerprint(path.as_os_str().as_encoded_bytes()))
    }

    /// The builds of foolsgold among these programs, each with a fingerprint of its bytes: another build may have the
    /// same path and version. Empty if there is none.
    pub fn builds(&self, programs: &BTreeSet<&str>) -> String {
        let found = programs.iter().filter(|name| is_ours(name)).filter_map(|name| Some((name, self.build(name)?)));
        let builds = found.map(|(name, path)| {
            let print = fs::read(path).map_or_else(|error| error.to_string(), |bytes| fingerprint_of_many(&bytes));
            format!("{name} {print}")
        });
        builds.collect::<Vec<_>>().join(", ")
    }

    /// Makes a file or folder of this machine available in the environment, and returns its path there.
    pub fn bring(&self, from: &Path) -> Result<PathBuf, String> {
        let from = from.canonicalize().map_err(|error| format!("{}: {error}", from.display()))?;
        if self.inner.ring.is_none() {
            return Ok(from);
        }
        if let Some(there) = self.already_there(&from) {
            return Ok(there);
        }
        let name = from.file_name().ok_or_else(|| format!("{} has no name", from.display()))?;
        // Two applications may have the same name; their paths distinguish them.
        let folder = self.inner.own.path.join(fingerprint(from.as_os_str().as_encoded_bytes()));
        let to = folder.join(name);
        if !to.exists() {
            fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            let status = Command::new("cp").arg("-a").arg(&from).arg(&to).status();
            if !status.is_ok_and(|status| status.success()) {
                return Err(format!("cannot copy {} to {}", from.display(), to.display()));
            }
        }
        Ok(self.inside(&to))
    }

    /// Path of a file within a folder that has been copied before: an application may use files beside it.
    fn already_there(&self, from: &Path) -> Option<PathBuf> {
        let copy = |folder: &Path| {
            let number = fingerprint(folder.as_os_str().as_encoded_bytes());
            Some(self.inner.own.path.join(number).join(folder.file_name()?))
        };
        let brought = from
            .ancestors()
            .skip(1)
            .find_map(|folder| copy(folder).filter(|copy| copy.is_dir()).map(|copy| (folder, copy)));
        let (folder, copy) = brought?;
        Some(self.inside(&copy.join(from.strip_prefix(folder).ok()?)))
    }

    /// Creates a folder for the files of one server. Returns its path outside and inside the environment.
    pub fn scratch(&self, name: &str) -> Result<(PathBuf, PathBuf), String> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Sockets' paths are limited to about a hundred bytes.
        let short: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(20).collect();
        let folder = self.inner.own.path.join(format!("{short}-{number}"));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let inside = self.inside(&folder);
        Ok((folder, inside))
    }

    /// Creates a folder for the temporary files of one server, to which all users may write as to /tmp: some servers
    /// change their user. Outside a ring it is in the caller's TMPDIR, if there is one. Its path is short, because some
    /// put sockets there. Returns the folder, and its path inside the environment.
    pub fn temporary(&self) -> Result<(OwnFolder, PathBuf), String> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // A ring's variables have no TMPDIR. A server starts in another folder: a relative path would be another one.
        let callers = self.inner.variables.get(OsStr::new("TMPDIR")).and_then(|path| std::path::absolute(path).ok());
        let callers = callers.filter(|path| path.is_dir());
        let path = match callers {
            Some(callers) => callers.join(format!("arena-{}-{number}", std::process::id())),
            None => self.inner.own.path.join(format!("t{number}")),
        };
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let folder = OwnFolder::create(path.clone()).map_err(failed)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).map_err(failed)?;
        Ok((folder, self.inside(&path)))
    }

    /// Command that runs in the environment, in this folder of it. The started process becomes the program itself, so
    /// its process id is the program's.
    pub fn command(&self, program: &str, folder: &Path) -> Command {
        self.command_behind(&[], program, folder, &BTreeMap::new())
    }

    /// Command like that of [`Environment::command`], started by a wrapper command that runs on this machine, and with
    /// environment variables for the program only.
    pub fn command_behind(
        &self,
        before: &[String],
        program: &str,
        folder: &Path,
        variables: &BTreeMap<String, String>,
    ) -> Command {
        let mut words: Vec<String> = before.to_vec();
        if let Some(ring) = &self.inner.ring {
            words.extend(["chroot".into(), ring.display().to_string()]);
        }
        words.extend(["env".into(), "-C".into(), folder.display().to_string()]);
        words.extend(variables.iter().map(|(name, value)| format!("{name}={value}")));
        words.push(program.to_owned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.env_clear().envs(&self.inner.variables);
        if let Some(gemfile) = &self.inner.gemfile {
            command.env("BUNDLE_GEMFILE", gemfile);
        }
        command.envs(FOR_ALL).env(RUN, std::process::id().to_string());
        command
    }

    /// Words that run a program of a gem through Bundler, where there is a Gemfile.
    pub fn bundler(&self) -> &'static [&'static str] {
        if self.inner.gemfile.is_some() { &["bundle", "exec"] } else { &[] }
    }

    /// Output of a program in the environment, without surrounding space; `None` if it fails, prints nothing, or
    /// hangs.
    pub fn said(&self, words: &[&str]) -> Option<String> {
        self.said_with(words, &BTreeMap::new())
    }

    /// Output like that of [`Environment::said`], from a program that runs only once for each command line: for what
    /// all servers have in common, such as their Ruby.
    pub fn said_once(&self, words: &[&str]) -> Option<String> {
        let line: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let known = self.inner.said.lock().get(&line).cloned();
        if known.is_some() {
            return known;
        }
        let said = self.said(words)?;
        self.inner.said.lock().insert(line, said.clone());
        Some(said)
    }

    /// Output of a program with environment variables. Some programs print their version to standard error, which is
    /// read if standard output is empty.
    pub fn said_with(&self, words: &[&str], variables: &BTreeMap<String, String>) -> Option<String> {
        let (program, rest) = words.split_first()?;
        let program = self.program(program).ok()?;
        let mut command = self.command_behind(&[], &program, Path::new("/"), variables);
        let output = output_within(command.args(rest), SAID_LIMIT).ok()?;
        let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        let text = String::from_utf8_lossy(&text).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    /// Path or name of a program in the environment: builds of foolsgold are copied there, all others are looked up on
    /// its PATH.
    pub fn program(&self, name: &str) -> Result<String, String> {
        if !is_ours(name) {
            return Ok(name.to_owned());
        }
        let here = self
            .build(name)
            .ok_or_else(|| format!("{name} is neither beside this program nor on PATH (bin/arena builds foolsgold)"))?;
        Ok(self.bring(&here)?.display().to_string())
    }

    /// Path of a build of foolsgold. Those with a longer name, such as foolsgold-glibc, are beside the one that takes
    /// part.
    fn build(&self, name: &str) -> Option<PathBuf> {
        let here = self.inner.foolsgold.as_ref()?;
        let path = if name == OURS { here.clone() } else { here.with_file_name(name) };
        path.is_file().then_some(path)
    }

    /// Whether the environment has this program.
    pub fn has(&self, name: &str) -> bool {
        if is_ours(name) {
            return self.build(name).is_some();
        }
        self.said(&["sh", "-c", "command -v \"$1\"", "sh", name]).is_some()
    }

    /// Path of the environment's /proc, seen from outside.
    pub fn proc(&self) -> PathBuf {
        self.inner.ring.as_ref().map_or_else(|| PathBuf::from("/proc"), |ring| ring.join("proc"))
    }

    /// Root folder of the ring, if this is one.
    pub fn ring(&self) -> Option<&Path> {
        self.inner.ring.as_deref()
    }

    /// Path outside of a path in the environment.
    pub fn outside(&self, path: &Path) -> PathBuf {
        match &self.inner.ring {
            Some(ring) => ring.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_path_buf(),
        }
    }

    fn inside(&self, path: &Path) -> PathBuf {
        let below = self.inner.ring.as_ref().and_then(|ring| path.strip_prefix(ring).ok());
        below.map_or_else(|| path.to_path_buf(), |below| Path::new("/").join(below))
    }
}

/// The variable that turns YJIT on, and LD_LIBRARY_PATH if the ring has a library of its Ruby with YJIT.
fn variables_of_yjit(ring: Option<&Path>) -> Vec<(OsString, OsString)> {
    let libraries = Path::new(ring::YJIT_LIBRARIES);
    let has_library = |ring: &&Path| libraries.strip_prefix("/").is_ok_and(|below| ring.join(below).is_dir());
    let found = ring.filter(has_library).map(|_| ("LD_LIBRARY_PATH".into(), libraries.into()));
    found.into_iter().chain([(YJIT.0.into(), YJIT.1.into())]).collect()
}

fn variables_of_ring() -> BTreeMap<OsString, OsString> {
    RING_VARIABLES.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// Variables of the caller that are passed on; PATH is extended by the folders in which Debian keeps servers.
fn variables_here() -> Result<BTreeMap<OsString, OsString>, String> {
    let own = procfs::process::Process::myself().and_then(|own| own.environ());
    let own = own.map_err(|error| format!("/proc/self/environ: {error}"))?;
    let path = own.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let mut passed: BTreeMap<OsString, OsString> = own.into_iter().filter(|(name, _)| is_passed_on(name)).collect();
    let folders = "/usr/local/sbin:/usr/sbin:/sbin";
    let path =
        if path.is_empty() { RING_PATH.into() } else { [path.as_os_str(), OsStr::new(folders)].join(OsStr::new(":")) };
    passed.insert("PATH".into(), path);
    Ok(passed)
}

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_named = PASSED_ON.contains(&name) || PASSED_ON_ALL.iter().any(|begin| name.starts_with(begin));
    is_named && !NOT_PASSED_ON.contains(&name)
}

fn with_tilde(text: &str, home: &str) -> String {
    match home.trim_end_matches('/') {
        "" => text.to_owned(),
        home => text.replace(&format!("{home}/"), "~/"),
    }
}

fn is_ours(program: &str) -> bool {
    program.strip_prefix(OURS).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Hash of a program's bytes, eight at a time: [`fingerprint`] takes some seconds for one of a hundred megabytes, as
/// tests have. In hexadecimal. Not meant to resist attacks.
fn fingerprint_of_many(bytes: &[u8]) -> String {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x0100_0000_01b3);
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    let hash = rest.iter().fold(hash, |hash, byte| step(hash, u64::from(*byte)));
    format!("{:016x}", step(hash, bytes.len() as u64))
}

/// Error about a folder that could not be made. In a ring it adds that a ring requires root.
fn not_made(folder: &Path, error: &std::io::Error, is_in_ring: bool) -> String {
    let why = if is_in_ring { " (a ring takes root)" } else { "" };
    format!("{}: {error}{why}", folder.display())
}

fn find_foolsgold(named: Option<&Path>) -> Result<Option<PathBuf>, String> {
    if let Some(named) = named {
        if !named.is_file() {
            return Err(format!("--foolsgold {}: there is no such program", named.display()));
        }
        return Ok(Some(named.to_path_buf()));
    }
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(OURS)));
    Ok(beside.filter(|path| path.is_file()).or_else(|| {
        let output = Command::new("sh").args(["-c", "command -v foolsgold"]).output().ok()?;
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        path.is_file().then_some(path)
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at what should not be")]
mod tests {
    use super::*;

    #[test]
    fn a_home_folder_is_not_for_others() {
        let text = "GEM_PATH=/people/ann/.gem:/var/lib/gems/people/ann";
        assert_eq!(with_tilde(text, "/people/ann/"), "GEM_PATH=~/.gem:/var/lib/gems/people/ann");
        assert_eq!((with_tilde(text, "").as_str(), with_tilde(text, "/").as_str()), (text, text));
    }

    #[test]
    fn what_servers_have_in_common_is_asked_once() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("echo asked >>'{0}'; wc -l <'{0}'", folder.path().join("notes").display());
        let environment = Environment::open(&EnvironmentOptions::default()).unwrap();
        let words = ["sh", "-c", &script];
        let times = [environment.said_once(&words), environment.said_once(&words), environment.said(&words)];
        assert_eq!(times.map(Option::unwrap), ["1", "1", "2"]);
    }

    #[test]
    fn a_ring_that_is_not_mounted_is_told_with_the_command_that_mounts_it() {
        let folder = tempfile::tempdir().unwrap();
        let ring = folder.path().canonicalize().unwrap();
        let options = EnvironmentOptions { ring: Some(ring.clone()), ..EnvironmentOptions::default() };
        let error = Environment::open(&options).unwrap_err();
        assert!(error.ends_with(&format!(": `arena ring {}` mounts it again", ring.display())), "{error}");
    }

    #[test]
    fn a_full_disk_is_no_matter_of_rings() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = |is_in_ring| not_made(Path::new("/tmp/arena-1-0"), &full, is_in_ring);
        assert_eq!(error(false), format!("/tmp/arena-1-0: {full}"));
        assert_eq!(error(true), format!("/tmp/arena-1-0: {full} (a ring takes root)"));
    }

    /// Writes a shell script that can be run at once. This process must not write it: a program is not started while it
    /// is open for writing, and another test may start a process meanwhile, which takes the open file along.
    fn script(path: &Path, text: &str) {
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\" && chmod +x \"$0\"";
        assert!(Command::new("sh").args(["-c", write]).arg(path).arg(text).status().unwrap().success());
    }

    #[test]
    fn a_program_that_is_no_foolsgold_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server");
        let open = || {
            let foolsgold = Some(path.clone());
            Environment::open(&EnvironmentOptions { foolsgold, ..EnvironmentOptions::default() }).map(drop)
        };
        fs::write(&path, "no program").unwrap();
        let error = open().unwrap_err();
        assert!(error.contains("server: it is no foolsgold: --version fails: ") && error.contains("denied"), "{error}");
        script(&path, "echo \"ls (GNU coreutils) 9.1$*\"");
        let error = open().unwrap_err();
        assert!(error.ends_with("it is no foolsgold: --version prints \"ls (GNU coreutils) 9.1--version\""), "{error}");
        script(&path, "echo foolsgolder");
        assert!(open().is_err());
        script(&path, "echo 'foolsgold 0.0.1 (nothing)'; exit 3");
        assert!(open().is_err());
        script(&path, "[ \"$1\" = --version ] && echo 'foolsgold 0.0.1 (nothing)'");
        assert_eq!(open(), Ok(()));
    }

    #[test]
    fn another_build_of_foolsgold_is_looked_up_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["server", "foolsgold-glibc"] {
            script(&folder.path().join(name), "echo foolsgold 0.0.1");
        }
        let foolsgold = Some(folder.path().join("server"));
        let here = Environment::open(&EnvironmentOptions { foolsgold, ..EnvironmentOptions::default() }).unwrap();
        let ends = |name: &str, with: &str| here.program(name).unwrap().ends_with(with);
        assert!(ends("foolsgold", "/server") && ends("foolsgold-glibc", "/foolsgold-glibc"));
        assert!(here.has("foolsgold-glibc") && !here.has("foolsgold-musl"));
        let error = here.program("foolsgold-musl").unwrap_err();
        assert!(error.starts_with("foolsgold-musl is neither beside"), "{error}");
        assert_eq!(here.program("puma").unwrap(), "puma");
    }

    #[test]
    fn a_build_of_foolsgold_is_told_from_another_by_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["foolsgold", "foolsgold-glibc"].map(|name| folder.path().join(name));
        let foolsgold = Some(first.clone());
        let here = Environment::open(&EnvironmentOptions { foolsgold, ..EnvironmentOptions::default() });
        assert!(here.is_err(), "there is no such program yet");
        script(&first, "echo foolsgold 0.0.1");
        let foolsgold = Some(first.clone());
        let here = Environment::open(&EnvironmentOptions { foolsgold, ..EnvironmentOptions::default() }).unwrap();
        fs::write(&first, vec![7_u8; 1003]).unwrap();
        let builds = |names: &[&str]| here.builds(&names.iter().copied().collect());
        let before = builds(&["foolsgold", "ruby"]);
        assert_eq!((before.len(), builds(&["ruby"])), ("foolsgold 0123456789abcdef".len(), String::new()));
        assert_eq!(builds(&["foolsgold-glibc", "foolsgold"]), before, "the other one is not there");
        for place in [0, 500, 1002] {
            let mut bytes = vec![7_u8; 1003];
            bytes[place] = 8;
            fs::write(&first, bytes).unwrap();
            assert_ne!(builds(&["foolsgold"]), before, "{place}");
        }
        fs::write(&first, vec![7_u8; 1003]).unwrap();
        fs::write(&second, vec![7_u8; 1004]).unwrap();
        let both = builds(&["foolsgold", "foolsgold-glibc"]);
        let other = both.strip_prefix(&format!("{before}, foolsgold-glibc ")).unwrap();
        assert!(!before.ends_with(other), "{both}");
    }

    #[test]
    fn all_variables_are_told() {
        let here = Environment::open(&EnvironmentOptions::default()).unwrap();
        let words = here.variables_in_words();
        let command = here.command("true", Path::new("/"));
        let missing = |name: &&OsStr| !words.contains(&*name.to_string_lossy());
        let missing: Vec<&OsStr> = command.get_envs().map(|(name, _)| name).filter(missing).collect();
        assert!(missing.is_empty() && words.contains("ARENA_SERVER"), "{missing:?}: {words}");
    }

    #[test]
    fn what_is_found_by_it_is_passed_on_and_what_is_set_by_it_is_not() {
        for name in ["HOME", "LANG", "LC_ALL", "GEM_HOME", "GEM_PATH", "BUNDLE_PATH", "RBENV_VERSION"] {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
        for name in [
            "LD_PRELOAD",
            "MALLOC_CONF",
            "MALLOC_ARENA_MAX",
            "RUBYOPT",
            "RUBY_YJIT_ENABLE",
            "RUBY_GC_HEAP_INIT_SLOTS",
            "FOOLS_GOLD_QUEUE_WAIT",
            "WEB_CONCURRENCY",
            "PUMA_PERSISTENT_TIMEOUT",
            "BUNDLE_GEMFILE",
            "DATABASE_URL",
        ] {
            assert!(!is_passed_on(OsStr::new(name)), "{name}");
        }
    }
}
